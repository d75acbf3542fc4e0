//! Tests that every format returns exactly the exported values.

use proptest::collection::vec;
use proptest::prelude::*;
use quillet_sql::export::{CsvOptions, ExportFormat, rows_json, write};
use quillet_sql::rows::{TruncationReason, ValueType};
use quillet_sql::{Cell, ColumnInfo, RowSet};
use serde_json::json;

pub(crate) fn column(name: &str, value_type: ValueType) -> ColumnInfo {
    ColumnInfo {
        name: name.to_owned(),
        data_type: format!("{value_type:?}").to_lowercase(),
        value_type,
    }
}

pub(crate) fn rows(columns: Vec<ColumnInfo>, rows: Vec<Vec<Cell>>) -> RowSet {
    RowSet {
        columns,
        rows,
        truncated: None,
    }
}

pub(crate) fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

fn as_json(rows: &RowSet) -> serde_json::Value {
    let bytes = write(rows, ExportFormat::Json, &CsvOptions::default()).unwrap();
    let read: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(read, rows_json(rows), "the text and the tree are one");
    read
}

fn as_text(rows: &RowSet, format: ExportFormat, options: &CsvOptions) -> String {
    String::from_utf8(write(rows, format, options).unwrap()).unwrap()
}

fn as_csv(rows: &RowSet, options: &CsvOptions) -> String {
    as_text(rows, ExportFormat::Csv, options)
}

/// Tests a value of every type against its JSON and CSV forms.
#[test]
fn every_value_is_written_exactly() {
    use ValueType::*;
    let json_text = |text: &str| Cell::Json(text.to_owned());
    let deep = "[".repeat(500) + &"]".repeat(500);
    let cases = [
        (Boolean, Cell::Bool(true), json!(true), "true"),
        (Integer, Cell::Int(-42), json!(-42), "-42"),
        (
            Integer,
            Cell::Int((1 << 53) - 1),
            json!(9_007_199_254_740_991_i64),
            "9007199254740991",
        ),
        (
            Integer,
            Cell::Int(1 << 53),
            json!("9007199254740992"),
            "9007199254740992",
        ),
        (
            Integer,
            Cell::Int(i64::MIN),
            json!("-9223372036854775808"),
            "-9223372036854775808",
        ),
        (
            Integer,
            Cell::UInt(u64::MAX),
            json!("18446744073709551615"),
            "18446744073709551615",
        ),
        (Integer, Cell::UInt(7), json!(7), "7"),
        (Float, Cell::Float(0.1), json!(0.1), "0.1"),
        (Float, Cell::Float(-0.0), json!(-0.0), "-0.0"),
        (Float, Cell::Float(5e-324), json!(5e-324), "5e-324"),
        (Float, Cell::Float(1e300), json!(1e300), "1e300"),
        (Float, Cell::Float(f64::NAN), json!("NaN"), "NaN"),
        (
            Float,
            Cell::Float(f64::NEG_INFINITY),
            json!("-Infinity"),
            "-Infinity",
        ),
        (
            Decimal,
            text("12345678901234567890.10"),
            json!("12345678901234567890.10"),
            "12345678901234567890.10",
        ),
        (
            Text,
            text("北京 ☂ \"q\", x\r\ny"),
            json!("北京 ☂ \"q\", x\r\ny"),
            "\"北京 ☂ \"\"q\"\", x\r\ny\"",
        ),
        (Text, text(""), json!(""), "\"\""),
        (Text, Cell::Null, json!(null), ""),
        (Binary, Cell::Bytes(vec![0, 255, 16]), json!("AP8Q"), "AP8Q"),
        (Date, text("2026-11-22"), json!("2026-11-22"), "2026-11-22"),
        (Time, text("13:45:00.5"), json!("13:45:00.5"), "13:45:00.5"),
        (
            Timestamp,
            text("2026-11-22T13:45:00"),
            json!("2026-11-22T13:45:00"),
            "2026-11-22T13:45:00",
        ),
        (
            Instant,
            text("2026-11-22T13:45:00Z"),
            json!("2026-11-22T13:45:00Z"),
            "2026-11-22T13:45:00Z",
        ),
        (
            Interval,
            text("1 mon 3 days"),
            json!("1 mon 3 days"),
            "1 mon 3 days",
        ),
        (
            Uuid,
            text("0190a6c0-0000-7000-8000-000000000000"),
            json!("0190a6c0-0000-7000-8000-000000000000"),
            "0190a6c0-0000-7000-8000-000000000000",
        ),
        (
            Json,
            json_text("{\"a\":\n [1, null]}"),
            json!({"a": [1, null]}),
            "\"{\"\"a\"\":\n [1, null]}\"",
        ),
        (Json, json_text("{broken"), json!("{broken"), "{broken"),
        (Json, json_text("1e999"), json!("1e999"), "1e999"),
        (Json, json_text(&deep), json!(deep), deep.as_str()),
        (
            Array,
            Cell::Array(vec![Cell::Int(1), Cell::Null, Cell::Array(vec![text("x")])]),
            json!([1, null, ["x"]]),
            "\"[1,null,[\"\"x\"\"]]\"",
        ),
        (Array, Cell::Array(Vec::new()), json!([]), "[]"),
        (Other, text("(1,2)"), json!("(1,2)"), "\"(1,2)\""),
    ];
    for (kind, cell, in_json, in_csv) in cases {
        // A second column is needed, because an empty field alone would be an empty line.
        let rows = rows(
            vec![column("v", kind), column("n", Integer)],
            vec![vec![cell.clone(), Cell::Int(1)]],
        );
        assert_eq!(
            as_json(&rows)["rows"],
            json!([{"v": in_json, "n": 1}]),
            "{cell:?}"
        );
        let csv = as_csv(&rows, &CsvOptions::default());
        assert_eq!(csv, format!("v,n\r\n{in_csv},1\r\n"), "{cell:?}");
        let line = as_text(&rows, ExportFormat::Ndjson, &CsvOptions::default());
        assert_eq!(line.matches('\n').count(), 1, "{line}");
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(line, json!({"v": in_json, "n": 1}));
    }
}

