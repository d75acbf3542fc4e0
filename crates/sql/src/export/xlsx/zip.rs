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
const DEFLATED: u16 = 8;

/// An archive that grows.
#[derive(Debug, Default)]
pub(super) struct Zip {
    out: Vec<u8>,
    directory: Vec<u8>,
    count: u16,
}

impl Zip {
    /// Adds a file.
    ///
    /// # Errors
    /// It, or the archive, is larger than 4 GiB.
    pub(super) fn add(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        let mut crc = Crc::new();
        crc.update(content);
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(content)?;
        let packed = encoder.finish()?;
        let place = size(self.out.len())?;
        let mut about = Vec::new();
        for half in [VERSION, FLAGS, DEFLATED, 0, DATE] {
            about.extend(half.to_le_bytes());
        }
        for word in [crc.sum(), size(packed.len())?, size(content.len())?] {
            about.extend(word.to_le_bytes());
        }
        about.extend(u16::try_from(name.len()).unwrap_or_default().to_le_bytes());
        about.extend([0; 2]);
        self.out.extend(b"PK\x03\x04");
        self.out.extend(&about);
        self.out.extend(name.as_bytes());
        self.out.extend(packed);
        self.directory.extend(b"PK\x01\x02");
        self.directory.extend(VERSION.to_le_bytes());
        self.directory.extend(&about);
        // No comment, disk 0, no attributes.
        self.directory.extend([0; 10]);
        self.directory.extend(place.to_le_bytes());
        self.directory.extend(name.as_bytes());
        self.count += 1;
        Ok(())
    }

    /// The whole archive.
    ///
    /// # Errors
    /// It is larger than 4 GiB.
    pub(super) fn finish(mut self) -> io::Result<Vec<u8>> {
        let (place, length) = (size(self.out.len())?, size(self.directory.len())?);
        self.out.append(&mut self.directory);
        self.out.extend(b"PK\x05\x06\0\0\0\0");
        for half in [self.count, self.count] {
            self.out.extend(half.to_le_bytes());
        }
        for word in [length, place] {
            self.out.extend(word.to_le_bytes());
        }
        self.out.extend([0; 2]);
        Ok(self.out)
    }
}

fn size(length: usize) -> io::Result<u32> {
    u32::try_from(length).map_err(|_| io::Error::other("it would be larger than 4 GiB"))
}
