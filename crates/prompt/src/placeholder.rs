//! Placeholder messages of a definition: `{"type": "placeholder", "name": "history"}`. The request
//! provides a list of messages in the variable of that name.

use std::sync::Arc;

use serde_json::Value as Tree;

use crate::rich::{RichKind, StructuredVariable};

/// Syntax around the name of a printed request variable, by format. A test checks that every
/// built-in format and alias is listed. Custom formats are not supported.
const PRINTS: [(&[&str], [&str; 2]); 8] = [
    (
        &["go", "golang", "go-template", "localai", "ollama"],
        ["{{.variables.", "}}"],
    ),
    (
        &[
            "jinja",
            "jinja2",
            "hf",
            "huggingface",
            "jinja-plain",
            "langchain-jinja2",
            "semantic-kernel-jinja2",
            "sk-jinja2",
            "liquid",
            "semantic-kernel-liquid",
            "sk-liquid",
        ],
        ["{{ ", " }}"],
    ),
    (&["mustache"], ["{{", "}}"]),
    (&["mustache-html"], ["{{{", "}}}"]),
    // A helper hides a variable with the same name, so the variable `history` cannot be read in
    // dotprompt.
    (
        &[
            "handlebars",
            "hbs",
            "semantic-kernel-handlebars",
            "sk-handlebars",
            "dotprompt",
        ],
        ["{{this.", "}}"],
    ),
    (&["handlebars-html"], ["{{{this.", "}}}"]),
    (&["semantic-kernel", "sk", "skprompt"], ["{{$", "}}"]),
    (
        &[
            "f-string",
            "fstring",
            "python",
            "langchain",
            "f-string-strict",
            "langchain-f-string",
        ],
        ["{", "}"],
    ),
];

/// Returns the variable name of a placeholder message, or `None` for any other message.
pub(crate) fn name(item: &Tree) -> Option<&Tree> {
    let is_place = item.get("type").and_then(Tree::as_str) == Some("placeholder");
    is_place.then(|| item.get("name").unwrap_or(&Tree::Null))
}

/// Returns the template text of a placeholder message, which prints the variable that holds the
/// conversation.
///
/// # Errors
/// The name is not valid in every format, or the format cannot print it.
pub(crate) fn text(
    index: usize,
    name: &Tree,
    format: &str,
    rich: &mut Vec<StructuredVariable>,
) -> Result<Arc<str>, String> {
    let named = name.as_str().filter(|name| is_plain(name));
    let named = named.ok_or_else(|| {
        format!(
            "messages[{index}] is a placeholder, whose name must be letters, digits and _: {name}"
        )
    })?;
    let known = PRINTS
        .iter()
        .find(|(formats, _)| formats.iter().any(|one| one.eq_ignore_ascii_case(format)));
    let (_, [before, after]) = known.ok_or_else(|| {
        format!("messages[{index}] is a placeholder, which the format {format:?} does not support")
    })?;
    rich.push(StructuredVariable {
        name: named.into(),
        kind: RichKind::Thread,
    });
    Ok(Arc::from(format!("{before}{named}{after}")))
}

/// Whether a name is a valid variable name in every format.
pub(crate) fn is_plain(name: &str) -> bool {
    let first = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    first && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
