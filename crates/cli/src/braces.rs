//! Detects braces that probably do not have the intended meaning: JSON in a format that interprets
//! its braces, a tag of another format, or a doubled brace where a single one is correct. Each
//! warning shows the corrected text or the `format` to set.
//!
//! These are heuristics, so they are only warnings. Templates that do not compile are reported as
//! errors elsewhere.

mod fields;
mod syntax;
mod tags;

use quillet_core::Diagnostic;
use quillet_template::TemplateFormat;
use syntax::{BraceWarning, TemplateDialect};

/// Maximum number of warnings for one template.
const MOST: usize = 10;

/// Returns warnings about a template. `is_function` tells whether a name can be called.
pub(crate) fn check_braces(
    format: &dyn TemplateFormat,
    name: &str,
    text: &str,
    is_function: &dyn Fn(&str) -> bool,
) -> Vec<Diagnostic> {
    let Some(dialect) = TemplateDialect::of(format.name()) else {
        return Vec::new();
    };
    let found = match dialect {
        TemplateDialect::FString => fields::check_fields(text),
        _ => tags::check_tags(format, dialect, text, is_function),
    };
    let diagnostic = |found: BraceWarning| {
        Diagnostic::warning("check.braces", name, found.message)
            .at(text, found.span)
            .help(found.help)
    };
    found.into_iter().take(MOST).map(diagnostic).collect()
}

#[cfg(test)]
mod tests;
