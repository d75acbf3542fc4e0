//! A file of text as UTF-8, whatever it is written in, and never more of one row than is allowed.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::rc::Rc;

use encoding_rs::{DecoderResult, Encoding, GB18030, UTF_8};
use quillet_core::ErrorCode;

use super::FileError;
use super::job::{LoadJob, read_error};

/// Bytes that are read at a time.
const CHUNK: usize = 64 << 10;
/// Bytes from which an encoding is guessed.
const SAMPLE: u64 = 64 << 10;
/// Bytes that any character has room in.
const CHARACTER: usize = 16;

/// Where a reader is. Shared with whoever takes rows out of its bytes.
#[derive(Debug, Default)]
pub(super) struct ReadPosition {
    /// Bytes of text that were given out.
    given: Cell<u64>,
    /// Of these, up to where rows were taken.
    taken: Cell<u64>,
    /// What broke off the reading, beyond what the system says.
    wrong: Cell<Option<TextError>>,
}

impl ReadPosition {
    /// Bytes of text that were given out.
    pub(super) fn bytes_read(&self) -> u64 {
        self.given.get()
    }

    /// Rows up to this byte of text are taken.
    pub(super) fn take(&self, at: u64) {
        self.taken.set(at);
    }
}

/// Why a text breaks off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextError {
    /// A row is longer than may be.
    TooLong,
    /// A byte of the file that the encoding does not have there.
    Byte(u64),
}

/// A file of text that is being read.
pub(super) struct TextReader {
    file: File,
    decoder: encoding_rs::Decoder,
    raw: Vec<u8>,
    /// The part of `raw` that waits.
    from: usize,
    to: usize,
    /// Text for readers that ask for less than a character, and how much of it is given.
    spare: Vec<u8>,
    spent: usize,
    /// Byte of the file at which `raw` begins.
    offset: u64,
    ended: bool,
    /// Whether the decoder has given out its last, after which it must not be asked.
    finished: bool,
    most: u64,
    place: Rc<ReadPosition>,
}

impl TextReader {
    /// Opens a file. A byte order mark says more than the settings, and is no part of the text.
    ///
    /// # Errors
    /// It cannot be read, or the settings name no encoding that is known.
    pub(super) fn open(
        path: &Path,
        job: &LoadJob,
    ) -> Result<(TextReader, Rc<ReadPosition>), FileError> {
        let mut file = File::open(path).map_err(|error| read_error(path, &error))?;
        let mut start = Vec::new();
        let read = (&mut file).take(SAMPLE).read_to_end(&mut start);
        read.map_err(|error| read_error(path, &error))?;
        let (encoding, skipped) = match Encoding::for_bom(&start) {
            Some((encoding, length)) => (encoding, length as u64),
            None => (detect_encoding(path, job, &start)?, 0),
        };
        let sought = file.seek(SeekFrom::Start(skipped));
        sought.map_err(|error| read_error(path, &error))?;
        let place = Rc::new(ReadPosition::default());
        let text = TextReader {
            file,
            decoder: encoding.new_decoder_without_bom_handling(),
            raw: vec![0; CHUNK],
            from: 0,
            to: 0,
            spare: Vec::new(),
            spent: 0,
            offset: skipped,
            ended: false,
            finished: false,
            most: job.options.row_bytes,
            place: Rc::clone(&place),
        };
        Ok((text, place))
    }

    /// Text into a place that has room for more than a character.
    fn decode(&mut self, out: &mut [u8]) -> io::Result<usize> {
        // Bytes given out but not yet taken as rows belong to one row: beyond the limit it would
        // fill the memory.
        if self.place.given.get() - self.place.taken.get() > self.most + CHUNK as u64 {
            self.place.wrong.set(Some(TextError::TooLong));
            return Err(io::Error::other("row"));
        }
        while !self.finished {
            if self.from == self.to && !self.ended {
                self.fill()?;
            }
            let waiting = self.raw.get(self.from..self.to).unwrap_or_default();
            let (result, read, written) = self
                .decoder
                .decode_to_utf8_without_replacement(waiting, out, self.ended);
            self.from += read;
            self.finished = self.ended && result == DecoderResult::InputEmpty;
            if let DecoderResult::Malformed(length, after) = result {
                // The sequence may have begun in the bytes before these.
                let back = u64::from(length) + u64::from(after);
                let at = (self.offset + self.from as u64).saturating_sub(back);
                self.place.wrong.set(Some(TextError::Byte(at)));
                return Err(io::Error::other("byte"));
            }
            if written > 0 {
                self.place
                    .given
                    .set(self.place.given.get() + written as u64);
                return Ok(written);
            }
        }
        Ok(0)
    }

    fn fill(&mut self) -> io::Result<()> {
        self.offset += self.to as u64;
        self.from = 0;
        self.to = self.file.read(&mut self.raw)?;
        self.ended = self.to == 0;
        Ok(())
    }
}

