//! What the formats' lexers have in common where they work for an editor.

use quillet_core::{SemanticToken, Span, TokenKind};

/// Faults of one text behind which reading goes on. Each may cost a look through the rest of the
/// text, so there is a bound on them, and what stands behind the last has no tokens.
pub(crate) const MOST_FAULTS: usize = 100;

/// The tokens of a text, complete or not.
#[derive(Debug, Default)]
pub(crate) struct TokenScan {
    /// In the order of the text.
    pub(crate) tokens: Vec<SemanticToken>,
    /// The token that opens the tag in which the text ends, as an index, if something could be
    /// written there: not in a comment, nor in a string.
    pub(crate) open: Option<usize>,
}

impl TokenScan {
    pub(crate) fn add(&mut self, start: usize, end: usize, kind: TokenKind) {
        if start < end {
            self.tokens.push(SemanticToken::new(start, end, kind));
        }
    }

    /// The beginning of a tag.
    pub(crate) fn begin(&mut self, start: usize, end: usize) {
        self.open = Some(self.tokens.len());
        self.add(start, end, TokenKind::Delimiter);
    }

    /// The end of a tag.
    pub(crate) fn end(&mut self, start: usize, end: usize) {
        self.open = None;
        self.add(start, end, TokenKind::Delimiter);
    }
}

/// A place in a tag, to complete what stands there.
#[derive(Debug)]
pub(crate) struct Spot {
    text: String,
    scan: TokenScan,
    tag: usize,
    /// The word at the place, or nothing there.
    pub(crate) span: Span,
}

impl Spot {
    /// The place at a byte of a text; `None` where nothing can be completed: in plain text, in a
    /// string or a comment, behind a dot.
    pub(crate) fn find(
        text: &str,
        at: usize,
        scan: impl FnOnce(&str) -> TokenScan,
    ) -> Option<Self> {
        let mut before = text.get(..at)?.to_owned();
        // In some formats a name is one only if something follows it.
        before.push(' ');
        let mut scan = scan(&before);
        let tag = scan.open?;
        let last = *scan.tokens.last()?;
        let mut span = Span { start: at, end: at };
        if scan.tokens.len() > tag + 1 && last.span.end >= at {
            match last.kind {
                TokenKind::Operator => {}
                TokenKind::Variable | TokenKind::Function | TokenKind::Keyword => {
                    span.start = last.span.start;
                    scan.tokens.pop();
                    // What follows a value at once is taken out of it, but for the root of all.
                    let joined = scan.tokens.last().filter(|value| {
                        let is_value = matches!(
                            value.kind,
                            TokenKind::Variable | TokenKind::Property | TokenKind::Function
                        );
                        is_value && value.span.end == span.start
                    });
                    if joined.is_some_and(|value| {
                        before.get(value.span.start..value.span.end) != Some("$")
                    }) {
                        return None;
                    }
                }
                _ => return None,
            }
            let is_part = |c: char| c.is_alphanumeric() || c == '_';
            let rest = text.get(at..).unwrap_or_default();
            if span.start < at {
                span.end += rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            }
        }
        Some(Spot {
            text: before,
            scan,
            tag,
            span,
        })
    }

    fn word(&self, index: usize) -> Option<(TokenKind, &str)> {
        let token = self.scan.tokens.get(index)?;
        let text = self.text.get(token.span.start..token.span.end)?;
        Some((token.kind, text))
    }

    /// The delimiter that opens the tag.
    pub(crate) fn opening(&self) -> &str {
        self.word(self.tag).map_or("", |(_, text)| text)
    }

    /// The first word of the tag.
    pub(crate) fn head(&self) -> &str {
        self.word(self.tag + 1).map_or("", |(_, text)| text)
    }

    /// The last token before the word at the place; `None` if the word begins the tag.
    pub(crate) fn before(&self) -> Option<(TokenKind, &str)> {
        self.back(1)
    }

    /// The token before that one.
    pub(crate) fn before_that(&self) -> Option<(TokenKind, &str)> {
        self.back(2)
    }

    fn back(&self, tokens: usize) -> Option<(TokenKind, &str)> {
        let index = self.scan.tokens.len().checked_sub(tokens)?;
        if index > self.tag {
            self.word(index)
        } else {
            None
        }
    }

    /// Whether the last token before the place ends a value.
    pub(crate) fn is_after_value(&self) -> bool {
        let Some((kind, text)) = self.before() else {
            return false;
        };
        match kind {
            TokenKind::Operator => matches!(text, ")" | "]" | "}"),
            TokenKind::Keyword => {
                let word = text.to_ascii_lowercase();
                matches!(&*word, "true" | "false" | "none" | "nil" | "null")
            }
            _ => true,
        }
    }

    /// Whether the tag has that word before the place.
    pub(crate) fn has(&self, word: &str) -> bool {
        let tokens = self.tag..self.scan.tokens.len();
        tokens
            .filter_map(|index| self.word(index))
            .any(|(_, text)| text == word)
    }

    /// Names of that kind anywhere before the place.
    pub(crate) fn seen(&self, kind: TokenKind) -> impl Iterator<Item = &str> {
        (0..self.scan.tokens.len())
            .filter_map(|index| self.word(index))
            .filter(move |(found, _)| *found == kind)
            .map(|(_, text)| text)
    }
}
