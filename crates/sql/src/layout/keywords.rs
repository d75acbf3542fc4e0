//! SQL keywords that matter for the layout.

use crate::guard::STATEMENTS;

/// Words that are always keywords when unquoted, except after a dot or AS.
const RESERVED: [&str; 78] = [
    "ALL",
    "ALTER",
    "AND",
    "ANY",
    "AS",
    "ASC",
    "BETWEEN",
    "BY",
    "CASE",
    "CAST",
    "CHECK",
    "COLLATE",
    "CREATE",
    "CROSS",
    "DEFAULT",
    "DELETE",
    "DESC",
    "DISTINCT",
    "DROP",
    "ELSE",
    "END",
    "EXCEPT",
    "EXISTS",
    "FALSE",
    "FETCH",
    "FOR",
    "FOREIGN",
    "FROM",
    "FULL",
    "GROUP",
    "HAVING",
    "ILIKE",
    "IN",
    "INNER",
    "INSERT",
    "INTERSECT",
    "INTERVAL",
    "INTO",
    "IS",
    "JOIN",
    "KEY",
    "LATERAL",
    "LEFT",
    "LIKE",
    "LIMIT",
    "NATURAL",
    "NOT",
    "NULL",
    "ON",
    "OR",
    "ORDER",
    "OUTER",
    "OVER",
    "PARTITION",
    "PRIMARY",
    "REFERENCES",
    "REGEXP",
    "RIGHT",
    "RLIKE",
    "SELECT",
    "SET",
    "SIMILAR",
    "SOME",
    "STRAIGHT_JOIN",
    "TABLE",
    "THEN",
    "TO",
    "TRUE",
    "UNION",
    "UNIQUE",
    "UPDATE",
    "USING",
    "VALUES",
    "WHEN",
    "WHERE",
    "WINDOW",
    "WITH",
    "XOR",
];

/// Words that are keywords in some positions and may be names in others.
const OFTEN: [&str; 22] = [
    "CURRENT",
    "EXCLUDE",
    "FILTER",
    "FIRST",
    "FOLLOWING",
    "LAST",
    "MATERIALIZED",
    "NEXT",
    "NULLS",
    "OFFSET",
    "ONLY",
    "ORDINALITY",
    "PRECEDING",
    "RANGE",
    "RECURSIVE",
    "RETURNING",
    "ROLLUP",
    "ROW",
    "ROWS",
    "TIES",
    "UNBOUNDED",
    "WITHIN",
];

/// Words before a name, after which the words of OFTEN are names.
const BEFORE_NAMES: [&str; 8] = [
    "FROM", "JOIN", "INTO", "UPDATE", "SELECT", "TABLE", "BY", "WHERE",
];

/// Returns the word in upper case if it is a keyword, given the word before it.
pub(super) fn keyword(word: &str, before: &str) -> Option<String> {
    let upper = word.to_ascii_uppercase();
    let follows_as = matches!(upper.as_str(), "SELECT" | "MATERIALIZED" | "NOT");
    if before == "." || (before == "AS" && !follows_as) {
        return None;
    }
    let is_keyword = RESERVED.contains(&upper.as_str())
        || (OFTEN.contains(&upper.as_str())
            && !BEFORE_NAMES.contains(&before)
            && !matches!(before, "," | "(" | ""));
    is_keyword.then_some(upper)
}

/// Returns whether a clause starts with this word, given the word before it.
pub(super) fn begins_clause(word: &str, before: &str) -> bool {
    match word {
        "SELECT" | "WHERE" | "HAVING" | "WINDOW" | "ORDER" | "LIMIT" | "FETCH" | "UNION"
        | "EXCEPT" | "INTERSECT" | "VALUES" | "RETURNING" | "SET" => true,
        "GROUP" => before != "WITHIN",
        // `IS DISTINCT FROM` is a comparison, and DELETE FROM is a single clause.
        "FROM" => !matches!(before, "DISTINCT" | "DELETE"),
        _ => false,
    }
}

/// Returns whether the word is part of the keywords of a join.
pub(super) fn is_join_word(word: &str) -> bool {
    matches!(
        word,
        "JOIN"
            | "LEFT"
            | "RIGHT"
            | "FULL"
            | "INNER"
            | "OUTER"
            | "CROSS"
            | "NATURAL"
            | "STRAIGHT_JOIN"
    )
}

/// Returns whether a space separates this word from an opening bracket.
pub(super) fn has_space_before_paren(word: &str) -> bool {
    matches!(
        word,
        "AND"
            | "AS"
            | "BETWEEN"
            | "BY"
            | "EXCEPT"
            | "FROM"
            | "HAVING"
            | "IN"
            | "INTERSECT"
            | "JOIN"
            | "LATERAL"
            | "LIKE"
            | "NOT"
            | "ON"
            | "OR"
            | "OVER"
            | "SELECT"
            | "THEN"
            | "UNION"
            | "USING"
            | "VALUES"
            | "WHEN"
            | "WHERE"
            | "ELSE"
            | "OFFSET"
            | "LIMIT"
            | "FILTER"
    )
}

/// Words that start statements which read.
const READING: [&str; 4] = ["SELECT", "TABLE", "VALUES", "WITH"];

/// Returns whether a statement can start with the word.
pub(super) fn begins_a_statement(word: &str) -> bool {
    let mut all = READING.iter().chain(&STATEMENTS);
    all.any(|first| first.eq_ignore_ascii_case(word))
}
