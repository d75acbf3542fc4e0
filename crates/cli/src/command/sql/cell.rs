//! Formats values for a terminal, on one line and without control characters.

use quillet_sql::Cell;
use quillet_sql::rows::ValueType;

use crate::cells::CUT;
use crate::chat::sanitize;

/// Maximum number of bytes of a binary value to show.
const MOST_BINARY: usize = 32;

/// Formats a value on one line. Line breaks and tabs become visible characters.
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

/// Formats text from a database on one line, with visible control characters.
pub(super) fn one_line(text: &str) -> String {
    let picture = |c| match c {
        '\n' => '␊',
        '\t' => '␉',
        '\r' => '␍',
        c => c,
    };
    sanitize(&text.chars().map(picture).collect::<String>()).into_owned()
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

/// Whether values of the type are right-aligned, so that their digits can be compared.
pub(super) fn is_number(value_type: ValueType) -> bool {
    matches!(
        value_type,
        ValueType::Integer | ValueType::Float | ValueType::Decimal
    )
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
}
