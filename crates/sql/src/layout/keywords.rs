//! Words of SQL, as far as the layout has to know them.

use crate::guard::STATEMENTS;

/// Words that are keywords wherever they stand without quotes, and not behind a dot or AS.
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

/// Words that are keywords in their place and may be names in others.
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

/// Words behind which a name stands, where OFTEN words are names.
const BEFORE_NAMES: [&str; 8] = [
    "FROM", "JOIN", "INTO", "UPDATE", "SELECT", "TABLE", "BY", "WHERE",
];

/// The keyword in upper case that a word is, given the word before it.
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

/// Whether a clause begins with this word, given the word before it.
pub(super) fn begins_clause(word: &str, before: &str) -> bool {
    match word {
        "SELECT" | "WHERE" | "HAVING" | "WINDOW" | "ORDER" | "LIMIT" | "FETCH" | "UNION"
        | "EXCEPT" | "INTERSECT" | "VALUES" | "RETURNING" | "SET" => true,
        "GROUP" => before != "WITHIN",
        // `IS DISTINCT FROM` compares, and DELETE and its FROM are one.
        "FROM" => !matches!(before, "DISTINCT" | "DELETE"),
        _ => false,
    }
}

/// Whether a join begins or goes on with this word.
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

/// Whether a bracket behind this word stands apart from it.
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

/// Words that statements begin with which read.
const READING: [&str; 4] = ["SELECT", "TABLE", "VALUES", "WITH"];

/// Whether a statement can begin with a word.
pub(super) fn begins_a_statement(word: &str) -> bool {
    let mut all = READING.iter().chain(&STATEMENTS);
    all.any(|first| first.eq_ignore_ascii_case(word))
}
