//! Error messages of Go's `encoding/json`. They are computed only after the reader has rejected a
//! text.

/// Maximum nesting depth, which equals the reader's limit.
const MAX_DEPTH: usize = 128;

/// Returns the error of Go's decoder, or `None` if Go accepts the text.
pub(super) fn explain(text: &[u8]) -> Option<String> {
    let mut scanner = Scanner { text, at: 0 };
    match scanner.document() {
        Ok(()) => None,
        Err(JsonError::End) => Some("unexpected end of JSON input".to_owned()),
        Err(JsonError::Deep) => Some("exceeded max depth".to_owned()),
        Err(JsonError::Character(context)) => Some(scanner.complain(&context)),
        Err(JsonError::Escape(c)) => Some(format!("invalid escape sequence `\\{c}` in string")),
    }
}

enum JsonError {
    End,
    Deep,
    Character(String),
    /// Checks the character after a backslash.
    Escape(char),
}

fn wrong<T>(context: &str) -> Result<T, JsonError> {
    Err(JsonError::Character(context.to_owned()))
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn complain(&self, context: &str) -> String {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let first = rest.utf8_chunks().next();
        let shown = match first.and_then(|chunk| chunk.valid().chars().next()) {
            Some('\'') => "\\'".to_owned(),
            Some('\\') => "\\\\".to_owned(),
            Some('\n') => "\\n".to_owned(),
            Some('\r') => "\\r".to_owned(),
            Some('\t') => "\\t".to_owned(),
            Some(c) if c < ' ' => format!("\\x{:02x}", u32::from(c)),
            Some(c) => c.to_string(),
            None => "\u{fffd}".to_owned(),
        };
        format!("invalid character '{shown}' {context}")
    }

    fn document(&mut self) -> Result<(), JsonError> {
        self.value(0)?;
        match self.next_visible() {
            Err(JsonError::End) => Ok(()),
            _ => wrong("after top-level value"),
        }
    }

    fn peek(&self) -> Result<u8, JsonError> {
        self.text.get(self.at).copied().ok_or(JsonError::End)
    }

    /// Returns the next byte that is not white space without consuming it.
    fn next_visible(&mut self) -> Result<u8, JsonError> {
        while matches!(self.peek()?, b' ' | b'\t' | b'\r' | b'\n') {
            self.at += 1;
        }
        self.peek()
    }

    fn value(&mut self, depth: usize) -> Result<(), JsonError> {
        if depth > MAX_DEPTH {
            return Err(JsonError::Deep);
        }
        match self.next_visible()? {
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'"' => self.string(),
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.literal("true"),
            b'f' => self.literal("false"),
            b'n' => self.literal("null"),
            _ => wrong("looking for beginning of value"),
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), JsonError> {
        self.at += 1;
        if self.next_visible()? == b']' {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.value(depth + 1)?;
            match self.next_visible()? {
                b',' => self.at += 1,
                b']' => break,
                _ => return wrong("after array element"),
            }
        }
        self.at += 1;
        Ok(())
    }

    fn object(&mut self, depth: usize) -> Result<(), JsonError> {
        self.at += 1;
        if self.next_visible()? == b'}' {
            self.at += 1;
            return Ok(());
        }
        loop {
            if self.next_visible()? != b'"' {
                return wrong("looking for beginning of object key string");
            }
            self.string()?;
            if self.next_visible()? != b':' {
                return wrong("after object key");
            }
            self.at += 1;
            self.value(depth + 1)?;
            match self.next_visible()? {
                b',' => self.at += 1,
                b'}' => break,
                _ => return wrong("after object key:value pair"),
            }
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self) -> Result<(), JsonError> {
        self.at += 1;
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => self.escape()?,
                ..b' ' => return wrong("in string"),
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Ok(())
    }

    fn escape(&mut self) -> Result<(), JsonError> {
        self.at += 1;
        match self.peek()? {
            b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => self.at += 1,
            b'u' => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.peek()?.is_ascii_hexdigit() {
                        return wrong("in \\u hexadecimal character escape");
                    }
                    self.at += 1;
                }
            }
            other => return Err(JsonError::Escape(char::from(other))),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), JsonError> {
        if self.peek()? == b'-' {
            self.at += 1;
        }
        match self.peek()? {
            b'0' => self.at += 1,
            b'1'..=b'9' => self.digits(),
            _ => return wrong("in numeric literal"),
        }
        if matches!(self.peek(), Ok(b'.')) {
            self.at += 1;
            self.some_digits()?;
        }
        if matches!(self.peek(), Ok(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek()?, b'+' | b'-') {
                self.at += 1;
            }
            self.some_digits()?;
        }
        Ok(())
    }

    fn some_digits(&mut self) -> Result<(), JsonError> {
        if !self.peek()?.is_ascii_digit() {
            return wrong("in numeric literal");
        }
        self.digits();
        Ok(())
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Ok(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn literal(&mut self, word: &str) -> Result<(), JsonError> {
        for expected in word.bytes() {
            if self.peek()? != expected {
                let expected = char::from(expected);
                return wrong(&format!("in literal {word} (expecting '{expected}')"));
            }
            self.at += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_words_of_go() {
        let cases = [
            (
                "bad",
                "invalid character 'b' looking for beginning of value",
            ),
            ("", "unexpected end of JSON input"),
            ("{", "unexpected end of JSON input"),
            ("[1 2]", "invalid character '2' after array element"),
            (
                "{a:1}",
                "invalid character 'a' looking for beginning of object key string",
            ),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            (
                "{\"a\":1 x}",
                "invalid character 'x' after object key:value pair",
            ),
            ("1 x", "invalid character 'x' after top-level value"),
            ("\"\n\"", "invalid character '\\n' in string"),
            ("\"\\q\"", "invalid escape sequence `\\q` in string"),
            (
                "tru'",
                "invalid character '\\'' in literal true (expecting 'e')",
            ),
            ("-x", "invalid character 'x' in numeric literal"),
            ("1.x", "invalid character 'x' in numeric literal"),
            ("1ex", "invalid character 'x' in numeric literal"),
        ];
        for (text, wanted) in cases {
            assert_eq!(explain(text.as_bytes()).as_deref(), Some(wanted), "{text}");
        }
        assert_eq!(explain(b" {\"a\": [1, -2.5e3, null]} "), None);
    }
}
