//! One template and its variables.

use std::fmt;
use std::sync::Arc;

use futures_util::FutureExt;
use quillet_core::{BoxFuture, Map, Message, Value};
use quillet_template::{
    CallArguments, CallError, CompileOptions, FunctionHost, References, Render, RenderLimits,
    TemplateSource, TextSegment,
};

use super::FORMATS;
use super::error::TemplateError;
use super::rendered::RenderedTemplate;

/// The name of a template that has none, in errors.
pub(super) const NAME: &str = "template";
/// The format of [`render`].
const GO: &str = "go";

/// The text of a template in the format of Go's `text/template`.
///
/// ```
/// let text = quillet::render("{{range .names}}{{.}} {{end}}", [("names", vec!["Ada", "Bob"])])?;
/// assert_eq!(text, "Ada Bob ");
/// # Ok::<(), quillet::TemplateError>(())
/// ```
///
/// # Errors
/// The template is broken, a variable is missing, or a limit is reached: with line and column.
pub fn render(template: &str, variables: impl Into<Map>) -> Result<String, TemplateError> {
    Template::new(GO, template)?.render(variables)
}

/// How a template is compiled and rendered.
#[derive(Clone, Debug)]
pub struct TemplateOptions {
    /// Its name in errors, and by which it can call itself. `template` by default.
    pub name: String,
    /// Sources that it can call, by name.
    pub partials: Vec<(String, String)>,
    /// What happens to missing variables, what divides messages, the bounds on sources.
    pub compile: CompileOptions,
    /// The bounds on renders.
    pub limits: RenderLimits,
    /// Asked every thousand steps of a render or so; `true` ends it. For hosts whose users can press
    /// a key to stop what runs.
    pub interrupt: Option<fn() -> bool>,
}

impl Default for TemplateOptions {
    fn default() -> Self {
        TemplateOptions {
            name: NAME.to_owned(),
            partials: Vec::new(),
            compile: CompileOptions::default(),
            limits: RenderLimits::default(),
            interrupt: None,
        }
    }
}

/// A function that a template may call, as far as a render has to know it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TemplateFunction {
    /// Its name.
    pub name: String,
    /// Names of its parameters in order, for formats whose calls take variables by name (Semantic
    /// Kernel's, and those without arguments).
    pub parameters: Option<Vec<String>>,
    /// Whether equal calls within one render share one result.
    pub idempotent: bool,
    /// What a failed call leaves in the text. Null, which leaves nothing, by default.
    pub default: Value,
}

impl From<&str> for TemplateFunction {
    fn from(name: &str) -> Self {
        TemplateFunction {
            name: name.to_owned(),
            ..TemplateFunction::default()
        }
    }
}

/// A template that was compiled, to be rendered any number of times, from any number of threads.
///
/// ```
/// use quillet::{Template, Value};
///
/// let greeting = Template::new("jinja", "Hello {{ name }}{% if loud %}!{% endif %}")?;
/// let text = greeting.render([("name", Value::from("Ada")), ("loud", true.into())])?;
/// assert_eq!(text, "Hello Ada!");
/// assert_eq!(greeting.variables(), ["name", "loud"]);
/// # Ok::<(), quillet::TemplateError>(())
/// ```
#[derive(Clone)]
pub struct Template {
    pub(super) compiled: Arc<dyn quillet_template::CompiledTemplate>,
    pub(super) name: Arc<str>,
    pub(super) limits: RenderLimits,
    pub(super) interrupt: Option<fn() -> bool>,
}

impl Template {
    /// Compiles a template of a format: `go`, `jinja`, `handlebars`, `mustache`, `liquid`,
    /// `semantic-kernel`, `f-string` or another of [`formats`](super::formats).
    ///
    /// # Errors
    /// There is no such format, or the template is broken: with line and column.
    pub fn new(format: &str, text: &str) -> Result<Self, TemplateError> {
        Self::of_sources(format, NAME, text, &[], &TemplateOptions::default())
    }

    /// Compiles a template with options.
    ///
    /// ```
    /// use quillet::template::{CompileOptions, MessageSyntax};
    /// use quillet::{Template, TemplateOptions};
    ///
    /// let options = TemplateOptions {
    ///     partials: vec![("rules".into(), "Be {{ tone }}.".into())],
    ///     compile: CompileOptions {
    ///         messages: MessageSyntax::RoleLines,
    ///         ..CompileOptions::default()
    ///     },
    ///     ..TemplateOptions::default()
    /// };
    /// let text = "system:\n{% include 'rules' %}\nuser:\n{{ question }}";
    /// let template = Template::compile("jinja", text, &options)?;
    /// let messages = template.messages([("tone", "brief"), ("question", "system: Why?")])?;
    /// assert_eq!(messages[0].content, "Be brief.");
    /// assert_eq!(messages[1].content, "system: Why?");
    /// # Ok::<(), quillet::TemplateError>(())
    /// ```
    ///
    /// # Errors
    /// As [`CompiledTemplate::new`].
    pub fn compile(
        format: &str,
        text: &str,
        options: &TemplateOptions,
    ) -> Result<Self, TemplateError> {
        let partials = options.partials.iter();
        let partials: Vec<(&str, &str)> = partials
            .map(|(name, text)| (name.as_str(), text.as_str()))
            .collect();
        Self::of_sources(format, &options.name, text, &partials, options)
    }

