//! Tests streaming exports: the file does not depend on the batches, and buffers stay small.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{DataType, Schema};
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use quillet_sql::export::{CsvOptions, ExportError, ExportFormat, RowWriter, write};
use quillet_sql::rows::{TruncationReason, ValueType};
use quillet_sql::{Cell, ColumnInfo, RowSet};

use crate::export::{column, text};

const ARROWS: [ExportFormat; 3] = [
    ExportFormat::Arrow,
    ExportFormat::ArrowStream,
    ExportFormat::Parquet,
];

fn columns() -> Vec<ColumnInfo> {
    vec![
        column("id", ValueType::Integer),
        column("name", ValueType::Text),
        column("price", ValueType::Decimal),
        column("day", ValueType::Date),
        column("weight", ValueType::Float),
    ]
}

fn row(n: usize) -> Vec<Cell> {
    vec![
        Cell::Int(n as i64),
        text(&format!("客户 {n}, \"no. {}\"", n % 977)),
        text(&format!("{}.{:02}", n % 10_000, n % 100)),
        text(&format!("2026-11-{:02}", n % 28 + 1)),
        match n % 10 {
            0 => Cell::Null,
            _ => Cell::Float(n as f64 / 7.0),
        },
    ]
}

/// Returns the parts of a file with this number of rows, written in batches of this size. The last
/// part is the end of the file.
fn pieces(format: ExportFormat, count: usize, batch: usize) -> Vec<Vec<u8>> {
    let mut writer = RowWriter::new(columns(), format, &CsvOptions::default()).unwrap();
    let mut pieces = Vec::new();
    for start in (0..count).step_by(batch) {
        let rows = (start..count.min(start + batch)).map(row).collect();
        pieces.push(writer.rows(rows).unwrap());
    }
    pieces.push(writer.end(None).unwrap());
    pieces
}

#[test]
fn a_file_is_the_same_whatever_its_batches_are() {
    let count = 5_000;
    let whole = RowSet {
        columns: columns(),
        rows: (0..count).map(row).collect(),
        truncated: None,
    };
    for format in ExportFormat::ALL {
        let whole = write(&whole, format, &CsvOptions::default()).unwrap();
        for batch in [7, 1_000, count] {
            let streamed = pieces(format, count, batch).concat();
            assert!(streamed == whole, "{format:?} in batches of {batch}");
        }
    }
}

