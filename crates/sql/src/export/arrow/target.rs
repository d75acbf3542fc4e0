//! Wraps the libraries that write Arrow and Parquet, and takes their output after each batch.

use std::mem::take;

use arrow_array::RecordBatch;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{ArrowError, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use crate::export::{ExportError, ExportFormat};
use crate::rows::TruncationReason;

/// Compressed bytes after which a Parquet row group ends. The row group is buffered in memory until
/// then.
const ROW_GROUP: usize = 4 << 20;

/// Bytes of a page and of a column's dictionary. Each column buffers one of both, and their memory
/// is reserved until the row group ends. These buffers dominate the memory use of an export.
const PAGE: usize = 128 << 10;
const DICTIONARY: usize = 256 << 10;

/// Metadata key that records why rows are missing.
const TRUNCATED: &str = "quillet.truncated";

pub(super) enum ArrowSink {
    File(Box<FileWriter<Vec<u8>>>),
    Stream(Box<StreamWriter<Vec<u8>>>),
    Parquet(Box<ArrowWriter<Vec<u8>>>),
}

impl ArrowSink {
    /// Starts a file in one of the three formats.
    pub(super) fn begin(format: ExportFormat, schema: &SchemaRef) -> Result<Self, ExportError> {
        match format {
            ExportFormat::Parquet => parquet(schema).map_err(|error| of(format, &error)),
            _ => arrow(format, schema).map_err(|error| of(format, &error)),
        }
    }

    pub(super) fn write(
        &mut self,
        batch: &RecordBatch,
        out: &mut Vec<u8>,
    ) -> Result<(), ExportError> {
        match self {
            ArrowSink::File(writer) => {
                let written = writer.write(batch);
                written.map_err(|error| of(ExportFormat::Arrow, &error))?;
                give_out(take(writer.get_mut()), out);
            }
            ArrowSink::Stream(writer) => {
                let written = writer.write(batch);
                written.map_err(|error| of(ExportFormat::ArrowStream, &error))?;
                give_out(take(writer.get_mut()), out);
            }
            ArrowSink::Parquet(writer) => {
                let written = add(writer, batch);
                written.map_err(|error| of(ExportFormat::Parquet, &error))?;
                give_out(take(writer.inner_mut()), out);
            }
        }
        Ok(())
    }

    /// Finishes the file. Only formats with a footer can record there that rows are missing.
    pub(super) fn finish(
        self,
        truncated: Option<TruncationReason>,
        out: &mut Vec<u8>,
    ) -> Result<(), ExportError> {
        let reason = truncated.map(TruncationReason::name);
        let (format, rest) = match self {
            ArrowSink::File(mut writer) => {
                if let Some(reason) = reason {
                    writer.write_metadata(TRUNCATED, reason);
                }
                let rest = writer.into_inner();
                (ExportFormat::Arrow, rest.map_err(|error| error.to_string()))
            }
            ArrowSink::Stream(writer) => {
                let rest = writer.into_inner();
                (
                    ExportFormat::ArrowStream,
                    rest.map_err(|error| error.to_string()),
                )
            }
            ArrowSink::Parquet(mut writer) => {
                if let Some(reason) = reason {
                    let about = KeyValue::new(TRUNCATED.to_owned(), reason.to_owned());
                    writer.append_key_value_metadata(about);
                }
                let rest = writer.into_inner();
                (
                    ExportFormat::Parquet,
                    rest.map_err(|error| error.to_string()),
                )
            }
        };
        match rest {
            Ok(rest) => give_out(rest, out),
            Err(message) => return Err(ExportError::new(format, message)),
        }
        Ok(())
    }
}

/// Moves the bytes instead of copying them if `out` is empty, so that a row group is not in memory
/// twice.
fn give_out(mut ready: Vec<u8>, out: &mut Vec<u8>) {
    if out.is_empty() {
        *out = ready
    } else {
        out.append(&mut ready)
    }
}

fn arrow(format: ExportFormat, schema: &SchemaRef) -> Result<ArrowSink, ArrowError> {
    Ok(match format {
        ExportFormat::Arrow => ArrowSink::File(Box::new(FileWriter::try_new(Vec::new(), schema)?)),
        _ => ArrowSink::Stream(Box::new(StreamWriter::try_new(Vec::new(), schema)?)),
    })
}

/// Uses Snappy compression, which every Parquet reader supports.
fn parquet(schema: &SchemaRef) -> Result<ArrowSink, ParquetError> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_data_page_size_limit(PAGE)
        .set_dictionary_page_size_limit(DICTIONARY);
    let writer = ArrowWriter::try_new(Vec::new(), schema.clone(), Some(properties.build()))?;
    Ok(ArrowSink::Parquet(Box::new(writer)))
}

fn add(writer: &mut ArrowWriter<Vec<u8>>, batch: &RecordBatch) -> Result<(), ParquetError> {
    writer.write(batch)?;
    if writer.in_progress_size() >= ROW_GROUP {
        writer.flush()
    } else {
        Ok(())
    }
}

pub(super) fn of(format: ExportFormat, error: &dyn std::error::Error) -> ExportError {
    ExportError::new(format, error.to_string())
}
