//! Tests Parquet files of other programs, and reading back exported ones.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Date64Array, Decimal128Array,
    DictionaryArray, FixedSizeBinaryArray, Float32Array, Float64Array, Int8Array, Int64Array,
    LargeStringArray, RecordBatch, StringArray, StructArray, Time32MillisecondArray,
    Time64NanosecondArray, TimestampMicrosecondArray, TimestampNanosecondArray,
    TimestampSecondArray, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use quillet_sql::export::{CsvOptions, ExportFormat, write};
use quillet_sql::files::FileOptions;
use quillet_sql::rows::ValueType;
use quillet_sql::{Cell, ColumnInfo, RowSet};

use super::load;

fn written(arrays: Vec<ArrayRef>, properties: Option<WriterProperties>) -> Vec<u8> {
    let named = arrays.into_iter().enumerate();
    let named = named.map(|(i, array)| (format!("c{i}"), array, true));
    let batch = RecordBatch::try_from_iter_with_nullable(named).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), properties).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn decimal(values: Vec<Option<i128>>, digits: u8, scale: i8) -> ArrayRef {
    let array = Decimal128Array::from(values);
    Arc::new(array.with_precision_and_scale(digits, scale).unwrap())
}

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

/// Returns arrays of one value and a NULL, with the expected column and value.
fn cases() -> Vec<(ArrayRef, &'static str, Cell)> {
    let mut list = ListBuilder::new(Int32Builder::new());
    list.append_value([Some(1), None, Some(3)]);
    list.append_null();
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    map.keys().append_value("a");
    map.values().append_value(1);
    map.append(true).unwrap();
    map.append(false).unwrap();
    let inner: Vec<(Arc<Field>, ArrayRef)> = vec![
        (
            Arc::new(Field::new("x", DataType::Int64, true)),
            Arc::new(Int64Array::from(vec![1, 2])),
        ),
        (
            Arc::new(Field::new("y", DataType::Utf8, true)),
            Arc::new(StringArray::from(vec![Some("é"), None])),
        ),
    ];
    let structure = StructArray::from(inner);
    let structure = StructArray::new(
        structure.fields().clone(),
        structure.columns().to_vec(),
        Some(vec![true, false].into()),
    );
    let dictionary: DictionaryArray<Int32Type> = vec![Some("one"), None].into_iter().collect();
    vec![
        (
            Arc::new(BooleanArray::from(vec![Some(true), None])),
            "BOOLEAN",
            Cell::Int(1),
        ),
        (
            Arc::new(Int8Array::from(vec![Some(-8), None])),
            "INTEGER",
            Cell::Int(-8),
        ),
        (
            Arc::new(Int64Array::from(vec![Some(i64::MIN), None])),
            "INTEGER",
            Cell::Int(i64::MIN),
        ),
        (
            Arc::new(UInt32Array::from(vec![Some(u32::MAX), None])),
            "INTEGER",
            Cell::Int(u32::MAX.into()),
        ),
        (
            Arc::new(UInt64Array::from(vec![Some(7), None])),
            "INTEGER",
            Cell::Int(7),
        ),
        (
            Arc::new(UInt64Array::from(vec![Some(u64::MAX), None])),
            "TEXT",
            text("18446744073709551615"),
        ),
        (
            Arc::new(Float32Array::from(vec![Some(1.5), None])),
            "REAL",
            Cell::Float(1.5),
        ),
        (
            Arc::new(Float64Array::from(vec![Some(f64::INFINITY), None])),
            "REAL",
            Cell::Float(f64::INFINITY),
        ),
        (
            decimal(vec![Some(1_050), None], 10, 2),
            "REAL",
            Cell::Float(10.5),
        ),
        (
            decimal(vec![Some(1_050), None], 10, 0),
            "INTEGER",
            Cell::Int(1_050),
        ),
        (
            decimal(vec![Some(12_345_678_901_234_567_891_i128), None], 38, 2),
            "TEXT",
            text("123456789012345678.91"),
        ),
        (
            Arc::new(StringArray::from(vec![Some("007"), None])),
            "TEXT",
            text("007"),
        ),
        (
            Arc::new(StringArray::from(vec![Some(""), None])),
            "TEXT",
            text(""),
        ),
        (
            Arc::new(LargeStringArray::from(vec![Some("北京"), None])),
            "TEXT",
            text("北京"),
        ),
        (
            Arc::new(BinaryArray::from(vec![Some(&b"\0\xff"[..]), None])),
            "BLOB",
            Cell::Bytes(vec![0, 255]),
        ),
        (
            Arc::new(
                FixedSizeBinaryArray::try_from_sparse_iter_with_size(
                    [Some([1, 2]), None].into_iter(),
                    2,
                )
                .unwrap(),
            ),
            "BLOB",
            Cell::Bytes(vec![1, 2]),
        ),
        (
            Arc::new(Date32Array::from(vec![Some(20_779), None])),
            "DATE TEXT",
            text("2026-11-22"),
        ),
        (
            Arc::new(Date64Array::from(vec![Some(-86_400_000), None])),
            "DATE TEXT",
            text("1969-12-31"),
        ),
        (
            Arc::new(Time32MillisecondArray::from(vec![Some(1_500), None])),
            "TIME TEXT",
            text("00:00:01.5"),
        ),
        (
            Arc::new(Time64NanosecondArray::from(vec![Some(1), None])),
            "TIME TEXT",
            text("00:00:00.000000001"),
        ),
        (
            Arc::new(TimestampSecondArray::from(vec![Some(-1), None])),
            "TIMESTAMP TEXT",
            text("1969-12-31T23:59:59"),
        ),
        (
            Arc::new(TimestampNanosecondArray::from(vec![Some(1), None])),
            "TIMESTAMP TEXT",
            text("1970-01-01T00:00:00.000000001"),
        ),
        (
            Arc::new(
                TimestampMicrosecondArray::from(vec![Some(0), None]).with_timezone("Europe/Berlin"),
            ),
            "TIMESTAMPTZ TEXT",
            text("1970-01-01T00:00:00Z"),
        ),
        (Arc::new(list.finish()), "JSON TEXT", text("[1,null,3]")),
        (Arc::new(map.finish()), "JSON TEXT", text("{\"a\":1}")),
        (
            Arc::new(structure),
            "JSON TEXT",
            text("{\"x\":1,\"y\":\"é\"}"),
        ),
        (Arc::new(dictionary), "TEXT", text("one")),
    ]
}

