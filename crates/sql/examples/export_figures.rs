//! Measures how long each format takes to export 100,000 rows, and the file sizes:
//! `cargo run --release -p quillet-sql --example export_figures`. With a folder name as an
//! argument, the files are stored there.

use std::path::PathBuf;
use std::time::Instant;

use quillet_sql::export::{CsvOptions, ExportError, ExportFormat, write};
use quillet_sql::rows::ValueType;
use quillet_sql::{Cell, ColumnInfo, RowSet};

const ROWS: i64 = 100_000;

const COLUMNS: [(&str, &str, ValueType); 10] = [
    ("id", "int8", ValueType::Integer),
    ("name", "text", ValueType::Text),
    ("price", "numeric(12,2)", ValueType::Decimal),
    ("weight", "float8", ValueType::Float),
    ("paid", "bool", ValueType::Boolean),
    ("day", "date", ValueType::Date),
    ("created", "timestamp", ValueType::Timestamp),
    ("seen", "timestamptz", ValueType::Instant),
    ("tags", "int4[]", ValueType::Array),
    ("note", "jsonb", ValueType::Json),
];

fn rows() -> RowSet {
    let column = |(name, data_type, value_type): (&str, &str, ValueType)| ColumnInfo {
        name: name.to_owned(),
        data_type: data_type.to_owned(),
        value_type,
    };
    RowSet {
        columns: COLUMNS.map(column).into(),
        rows: (0..ROWS).map(row).collect(),
        truncated: None,
    }
}

fn row(n: i64) -> Vec<Cell> {
    let (day, second) = (n % 28 + 1, n % 60);
    vec![
        Cell::Int(n),
        Cell::Text(format!("客户 {n}, \"no. {}\"", n % 977)),
        Cell::Text(format!("{}.{:02}", n % 10_000, n % 100)),
        Cell::Float(n as f64 / 7.0),
        if n % 10 == 0 {
            Cell::Null
        } else {
            Cell::Bool(n % 2 == 0)
        },
        Cell::Text(format!("2026-11-{day:02}")),
        Cell::Text(format!("2026-11-{day:02}T13:45:{second:02}.125")),
        Cell::Text(format!("2026-11-{day:02}T13:45:{second:02}.000001Z")),
        Cell::Array(vec![Cell::Int(n % 5), Cell::Null]),
        Cell::Json(format!("{{\"n\": {n}}}")),
    ]
}

fn main() -> Result<(), ExportError> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from);
    let rows = rows();
    for format in ExportFormat::ALL {
        let start = Instant::now();
        let bytes = write(&rows, format, &CsvOptions::default())?;
        let took = start.elapsed().as_millis();
        println!(
            "{:<13}{took:>6} ms {:>8} KiB",
            format.name(),
            bytes.len() >> 10
        );
        if let Some(folder) = &folder {
            let path = folder.join(format!("rows.{}", format.ending()));
            if let Err(error) = std::fs::write(&path, bytes) {
                eprintln!("{}: {error}", path.display());
            }
        }
    }
    Ok(())
}
