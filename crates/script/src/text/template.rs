//! Templates in messages.
//!
//! Only text by the author is a template. Values are inserted unchanged, except those that the
//! author wrote as templates, for example in the front matter. These are rendered first.

use std::sync::Arc;

use quick_cache::{Weighter, sync::Cache};
use quillet_core::{BoxFuture, Diagnostic, Map, SemanticToken, Span, Value, nearest};
use quillet_template::format::jinja::JinjaFormat;
use quillet_template::{
    CallArguments, CallError, CompileError, CompileLimits, CompileOptions, CompiledTemplate,
    FunctionHost, Missing, References, Render, RenderError, RenderLimits, RenderSeed,
    TemplateFactory, TemplateSource, render,
};

use crate::text::markdown::to_markdown;

/// The template format of scripts that do not set a format.
pub const DEFAULT_FORMAT: &str = "hf";

/// A function that all templates have, which formats a value as a Markdown list.
const TO_MARKDOWN: &str = "toMarkdown";

/// Maximum depth of templates in the values of variables.
const DEPTH: usize = 16;

// Maximum number of cached templates. Both the number and the size are limited, because a server
// runs scripts of many users.
const KEPT: usize = 1024;

/// Maximum total size of the cached template texts in bytes.
const KEPT_BYTES: u64 = 8 << 20;

/// Format names of scripts and the corresponding names of the factory.
const FORMATS: [(&str, &str); 9] = [
    ("hf", "jinja-script"),
    ("huggingface", "jinja-script"),
    ("golang", "go"),
    ("localai", "go"),
    ("ollama", "go"),
    ("fstring", "f-string"),
    ("python", "f-string"),
    ("f-string", "f-string"),
    ("langchain", "f-string"),
];

/// Error for a template that cannot be rendered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TemplateError {
    /// A stable code, such as `template.syntax` or `render.limit`.
    pub code: &'static str,
    /// The problem, without a location.
    pub message: String,
    /// Span of the error in the given text.
    pub span: Option<Span>,
    /// The variable whose template contains the error, if the error is not in the given text.
    /// `span` then refers to the text of that variable.
    pub variable: Option<String>,
    /// How to fix the problem.
    pub help: Option<String>,
}

/// A text to render and its context.
#[expect(
    missing_debug_implementations,
    reason = "a bundle of borrowed trait objects"
)]
#[derive(Clone, Copy)]
pub struct TemplateJob<'a> {
    /// Name or alias of the format. [`DEFAULT_FORMAT`] if empty.
    pub format: &'a str,
    /// The author's text.
    pub text: &'a str,
    /// Variables of the template.
    pub variables: &'a Map,
    /// Functions of the template besides `toMarkdown`.
    pub functions: &'a dyn FunctionHost,
    /// Limits. `time` includes the time spent in functions.
    pub limits: &'a RenderLimits,
    /// Returns whether the author wrote the value of a variable, so that the value is a template.
    pub authored: &'a (dyn Fn(&str) -> bool + Sync),
    /// Returns whether a name may be undefined, such as a declared input without a value.
    pub declared: &'a (dyn Fn(&str) -> bool + Sync),
}

/// Formats by name, and a cache of compiled templates.
#[derive(Debug)]
pub struct Templates {
    factory: TemplateFactory,
    compiled: Cache<TemplateKey, Arc<dyn CompiledTemplate>, ByText>,
}

