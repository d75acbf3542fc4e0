//! Text between two tags, in a text that comes in pieces.

/// A part of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerPart {
    /// What stands between the tags.
    Thinking,
    /// What does not.
    Answer,
}

/// Looks for pairs of tags. Between an opening tag and the end of the text all is inside.
#[derive(Debug)]
pub(super) struct TagPairs {
    open: String,
    close: String,
    /// Only the first words of the text may be a tag.
    first_only: bool,
    /// Whether those have not come yet.
    at_start: bool,
    inside: bool,
    found: bool,
    held: String,
}

// Blanks wait until a tag can be ruled out, so their number has to be bounded.
/// Bytes of blanks before a first tag.
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

    /// Whether there was a pair.
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

    /// Takes what is sure from what is held; gives whether there may be more.
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
        // A tag may be cut between two pieces, so what may be its beginning is held back.
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

/// Bytes at the end of a text that a tag begins with.
fn begun(text: &str, tag: &str) -> usize {
    let ends = tag.char_indices().map(|(at, _)| at).skip(1);
    let ends = ends.filter(|end| tag.get(..*end).is_some_and(|part| text.ends_with(part)));
    ends.max().unwrap_or(0)
}
