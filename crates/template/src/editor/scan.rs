//! Token scanning for editors, shared by the lexers of all formats.

use quillet_core::{SemanticToken, Span, TokenKind};

/// Maximum number of errors after which scanning of a text continues. The number is bounded because
/// each error may cost a scan of the remaining text. There are no tokens after the last error.
pub(crate) const MOST_FAULTS: usize = 100;

/// Tokens of a text, which may be incomplete.
#[derive(Debug, Default)]
pub(crate) struct TokenScan {
    /// Tokens in source order.
    pub(crate) tokens: Vec<SemanticToken>,
    /// Index of the token that opens the unclosed tag at the end of the text. `None` if completion
    /// is impossible there, as in a comment or a string.
    pub(crate) open: Option<usize>,
}

impl TokenScan {
    pub(crate) fn add(&mut self, start: usize, end: usize, kind: TokenKind) {
        if start < end {
            self.tokens.push(SemanticToken::new(start, end, kind));
        }
    }

    /// Adds the opening delimiter of a tag.
    pub(crate) fn begin(&mut self, start: usize, end: usize) {
        self.open = Some(self.tokens.len());
        self.add(start, end, TokenKind::Delimiter);
    }

    /// Adds the closing delimiter of a tag.
    pub(crate) fn end(&mut self, start: usize, end: usize) {
        self.open = None;
        self.add(start, end, TokenKind::Delimiter);
    }
}

/// Cursor position inside a tag, for completion.
#[derive(Debug)]
pub(crate) struct CompletionSpot {
    text: String,
    scan: TokenScan,
    tag: usize,
    /// Span of the word at the cursor, or an empty span.
    pub(crate) span: Span,
}

impl CompletionSpot {
    /// Returns the position at a byte offset, or `None` where completion is impossible: in plain
    /// text, in a string or a comment, or after a dot.
    pub(crate) fn find(
        text: &str,
        at: usize,
        scan: impl FnOnce(&str) -> TokenScan,
    ) -> Option<Self> {
        let mut before = text.get(..at)?.to_owned();
        // In some formats a name is only recognized with the character after it.
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
                    // A name directly after a value accesses a field of the value, unless the value
                    // is the root.
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
        Some(CompletionSpot {
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

    /// Returns the delimiter that opens the tag.
    pub(crate) fn opening(&self) -> &str {
        self.word(self.tag).map_or("", |(_, text)| text)
    }

    /// Returns the first word of the tag.
    pub(crate) fn head(&self) -> &str {
        self.word(self.tag + 1).map_or("", |(_, text)| text)
    }

    /// Returns the last token before the word at the cursor, or `None` if the word begins the tag.
    pub(crate) fn before(&self) -> Option<(TokenKind, &str)> {
        self.back(1)
    }

    /// Returns the token before the one that [`CompletionSpot::before`] returns.
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

    /// Whether the last token before the cursor ends a value.
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

    /// Whether the tag contains this word before the cursor.
    pub(crate) fn has(&self, word: &str) -> bool {
        let tokens = self.tag..self.scan.tokens.len();
        tokens
            .filter_map(|index| self.word(index))
            .any(|(_, text)| text == word)
    }

    /// Returns the names of one kind that occur before the cursor.
    pub(crate) fn names_before(&self, kind: TokenKind) -> impl Iterator<Item = &str> {
        (0..self.scan.tokens.len())
            .filter_map(|index| self.word(index))
            .filter(move |(found, _)| *found == kind)
            .map(|(_, text)| text)
    }
}
