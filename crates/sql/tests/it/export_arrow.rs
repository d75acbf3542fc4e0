//! Tests Arrow and Parquet exports by reading them back.

use std::io::Cursor;
use std::sync::Arc;

use arrow_array::types::Int64Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Decimal256Array,
    Float64Array, Int64Array, ListArray, RecordBatch, StringArray, Time64MicrosecondArray,
    TimestampMicrosecondArray, UInt64Array,
};
use arrow_buffer::i256;
use arrow_ipc::reader::{FileReader, StreamReader};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use proptest::collection::vec;
use proptest::prelude::*;
use quillet_sql::export::{CsvOptions, ExportFormat, write};
use quillet_sql::rows::ValueType;
use quillet_sql::{Cell, RowSet};

use crate::export::{column, rows, text};

const FORMATS: [ExportFormat; 3] = [
    ExportFormat::Arrow,
    ExportFormat::ArrowStream,
    ExportFormat::Parquet,
];

fn read(rows: &RowSet, format: ExportFormat) -> Vec<RecordBatch> {
    let bytes = write(rows, format, &CsvOptions::default()).unwrap();
    let batches: Result<Vec<RecordBatch>, _> = match format {
        ExportFormat::Arrow => FileReader::try_new(Cursor::new(bytes), None)
            .unwrap()
            .collect(),
        ExportFormat::ArrowStream => StreamReader::try_new(Cursor::new(bytes), None)
            .unwrap()
            .collect(),
        _ => {
            let builder = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes));
            builder
                .unwrap()
                .with_batch_size(1 << 20)
                .build()
                .unwrap()
                .collect()
        }
    };
    batches.unwrap()
}

fn ints(numbers: &[i64]) -> Vec<Cell> {
    numbers.iter().map(|number| Cell::Int(*number)).collect()
}

fn texts(values: &[&str]) -> Vec<Cell> {
    values.iter().map(|value| text(value)).collect()
}

fn strings(values: &[&str]) -> ArrayRef {
    let mut values: Vec<Option<&str>> = values.iter().map(|value| Some(*value)).collect();
    values.push(None);
    Arc::new(StringArray::from(values))
}

fn decimal128(values: &[i128], digits: u8, scale: i8) -> ArrayRef {
    let mut values: Vec<Option<i128>> = values.iter().copied().map(Some).collect();
    values.push(None);
    let numbers = Decimal128Array::from(values);
    Arc::new(numbers.with_precision_and_scale(digits, scale).unwrap())
}

