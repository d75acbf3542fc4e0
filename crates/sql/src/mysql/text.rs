//! The only check of a query's text in this driver.
//!
//! Two leading keywords make MariaDB do more than return rows, although the statement has columns.
//! `ANALYZE` runs the rest and writes the file of an `INTO OUTFILE`, or updates the statistics of a
//! table. `SET STATEMENT … FOR` lifts the session's limits. Therefore, only listed keywords may
//! come first. The guard, the prepared statement and the read-only session cover everything after
//! them.

use crate::{DatabaseError, DatabaseErrorKind};

/// Words that start a statement that reads.
const READING: [&str; 8] = [
    "SELECT", "WITH", "VALUES", "TABLE", "SHOW", "DESCRIBE", "DESC", "EXPLAIN",
];

/// Rejects text that does not start like a statement that reads.
pub(super) fn check(sql: &str) -> Result<(), DatabaseError> {
    let start = skip_blank(sql, 0).map_err(|at| {
        refusal(
            "the query starts with a comment that the server executes",
            at,
        )
    })?;
    let start = opening(sql, start);
    let first = word(sql, start);
    if first.is_empty() {
        let mut error = refusal("no statement that reads", start);
        error.kind = DatabaseErrorKind::Syntax;
        return Err(error);
    }
    let reads = |word: &str| READING.iter().any(|known| word.eq_ignore_ascii_case(known));
    if !reads(first) {
        return Err(refusal(
            &format!("{first} does not start a statement that reads"),
            start,
        ));
    }
    // An executable comment may follow the first word. The guard rejects it, and here it ends the
    // search.
    let second = skip_blank(sql, start + first.len()).unwrap_or(sql.len());
    let explains = ["DESCRIBE", "DESC", "EXPLAIN"];
    if explains
        .iter()
        .any(|known| first.eq_ignore_ascii_case(known))
        && word(sql, second).eq_ignore_ascii_case("ANALYZE")
    {
        return Err(refusal(
            "ANALYZE executes the statement that it explains",
            second,
        ));
    }
    Ok(())
}

fn refusal(what: &str, at: usize) -> DatabaseError {
    DatabaseError {
        position: Some(at),
        hint: Some("write one SELECT".to_owned()),
        ..DatabaseError::new(DatabaseErrorKind::ReadOnly, what)
    }
}

/// Skips parentheses before the first word.
fn opening(sql: &str, mut at: usize) -> usize {
    while sql[at..].starts_with('(') {
        match skip_blank(sql, at + 1) {
            Ok(next) => at = next,
            Err(_) => return at,
        }
    }
    at
}

/// Returns the ASCII word at `at`, or an empty string.
fn word(sql: &str, at: usize) -> &str {
    let rest = &sql[at..];
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    &rest[..end.unwrap_or(rest.len())]
}

/// Returns the position of the first character from `at` on that is neither whitespace nor part of
/// a comment. `Err` is the position of an executable comment.
fn skip_blank(sql: &str, mut at: usize) -> Result<usize, usize> {
    loop {
        let rest = &sql[at..];
        let text = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
        at += rest.len() - text.len();
        if text.starts_with("/*!") || text.starts_with("/*M!") {
            return Err(at);
        }
        at += match text.strip_prefix("/*") {
            Some(comment) => comment.find("*/").map_or(text.len(), |end| end + 4),
            None if is_line_comment(text) => text.find('\n').unwrap_or(text.len()),
            None => return Ok(at),
        };
    }
}

/// Returns whether a line comment starts here: `#`, or two dashes before whitespace, a control
/// character or the end of the text.
fn is_line_comment(text: &str) -> bool {
    let dashes = text.strip_prefix("--");
    let dashes = dashes.is_some_and(|rest| rest.chars().next().is_none_or(|c| c <= ' '));
    dashes || text.starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_reads_may_stand_in_front() {
        for sql in [
            "SELECT 1",
            " \t\n\u{b}select 1",
            "-- delete\nSELECT 1",
            "--\nSELECT 1",
            "# x\n/* DROP TABLE t */ with t as (select 1) select * from t",
            "/* /* */ SELECT 1",
            "((SELECT 1))",
            "( /* x */ SELECT 1) UNION (SELECT 2)",
            "VALUES (1)",
            "TABLE t",
            "EXPLAIN SELECT 1",
            "SHOW TABLES",
            "DESC t",
        ] {
            assert_eq!(check(sql), Ok(()), "{sql}");
        }
    }

    #[test]
    fn everything_else_is_refused_with_its_place() {
        use DatabaseErrorKind::{ReadOnly, Syntax};
        for (sql, kind, at) in [
            ("", Syntax, 0),
            ("   ", Syntax, 3),
            ("-- only a comment", Syntax, 17),
            ("/* never closed", Syntax, 15),
            ("订单", Syntax, 0),
            ("DROP TABLE t", ReadOnly, 0),
            ("--x\nSELECT 1", Syntax, 0),
            (" ANALYZE SELECT 1 INTO OUTFILE '/tmp/x'", ReadOnly, 1),
            ("EXPLAIN ANALYZE SELECT 1", ReadOnly, 8),
            ("explain/**/analyze SELECT 1", ReadOnly, 11),
            (
                "SET STATEMENT max_statement_time=0 FOR SELECT 1",
                ReadOnly,
                0,
            ),
            ("/*! DELETE FROM t */", ReadOnly, 0),
            (" /*M!100100 SELECT */ 1", ReadOnly, 1),
            ("(((", Syntax, 3),
        ] {
            let error = check(sql).unwrap_err();
            assert_eq!((error.kind, error.position), (kind, Some(at)), "{sql}");
        }
    }
}
