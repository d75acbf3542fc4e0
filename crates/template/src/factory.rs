//! Registry of the template formats in a process.

use std::sync::Arc;

use quillet_core::{Diagnostic, nearest};

use crate::error::CompileError;
use crate::format::fstring::FStringFormat;
use crate::format::go::GoFormat;
use crate::format::handlebars::HandlebarsFormat;
use crate::format::jinja::JinjaFormat;
use crate::format::liquid::LiquidFormat;
use crate::format::mustache::MustacheFormat;
use crate::format::semantic_kernel::SemanticKernelFormat;
use crate::structure::{self, MessageSyntax};
use crate::{CompileLimits, CompileOptions, CompiledTemplate, TemplateFormat, TemplateSource};

/// The available formats, by name and alias. If two formats share a name, the first format is used.
#[derive(Clone, Debug, Default)]
pub struct TemplateFactory {
    formats: Vec<Arc<dyn TemplateFormat>>,
}

impl TemplateFactory {
    /// Creates a factory that contains no formats.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a factory that contains every format of this crate.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_template::TemplateFactory;
    ///
    /// let formats = TemplateFactory::standard();
    /// assert_eq!(formats.format("HuggingFace").map(|format| format.name()), Some("jinja"));
    /// assert!(formats.format("erb").is_none());
    /// ```
    #[must_use]
    pub fn standard() -> Self {
        Self::new()
            .with(GoFormat::new().with_sprig())
            .with(JinjaFormat::hugging_face())
            .with(JinjaFormat::plain())
            .with(SemanticKernelFormat::new())
            .with(HandlebarsFormat::semantic_kernel())
            .with(JinjaFormat::semantic_kernel())
            .with(HandlebarsFormat::new())
            .with(HandlebarsFormat::new().escape_html(true))
            .with(MustacheFormat::new())
            .with(MustacheFormat::new().escape_html(true))
            .with(FStringFormat::new())
            .with(FStringFormat::strict())
            .with(HandlebarsFormat::dotprompt())
            .with(LiquidFormat::new())
            .with(LiquidFormat::semantic_kernel())
    }

    /// Appends a format.
    #[must_use]
    pub fn with(mut self, format: impl TemplateFormat + 'static) -> Self {
        self.formats.push(Arc::new(format));
        self
    }

    /// Returns the formats in order.
    #[must_use]
    pub fn formats(&self) -> &[Arc<dyn TemplateFormat>] {
        &self.formats
    }

    /// Returns the format with this name or alias, ignoring case.
    #[must_use]
    pub fn format(&self, name: &str) -> Option<&Arc<dyn TemplateFormat>> {
        self.formats.iter().find(|format| {
            let mut names = std::iter::once(format.name()).chain(format.aliases().iter().copied());
            names.any(|known| known.eq_ignore_ascii_case(name))
        })
    }

    /// Compiles sources in the format with this name.
    ///
    /// # Errors
    /// Returns an error if the format is unknown, the sources exceed the size limit, or they do not
    /// compile.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_template::{CompileOptions, TemplateFactory, TemplateSource};
    ///
    /// let formats = TemplateFactory::standard();
    /// let source = TemplateSource::new("greet", "Hello!");
    /// let options = CompileOptions::default();
    /// let error = formats.compile("handlebar", &[source], &options).unwrap_err();
    /// assert_eq!(error.diagnostics[0].code, "template.format");
    /// assert_eq!(error.diagnostics[0].help.as_deref(), Some("did you mean handlebars?"));
    /// ```
    pub fn compile(
        &self,
        format: &str,
        sources: &[TemplateSource<'_>],
        options: &CompileOptions,
    ) -> Result<Arc<dyn CompiledTemplate>, CompileError> {
        let Some(found) = self.format(format) else {
            return Err(self.unknown(format, sources));
        };
        let bytes: usize = sources.iter().map(|source| source.text.len()).sum();
        if bytes > options.limits.source_bytes {
            return Err(too_large(bytes, sources, &options.limits));
        }
        match options.messages {
            MessageSyntax::RoleLines => {
                structure::compile_with_role_lines(found.as_ref(), sources, options)
            }
            MessageSyntax::Plain | MessageSyntax::Elements => found.compile(sources, options),
        }
    }

    fn unknown(&self, format: &str, sources: &[TemplateSource<'_>]) -> CompileError {
        let names: Vec<&str> = self.formats.iter().map(|format| format.name()).collect();
        let message = format!("template format {format:?} is not known");
        let name = sources.first().map_or("", |source| source.name);
        let help = match nearest(format, names.iter().copied()) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("known formats: {}", names.join(", ")),
        };
        let found = Diagnostic::error("template.format", name, message.clone()).help(help);
        CompileError::new(message, found)
    }
}

/// Creates the error for sources above the size limit.
pub(crate) fn too_large(
    bytes: usize,
    sources: &[TemplateSource<'_>],
    limits: &CompileLimits,
) -> CompileError {
    let message = format!(
        "the template has {bytes} bytes, more than the limit on source_bytes ({})",
        limits.source_bytes
    );
    let name = sources.first().map_or("", |source| source.name);
    let found = Diagnostic::error("template.limit", name, message.clone());
    CompileError::new(message, found)
}
