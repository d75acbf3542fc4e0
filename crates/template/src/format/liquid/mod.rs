//! Liquid 5, with the syntax of its strict parser and the semantics of Ruby: outputs and filters,
//! tags, `include` and `render`. `docs/formats/liquid.md` lists the differences.
//!
//! Values are plain data, and a template can access only its variables. A filter that Liquid does
//! not define is a late-bound function: `{{ city | weather: units: "C" }}` calls `weather` with the
//! city and the units. If the input is a literal `nil`, it is not passed as an argument. `{{ city |
//! call: "size" }}` calls a function whose name is also that of a filter.

mod ast;
mod blocks;
pub(crate) mod convert;
mod dates;
mod editor;
mod escape;
mod eval;
mod expression;
mod filters;
mod items;
mod lexer;
mod number;
mod operand;
mod parser;
mod partials;
mod references;
mod scope;
mod skip;
mod tags;
mod token;
mod value;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use quillet_core::{Diagnostic, SemanticToken};

use crate::editor::{CompletionItem, ExternalNames};
use crate::structure::Elements;
use crate::{
    CompileError, CompileOptions, CompiledTemplate, MessageSyntax, Missing, Pass, References,
    RenderError, StopReason, TemplateFormat, TemplateSource, plugin_function,
};
use ast::Body;
use eval::Evaluator;

/// The format `liquid`.
///
/// # Examples
///
/// ```
/// # use futures_util::FutureExt;
/// # use quillet_core::{Map, Value};
/// # use quillet_template::*;
/// use quillet_template::format::liquid::LiquidFormat;
///
/// let formats = TemplateFactory::new().with(LiquidFormat::new());
/// let source = TemplateSource::new("p", "Hello {{ name | upcase }}!");
/// let template = formats.compile("liquid", &[source], &CompileOptions::default())?;
/// let variables = Map::from([("name", "Ada")]);
/// # let job = Render {
/// #     template: &*template,
/// #     entries: &["p"],
/// #     variables: &variables,
/// #     functions: &NoFunctions,
/// #     limits: &RenderLimits::default(),
/// # };
/// # let rendered = render(&job).now_or_never().unwrap()?;
/// assert_eq!(rendered.text(0), "Hello ADA!");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct LiquidFormat {
    semantic_kernel: bool,
}

impl LiquidFormat {
    /// Creates the format `liquid`.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates the format `semantic-kernel-liquid`. Functions are looked up as in Semantic Kernel,
    /// and trusted variables may contain messages. The role in a role line may be a value
    /// (`{{ message.role }}:`), and content may follow on the same line (`user: hi`).
    #[must_use]
    pub fn semantic_kernel() -> Self {
        LiquidFormat {
            semantic_kernel: true,
        }
    }
}

impl TemplateFormat for LiquidFormat {
    fn name(&self) -> &'static str {
        if !self.semantic_kernel {
            "liquid"
        } else {
            "semantic-kernel-liquid"
        }
    }

    fn aliases(&self) -> &'static [&'static str] {
        if !self.semantic_kernel {
            &[]
        } else {
            &["sk-liquid"]
        }
    }

    fn functions(&self) -> Vec<&str> {
        filters::names().collect()
    }

    fn resolve<'n>(&self, name: &str, functions: &[&'n str]) -> Option<&'n str> {
        if self.semantic_kernel {
            plugin_function(name, functions)
        } else {
            functions.iter().copied().find(|known| *known == name)
        }
    }

    fn has_loose_role_lines(&self) -> bool {
        self.semantic_kernel
    }

    fn tokens(&self, text: &str) -> Vec<SemanticToken> {
        editor::scan(text).tokens
    }

    fn completions(&self, text: &str, at: usize, names: &ExternalNames<'_>) -> Vec<CompletionItem> {
        editor::completions(text, at, names, &self.functions())
    }

    fn escape(&self, literal: &str) -> Option<String> {
        Some(escape::escape(literal))
    }

    fn compile(
        &self,
        sources: &[TemplateSource<'_>],
        options: &CompileOptions,
    ) -> Result<Arc<dyn CompiledTemplate>, CompileError> {
        let mut compiled = LiquidTemplate {
            sources: Vec::with_capacity(sources.len()),
            references: References::default(),
            semantic_kernel: self.semantic_kernel,
            missing: options.missing,
            trusted: if self.semantic_kernel {
                options.trusted.clone()
            } else {
                Vec::new()
            },
            trusted_results: self.semantic_kernel && options.trusted_results,
            messages: options.messages,
            asks_loops: sources.iter().any(|source| source.text.contains("loop")),
            continues_loops: sources.iter().any(|source| source.text.contains("offset")),
        };
        let mut found: Vec<Diagnostic> = Vec::new();
        for source in sources {
            match parser::parse(source, options) {
                Ok((program, literals)) => {
                    if program.flat {
                        found.extend(literals.diagnostics(source.name, source.text));
                    }
                    compiled.sources.push(Compilation {
                        name: source.name.to_owned(),
                        text: source.text.to_owned(),
                        literals: literals.into_text(),
                        body: program.body,
                    });
                }
                Err(problem) => found.push(problem.diagnostic(source)),
            }
        }
        CompileError::unless_empty(found)?;
        compiled.references = references::references(&compiled, &crate::roots(sources));
        Ok(Arc::new(compiled))
    }
}

