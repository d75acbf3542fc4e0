//! Answers that something in between has packed, although nobody asked it to. Unpacked in
//! small steps, so that the bounds on answers hold for what comes out.

use std::io::{self, Write};

use flate2::write::GzDecoder;
use quillet_core::chat::{ModelError, ModelErrorKind};
use reqwest::header::{CONTENT_ENCODING, HeaderMap};

/// Takes what `Content-Encoding` says off the bytes of a body.
pub(crate) enum Unpack {
    /// Nothing was done to it.
    Plain,
    Gzip(Box<GzDecoder<Vec<u8>>>),
}

impl Unpack {
    /// How a body with these headers is packed.
    ///
    /// # Errors
    /// In a way that is not read here.
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

    /// The bytes of a piece, in pieces.
    ///
    /// # Errors
    /// They are not packed as the headers say, or `take` fails.
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
            // The decoder holds back what it has; flushing brings it out.
            gzip.flush().map_err(|error| unreadable(&error))?;
            let out = std::mem::take(gzip.get_mut());
            take(&out)?;
            if read == 0 {
                // What follows the end is nothing of the answer.
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
