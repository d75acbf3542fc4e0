//! Entry points of the Go format: options, compiling a set of sources, and evaluating one source.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use quillet_core::{SemanticToken, Value};

use crate::editor::{CompletionItem, ExternalNames};
use crate::error::{CompileError, ErrorKind, RenderError};
use crate::pass::{Pass, StopReason};
use crate::reference::References;
use crate::{
    CompileOptions, CompiledTemplate, MessageSyntax, Missing, TemplateFormat, TemplateSource,
};

use super::ast::{BuiltinFunction, TemplateDefinition};
use super::function::{FunctionMap, GoFunction};
use super::parser::{self, ParserSettings};
use super::{editor, references, sprig};

/// Go's text/template as a [`TemplateFormat`].
///
/// Numbers are integers or floats, depending on the caller's values. To match a Go host that
/// converts all numbers to `float64`, parse JSON with [`quillet_core::json::Numbers::Float`].
#[derive(Clone, Debug, Default)]
pub struct GoFormat {
    pub(super) functions: FunctionMap,
    strict_functions: bool,
}

impl GoFormat {
    /// Creates the format, which provides only Go's builtin functions.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds native functions. A function with the name of a builtin replaces the builtin.
    #[must_use]
    pub fn with_functions(mut self, functions: &[GoFunction]) -> Self {
        self.functions = self.functions.with(functions);
        self
    }

    /// Adds Sprig's functions for prompts. As in Go, Sprig's `slice` replaces the builtin.
    ///
    /// # Examples
    ///
    /// ```
    /// # use futures_util::FutureExt;
    /// # use quillet_core::{Map, Value};
    /// # use quillet_template::*;
    /// use quillet_template::format::go::GoFormat;
    ///
    /// let formats = TemplateFactory::new().with(GoFormat::new().with_sprig());
    /// let source = TemplateSource::new("p", "Hello {{ .name | upper }}!");
    /// let template = formats.compile("go", &[source], &CompileOptions::default())?;
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
    pub fn with_sprig(self) -> Self {
        sprig::FAMILIES
            .iter()
            .fold(self, |format, family| format.with_functions(family))
    }

    /// Sets whether an unknown function is a compile error, as in Go. By default, an unknown
    /// function is bound late.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_template::format::go::GoFormat;
    /// use quillet_template::{CompileOptions, TemplateFormat, TemplateSource};
    ///
    /// let source = [TemplateSource::new("p", r#"{{weather "Oslo"}}"#)];
    /// let options = CompileOptions::default();
    /// let late = GoFormat::new().compile(&source, &options)?;
    /// assert_eq!(late.references().functions[0].name, "weather");
    /// assert!(GoFormat::new().strict_functions(true).compile(&source, &options).is_err());
    /// # Ok::<(), quillet_template::CompileError>(())
    /// ```
    #[must_use]
    pub fn strict_functions(mut self, strict: bool) -> Self {
        self.strict_functions = strict;
        self
    }

    fn parse_all(
        &self,
        sources: &[TemplateSource<'_>],
        options: &CompileOptions,
    ) -> Result<Vec<Vec<TemplateDefinition>>, CompileError> {
        let settings = ParserSettings {
            functions: &self.functions,
            strict_functions: self.strict_functions,
            nesting: options.limits.nesting,
            elements: options.messages == MessageSyntax::Elements,
        };
        let mut parsed = Vec::with_capacity(sources.len());
        let mut message = None;
        let mut diagnostics = Vec::new();
        for (i, source) in sources.iter().enumerate() {
            match parser::parse(source.name, source.text, i, &settings) {
                Ok(found) => {
                    if let Some(first) = found.problems.first() {
                        message.get_or_insert(first.to_string());
                    }
                    diagnostics.extend(found.problems);
                    parsed.push(found.definitions);
                }
                Err(failure) => {
                    message.get_or_insert(failure.message);
                    diagnostics.push(failure.diagnostic);
                }
            }
        }
        match message {
            None => Ok(parsed),
            Some(message) => Err(CompileError {
                message,
                diagnostics,
            }),
        }
    }
}

impl TemplateFormat for GoFormat {
    fn name(&self) -> &'static str {
        "go"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["golang", "go-template", "localai", "ollama"]
    }

    fn functions(&self) -> Vec<&str> {
        let builtins = BuiltinFunction::TABLE.iter().map(|(name, _)| *name);
        builtins.chain(self.functions.names()).collect()
    }