/// Returns a column of each type, its values, and the array expected in every format. Each column
/// ends with a NULL.
fn cases() -> Vec<(ValueType, Vec<Cell>, ArrayRef)> {
    use ValueType::*;
    let long = "9".repeat(40);
    let decimal256 =
        Decimal256Array::from(vec![i256::from_string(&long), Some(i256::from(-100)), None]);
    let too_long = "9".repeat(77);
    let (max, above) = (1_i64 << 53, (1_i64 << 53) + 1);
    let list = |cells: &[Cell]| Cell::Array(cells.to_vec());
    let int_lists = ListArray::from_iter_primitive::<Int64Type, _, _>(vec![
        Some(vec![Some(1), None]),
        Some(vec![]),
        None,
    ]);
    vec![
        (
            Boolean,
            vec![Cell::Bool(true), Cell::Bool(false)],
            Arc::new(BooleanArray::from(vec![Some(true), Some(false), None])),
        ),
        (
            Integer,
            ints(&[i64::MIN, i64::MAX]),
            Arc::new(Int64Array::from(vec![Some(i64::MIN), Some(i64::MAX), None])),
        ),
        (
            Integer,
            vec![Cell::UInt(u64::MAX), Cell::Int(0)],
            Arc::new(UInt64Array::from(vec![Some(u64::MAX), Some(0), None])),
        ),
        (
            Integer,
            vec![Cell::UInt(u64::MAX), Cell::Int(-1)],
            decimal128(&[u64::MAX.into(), -1], 20, 0),
        ),
        (
            Float,
            vec![Cell::Float(-0.1), Cell::Float(f64::INFINITY)],
            Arc::new(Float64Array::from(vec![
                Some(-0.1),
                Some(f64::INFINITY),
                None,
            ])),
        ),
        (
            Float,
            vec![Cell::Float(0.5), Cell::Int(max)],
            Arc::new(Float64Array::from(vec![Some(0.5), Some(max as f64), None])),
        ),
        (
            Float,
            vec![Cell::Float(0.5), Cell::Int(above)],
            strings(&["0.5", "9007199254740993"]),
        ),
        (
            Decimal,
            texts(&["12.50", "-0.125", "100"]),
            decimal128(&[12_500, -125, 100_000], 6, 3),
        ),
        (
            Decimal,
            vec![text("0.5"), Cell::Int(-7)],
            decimal128(&[5, -70], 21, 1),
        ),
        (Decimal, texts(&["0"]), decimal128(&[0], 1, 0)),
        (Decimal, texts(&["1", "NaN"]), strings(&["1", "NaN"])),
        (
            Decimal,
            texts(&[&long, "-100"]),
            Arc::new(decimal256.with_precision_and_scale(40, 0).unwrap()),
        ),
        (Decimal, texts(&[&too_long]), strings(&[&too_long])),
        (
            Text,
            texts(&["", "北京 ☂", "\0"]),
            strings(&["", "北京 ☂", "\0"]),
        ),
        (
            Text,
            vec![text("a"), Cell::Int(1), Cell::Bytes(vec![1, 2, 3])],
            strings(&["a", "1", "AQID"]),
        ),
        (
            Binary,
            vec![Cell::Bytes(vec![0, 255]), Cell::Bytes(vec![])],
            Arc::new(BinaryArray::from(vec![
                Some(&[0_u8, 255][..]),
                Some(&[]),
                None,
            ])),
        ),
        (
            Date,
            texts(&["2026-11-22", "1969-12-31"]),
            Arc::new(Date32Array::from(vec![Some(20_779), Some(-1), None])),
        ),
        (
            Date,
            texts(&["2026-11-22", "infinity"]),
            strings(&["2026-11-22", "infinity"]),
        ),
        (
            Time,
            texts(&["13:45:00.5"]),
            Arc::new(Time64MicrosecondArray::from(vec![
                Some(49_500_500_000),
                None,
            ])),
        ),
        (
            Timestamp,
            texts(&["1970-01-01T00:00:01"]),
            Arc::new(TimestampMicrosecondArray::from(vec![Some(1_000_000), None])),
        ),
        (
            Instant,
            texts(&["1970-01-01T00:00:01Z"]),
            Arc::new(
                TimestampMicrosecondArray::from(vec![Some(1_000_000), None]).with_timezone("UTC"),
            ),
        ),
        (
            Instant,
            texts(&["1970-01-01T00:00:01+02:00"]),
            strings(&["1970-01-01T00:00:01+02:00"]),
        ),
        (Interval, texts(&["1 mon"]), strings(&["1 mon"])),
        (
            Uuid,
            texts(&["0190a6c0-0000-7000-8000-000000000000"]),
            strings(&["0190a6c0-0000-7000-8000-000000000000"]),
        ),
        (
            Json,
            vec![Cell::Json("{\"a\": 1}".to_owned())],
            strings(&["{\"a\": 1}"]),
        ),
        (
            Array,
            vec![list(&[Cell::Int(1), Cell::Null]), list(&[])],
            Arc::new(int_lists),
        ),
        (Array, vec![list(&[]), text("{}")], strings(&["[]", "{}"])),
        (Other, texts(&["(1,2)"]), strings(&["(1,2)"])),
    ]
}

#[test]
fn every_value_is_read_back_with_its_type() {
    for (kind, mut cells, expected) in cases() {
        cells.push(Cell::Null);
        let rows = rows(
            vec![column("v", kind)],
            cells.into_iter().map(|cell| vec![cell]).collect(),
        );
        for format in FORMATS {
            let batches = read(&rows, format);
            assert_eq!(batches.len(), 1);
            assert_eq!(batches[0].column(0), &expected, "{kind:?} in {format:?}");
        }
    }
}

