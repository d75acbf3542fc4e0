//! Errors of templates.

use std::fmt;

use quillet_core::{Diagnostic, LineColumn};
use quillet_template::{CompileError, RenderError};

/// Error of compiling or rendering a template, with a stable code and, if known, the location and a
/// suggested fix.
///
/// ```
/// let error = quillet::Template::new("jinja", "{% if x %}").unwrap_err();
/// assert_eq!(error.code(), "template.syntax");
/// assert_eq!(error.source_name(), "template");
/// ```
#[derive(Clone, Debug)]
pub enum TemplateError {
    /// The template cannot be compiled, converted or found.
    Compile(CompileError),
    /// The template cannot be rendered with these variables.
    Render(Box<RenderError>),
}

impl TemplateError {
    /// Creates the error for a diagnostic that ends compilation.
    pub(super) fn finding(found: Diagnostic) -> Self {
        TemplateError::Compile(CompileError::new(found.message.clone(), found))
    }

    /// Returns the stable code from `docs/errors.md`: the code of the first diagnostic
    /// (`template.syntax`) or of the render error (`render.missing_variable`).
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            TemplateError::Compile(_) => self.first().map_or("template.syntax", |found| found.code),
            TemplateError::Render(error) => error.kind.code().as_str(),
        }
    }

    /// Returns the message without the location.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            TemplateError::Compile(error) => {
                self.first().map_or(&error.message, |found| &found.message)
            }
            TemplateError::Render(error) => &error.reason,
        }
    }

    /// Returns the source of the error: the name of the template or a partial; empty if there is
    /// none.
    #[must_use]
    pub fn source_name(&self) -> &str {
        match self {
            TemplateError::Compile(_) => self.first().map_or("", |found| &found.source),
            TemplateError::Render(error) => &error.source_name,
        }
    }

    /// Returns line and column, both from 1; the column counts characters.
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

    /// Returns the suggested fix.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        match self {
            TemplateError::Compile(_) => self.first()?.help.as_deref(),
            TemplateError::Render(error) => error.help.as_deref(),
        }
    }

    /// Returns all diagnostics of the sources, by location; empty for a render error.
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
