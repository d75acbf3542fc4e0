//! Rows as Arrow, and with it as Parquet.
//!
//! A column has the type of its values: what a driver says of it is only asked where there are
//! none, for a column of SQLite may hold anything, and nobody says how many digits a decimal has.
//! The type stands before the rows in all of these files, so it is found from the first
//! [`SAMPLE`] rows; a later value that the type cannot hold is an error, never another value.

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

/// Rows that types are found from.
const SAMPLE: usize = 32_768;

/// Rows of one batch.
const BATCH: usize = 16_384;

/// The name under which a column keeps the database's name of its type.
const DATABASE_TYPE: &str = "database_type";

/// A file that grows, without rows yet.
pub(super) fn form(
    columns: Vec<ColumnInfo>,
    format: ExportFormat,
) -> Result<Box<dyn RowFormat>, ExportError> {
    Ok(Box::new(Arrow::begin(columns, format)))
}

/// A file that grows.
struct Arrow {
    format: ExportFormat,
    columns: Vec<ColumnInfo>,
    /// Rows that are no batch yet.
    held: RowBuffer,
    /// Rows that were written.
    written: usize,
    open: Option<OpenExport>,
}

/// What is known as soon as the types are.
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

    /// Writes the rows that are held. The first of them say the types; if more rows are to come,
    /// with room for them.
    fn flush(&mut self, has_more: bool, out: &mut Vec<u8>) -> Result<(), ExportError> {
        let rows = self.held.take();
        let open = match &mut self.open {
            Some(open) => {
                // Checked before the batch is built: the error names the row and the column, which
                // Arrow's own would not.
                let misfit = misfit(&rows, &self.columns, open);
                if let Some(misfit) = misfit {
                    return Err(self.failed(misfit));
                }
                open
            }
            none => none.insert(begin(self.format, &self.columns, &rows, has_more)?),
        };
        self.written += rows.len();
        // Rows that are in a batch are dropped with it: nobody needs them twice.
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
        // Not before more rows are there: the types of what is whole need no room.
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

/// Finds the types of columns and begins the file with them.
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

/// A value that the type of its column cannot hold.
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

/// The values of one column; a row that is too short has NULL there.
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
