//! Decompression of responses that a proxy compressed without being asked. The output is produced
//! in small steps, so the size limits apply to the decompressed bytes.

use std::io::{self, Write};

use flate2::write::GzDecoder;
use quillet_core::chat::{ModelError, ModelErrorKind};
use reqwest::header::{CONTENT_ENCODING, HeaderMap};

/// Reverses the `Content-Encoding` of a body.
pub(crate) enum Unpack {
    /// The body is not compressed.
    Plain,
    Gzip(Box<GzDecoder<Vec<u8>>>),
}

impl Unpack {
    /// Selects the decompression for a body with these headers.
    ///
    /// # Errors
    /// The encoding is not supported.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, ModelError> {
        let said = headers.get(CONTENT_ENCODING);
        let said = said.map(|value| String::from_utf8_lossy(value.as_bytes()));
        match said.as_deref().map(str::trim).unwrap_or_default() {
            "" => Ok(Unpack::Plain),
            plain if plain.eq_ignore_ascii_case("identity") => Ok(Unpack::Plain),
            gzip if gzip.eq_ignore_ascii_case("gzip") || gzip.eq_ignore_ascii_case("x-gzip") => {
                Ok(Unpack::Gzip(Box::new(GzDecoder::new(Vec::new()))))
            }
            other => Err(broken(format!(
                "unsupported content-encoding {other:?}: expected gzip or none"
            ))),
        }
    }

    /// Decompresses a chunk and passes the result to `take` in chunks.
    ///
    /// # Errors
    /// The bytes do not match the encoding in the headers, or `take` fails.
    pub(crate) fn feed(
        &mut self,
        mut piece: &[u8],
        mut take: impl FnMut(&[u8]) -> Result<(), ModelError>,
    ) -> Result<(), ModelError> {
        let Unpack::Gzip(gzip) = self else {
            return take(piece);
        };
        while !piece.is_empty() {
            let read = gzip.write(piece).map_err(|error| unreadable(&error))?;
            // The decoder buffers its output; flushing releases it.
            gzip.flush().map_err(|error| unreadable(&error))?;
            let out = std::mem::take(gzip.get_mut());
            take(&out)?;
            if read == 0 {
                // Bytes after the end of the compressed data are not part of the response.
                break;
            }
            piece = piece.get(read..).unwrap_or_default();
        }
        Ok(())
    }
}

fn unreadable(error: &io::Error) -> ModelError {
    broken(format!(
        "the answer has content-encoding gzip and cannot be decompressed ({error})"
    ))
}

fn broken(cause: String) -> ModelError {
    ModelError::new(ModelErrorKind::Protocol, cause)
}
