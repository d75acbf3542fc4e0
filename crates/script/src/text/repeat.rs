//! Answers that go round in circles.
//!
//! The end of what was written so far is looked at again whenever it has grown by a part of
//! itself, so that a whole stream costs a constant for each of its bytes.

/// How often the end repeats before an answer is cut, if `minTailRepeatCount` is not set.
pub const DEFAULT_COUNT: usize = 7;

// A rule or a table in Markdown repeats one mark many times on purpose.
/// Blanks and rules (`-----`) are meant up to this many.
const RULES: usize = 120;

/// Newlines are meant up to this many.
const NEWLINES: usize = 18;

/// Bytes of the end that are looked at: with the default count a unit may have 2,340.
const WINDOW: usize = 16 << 10;

/// A look costs the whole window, so it waits for this part of it to be new.
const PART: usize = 32;

/// Watches a stream of text for an end that repeats.
#[derive(Clone, Debug)]
pub struct Repeats {
    count: usize,
    /// The end of the text.
    tail: Vec<u8>,
    /// Bytes since the last look.
    fresh: usize,
}

impl Repeats {
    /// Watches for this many repetitions; 0 watches for none, and 1 counts as 2.
    #[must_use]
    pub fn new(min_count: usize) -> Self {
        Repeats {
            // Every end stands there once, so a count of 1 would cut every answer.
            count: if min_count == 1 { 2 } else { min_count },
            tail: Vec::new(),
            fresh: 0,
        }
    }

    /// Takes the next piece; gives the unit that repeats at the end of all pieces.
    pub fn push(&mut self, piece: &str) -> Option<String> {
        if self.count == 0 {
            return None;
        }
        self.tail.extend_from_slice(piece.as_bytes());
        self.fresh += piece.len();
        // Twice the window, so that bytes are moved once per window and not at every piece.
        if self.tail.len() > 2 * WINDOW {
            self.tail.drain(..self.tail.len() - WINDOW);
        }
        if self.fresh == 0 || self.fresh < self.tail.len().min(WINDOW) / PART {
            return None;
        }
        self.fresh = 0;
        self.unit()
    }

    /// The shortest unit that the end repeats often enough.
    fn unit(&self) -> Option<String> {
        let window = self.tail.get(self.tail.len().saturating_sub(WINDOW)..)?;
        // Reversed, because the Z function compares with the beginning and not with the end.
        let reversed: Vec<u8> = window.iter().rev().copied().collect();
        let runs = runs(&reversed);
        let longest = window.len() / self.count;
        (1..=longest).find_map(|length| {
            let run = length + runs.get(length).copied().unwrap_or(0);
            // Most lengths end here, before anything is looked at.
            if run < self.count.saturating_mul(length) {
                return None;
            }
            // A unit that begins inside a character is skipped; the search goes on with longer
            // ones.
            let unit = std::str::from_utf8(window.get(window.len() - length..)?).ok()?;
            (run >= needed(unit, self.count).saturating_mul(length)).then(|| unit.to_owned())
        })
    }
}

/// How often this unit has to stand there.
fn needed(unit: &str, count: usize) -> usize {
    if unit.chars().all(|c| matches!(c, '\n' | '\r')) {
        return count.max(NEWLINES);
    }
    if unit.chars().any(char::is_alphanumeric) {
        return count;
    }
    count.max(RULES)
}

/// For each length, how many bytes from there are as those from the beginning (the Z function).
fn runs(text: &[u8]) -> Vec<usize> {
    let mut runs = vec![0; text.len()];
    let (mut left, mut right) = (0, 0);
    for at in 1..text.len() {
        let known = if at < right {
            runs.get(at - left).copied().unwrap_or(0).min(right - at)
        } else {
            0
        };
        let more = text.iter().skip(known).zip(text.iter().skip(at + known));
        let run = known + more.take_while(|(a, b)| a == b).count();
        if let Some(slot) = runs.get_mut(at) {
            *slot = run;
        }
        if at + run > right {
            (left, right) = (at, at + run);
        }
    }
    runs
}
