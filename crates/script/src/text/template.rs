//! Templates in messages.
//!
//! Only the author's text is a template. Values are put in as they are, but for values that
//! the author wrote as templates themselves, in the front matter say: those are rendered first.

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

/// The format of scripts that name none.
pub const DEFAULT_FORMAT: &str = "hf";

/// The function that every template has: a value as a list in Markdown.
const TO_MARKDOWN: &str = "toMarkdown";

/// Templates of the author inside each other.
const DEPTH: usize = 16;

// A server sees scripts of many users, so both the number and the bytes are bounded.
/// Most compiled templates that are cached.
const KEPT: usize = 1024;

/// Most bytes of text of those that are cached.
const KEPT_BYTES: u64 = 8 << 20;

/// The names that scripts have for formats, and what they are here.
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

/// The error of a template that was not rendered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TemplateError {
    /// A stable code, as `template.syntax` or `render.limit`.
    pub code: &'static str,
    /// What is wrong, without the place.
    pub message: String,
    /// Where in the text that was given.
    pub span: Option<Span>,
    /// The variable in whose own template it is, if it is not in the text that was given: then
    /// `span` is a place in that.
    pub variable: Option<String>,
    /// How to fix it.
    pub help: Option<String>,
}

/// What to render.
#[expect(
    missing_debug_implementations,
    reason = "a bundle of borrowed trait objects"
)]
#[derive(Clone, Copy)]
pub struct TemplateJob<'a> {
    /// The format's name or alias; [`DEFAULT_FORMAT`] where it is empty.
    pub format: &'a str,
    /// The author's text.
    pub text: &'a str,
    /// What it may name.
    pub variables: &'a Map,
    /// What it may call, besides `toMarkdown`.
    pub functions: &'a dyn FunctionHost,
    /// Bounds; `time` counts what functions take too.
    pub limits: &'a RenderLimits,
    /// Whether the variable of that name is the author's text, and so a template too.
    pub authored: &'a (dyn Fn(&str) -> bool + Sync),
    /// Whether a name that has no value may be missing: a declared input that was not given, say.
    pub declared: &'a (dyn Fn(&str) -> bool + Sync),
}

/// Formats by name, and templates that were compiled before.
#[derive(Debug)]
pub struct Templates {
    factory: TemplateFactory,
    compiled: Cache<TemplateKey, Arc<dyn CompiledTemplate>, ByText>,
}

