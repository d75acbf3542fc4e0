//! Python's format strings, as used by `str.format` and LangChain: `{name}`, `{price:,.2f}`,
//! `{row[0]!r:>{width}}`.
//!
//! Values are plain data. Brackets select items of lists and objects, and there are no attributes,
//! so a field cannot reach an object of the host.

mod ast;
mod compilation;
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
use compilation::Compilation;
use eval::Evaluator;
use parser::Rules;
use references::VariableNames;

/// The format `f-string`, which follows Python's rules or LangChain's stricter rules.
#[derive(Clone, Copy, Debug, Default)]
pub struct FStringFormat {
    rules: Rules,
}

impl FStringFormat {
    /// Creates the format `f-string`, which supports everything that Python's `str.format` does
    /// with data. Fields that would fail for every value are rejected at compile time.
    ///
    /// # Examples
    ///
    /// ```
    /// # use futures_util::FutureExt;
    /// # use quillet_core::{Map, Value};
    /// # use quillet_template::*;
    /// use quillet_template::format::fstring::FStringFormat;
    ///
    /// let formats = TemplateFactory::new().with(FStringFormat::new());
    /// let source = TemplateSource::new("p", "{price:,.2f} EUR");
    /// let template = formats.compile("f-string", &[source], &CompileOptions::default())?;
    /// let variables = Map::from([("price", 1234.5)]);
    /// # let job = Render {
    /// #     template: &*template,
    /// #     entries: &["p"],
    /// #     variables: &variables,
    /// #     functions: &NoFunctions,
    /// #     limits: &RenderLimits::default(),
    /// # };
    /// # let rendered = render(&job).now_or_never().unwrap()?;
    /// assert_eq!(rendered.text(0), "1,234.50 EUR");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates the format `f-string-strict`, which accepts the prompts that LangChain 1.x accepts
    /// when a prompt is created. Brackets, nested fields and digits as names are rejected. Errors
    /// that LangChain finds only during formatting are render errors.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_template::format::fstring::FStringFormat;
    /// use quillet_template::{CompileOptions, TemplateFormat, TemplateSource};
    ///
    /// let source = [TemplateSource::new("p", "{row[0]}")];
    /// let options = CompileOptions::default();
    /// assert!(FStringFormat::new().compile(&source, &options).is_ok());
    /// assert!(FStringFormat::strict().compile(&source, &options).is_err());
    /// ```
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
