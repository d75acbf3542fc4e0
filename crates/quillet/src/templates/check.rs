//! Checks and conversions of templates.

use quillet_core::{Diagnostic, nearest};
use quillet_template::convert::{self, ConvertOptions, ConvertedTemplate, Language};
use quillet_template::{CompileError, TemplateSource};

use super::FORMATS;
use super::error::TemplateError;
use super::template::{NAME, Template, TemplateOptions};

/// A template format and its names.
///
/// ```
/// let formats = quillet::formats();
/// let go = formats.iter().find(|format| format.name == "go").unwrap();
/// assert!(go.aliases.contains(&"golang"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatNames {
    /// Canonical name.
    pub name: &'static str,
    /// Aliases.
    pub aliases: &'static [&'static str],
}

/// Returns all template formats.
///
/// ```
/// assert!(quillet::formats().iter().any(|format| format.name == "jinja"));
/// ```
#[must_use]
pub fn formats() -> Vec<FormatNames> {
    let formats = FORMATS.formats().iter();
    let names = formats.map(|format| FormatNames {
        name: format.name(),
        aliases: format.aliases(),
    });
    names.collect()
}

/// Checks a template and returns the diagnostics: syntax errors, or else calls of unknown partials.
/// Empty if the template is valid.
///
/// ```
/// use quillet::{TemplateOptions, check};
///
/// let found = check("jinja", "{% if x %}", &TemplateOptions::default());
/// assert_eq!(found[0].code, "template.syntax");
/// assert!(check("jinja", "{{ x }}", &TemplateOptions::default()).is_empty());
/// ```
#[must_use]
pub fn check(format: &str, text: &str, options: &TemplateOptions) -> Vec<Diagnostic> {
    let template = match Template::compile(format, text, options) {
        Ok(template) => template,
        Err(error) => return error.diagnostics().to_vec(),
    };
    let missing = template.references().templates.iter();
    let given = || options.partials.iter().map(|(name, _)| name.as_str());
    let missing = missing.map(|name| {
        let message = format!("unknown partial {name:?}");
        let found = Diagnostic::error("template.partial", template.name(), message);
        match nearest(name, given()) {
            Some(near) => found.help(format!("did you mean {near}?")),
            None => found.help("add it to the partials"),
        }
    });
    missing.collect()
}

/// Converts a template to another format, if an exact counterpart exists.
///
/// ```
/// use quillet::template::convert::ConvertOptions;
///
/// let go = quillet::convert("Hi {{ name }}", "jinja", "go", &ConvertOptions::default())?;
/// assert_eq!(go.text, "Hi {{.name}}");
/// # Ok::<(), quillet::TemplateError>(())
/// ```
///
/// # Errors
/// A format is unknown or cannot be converted, the template does not compile, or parts of it have
/// no exact counterpart.
pub fn convert(
    text: &str,
    from: &str,
    to: &str,
    options: &ConvertOptions,
) -> Result<ConvertedTemplate, TemplateError> {
    let (from, to) = (language(from)?, language(to)?);
    let converted = convert::convert(&TemplateSource::new(NAME, text), from, to, options);
    converted.map_err(|diagnostics| {
        let message = diagnostics.first().map(Diagnostic::to_string);
        TemplateError::Compile(CompileError {
            message: message.unwrap_or_default(),
            diagnostics,
        })
    })
}

fn language(name: &str) -> Result<Language, TemplateError> {
    let known = FORMATS.format(name).map(|format| format.name());
    if let Some(language) = known.and_then(Language::of_name) {
        return Ok(language);
    }
    let names = Language::ALL.map(Language::name);
    let message = match known {
        Some(name) => format!("cannot convert templates of the format {name:?}"),
        None => format!("unknown template format {name:?}"),
    };
    let found = Diagnostic::error("template.format", NAME, message);
    Err(TemplateError::finding(match nearest(name, names) {
        Some(near) if known.is_none() => found.help(format!("did you mean {near}?")),
        _ => found.help(format!(
            "formats that can be converted: {}",
            names.join(", ")
        )),
    }))
}
