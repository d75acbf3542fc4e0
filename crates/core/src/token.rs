//! Semantic tokens for syntax highlighting: spans of a text with their kinds.

use serde::Serialize;

use crate::Span;

/// A span of a source text that editors highlight by its kind. Plain text is not covered by tokens.
/// ```
/// use quillet_core::{SemanticToken, Span, TokenKind};
///
/// let token = SemanticToken::new(2, 6, TokenKind::Variable);
/// assert_eq!(token.span, Span { start: 2, end: 6 });
/// let written = serde_json::to_string(&token)?;
/// assert_eq!(written, r#"{"start":2,"end":6,"kind":"variable"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SemanticToken {
    /// Byte range in the text.
    #[serde(flatten)]
    pub span: Span,
    /// Its kind.
    pub kind: TokenKind,
}

/// Kind of a [`SemanticToken`]. [`TokenKind::name`] is also its name in JSON and style sheets, and
/// never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenKind {
    /// A comment, including its delimiters.
    Comment,
    /// Start or end of a tag: `{{`, `-%}`, `[[`; also the fence of a front matter.
    Delimiter,
    /// A keyword, including `true` and `null`.
    Keyword,
    /// A function, filter, test or helper, or a called template or script.
    Function,
    /// A number.
    Number,
    /// An operator or separator: `|`, `==`, a comma, a parenthesis.
    Operator,
    /// A path segment after a variable, an argument name, or a YAML key.
    Property,
    /// The role of a message.
    Role,
    /// A quoted string, or a YAML string value.
    String,
    /// A variable: the first part of its path.
    Variable,
}

impl TokenKind {
    /// All kinds.
    pub const ALL: [TokenKind; 10] = [
        TokenKind::Comment,
        TokenKind::Delimiter,
        TokenKind::Keyword,
        TokenKind::Function,
        TokenKind::Number,
        TokenKind::Operator,
        TokenKind::Property,
        TokenKind::Role,
        TokenKind::String,
        TokenKind::Variable,
    ];

    /// Name in lower case, such as `variable`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            TokenKind::Comment => "comment",
            TokenKind::Delimiter => "delimiter",
            TokenKind::Keyword => "keyword",
            TokenKind::Function => "function",
            TokenKind::Number => "number",
            TokenKind::Operator => "operator",
            TokenKind::Property => "property",
            TokenKind::Role => "role",
            TokenKind::String => "string",
            TokenKind::Variable => "variable",
        }
    }
}

impl SemanticToken {
    /// Creates a token for a byte range.
    #[must_use]
    pub fn new(start: usize, end: usize, kind: TokenKind) -> Self {
        SemanticToken {
            span: Span { start, end },
            kind,
        }
    }

    /// Shifts a token of a substring that starts at byte `by` of the text.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::{SemanticToken, TokenKind};
    ///
    /// let token = SemanticToken::new(0, 4, TokenKind::Keyword);
    /// assert_eq!(token.offset(10), SemanticToken::new(10, 14, TokenKind::Keyword));
    /// ```
    #[must_use]
    pub fn offset(self, by: usize) -> Self {
        SemanticToken::new(self.span.start + by, self.span.end + by, self.kind)
    }
}

/// Normalizes tokens for an editor: sorted, not empty, without overlaps, within the text and at
/// character boundaries. Of two overlapping tokens, the token that starts first is retained. If
/// both start at the same byte, the longer token is retained.
///
/// # Examples
///
/// ```
/// use quillet_core::token::{SemanticToken, TokenKind, normalize};
///
/// let token = |start, end| SemanticToken::new(start, end, TokenKind::Variable);
/// // The second token overlaps the third.
/// let tokens = normalize("abcdef", vec![token(4, 6), token(2, 5), token(0, 3)]);
/// assert_eq!(tokens, [token(0, 3), token(4, 6)]);
/// ```
#[must_use]
pub fn normalize(text: &str, mut tokens: Vec<SemanticToken>) -> Vec<SemanticToken> {
    // Of tokens with the same start, the longer one comes first and is retained.
    tokens.sort_by_key(|token| (token.span.start, std::cmp::Reverse(token.span.end)));
    let mut end = 0;
    tokens.retain(|token| {
        let span = token.span;
        // `is_char_boundary` is also false past the end of the text.
        let stays = span.start >= end
            && span.start < span.end
            && text.is_char_boundary(span.start)
            && text.is_char_boundary(span.end);
        if stays {
            end = span.end;
        }
        stays
    });
    tokens
}

/// Overlays the tokens `above` on the tokens `below`. A lower token is visible only outside the
/// upper tokens, so a string remains highlighted around a variable inside the string. Both lists
/// must be normalized (see [`normalize`]), and so is the result.
///
/// ```
/// use quillet_core::token::{SemanticToken, TokenKind, overlay};
///
/// let string = [SemanticToken::new(0, 9, TokenKind::String)];
/// let inside = [SemanticToken::new(3, 5, TokenKind::Variable)];
/// assert_eq!(overlay(&string, &inside), [
///     SemanticToken::new(0, 3, TokenKind::String),
///     SemanticToken::new(3, 5, TokenKind::Variable),
///     SemanticToken::new(5, 9, TokenKind::String),
/// ]);
/// ```
#[must_use]
pub fn overlay(below: &[SemanticToken], above: &[SemanticToken]) -> Vec<SemanticToken> {
    let mut shown = Vec::with_capacity(below.len() + above.len());
    let mut above = above.iter().copied().peekable();
    // End of the processed part of the text.
    let mut done = 0;
    for token in below {
        let mut start = token.span.start.max(done);
        while let Some(next) = above.next_if(|next| next.span.start < token.span.end) {
            if start < next.span.start {
                shown.push(SemanticToken::new(start, next.span.start, token.kind));
            }
            shown.push(next);
            done = next.span.end;
            start = start.max(done);
        }
        if start < token.span.end {
            shown.push(SemanticToken::new(start, token.span.end, token.kind));
            done = token.span.end;
        }
    }
    shown.extend(above);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_written_by_its_name() {
        for kind in TokenKind::ALL {
            let written = serde_json::to_string(&kind).unwrap();
            assert_eq!(written, format!("{:?}", kind.name()));
        }
    }

    #[test]
    fn what_does_not_fit_is_left_out() {
        let of = |start, end| SemanticToken::new(start, end, TokenKind::Variable);
        let given = vec![
            of(4, 6),
            of(0, 3),
            of(2, 4),
            of(1, 1),
            of(3, 4),
            of(6, 99),
            of(0, 1),
        ];
        assert_eq!(
            normalize("aé\u{e9}bcd", given),
            [of(0, 3), of(4, 6)][..1].to_vec()
        );
        assert_eq!(
            normalize("abcdef", vec![of(4, 6), of(3, 4), of(0, 3)]),
            [of(0, 3), of(3, 4), of(4, 6)]
        );
    }

    #[test]
    fn what_lies_above_cuts_what_lies_below() {
        let below = |start, end| SemanticToken::new(start, end, TokenKind::String);
        let above = |start, end| SemanticToken::new(start, end, TokenKind::Variable);
        let shown = overlay(
            &[below(0, 4), below(6, 8), below(9, 12)],
            &[above(1, 2), above(3, 7), above(8, 9), above(12, 14)],
        );
        assert_eq!(
            shown,
            [
                below(0, 1),
                above(1, 2),
                below(2, 3),
                above(3, 7),
                below(7, 8),
                above(8, 9),
                below(9, 12),
                above(12, 14),
            ]
        );
    }
}