    /// The same, with the partials that are given here.
    pub(super) fn of_sources(
        format: &str,
        name: &str,
        text: &str,
        partials: &[(&str, &str)],
        options: &TemplateOptions,
    ) -> Result<Self, TemplateError> {
        let mut sources = vec![TemplateSource::new(name, text)];
        // A partial of the template's own name cannot be told from it.
        let partials = partials.iter().filter(|(partial, _)| *partial != name);
        sources.extend(partials.map(|(name, text)| TemplateSource::library(name, text)));
        Ok(Template {
            compiled: FORMATS.compile(format, &sources, &options.compile)?,
            name: name.into(),
            limits: options.limits,
            interrupt: options.interrupt,
        })
    }

    /// Has renders keep to these limits.
    #[must_use]
    pub fn with_limits(mut self, limits: RenderLimits) -> Self {
        self.limits = limits;
        self
    }

    /// The name that errors call it by.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The bounds on its renders.
    #[must_use]
    pub fn limits(&self) -> &RenderLimits {
        &self.limits
    }

    /// Names of the variables that it can read, in the order of first use: the first key of each path
    /// in [`CompiledTemplate::references`].
    #[must_use]
    pub fn variables(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for variable in &self.references().variables {
            match variable.path.first() {
                Some(name) if !names.contains(&name.as_str()) => names.push(name),
                _ => {}
            }
        }
        names
    }

    /// Names of the functions that it can call and does not bring itself, in the order of first use.
    #[must_use]
    pub fn functions(&self) -> Vec<&str> {
        let functions = self.references().functions.iter();
        functions.map(|function| function.name.as_str()).collect()
    }

    /// Everything that it can touch, with places.
    #[must_use]
    pub fn references(&self) -> &References {
        self.compiled.references()
    }

    /// The text with these variables.
    ///
    /// # Errors
    /// A variable or a function is missing, or a limit is reached: with line and column.
    pub fn render(&self, variables: impl Into<Map>) -> Result<String, TemplateError> {
        Ok(self.rendered(&variables.into(), false)?.into_text())
    }

    /// Renders, and has `read` look at the bytes of the text, for programs that make a text of their
    /// own kind of them. A format whose strings are bytes (Go's) may have cut a character.
    ///
    /// # Errors
    /// As [`CompiledTemplate::render`].
    pub fn read_text<T>(
        &self,
        variables: impl Into<Map>,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, TemplateError> {
        Ok(self.rendered(&variables.into(), false)?.inner.read(read))
    }

    /// The messages with these variables, see [`RenderedTemplate::messages`].
    ///
    /// # Errors
    /// As [`CompiledTemplate::render`]; a message has a role that no model knows.
    pub fn messages(&self, variables: impl Into<Map>) -> Result<Vec<Message>, TemplateError> {
        self.rendered(&variables.into(), false)?.messages()
    }

    /// The text in pieces that say where they come from.
    ///
    /// # Errors
    /// As [`CompiledTemplate::render`].
    pub fn segments(&self, variables: impl Into<Map>) -> Result<Vec<TextSegment>, TemplateError> {
        Ok(self.rendered(&variables.into(), true)?.segments())
    }

    /// What a render with functions gives. Where `quillet-template` has its feature `timer`, which
    /// the prompt service needs, a call needs a tokio runtime with time enabled; [`CompiledTemplate::begin`]
    /// needs none.
    ///
    /// # Errors
    /// As [`CompiledTemplate::render`]; a call fails.
    pub async fn render_with(
        &self,
        variables: impl Into<Map>,
        functions: &dyn FunctionHost,
    ) -> Result<RenderedTemplate, TemplateError> {
        let variables = variables.into();
        let render = Render {
            template: self.compiled.as_ref(),
            entries: &[&self.name],
            variables: &variables,
            functions,
            limits: &self.limits,
        };
        let inner = quillet_template::render(&render).await?;
        let failed = Vec::new();
        Ok(RenderedTemplate { inner, failed })
    }

    fn rendered(&self, variables: &Map, noted: bool) -> Result<RenderedTemplate, TemplateError> {
        let render = Render {
            template: self.compiled.as_ref(),
            entries: &[&self.name],
            variables,
            functions: &Interruptible(self.interrupt),
            limits: &self.limits,
        };
        // Only calls of functions are waited for, and there are none.
        let rendered = if noted {
            quillet_template::render_segments(&render).now_or_never()
        } else {
            quillet_template::render(&render).now_or_never()
        };
        let inner = rendered.expect("a render without functions waits for nothing")?;
        let failed = Vec::new();
        Ok(RenderedTemplate { inner, failed })
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Template")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// No functions, and a host that may end the render.
struct Interruptible(Option<fn() -> bool>);

impl FunctionHost for Interruptible {
    fn contains(&self, _: &str) -> bool {
        false
    }

    fn names(&self) -> Vec<&str> {
        Vec::new()
    }

    fn interrupted(&self) -> bool {
        self.0.is_some_and(|interrupted| interrupted())
    }

    fn call<'a>(
        &'a self,
        name: &'a str,
        _: CallArguments,
    ) -> BoxFuture<'a, Result<Value, CallError>> {
        Box::pin(async move { Err(CallError::new(format!("function {name} is not defined"))) })
    }
}
