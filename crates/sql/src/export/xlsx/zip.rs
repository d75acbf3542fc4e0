//! A minimal ZIP writer (PKWARE's APPNOTE 6.3) for the few deflated files of a workbook. It has no
//! encryption and no 64-bit sizes, and its output is deterministic.

use std::io::{self, Write};

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

/// 1980-01-01, the earliest date that ZIP can represent.
const DATE: u16 = 0x21;
/// Version 2.0, the first with deflate.
const VERSION: u16 = 20;
/// Flag for UTF-8 names.
const FLAGS: u16 = 1 << 11;
/// Flag for a data descriptor after the file, with the sizes that the header lacks.
const BEHIND: u16 = 1 << 3;
const DEFLATED: u16 = 8;
/// Offsets in a local header of the flags, and of the checksum and sizes.
const FLAGS_AT: usize = 6;
const SIZES_AT: usize = 14;

/// A ZIP archive being written. Finished bytes can be taken at any time.
#[derive(Debug, Default)]
pub(super) struct Zip {
    out: Vec<u8>,
    /// Number of bytes already taken.
    taken: usize,
    directory: Vec<u8>,
    count: u16,
    open: Option<ZipEntry>,
}

/// The file being written.
#[derive(Debug)]
struct ZipEntry {
    name: &'static str,
    /// Offset of its header in the archive.
    place: usize,
    /// Whether the header was already taken, so that the sizes cannot be written into it.
    is_behind: bool,
    crc: Crc,
    length: usize,
    encoder: DeflateEncoder<Vec<u8>>,
    packed: usize,
}

impl Zip {
    /// Adds a file.
    ///
    /// # Errors
    /// Fails if the file or the archive exceeds 4 GiB.
    pub(super) fn add(&mut self, name: &'static str, content: &[u8]) -> io::Result<()> {
        self.begin(name)?;
        self.write(content)?;
        self.end()
    }

    /// Starts a file.
    ///
    /// # Errors
    /// Fails if the archive exceeds 4 GiB.
    pub(super) fn begin(&mut self, name: &'static str) -> io::Result<()> {
        let place = self.taken + self.out.len();
        size(place)?;
        self.out.extend(b"PK\x03\x04");
        self.out.extend(about(name, FLAGS, [0; 3]));
        self.out.extend(name.as_bytes());
        self.open = Some(ZipEntry {
            name,
            place,
            is_behind: false,
            crc: Crc::new(),
            length: 0,
            encoder: DeflateEncoder::new(Vec::new(), Compression::fast()),
            packed: 0,
        });
        Ok(())
    }

    /// Appends to the open file.
    ///
    /// # Errors
    /// Fails if compression fails.
    pub(super) fn write(&mut self, content: &[u8]) -> io::Result<()> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        open.crc.update(content);
        open.length += content.len();
        open.encoder.write_all(content)?;
        let ready = open.encoder.get_mut();
        open.packed += ready.len();
        self.out.append(ready);
        Ok(())
    }

    /// Ends the open file.
    ///
    /// # Errors
    /// Fails if the file or the archive exceeds 4 GiB.
    pub(super) fn end(&mut self) -> io::Result<()> {
        let Some(open) = self.open.take() else {
            return Ok(());
        };
        let mut rest = open.encoder.finish()?;
        let packed = open.packed + rest.len();
        self.out.append(&mut rest);
        let sizes = [open.crc.sum(), size(packed)?, size(open.length)?];
        let flags = if open.is_behind {
            FLAGS | BEHIND
        } else {
            FLAGS
        };
        let bytes = sizes.map(u32::to_le_bytes);
        if open.is_behind {
            self.out.extend(b"PK\x07\x08");
            self.out.extend(bytes.as_flattened());
        } else {
            self.patch(open.place + SIZES_AT, bytes.as_flattened())
        }
        self.directory.extend(b"PK\x01\x02");
        self.directory.extend(VERSION.to_le_bytes());
        self.directory.extend(about(open.name, flags, sizes));
        // The zeros mean: no comment, disk 0, no attributes.
        self.directory.extend([0; 10]);
        self.directory.extend(size(open.place)?.to_le_bytes());
        self.directory.extend(open.name.as_bytes());
        self.count += 1;
        Ok(())
    }

    /// Returns the number of bytes that can be taken.
    pub(super) fn ready(&self) -> usize {
        self.out.len()
    }

    /// Takes the finished bytes. An open file then gets a data descriptor with its sizes.
    pub(super) fn take(&mut self, out: &mut Vec<u8>) {
        if let Some(open) = &mut self.open
            && !open.is_behind
        {
            open.is_behind = true;
            let place = open.place + FLAGS_AT;
            self.patch(place, &(FLAGS | BEHIND).to_le_bytes());
        }
        self.taken += self.out.len();
        out.append(&mut self.out);
    }

    /// Finishes the archive.
    ///
    /// # Errors
    /// Fails if the archive exceeds 4 GiB.
    pub(super) fn finish(mut self, out: &mut Vec<u8>) -> io::Result<()> {
        let (place, length) = (
            size(self.taken + self.out.len())?,
            size(self.directory.len())?,
        );
        self.out.append(&mut self.directory);
        self.out.extend(b"PK\x05\x06\0\0\0\0");
        for half in [self.count, self.count] {
            self.out.extend(half.to_le_bytes());
        }
        for word in [length, place] {
            self.out.extend(word.to_le_bytes());
        }
        self.out.extend([0; 2]);
        out.append(&mut self.out);
        Ok(())
    }

    /// Overwrites bytes that were not taken yet.
    fn patch(&mut self, place: usize, bytes: &[u8]) {
        let there = self.out.iter_mut().skip(place - self.taken);
        for (old, new) in there.zip(bytes) {
            *old = *new;
        }
    }
}

/// Returns the fields that the local header and the directory entry share.
fn about(name: &str, flags: u16, sizes: [u32; 3]) -> Vec<u8> {
    let mut about = Vec::new();
    for half in [VERSION, flags, DEFLATED, 0, DATE] {
        about.extend(half.to_le_bytes());
    }
    for word in sizes {
        about.extend(word.to_le_bytes());
    }
    about.extend(u16::try_from(name.len()).unwrap_or_default().to_le_bytes());
    about.extend([0; 2]);
    about
}

fn size(length: usize) -> io::Result<u32> {
    u32::try_from(length).map_err(|_| io::Error::other("the file would be larger than 4 GiB"))
}