/// A format and a text, as the key of the cache.
type TemplateKey = (&'static str, Arc<str>);

#[derive(Clone, Debug)]
struct ByText;

impl Weighter<TemplateKey, Arc<dyn CompiledTemplate>> for ByText {
    fn weight(&self, (_, text): &TemplateKey, _: &Arc<dyn CompiledTemplate>) -> u64 {
        // Each entry adds a fixed amount, so that many small templates reach the limit too.
        text.len() as u64 + 64
    }
}

impl Templates {
    /// Creates templates from the formats of a factory, which can be selected by their own names
    /// and by the names that scripts use.
    #[must_use]
    pub fn new(factory: Arc<TemplateFactory>) -> Self {
        Templates {
            factory: Arc::unwrap_or_clone(factory).with(JinjaFormat::script()),
            compiled: Cache::with_weighter(KEPT, KEPT_BYTES, ByText),
        }
    }

    /// Checks that a format exists.
    ///
    /// # Errors
    /// The format is unknown. The error lists the formats and suggests the most similar format.
    pub fn check_format(&self, format: &str) -> Result<(), TemplateError> {
        self.format(format).map(|_| ())
    }

    /// Returns the tokens for syntax highlighting in an editor. Empty if the format is unknown.
    pub(crate) fn tokens(&self, text: &str, format: &str) -> Vec<SemanticToken> {
        let format = self.format(format).ok();
        let format = format.and_then(|name| self.factory.format(name));
        let limits = CompileLimits::default();
        format.map_or_else(Vec::new, |format| {
            quillet_template::editor::tokens(&**format, text, &limits)
        })
    }

    /// Returns whether a template needs rendering. If the result is `false`, the text certainly
    /// needs none.
    #[must_use]
    pub fn needs_rendering(&self, text: &str, format: &str) -> bool {
        match self.format(format) {
            Ok("f-string" | "f-string-strict") => text.contains(['{', '}']),
            Ok("jinja" | "jinja-plain" | "jinja-script") => {
                ["{{", "{%", "{#"].iter().any(|mark| text.contains(mark))
            }
            Ok(_) => text.contains("{{"),
            // Rendering will report the error.
            Err(_) => true,
        }
    }

    /// Returns the compiled template from the cache, or compiles the text.
    ///
    /// # Errors
    /// The format is unknown, or the text is not a valid template.
    pub fn compile(
        &self,
        format: &str,
        text: &str,
    ) -> Result<Arc<dyn CompiledTemplate>, TemplateError> {
        let format = self.format(format)?;
        let key = (format, Arc::from(text));
        if let Some(found) = self.compiled.get(&key) {
            return Ok(found);
        }
        let options = CompileOptions {
            missing: Missing::Empty,
            ..CompileOptions::default()
        };
        let compiled = self
            .factory
            .compile(format, &[TemplateSource::new(ENTRY, text)], &options)
            .map_err(|error| TemplateError::from(error).with_braces(text))?;
        // Two tasks may compile the same text concurrently. Their results are equal, so no lock is
        // needed.
        self.compiled.insert(key, Arc::clone(&compiled));
        Ok(compiled)
    }

    /// Renders a template. An undefined field of a value prints nothing. A declared name without a
    /// value also prints nothing.
    ///
    /// # Errors
    /// The text is not a valid template, a function fails, a limit is exceeded, a template of the
    /// author includes itself, or the text reads an unknown name.
    pub async fn render(&self, job: &TemplateJob<'_>) -> Result<String, TemplateError> {
        // A text without template syntax skips both the compiler and the cache.
        if !self.needs_rendering(job.text, job.format) {
            return Ok(job.text.to_owned());
        }
        self.render_within(*job, Vec::new()).await
    }

    /// Boxed, because rendering is recursive: variables may be templates themselves.
    fn render_within<'a>(
        &'a self,
        job: TemplateJob<'a>,
        path: Vec<&'a str>,
    ) -> BoxFuture<'a, Result<String, TemplateError>> {
        Box::pin(async move {
            let mut template = self.compile(job.format, job.text)?;
            let unknown = unknown(&job, template.references());
            if let Some(first) = unknown.first() {
                template = self.requiring(&job, &unknown, first)?;
            }
            let expanded = self.expanded(job, template.as_ref(), &path).await?;
            let what = Render {
                template: template.as_ref(),
                entries: &[ENTRY],
                variables: expanded.as_ref().unwrap_or(job.variables),
                functions: &WithOwn(job.functions),
                limits: job.limits,
            };
            let rendered = render(&what).await.map_err(|error| {
                let read = unknown.iter().find(|unknown| unknown.is_reason_of(&error));
                match read {
                    Some(unknown) => unknown.error(&job, error.span),
                    None => error.into(),
                }
            });
            Ok(rendered?.into_text())
        })
    }

    /// Compiles the template so that it fails where it reads an unknown name. Jinja reports that
    /// location only if the branch is executed, so unused branches may contain unknown names. The
    /// other formats read all their names.
    fn requiring(
        &self,
        job: &TemplateJob<'_>,
        unknown: &[UnknownName],
        first: &UnknownName,
    ) -> Result<Arc<dyn CompiledTemplate>, TemplateError> {
        let format = self.format(job.format)?;
        if !matches!(format, "jinja" | "jinja-plain" | "jinja-script") {
            return Err(first.error(job, Some(first.span)));
        }
        let options = CompileOptions {
            missing: Missing::Empty,
            required: unknown.iter().map(|name| name.name.clone()).collect(),
            ..CompileOptions::default()
        };
        let sources = [TemplateSource::new(ENTRY, job.text)];
        // Not cached, because the required names depend on the variables of this job.
        Ok(self.factory.compile(format, &sources, &options)?)
    }

    /// Renders the variables that are templates by the author. Returns `None` if there are none.
    async fn expanded<'a>(
        &'a self,
        job: TemplateJob<'a>,
        template: &dyn CompiledTemplate,
        path: &[&'a str],
    ) -> Result<Option<Map>, TemplateError> {
        // The table is copied only if a value must be replaced.
        let mut expanded = None;
        for reference in &template.references().variables {
            if let Some((blank, value)) = trimmed(&job, &reference.path) {
                let table = expanded.get_or_insert_with(|| job.variables.to_table());
                table.insert(blank.into(), value.clone());
            }
            let Some((name, value)) = self.template_of(&job, &reference.path, path)? else {
                continue;
            };
            let mut deeper = path.to_vec();
            deeper.push(name);
            let inner = TemplateJob { text: value, ..job };
            let text = self
                .render_within(inner, deeper)
                .await
                .map_err(|error| error.of(name))?;
            let table = expanded.get_or_insert_with(|| job.variables.to_table());
            table.insert(name.into(), text.into());
        }
        Ok(expanded.map(Map::new))
    }

    /// Returns the name and the text of a variable that is a template by the author.
    fn template_of<'j>(
        &self,
        job: &TemplateJob<'j>,
        reference: &[String],
        path: &[&str],
    ) -> Result<Option<(&'j str, &'j str)>, TemplateError> {
        let [name] = reference else {
            return Ok(None);
        };
        let Some((_, name, Value::Str(text))) = job.variables.table().get_full(&**name) else {
            return Ok(None);
        };
        if !(job.authored)(name) || !self.needs_rendering(text, job.format) {
            return Ok(None);
        }
        if path.contains(&&**name) || path.len() >= DEPTH {
            return Err(circular(name, path));
        }
        Ok(Some((name, text)))
    }

    /// Returns the factory's name of a format.
    fn format(&self, name: &str) -> Result<&'static str, TemplateError> {
        let name = if name.is_empty() {
            DEFAULT_FORMAT
        } else {
            name
        };
        let own = FORMATS
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        let meant = own.map_or(name, |(_, meant)| meant);
        let found = self.factory.format(meant).map(|format| format.name());
        found.ok_or_else(|| self.unknown_format(name))
    }

    fn unknown_format(&self, name: &str) -> TemplateError {
        let own = FORMATS.iter().map(|(known, _)| *known);
        let names = own.chain(self.factory.formats().iter().map(|format| format.name()));
        TemplateError {
            code: "template.format",
            message: format!("unknown template format {name:?}"),
            span: None,
            variable: None,
            help: Some(match nearest(name, names) {
                Some(near) => format!("did you mean {near}?"),
                None => "known formats: hf, golang, fstring".to_owned(),
            }),
        }
    }
}

