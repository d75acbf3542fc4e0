//! Replacement of the Parquet reader in builds without the feature `columnar`.

use std::path::Path;

use quillet_core::ErrorCode;
use rusqlite::Connection;

use super::FileError;
use super::job::LoadJob;
use crate::columnar::COLUMNAR;

/// Returns the error that this build cannot read Parquet.
pub(super) fn load(path: &Path, _: &str, _: &mut LoadJob, _: &Connection) -> Result<(), FileError> {
    Err(FileError::new(
        ErrorCode::FeatureMissing,
        path,
        COLUMNAR.to_string(),
    ))
}