#[test]
fn embedded_json_keeps_its_digits() {
    let digits = "{\"n\":123456789012345678901234567890.10,\"n\":1.50}";
    let rows = rows(
        vec![column("j", ValueType::Json)],
        vec![vec![Cell::Json(digits.to_owned())]],
    );
    for format in [ExportFormat::Json, ExportFormat::Ndjson] {
        let text = as_text(&rows, format, &CsvOptions::default());
        assert!(text.contains(digits), "{text}");
    }
}

#[test]
fn the_document_says_what_there_is() {
    let mut some = rows(
        vec![
            column("id", ValueType::Integer),
            column("id", ValueType::Text),
            column("订单", ValueType::Decimal),
        ],
        vec![vec![Cell::Int(1), text("x"), text("1.50")]],
    );
    some.truncated = Some(TruncationReason::Bytes);
    let expected = json!({
        "columns": [
            {"key": "id", "name": "id", "dataType": "integer", "type": "integer"},
            {"key": "id_2", "name": "id", "dataType": "text", "type": "text"},
            {"key": "订单", "name": "订单", "dataType": "decimal", "type": "decimal"},
        ],
        "rows": [{"id": 1, "id_2": "x", "订单": "1.50"}],
        "rowCount": 1,
        "truncated": true,
        "truncatedBy": "bytes",
    });
    assert_eq!(as_json(&some), expected);
}

