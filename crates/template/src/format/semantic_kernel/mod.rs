//! Semantic Kernel's template language: variables, values, and function calls with arguments.
//!
//! The .NET implementation is the reference. Its chat prompts consist of `<message>` elements in
//! the template's own text. These elements are marked when the template is compiled (see
//! [`crate::structure`]), so values need no encoding and cannot forge a message.
//! [`SemanticKernelFormat::encoded`] produces Semantic Kernel's encoded text, and [`chat`] parses
//! such text.

mod ast;
pub mod chat;
mod compilation;
pub(crate) mod convert;
mod editor;
mod encode;
mod encoding;
mod eval;
mod parser;
mod print;
mod scan;
mod token;

use std::collections::HashSet;
use std::sync::Arc;

use quillet_core::{Diagnostic, SemanticToken, Span};

use crate::editor::{CompletionItem, ExternalNames};
use crate::format::problem::ParseProblem;
use crate::structure::Elements;
use crate::{
    CompileError, CompileOptions, CompiledTemplate, FunctionReference, Missing, Pass, References,
    RenderError, StopReason, TemplateFormat, TemplateSource, VariableReference,
};
pub use encoding::{Encoding, HostLanguage};

use ast::{Node, Program, Variable};
use compilation::Compilation;
use eval::Evaluator;
use parser::Parser;

/// The format `semantic-kernel`.
#[derive(Clone, Copy, Debug, Default)]
pub struct SemanticKernelFormat {
    encoding: Option<Encoding>,
}

impl SemanticKernelFormat {
    /// Creates the format `semantic-kernel`. Messages in the template are recognized, and nothing
    /// is encoded.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates the format so that the output equals the output of Semantic Kernel. Messages in the
    /// template are not recognized. The output is meant for [`chat`], or for other programs that
    /// parse it.
    #[must_use]
    pub fn encoded(encoding: Encoding) -> Self {
        SemanticKernelFormat {
            encoding: Some(encoding),
        }
    }

    /// Returns the input variables of a Semantic Kernel function. The declared variables come
    /// first, as spelled in the declaration. Variables that only the template uses follow. Names
    /// that differ only in case are listed once.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_template::format::semantic_kernel::SemanticKernelFormat;
    /// use quillet_template::{CompileOptions, TemplateFormat, TemplateSource};
    ///
    /// let source = TemplateSource::new("p", "{{$city}} in {{$Country}}");
    /// let format = SemanticKernelFormat::new();
    /// let template = format.compile(&[source], &CompileOptions::default())?;
    /// let names = SemanticKernelFormat::input_variables(template.references(), &["City"]);
    /// assert_eq!(names.len(), 2);
    /// assert_eq!(names[0], "City");
    /// # Ok::<(), quillet_template::CompileError>(())
    /// ```
    #[must_use]
    pub fn input_variables<'r>(references: &'r References, declared: &[&'r str]) -> Vec<&'r str> {
        let mut seen = HashSet::new();
        let used = references.variables.iter().filter_map(|v| v.path.first());
        let names = declared.iter().copied().chain(used.map(String::as_str));
        let new = |name: &&str| seen.insert(name.to_ascii_lowercase());
        names.filter(new).collect()
    }
}

impl TemplateFormat for SemanticKernelFormat {
    fn name(&self) -> &'static str {
        match self.encoding {
            None => "semantic-kernel",
            Some(_) => "semantic-kernel-encoded",
        }
    }

