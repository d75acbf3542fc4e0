//! Mustache, as its specification and mustache.js have it: variables, sections,
//! partials, comments and delimiters. Lambdas, inheritance and dynamic names,
//! which are optional in the specification, are left out.
//!
//! Values are data. A name that no variable has calls the function of that
//! name, with the variables that its parameters name.

mod ast;
pub(crate) mod convert;
mod editor;
mod eval;
mod lexer;
mod parser;
mod references;

use std::collections::HashMap;
use std::sync::Arc;

use quillet_core::SemanticToken;

use crate::editor::{CompletionItem, ExternalNames};
use crate::{
    CompileError, CompileOptions, CompiledTemplate, Missing, Pass, References, RenderError,
    StopReason, TemplateFormat, TemplateSource,
};
use ast::Program;
use eval::Evaluator;

/// The format `mustache`.
#[derive(Clone, Copy, Debug, Default)]
pub struct MustacheFormat {
    escape_html: bool,
}

impl MustacheFormat {
    /// The format for prompts, which are no HTML: values are printed as they are.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether `{{name}}` escapes what HTML would read, as mustache.js does. The
    /// format is then named `mustache-html`.
    #[must_use]
    pub fn escape_html(self, escape_html: bool) -> Self {
        MustacheFormat { escape_html }
    }
}

impl TemplateFormat for MustacheFormat {
    fn name(&self) -> &'static str {
        if !self.escape_html {
            "mustache"
        } else {
            "mustache-html"
        }
    }

    fn calls_by_variable(&self) -> bool {
        true
    }

    fn tokens(&self, text: &str) -> Vec<SemanticToken> {
        editor::scan(text).tokens
    }

    fn completions(&self, text: &str, at: usize, names: &ExternalNames<'_>) -> Vec<CompletionItem> {
        editor::completions(text, at, names)
    }

    fn escape(&self, literal: &str) -> Option<String> {
        Some(escaped(literal))
    }

    fn compile(
        &self,
        sources: &[TemplateSource<'_>],
        options: &CompileOptions,
    ) -> Result<Arc<dyn CompiledTemplate>, CompileError> {
        let names = sources.iter().enumerate().rev();
        let names: HashMap<&str, usize> = names.map(|(index, s)| (s.name, index)).collect();
        let find = |name: &str| names.get(name).copied();
        let mut compiled = Vec::with_capacity(sources.len());
        let mut found = Vec::new();
        for source in sources {
            match parser::parse(source, options, &find, sources.len() == 1) {
                Ok(program) => compiled.push(Compilation {
                    name: source.name.to_owned(),
                    text: source.text.to_owned(),
                    library: source.library,
                    program,
                }),
                Err(problems) => found.extend(problems),
            }
        }
        CompileError::unless_empty(found)?;
        Ok(Arc::new(MustacheTemplate {
            references: references::references(&compiled),
            sources: compiled,
            missing: options.missing,
            escape_html: self.escape_html,
        }))
    }
}

/// Puts other delimiters around every run of braces that could be a tag with
/// what follows. They stand in a line with text, so the line stays.
fn escaped(literal: &str) -> String {
    let mut percents = String::from("%");
    while literal.contains(&format!("<{percents}")) {
        percents.push('%');
    }
    let mut out = String::with_capacity(literal.len());
    let mut rest = literal;
    while let Some(start) = rest.find('{') {
        let run = rest.len() - start - rest[start..].trim_start_matches('{').len();
        let (before, after) = rest.split_at(start);
        let (run, after) = after.split_at(run);
        out.push_str(before);
        if run.len() == 1 && !after.is_empty() {
            out.push_str(run)
        } else {
            let around =
                format!("{{{{=<{percents} {percents}>=}}}}{run}<{percents}={{{{ }}}}={percents}>");
            out.push_str(&around);
        }
        rest = after;
    }
    out + rest
}

#[derive(Debug)]
struct MustacheTemplate {
    sources: Vec<Compilation>,
    references: References,
    missing: Missing,
    escape_html: bool,
}

#[derive(Debug)]
struct Compilation {
    name: String,
    text: String,
    library: bool,
    program: Program,
}

impl CompiledTemplate for MustacheTemplate {
    fn references(&self) -> &References {
        &self.references
    }

    fn pass(&self, entry: &str, pass: &mut Pass<'_>) -> Result<(), StopReason> {
        let Some(source) = self.sources.iter().find(|source| source.name == entry) else {
            return Err(RenderError::no_source(entry).into());
        };
        Evaluator::new(self, pass).run(source)
    }
}
