//! The trait that every export format implements.

use super::error::ExportError;
use crate::Cell;
use crate::rows::TruncationReason;

/// What a form does with rows. Bytes that are ready go into `out`; some are kept for later, never
/// more than a bounded number of rows makes.
pub(super) trait RowFormat: Send {
    fn rows(&mut self, rows: Vec<Vec<Cell>>, out: &mut Vec<u8>) -> Result<(), ExportError>;

    fn end(
        self: Box<Self>,
        truncated: Option<TruncationReason>,
        out: &mut Vec<u8>,
    ) -> Result<(), ExportError>;
}
