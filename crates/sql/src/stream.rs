//! Streams rows from a database to a sink: columns once, then rows in batches.
//!
//! A driver continues only after the sink has received a batch. A slow sink therefore slows down
//! the database, and memory holds at most a few batches.

use quillet_core::BoxFuture;

use crate::rows::TruncationReason;
use crate::{Cell, ColumnInfo, QueryLimits, RowSet};

/// Maximum number of rows in a batch.
pub const BATCH_ROWS: usize = 1_024;
/// Total size of values in bytes at which a batch is full. A row is never split.
pub const BATCH_BYTES: usize = 1 << 20;

/// Receives the rows of a running query.
///
/// The driver waits until the future that a method returns completes. This wait counts towards the
/// query's time limit, so a slow sink cannot keep a transaction open for longer.
pub trait RowSink: Send {
    /// Receives the columns once: with the first rows, or at the end if there are none. It is not
    /// called for a query that fails earlier.
    ///
    /// # Errors
    /// Returns an error to stop the query.
    fn columns<'a>(&'a mut self, columns: Vec<ColumnInfo>)
    -> BoxFuture<'a, Result<(), SinkClosed>>;

    /// Receives the next rows, each as long as the columns.
    ///
    /// # Errors
    /// Returns an error to stop the query.
    fn rows<'a>(&'a mut self, rows: Vec<Vec<Cell>>) -> BoxFuture<'a, Result<(), SinkClosed>>;
}

/// Signals that the sink does not want more rows. The sink records the reason itself. The query is
/// then cancelled on the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SinkClosed;

/// How a successful query ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// All rows were delivered.
    Whole,
    /// Rows are missing because a limit was reached.
    Cut(TruncationReason),
    /// The sink stopped the query.
    Stopped,
}

impl StreamEnd {
    /// Returns the limit because of which rows are missing, if any.
    #[must_use]
    pub fn truncated(self) -> Option<TruncationReason> {
        match self {
            StreamEnd::Cut(limit) => Some(limit),
            StreamEnd::Whole | StreamEnd::Stopped => None,
        }
    }
}

/// Collects all rows in memory.
impl RowSink for RowSet {
    fn columns<'a>(
        &'a mut self,
        columns: Vec<ColumnInfo>,
    ) -> BoxFuture<'a, Result<(), SinkClosed>> {
        self.columns = columns;
        Box::pin(std::future::ready(Ok(())))
    }

    fn rows<'a>(&'a mut self, mut rows: Vec<Vec<Cell>>) -> BoxFuture<'a, Result<(), SinkClosed>> {
        self.rows.append(&mut rows);
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Collects a driver's rows into batches and enforces the limits.
#[derive(Debug)]
pub(crate) struct RowBatch {
    rows: Vec<Vec<Cell>>,
    bytes: usize,
    all_rows: usize,
    all_bytes: usize,
    max_rows: usize,
    max_bytes: usize,
}

impl RowBatch {
    pub(crate) fn new(limits: &QueryLimits) -> Self {
        RowBatch {
            rows: Vec::new(),
            bytes: 0,
            all_rows: 0,
            all_bytes: 0,
            max_rows: limits.rows,
            max_bytes: limits.bytes,
        }
    }

    /// Counts a row before it is decoded. Returns the limit that it exceeds.
    pub(crate) fn admit(&mut self, bytes: usize) -> Option<TruncationReason> {
        // Rows are checked before bytes, so a result that exceeds both limits is reported as cut
        // off by rows.
        if self.all_rows >= self.max_rows {
            return Some(TruncationReason::Rows);
        }
        // Bytes are counted before the row is decoded, so that a row beyond the limit never uses
        // memory for cells.
        self.all_bytes = self.all_bytes.saturating_add(bytes);
        if self.all_bytes > self.max_bytes {
            return Some(TruncationReason::Bytes);
        }
        self.all_rows += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        None
    }

    /// Adds an admitted row. Returns the batch when it is full.
    pub(crate) fn push(&mut self, row: Vec<Cell>) -> Option<Vec<Vec<Cell>>> {
        self.rows.push(row);
        // The byte limit bounds the memory of wide rows, and the row limit bounds the latency of
        // narrow rows.
        let is_full = self.rows.len() >= BATCH_ROWS || self.bytes >= BATCH_BYTES;
        is_full.then(|| self.take())
    }