/// An unknown name in a template.
struct UnknownName {
    name: String,
    span: Span,
}

/// Returns the unknown names that a template reads without testing whether they exist.
fn unknown(job: &TemplateJob<'_>, references: &References) -> Vec<UnknownName> {
    let mut found: Vec<UnknownName> = Vec::new();
    for reference in references.variables.iter().filter(|known| !known.optional) {
        let Some(name) = reference.path.first() else {
            continue;
        };
        let has = |name: &str| job.variables.get(name).is_some() || (job.declared)(name);
        // `{ name }` in an f-string includes its spaces, so the trimmed name counts too.
        if has(name) || has(name.trim()) || found.iter().any(|known| known.name == *name) {
            continue;
        }
        found.push(UnknownName {
            name: name.clone(),
            span: reference.span,
        });
    }
    found
}

impl UnknownName {
    /// Returns whether rendering failed because it read this name.
    fn is_reason_of(&self, error: &RenderError) -> bool {
        error.kind == quillet_template::ErrorKind::MissingVariable
            // The engine reports the name only in its message.
            && error.reason == format!("'{}' is undefined", self.name)
    }

    fn error(&self, job: &TemplateJob<'_>, span: Option<Span>) -> TemplateError {
        let name = self.name.trim();
        let known = job.variables.iter().map(|(known, _)| &**known);
        TemplateError {
            code: UNKNOWN_NAME,
            message: format!("unknown variable `{name}`"),
            span,
            variable: None,
            help: Some(match nearest(name, known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!(
                    "declare it under `input`, set it, or write `{{{{ {name} | default('') }}}}` \
                    if it is optional"
                ),
            }),
        }
    }
}