#[test]
fn nothing_is_written_too() {
    let columns = vec![
        column("a", ValueType::Integer),
        column("b", ValueType::Text),
    ];
    let columns_json = json!([
        {"key": "a", "name": "a", "dataType": "integer", "type": "integer"},
        {"key": "b", "name": "b", "dataType": "text", "type": "text"},
    ]);
    let cases = [
        (
            rows(columns, vec![]),
            columns_json,
            json!([]),
            "a,b\r\n",
            "",
        ),
        (rows(vec![], vec![]), json!([]), json!([]), "", ""),
        (
            rows(vec![], vec![vec![], vec![]]),
            json!([]),
            json!([{}, {}]),
            "",
            "{}\n{}\n",
        ),
    ];
    for (rows, columns, list, csv, lines) in cases {
        let document = json!({
            "columns": columns, "rows": list, "rowCount": rows.rows.len(), "truncated": false,
        });
        assert_eq!(as_json(&rows), document);
        assert_eq!(as_csv(&rows, &CsvOptions::default()), csv);
        assert_eq!(
            as_text(&rows, ExportFormat::Ndjson, &CsvOptions::default()),
            lines
        );
    }
}

#[test]
fn csv_is_written_as_asked() {
    let options = CsvOptions::default();
    let null = |null: &str| CsvOptions {
        null: null.to_owned(),
        ..CsvOptions::default()
    };
    let bom = CsvOptions {
        bom: true,
        ..options.clone()
    };
    let bare = CsvOptions {
        header: false,
        ..options.clone()
    };
    let cells = vec![
        Cell::Null,
        text(""),
        text("NULL"),
        text("\\N"),
        Cell::Bool(false),
    ];
    let columns = ["a", "b,c", "\"d\"", "", "NULL"].map(|name| column(name, ValueType::Text));
    let some = rows(columns.into(), vec![cells]);
    let head = "a,\"b,c\",\"\"\"d\"\"\"";
    let cases = [
        (
            &options,
            format!("{head},\"\",NULL\r\n,\"\",NULL,\\N,false\r\n"),
        ),
        (&bare, ",\"\",NULL,\\N,false\r\n".to_owned()),
        (
            &bom,
            format!("\u{feff}{head},\"\",NULL\r\n,\"\",NULL,\\N,false\r\n"),
        ),
        (
            &null("NULL"),
            format!("{head},,\"NULL\"\r\nNULL,,\"NULL\",\\N,false\r\n"),
        ),
        (
            &null("\\N"),
            format!("{head},,NULL\r\n\\N,,NULL,\"\\N\",false\r\n"),
        ),
    ];
    for (options, expected) in cases {
        assert_eq!(as_csv(&some, options), expected);
    }
    let single = rows(vec![column("a", ValueType::Text)], vec![vec![Cell::Null]]);
    assert_eq!(as_csv(&single, &options), "a\r\n\"\"\r\n", "no empty line");
}

#[test]
fn formulas_are_guarded_only_where_asked() {
    let guard = CsvOptions {
        guard_formulas: true,
        header: false,
        ..CsvOptions::default()
    };
    let cases = [
        ("=1+1", "'=1+1"),
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        ("+1 (555) 0100", "'+1 (555) 0100"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\r=1", "\"'\r=1\""),
        ("=a,\"b\"", "\"'=a,\"\"b\"\"\""),
        ("＝1", "'＝1"),
        ("-", "'-"),
        ("-12.50", "-12.50"),
        ("+7", "+7"),
        ("a=1", "a=1"),
        ("'=1", "'=1"),
    ];
    for (cell, expected) in cases {
        let rows = rows(vec![column("=A1", ValueType::Text)], vec![vec![text(cell)]]);
        assert_eq!(as_csv(&rows, &guard), format!("{expected}\r\n"));
        let head = CsvOptions {
            header: true,
            ..guard.clone()
        };
        assert!(as_csv(&rows, &head).starts_with("'=A1\r\n"));
        assert!(!as_csv(&rows, &CsvOptions::default()).contains("'=A1"));
    }
    let numbers = vec![vec![Cell::Int(-5), Cell::Float(-1e30)]];
    let columns = vec![
        column("a", ValueType::Integer),
        column("b", ValueType::Float),
    ];
    assert_eq!(as_csv(&rows(columns, numbers), &guard), "-5,-1e30\r\n");
}

