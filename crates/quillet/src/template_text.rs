//! A template and its variables, without a service: what a program needs that only wants a text.

use std::fmt;
use std::sync::Arc;

use futures_util::FutureExt;
use quillet_core::Map;
use quillet_template::{
    CompileError, CompileOptions, Limits, NoFunctions, Render, RenderError, Source, TemplateFactory,
};

/// The name of a template that has none, in errors.
const NAME: &str = "template";
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

/// A template that was compiled, to be rendered any number of times.
///
/// ```
/// use quillet::{Template, Value};
///
/// let greeting = Template::new("jinja", "Hello {{ name }}{% if loud %}!{% endif %}")?;
/// let text = greeting.render([("name", Value::from("Ada")), ("loud", true.into())])?;
/// assert_eq!(text, "Hello Ada!");
/// # Ok::<(), quillet::TemplateError>(())
/// ```
#[derive(Clone)]
pub struct Template {
    compiled: Arc<dyn quillet_template::Template>,
    limits: Limits,
}

impl Template {
    /// Compiles a template of a format: `go`, `jinja`, `handlebars`, `mustache`, `liquid`,
    /// `semantic-kernel` or `f-string`.
    ///
    /// # Errors
    /// There is no such format, or the template is broken: with line and column.
    pub fn new(format: &str, text: &str) -> Result<Self, TemplateError> {
        let source = Source::new(NAME, text);
        let formats = TemplateFactory::standard();
        let compiled = formats.compile(format, &[source], &CompileOptions::default())?;
        Ok(Template {
            compiled,
            limits: Limits::default(),
        })
    }

    /// Has renders keep to these limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The text with these variables.
    ///
    /// # Errors
    /// A variable or a function is missing, or a limit is reached: with line and column.
    pub fn render(&self, variables: impl Into<Map>) -> Result<String, TemplateError> {
        let variables = variables.into();
        let render = Render {
            template: self.compiled.as_ref(),
            entries: &[NAME],
            variables: &variables,
            functions: &NoFunctions,
            limits: &self.limits,
        };
        // Only calls of functions are waited for, and there are none.
        let rendered = quillet_template::render(&render).now_or_never();
        let rendered = rendered.expect("a render without functions waits for nothing")?;
        Ok(rendered.into_text())
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Template").finish_non_exhaustive()
    }
}

/// Why a template gives no text.
#[derive(Debug)]
pub enum TemplateError {
    /// It cannot be compiled.
    Compile(CompileError),
    /// It cannot be rendered with these variables.
    Render(Box<RenderError>),
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TemplateError::Compile(error) => error.fmt(f),
            TemplateError::Render(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TemplateError {}

impl From<CompileError> for TemplateError {
    fn from(error: CompileError) -> Self {
        TemplateError::Compile(error)
    }
}

impl From<Box<RenderError>> for TemplateError {
    fn from(error: Box<RenderError>) -> Self {
        TemplateError::Render(error)
    }
}
