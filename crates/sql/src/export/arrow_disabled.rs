//! Replacement of Arrow and Parquet exports in builds without the feature `columnar`.

use quillet_core::ErrorCode;

use super::row_format::RowFormat;
use super::{ExportError, ExportFormat};
use crate::ColumnInfo;
use crate::columnar::COLUMNAR;

/// Returns the error that this build cannot write the format.
pub(super) fn form(
    _: Vec<ColumnInfo>,
    format: ExportFormat,
) -> Result<Box<dyn RowFormat>, ExportError> {
    Err(ExportError {
        format,
        code: ErrorCode::FeatureMissing,
        message: COLUMNAR.to_string(),
    })
}
