//! What stands where Parquet's reader would, in a build without the feature `columnar`.

use std::path::Path;

use quillet_core::ErrorCode;
use rusqlite::Connection;

use super::FileError;
use super::job::LoadJob;
use crate::columnar::COLUMNAR;

/// No table is made here.
pub(super) fn load(path: &Path, _: &str, _: &mut LoadJob, _: &Connection) -> Result<(), FileError> {
    Err(FileError::new(
        ErrorCode::FeatureMissing,
        path,
        COLUMNAR.to_string(),
    ))
}
