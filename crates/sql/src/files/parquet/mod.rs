//! Loads Parquet files with their declared types. Lists, structs and maps become JSON.

mod cell;

use std::fs::File;
use std::path::Path;

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use ::parquet::basic::Compression;
use arrow_array::RecordBatch;
use arrow_schema::DataType;
use quillet_core::ErrorCode;
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::job::{LoadJob, read_error};
use super::kind::{ColumnStats, Type, ValueKind};
use super::table::TableLoader;
use super::{FileError, names};
use crate::Cell;
use cell::cell;

/// Target size of a batch in bytes, estimated from the file's metadata.
const BATCH_BYTES: u64 = 4 << 20;
/// Maximum rows of a batch.
const BATCH_ROWS: u64 = 8_192;

/// Loads a file into a table.
///
/// # Errors
/// Fails if the file is not Parquet, uses an unsupported compression, or exceeds the limits.
pub(super) fn load(
    path: &Path,
    table: &str,
    job: &mut LoadJob,
    connection: &Connection,
) -> Result<(), FileError> {
    let builder = open(path)?;
    let rows = builder.metadata().file_metadata().num_rows();
    if u64::try_from(rows).unwrap_or_default() > job.options.rows {
        return Err(job.too_many_rows(path));
    }
    let fields = builder.schema().fields().clone();
    drop(builder);
    let given = fields.iter().map(|field| field.name().as_str());
    let names = names::columns(path, given)?;
    let types: Vec<Option<Type>> = fields.iter().map(|it| of(it.data_type())).collect();
    let types = settled(path, &types, job)?;
    let columns: Vec<(String, Type)> = names.into_iter().zip(types.iter().copied()).collect();
    if columns.is_empty() {
        return Err(FileError::new(ErrorCode::FileForm, path, "has no columns"));
    }
    let mut table = TableLoader::make(connection, path, table, &columns)?;
    let mut lost = 0_u64;
    each(path, None, job, &mut |job, batch| {
        for row in 0..batch.num_rows() {
            for (place, array) in batch.columns().iter().enumerate() {
                let cell = cell(array, row).map_err(|what| damaged(path, &what))?;
                lost += u64::from(matches!(cell, Cell::Float(number) if number.is_nan()));
                let cell = match (cell, types[place]) {
                    (Cell::UInt(number), Type::Text) => Cell::Text(number.to_string()),
                    (cell, _) => cell,
                };
                let value = value(&cell, types[place]);
                let value = value.ok_or_else(|| damaged(path, "changed while it was read"))?;
                table.set(place, value)?;
            }
            table.write(job)?;
        }
        Ok(())
    })?;
    if lost > 0 {
        job.note(
            path,
            &format!("{lost} NaN became NULL, because SQLite has no NaN"),
        );
    }
    table.end()
}

/// Returns the type of a column, or `None` if its values decide: SQLite has neither decimals nor
/// unsigned 64-bit integers.
fn of(kind: &DataType) -> Option<Type> {
    use DataType as D;
    Some(match kind {
        D::Boolean => Type::Boolean,
        D::Int8 | D::Int16 | D::Int32 | D::Int64 | D::UInt8 | D::UInt16 | D::UInt32 => {
            Type::Integer
        }
        D::UInt64 | D::Decimal32(..) | D::Decimal64(..) | D::Decimal128(..) | D::Decimal256(..) => {
            return None;
        }
        D::Float16 | D::Float32 | D::Float64 => Type::Real,
        D::Date32 | D::Date64 => Type::Date,
        D::Time32(_) | D::Time64(_) => Type::Time,
        D::Timestamp(_, None) => Type::Timestamp,
        D::Timestamp(_, Some(_)) => Type::Instant,
        D::Binary | D::LargeBinary | D::BinaryView | D::FixedSizeBinary(_) => Type::Blob,
        D::List(_)
        | D::LargeList(_)
        | D::ListView(_)
        | D::LargeListView(_)
        | D::FixedSizeList(..)
        | D::Struct(_)
        | D::Map(..) => Type::Json,
        D::Dictionary(_, values) => return of(values),
        _ => Type::Text,
    })
}

