//! Why a template gives no text.

use std::fmt;

use quillet_core::{Diagnostic, LineColumn};
use quillet_template::{CompileError, RenderError};

/// Why a template gives no text, with a stable code, the place and what mends it where they are
/// known.
///
/// ```
/// let error = quillet::Template::new("jinja", "{% if x %}").unwrap_err();
/// assert_eq!(error.code(), "template.syntax");
/// assert_eq!(error.source_name(), "template");
/// ```
#[derive(Clone, Debug)]
pub enum TemplateError {
    /// It cannot be compiled, converted or found.
    Compile(CompileError),
    /// It cannot be rendered with these variables.
    Render(Box<RenderError>),
}

impl TemplateError {
    /// A finding that ends a compilation.
    pub(super) fn finding(found: Diagnostic) -> Self {
        TemplateError::Compile(CompileError::new(found.message.clone(), found))
    }

    /// Stable short name: that of the first finding (`template.syntax`), or of the render's error
    /// (`render.missing_variable`), as in `docs/errors.md`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            TemplateError::Compile(_) => self.first().map_or("template.syntax", |found| found.code),
            TemplateError::Render(error) => error.kind.code().as_str(),
        }
    }

    /// What is wrong, without the place.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            TemplateError::Compile(error) => {
                self.first().map_or(&error.message, |found| &found.message)
            }
            TemplateError::Render(error) => &error.reason,
        }
    }

    /// The source that it is about: the template's name or that of a partial; empty where none is.
    #[must_use]
    pub fn source_name(&self) -> &str {
        match self {
            TemplateError::Compile(_) => self.first().map_or("", |found| &found.source),
            TemplateError::Render(error) => &error.source_name,
        }
    }

    /// Line and column, both from 1, the column in characters.
    ///
    /// ```
    /// let error = quillet::Template::new("jinja", "{% if %}").unwrap_err();
    /// let position = error.position().unwrap();
    /// assert_eq!((position.line, position.column), (1, 7));
    /// ```
    #[must_use]
    pub fn position(&self) -> Option<LineColumn> {
        match self {
            TemplateError::Compile(_) => self.first()?.position,
            TemplateError::Render(error) => error.position,
        }
    }

    /// What mends it.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        match self {
            TemplateError::Compile(_) => self.first()?.help.as_deref(),
            TemplateError::Render(error) => error.help.as_deref(),
        }
    }

    /// Everything that was found in the sources, in order of place; none for an error of a render.
    ///
    /// ```
    /// let error = quillet::Template::new("jinja", "{% if x %}").unwrap_err();
    /// assert_eq!(error.diagnostics()[0].code, error.code());
    /// ```
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match self {
            TemplateError::Compile(error) => &error.diagnostics,
            TemplateError::Render(_) => &[],
        }
    }

    fn first(&self) -> Option<&Diagnostic> {
        self.diagnostics().first()
    }
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TemplateError::Compile(error) => error.fmt(f),
            TemplateError::Render(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TemplateError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            TemplateError::Compile(error) => Some(error),
            TemplateError::Render(error) => Some(&**error),
        }
    }
}

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