/// A format and a text.
type TemplateKey = (&'static str, Arc<str>);

#[derive(Clone, Debug)]
struct ByText;

impl Weighter<TemplateKey, Arc<dyn CompiledTemplate>> for ByText {
    fn weight(&self, (_, text): &TemplateKey, _: &Arc<dyn CompiledTemplate>) -> u64 {
        // A flat surcharge, so that many tiny templates are not almost free.
        text.len() as u64 + 64
    }
}

impl Templates {
    /// The formats of a factory, by their own names and by those of scripts.
    #[must_use]
    pub fn new(factory: Arc<TemplateFactory>) -> Self {
        Templates {
            factory: Arc::unwrap_or_clone(factory).with(JinjaFormat::script()),
            compiled: Cache::with_weighter(KEPT, KEPT_BYTES, ByText),
        }
    }

    /// Checks that there is a format of that name.
    ///
    /// # Errors
    /// The names there are, and the nearest.
    pub fn check_format(&self, format: &str) -> Result<(), TemplateError> {
        self.format(format).map(|_| ())
    }

    /// The places of a text that an editor colours; none where there is no such format.
    pub(crate) fn tokens(&self, text: &str, format: &str) -> Vec<SemanticToken> {
        let format = self.format(format).ok();
        let format = format.and_then(|name| self.factory.format(name));
        let limits = CompileLimits::default();
        format.map_or_else(Vec::new, |format| {
            quillet_template::editor::tokens(&**format, text, &limits)
        })
    }

    /// Whether a text has anything to render: false is certain.
    #[must_use]
    pub fn needs_rendering(&self, text: &str, format: &str) -> bool {
        match self.format(format) {
            Ok("f-string" | "f-string-strict") => text.contains(['{', '}']),
            Ok("jinja" | "jinja-plain" | "jinja-script") => {
                ["{{", "{%", "{#"].iter().any(|mark| text.contains(mark))
            }
            Ok(_) => text.contains("{{"),
            // The render says what is wrong.
            Err(_) => true,
        }
    }

    /// Compiles a text, or takes what was compiled before.
    ///
    /// # Errors
    /// There is no such format, or the text is no template of it.
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
        // Two tasks may compile the same text at once. The results are equal, so no lock is held.
        self.compiled.insert(key, Arc::clone(&compiled));
        Ok(compiled)
    }

    /// The text with its values in it. What a value does not hold prints nothing, and so does a
    /// name that is declared without a value.
    ///
    /// # Errors
    /// The text is no template, a function failed, a limit was reached, a template of the
    /// author's names itself, or it reads a name that nothing has.
    pub async fn render(&self, job: &TemplateJob<'_>) -> Result<String, TemplateError> {
        // A text without marks skips both the compiler and the cache.
        if !self.needs_rendering(job.text, job.format) {
            return Ok(job.text.to_owned());
        }
        self.render_within(*job, Vec::new()).await
    }

    /// Boxed, because a template may need others rendered first.
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

    /// The template again, such that it fails where it reads one of these names. Jinja tells
    /// where that is, so a branch that is not taken may name what nothing has; the other formats
    /// read all that they name.
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
        // Not cached: the required names depend on the variables of this job, not on the text
        // alone.
        Ok(self.factory.compile(format, &sources, &options)?)
    }

    /// The variables, where some of those that the template names are the author's templates.
    async fn expanded<'a>(
        &'a self,
        job: TemplateJob<'a>,
        template: &dyn CompiledTemplate,
        path: &[&'a str],
    ) -> Result<Option<Map>, TemplateError> {
        // The table is copied only once a value has to be replaced.
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

    /// The name and the text of a variable that is a template of the author's.
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

    /// The factory's name of a format.
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

/// A name in a template that nothing has.
struct UnknownName {
    name: String,
    span: Span,
}

/// Names that a template reads without asking whether they are there, and that nothing has.
fn unknown(job: &TemplateJob<'_>, references: &References) -> Vec<UnknownName> {
    let mut found: Vec<UnknownName> = Vec::new();
    for reference in references.variables.iter().filter(|known| !known.optional) {
        let Some(name) = reference.path.first() else {
            continue;
        };
        let has = |name: &str| job.variables.get(name).is_some() || (job.declared)(name);
        // `{ name }` of an f-string keeps its blanks, so the trimmed name counts too.
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
    /// Whether a render ended because it read this name.
    fn is_reason_of(&self, error: &RenderError) -> bool {
        error.kind == quillet_template::ErrorKind::MissingVariable
            // The engine gives the name in its message only, so the message is compared.
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

/// The code of a diagnostic about a name that nothing has.
pub(crate) const UNKNOWN_NAME: &str = "script.unknown_name";

/// `{ name }` of the format `fstring`: to Python the blanks are a part of the name.
fn trimmed<'v>(job: &TemplateJob<'v>, reference: &'v [String]) -> Option<(&'v str, &'v Value)> {
    let name = reference.first()?;
    let trimmed = name.trim();
    if trimmed.len() == name.len() || job.variables.get(name).is_some() {
        return None;
    }
    Some((name, job.variables.get(trimmed)?))
}

/// What a message's only source is called. Errors say the message's place instead.
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
    /// The same; where a third brace is what is invalid, with its place and how to fix it.
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

    /// The same, in the template that a variable is.
    fn of(self, variable: &str) -> Self {
        TemplateError {
            variable: self.variable.or_else(|| Some(variable.to_owned())),
            ..self
        }
    }

    /// The finding, for a text that was written in one piece.
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

/// A script's functions, and those that every template has. The script's own win.
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

/// `toMarkdown(value, title)`.
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
