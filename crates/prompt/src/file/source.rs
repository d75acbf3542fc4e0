//! Text of a prompt file.

use quillet_core::Span;

/// Prompt file that the caller has read.
#[derive(Clone, Copy, Debug)]
pub struct PromptFile<'a> {
    /// The id that the prompt gets.
    pub id: &'a str,
    /// Its path or name, as findings show it; the ending says what it is.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
    /// Name and text of the `config.json` beside a `skprompt.txt`.
    pub config: Option<(&'a str, &'a str)>,
}

/// All of a text.
pub(super) fn full_span(text: &str) -> Span {
    Span {
        start: 0,
        end: text.len(),
    }
}