#[test]
fn huge_cells_are_written_whole() {
    let long = "\"x,\n".repeat(1 << 17);
    let rows = rows(
        vec![column("a", ValueType::Text), column("b", ValueType::Binary)],
        vec![vec![text(&long), Cell::Bytes(vec![7; 3 << 17])]],
    );
    let read = as_json(&rows);
    assert_eq!(read["rows"][0]["a"], json!(long));
    assert_eq!(read["rows"][0]["b"], json!("BwcH".repeat(1 << 17)));
    let parsed = parse_csv(&as_csv(&rows, &CsvOptions::default()));
    assert_eq!(parsed[1][0].as_deref(), Some(long.as_str()));
}

#[test]
fn formats_are_found_by_name() {
    for format in ExportFormat::ALL {
        let found = [format.name(), format.ending()].map(|name| name.parse::<ExportFormat>());
        assert_eq!(found, [Ok(format), Ok(format)]);
        assert_eq!(format.name().to_uppercase().parse(), Ok(format));
    }
    let error = "jsn".parse::<ExportFormat>().unwrap_err();
    assert_eq!(error.code(), "sql.invalid.format");
    let said = error.to_string();
    assert!(
        said.contains("did you mean \"json\"") && said.contains("csv"),
        "{said}"
    );
    let error = "x".repeat(10_000).parse::<ExportFormat>().unwrap_err();
    assert!(error.to_string().len() < 200, "{error}");
}

/// Parses RFC 4180 with PostgreSQL's rule that an empty unquoted field is NULL.
fn parse_csv(text: &str) -> Vec<Vec<Option<String>>> {
    let (mut rows, mut row, mut rest) = (Vec::new(), Vec::new(), text);
    while !rest.is_empty() {
        let (field, after) = match rest.strip_prefix('"') {
            Some(rest) => unquoted(rest),
            None => {
                let end = rest.find([',', '\r']).unwrap();
                ((end > 0).then(|| rest[..end].to_owned()), &rest[end..])
            }
        };
        row.push(field);
        rest = match after.strip_prefix(',') {
            Some(more) => more,
            None => {
                rows.push(std::mem::take(&mut row));
                after.strip_prefix("\r\n").unwrap()
            }
        };
    }
    rows
}

/// Returns the field up to its closing quote, and the remaining text.
fn unquoted(mut rest: &str) -> (Option<String>, &str) {
    let mut field = String::new();
    loop {
        let (part, after) = rest.split_once('"').unwrap();
        field.push_str(part);
        let Some(more) = after.strip_prefix('"') else {
            return (Some(field), after);
        };
        field.push('"');
        rest = more;
    }
}

fn any_text() -> impl Strategy<Value = Option<String>> {
    let part = prop_oneof![any::<String>(), "[\",\r\n=ab ]{0,6}"];
    proptest::option::weighted(0.8, part)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn csv_parses_back(table in (2_usize..5).prop_flat_map(|width| vec(vec(any_text(), width), 0..6))) {
        let width = table.first().map_or(2, Vec::len);
        let columns: Vec<ColumnInfo> =
            (0..width).map(|n| column(&n.to_string(), ValueType::Text)).collect();
        let cell = |field: &Option<String>| field.clone().map_or(Cell::Null, Cell::Text);
        let cells = table.iter().map(|row| row.iter().map(cell).collect()).collect();
        let rows = rows(columns, cells);
        let parsed = parse_csv(&as_csv(&rows, &CsvOptions::default()));
        prop_assert_eq!(&parsed[1..], &table[..]);
        let lines = as_text(&rows, ExportFormat::Ndjson, &CsvOptions::default());
        prop_assert_eq!(lines.lines().count(), table.len());
        let key = |n: usize| n.to_string();
        for (line, row) in lines.lines().zip(&table) {
            let read: serde_json::Value = serde_json::from_str(line).unwrap();
            for (n, field) in row.iter().enumerate() {
                prop_assert_eq!(&read[key(n)], &json!(field));
            }
        }
    }
}
