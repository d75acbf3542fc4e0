//! Braces that do not mean what their author thinks: JSON in a format that
//! reads its braces, a tag of another format, a doubled brace where one is
//! enough. Each finding shows the text to write, or the `format` that reads it.
//!
//! These are guesses from how things look, so they are warnings. What cannot
//! be compiled is an error elsewhere, and stays one.

mod fields;
mod syntax;
mod tags;

use quillet_core::Diagnostic;
use quillet_template::TemplateFormat;
use syntax::{BraceWarning, TemplateDialect};

/// Findings in one template after which the rest is not looked at.
const MOST: usize = 10;

/// What looks wrong in a template. `is_function` knows the names that can be called.
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
