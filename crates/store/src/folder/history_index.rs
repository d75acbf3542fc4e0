//! Index of a history file, which has one line per version, oldest first.
//!
//! A line is `{"version": {…}, "content": {…}}`; it has no content if an earlier line has the same.
//! A line `{"dropped": [1, 2]}` marks these versions as deleted.

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

/// Minimum number of deleted versions before a file is rewritten.
// Rewriting a small file saves nothing.
const FEWEST_DEAD: usize = 100;

/// Maximum number of cached indexes; the cache is cleared when it is full.
// Clearing everything is simpler than tracking use, and reading an index again is cheap.
const MOST_BOOKS: usize = 4096;

/// A line of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct HistoryLine {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<Version>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<DefinitionContent>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    dropped: Vec<u64>,
}

/// Properties that identify a state of a file.
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
    /// Identity of the file when it was indexed.
    stamp: FileIdentity,
    /// The versions that still exist.
    pub(super) chain: VersionChain,
    /// Number of lines for deleted versions.
    dead: usize,
    /// Offset of the line with the content of each digest.
    places: BTreeMap<Digest, u64>,
}

impl HistoryIndex {
    /// Indexes a file whose lines have at most `most` bytes.
    ///
    /// # Errors
    /// `InvalidData` with the number of the invalid line.
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

    /// Reads the content of a version.
    ///
    /// # Errors
    /// The file cannot be read, or no longer contains the version.
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

    /// Returns the lines for additional versions.
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

    /// Returns the index after these lines were appended at a file offset.
    ///
    /// # Errors
    /// Same as [`HistoryIndex::read`].
    pub(super) fn with(mut self, at: u64, text: &str, stamp: FileIdentity) -> io::Result<Self> {
        let mut at = at;
        for line in text.split_inclusive('\n') {
            self.take(at, serde_json::from_str(line)?);
            at += line.len() as u64;
        }
        self.stamp = stamp;
        Ok(self)
    }

    /// Writes a file with only the versions of `chain`, whose content is in `file`.
    ///
    /// # Errors
    /// Reading or writing fails, or `file` no longer has the content.
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

    /// Whether deleting `more` versions would leave more lines of deleted versions than of existing
    /// ones.
    pub(super) fn is_worn(&self, more: usize) -> bool {
        self.dead + more > self.chain.versions().count().max(FEWEST_DEAD)
    }
}

/// In-memory indexes of the version histories in a folder.
#[derive(Debug, Default)]
pub(super) struct HistoryCache {
    /// Held while writing.
    pub(super) writing: Mutex<()>,
    /// Cached indexes.
    books: Mutex<BTreeMap<(EntryKind, EntryKey), Arc<HistoryIndex>>>,
}

impl HistoryCache {
    /// Returns the cached index, if the file has not changed.
    pub(super) fn find(
        &self,
        at: &(EntryKind, EntryKey),
        stamp: FileIdentity,
    ) -> Option<Arc<HistoryIndex>> {
        let books = lock(&self.books);
        // Another process may have appended to the file or rewritten it since.
        books.get(at).filter(|book| book.stamp == stamp).cloned()
    }

    /// Caches an index.
    pub(super) fn keep(&self, at: (EntryKind, EntryKey), book: Arc<HistoryIndex>) {
        let mut books = lock(&self.books);
        if books.len() >= MOST_BOOKS {
            books.clear();
        }
        books.insert(at, book);
    }
}

/// Returns the newest version in a file without reading the others.
///
/// # Errors
/// The file cannot be read, or its last lines are invalid.
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

/// Returns the line that marks versions as deleted.
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
