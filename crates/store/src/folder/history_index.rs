//! The file of one history: a line for each version, in the order in which they were made.
//!
//! A line is `{"version": {…}, "content": {…}}`, and has no content where an earlier line has it. A
//! line `{"dropped": [1, 2]}` says that these versions are kept no longer.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use quillet_core::history::{DefinitionContent, Digest, Version, VersionRecord};
use quillet_core::lock::lock;
use quillet_core::store::{EntryKey, EntryKind};
use serde::{Deserialize, Serialize};

use super::lines::{self, ReverseLines};
use crate::history::VersionChain;

/// A file with fewer lines of dropped versions than these is left as it is.
// Rewriting a small file saves nothing.
const FEWEST_DEAD: usize = 100;

/// Books that are remembered; all are forgotten when there are more.
// Clearing everything is simpler than tracking use, and reading an index again is cheap.
const MOST_BOOKS: usize = 4096;

/// One line of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct HistoryLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<Version>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<DefinitionContent>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    dropped: Vec<u64>,
}

/// What shows that a file is another one than it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FileIdentity {
    bytes: u64,
    written: Option<SystemTime>,
    number: u64,
}

impl FileIdentity {
    pub(super) fn of(about: &Metadata) -> Self {
        #[cfg(unix)]
        // A replaced file may have the same size and time, but not the same inode.
        let number = std::os::unix::fs::MetadataExt::ino(about);
        #[cfg(not(unix))]
        let number = 0;
        FileIdentity {
            bytes: about.len(),
            written: about.modified().ok(),
            number,
        }
    }
}

/// Index of a history file: the versions without their content.
#[derive(Clone, Debug, Default)]
pub(super) struct HistoryIndex {
    /// Of the file as it was read.
    stamp: FileIdentity,
    /// The versions that are kept.
    pub(super) chain: VersionChain,
    /// How many lines are of versions that are not.
    dead: usize,
    /// Where the line begins that has the content of a digest.
    places: BTreeMap<Digest, u64>,
}

impl HistoryIndex {
    /// Reads a file. `most` is how many bytes a line has at most.
    ///
    /// # Errors
    /// `InvalidData` with the line that cannot be understood.
    pub(super) fn read(file: &mut File, most: u64) -> io::Result<Self> {
        let mut book = HistoryIndex {
            stamp: FileIdentity::of(&file.metadata()?),
            ..HistoryIndex::default()
        };
        let mut number = 0;
        lines::each(file, most, |at, line| {
            number += 1;
            let line: HistoryLine = serde_json::from_slice(line).map_err(|error| {
                io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("line {number}: {error}"),
                )
            })?;
            book.take(at, line);
            Ok(())
        })?;
        Ok(book)
    }

    fn take(&mut self, at: u64, line: HistoryLine) {
        if let Some(version) = line.version {
            if line.content.is_some() {
                // Content is stored once per digest, at its first version.
                self.places.entry(version.digest).or_insert(at);
            }
            let content = None;
            self.chain.add(VersionRecord { version, content });
        }
        self.dead += line.dropped.len();
        self.chain.forget(&line.dropped);
    }

    /// What a version holds.
    ///
    /// # Errors
    /// The file cannot be read, or has it no more.
    pub(super) fn content(
        &self,
        file: &mut File,
        version: &Version,
    ) -> io::Result<Option<DefinitionContent>> {
        if version.removed {
            return Ok(None);
        }
        let lost = || {
            let message = format!("version {} has no content", version.number);
            io::Error::new(io::ErrorKind::InvalidData, message)
        };
        let at = self.places.get(&version.digest).ok_or_else(lost)?;
        let line: HistoryLine = serde_json::from_slice(&lines::at(file, *at)?)?;
        line.content.ok_or_else(lost).map(Some)
    }

    /// The lines of some more versions.
    pub(super) fn lines(&self, versions: &[VersionRecord]) -> String {
        let mut new = BTreeSet::new();
        let lines = versions.iter().map(|kept| {
            let VersionRecord { version, content } = kept;
            let is_known = self.places.contains_key(&version.digest);
            let is_new = content.is_some() && !is_known && new.insert(version.digest);
            line(&HistoryLine {
                version: Some(version.clone()),
                content: content.clone().filter(|_| is_new),
                dropped: Vec::new(),
            })
        });
        lines.collect()
    }

    /// The book once these lines stand in the file, which begin at a byte of it.
    ///
    /// # Errors
    /// As [`HistoryIndex::read`].
    pub(super) fn with(mut self, at: u64, text: &str, stamp: FileIdentity) -> io::Result<Self> {
        let mut at = at;
        for line in text.split_inclusive('\n') {
            self.take(at, serde_json::from_str(line)?);
            at += line.len() as u64;
        }
        self.stamp = stamp;
        Ok(self)
    }

    /// Writes a file that has only the versions of a chain, which are versions of this one.
    ///
    /// # Errors
    /// One of the two files fails, or this one has lost what it had.
    pub(super) fn copy(
        &self,
        file: &mut File,
        chain: &VersionChain,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let mut written = BTreeSet::new();
        for version in chain.versions() {
            let is_new = !version.removed && written.insert(version.digest);
            let content = if is_new {
                self.content(file, version)?
            } else {
                None
            };
            let text = line(&HistoryLine {
                version: Some(version.clone()),
                content,
                dropped: Vec::new(),
            });
            out.write_all(text.as_bytes())?;
        }
        Ok(())
    }

    /// Whether more of the file would be of versions that are dropped than of those that are kept,
    /// once so many more are dropped.
    pub(super) fn is_worn(&self, more: usize) -> bool {
        self.dead + more > self.chain.versions().count().max(FEWEST_DEAD)
    }
}

/// In-memory indexes of the version histories in a folder.
#[derive(Debug, Default)]
pub(super) struct HistoryCache {
    /// Held by the one that writes.
    pub(super) writing: Mutex<()>,
    /// As they were read.
    books: Mutex<BTreeMap<(EntryKind, EntryKey), Arc<HistoryIndex>>>,
}

impl HistoryCache {
    /// A book that was read from the same file.
    pub(super) fn find(
        &self,
        at: &(EntryKind, EntryKey),
        stamp: FileIdentity,
    ) -> Option<Arc<HistoryIndex>> {
        let books = lock(&self.books);
        // Another process may have appended or rewritten the file since.
        books.get(at).filter(|book| book.stamp == stamp).cloned()
    }

    /// Remembers a book.
    pub(super) fn keep(&self, at: (EntryKind, EntryKey), book: Arc<HistoryIndex>) {
        let mut books = lock(&self.books);
        if books.len() >= MOST_BOOKS {
            books.clear();
        }
        books.insert(at, book);
    }
}

/// The newest version that a file has, without a look at all the others.
///
/// # Errors
/// The file cannot be read, or its last lines cannot be understood.
pub(super) fn newest(file: &mut File) -> io::Result<Option<Version>> {
    // The newest version is at the end, so a long history is not read from the start.
    let mut lines = ReverseLines::new(file)?;
    while let Some(line) = lines.next()? {
        let line: HistoryLine = serde_json::from_slice(&line)?;
        if line.version.is_some() {
            return Ok(line.version);
        }
    }
    Ok(None)
}

/// The line that drops versions.
pub(super) fn dropping(numbers: &[u64]) -> String {
    line(&HistoryLine {
        dropped: numbers.to_vec(),
        ..HistoryLine::default()
    })
}

fn line(line: &HistoryLine) -> String {
    let mut text = serde_json::to_string(line).unwrap_or_default();
    text.push('\n');
    text
}