#[test]
fn lists_may_hold_lists() {
    let inner = |numbers: &[i64]| Cell::Array(ints(numbers));
    let cells = [
        Cell::Array(vec![inner(&[1, 2]), Cell::Null, inner(&[])]),
        Cell::Array(vec![inner(&[3])]),
    ];
    let rows = rows(
        vec![column("v", ValueType::Array)],
        cells.into_iter().map(|cell| vec![cell]).collect(),
    );
    for format in FORMATS {
        let batches = read(&rows, format);
        let outer = batches[0]
            .column(0)
            .as_any()
            .downcast_ref::<ListArray>()
            .unwrap();
        let inner = outer.values().as_any().downcast_ref::<ListArray>().unwrap();
        assert_eq!((outer.len(), inner.len(), inner.null_count()), (2, 4, 1));
        assert_eq!(
            inner.values().as_ref(),
            &Int64Array::from(vec![1, 2, 3]) as &dyn Array
        );
    }
}

/// Tests the type of a column without values.
#[test]
fn empty_columns_have_the_type_that_was_declared() {
    let cases = [
        (ValueType::Boolean, "bool", "Boolean"),
        (ValueType::Integer, "int4", "Int64"),
        (ValueType::Float, "float8", "Float64"),
        (ValueType::Decimal, "numeric", "Decimal128(38, 0)"),
        (ValueType::Decimal, "numeric(10,2)", "Decimal128(10, 2)"),
        (
            ValueType::Decimal,
            "DECIMAL(50, 4) unsigned",
            "Decimal256(50, 4)",
        ),
        (ValueType::Decimal, "numeric(999,4)", "Utf8"),
        (ValueType::Decimal, "decimal(4)", "Decimal128(4, 0)"),
        (ValueType::Decimal, "numeric(2,5)", "Decimal128(38, 0)"),
        (ValueType::Text, "varchar(9,2)", "Utf8"),
        (ValueType::Binary, "bytea", "Binary"),
        (ValueType::Date, "date", "Date32"),
        (ValueType::Time, "time", "Time64(µs)"),
        (ValueType::Timestamp, "timestamp", "Timestamp(µs)"),
        (ValueType::Instant, "timestamptz", "Timestamp(µs, \"UTC\")"),
        (ValueType::Interval, "interval", "Utf8"),
        (ValueType::Uuid, "uuid", "Utf8"),
        (ValueType::Json, "jsonb", "Utf8"),
        (ValueType::Array, "int4[]", "List(Utf8)"),
        (ValueType::Other, "point", "Utf8"),
    ];
    let columns = cases
        .iter()
        .enumerate()
        .map(|(place, (kind, data_type, _))| {
            let mut column = column(&place.to_string(), *kind);
            (*data_type).clone_into(&mut column.data_type);
            column
        });
    let nulls = vec![Cell::Null; cases.len()];
    let rows = rows(columns.collect(), vec![nulls]);
    for format in FORMATS {
        let schema = read(&rows, format)[0].schema();
        for (field, (_, data_type, expected)) in schema.fields().iter().zip(&cases) {
            assert_eq!(
                field.data_type().to_string(),
                *expected,
                "{data_type} in {format:?}"
            );
            assert_eq!(
                field.metadata().get("database_type").map(String::as_str),
                Some(*data_type)
            );
        }
    }
}

#[test]
fn a_declared_decimal_keeps_its_digits_whatever_comes() {
    let mut declared = column("v", ValueType::Decimal);
    "numeric(10,2)".clone_into(&mut declared.data_type);
    for (value, expected) in [("1.5", "Decimal128(10, 2)"), ("1.555", "Decimal128(11, 3)")] {
        let rows = rows(vec![declared.clone()], vec![vec![text(value)]]);
        let batches = read(&rows, ExportFormat::Parquet);
        assert_eq!(
            batches[0].schema().field(0).data_type().to_string(),
            expected
        );
    }
}

