//! Splits a CREATE statement into words and comments, just enough to assign comments to columns.
//! SQLite has already parsed the statement, so this code does not validate it.

/// A token of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// An unquoted name, keyword or number.
    Word(&'a str),
    /// A quoted name or string: `"a"`, `` `a` ``, `[a]`, `'a'`.
    Quoted(&'a str),
    /// A comment without its delimiters.
    Comment {
        /// Text of the comment.
        text: &'a str,
        /// Whether only spaces precede it on its line.
        first: bool,
    },
    /// `(`
    Open,
    /// `)`
    Close,
    /// `,`
    Comma,
    /// Any other character.
    Other,
}

/// Returns the tokens of a text. An unclosed token extends to the end.
pub(super) fn tokens(text: &str) -> Tokens<'_> {
    Tokens {
        rest: text,
        first: true,
    }
}

/// Iterator over tokens.
pub(super) struct Tokens<'a> {
    rest: &'a str,
    /// Whether only spaces were read since the line started.
    first: bool,
}

impl<'a> Tokens<'a> {
    fn skip_space(&mut self) {
        let trimmed = self.rest.trim_start();
        let skipped = self.rest.len() - trimmed.len();
        self.first |= self
            .rest
            .get(..skipped)
            .is_some_and(|space| space.contains('\n'));
        self.rest = trimmed;
    }

    /// Consumes this number of bytes, which must end at a character boundary.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    /// Consumes a delimited text, and returns its content.
    fn between(&mut self, open: usize, close: &str) -> &'a str {
        let inside = self.rest.get(open..).unwrap_or_default();
        let length = inside.find(close).unwrap_or(inside.len());
        self.take(open);
        let text = self.take(length);
        self.take(close.len().min(self.rest.len()));
        text
    }

    fn comment(&mut self) -> Option<Token<'a>> {
        let first = self.first;
        let text = if self.rest.starts_with("--") {
            let line = self.rest.find('\n').unwrap_or(self.rest.len());
            self.take(line).get(2..)
        } else if self.rest.starts_with("/*") {
            Some(self.between(2, "*/"))
        } else {
            None
        };
        text.map(|text| Token::Comment { text, first })
    }

    fn quoted(&mut self, open: char) -> Token<'a> {
        let close = if open == '[' { ']' } else { open };
        let mut end = open.len_utf8();
        while let Some(inside) = self.rest.get(end..) {
            let Some(at) = inside.find(close) else {
                end = self.rest.len();
                break;
            };
            end += at + 1;
            let doubled = open != '[' && self.rest.get(end..).is_some_and(|r| r.starts_with(close));
            if !doubled {
                break;
            }
            end += 1;
        }
        Token::Quoted(self.take(end))
    }

    fn word(&mut self) -> Token<'a> {
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$' || !c.is_ascii();
        let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        Token::Word(self.take(end))
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        self.skip_space();
        let next = self.rest.chars().next()?;
        if let Some(comment) = self.comment() {
            return Some(comment);
        }
        self.first = false;
        Some(match next {
            '(' | ')' | ',' => self.punctuation(next),
            '"' | '`' | '[' | '\'' => self.quoted(next),
            c if c.is_alphanumeric() || c == '_' || !c.is_ascii() => self.word(),
            _ => self.punctuation(next),
        })
    }
}

impl<'a> Tokens<'a> {
    fn punctuation(&mut self, mark: char) -> Token<'a> {
        self.take(mark.len_utf8());
        match mark {
            '(' => Token::Open,
            ')' => Token::Close,
            ',' => Token::Comma,
            _ => Token::Other,
        }
    }
}

/// Returns a name without its quotes.
pub(super) fn unquoted(name: &str) -> String {
    let Some(open) = name.chars().next().filter(|open| "\"`['".contains(*open)) else {
        return name.to_owned();
    };
    let close = if open == '[' { ']' } else { open };
    let inside = name.get(1..).unwrap_or_default();
    let inside = inside.strip_suffix(close).unwrap_or(inside);
    match open {
        '[' => inside.to_owned(),
        _ => inside.replace(&format!("{close}{close}"), &close.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_tokens() {
        let comment = |text, first| Token::Comment { text, first };
        for (text, expected) in [
            (
                "a -- b\n-- c\n(d,'e''f')",
                vec![
                    Token::Word("a"),
                    comment(" b", false),
                    comment(" c", true),
                    Token::Open,
                    Token::Word("d"),
                    Token::Comma,
                    Token::Quoted("'e''f'"),
                    Token::Close,
                ],
            ),
            (
                "[a]]/*x\n*/\"b\"\"\"",
                vec![
                    Token::Quoted("[a]"),
                    Token::Other,
                    comment("x\n", false),
                    Token::Quoted("\"b\"\"\""),
                ],
            ),
            ("订单 '未", vec![Token::Word("订单"), Token::Quoted("'未")]),
            ("/* open", vec![comment(" open", true)]),
        ] {
            assert_eq!(tokens(text).collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn names_lose_their_quotes() {
        for (name, expected) in [
            ("a", "a"),
            ("\"a\"\"b\"", "a\"b"),
            ("[a b]", "a b"),
            ("`a``b`", "a`b"),
            ("'a'", "a"),
            ("\"", ""),
        ] {
            assert_eq!(unquoted(name), expected);
        }
    }
}