#[derive(Debug)]
struct LiquidTemplate {
    sources: Vec<Compilation>,
    references: References,
    semantic_kernel: bool,
    missing: Missing,
    /// Variables whose text may contain message structure.
    trusted: Vec<String>,
    /// Whether results of functions may contain message structure.
    trusted_results: bool,
    messages: MessageSyntax,
    /// Whether any source reads the position of a loop, or continues at the end of a loop.
    asks_loops: bool,
    continues_loops: bool,
}

#[derive(Debug)]
struct Compilation {
    name: String,
    text: String,
    /// All literal text, with the marks of messages.
    literals: Box<str>,
    body: Body,
}

impl LiquidTemplate {
    fn index(&self, name: &str) -> Option<usize> {
        self.sources.iter().position(|source| source.name == name)
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.sources.iter().map(|source| source.name.as_str())
    }

    fn body(&self, index: usize) -> Option<&Body> {
        self.sources.get(index).map(|source| &source.body)
    }

    /// Returns the name and text of a source.
    fn source(&self, index: usize) -> (&str, &str) {
        let source = self.sources.get(index);
        source.map_or(("", ""), |source| (&source.name, &source.text))
    }

    /// Returns a range of a source's literal text.
    fn literal(&self, source: usize, place: &Range<usize>) -> &str {
        let source = self.sources.get(source);
        let text = source.and_then(|source| source.literals.get(place.clone()));
        text.unwrap_or_default()
    }

    fn trusts(&self, variable: &str) -> bool {
        self.trusted.iter().any(|name| name == variable)
    }

    /// Whether templates use all variables unchanged.
    fn takes_as_is(&self) -> bool {
        self.trusted.is_empty()
    }

    /// Whether texts may contain marks of message structure.
    fn has_marks(&self) -> bool {
        self.messages != MessageSyntax::Plain
    }

    /// Returns a text with marked message tags, if these are message structure.
    fn with_tags(&self, text: &Arc<str>) -> Arc<str> {
        if self.messages == MessageSyntax::Plain {
            return Arc::clone(text);
        }
        match Elements::default().mark(text) {
            Cow::Borrowed(_) => Arc::clone(text),
            Cow::Owned(marked) => marked.into(),
        }
    }

    /// Resolves a name to a late-bound function that is registered with another spelling.
    fn function(&self, name: &str, pass: &Pass<'_>) -> Option<String> {
        if !self.semantic_kernel || pass.has_function(name) {
            return None;
        }
        plugin_function(name, &pass.function_names()).map(str::to_owned)
    }
}

impl CompiledTemplate for LiquidTemplate {
    fn references(&self) -> &References {
        &self.references
    }

    fn pass(&self, entry: &str, pass: &mut Pass<'_>) -> Result<(), StopReason> {
        let Some(index) = self.index(entry) else {
            return Err(RenderError::no_source(entry).into());
        };
        Evaluator::new(self, pass).run(index)
    }
}
