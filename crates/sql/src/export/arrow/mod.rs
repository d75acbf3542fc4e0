//! Rows as Arrow, and with it as Parquet.
//!
//! A column has the type of its values: what a driver says of it is only asked where there are
//! none, for a column of SQLite may hold anything, and nobody says how many digits a decimal has.

mod array;
mod shape;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::keys::keys;
use super::{ExportError, Format};
use crate::{Cell, ColumnInfo, Rows};
use shape::Shape;

/// Rows of one batch.
const BATCH: usize = 65_536;

/// The name under which a column keeps the database's name of its type.
const DATABASE_TYPE: &str = "database_type";

pub(super) fn file(rows: &Rows) -> Result<Vec<u8>, ExportError> {
    let write = || -> Result<Vec<u8>, ArrowError> {
        let schema = schema(rows);
        let mut writer = FileWriter::try_new(Vec::new(), &schema)?;
        for batch in batches(rows, &schema) {
            writer.write(&batch?)?;
        }
        writer.into_inner()
    };
    write().map_err(|error| failed(Format::Arrow, &error))
}

pub(super) fn stream(rows: &Rows) -> Result<Vec<u8>, ExportError> {
    let write = || -> Result<Vec<u8>, ArrowError> {
        let schema = schema(rows);
        let mut writer = StreamWriter::try_new(Vec::new(), &schema)?;
        for batch in batches(rows, &schema) {
            writer.write(&batch?)?;
        }
        writer.into_inner()
    };
    write().map_err(|error| failed(Format::ArrowStream, &error))
}

/// Compressed with Snappy, which every reader of Parquet knows.
pub(super) fn parquet(rows: &Rows) -> Result<Vec<u8>, ExportError> {
    let write = || -> Result<Vec<u8>, ParquetError> {
        let schema = schema(rows);
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
        let mut writer =
            ArrowWriter::try_new(Vec::new(), schema.clone(), Some(properties.build()))?;
        for batch in batches(rows, &schema) {
            writer.write(&batch?)?;
        }
        writer.into_inner()
    };
    write().map_err(|error| failed(Format::Parquet, &error))
}

fn failed(format: Format, error: &dyn std::error::Error) -> ExportError {
    ExportError {
        format,
        message: error.to_string(),
    }
}

fn schema(rows: &Rows) -> SchemaRef {
    let columns = keys(&rows.columns)
        .into_iter()
        .zip(&rows.columns)
        .enumerate();
    let fields: Vec<Field> = columns
        .map(|(place, (key, column))| field(key, column, cells(&rows.rows, place)))
        .collect();
    Arc::new(Schema::new(fields))
}

fn field<'a>(key: String, column: &ColumnInfo, cells: impl Iterator<Item = &'a Cell>) -> Field {
    let about = [(DATABASE_TYPE.to_owned(), column.data_type.clone())];
    let kind = Shape::of(column, cells).data_type();
    Field::new(key, kind, true).with_metadata(HashMap::from(about))
}

/// The values of one column; a row that is too short has NULL there.
fn cells(rows: &[Vec<Cell>], place: usize) -> impl Iterator<Item = &Cell> {
    rows.iter()
        .map(move |row| row.get(place).unwrap_or(&Cell::Null))
}

fn batches(
    rows: &Rows,
    schema: &SchemaRef,
) -> impl Iterator<Item = Result<RecordBatch, ArrowError>> {
    rows.rows.chunks(BATCH).map(move |rows| batch(rows, schema))
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
