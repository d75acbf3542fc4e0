//! Values as people read them in a terminal: on one line, with nothing in them that a
//! terminal obeys.

use quillet_sql::Cell;
use quillet_sql::rows::ValueType;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::talk::harmless;

/// More bytes of a value are not shown.
const MOST_BINARY: usize = 32;
/// Stands for what was cut off.
const CUT: char = '…';

/// A value on one line. Line breaks and tabs become their pictures.
pub(super) fn text(cell: &Cell) -> String {
    match cell {
        Cell::Null => "NULL".to_owned(),
        Cell::Bool(on) => on.to_string(),
        Cell::Int(number) => number.to_string(),
        Cell::UInt(number) => number.to_string(),
        Cell::Float(number) => format!("{number:?}"),
        Cell::Text(text) | Cell::Json(text) => one_line(text),
        Cell::Bytes(bytes) => binary(bytes),
        Cell::Array(cells) => {
            let items: Vec<String> = cells.iter().map(text).collect();
            format!("{{{}}}", items.join(", "))
        }
    }
}

/// Text from a database made visible on one line.
pub(super) fn one_line(text: &str) -> String {
    let picture = |c| match c {
        '\n' => '␊',
        '\t' => '␉',
        '\r' => '␍',
        c => c,
    };
    harmless(&text.chars().map(picture).collect::<String>()).into_owned()
}

fn binary(bytes: &[u8]) -> String {
    let shown = bytes.iter().take(MOST_BINARY);
    let shown: String = shown.map(|byte| format!("{byte:02x}")).collect();
    if bytes.len() > MOST_BINARY {
        format!("\\x{shown}{CUT} ({} bytes)", bytes.len())
    } else {
        format!("\\x{shown}")
    }
}

/// Whether values of the type stand at the right side: their digits can be compared then.
pub(super) fn is_number(value_type: ValueType) -> bool {
    matches!(
        value_type,
        ValueType::Integer | ValueType::Float | ValueType::Decimal
    )
}

/// Cells of a terminal that a text takes: a Chinese character takes two.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// As much of a text as fits, with a sign where something is missing.
pub(super) fn cut(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let mut taken = String::new();
    let mut left = most.saturating_sub(1);
    for c in text.chars() {
        let wide = c.width().unwrap_or(0);
        if wide > left {
            break;
        }
        left -= wide;
        taken.push(c);
    }
    taken.push(CUT);
    taken
}

/// A text in lines that fit.
pub(super) fn fold(text: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut left = most;
    for c in text.chars() {
        let wide = c.width().unwrap_or(0);
        if wide > left {
            lines.push(String::new());
            left = most;
        }
        left = left.saturating_sub(wide);
        if let Some(line) = lines.last_mut() {
            line.push(c);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_one_harmless_line() {
        let cases = [
            (Cell::Null, "NULL"),
            (Cell::Bool(true), "true"),
            (Cell::Int(-7), "-7"),
            (Cell::UInt(u64::MAX), "18446744073709551615"),
            (Cell::Float(1e300), "1e300"),
            (Cell::Float(f64::INFINITY), "inf"),
            (Cell::Text("a\nb\tc\r".into()), "a␊b␉c␍"),
            (
                Cell::Text("\u{1b}[2J\u{9b}31m\u{202e}".into()),
                "␛[2J\u{fffd}31m\u{fffd}",
            ),
            (Cell::Bytes(vec![0, 255]), "\\x00ff"),
            (Cell::Json("{\"a\": 1}".into()), "{\"a\": 1}"),
            (
                Cell::Array(vec![Cell::Int(1), Cell::Null, Cell::Text("x\u{7}".into())]),
                "{1, NULL, x␇}",
            ),
        ];
        for (cell, expected) in cases {
            assert_eq!(text(&cell), expected, "{cell:?}");
        }
        assert!(text(&Cell::Bytes(vec![1; 99])).ends_with("… (99 bytes)"));
    }

    #[test]
    fn cut_texts_fit_whatever_is_in_them() {
        let cases = [
            ("short", 5, "short"),
            ("longer", 5, "long…"),
            ("中文数据库", 10, "中文数据库"),
            ("中文数据库", 9, "中文数据…"),
            ("中文数据库", 8, "中文数…"),
            ("a\u{301}bc", 2, "a\u{301}…"),
            ("", 0, ""),
        ];
        for (text, most, expected) in cases {
            assert_eq!(cut(text, most), expected, "{text:?} {most}");
        }
    }

    #[test]
    fn folded_texts_lose_nothing() {
        for (text, most, lines) in [
            ("abcdef", 4, vec!["abcd", "ef"]),
            ("中文数据库", 5, vec!["中文", "数据", "库"]),
            ("", 4, vec![""]),
        ] {
            assert_eq!(fold(text, most), lines, "{text:?} {most}");
        }
    }
}
