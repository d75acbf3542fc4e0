//! A model that is to continue from a text often writes that text again first.

/// Shorter beginnings are not taken for an echo: a word may well come twice.
const SHORTEST: usize = 4;

/// Takes an echo of the beginning out of an answer that comes in pieces.
#[derive(Debug)]
pub(super) struct EchoFilter {
    beginning: Option<String>,
    held: String,
    /// Whether the beginning ended with a blank, which the answer need not bring again.
    blank: bool,
    /// Whether blanks are being omitted.
    skips: bool,
}

impl EchoFilter {
    /// An answer that continues from this text.
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

    /// What a piece adds to the answer.
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

    /// A piece behind an echo.
    fn without_blanks(&mut self, piece: &str) -> String {
        if !self.skips {
            return piece.to_owned();
        }
        let rest = piece.trim_start();
        self.skips = rest.is_empty();
        rest.to_owned()
    }

    /// What was held back, when the answer is over.
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
