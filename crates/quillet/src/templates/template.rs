//! A single template and its options.

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

/// Name of an unnamed template in errors.
pub(super) const NAME: &str = "template";
/// Format of [`render`].
const GO: &str = "go";

/// Renders a template in the format of Go's `text/template`.
///
/// ```
/// let text = quillet::render("{{range .names}}{{.}} {{end}}", [("names", vec!["Ada", "Bob"])])?;
/// assert_eq!(text, "Ada Bob ");
/// # Ok::<(), quillet::TemplateError>(())
/// ```
///
/// # Errors
/// The template is invalid, a variable is missing, or a limit is reached; with line and column.
pub fn render(template: &str, variables: impl Into<Map>) -> Result<String, TemplateError> {
    Template::new(GO, template)?.render(variables)
}

/// Options for compiling and rendering a template.
#[derive(Clone, Debug)]
pub struct TemplateOptions {
    /// Name in errors, and for calls to itself; `template` by default.
    pub name: String,
    /// Partials that the template can call, by name.
    pub partials: Vec<(String, String)>,
    /// Treatment of missing variables, message syntax, and limits on sources.
    pub compile: CompileOptions,
    /// Limits on rendering.
    pub limits: RenderLimits,
    /// Called about every thousand steps of a rendering; `true` cancels it. For hosts whose users
    /// can interrupt a rendering, for example with Control-C.
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

/// Declaration of a function that a template may call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TemplateFunction {
    /// Name of the function.
    pub name: String,
    /// Parameter names in order, for formats whose calls pass variables by name (Semantic Kernel,
    /// and formats whose calls have no arguments).
    pub parameters: Option<Vec<String>>,
    /// Whether equal calls within one render share one result.
    pub idempotent: bool,
    /// Fallback value of a failed call; null by default, which renders as nothing.
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

/// A compiled template. Can be rendered any number of times, from any number of threads.
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
    /// The format is unknown, or the template is invalid; with line and column.
    ///
    /// # Examples
    /// ```
    /// let template = quillet::Template::new("go", "Hello {{.name}}!")?;
    /// assert_eq!(template.render([("name", "Ada")])?, "Hello Ada!");
    /// assert!(quillet::Template::new("gop", "").is_err());
    /// # Ok::<(), quillet::TemplateError>(())
    /// ```
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
    /// As for [`Template::new`].
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

    /// Compiles a template with the given partials.
    pub(super) fn of_sources(
        format: &str,
        name: &str,
        text: &str,
        partials: &[(&str, &str)],
        options: &TemplateOptions,
    ) -> Result<Self, TemplateError> {
        let mut sources = vec![TemplateSource::new(name, text)];
        // A partial with the template's own name is dropped, because a call would be ambiguous.
        let partials = partials.iter().filter(|(partial, _)| *partial != name);
        sources.extend(partials.map(|(name, text)| TemplateSource::library(name, text)));
        Ok(Template {
            compiled: FORMATS.compile(format, &sources, &options.compile)?,
            name: name.into(),
            limits: options.limits,
            interrupt: options.interrupt,
        })
    }

