//! The trait that every export format implements.

use super::error::ExportError;
use crate::Cell;
use crate::rows::TruncationReason;

/// Writes rows in one format. Finished bytes go into `out`. An implementation may buffer bytes, but
/// only for a bounded number of rows.
pub(super) trait RowFormat: Send {
    fn rows(&mut self, rows: Vec<Vec<Cell>>, out: &mut Vec<u8>) -> Result<(), ExportError>;

    fn end(
        self: Box<Self>,
        truncated: Option<TruncationReason>,
        out: &mut Vec<u8>,
    ) -> Result<(), ExportError>;
}