#[test]
fn every_type_is_read() {
    let cases = cases();
    let arrays = cases.iter().map(|(array, ..)| array.clone()).collect();
    let read = load("a.parquet", &written(arrays, None), &FileOptions::default()).unwrap();
    for (i, (array, kind, value)) in cases.iter().enumerate() {
        let kind_of = array.data_type();
        assert_eq!(read.columns[i].1, *kind, "{kind_of}");
        assert_eq!(read.rows[0][i], *value, "{kind_of}");
        assert_eq!(read.rows[1][i], Cell::Null, "{kind_of}");
    }
}

#[test]
fn nan_is_told() {
    let numbers = Float64Array::from(vec![f64::NAN, 1.0]);
    let bytes = written(vec![Arc::new(numbers)], None);
    let read = load("a.parquet", &bytes, &FileOptions::default()).unwrap();
    assert_eq!(read.rows, [[Cell::Null], [Cell::Float(1.0)]]);
    assert_eq!(
        read.notes,
        ["a.parquet: 1 NaN became NULL, because SQLite has no NaN"]
    );
}

#[test]
fn compressions_are_read_or_named() {
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
    ] {
        let properties = WriterProperties::builder()
            .set_compression(compression)
            .build();
        let array = Arc::new(Int64Array::from(vec![1, 2, 3]));
        let bytes = written(vec![array], Some(properties));
        let read = load("a.parquet", &bytes, &FileOptions::default()).unwrap();
        assert_eq!(read.rows.len(), 3, "{compression}");
    }
}

#[test]
fn a_cut_file_is_an_error() {
    let array: ArrayRef = Arc::new(Int64Array::from((0..10_000).collect::<Vec<i64>>()));
    let bytes = written(vec![array], None);
    for length in [0, 4, 100, bytes.len() - 8, bytes.len() - 1] {
        let error = load("a.parquet", &bytes[..length], &FileOptions::default()).unwrap_err();
        assert_eq!(error.code, "sql.file.form", "{length}: {error}");
    }
}

#[test]
fn our_own_files_are_read_back() {
    let kinds = [
        (
            ValueType::Integer,
            vec![Cell::Int(i64::MAX), Cell::Int(-1), Cell::Null],
        ),
        (
            ValueType::Float,
            vec![Cell::Float(0.1), Cell::Float(1e300), Cell::Null],
        ),
        (ValueType::Text, vec![text("007"), text(""), Cell::Null]),
        (
            ValueType::Date,
            vec![text("2026-11-22"), text("1900-01-01"), Cell::Null],
        ),
        (
            ValueType::Time,
            vec![text("13:45:00"), text("00:00:00.000001"), Cell::Null],
        ),
        (
            ValueType::Timestamp,
            vec![
                text("2026-11-22T13:45:00"),
                text("1969-12-31T23:59:59.5"),
                Cell::Null,
            ],
        ),
        (
            ValueType::Instant,
            vec![
                text("2026-11-22T13:45:00Z"),
                text("1969-12-31T23:59:59Z"),
                Cell::Null,
            ],
        ),
        (
            ValueType::Binary,
            vec![Cell::Bytes(vec![0, 1]), Cell::Bytes(vec![]), Cell::Null],
        ),
    ];
    let columns = kinds.iter().enumerate().map(|(i, (kind, _))| ColumnInfo {
        name: format!("c{i}"),
        data_type: String::new(),
        value_type: *kind,
    });
    let rows = RowSet {
        columns: columns.collect(),
        rows: (0..3)
            .map(|row| kinds.iter().map(|(_, cells)| cells[row].clone()).collect())
            .collect(),
        truncated: None,
    };
    let bytes = write(&rows, ExportFormat::Parquet, &CsvOptions::default()).unwrap();
    let read = load("a.parquet", &bytes, &FileOptions::default()).unwrap();
    assert_eq!(read.rows, rows.rows);
}