    fn aliases(&self) -> &'static [&'static str] {
        match self.encoding {
            None => &["sk", "skprompt"],
            Some(_) => &[],
        }
    }

    fn tokens(&self, text: &str) -> Vec<SemanticToken> {
        editor::scan(text, self.encoding.unwrap_or_default().dialect).tokens
    }

    fn completions(&self, text: &str, at: usize, names: &ExternalNames<'_>) -> Vec<CompletionItem> {
        editor::completions(text, at, names, self.encoding.unwrap_or_default().dialect)
    }

    fn resolve<'n>(&self, name: &str, functions: &[&'n str]) -> Option<&'n str> {
        let encoding = self.encoding.unwrap_or_default();
        encoding.dialect.function(name, functions)
    }

    fn ignores_case(&self) -> bool {
        self.encoding.unwrap_or_default().dialect == HostLanguage::DotNet
    }

    /// Escapes braces, and text that could be a tag or a character reference. They are written as
    /// values.
    fn escape(&self, literal: &str) -> Option<String> {
        let mut out = String::with_capacity(literal.len());
        let mut rest = literal;
        while let Some(next) = rest.chars().next() {
            let special = match next {
                '{' if rest.starts_with("{{") => "{{",
                '<' | '&' if self.encoding.is_none() && Elements::would_mark(rest) => {
                    &rest[..next.len_utf8()]
                }
                _ => "",
            };
            if special.is_empty() {
                out.push(next);
                rest = &rest[next.len_utf8()..];
                continue;
            }
            out.extend(["{{'", special, "'}}"]);
            rest = &rest[special.len()..];
        }
        Some(out)
    }

    fn compile(
        &self,
        sources: &[TemplateSource<'_>],
        options: &CompileOptions,
    ) -> Result<Arc<dyn CompiledTemplate>, CompileError> {
        let mut compiled = KernelTemplate {
            sources: Vec::with_capacity(sources.len()),
            references: References::default(),
            encoding: self.encoding,
            missing: options.missing,
        };
        let mut found = Vec::new();
        for source in sources {
            match self.source(source, options) {
                Ok(compilation) => compiled.sources.push(compilation),
                Err(problems) => found.extend(problems),
            }
        }
        CompileError::unless_empty(found)?;
        compiled.references = references(&compiled.sources, &crate::roots(sources));
        Ok(Arc::new(compiled))
    }
}

impl SemanticKernelFormat {
    fn source(
        &self,
        source: &TemplateSource<'_>,
        options: &CompileOptions,
    ) -> Result<Compilation, Vec<Diagnostic>> {
        let mut parser = Parser {
            encoding: self.encoding,
            trusted: &options.trusted,
            trusted_results: options.trusted_results,
            elements: Elements::default(),
            problems: Vec::new(),
            program: Program::default(),
        };
        parser.source(source.text);
        let diagnostic = |problem: ParseProblem| problem.diagnostic(source);
        let mut problems: Vec<Diagnostic> = parser.problems.into_iter().map(diagnostic).collect();
        problems.extend(parser.elements.diagnostics(source.name, source.text));
        if !problems.is_empty() {
            problems.sort_by_key(|problem| problem.span.map(|span| span.start));
            return Err(problems);
        }
        Ok(Compilation {
            name: source.name.to_owned(),
            text: source.text.to_owned(),
            program: parser.program,
            trusted: options.trusted.clone(),
        })
    }
}

#[derive(Debug)]
struct KernelTemplate {
    sources: Vec<Compilation>,
    references: References,
    encoding: Option<Encoding>,
    missing: Missing,
}

impl CompiledTemplate for KernelTemplate {
    fn references(&self) -> &References {
        &self.references
    }

    fn pass(&self, entry: &str, pass: &mut Pass<'_>) -> Result<(), StopReason> {
        let Some(source) = self.sources.iter().find(|source| source.name == entry) else {
            return Err(RenderError::no_source(entry).into());
        };
        Evaluator::new(source, self.encoding, self.missing, pass).run()
    }
}

/// Returns the references of the sources. A call takes the variables with the names of its
/// parameters, which are not known yet. A source with calls is therefore dynamic.
fn references(sources: &[Compilation], roots: &[usize]) -> References {
    let mut found = References::default();
    let mut seen = HashSet::new();
    let mut functions = HashSet::new();
    for &source in roots {
        let Some(compilation) = sources.get(source) else {
            continue;
        };
        let mut add = |variable: &'_ Variable| {
            if seen.insert(variable.name.to_string()) {
                found.variables.push(VariableReference {
                    path: vec![variable.name.to_string()],
                    optional: false,
                    source,
                    span: variable.span,
                });
            }
        };
        for node in &compilation.program.nodes {
            match node {
                Node::Text(_) => {}
                Node::Variable(variable) => add(variable),
                Node::Call(call) => {
                    call.variables().for_each(&mut add);
                    found.dynamic = true;
                    if functions.insert(&*call.name) {
                        found
                            .functions
                            .push(function_reference(&call.name, source, call.span));
                    }
                }
            }
        }
    }
    found
}

fn function_reference(name: &str, source: usize, span: Span) -> FunctionReference {
    FunctionReference {
        name: name.to_owned(),
        source,
        span,
    }
}
