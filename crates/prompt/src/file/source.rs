//! Text of a prompt file.

use quillet_core::Span;

/// A prompt file that the caller has read.
#[derive(Clone, Copy, Debug)]
pub struct PromptFile<'a> {
    /// Id of the resulting prompt.
    pub id: &'a str,
    /// Path or name of the file, used in diagnostics. The extension determines the kind.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
    /// Name and text of the `config.json` beside `skprompt.txt`.
    pub config: Option<(&'a str, &'a str)>,
}

/// Span of a whole text.
pub(super) fn full_span(text: &str) -> Span {
    Span {
        start: 0,
        end: text.len(),
    }
}
