//! Python's format strings, as `str.format` and LangChain read them: `{name}`,
//! `{price:,.2f}`, `{row[0]!r:>{width}}`.
//!
//! The values are data: brackets take items out of lists and objects, and
//! nothing has attributes, so that no field reaches an object of the host.

mod ast;
pub(crate) mod convert;
mod editor;
mod eval;
mod parser;
mod print;
mod references;

use std::sync::Arc;

use quillet_core::SemanticToken;

use crate::editor::CompletionItem;
use crate::{
    CompileError, CompileOptions, CompiledTemplate, Missing, Pass, References, RenderError,
    StopReason, TemplateFormat, TemplateSource,
};
use ast::Program;
use eval::Evaluator;
use parser::Rules;
use references::VariableNames;

/// The format `f-string`, by Python's rules or by LangChain's stricter ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct FStringFormat {
    rules: Rules,
}

impl FStringFormat {
    /// The format `f-string`: all that Python's `str.format` does with data.
    /// What can never be formatted is refused when it is compiled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The format `f-string-strict`: what LangChain (1.x) accepts when a prompt
    /// is made. No brackets, no nested fields, no digits as names; what it finds
    /// only when it formats fails in the render.
    #[must_use]
    pub fn strict() -> Self {
        FStringFormat {
            rules: Rules::LangChain,
        }
    }
}

impl TemplateFormat for FStringFormat {
    fn name(&self) -> &'static str {
        match self.rules {
            Rules::Python => "f-string",
            Rules::LangChain => "f-string-strict",
        }
    }

    fn aliases(&self) -> &'static [&'static str] {
        match self.rules {
            Rules::Python => &["fstring", "python", "langchain"],
            Rules::LangChain => &["langchain-f-string"],
        }
    }

    fn calls_by_variable(&self) -> bool {
        true
    }

    fn tokens(&self, text: &str) -> Vec<SemanticToken> {
        editor::scan(text).tokens
    }

    fn completions(
        &self,
        text: &str,
        at: usize,
        names: &crate::editor::ExternalNames<'_>,
    ) -> Vec<CompletionItem> {
        editor::completions(text, at, names)
    }

    fn escape(&self, literal: &str) -> Option<String> {
        Some(literal.replace('{', "{{").replace('}', "}}"))
    }

    fn compile(
        &self,
        sources: &[TemplateSource<'_>],
        options: &CompileOptions,
    ) -> Result<Arc<dyn CompiledTemplate>, CompileError> {
        let mut compiled = Vec::with_capacity(sources.len());
        let mut names = VariableNames::default();
        let mut found = Vec::new();
        for (index, source) in sources.iter().enumerate() {
            match parser::parse(source, self.rules, options.messages) {
                Ok(program) => {
                    if !source.library {
                        names.add(&program, index);
                    }
                    compiled.push(Compilation {
                        name: source.name.to_owned(),
                        text: source.text.to_owned(),
                        program,
                    });
                }
                Err(problems) => found.extend(problems),
            }
        }
        CompileError::unless_empty(found)?;
        Ok(Arc::new(FStringTemplate {
            sources: compiled,
            references: names.into_references(),
            missing: options.missing,
        }))
    }
}

#[derive(Debug)]
struct FStringTemplate {
    sources: Vec<Compilation>,
    references: References,
    missing: Missing,
}

#[derive(Debug)]
struct Compilation {
    name: String,
    text: String,
    program: Program,
}

impl CompiledTemplate for FStringTemplate {
    fn references(&self) -> &References {
        &self.references
    }

    fn pass(&self, entry: &str, pass: &mut Pass<'_>) -> Result<(), StopReason> {
        let Some(source) = self.sources.iter().find(|source| source.name == entry) else {
            return Err(RenderError::no_source(entry).into());
        };
        let mut evaluator = Evaluator {
            source,
            missing: self.missing,
            pass,
        };
        evaluator.run()
    }
}
