//! Finds text between two tags in streamed text.

/// A part of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerPart {
    /// The text between the tags.
    Thinking,
    /// The text outside the tags.
    Answer,
}

/// Finds tag pairs. Without a closing tag, everything after the opening tag is inside.
#[derive(Debug)]
pub(super) struct TagPairs {
    open: String,
    close: String,
    /// Whether only the start of the text may be a tag.
    first_only: bool,
    /// Whether only white space has been received so far.
    at_start: bool,
    inside: bool,
    found: bool,
    held: String,
}

// Maximum number of bytes of white space before the first tag. White space is held back until the
// parser knows that no tag follows, so its length must be limited.
const MOST_HELD: usize = 1_024;

type AnswerParts = Vec<(AnswerPart, String)>;

impl TagPairs {
    pub(super) fn anywhere(open: &str, close: &str) -> Self {
        TagPairs {
            open: open.to_owned(),
            close: close.to_owned(),
            first_only: false,
            at_start: false,
            inside: false,
            found: false,
            held: String::new(),
        }
    }

    pub(super) fn at_start(open: &str, close: &str) -> Self {
        TagPairs {
            first_only: true,
            at_start: true,
            ..TagPairs::anywhere(open, close)
        }
    }

    /// Returns whether a pair was found.
    pub(super) fn found(&self) -> bool {
        self.found
    }

    pub(super) fn push(&mut self, piece: &str) -> AnswerParts {
        self.held.push_str(piece);
        let mut parts = Vec::new();
        while self.step(&mut parts) {}
        parts
    }

    pub(super) fn finish(&mut self) -> AnswerParts {
        let part = self.part();
        let held = std::mem::take(&mut self.held);
        if held.is_empty() {
            Vec::new()
        } else {
            vec![(part, held)]
        }
    }

    fn part(&self) -> AnswerPart {
        if self.inside {
            AnswerPart::Thinking
        } else {
            AnswerPart::Answer
        }
    }

    /// Processes held text that can be classified. Returns whether more of it may be.
    fn step(&mut self, parts: &mut AnswerParts) -> bool {
        if !self.inside && self.at_start {
            return self.start();
        }
        let tag = if self.inside { &self.close } else { &self.open };
        if !self.inside && self.first_only {
            parts.extend(self.finish());
            return false;
        }
        let at = self.held.find(tag.as_str());
        // A tag may be split across two chunks, so text that may be its start is held back.
        let end = at.unwrap_or(self.held.len() - begun(&self.held, tag));
        let rest = self.held.split_off(end);
        let text = std::mem::replace(&mut self.held, rest);
        let length = tag.len();
        if !text.is_empty() {
            parts.push((self.part(), text));
        }
        if at.is_none() {
            return false;
        }
        self.held.drain(..length);
        self.inside = !self.inside;
        self.found = true;
        true
    }

    fn start(&mut self) -> bool {
        let said = self.held.trim_start();
        if let Some(rest) = said.strip_prefix(self.open.as_str()) {
            self.held = rest.to_owned();
            self.inside = true;
            self.found = true;
            self.at_start = false;
            return true;
        }
        if self.open.starts_with(said) && self.held.len() < MOST_HELD {
            return false;
        }
        self.at_start = false;
        true
    }
}

/// Returns the length of the suffix of a text that may be the start of a tag, in bytes.
fn begun(text: &str, tag: &str) -> usize {
    let ends = tag.char_indices().map(|(at, _)| at).skip(1);
    let ends = ends.filter(|end| tag.get(..*end).is_some_and(|part| text.ends_with(part)));
    ends.max().unwrap_or(0)
}
