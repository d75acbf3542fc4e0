//! Splits an uploaded file into chunks of complete lines during the upload.

use std::mem;

use memchr::memchr;

use super::FileChunk;

/// Maximum lines of a chunk, the unit that a worker leases. It is small enough to spread a small
/// batch over several workers, and large enough that a large batch is not leased row by row.
const LINES: u64 = 16;
/// A chunk is closed once it has this many bytes.
const BYTES: usize = 64 << 10;

/// Collects lines and splits them into chunks.
///
/// # Examples
///
/// ```
/// use quillet_core::batch::{RowSplitter, lines};
///
/// let mut splitter = RowSplitter::new(1024);
/// let mut chunks = Vec::new();
/// for received in ["{\"a\"", ": 1}\n\n{\"a\": 2}"] {
///     splitter.add(received.as_bytes(), &mut chunks)?;
/// }
/// chunks.extend(splitter.end());
/// let numbers: Vec<u64> = lines(&chunks[0]).map(|(number, _)| number).collect();
/// assert_eq!(numbers, [1, 3]);
/// # Ok::<(), quillet_core::batch::LongLine>(())
/// ```
#[derive(Debug)]
pub struct RowSplitter {
    most: usize,
    /// Number of the first buffered line.
    first: u64,
    /// Complete lines in the buffer.
    lines: u64,
    /// Byte offset after the last complete line.
    whole: usize,
    held: Vec<u8>,
    bytes: u64,
}

/// Error for a line that exceeds the length limit.
///
/// # Examples
///
/// ```
/// use quillet_core::batch::{LongLine, RowSplitter};
///
/// let mut splitter = RowSplitter::new(4);
/// let added = splitter.add(b"too long", &mut Vec::new());
/// assert_eq!(added, Err(LongLine { line: 1 }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongLine {
    /// Line number, from 1.
    pub line: u64,
}

impl RowSplitter {
    /// Creates a splitter for lines of at most `most` bytes.
    #[must_use]
    pub fn new(most: usize) -> Self {
        RowSplitter {
            most,
            first: 1,
            lines: 0,
            whole: 0,
            held: Vec::new(),
            bytes: 0,
        }
    }

    /// Bytes received so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds received bytes, and appends the chunks that they complete to `pieces`.
    ///
    /// # Errors
    /// A line is too long.
    pub fn add(&mut self, mut coming: &[u8], pieces: &mut Vec<FileChunk>) -> Result<(), LongLine> {
        self.bytes += coming.len() as u64;
        while let Some(end) = memchr(b'\n', coming) {
            let (line, rest) = coming.split_at(end + 1);
            // The limit is checked for each line, so the buffer exceeds it by at most one line.
            self.held.extend_from_slice(line);
            self.check()?;
            self.lines += 1;
            self.whole = self.held.len();
            coming = rest;
            if self.lines >= LINES || self.whole >= BYTES {
                pieces.push(self.piece());
            }
        }
        self.held.extend_from_slice(coming);
        self.check()
    }

    /// Returns the last chunk, at the end of the file.
    #[must_use]
    pub fn end(mut self) -> Option<FileChunk> {
        // The last line of a file may lack a line break.
        (!self.held.is_empty()).then(|| self.piece())
    }

    fn check(&self) -> Result<(), LongLine> {
        let line = self.first + self.lines;
        if self.held.len() - self.whole > self.most {
            return Err(LongLine { line });
        }
        Ok(())
    }

    fn piece(&mut self) -> FileChunk {
        let piece = FileChunk {
            number: self.first,
            bytes: mem::take(&mut self.held),
        };
        self.first += self.lines;
        (self.lines, self.whole) = (0, 0);
        piece
    }
}

/// Returns the lines of a chunk and their numbers. Omits line ends and blank lines.
pub fn lines(piece: &FileChunk) -> impl Iterator<Item = (u64, &[u8])> {
    let numbered = (piece.number..).zip(piece.bytes.split(|byte| *byte == b'\n'));
    numbered.filter_map(|(number, line)| {
        let mark: &[u8] = b"\xef\xbb\xbf";
        let line = match line.strip_prefix(mark) {
            // Some programs start a UTF-8 file with a byte order mark, which is not JSON.
            Some(rest) if number == 1 => rest,
            _ => line,
        };
        let line = line.trim_ascii();
        (!line.is_empty()).then_some((number, line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &[u8], step: usize) -> Vec<FileChunk> {
        let (mut cutter, mut pieces) = (RowSplitter::new(100), Vec::new());
        for some in text.chunks(step) {
            cutter.add(some, &mut pieces).unwrap();
        }
        assert_eq!(cutter.bytes(), text.len() as u64);
        pieces.extend(cutter.end());
        pieces
    }

    #[test]
    fn pieces_are_whole_lines_however_they_come_in() {
        let mut text = String::new();
        for n in 1..=40 {
            text += &format!("line {n}\n");
            if n % 10 == 0 {
                text += "\r\n";
            }
        }
        text += "without an end";
        for step in [1, 3, 7, 1000] {
            let pieces = cut(text.as_bytes(), step);
            let numbers: Vec<u64> = pieces.iter().map(|piece| piece.number).collect();
            assert_eq!(numbers, [1, 17, 33]);
            let whole: Vec<u8> = pieces.iter().flat_map(|p| p.bytes.clone()).collect();
            assert_eq!(whole, text.as_bytes());
            let all: Vec<(u64, &[u8])> = pieces.iter().flat_map(lines).collect();
            assert_eq!(all.len(), 41);
            assert_eq!(all[10], (12, &b"line 11"[..]));
            assert_eq!(all[40], (45, &b"without an end"[..]));
        }
        assert!(cut(b"", 1).is_empty());
    }

    #[test]
    fn a_line_that_is_too_long_is_named() {
        let (mut cutter, mut pieces) = (RowSplitter::new(4), Vec::new());
        cutter.add(b"abc\n\nabc", &mut pieces).unwrap();
        assert_eq!(cutter.add(b"de", &mut pieces), Err(LongLine { line: 3 }));
    }

    #[test]
    fn the_mark_of_utf_8_is_no_part_of_the_first_line() {
        let piece = FileChunk {
            number: 1,
            bytes: b"\xef\xbb\xbf{}\n\xef\xbb\xbf{}\n".to_vec(),
        };
        let all: Vec<(u64, &[u8])> = lines(&piece).collect();
        assert_eq!(all, [(1, &b"{}"[..]), (2, &b"\xef\xbb\xbf{}"[..])]);
    }
}
