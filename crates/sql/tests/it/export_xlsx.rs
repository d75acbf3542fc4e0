//! Tests the parts of exported workbooks.

use std::io::Read;

use flate2::Crc;
use flate2::read::DeflateDecoder;
use proptest::prelude::*;
use quillet_sql::export::{CsvOptions, ExportError, ExportFormat, write};
use quillet_sql::rows::ValueType;
use quillet_sql::{Cell, ColumnInfo, RowSet};

use crate::export::{column, rows, text};

const SHEET: &str = "xl/worksheets/sheet1.xml";

fn workbook(rows: &RowSet) -> Result<Vec<u8>, ExportError> {
    write(rows, ExportFormat::Xlsx, &CsvOptions::default())
}

fn number(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .rev()
        .fold(0, |all, byte| (all << 8) + usize::from(*byte))
}

/// Returns the files of an archive, found through its directory, and checks their checksums.
fn files(zip: &[u8]) -> Vec<(String, String)> {
    let end = &zip[zip.len() - 22..];
    assert_eq!(&end[..4], b"PK\x05\x06");
    let mut entry = &zip[number(&end[16..20])..];
    let read = (0..number(&end[10..12])).map(|_| {
        assert_eq!(&entry[..4], b"PK\x01\x02");
        let name_length = number(&entry[28..30]);
        let name = String::from_utf8(entry[46..46 + name_length].to_vec()).unwrap();
        let local = &zip[number(&entry[42..46])..];
        assert_eq!(&local[..4], b"PK\x03\x04");
        assert_eq!(local[6..30], entry[8..32], "both say the same of {name}");
        let packed = &local[30 + name_length..][..number(&entry[20..24])];
        let mut content = Vec::new();
        DeflateDecoder::new(packed)
            .read_to_end(&mut content)
            .unwrap();
        let mut crc = Crc::new();
        crc.update(&content);
        assert_eq!(number(&entry[16..20]), crc.sum() as usize);
        assert_eq!(number(&entry[24..28]), content.len());
        entry = &entry[46 + name_length..];
        (name, String::from_utf8(content).unwrap())
    });
    read.collect()
}

fn sheet(rows: &RowSet) -> String {
    let files = files(&workbook(rows).unwrap());
    files.into_iter().find(|(name, _)| name == SHEET).unwrap().1
}

fn inline(style: u8, text: &str) -> String {
    format!("<c s=\"{style}\" t=\"inlineStr\"><is><t xml:space=\"preserve\">{text}</t></is></c>")
}

#[test]
fn a_workbook_has_its_parts() {
    let one = rows(vec![column("a", ValueType::Text)], vec![]);
    let files = files(&workbook(&one).unwrap());
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "[Content_Types].xml",
        "_rels/.rels",
        "xl/workbook.xml",
        "xl/_rels/workbook.xml.rels",
        "xl/styles.xml",
        SHEET,
    ];
    assert_eq!(names, expected);
    assert!(
        files
            .iter()
            .all(|(_, content)| content.starts_with("<?xml"))
    );
    assert_eq!(workbook(&one), workbook(&one), "always the same bytes");
}

