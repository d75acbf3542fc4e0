//! Models that should continue a text often repeat that text first.

/// Minimum length of an echo in bytes, because a short word may be repeated intentionally.
const SHORTEST: usize = 4;

/// Removes an echo of the prefix from a streamed answer.
#[derive(Debug)]
pub(super) struct EchoFilter {
    beginning: Option<String>,
    held: String,
    /// Whether the prefix ended with white space, which the answer need not repeat.
    blank: bool,
    /// Whether leading white space is being skipped.
    skips: bool,
}

impl EchoFilter {
    /// Creates a filter for an answer that continues this text.
    pub(super) fn of(beginning: &str) -> Self {
        let blank = beginning.ends_with(char::is_whitespace);
        let beginning = beginning.trim();
        let long_enough = beginning.chars().count() >= SHORTEST;
        EchoFilter {
            beginning: long_enough.then(|| beginning.to_owned()),
            held: String::new(),
            blank,
            skips: false,
        }
    }

    /// Adds a chunk and returns the text that belongs to the answer.
    pub(super) fn push(&mut self, piece: &str) -> String {
        let Some(beginning) = &self.beginning else {
            return self.without_blanks(piece);
        };
        self.held.push_str(piece);
        let said = self.held.trim_start();
        if let Some(rest) = said.strip_prefix(beginning.as_str()) {
            let rest = rest.to_owned();
            self.beginning = None;
            self.held.clear();
            self.skips = self.blank;
            return self.without_blanks(&rest);
        }
        if beginning.starts_with(said) {
            String::new()
        } else {
            self.end()
        }
    }

    /// Returns a chunk after the echo, without leading white space.
    fn without_blanks(&mut self, piece: &str) -> String {
        if !self.skips {
            return piece.to_owned();
        }
        let rest = piece.trim_start();
        self.skips = rest.is_empty();
        rest.to_owned()
    }

    /// Returns the text that was held back, at the end of the answer.
    pub(super) fn end(&mut self) -> String {
        self.beginning = None;
        std::mem::take(&mut self.held)
    }
}

#[cfg(test)]
mod tests {
    use super::EchoFilter;

    #[test]
    fn an_echo_is_taken_out_however_it_is_cut_into_pieces() {
        for (beginning, answer, expected) in [
            ("Once upon", "Once upon a time", " a time"),
            ("Once upon ", "\nOnce upon a time", "a time"),
            ("Once upon", "Once more", "Once more"),
            ("Once upon", "Once", "Once"),
            ("Once upon", "Once upon", ""),
            ("p", "p", "p"),
            ("讲个笑话：", "讲个笑话：好", "好"),
            ("", " x", " x"),
        ] {
            let pieces = |size: usize| {
                let characters: Vec<char> = answer.chars().collect();
                let mut echo = EchoFilter::of(beginning);
                let chunks = characters.chunks(size).map(String::from_iter);
                let mut text: String = chunks.map(|piece| echo.push(&piece)).collect();
                text.push_str(&echo.end());
                text
            };
            assert_eq!(pieces(1), expected, "{beginning:?}");
            assert_eq!(pieces(99), expected, "{beginning:?}");
        }
    }
}
