//! Detects answers that repeat themselves.
//!
//! The end of the text is checked again whenever a fixed fraction of the window is new, so the cost
//! per byte of a stream is constant.

// Number of repetitions of white space or of a rule (`-----`) that are accepted. Markdown rules and
// tables repeat a mark intentionally.
const RULES: usize = 120;

/// Number of repeated newlines that is accepted.
const NEWLINES: usize = 18;

/// Number of bytes at the end that are checked. With the default count, a unit may have up to 2,340
/// bytes.
const WINDOW: usize = 16 << 10;

/// A check costs a whole window, so it waits until this fraction of the window is new.
const PART: usize = 32;

/// Detects text that is repeated at the end of a stream.
#[derive(Clone, Debug)]
pub struct Repeats {
    count: usize,
    /// The end of the text.
    tail: Vec<u8>,
    /// Bytes since the last check.
    fresh: usize,
}

impl Repeats {
    /// Creates a detector for this number of repetitions. 0 disables the detection, and 1 counts as
    /// 2.
    #[must_use]
    pub fn new(min_count: usize) -> Self {
        Repeats {
            // A text always ends with its last unit, so a count of 1 would truncate every answer.
            count: if min_count == 1 { 2 } else { min_count },
            tail: Vec::new(),
            fresh: 0,
        }
    }

    /// Adds a chunk. Returns the string that is repeated at the end of the text, if any.
    pub fn push(&mut self, piece: &str) -> Option<String> {
        if self.count == 0 {
            return None;
        }
        self.tail.extend_from_slice(piece.as_bytes());
        self.fresh += piece.len();
        // The buffer is twice the window, so that bytes are moved once per window and not for every
        // chunk.
        if self.tail.len() > 2 * WINDOW {
            self.tail.drain(..self.tail.len() - WINDOW);
        }
        if self.fresh == 0 || self.fresh < self.tail.len().min(WINDOW) / PART {
            return None;
        }
        self.fresh = 0;
        self.unit()
    }

    /// Returns the shortest unit that is repeated often enough at the end.
    fn unit(&self) -> Option<String> {
        let window = self.tail.get(self.tail.len().saturating_sub(WINDOW)..)?;
        // The window is reversed, because the Z function compares with the start of a text and not
        // with its end.
        let reversed: Vec<u8> = window.iter().rev().copied().collect();
        let runs = runs(&reversed);
        let longest = window.len() / self.count;
        (1..=longest).find_map(|length| {
            let run = length + runs.get(length).copied().unwrap_or(0);
            // This test is cheap and excludes most lengths.
            if run < self.count.saturating_mul(length) {
                return None;
            }
            // A unit that starts inside a character is skipped, and longer units are tried.
            let unit = std::str::from_utf8(window.get(window.len() - length..)?).ok()?;
            (run >= needed(unit, self.count).saturating_mul(length)).then(|| unit.to_owned())
        })
    }
}

/// Returns the number of repetitions that a unit needs.
fn needed(unit: &str, count: usize) -> usize {
    if unit.chars().all(|c| matches!(c, '\n' | '\r')) {
        return count.max(NEWLINES);
    }
    if unit.chars().any(char::is_alphanumeric) {
        return count;
    }
    count.max(RULES)
}

/// The Z function: for each offset, the length of the common prefix with the whole text.
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