#[test]
fn every_value_is_a_cell() {
    use ValueType::*;
    let plain = |text: &str| inline(0, text);
    let styled = |style: u8, number: &str| format!("<c s=\"{style}\"><v>{number}</v></c>");
    let value = |number: &str| styled(0, number);
    let cases = [
        (Text, Cell::Null, "<c/>".to_owned()),
        (
            Boolean,
            Cell::Bool(true),
            "<c t=\"b\"><v>1</v></c>".to_owned(),
        ),
        (
            Boolean,
            Cell::Bool(false),
            "<c t=\"b\"><v>0</v></c>".to_owned(),
        ),
        (Integer, Cell::Int(-5), value("-5")),
        (
            Integer,
            Cell::Int(999_999_999_999_999),
            value("999999999999999"),
        ),
        (
            Integer,
            Cell::Int(1_000_000_000_000_000),
            plain("1000000000000000"),
        ),
        (Integer, Cell::UInt(u64::MAX), plain("18446744073709551615")),
        (Float, Cell::Float(0.1), value("0.1")),
        (Float, Cell::Float(1e300), value("1e300")),
        (Float, Cell::Float(f64::NAN), plain("NaN")),
        (Decimal, text("-12.50"), value("-12.50")),
        (Decimal, text("1234567890.12345"), value("1234567890.12345")),
        (
            Decimal,
            text("1234567890.123456"),
            plain("1234567890.123456"),
        ),
        (Decimal, text("NaN"), plain("NaN")),
        (Text, text("12.50"), plain("12.50")),
        (Text, text("=1+1"), plain("=1+1")),
        (
            Text,
            text("<a b=\"c\"> & ]]>\n\t ☂"),
            plain("&lt;a b=\"c\"&gt; &amp; ]]&gt;\n\t ☂"),
        ),
        (
            Text,
            text("\0\r\u{1b}\u{ffff}"),
            plain("_x0000__x000D__x001B__xFFFF_"),
        ),
        (
            Text,
            text("_x000D_ _x00 _xGGGG_"),
            plain("_x005F_x000D_ _x00 _xGGGG_"),
        ),
        (Binary, Cell::Bytes(vec![0, 255]), plain("AP8=")),
        (Date, text("2026-11-22"), styled(2, "46348")),
        (Date, text("1900-03-01"), styled(2, "61")),
        (Date, text("1900-02-28"), plain("1900-02-28")),
        (Date, text("infinity"), plain("infinity")),
        (
            Timestamp,
            text("2026-11-22T12:00:00"),
            styled(3, "46348.50000000000"),
        ),
        (
            Timestamp,
            text("2026-11-22T12:00:00.001"),
            styled(3, "46348.50000001157"),
        ),
        (
            Timestamp,
            text("2026-11-22T12:00:00.0001"),
            plain("2026-11-22T12:00:00.0001"),
        ),
        (
            Instant,
            text("2026-11-22T12:00:00Z"),
            plain("2026-11-22T12:00:00Z"),
        ),
        (Time, text("12:00:00"), plain("12:00:00")),
        (Json, Cell::Json("{\"a\":1}".to_owned()), plain("{\"a\":1}")),
        (
            Array,
            Cell::Array(vec![Cell::Int(1), Cell::Null]),
            plain("[1,null]"),
        ),
    ];
    for (kind, cell, expected) in cases {
        let written = sheet(&rows(vec![column("v", kind)], vec![vec![cell.clone()]]));
        let (_, data) = written.split_once("<sheetData>").unwrap();
        let head = inline(1, "v");
        let all = format!("<row>{head}</row><row>{expected}</row></sheetData></worksheet>");
        assert_eq!(data, all, "{cell:?}");
    }
}

#[test]
fn what_no_sheet_holds_is_named() {
    let wide: Vec<ColumnInfo> = (0..16_385)
        .map(|n| column(&n.to_string(), ValueType::Text))
        .collect();
    let one = || vec![column("note", ValueType::Text)];
    let long = |length: usize| vec![vec![Cell::Null], vec![text(&"☂".repeat(length))]];
    let cases = [
        (rows(wide, vec![]), "16384 columns"),
        (
            rows(one(), vec![vec![Cell::Null]; 1_048_576]),
            "1048576 rows",
        ),
        (
            rows(one(), long(32_768)),
            "row 2 of column \"note\" has 32768 characters",
        ),
    ];
    for (rows, part) in cases {
        let error = workbook(&rows).unwrap_err();
        assert_eq!(error.code(), "sql.export");
        assert!(error.to_string().contains(part), "{error}");
        assert!(error.to_string().contains("csv"), "{error}");
    }
    assert!(workbook(&rows(one(), long(32_767))).is_ok());
    assert!(workbook(&rows(vec![], vec![vec![]])).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    /// Unescaping returns the original text.
    #[test]
    fn texts_come_back(original in prop_oneof![any::<String>(), "[_x0-9A-F\r\n<&]{0,20}"]) {
        let written = sheet(&rows(vec![column("v", ValueType::Text)], vec![vec![text(&original)]]));
        let begin = written.rfind("preserve\">").unwrap() + "preserve\">".len();
        let inside = &written[begin..written.rfind("</t>").unwrap()];
        prop_assert!(!inside.contains(|c: char| c < ' ' && c != '\n' && c != '\t'));
        let plain = inside.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        prop_assert_eq!(unescaped(&plain), original);
    }
}

/// Decodes escapes such as `_x000D_`.
fn unescaped(mut text: &str) -> String {
    let mut out = String::new();
    while let Some(first) = text.chars().next() {
        let code = text.strip_prefix("_x").and_then(|rest| rest.get(..5));
        let code = code.and_then(|code| code.strip_suffix('_'));
        let found = code.and_then(|code| u32::from_str_radix(code, 16).ok());
        match found.and_then(char::from_u32) {
            Some(c) => {
                out.push(c);
                text = &text[7..];
            }
            None => {
                out.push(first);
                text = &text[first.len_utf8()..];
            }
        }
    }
    out
}
