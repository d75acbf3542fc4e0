//! Exports rows as Arrow and Parquet.
//!
//! Column types are inferred from the values. The driver's type is used only for a column without
//! values, because a SQLite column may contain anything and drivers do not report the digits of
//! decimals. All of these formats declare the types before the rows, so they are inferred from the
//! first [`SAMPLE`] rows. A later value that does not fit its type is an error; it is never
//! changed.

mod array;
mod buffer;
mod shape;
mod target;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};

use super::keys::keys;
use super::row_format::RowFormat;
use super::{ExportError, ExportFormat};
use crate::rows::TruncationReason;
use crate::{Cell, ColumnInfo};
use buffer::RowBuffer;
use shape::ColumnKind;
use target::{ArrowSink, of};

/// Number of rows used to infer types.
const SAMPLE: usize = 32_768;

/// Maximum rows of one batch.
const BATCH: usize = 16_384;

/// Metadata key for the database's own type of a column.
const DATABASE_TYPE: &str = "database_type";

/// Creates an export without rows.
pub(super) fn form(
    columns: Vec<ColumnInfo>,
    format: ExportFormat,
) -> Result<Box<dyn RowFormat>, ExportError> {
    Ok(Box::new(Arrow::begin(columns, format)))
}

/// State of an Arrow or Parquet export.
struct Arrow {
    format: ExportFormat,
    columns: Vec<ColumnInfo>,
    /// Rows not yet written as a batch.
    held: RowBuffer,
    /// Number of rows written.
    written: usize,
    open: Option<OpenExport>,
}

/// State that exists once the types are inferred.
struct OpenExport {
    shapes: Vec<ColumnKind>,
    schema: SchemaRef,
    target: ArrowSink,
}

impl Arrow {
    fn begin(columns: Vec<ColumnInfo>, format: ExportFormat) -> Self {
        Arrow {
            format,
            columns,
            held: RowBuffer::default(),
            written: 0,
            open: None,
        }
    }

    /// Writes the buffered rows. The first call infers the types; if more rows will follow, it
    /// chooses wider types.
    fn flush(&mut self, has_more: bool, out: &mut Vec<u8>) -> Result<(), ExportError> {
        let rows = self.held.take();
        let open = match &mut self.open {
            Some(open) => {
                // This check runs before the batch is built, because Arrow's own error does not
                // name the row and column.
                let misfit = misfit(&rows, &self.columns, open);
                if let Some(misfit) = misfit {
                    return Err(self.failed(misfit));
                }
                open
            }
            none => none.insert(begin(self.format, &self.columns, &rows, has_more)?),
        };
        self.written += rows.len();
        // Rows are dropped as soon as they are in a batch, to save memory.
        let mut rows = rows.into_iter();
        while rows.len() > 0 {
            let some: Vec<Vec<Cell>> = rows.by_ref().take(BATCH).collect();
            let batch = batch(&some, &open.schema).map_err(|error| of(self.format, &error))?;
            open.target.write(&batch, out)?;
        }
        Ok(())
    }

    fn failed(&self, misfit: ColumnTypeError) -> ExportError {
        let (row, name) = (self.written + misfit.row + 1, misfit.column);
        let message = format!(
            "row {row} of column {name:?} is {}, but the rows before it set the column to {}; \
             cast the column to text or to a wider type in the query, or write csv or ndjson",
            misfit.found, misfit.fixed
        );
        ExportError::new(self.format, message)
    }
}

impl RowFormat for Arrow {
    fn rows(&mut self, rows: Vec<Vec<Cell>>, out: &mut Vec<u8>) -> Result<(), ExportError> {
        // A full buffer is written only at the next call. If no more rows arrive, the column types
        // only have to fit the values so far.
        let most = match self.open {
            Some(_) => BATCH,
            None => SAMPLE,
        };
        if self.held.is_full(most) && !rows.is_empty() {
            self.flush(true, out)?;
        }
        self.held.add(rows);
        Ok(())
    }

    fn end(
        mut self: Box<Self>,
        truncated: Option<TruncationReason>,
        out: &mut Vec<u8>,
    ) -> Result<(), ExportError> {
        self.flush(false, out)?;
        match self.open {
            Some(open) => open.target.finish(truncated, out),
            None => Ok(()),
        }
    }
}

/// Infers the column types and starts the file with them.
fn begin(
    format: ExportFormat,
    columns: &[ColumnInfo],
    rows: &[Vec<Cell>],
    has_more: bool,
) -> Result<OpenExport, ExportError> {
    let shape = |(place, column): (usize, &ColumnInfo)| {
        let shape = ColumnKind::of(column, cells(rows, place));
        if has_more {
            let has_values = cells(rows, place).any(|cell| *cell != Cell::Null);
            shape.with_room(column, has_values)
        } else {
            shape
        }
    };
    let shapes: Vec<ColumnKind> = columns.iter().enumerate().map(shape).collect();
    let named = keys(columns).into_iter().zip(columns).zip(&shapes);
    let fields: Vec<Field> = named
        .map(|((key, column), shape)| field(key, column, shape))
        .collect();
    let schema: SchemaRef = Arc::new(Schema::new(fields));
    let target = ArrowSink::begin(format, &schema)?;
    Ok(OpenExport {
        shapes,
        schema,
        target,
    })
}

fn field(key: String, column: &ColumnInfo, shape: &ColumnKind) -> Field {
    let about = [(DATABASE_TYPE.to_owned(), column.data_type.clone())];
    Field::new(key, shape.data_type(), true).with_metadata(HashMap::from(about))
}

/// A value that does not fit the type of its column.
struct ColumnTypeError {
    row: usize,
    column: String,
    found: String,
    fixed: String,
}

fn misfit(
    rows: &[Vec<Cell>],
    columns: &[ColumnInfo],
    open: &OpenExport,
) -> Option<ColumnTypeError> {
    let columns = columns.iter().zip(&open.shapes).enumerate();
    for (place, (column, shape)) in columns {
        let mut cells = cells(rows, place);
        if let Some(row) = cells.position(|cell| !shape.holds(cell, column.value_type)) {
            let cell = rows.get(row).and_then(|row| row.get(place));
            let found = cell.and_then(|cell| ColumnKind::of_cell(cell, column.value_type));
            return Some(ColumnTypeError {
                row,
                column: column.name.clone(),
                found: found.map_or_else(String::new, |found| found.data_type().to_string()),
                fixed: shape.data_type().to_string(),
            });
        }
    }
    None
}

/// Returns the values of one column, with NULL for rows that are too short.
fn cells(rows: &[Vec<Cell>], place: usize) -> impl Iterator<Item = &Cell> {
    rows.iter()
        .map(move |row| row.get(place).unwrap_or(&Cell::Null))
}

fn batch(rows: &[Vec<Cell>], schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let column = |(place, field): (usize, &Arc<Field>)| {
        let cells: Vec<&Cell> = cells(rows, place).collect();
        array::array(field.data_type(), &cells)
    };
    let columns = schema.fields().iter().enumerate().map(column);
    let columns: Vec<ArrayRef> = columns.collect::<Result<_, _>>()?;
    let count = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(schema.clone(), columns, &count)
}
