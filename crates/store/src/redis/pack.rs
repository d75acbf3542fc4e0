//! Compressed texts.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use quillet_core::store::{StoreError, StoreErrorKind};

use super::error::corrupt;

/// Compression takes time, so it runs on a separate thread.
pub(crate) async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| StoreError::new(StoreErrorKind::Unavailable, error.to_string()))
}

pub(crate) fn packed(bytes: &[u8]) -> Result<Vec<u8>, StoreError> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.map_err(|error| StoreError::new(StoreErrorKind::Refused, error.to_string()))
}

/// Decompresses at most `most` bytes, regardless of the size that the data claims.
pub(crate) fn unpacked(
    name: &str,
    packed: &[u8],
    most: usize,
    setting: &str,
) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    let mut decoder = DeflateDecoder::new(packed).take(most as u64 + 1);
    let read = decoder.read_to_end(&mut bytes);
    read.map_err(|error| corrupt(name, &format!("cannot decompress it: {error}")))?;
    if bytes.len() > most {
        let what = format!("it is longer than the limit of {most} bytes ({setting})");
        return Err(corrupt(name, &what));
    }
    Ok(bytes)
}
