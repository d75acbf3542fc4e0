//! Embeds the caller's query in a larger statement.

use super::value::ValueDecoder;
use crate::SqlDialect;
use crate::guard::lexer;

/// Wraps the query to cast the columns whose type only the server can format as text. Also returns
/// the byte offset of the query in the result. The query was parsed alone before, so its brackets
/// and quotes are closed.
pub(super) fn with_text_casts(sql: &str, readings: &[ValueDecoder]) -> (String, usize) {
    let mut sent = String::from("SELECT ");
    for (i, reading) in readings.iter().enumerate() {
        let comma = if i == 0 { "" } else { ", " };
        // Columns are addressed by position (`c0`, `c1`), because names in the query may repeat or
        // be empty.
        let cast = reading.cast().unwrap_or_default();
        sent.push_str(&format!("{comma}c{i}{cast}"));
    }
    sent.push_str(" FROM (");
    let start = sent.len();
    sent.push_str(without_semicolon(sql));
    // The newline ends a line comment at the end of the query.
    sent.push_str("\n) AS q(");
    for i in 0..readings.len() {
        let comma = if i == 0 { "" } else { ", " };
        sent.push_str(&format!("{comma}c{i}"));
    }
    sent.push(')');
    (sent, start)
}

/// Returns a statement without its final semicolon and the comments after it.
pub(super) fn without_semicolon(sql: &str) -> &str {
    let tokens = lexer::tokens(sql, SqlDialect::PostgreSql);
    let end = tokens.iter().find(|token| token.is_mark(sql, ";"));
    end.and_then(|end| sql.get(..end.span.start)).unwrap_or(sql)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_ends_before_its_semicolon() {
        for (sql, expected) in [
            ("SELECT 1", "SELECT 1"),
            ("SELECT 1;", "SELECT 1"),
            (
                "SELECT '订;单'\n, 2 ;\n-- done; really\n",
                "SELECT '订;单'\n, 2 ",
            ),
            ("SELECT $$a;b$$ /* ; */ ; -- c", "SELECT $$a;b$$ /* ; */ "),
        ] {
            assert_eq!(without_semicolon(sql), expected);
        }
    }

    #[test]
    fn unknown_types_are_asked_for_as_text() {
        let array = ValueDecoder::Array(Box::new(ValueDecoder::Other));
        let (sent, start) = with_text_casts(
            "SELECT 1, 2, 3; -- c",
            &[ValueDecoder::Int, ValueDecoder::Other, array],
        );
        assert_eq!(
            sent,
            "SELECT c0, c1::pg_catalog.text, c2::pg_catalog.text[] FROM (SELECT 1, 2, 3\n) AS q(c0, c1, c2)"
        );
        assert!(sent[start..].starts_with("SELECT 1, 2"));
    }
}