/// Returns an incompressible row of one kilobyte.
fn wide(n: u64) -> Vec<Cell> {
    let digits = (0..62).map(|i| {
        let mixed = (n * 62 + i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!("{:016x}", mixed ^ (mixed >> 29))
    });
    vec![Cell::Text(digits.collect())]
}

/// The buffered bytes do not grow with the number of rows.
#[test]
fn bytes_come_out_as_rows_go_in() {
    for format in ExportFormat::ALL {
        let count = if ARROWS.contains(&format) { 30 } else { 4 };
        let columns = vec![column("note", ValueType::Text)];
        let mut writer = RowWriter::new(columns, format, &CsvOptions::default()).unwrap();
        let mut sizes = Vec::new();
        for thousand in 0..count {
            let rows = (thousand * 1_000..(thousand + 1) * 1_000).map(wide);
            sizes.push(writer.rows(rows.collect()).unwrap().len());
        }
        sizes.push(writer.end(None).unwrap().len());
        let all: usize = sizes.iter().sum();
        let largest = sizes.iter().max().unwrap();
        assert!(
            *largest < all / 2,
            "{format:?} gives {largest} of {all} bytes at once"
        );
    }
}

/// Exports more rows than are used for type inference, with a different last row.
fn late(
    name: &str,
    value_type: ValueType,
    data_type: &str,
    early: &Cell,
    late: Cell,
    format: ExportFormat,
) -> Result<Vec<u8>, ExportError> {
    let info = ColumnInfo {
        data_type: data_type.to_owned(),
        ..column(name, value_type)
    };
    let mut writer = RowWriter::new(vec![info], format, &CsvOptions::default())?;
    let mut all = Vec::new();
    for _ in 0..70 {
        all.append(&mut writer.rows(vec![vec![early.clone()]; 1_000])?);
    }
    all.append(&mut writer.rows(vec![vec![late]])?);
    all.append(&mut writer.end(None)?);
    Ok(all)
}

#[test]
fn a_late_value_that_the_type_cannot_hold_is_named() {
    use ValueType::*;
    let cases = [
        (Integer, Cell::Int(7), text("n/a"), "is Utf8", "Int64"),
        (
            Integer,
            Cell::Int(7),
            Cell::Float(7.5),
            "is Float64",
            "Int64",
        ),
        (
            Integer,
            Cell::Int(7),
            Cell::UInt(u64::MAX),
            "is UInt64",
            "Int64",
        ),
        (
            Date,
            text("2026-11-22"),
            text("infinity"),
            "is Utf8",
            "Date32",
        ),
        (
            Decimal,
            text("1.50"),
            text("1.505"),
            "is Decimal128(4, 3)",
            "Decimal128(38, 2)",
        ),
        (
            Boolean,
            Cell::Bool(true),
            Cell::Int(2),
            "is Int64",
            "Boolean",
        ),
    ];
    for format in ARROWS {
        for (kind, early, value, found, fixed) in &cases {
            let error = late("price", *kind, "x", early, value.clone(), format).unwrap_err();
            assert_eq!(error.code(), "sql.export");
            let said = error.to_string();
            for part in [found, fixed, &"row 70001 of column \"price\"", &"cast"] {
                assert!(said.contains(*part), "{part} in {said}");
            }
            assert!(said.contains(format.name()), "{said}");
        }
    }
}

/// The inferred type is wide enough for later values of the declared type.
#[test]
fn types_have_room_for_rows_that_are_still_to_come() {
    use ValueType::*;
    let list = |cells: &[Cell]| Cell::Array(cells.to_vec());
    let cases = [
        (
            Decimal,
            "numeric",
            text("1.50"),
            text("99999999999999999.25"),
            "Decimal128(38, 2)",
        ),
        (
            Decimal,
            "numeric(9,2)",
            text("1.5"),
            text("1234567.25"),
            "Decimal128(9, 2)",
        ),
        (Decimal, "numeric", Cell::Null, text("0.125"), "Utf8"),
        (
            Integer,
            "bigint unsigned",
            Cell::Int(1),
            Cell::UInt(u64::MAX),
            "UInt64",
        ),
        (Integer, "int8", Cell::Null, Cell::Int(i64::MIN), "Int64"),
        (Float, "REAL", Cell::Float(0.5), Cell::Int(3), "Float64"),
        (Text, "text", Cell::Null, text("x"), "Utf8"),
        (Other, "", Cell::Null, Cell::Int(5), "Utf8"),
        (Array, "text[]", list(&[]), list(&[text("x")]), "List(Utf8)"),
    ];
    for format in ARROWS {
        for (kind, name, early, value, expected) in &cases {
            let bytes = late("v", *kind, name, early, value.clone(), format);
            let bytes = bytes.unwrap_or_else(|error| panic!("{name} {expected}: {error}"));
            let batches = read(&bytes, format);
            let found = batches[0].schema().field(0).data_type().to_string();
            assert_eq!(&found, expected, "{format:?} {name}");
            let last = batches.last().unwrap().column(0);
            assert!(last.is_valid(last.len() - 1), "{format:?} {name}");
        }
    }
}

fn read(bytes: &[u8], format: ExportFormat) -> Vec<RecordBatch> {
    let batches: Result<Vec<RecordBatch>, _> = match format {
        ExportFormat::Arrow => FileReader::try_new(std::io::Cursor::new(bytes), None)
            .unwrap()
            .collect(),
        ExportFormat::ArrowStream => StreamReader::try_new(bytes, None).unwrap().collect(),
        _ => ParquetRecordBatchReaderBuilder::try_new(Bytes::copy_from_slice(bytes))
            .unwrap()
            .build()
            .unwrap()
            .collect(),
    };
    batches.unwrap()
}

/// A late value of the same type is written unchanged in every format.
#[test]
fn many_batches_are_read_back() {
    let count = 150_000;
    for format in ARROWS {
        let bytes = pieces(format, count, 1_000).concat();
        let batches = read(&bytes, format);
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        assert_eq!(rows, count, "{format:?}");
        let schema: Arc<Schema> = batches[0].schema();
        assert_eq!(schema.field(2).data_type(), &DataType::Decimal128(38, 2));
        let nulls: usize = batches.iter().map(|it| it.column(4).null_count()).sum();
        assert_eq!(nulls, count / 10, "{format:?}");
    }
}

/// Formats with a footer, or whose file is one object, record that rows are missing.
#[test]
fn files_that_can_say_that_rows_are_missing() {
    let written = |format, truncated| {
        let mut writer = RowWriter::new(columns(), format, &CsvOptions::default()).unwrap();
        let mut all = writer.rows(vec![row(1)]).unwrap();
        all.append(&mut writer.end(truncated).unwrap());
        all
    };
    for (truncated, told) in [(None, None), (Some(TruncationReason::Rows), Some("rows"))] {
        let bytes = written(ExportFormat::Arrow, truncated);
        let reader = FileReader::try_new(std::io::Cursor::new(&bytes), None).unwrap();
        let said = reader.custom_metadata().get("quillet.truncated");
        assert_eq!(said.map(String::as_str), told);
        let bytes = written(ExportFormat::Parquet, truncated);
        let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(bytes)).unwrap();
        let about = reader.metadata().file_metadata().key_value_metadata();
        let said = about.and_then(|all| all.iter().find(|it| it.key == "quillet.truncated"));
        assert_eq!(said.and_then(|it| it.value.as_deref()), told);
        let bytes = written(ExportFormat::Json, truncated);
        let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(json.get("truncatedBy").and_then(|it| it.as_str()), told);
        assert_eq!(json["truncated"], told.is_some());
    }
}
