//! Rows on their way from a database to whoever takes them: columns once, then rows in batches.
//!
//! A driver waits until a batch is taken before it reads on, so that a slow taker holds up the
//! database, and nobody holds more than a few batches however many rows there are.

use quillet_core::BoxFuture;

use crate::rows::TruncationReason;
use crate::{Cell, ColumnInfo, QueryLimits, RowSet};

/// Most rows of a batch.
pub const BATCH_ROWS: usize = 1_024;
/// Bytes of values after which a batch is full; a row is never divided.
pub const BATCH_BYTES: usize = 1 << 20;

/// Takes the rows of a query while it runs.
///
/// Reading goes on when the future of a call is done. What it waits for counts as time of the
/// query, so that nobody keeps a transaction open in the server for longer than a query may take.
pub trait RowSink: Send {
    /// Takes the columns, once: with the first rows, or at the end where there are none. A query
    /// that fails before passes nothing on.
    ///
    /// # Errors
    /// Nothing more is wanted.
    fn columns<'a>(&'a mut self, columns: Vec<ColumnInfo>)
    -> BoxFuture<'a, Result<(), SinkClosed>>;

    /// Takes the next rows, each as long as the columns.
    ///
    /// # Errors
    /// Nothing more is wanted.
    fn rows<'a>(&'a mut self, rows: Vec<Vec<Cell>>) -> BoxFuture<'a, Result<(), SinkClosed>>;
}

/// A sink wants nothing more: the query ends in the server. Why is the sink's to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SinkClosed;

/// The end of a query that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// All of its rows were taken.
    Whole,
    /// Rows are missing because of a limit of ours.
    Cut(TruncationReason),
    /// The sink wanted no more.
    Stopped,
}

impl StreamEnd {
    /// The limit that cut rows off.
    #[must_use]
    pub fn truncated(self) -> Option<TruncationReason> {
        match self {
            StreamEnd::Cut(limit) => Some(limit),
            StreamEnd::Whole | StreamEnd::Stopped => None,
        }
    }
}

/// All rows in memory: what a query gives that is not streamed.
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

/// Rows of a driver until they are a batch, and the limits that all of them are held to.
#[derive(Debug)]
pub(crate) struct RowBatch {
    rows: Vec<Vec<Cell>>,
    bytes: usize,
    all_rows: usize,
    all_bytes: usize,
    most_rows: usize,
    most_bytes: usize,
}

impl RowBatch {
    pub(crate) fn new(limits: &QueryLimits) -> Self {
        RowBatch {
            rows: Vec::new(),
            bytes: 0,
            all_rows: 0,
            all_bytes: 0,
            most_rows: limits.rows,
            most_bytes: limits.bytes,
        }
    }

    /// Counts a row of so many bytes, before it is made; the limit that it does not fit into.
    pub(crate) fn admit(&mut self, bytes: usize) -> Option<TruncationReason> {
        // Rows are checked before bytes: a result that meets both limits is reported as cut by
        // rows.
        if self.all_rows >= self.most_rows {
            return Some(TruncationReason::Rows);
        }
        // Counted before the row is decoded, so that a row beyond the limit never takes memory as
        // cells.
        self.all_bytes = self.all_bytes.saturating_add(bytes);
        if self.all_bytes > self.most_bytes {
            return Some(TruncationReason::Bytes);
        }
        self.all_rows += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        None
    }

    /// Adds a row that was admitted; the rows so far where they are a batch.
    pub(crate) fn push(&mut self, row: Vec<Cell>) -> Option<Vec<Vec<Cell>>> {
        self.rows.push(row);
        // Bytes bound the memory of wide rows, rows the latency of narrow ones.
        let is_full = self.rows.len() >= BATCH_ROWS || self.bytes >= BATCH_BYTES;
        is_full.then(|| self.take())
    }

    /// The rows so far.
    pub(crate) fn take(&mut self) -> Vec<Vec<Cell>> {
        self.bytes = 0;
        std::mem::take(&mut self.rows)
    }
}

/// The way of a driver's rows into a sink.
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

    /// Counts a row of so many bytes, before it is made; the limit that it does not fit into.
    pub(crate) fn admit(&mut self, bytes: usize) -> Option<TruncationReason> {
        self.batch.admit(bytes)
    }

    /// Adds a row that was admitted, and waits where that makes a batch.
    ///
    /// # Errors
    /// The sink wants no more.
    pub(crate) async fn push(&mut self, row: Vec<Cell>) -> Result<(), SinkClosed> {
        match self.batch.push(row) {
            Some(rows) => self.pass_on(rows).await,
            None => Ok(()),
        }
    }

    /// Passes on what is left of a query that ended so.
    pub(crate) async fn finish(&mut self, ended: StreamEnd) -> StreamEnd {
        let rows = self.batch.take();
        match self.pass_on(rows).await {
            Ok(()) => ended,
            Err(SinkClosed) => StreamEnd::Stopped,
        }
    }

    async fn pass_on(&mut self, rows: Vec<Vec<Cell>>) -> Result<(), SinkClosed> {
        // Columns go out with the first rows and not before: a query that fails early has written
        // nothing, and can be repaired and run again into the same sink.
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

    /// The sizes of the batches that rows of these bytes come in, and what cut them off.
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