/// Code of diagnostics about an unknown name.
pub(crate) const UNKNOWN_NAME: &str = "script.unknown_name";

/// Handles `{ name }` in the format `fstring`, where Python includes the spaces in the name.
fn trimmed<'v>(job: &TemplateJob<'v>, reference: &'v [String]) -> Option<(&'v str, &'v Value)> {
    let name = reference.first()?;
    let trimmed = name.trim();
    if trimmed.len() == name.len() || job.variables.get(name).is_some() {
        return None;
    }
    Some((name, job.variables.get(trimmed)?))
}

/// Name of a message's only source. Errors show the location of the message instead.
const ENTRY: &str = "message";

fn circular(name: &str, path: &[&str]) -> TemplateError {
    let names = [path, &[name]].concat().join(" → ");
    TemplateError {
        code: "render.limit",
        message: format!("template cycle of {name:?}: {names}"),
        span: None,
        variable: None,
        help: Some("remove the variable's own name from its value".to_owned()),
    }
}

impl TemplateError {
    /// Improves the error of a template with a third brace: adds its location and a fix.
    fn with_braces(self, text: &str) -> Self {
        let end = self.span.map_or(0, |span| span.start);
        let before = text.get(..end).unwrap_or_default();
        let Some(start) = before.rfind("{{{").filter(|_| self.help.is_none()) else {
            return self;
        };
        TemplateError {
            span: Some(Span {
                start,
                end: start + 3,
            }),
            help: Some("write two braces, {{name}}, or {{ {…} }} for an object".to_owned()),
            ..self
        }
    }

    /// Attributes an error to the template in a variable.
    fn of(self, variable: &str) -> Self {
        TemplateError {
            variable: self.variable.or_else(|| Some(variable.to_owned())),
            ..self
        }
    }

    /// Converts the error to a diagnostic about a given source text.
    #[must_use]
    pub fn diagnostic(&self, source: &str, text: &str) -> Diagnostic {
        let found = Diagnostic::error(self.code, source, &self.message);
        let found = match self.span {
            Some(span) if self.variable.is_none() => found.at(text, span),
            _ => found,
        };
        match &self.help {
            Some(help) => found.help(help),
            None => found,
        }
    }
}

impl From<CompileError> for TemplateError {
    fn from(error: CompileError) -> Self {
        let first = error.diagnostics.into_iter().next();
        let first =
            first.unwrap_or_else(|| Diagnostic::error("template.syntax", "", error.message));
        TemplateError {
            code: first.code,
            message: first.message,
            span: first.span,
            variable: None,
            help: first.help,
        }
    }
}

impl From<Box<RenderError>> for TemplateError {
    fn from(error: Box<RenderError>) -> Self {
        TemplateError {
            code: error.kind.code().as_str(),
            message: error.reason,
            span: error.span,
            variable: None,
            help: error.help,
        }
    }
}

/// Functions of a script, which take precedence, and those that all templates have.
struct WithOwn<'a>(&'a dyn FunctionHost);

impl FunctionHost for WithOwn<'_> {
    fn contains(&self, name: &str) -> bool {
        name == TO_MARKDOWN || self.0.contains(name)
    }

    fn names(&self) -> Vec<&str> {
        let mut names = self.0.names();
        names.push(TO_MARKDOWN);
        names
    }

    fn idempotent(&self, name: &str) -> bool {
        self.0.idempotent(name) || (name == TO_MARKDOWN && !self.0.contains(name))
    }

    fn parameters(&self, name: &str) -> Option<Vec<String>> {
        self.0.parameters(name)
    }

    fn fixed(&self) -> Option<RenderSeed> {
        self.0.fixed()
    }

    fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: CallArguments,
    ) -> BoxFuture<'a, Result<Value, CallError>> {
        if name == TO_MARKDOWN && !self.0.contains(name) {
            return Box::pin(async move { Ok(markdown(&arguments)) });
        }
        self.0.call(name, arguments)
    }
}

/// Implements `toMarkdown(value, title)`.
fn markdown(arguments: &CallArguments) -> Value {
    let title = arguments
        .positional
        .get(1)
        .or_else(|| arguments.named.get("title"));
    match arguments.positional.first() {
        Some(Value::Str(text)) => Value::Str(Arc::clone(text)),
        Some(value) => to_markdown(value, title.and_then(Value::as_str)).into(),
        None => "".into(),
    }
}
