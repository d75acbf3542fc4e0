//! Jinja, as in Hugging Face chat templates and LangChain: jinja2's syntax, Python's values, and
//! access only to the given variables.
//!
//! This evaluator is not based on a Jinja crate, for three reasons:
//!
//! - Limits: operators and filters of a library allocate without a check, and a fuel counter does
//!   not see this. Here every operation charges before it builds a value.
//! - Late-bound calls: functions of a library outlive a render, so they cannot borrow from it. Here
//!   a call goes through the [`Pass`] and can suspend the evaluation.
//! - Fidelity: the operators of the best crate differ from those of jinja2.

mod ast;
mod call;
pub(crate) mod convert;
mod editor;
mod escape;
mod eval;
mod expression;
mod filters;
mod format;
mod functions;
mod lexer;
mod loops;
pub(crate) mod methods;
mod operand;
mod ops;
mod parser;
mod print;
mod references;
mod scope;
mod script;
mod semantic_kernel;
mod skip;
mod source;
mod syntax;
mod templates;
mod test;
mod value;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

pub use syntax::JinjaPreset;

use quillet_core::SemanticToken;

use crate::editor::{CompletionItem, ExternalNames};
use crate::structure::Elements;
use crate::{
    CompileError, CompileOptions, CompiledTemplate, MessageSyntax, Missing, Pass, References,
    RenderError, StopReason, TemplateFormat, TemplateSource, plugin_function,
};
use ast::Program;
use eval::Evaluator;

/// The format `jinja`, set up by one of its presets.
#[derive(Clone, Copy, Debug, Default)]
pub struct JinjaFormat {
    preset: JinjaPreset,
    encoded: bool,
}

impl JinjaFormat {
    /// Creates the format `jinja`, which uses the settings of Hugging Face transformers.
    #[must_use]
    pub fn hugging_face() -> Self {
        Self::default()
    }

    /// Creates the format `jinja-plain`, which is jinja2 with default settings, as in LangChain.
    ///
    /// # Examples
    ///
    /// ```
    /// # use futures_util::FutureExt;
    /// # use quillet_core::{Map, Value};
    /// # use quillet_template::*;
    /// use quillet_template::format::jinja::JinjaFormat;
    ///
    /// let formats = TemplateFactory::new().with(JinjaFormat::plain());
    /// let source = TemplateSource::new("p", "Hello {{ name|upper }}!");
    /// let template = formats.compile("jinja-plain", &[source], &CompileOptions::default())?;
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
    #[must_use]
    pub fn plain() -> Self {
        JinjaFormat {
            preset: JinjaPreset::Plain,
            ..Self::default()
        }
    }

    /// Creates the format `semantic-kernel-jinja2`, which is jinja2 with default settings, plus the
    /// helpers and functions of Semantic Kernel.
    #[must_use]
    pub fn semantic_kernel() -> Self {
        JinjaFormat {
            preset: JinjaPreset::SemanticKernel,
            ..Self::default()
        }
    }

    /// Creates the format `jinja-script`, the Hugging Face preset for scripts (`.ai.yaml`). Values
    /// print as in JavaScript: `true`, `null`, compact JSON. If an object of plain values is at the
    /// start of a line, it prints as `* key: value` lines. `+` concatenates a string and any value.
    /// An unknown filter is a late-bound function: `{{ x|f(a) }}` calls `f(x, a)`.
    #[must_use]
    pub fn script() -> Self {
        JinjaFormat {
            preset: JinjaPreset::Script,
            ..Self::default()
        }
    }

    /// Sets whether the output equals that of Semantic Kernel, which HTML-encodes untrusted
    /// variables and results of functions, and rejects untrusted lists and objects. This is not
    /// needed to separate messages from data.
    #[must_use]
    pub fn encoded(self) -> Self {
        JinjaFormat {
            encoded: true,
            ..self
        }
    }
}