/// Returns the types of all columns, inferred from the values where necessary.
fn settled(path: &Path, types: &[Option<Type>], job: &mut LoadJob) -> Result<Vec<Type>, FileError> {
    let open = types.iter().enumerate().filter(|(_, kind)| kind.is_none());
    let open: Vec<usize> = open.map(|(place, _)| place).collect();
    let mut seen = vec![ColumnStats::default(); types.len()];
    if !open.is_empty() {
        each(path, Some(&open), job, &mut |_, batch| {
            for (array, place) in batch.columns().iter().zip(&open) {
                for row in 0..batch.num_rows() {
                    let cell = cell(array, row).map_err(|what| damaged(path, &what))?;
                    let kind = match &cell {
                        Cell::Null => ValueKind::Empty,
                        Cell::UInt(number) => {
                            i64::try_from(*number).map_or(ValueKind::Text, |_| ValueKind::Large)
                        }
                        Cell::Text(text) => ValueKind::of_number(text).unwrap_or(ValueKind::Text),
                        _ => ValueKind::Text,
                    };
                    seen[*place].observe(kind, "", 0);
                }
            }
            Ok(())
        })?;
    }
    let settled = types.iter().zip(&seen);
    Ok(settled
        .map(|(kind, seen)| kind.unwrap_or_else(|| seen.infer_type(false)))
        .collect())
}

/// Converts a value to its column's type; `None` if it does not fit.
fn value(cell: &Cell, kind: Type) -> Option<ValueRef<'_>> {
    Some(match cell {
        Cell::Null => ValueRef::Null,
        Cell::Bool(truth) => ValueRef::Integer((*truth).into()),
        Cell::Int(number) => ValueRef::Integer(*number),
        Cell::UInt(number) => ValueRef::Integer(i64::try_from(*number).ok()?),
        Cell::Float(number) if number.is_nan() => ValueRef::Null,
        Cell::Float(number) => ValueRef::Real(*number),
        Cell::Text(text) => match kind {
            Type::Integer => ValueRef::Integer(text.parse().ok()?),
            Type::Real => ValueRef::Real(text.parse().ok()?),
            _ => ValueRef::Text(text.as_bytes()),
        },
        Cell::Json(text) => ValueRef::Text(text.as_bytes()),
        Cell::Bytes(bytes) => ValueRef::Blob(bytes),
        Cell::Array(_) => return None,
    })
}

/// Opens a file and checks that every column can be read.
fn open(path: &Path) -> Result<ParquetRecordBatchReaderBuilder<File>, FileError> {
    let file = File::open(path).map_err(|error| read_error(path, &error))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| {
        damaged(path, &error.to_string())
            .help("check that the file is complete and in Parquet format")
    })?;
    let groups = builder.metadata().row_groups().iter();
    let columns = groups.flat_map(|group| group.columns());
    let mut compressions = columns.map(|column| column.compression());
    let is_known = |compression: &Compression| {
        matches!(
            compression,
            Compression::UNCOMPRESSED | Compression::SNAPPY | Compression::GZIP(_)
        )
    };
    let Some(unknown) = compressions.find(|compression| !is_known(compression)) else {
        return Ok(builder);
    };
    let name = unknown.to_string();
    let name = name.split('(').next().unwrap_or_default().to_lowercase();
    let message = format!("unsupported compression {name}; supported are snappy, gzip and none");
    Err(FileError::new(ErrorCode::FileForm, path, message).help(
        "write the file again with snappy compression: DuckDB's COPY … (COMPRESSION snappy), write_parquet(…, compression=\"snappy\")",
    ))
}

fn damaged(path: &Path, what: &str) -> FileError {
    FileError::new(
        ErrorCode::FileForm,
        path,
        format!("cannot be read as Parquet: {what}"),
    )
}

type BatchCallback<'g> = dyn FnMut(&mut LoadJob, &RecordBatch) -> Result<(), FileError> + 'g;

/// Passes all batches to a callback, with only the given columns or with all.
fn each(
    path: &Path,
    columns: Option<&[usize]>,
    job: &mut LoadJob,
    give: &mut BatchCallback<'_>,
) -> Result<(), FileError> {
    let builder = open(path)?;
    let metadata = builder.metadata();
    let rows = u64::try_from(metadata.file_metadata().num_rows()).unwrap_or_default();
    let groups = metadata.row_groups().iter();
    let bytes: i64 = groups.map(|group| group.total_byte_size()).sum();
    let row_bytes = u64::try_from(bytes).unwrap_or_default() / rows.max(1) + 1;
    let batch = (BATCH_BYTES / row_bytes).clamp(1, BATCH_ROWS);
    let mask = match columns {
        Some(columns) => ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied()),
        None => ProjectionMask::all(),
    };
    let reader = builder
        .with_projection(mask)
        .with_batch_size(usize::try_from(batch).unwrap_or(1))
        .build()
        .map_err(|error| damaged(path, &error.to_string()))?;
    for batch in reader {
        let batch = batch.map_err(|error| damaged(path, &error.to_string()))?;
        job.check_cancelled(path)?;
        give(job, &batch)?;
    }
    Ok(())
}
