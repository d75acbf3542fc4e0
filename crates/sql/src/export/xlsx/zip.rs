//! A ZIP archive (PKWARE's APPNOTE 6.3) of a few deflated files: all that a workbook needs.
//! No encryption, no 64-bit sizes, always the same bytes for the same files.

use std::io::{self, Write};

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

/// 1980-01-01, the first day there is.
const DATE: u16 = 0x21;
/// Version 2.0, the first that deflates.
const VERSION: u16 = 20;
/// Names are UTF-8.
const FLAGS: u16 = 1 << 11;
/// What only the end of a file knows of it stands behind it.
const BEHIND: u16 = 1 << 3;
const DEFLATED: u16 = 8;
/// Where the flags begin in the header of a file, and where its sum and sizes do.
const FLAGS_AT: usize = 6;
const SIZES_AT: usize = 14;

/// An archive that grows. What is ready can be taken at any time.
#[derive(Debug, Default)]
pub(super) struct Zip {
    out: Vec<u8>,
    /// Bytes that were taken.
    taken: usize,
    directory: Vec<u8>,
    count: u16,
    open: Option<ZipEntry>,
}

/// The file that is being written.
#[derive(Debug)]
struct ZipEntry {
    name: &'static str,
    /// Where its header begins in the archive.
    place: usize,
    /// Whether the header was taken, so that it cannot say any more how large the file is.
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
    /// It, or the archive, is larger than 4 GiB.
    pub(super) fn add(&mut self, name: &'static str, content: &[u8]) -> io::Result<()> {
        self.begin(name)?;
        self.write(content)?;
        self.end()
    }

    /// Begins a file.
    ///
    /// # Errors
    /// The archive is larger than 4 GiB.
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

    /// Adds to the file that was begun.
    ///
    /// # Errors
    /// It cannot be packed.
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

    /// Ends the file that was begun.
    ///
    /// # Errors
    /// It, or the archive, is larger than 4 GiB.
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
        // No comment, disk 0, no attributes.
        self.directory.extend([0; 10]);
        self.directory.extend(size(open.place)?.to_le_bytes());
        self.directory.extend(open.name.as_bytes());
        self.count += 1;
        Ok(())
    }

    /// How much could be taken.
    pub(super) fn ready(&self) -> usize {
        self.out.len()
    }

    /// Takes what is ready. A file that is open says behind itself how large it was.
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

    /// Ends the archive.
    ///
    /// # Errors
    /// It is larger than 4 GiB.
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

    /// Writes over what was not taken yet.
    fn patch(&mut self, place: usize, bytes: &[u8]) {
        let there = self.out.iter_mut().skip(place - self.taken);
        for (old, new) in there.zip(bytes) {
            *old = *new;
        }
    }
}

/// What the header of a file and the directory both say of it.
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
