//! Writes a file from the queue to disk.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use quillet_core::batch::BatchService;

use super::output_files::with_suffix;
use crate::failure::CliError;

/// Number of bytes to read at a time.
const READ: usize = 1 << 20;

/// Writes a file from the queue. The output is either complete or does not exist.
pub(super) async fn write(batching: &BatchService, id: &str, path: &Path) -> Result<(), CliError> {
    // Written to a temporary name and renamed, so an existing output is always complete.
    let part = with_suffix(path, ".part");
    let wrong = |error| CliError::Other(format!("cannot write {}: {error}", path.display()));
    let mut out = BufWriter::new(File::create(&part).map_err(wrong)?);
    let mut from = Some(1);
    while let Some(number) = from {
        let page = batching.store.pieces(id, number, READ).await?;
        for piece in &page.pieces {
            out.write_all(&piece.bytes).map_err(wrong)?;
        }
        from = page.next;
    }
    let file = out
        .into_inner()
        .map_err(|error| wrong(error.into_error()))?;
    // The queue is deleted next, so the output must be on disk before the rename.
    file.sync_all().map_err(wrong)?;
    fs::rename(&part, path).map_err(wrong)
}
