//! Property tests: every written value is read back.

use ::csv::Writer;
use proptest::collection::vec;
use proptest::prelude::*;
use quillet_sql::Cell;
use quillet_sql::files::{FileOptions, Header};
use serde_json::{Map, Value};

use super::load;

/// Generates the texts of one column: arbitrary ones, or only those that look like numbers or
/// times.
fn column(rows: usize) -> BoxedStrategy<Vec<String>> {
    let kind = |pattern: &'static str| vec(pattern.prop_map(|text: String| text), rows).boxed();
    prop_oneof![
        vec(any::<String>(), rows),
        kind("[ -~]{0,8}"),
        kind("-?[0-9]{0,20}"),
        kind("-?[0-9]{1,19}"),
        kind("-?[0-9]{1,3}(\\.[0-9]{1,3})?"),
        kind("-?(0|[1-9][0-9]{0,20})?\\.?[0-9]{0,20}"),
        kind("-?[0-9]\\.[0-9]{1,25}([eE][+-]?[0-9]{1,3})?"),
        kind("[0-9]{1,2}[eE][0-9]{1,2}"),
        kind("(true|false|TRUE|)"),
        kind("[ \t]?[0-9]{0,2}[ \t]?"),
        kind("20[0-9]{2}-[01][0-9]-[0-3][0-9]"),
        kind("20[0-9]{2}-0[1-9]-1[0-9][T ][0-2][0-9]:00(:00)?Z?"),
        kind("[0-9]{1,2},[0-9]{1,3}"),
        kind("[\"',;\\r\\n\t a]{0,6}"),
    ]
    .boxed()
}

fn tables() -> impl Strategy<Value = Vec<Vec<String>>> {
    (1_usize..6, 1_usize..12).prop_flat_map(|(columns, rows)| {
        let columns: Vec<_> = (0..columns).map(|_| column(rows)).collect();
        columns.prop_map(move |columns| {
            let row = |i: usize| columns.iter().map(|column| column[i].clone()).collect();
            (0..rows).map(row).collect()
        })
    })
}

/// Returns whether a value equals what was written. Text must be identical, and a number must have
/// the same value with all digits.
fn is_same(cell: &Cell, kind: &str, text: &str) -> bool {
    let inner = text.trim_matches([' ', '\t']);
    match cell {
        Cell::Null => match kind {
            "INTEGER" | "REAL" | "BOOLEAN" => inner.is_empty(),
            _ => text.is_empty(),
        },
        Cell::Int(truth) if kind == "BOOLEAN" => inner.to_lowercase() == (*truth == 1).to_string(),
        Cell::Int(number) => number.to_string() == inner,
        Cell::Float(number) => {
            let exact = inner.parse::<f64>().unwrap() == *number;
            // The number, rounded to the digits of the text, must have the same digits.
            let mantissa = inner.split(['e', 'E']).next().unwrap_or_default();
            let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
            let digits = digits.trim_start_matches('0').len();
            exact && is_equal(inner, &format!("{:.*e}", digits.max(1) - 1, number))
        }
        Cell::Text(read) => read == text,
        _ => false,
    }
}

/// Returns whether two decimals have the same digits, ignoring zeros at both ends.
fn is_equal(one: &str, other: &str) -> bool {
    let digits = |text: &str| -> String {
        let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        digits.trim_matches('0').to_owned()
    };
    digits(one) == digits(other)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn rows_of_csv_are_read_as_they_were_written(table in tables(), separator in prop::sample::select(b",;\t|".to_vec())) {
        let mut writer = ::csv::WriterBuilder::new().delimiter(separator).from_writer(Vec::new());
        let names: Vec<String> = (0..table[0].len()).map(|i| format!("c{i}")).collect();
        writer.write_record(&names).unwrap();
        for row in &table {
            writer.write_record(row).unwrap();
        }
        let bytes = Writer::into_inner(writer).unwrap();
        let options = FileOptions { separator: Some(separator), header: Header::Yes, ..FileOptions::default() };
        let read = load("a.csv", &bytes, &options).unwrap();
        prop_assert_eq!(read.rows.len(), table.len());
        for (row, written) in read.rows.iter().zip(&table) {
            for ((cell, (_, kind)), text) in row.iter().zip(&read.columns).zip(written) {
                // A decimal comma is the only alternative notation of a number.
                let text = match kind.as_str() {
                    "REAL" => text.replace(',', "."),
                    _ => text.clone(),
                };
                prop_assert!(is_same(cell, kind, &text), "{cell:?} {kind} {text:?}");
            }
        }
    }

    #[test]
    fn lines_of_json_are_read_as_they_were_written(rows in vec(vec(values(), 3), 1..10)) {
        let lines: Vec<String> = rows.iter().map(|row| {
            let fields = row.iter().enumerate();
            let fields: Map<String, Value> = fields.map(|(i, value)| (format!("c{i}"), value.clone())).collect();
            Value::Object(fields).to_string()
        }).collect();
        let read = load("a.jsonl", lines.join("\n").as_bytes(), &FileOptions::default()).unwrap();
        prop_assert_eq!(read.rows.len(), rows.len());
        for (row, written) in read.rows.iter().zip(&rows) {
            for (cell, value) in row.iter().zip(written) {
                let good = match (cell, value) {
                    (Cell::Null, Value::Null) => true,
                    (Cell::Int(number), Value::Bool(truth)) => *number == i64::from(*truth),
                    (Cell::Int(number), value) => value.as_i64() == Some(*number),
                    (Cell::Float(number), value) => value.as_f64() == Some(*number),
                    (Cell::Text(text), Value::String(written)) => text == written,
                    (Cell::Text(text), value) => serde_json::from_str::<Value>(text).is_ok_and(|read| read == *value),
                    _ => false,
                };
                prop_assert!(good, "{cell:?} {value}");
            }
        }
    }
}

fn values() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-9_i64..9).prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(Value::from("2026-01-01")),
        Just(serde_json::json!([1, {"a": "b"}, null])),
    ]
}