#[test]
fn nothing_is_written_too() {
    let two = vec![
        column("id", ValueType::Integer),
        column("id", ValueType::Text),
    ];
    let none = rows(two.clone(), vec![]);
    for format in FORMATS {
        assert_eq!(read(&none, format).len(), 0, "{format:?}");
    }
    let one = rows(two, vec![vec![Cell::Int(1), text("x")]]);
    for format in FORMATS {
        let schema = read(&one, format)[0].schema();
        let names: Vec<&str> = schema
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect();
        assert_eq!(names, ["id", "id_2"]);
    }
    let bare = rows(vec![], vec![vec![], vec![]]);
    for format in [ExportFormat::Arrow, ExportFormat::ArrowStream] {
        assert_eq!(read(&bare, format)[0].num_rows(), 2);
    }
    assert_eq!(
        write(&bare, ExportFormat::Parquet, &CsvOptions::default()).map(|bytes| bytes.is_empty()),
        Ok(false)
    );
}

#[test]
fn many_rows_come_in_batches_and_huge_cells_whole() {
    let count = 150_000;
    let long = "x".repeat(1 << 20);
    let mut table: Vec<Vec<Cell>> = (0..count).map(|n| vec![Cell::Int(n), Cell::Null]).collect();
    table[99_999][1] = text(&long);
    let columns = vec![
        column("n", ValueType::Integer),
        column("t", ValueType::Text),
    ];
    let rows = rows(columns, table);
    for format in FORMATS {
        let batches = read(&rows, format);
        let numbers = batches.iter().flat_map(|batch| {
            let numbers = batch
                .column(0)
                .as_any()
                .downcast_ref::<Int64Array>()
                .unwrap();
            numbers.values().to_vec()
        });
        assert!(numbers.eq(0..count), "{format:?}");
        let whole = batches.iter().any(|batch| {
            let texts = batch
                .column(1)
                .as_any()
                .downcast_ref::<StringArray>()
                .unwrap();
            texts.iter().flatten().any(|text| text == long)
        });
        assert!(whole, "{format:?}");
    }
}

fn any_cell() -> impl Strategy<Value = Cell> {
    let leaf = prop_oneof![
        Just(Cell::Null),
        any::<bool>().prop_map(Cell::Bool),
        any::<i64>().prop_map(Cell::Int),
        any::<u64>().prop_map(Cell::UInt),
        any::<f64>().prop_map(Cell::Float),
        any::<String>().prop_map(Cell::Text),
        "-?[0-9]{0,50}\\.?[0-9]{0,50}".prop_map(Cell::Text),
        "[0-9]{4}-[01][0-9]-[0-3][0-9](T[0-2][0-9]:00:00(\\.[0-9]{1,9})?Z?)?".prop_map(Cell::Text),
        "[0-2][0-9]:[0-6][0-9](:[0-6][0-9])?".prop_map(Cell::Text),
        vec(any::<u8>(), 0..9).prop_map(Cell::Bytes),
        Just(Cell::Json("[1]".to_owned())),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| vec(inner, 0..4).prop_map(Cell::Array))
}

fn any_type() -> impl Strategy<Value = ValueType> {
    use ValueType::*;
    proptest::sample::select(vec![
        Boolean, Integer, Float, Decimal, Text, Binary, Date, Time, Timestamp, Instant, Interval,
        Uuid, Json, Array, Other,
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// No value becomes NULL, and all formats return the same values.
    #[test]
    fn nothing_is_lost(kind in any_type(), cells in vec(any_cell(), 1..8), alike in any::<bool>()) {
        let cells: Vec<Cell> = if alike { cells.iter().map(|_| cells[0].clone()).collect() } else { cells };
        let nulls = cells.iter().filter(|cell| **cell == Cell::Null).count();
        let rows = rows(vec![column("v", kind)], cells.into_iter().map(|cell| vec![cell]).collect());
        let first = read(&rows, ExportFormat::Arrow);
        prop_assert_eq!(first[0].column(0).null_count(), nulls);
        for format in [ExportFormat::ArrowStream, ExportFormat::Parquet] {
            let others = read(&rows, format);
            let (one, other) = (first[0].column(0), others[0].column(0));
            prop_assert_eq!(format!("{:?}", one), format!("{:?}", other), "{:?}", format);
        }
    }
}
