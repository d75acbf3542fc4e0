//! Streaming export of the rows of a running query.

use std::fmt;

use quillet_core::BoxFuture;
use tokio::task::spawn_blocking;

use super::{CsvOptions, ExportError, ExportFormat, RowWriter};
use crate::stream::{RowSink, SinkClosed, StreamEnd};
use crate::{Cell, ColumnInfo};

/// Receives the bytes of an export. A sink can be a file, a pipe or a response body.
pub trait ByteSink: Send {
    /// Receives the next bytes. The query pauses until the future completes.
    ///
    /// # Errors
    /// Returns an error if the sink is closed; the sink itself knows the reason.
    fn bytes<'a>(&'a mut self, bytes: Vec<u8>) -> BoxFuture<'a, Result<(), SinkClosed>>;
}

/// A row sink that writes an export to a byte sink.
pub struct RowExport<'a> {
    format: ExportFormat,
    options: CsvOptions,
    out: &'a mut dyn ByteSink,
    /// Created with the first rows.
    writer: Option<RowWriter>,
    failed: Option<ExportError>,
}

impl<'a> RowExport<'a> {
    /// Creates an export. `options` apply only to CSV.
    pub fn new(format: ExportFormat, options: CsvOptions, out: &'a mut dyn ByteSink) -> Self {
        RowExport {
            format,
            options,
            out,
            writer: None,
            failed: None,
        }
    }

    /// Returns whether any rows have arrived, after which the sink cannot receive those of another
    /// query.
    pub(crate) fn has_begun(&self) -> bool {
        self.writer.is_some() || self.failed.is_some()
    }

    /// Finishes the file. If the query was stopped, the file stays incomplete.
    ///
    /// # Errors
    /// Fails if the format cannot represent a value.
    pub async fn finish(mut self, ended: StreamEnd) -> Result<StreamEnd, ExportError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let (Some(writer), true) = (self.writer.take(), ended != StreamEnd::Stopped) else {
            return Ok(StreamEnd::Stopped);
        };
        let end = on_blocking_thread(self.format, move || writer.end(ended.truncated())).await?;
        Ok(match self.out.bytes(end).await {
            Ok(()) => ended,
            Err(SinkClosed) => StreamEnd::Stopped,
        })
    }

    async fn take(&mut self, rows: Vec<Vec<Cell>>) -> Result<Vec<u8>, ExportError> {
        // The writer moves to the blocking thread and back. If that thread panics, the writer is
        // lost and the export fails.
        let Some(mut writer) = self.writer.take() else {
            return Ok(Vec::new());
        };
        let work = move || writer.rows(rows).map(|bytes| (writer, bytes));
        let (writer, bytes) = on_blocking_thread(self.format, work).await?;
        self.writer = Some(writer);
        Ok(bytes)
    }
}

impl RowSink for RowExport<'_> {
    fn columns<'a>(
        &'a mut self,
        columns: Vec<ColumnInfo>,
    ) -> BoxFuture<'a, Result<(), SinkClosed>> {
        let begun = RowWriter::new(columns, self.format, &self.options);
        let begun = begun.map(|writer| self.writer = Some(writer));
        let told = begun.map_err(|error| self.failed = Some(error));
        Box::pin(std::future::ready(told.map_err(|()| SinkClosed)))
    }

    fn rows<'a>(&'a mut self, rows: Vec<Vec<Cell>>) -> BoxFuture<'a, Result<(), SinkClosed>> {
        Box::pin(async move {
            match self.take(rows).await {
                Ok(bytes) if bytes.is_empty() => Ok(()),
                Ok(bytes) => self.out.bytes(bytes).await,
                Err(error) => {
                    self.failed = Some(error);
                    Err(SinkClosed)
                }
            }
        })
    }
}

impl fmt::Debug for RowExport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Export({})", self.format.name())
    }
}

/// Runs the work on a blocking thread, because compressing rows would block the async workers.
async fn on_blocking_thread<T: Send + 'static>(
    format: ExportFormat,
    work: impl FnOnce() -> Result<T, ExportError> + Send + 'static,
) -> Result<T, ExportError> {
    let done = spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(ExportError::new(format, error.to_string())))
}
