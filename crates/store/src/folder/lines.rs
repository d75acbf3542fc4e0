//! Append-only files with one JSON text per line.
//!
//! A process that is killed during an append leaves an incomplete line. Readers ignore it, and the
//! next append removes it.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::write::make_private;

/// Number of bytes per read from the end of a file.
// This usually holds the last few lines, so reading the newest entry takes one read.
const PIECE: u64 = 16 << 10;

/// Reads the complete lines of a file from its beginning, each with its offset. Returns the offset
/// after the last one.
///
/// # Errors
/// The file cannot be read, a line exceeds `most` bytes, or `take` fails.
pub(crate) fn each(
    file: &mut File,
    most: u64,
    mut take: impl FnMut(u64, &[u8]) -> io::Result<()>,
) -> io::Result<u64> {
    file.seek(SeekFrom::Start(0))?;
    let mut reader = BufReader::new(file);
    let (mut at, mut line) = (0, Vec::new());
    loop {
        line.clear();
        let read = (&mut reader).take(most).read_until(b'\n', &mut line)?;
        if line.last() != Some(&b'\n') {
            if line.len() as u64 == most {
                let message = format!("the line at byte {at} is longer than {most} bytes");
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            return Ok(at);
        }
        take(at, &line)?;
        at += read as u64;
    }
}

/// Reads the line at an offset.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn at(file: &mut File, byte: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(byte))?;
    let mut line = Vec::new();
    BufReader::new(file).read_until(b'\n', &mut line)?;
    Ok(line)
}

/// Appends complete lines after the last complete one, and syncs the file. Returns the offset of
/// the new lines and the metadata of the file.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn append(path: &Path, lines: &str, private: bool) -> io::Result<(u64, Metadata)> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true);
    make_private(&mut options, private);
    let mut file = options.open(path)?;
    let length = file.metadata()?.len();
    let end = ReverseLines::new(&mut file)?.whole;
    // A crashed process left an incomplete line. Appending to this line would corrupt the new line.
    if end < length {
        file.set_len(end)?;
    }
    file.seek(SeekFrom::Start(end))?;
    file.write_all(lines.as_bytes())?;
    // The caller reports success only after the data is on disk.
    file.sync_data()?;
    Ok((end, file.metadata()?))
}

/// Iterates over the complete lines of a file from the last to the first.
pub(crate) struct ReverseLines<'a> {
    file: &'a mut File,
    /// File offset at which the buffer begins.
    begin: u64,
    /// Bytes that were read and not returned yet.
    read: Vec<u8>,
    /// File offset after the last complete line.
    whole: u64,
}

impl<'a> ReverseLines<'a> {
    /// Starts at the end of the file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn new(file: &'a mut File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        let mut lines = ReverseLines {
            file,
            begin: length,
            read: Vec::new(),
            whole: 0,
        };
        // An incomplete last line is ignored. The incomplete line may be longer than one read.
        while !lines.read.contains(&b'\n') && lines.more()? {}
        let ends = lines.read.iter().rposition(|byte| *byte == b'\n');
        lines.read.truncate(ends.map_or(0, |last| last + 1));
        if ends.is_some() {
            lines.whole = lines.begin + lines.read.len() as u64;
        }
        Ok(lines)
    }

    /// Reads more bytes; `false` at the beginning of the file.
    fn more(&mut self) -> io::Result<bool> {
        let size = self.begin.min(PIECE);
        if size == 0 {
            return Ok(false);
        }
        self.begin -= size;
        self.file.seek(SeekFrom::Start(self.begin))?;
        let mut piece = Vec::new();
        (&mut *self.file).take(size).read_to_end(&mut piece)?;
        piece.append(&mut self.read);
        self.read = piece;
        Ok(true)
    }

    /// Returns the previous line.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let Some(inner) = self.read.len().checked_sub(1) else {
                if !self.more()? {
                    return Ok(None);
                }
                continue;
            };
            let before = self.read.get(..inner).unwrap_or_default();
            let start = before.iter().rposition(|byte| *byte == b'\n');
            match start {
                Some(end) => return Ok(Some(self.read.split_off(end + 1))),
                None if self.more()? => {}
                None => return Ok(Some(std::mem::take(&mut self.read))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use quillet_test_support::TempDir;

    use super::*;

    fn lines(path: &Path) -> (Vec<String>, Vec<String>) {
        let mut file = File::open(path).unwrap();
        let (mut forth, mut back) = (Vec::new(), Vec::new());
        let text = |line: &[u8]| String::from_utf8(line.to_vec()).unwrap();
        each(&mut file, 1 << 20, |byte, line| {
            assert_eq!(at(&mut File::open(path)?, byte)?, line);
            forth.push(text(line));
            Ok(())
        })
        .unwrap();
        let mut lines = ReverseLines::new(&mut file).unwrap();
        while let Some(line) = lines.next().unwrap() {
            back.push(text(&line));
        }
        back.reverse();
        (forth, back)
    }

    #[test]
    fn lines_that_do_not_end_are_none() {
        let dir = TempDir::new();
        let path = dir.path().join("lines");
        let long = format!("{}\n", "x".repeat(40_000));
        for (text, whole) in [
            ("", vec![]),
            ("torn", vec![]),
            ("\n", vec!["\n"]),
            ("one\n", vec!["one\n"]),
            ("one\ntorn", vec!["one\n"]),
            ("one\n\ntwo\n", vec!["one\n", "\n", "two\n"]),
            (
                &format!("one\n{long}two\n{long}"),
                vec!["one\n", &long, "two\n", &long],
            ),
            (&format!("one\n{}", "t".repeat(40_000)), vec!["one\n"]),
        ] {
            std::fs::write(&path, text).unwrap();
            let (forth, back) = lines(&path);
            assert_eq!(forth, whole);
            assert_eq!(back, whole);
            append(&path, "new\n", false).unwrap();
            let expected = [&whole[..], &["new\n"]].concat();
            assert_eq!(
                lines(&path),
                (
                    expected.iter().map(|it| (*it).to_owned()).collect(),
                    expected.iter().map(|it| (*it).to_owned()).collect()
                )
            );
        }
    }

    #[test]
    fn a_line_has_a_bound() {
        let dir = TempDir::new();
        let path = dir.path().join("lines");
        std::fs::write(&path, "short\nlonger than that\n").unwrap();
        let mut file = File::open(&path).unwrap();
        let error = each(&mut file, 10, |_, _| Ok(())).unwrap_err();
        assert!(error.to_string().contains("byte 6"), "{error}");
    }
}