impl Read for TextReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.spent == self.spare.len() {
            if out.len() >= CHARACTER {
                return self.decode(out);
            }
            let mut spare = [0; 4 * CHARACTER];
            let written = self.decode(&mut spare)?;
            self.spare = spare.get(..written).unwrap_or_default().to_vec();
            self.spent = 0;
        }
        let read = self.spare.get(self.spent..).unwrap_or_default().read(out)?;
        self.spent += read;
        Ok(read)
    }
}

/// The encoding of a file without a byte order mark.
fn detect_encoding(
    path: &Path,
    job: &LoadJob,
    start: &[u8],
) -> Result<&'static Encoding, FileError> {
    if let Some(name) = &job.options.encoding {
        return Encoding::for_label(name.as_bytes()).ok_or_else(|| {
            let message = format!("unknown encoding {name:?} in sql.file_encoding");
            FileError::new(ErrorCode::FileEncoding, path, message)
                .help("use utf-8, utf-16le, gbk, big5, shift_jis, windows-1252 or another name of encoding.spec.whatwg.org")
        });
    }
    // Text has no zero bytes; of UTF-16 without a mark every other one is zero.
    let zeros = |first: usize| {
        let bytes = start.iter().skip(first).step_by(2);
        bytes.filter(|byte| **byte == 0).count()
    };
    let (even, odd) = (zeros(0), zeros(1));
    if (even + odd) * 3 > start.len() {
        let name = if even > odd { "utf-16be" } else { "utf-16le" };
        let message = "looks like UTF-16 without a byte order mark";
        return Err(
            FileError::new(ErrorCode::FileEncoding, path, message).help(format!(
                "set sql.file_encoding = \"{name}\" (QUILLET_SQL_FILE_ENCODING)"
            )),
        );
    }
    Ok(UTF_8)
}

/// An error of reading text, at a line.
pub(super) fn text_error(
    path: &Path,
    job: &LoadJob,
    place: &ReadPosition,
    error: &io::Error,
    line: u64,
) -> FileError {
    match place.wrong.take() {
        None => read_error(path, error),
        Some(TextError::TooLong) => job
            .too_long_row(path, line)
            .help("check for an unclosed quote, or raise sql.file_row_bytes"),
        Some(TextError::Byte(at)) => {
            let (line, value) = locate_byte(path, at);
            let (name, known) = match &job.options.encoding {
                Some(name) => (name.as_str(), true),
                None => ("UTF-8", false),
            };
            let message = format!("byte {value:#04x} at offset {at} is not valid {name}");
            let error = FileError::new(ErrorCode::FileEncoding, path, message).at(line);
            error.help(if known { "the file has another encoding than sql.file_encoding".to_owned() } else { format!(
                "save it as UTF-8, or set its encoding: sql.file_encoding = \"{}\" (QUILLET_SQL_FILE_ENCODING)",
                guess(path)
            ) })
        }
    }
}

/// The line of a byte of the file, from 1, and the byte.
fn locate_byte(path: &Path, at: u64) -> (u64, u8) {
    let (mut line, mut value) = (1, 0);
    let Ok(file) = File::open(path) else {
        return (line, value);
    };
    let mut chunk = vec![0; CHUNK];
    let mut file = file.take(at + 1);
    while let Ok(read @ 1..) = file.read(&mut chunk) {
        let read = chunk.get(..read).unwrap_or_default();
        line += read.iter().filter(|byte| **byte == b'\n').count() as u64;
        value = read.last().copied().unwrap_or_default();
    }
    // The line that the byte ends is its own.
    (line - u64::from(value == b'\n'), value)
}

/// The encoding that a file which is no UTF-8 most likely has: GBK where all of its start is, and
/// Chinese comes out; else what Windows writes in Europe.
fn guess(path: &Path) -> &'static str {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(SAMPLE).read_to_end(&mut start));
    let is_chinese = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c);
    // A character may be cut at the end of the sample.
    let whole = start
        .len()
        .saturating_sub(if start.len() as u64 == SAMPLE { 4 } else { 0 });
    let sample = start.get(..whole).unwrap_or_default();
    let decoded = read
        .ok()
        .and_then(|_| GB18030.decode_without_bom_handling_and_without_replacement(sample));
    let high = sample.iter().filter(|byte| **byte >= 0x80).count();
    match decoded {
        // A character of GBK has two high bytes mostly, one of Windows-1252 has one.
        Some(text) => match text.chars().filter(|c| is_chinese(*c)).count() {
            0 => "windows-1252",
            count if high * 2 >= count * 3 => "gbk",
            _ => "windows-1252",
        },
        None => "windows-1252",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_have_the_names_that_help_says() {
        for (name, encoding) in [
            ("gbk", encoding_rs::GBK),
            ("windows-1252", encoding_rs::WINDOWS_1252),
            ("utf-16le", encoding_rs::UTF_16LE),
            ("utf-16be", encoding_rs::UTF_16BE),
        ] {
            assert_eq!(Encoding::for_label(name.as_bytes()), Some(encoding));
        }
    }
}