    /// Returns the rows collected so far.
    pub(crate) fn take(&mut self) -> Vec<Vec<Cell>> {
        self.bytes = 0;
        std::mem::take(&mut self.rows)
    }
}

/// Delivers a driver's rows to a sink.
pub(crate) struct Feed<'a> {
    sink: &'a mut dyn RowSink,
    columns: Option<Vec<ColumnInfo>>,
    batch: RowBatch,
}

impl<'a> Feed<'a> {
    pub(crate) fn new(
        sink: &'a mut dyn RowSink,
        columns: Vec<ColumnInfo>,
        limits: &QueryLimits,
    ) -> Self {
        Feed {
            sink,
            columns: Some(columns),
            batch: RowBatch::new(limits),
        }
    }

    /// Counts a row of this size before it is decoded. Returns the limit that it exceeds.
    pub(crate) fn admit(&mut self, bytes: usize) -> Option<TruncationReason> {
        self.batch.admit(bytes)
    }

    /// Adds an admitted row, and waits for the sink when a batch is full.
    ///
    /// # Errors
    /// Fails if the sink is closed.
    pub(crate) async fn push(&mut self, row: Vec<Cell>) -> Result<(), SinkClosed> {
        match self.batch.push(row) {
            Some(rows) => self.pass_on(rows).await,
            None => Ok(()),
        }
    }

    /// Delivers the remaining rows of a finished query.
    pub(crate) async fn finish(&mut self, ended: StreamEnd) -> StreamEnd {
        let rows = self.batch.take();
        match self.pass_on(rows).await {
            Ok(()) => ended,
            Err(SinkClosed) => StreamEnd::Stopped,
        }
    }

    async fn pass_on(&mut self, rows: Vec<Vec<Cell>>) -> Result<(), SinkClosed> {
        // Columns are sent only with the first rows. A query that fails before them has written
        // nothing, so it can be repaired and run again into the same sink.
        if let Some(columns) = self.columns.take() {
            self.sink.columns(columns).await?;
        }
        if rows.is_empty() {
            Ok(())
        } else {
            self.sink.rows(rows).await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the batch sizes for rows of these byte counts, and the limit that cut them off.
    fn batches(rows: &[usize], limits: &QueryLimits) -> (Vec<usize>, Option<TruncationReason>) {
        let (mut batch, mut sizes) = (RowBatch::new(limits), Vec::new());
        let mut cut = None;
        for bytes in rows {
            cut = batch.admit(*bytes);
            if cut.is_some() {
                break;
            }
            sizes.extend(batch.push(Vec::new()).map(|rows| rows.len()));
        }
        sizes.extend(Some(batch.take().len()).filter(|rows| *rows > 0));
        (sizes, cut)
    }

    #[test]
    fn batches_are_bounded_in_rows_and_bytes_and_limits_hold_over_all() {
        let limits = |rows, bytes| QueryLimits {
            rows,
            bytes,
            ..QueryLimits::default()
        };
        let wide = limits(usize::MAX, usize::MAX);
        assert_eq!(batches(&[], &wide), (vec![], None));
        assert_eq!(batches(&[8; 1_024], &wide), (vec![1_024], None));
        assert_eq!(batches(&[8; 2_050], &wide), (vec![1_024, 1_024, 2], None));
        let half = BATCH_BYTES / 2;
        assert_eq!(batches(&[half, half, half], &wide), (vec![2, 1], None));
        let huge = BATCH_BYTES * 3;
        assert_eq!(batches(&[huge, 8, huge], &wide), (vec![1, 2], None));
        let rows = Some(TruncationReason::Rows);
        assert_eq!(batches(&[8; 3], &limits(3, 100)), (vec![3], None));
        assert_eq!(batches(&[8; 4], &limits(3, 100)), (vec![3], rows));
        assert_eq!(batches(&[8; 1], &limits(0, 100)), (vec![], rows));
        let bytes = Some(TruncationReason::Bytes);
        assert_eq!(batches(&[8; 3], &limits(9, 24)), (vec![3], None));
        assert_eq!(batches(&[8, 8, 9], &limits(9, 24)), (vec![2], bytes));
        let far = limits(usize::MAX, BATCH_BYTES * 2);
        assert_eq!(batches(&[half; 5], &far), (vec![2, 2], bytes));
    }
}