impl TemplateFormat for JinjaFormat {
    fn name(&self) -> &'static str {
        match self.preset {
            JinjaPreset::HuggingFace => "jinja",
            JinjaPreset::Plain => "jinja-plain",
            JinjaPreset::Script => "jinja-script",
            JinjaPreset::SemanticKernel => "semantic-kernel-jinja2",
        }
    }

    fn aliases(&self) -> &'static [&'static str] {
        match self.preset {
            JinjaPreset::HuggingFace => &["hf", "huggingface", "jinja2"],
            JinjaPreset::Plain => &["langchain-jinja2"],
            JinjaPreset::Script => &[],
            JinjaPreset::SemanticKernel => &["sk-jinja2"],
        }
    }

    fn functions(&self) -> Vec<&str> {
        functions::names(self.preset).collect()
    }

    fn resolve<'n>(&self, name: &str, functions: &[&'n str]) -> Option<&'n str> {
        match self.preset {
            JinjaPreset::SemanticKernel => plugin_function(name, functions),
            _ => functions.iter().copied().find(|known| *known == name),
        }
    }

    fn tokens(&self, text: &str) -> Vec<SemanticToken> {
        editor::scan(text, self.preset).tokens
    }

    fn completions(&self, text: &str, at: usize, names: &ExternalNames<'_>) -> Vec<CompletionItem> {
        let words = editor::FormatNames {
            functions: self.functions(),
            filters: filters::names().collect(),
            tests: test::names().collect(),
        };
        editor::completions(text, at, names, self.preset, &words)
    }

    fn escape(&self, literal: &str) -> Option<String> {
        Some(escape::escape(literal))
    }

    fn compile(
        &self,
        sources: &[TemplateSource<'_>],
        options: &CompileOptions,
    ) -> Result<Arc<dyn CompiledTemplate>, CompileError> {
        let mut compiled = JinjaTemplate {
            sources: Vec::with_capacity(sources.len()),
            references: References::default(),
            effects: std::sync::OnceLock::new(),
            preset: self.preset,
            missing: options.missing,
            required: options.required.clone(),
            loop_name: None,
            encoded: self.encoded,
            trusted: options.trusted.clone(),
            trusted_results: options.trusted_results,
            messages: options.messages,
        };
        let mut problems = Vec::new();
        for source in sources {
            match parser::parse(source.text, self.preset, options) {
                Ok((program, literals)) => {
                    if program.is_flat() {
                        problems.extend(literals.diagnostics(source.name, source.text));
                    }
                    let name = program.loop_name.clone();
                    compiled.loop_name = compiled.loop_name.or(name);
                    compiled.sources.push(Compilation {
                        name: source.name.to_owned(),
                        text: source.text.to_owned(),
                        literals: literals.into_text(),
                        program,
                    });
                }
                Err(problem) => problems.push(problem.diagnostic(source)),
            }
        }
        CompileError::unless_empty(problems)?;
        compiled.references = references::references(&compiled, &crate::roots(sources));
        Ok(Arc::new(compiled))
    }
}

#[derive(Debug)]
struct JinjaTemplate {
    sources: Vec<Compilation>,
    references: References,
    /// Result of [`JinjaTemplate::has_effects`], computed at the first use.
    effects: std::sync::OnceLock<bool>,
    preset: JinjaPreset,
    missing: Missing,
    /// Names whose use is an error if they are undefined.
    required: Vec<String>,
    /// The name `loop`, if any source uses `loop`. If not, loops do not track their state.
    loop_name: Option<Arc<str>>,
    /// Whether untrusted external values are HTML-encoded.
    encoded: bool,
    /// Variables that are not encoded and may contain message structure.
    trusted: Vec<String>,
    /// Whether results of functions may contain message structure.
    trusted_results: bool,
    /// Syntax of message structure.
    messages: MessageSyntax,
}

#[derive(Debug)]
struct Compilation {
    name: String,
    text: String,
    /// All literal text, unescaped.
    literals: Box<str>,
    program: Program,
}

impl JinjaTemplate {
    fn index(&self, name: &str) -> Option<usize> {
        self.sources.iter().position(|source| source.name == name)
    }

    fn trusts(&self, variable: &str) -> bool {
        self.trusted.iter().any(|name| name == variable)
    }

    /// Whether the variable with this name is HTML-encoded.
    fn encodes(&self, variable: &str) -> bool {
        self.encoded && !self.trusts(variable)
    }

    /// Whether templates use all variables unchanged.
    fn takes_as_is(&self) -> bool {
        !self.encoded && self.trusted.is_empty()
    }

    /// Whether texts may contain marks of message structure.
    fn has_marks(&self) -> bool {
        self.messages == MessageSyntax::Elements || self.preset == JinjaPreset::SemanticKernel
    }

    /// Returns the text of a variable. If the variable is trusted, its message tags are marked.
    fn marked(&self, variable: &str, text: &Arc<str>) -> Arc<str> {
        if !self.trusts(variable) {
            return Arc::clone(text);
        }
        self.with_tags(text)
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

    fn program(&self, index: usize) -> Option<&Program> {
        self.sources.get(index).map(|source| &source.program)
    }

    /// Returns a range of a source's literal text.
    fn literal(&self, source: usize, place: &Range<usize>) -> &str {
        let source = self.sources.get(source);
        let text = source.and_then(|source| source.literals.get(place.clone()));
        text.unwrap_or_default()
    }

    /// Returns the name and text of a source.
    fn source(&self, index: usize) -> (&str, &str) {
        let source = self.sources.get(index);
        source.map_or(("", ""), |source| (&source.name, &source.text))
    }
}

impl CompiledTemplate for JinjaTemplate {
    fn references(&self) -> &References {
        &self.references
    }

    fn pass(&self, entry: &str, pass: &mut Pass<'_>) -> Result<(), StopReason> {
        let Some(index) = self.index(entry) else {
            return Err(RenderError::no_source(entry).into());
        };
        let mut evaluator = Evaluator::new(self, pass);
        if self.encoded {
            evaluator.check_encodable()?;
        }
        evaluator.entry(index)
    }
}
