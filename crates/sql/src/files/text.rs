//! Reads a text file in any encoding as UTF-8, with a limit on the length of a row.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::rc::Rc;

use encoding_rs::{DecoderResult, Encoding, GB18030, UTF_8};
use quillet_core::ErrorCode;

use super::FileError;
use super::job::{LoadJob, read_error};

/// Bytes read at a time.
const CHUNK: usize = 64 << 10;
/// Bytes from which the encoding is guessed.
const SAMPLE: u64 = 64 << 10;
/// Buffer size that is enough for any character.
const CHARACTER: usize = 16;

/// Position of a reader, shared with the parser of its rows.
#[derive(Debug, Default)]
pub(super) struct ReadPosition {
    /// Bytes of decoded text returned so far.
    given: Cell<u64>,
    /// Byte in that text up to which rows are complete.
    taken: Cell<u64>,
    /// Error that ended the reading, other than an I/O error.
    wrong: Cell<Option<TextError>>,
}

impl ReadPosition {
    /// Returns the number of bytes of decoded text returned so far.
    pub(super) fn bytes_read(&self) -> u64 {
        self.given.get()
    }

    /// Marks rows up to this byte of the text as complete.
    pub(super) fn take(&self, at: u64) {
        self.taken.set(at);
    }
}

/// Reason why reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextError {
    /// A row exceeds the limit.
    TooLong,
    /// The byte at this offset of the file is invalid in its encoding.
    Byte(u64),
}

/// Reads a text file.
pub(super) struct TextReader {
    file: File,
    decoder: encoding_rs::Decoder,
    raw: Vec<u8>,
    /// Start of the undecoded part of `raw`.
    from: usize,
    to: usize,
    /// Decoded text for reads smaller than a character, and the number of bytes already returned.
    spare: Vec<u8>,
    spent: usize,
    /// Offset in the file of the start of `raw`.
    offset: u64,
    ended: bool,
    /// Whether the decoder is finished, after which it must not be called.
    finished: bool,
    most: u64,
    place: Rc<ReadPosition>,
}

impl TextReader {
    /// Opens a file. A byte order mark overrides the settings and is not part of the text.
    ///
    /// # Errors
    /// Fails if the file cannot be read or the settings name an unknown encoding.
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

    /// Decodes text into a buffer that is large enough for any character.
    fn decode(&mut self, out: &mut [u8]) -> io::Result<usize> {
        // Bytes that were returned but do not complete a row all belong to the same row. Beyond the
        // limit, that row would fill the memory.
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
                // The invalid sequence may have started in the previous buffer.
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

/// Returns the encoding of a file without a byte order mark.
fn detect_encoding(
    path: &Path,
    job: &LoadJob,
    start: &[u8],
) -> Result<&'static Encoding, FileError> {
    if let Some(name) = &job.options.encoding {
        return Encoding::for_label(name.as_bytes()).ok_or_else(|| {
            let message = format!("unknown encoding {name:?} in sql.file_encoding");
            FileError::new(ErrorCode::FileEncoding, path, message)
                .help("use utf-8, utf-16le, gbk, big5, shift_jis, windows-1252 or another name from encoding.spec.whatwg.org")
        });
    }
    // Text does not contain zero bytes, but in UTF-16 every other byte of ASCII text is zero.
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

/// Returns the error of a text, with its line.
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
            error.help(if known { "the encoding of the file differs from sql.file_encoding".to_owned() } else { format!(
                "save it as UTF-8, or set its encoding: sql.file_encoding = \"{}\" (QUILLET_SQL_FILE_ENCODING)",
                guess(path)
            ) })
        }
    }
}

/// Returns the line of a byte in the file, from 1, and the byte.
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
    // A newline belongs to the line that it ends.
    (line - u64::from(value == b'\n'), value)
}

/// Guesses the encoding of a file that is not UTF-8: GBK if its start is valid GBK and contains
/// Chinese, otherwise the Western European encoding of Windows.
fn guess(path: &Path) -> &'static str {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(SAMPLE).read_to_end(&mut start));
    let is_chinese = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c);
    // The sample may end within a character.
    let whole = start
        .len()
        .saturating_sub(if start.len() as u64 == SAMPLE { 4 } else { 0 });
    let sample = start.get(..whole).unwrap_or_default();
    let decoded = read
        .ok()
        .and_then(|_| GB18030.decode_without_bom_handling_and_without_replacement(sample));
    let high = sample.iter().filter(|byte| **byte >= 0x80).count();
    match decoded {
        // A GBK character usually has two high bytes; a Windows-1252 character has one.
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
