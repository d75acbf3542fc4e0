//! Mustache, compatible with the specification and mustache.js: variables, sections, partials,
//! comments and delimiters. The optional modules of the specification (lambdas, inheritance,
//! dynamic names) are not supported.
//!
//! Values are plain data. If no variable has a name, the function with that name is called. Its
//! arguments are the variables with the names of its parameters.

mod ast;
mod compilation;
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
    CompileError, CompileOptions, CompiledTemplate, Pass, References, RenderError, StopReason,
    TemplateFormat, TemplateSource,
};
use compilation::{Compilation, MustacheTemplate};
use eval::Evaluator;

/// The format `mustache`.
#[derive(Clone, Copy, Debug, Default)]
pub struct MustacheFormat {
    escape_html: bool,
}

impl MustacheFormat {
    /// Creates the format `mustache`. Values are not escaped, because prompts are not HTML.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether `{{name}}` escapes HTML characters, as in mustache.js. The format is then named
    /// `mustache-html`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use futures_util::FutureExt;
    /// # use quillet_core::{Map, Value};
    /// # use quillet_template::*;
    /// use quillet_template::format::mustache::MustacheFormat;
    ///
    /// let formats = TemplateFactory::new().with(MustacheFormat::new().escape_html(true));
    /// let source = TemplateSource::new("p", "{{name}}, {{{name}}}");
    /// let template = formats.compile("mustache-html", &[source], &CompileOptions::default())?;
    /// let variables = Map::from([("name", "A & B")]);
    /// # let job = Render {
    /// #     template: &*template,
    /// #     entries: &["p"],
    /// #     variables: &variables,
    /// #     functions: &NoFunctions,
    /// #     limits: &RenderLimits::default(),
    /// # };
    /// # let rendered = render(&job).now_or_never().unwrap()?;
    /// assert_eq!(rendered.text(0), "A &amp; B, A & B");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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

/// Escapes text by changing the delimiters around every run of braces that could form a tag. The
/// tags that change the delimiters share a line with text, so the line is not dropped.
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