    /// Sets the limits on rendering.
    ///
    /// ```
    /// use quillet::template::RenderLimits;
    /// use quillet::Template;
    ///
    /// let limits = RenderLimits {
    ///     output_bytes: 5,
    ///     ..RenderLimits::default()
    /// };
    /// let template = Template::new("jinja", "{{ text }}")?.with_limits(limits);
    /// assert_eq!(template.render([("text", "four")])?, "four");
    /// assert!(template.render([("text", "longer")]).is_err());
    /// # Ok::<(), quillet::TemplateError>(())
    /// ```
    #[must_use]
    pub fn with_limits(mut self, limits: RenderLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns the name used in errors.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the limits on rendering.
    #[must_use]
    pub fn limits(&self) -> &RenderLimits {
        &self.limits
    }

    /// Returns the names of the variables that the template can read, in order of first use: the
    /// first key of each path in [`Template::references`].
    ///
    /// ```
    /// let template = quillet::Template::new("jinja", "{{ user.name }} {{ city }} {{ user.id }}")?;
    /// assert_eq!(template.variables(), ["user", "city"]);
    /// # Ok::<(), quillet::TemplateError>(())
    /// ```
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

    /// Returns the names of the external functions that the template can call, in order of first
    /// use.
    ///
    /// ```
    /// let template = quillet::Template::new("jinja", "{{ weather('Oslo') }}")?;
    /// assert_eq!(template.functions(), ["weather"]);
    /// # Ok::<(), quillet::TemplateError>(())
    /// ```
    #[must_use]
    pub fn functions(&self) -> Vec<&str> {
        let functions = self.references().functions.iter();
        functions.map(|function| function.name.as_str()).collect()
    }

    /// Returns all variables, functions and templates that the template refers to, and their
    /// locations.
    #[must_use]
    pub fn references(&self) -> &References {
        self.compiled.references()
    }

    /// Renders the text with these variables.
    ///
    /// # Errors
    /// A variable or a function is missing, or a limit is reached; with line and column.
    pub fn render(&self, variables: impl Into<Map>) -> Result<String, TemplateError> {
        Ok(self.rendered(&variables.into(), false)?.into_text())
    }

    /// Renders the template and passes the bytes of the text to `read`, for programs with their own
    /// string type. Go strings are bytes, so a Go template may have split a character.
    ///
    /// # Errors
    /// As for [`Template::render`].
    ///
    /// # Examples
    /// ```
    /// let template = quillet::Template::new("go", "Hello {{.name}}")?;
    /// let length = template.read_text([("name", "Ada")], |bytes| bytes.len())?;
    /// assert_eq!(length, 9);
    /// # Ok::<(), quillet::TemplateError>(())
    /// ```
    pub fn read_text<T>(
        &self,
        variables: impl Into<Map>,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, TemplateError> {
        Ok(self.rendered(&variables.into(), false)?.inner.read(read))
    }

    /// Renders the messages with these variables; see [`RenderedTemplate::messages`].
    ///
    /// # Errors
    /// As for [`Template::render`], or a message has an unknown role.
    ///
    /// # Examples
    /// ```
    /// let template = quillet::Template::new("jinja", "Hi {{ name }}")?;
    /// let messages = template.messages([("name", "Ada")])?;
    /// assert_eq!(messages.len(), 1);
    /// assert_eq!(messages[0].content, "Hi Ada");
    /// # Ok::<(), quillet::TemplateError>(())
    /// ```
    pub fn messages(&self, variables: impl Into<Map>) -> Result<Vec<Message>, TemplateError> {
        self.rendered(&variables.into(), false)?.messages()
    }

    /// Renders the text as segments with their origins.
    ///
    /// # Errors
    /// As for [`Template::render`].
    ///
    /// # Examples
    /// ```
    /// let template = quillet::Template::new("jinja", "Hi {{ name }}")?;
    /// let segments = template.segments([("name", "Ada")])?;
    /// assert_eq!(segments[0].text, "Hi ");
    /// assert_eq!(segments[1].text, "Ada");
    /// assert_eq!(segments[1].source.as_deref(), Some("name"));
    /// # Ok::<(), quillet::TemplateError>(())
    /// ```
    pub fn segments(&self, variables: impl Into<Map>) -> Result<Vec<TextSegment>, TemplateError> {
        Ok(self.rendered(&variables.into(), true)?.segments())
    }

    /// Renders the template, and executes its function calls with `functions`. With the feature
    /// `timer` of `quillet-template`, which the prompt service enables, calls need a Tokio runtime
    /// with time enabled; [`Template::begin`] needs none.
    ///
    /// # Errors
    /// As for [`Template::render`], or a call fails.
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
        // Without functions the future never waits, so it is ready at the first poll.
        let rendered = if noted {
            quillet_template::render_segments(&render).now_or_never()
        } else {
            quillet_template::render(&render).now_or_never()
        };
        let inner = rendered.expect("a render without functions never waits")?;
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

/// A host without functions that can cancel the rendering.
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