    fn tokens(&self, text: &str) -> Vec<SemanticToken> {
        editor::scan(text).tokens
    }

    fn completions(&self, text: &str, at: usize, names: &ExternalNames<'_>) -> Vec<CompletionItem> {
        editor::completions(text, at, names, &self.functions())
    }

    /// Escapes text. An action with the string `{{` prints two braces.
    fn escape(&self, literal: &str) -> Option<String> {
        let escaped = literal.replace("{{", "{{\"{{\"}}");
        // The following text may begin with a brace, so a final brace is also escaped.
        Some(match escaped.strip_suffix('{') {
            Some(before) => format!("{before}{{{{\"{{\"}}}}"),
            None => escaped,
        })
    }

    fn compile(
        &self,
        sources: &[TemplateSource<'_>],
        options: &CompileOptions,
    ) -> Result<Arc<dyn CompiledTemplate>, CompileError> {
        let parsed = self.parse_all(sources, options)?;
        let mut compiled = GoTemplate {
            sources: sources.iter().map(SourceText::of).collect(),
            definitions: Vec::new(),
            by_name: HashMap::default(),
            effects: OnceLock::new(),
            missing: options.missing,
            references: References::default(),
        };
        parsed
            .into_iter()
            .flatten()
            .for_each(|one| compiled.add(one));
        compiled.references = references::find(&compiled, sources);
        Ok(Arc::new(compiled))
    }
}

/// A source, with data for error messages and text operations.
#[derive(Debug)]
pub(super) struct SourceText {
    pub(super) name: Arc<str>,
    pub(super) text: Box<str>,
}

impl SourceText {
    fn of(source: &TemplateSource<'_>) -> Self {
        SourceText {
            name: source.name.into(),
            text: source.text.into(),
        }
    }
}

/// A compiled set of sources.
#[derive(Debug)]
pub(super) struct GoTemplate {
    sources: Vec<SourceText>,
    definitions: Vec<TemplateDefinition>,
    by_name: HashMap<Arc<str>, usize, foldhash::fast::RandomState>,
    /// Result of [`GoTemplate::has_effects`], computed at the first use.
    effects: OnceLock<bool>,
    pub(super) missing: Missing,
    references: References,
}

impl GoTemplate {
    /// Adds a definition. Unless it is empty, it replaces the definition with the same name from an
    /// earlier source.
    fn add(&mut self, definition: TemplateDefinition) {
        match self.by_name.get(&definition.name) {
            Some(_) if definition.is_empty => {}
            Some(known) => self.definitions[*known] = definition,
            None => {
                let index = self.definitions.len();
                self.by_name.insert(definition.name.clone(), index);
                self.definitions.push(definition);
            }
        }
    }

    pub(super) fn definition(&self, name: &str) -> Option<&TemplateDefinition> {
        self.definitions.get(*self.by_name.get(name)?)
    }

    /// Whether any template of the set calls a function that affects the following text.
    pub(super) fn has_effects(&self) -> bool {
        let any = |definition: &TemplateDefinition| {
            let mut ops = definition.ops.iter();
            ops.any(|op| super::exec::lasts(op, false))
        };
        *self
            .effects
            .get_or_init(|| self.definitions.iter().any(any))
    }

    pub(super) fn source_of(&self, definition: &TemplateDefinition) -> &SourceText {
        &self.sources[definition.source]
    }

    fn no_template(&self, entry: &str) -> RenderError {
        let first = self.sources.first().map_or("", |source| &*source.name);
        let reason = format!("no template {entry:?} associated with template {first:?}");
        let mut error = RenderError::new(ErrorKind::Execution, reason);
        error.message = format!("template: {}", error.reason);
        error
    }
}

impl CompiledTemplate for GoTemplate {
    fn references(&self) -> &References {
        &self.references
    }

    fn pass(&self, entry: &str, pass: &mut Pass<'_>) -> Result<(), StopReason> {
        let Some(definition) = self.definition(entry) else {
            return Err(self.no_template(entry).into());
        };
        // Most of the output is usually literal text.
        let guess = self.source_of(definition).text.len();
        pass.out().reserve(guess);
        let dot = Value::Map(pass.variables().clone());
        super::exec::run(self, definition, &dot, pass)
    }
}
