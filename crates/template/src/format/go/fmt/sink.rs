//! Output buffer for formatting. It appends to a byte buffer up to a size limit, so a large width
//! in a template cannot exhaust memory.

use super::spec::Spec;

/// Appends to a buffer until the limit is reached. Further bytes are dropped, and
/// [`LimitedBuffer::is_full`] reports this.
pub(super) struct LimitedBuffer<'a> {
    out: &'a mut Vec<u8>,
    limit: usize,
    full: bool,
}

impl<'a> LimitedBuffer<'a> {
    /// Creates a sink that lets `out` grow to `limit` bytes.
    pub(super) fn new(out: &'a mut Vec<u8>, limit: usize) -> Self {
        LimitedBuffer {
            out,
            limit,
            full: false,
        }
    }

    /// Whether bytes were dropped.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Returns the length of the buffer, which is the offset of the next byte.
    pub(super) fn position(&self) -> usize {
        self.out.len()
    }

    /// Returns the bytes written since `start`.
    pub(super) fn since(&self, start: usize) -> &[u8] {
        self.out.get(start..).unwrap_or_default()
    }

    /// Reserves room for `more` bytes. After the first failure all later calls fail.
    pub(super) fn reserve(&mut self, more: usize) -> bool {
        self.full |= more > self.limit.saturating_sub(self.out.len());
        !self.full
    }

    pub(super) fn write(&mut self, bytes: &[u8]) {
        if self.reserve(bytes.len()) {
            self.out.extend_from_slice(bytes);
        }
    }

    pub(super) fn byte(&mut self, byte: u8) {
        self.write(&[byte]);
    }

    pub(super) fn char(&mut self, c: char) {
        self.write(c.encode_utf8(&mut [0; 4]).as_bytes());
    }

    pub(super) fn fill(&mut self, byte: u8, count: usize) {
        if self.reserve(count) {
            self.out.resize(self.out.len() + count, byte);
        }
    }

    /// Lets `write` append directly to the buffer. It must append about `least` bytes, because the
    /// size is only checked again afterwards.
    pub(super) fn append(&mut self, least: usize, write: impl FnOnce(&mut Vec<u8>)) {
        if self.reserve(least) {
            write(self.out);
            self.full = self.out.len() > self.limit;
            self.out.truncate(self.limit);
        }
    }

    /// Pads the bytes written since `start` to the width of `spec`.
    pub(super) fn pad(&mut self, start: usize, spec: &Spec) {
        let Some(width) = spec.width else { return };
        let missing = width.saturating_sub(count_runes(self.since(start)));
        if missing == 0 {
            return;
        }
        if spec.minus {
            self.fill(b' ', missing);
        } else {
            self.insert(start, spec.padding(), missing);
        }
    }

    /// Inserts `count` equal bytes at `at`.
    pub(super) fn insert(&mut self, at: usize, byte: u8, count: usize) {
        let end = self.out.len();
        if at > end || !self.reserve(count) {
            return;
        }
        self.out.resize(end + count, byte);
        self.out.copy_within(at..end, at + count);
        self.out[at..at + count].fill(byte);
    }
}

/// Counts characters like Go: each invalid UTF-8 byte counts as one.
pub(crate) fn count_runes(bytes: &[u8]) -> usize {
    if bytes.is_ascii() {
        return bytes.len();
    }
    let count =
        |chunk: std::str::Utf8Chunk<'_>| chunk.valid().chars().count() + chunk.invalid().len();
    bytes.utf8_chunks().map(count).sum()
}

/// Returns the first `count` characters.
pub(crate) fn first_runes(bytes: &[u8], count: usize) -> &[u8] {
    if bytes.len() <= count {
        return bytes;
    }
    let mut left = count;
    let mut end = 0;
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if left == 0 {
                return &bytes[..end];
            }
            left -= 1;
            end += c.len_utf8();
        }
        let invalid = chunk.invalid().len().min(left);
        left -= invalid;
        end += invalid;
        if left == 0 {
            return &bytes[..end];
        }
    }
    bytes
}
