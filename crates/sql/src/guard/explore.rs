//! Checks descriptive statements: the read-only forms of SHOW, DESCRIBE, EXPLAIN and PRAGMA.
//!
//! They are checked token by token. Only the forms listed here are accepted.

use quillet_core::ErrorCode;

use super::lexer::{Kind, Token};
use super::text::TokenizedQuery;
use super::{ApprovedQuery, GuardError, GuardMode, PRAGMAS, Policy, relations, select};
use crate::{Catalogue, SqlDialect};

/// Returns whether the statement is SHOW, DESCRIBE, EXPLAIN or PRAGMA.
pub(super) fn is_explore_statement(text: &TokenizedQuery<'_>) -> bool {
    let words = ["SHOW", "DESCRIBE", "DESC", "EXPLAIN", "PRAGMA"];
    words.iter().any(|word| is_word(text, 0, word))
}

/// Accepts the read-only forms.
pub(super) fn check(
    text: &TokenizedQuery<'_>,
    catalogue: Option<&Catalogue>,
    policy: &Policy,
) -> Result<ApprovedQuery, GuardError> {
    if is_word(text, 0, "SHOW") {
        return show(text);
    }
    if is_word(text, 0, "PRAGMA") {
        return pragma(text);
    }
    match explained(text)? {
        Some(start) => explain(text, start, catalogue, policy),
        None => describe(text),
    }
}

fn is_word(text: &TokenizedQuery<'_>, i: usize, word: &str) -> bool {
    let token = text.tokens.get(i);
    token.is_some_and(|token| token.is_word(text.source, word))
}

fn approve(text: &TokenizedQuery<'_>, tables: Vec<String>) -> ApprovedQuery {
    ApprovedQuery {
        sql: text.plain.trim().to_owned(),
        shown: text.source.trim().to_owned(),
        tables,
        limited: false,
    }
}

fn refuse(text: &TokenizedQuery<'_>, i: usize, help: &str) -> GuardError {
    let token = text.tokens.get(i).or(text.tokens.last());
    let word = token.map_or("", |token| token.text(text.source));
    let message = match i {
        0 => format!("this form of {} is not allowed", word.to_ascii_uppercase()),
        _ => format!("unexpected {word:?}"),
    };
    let error = GuardError::new(ErrorCode::GuardStatement, message).help(help);
    match token {
        Some(token) => error.at(text.source, &token.span),
        None => error,
    }
}

/// PostgreSQL settings about the interpretation of values, which reveal nothing about the server.
const SETTINGS: [&str; 20] = [
    "bytea_output",
    "client_encoding",
    "datestyle",
    "default_transaction_isolation",
    "extra_float_digits",
    "integer_datetimes",
    "intervalstyle",
    "lc_collate",
    "lc_ctype",
    "lc_messages",
    "lc_monetary",
    "lc_numeric",
    "lc_time",
    "max_identifier_length",
    "search_path",
    "server_encoding",
    "server_version",
    "server_version_num",
    "standard_conforming_strings",
    "statement_timeout",
];

/// Allowed forms of MySQL's SHOW; longer forms first.
const SHOWN: [&[&str]; 17] = [
    &["TABLE", "STATUS"],
    &["TABLES"],
    &["FULL", "TABLES"],
    &["COLUMNS"],
    &["FIELDS"],
    &["FULL", "COLUMNS"],
    &["FULL", "FIELDS"],
    &["INDEX"],
    &["INDEXES"],
    &["KEYS"],
    &["CREATE", "TABLE"],
    &["CREATE", "VIEW"],
    &["DATABASES"],
    &["SCHEMAS"],
    &["CHARACTER", "SET"],
    &["CHARSET"],
    &["COLLATION"],
];

fn show(text: &TokenizedQuery<'_>) -> Result<ApprovedQuery, GuardError> {
    match text.dialect {
        SqlDialect::PostgreSql => show_setting(text),
        SqlDialect::MySql => {
            let help = "allowed: SHOW TABLES, COLUMNS, INDEX and CREATE TABLE";
            let begins = |words: &&&[&str]| {
                words
                    .iter()
                    .enumerate()
                    .all(|(i, word)| is_word(text, i + 1, word))
            };
            let form = SHOWN
                .iter()
                .find(begins)
                .ok_or_else(|| refuse(text, 0, help))?;
            check_rest(text, form.len() + 1, help)?;
            Ok(approve(text, Vec::new()))
        }
        SqlDialect::Sqlite => Err(refuse(text, 0, "SQLite has no SHOW; query sqlite_schema")),
    }
}

fn show_setting(text: &TokenizedQuery<'_>) -> Result<ApprovedQuery, GuardError> {
    let help = "allowed: SHOW server_version, search_path and similar settings";
    let words: Vec<String> = text
        .tokens
        .iter()
        .skip(1)
        .map(|t| t.text(text.source).to_ascii_lowercase())
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["timezone"] | ["time", "zone"] => Ok(approve(text, Vec::new())),
        // Only listed settings are allowed, because other settings reveal paths, addresses and
        // users of the server.
        [name] if SETTINGS.contains(name) => Ok(approve(text, Vec::new())),
        _ => Err(refuse(text, 0, help)),
    }
}

/// Accepts names, `FROM`, `IN`, `LIKE` and string literals, but no expressions.
fn check_rest(text: &TokenizedQuery<'_>, from: usize, help: &str) -> Result<(), GuardError> {
    for (i, token) in text.tokens.iter().enumerate().skip(from) {
        let fits = match token.kind {
            Kind::Quoted | Kind::Text => true,
            Kind::Word => !token.is_word(text.source, "WHERE"),
            Kind::Mark => token.is_mark(text.source, "."),
            _ => false,
        };
        if !fits {
            return Err(refuse(text, i, help));
        }
        // String literals are LIKE patterns, so they do not need the name check.
        if token.kind != Kind::Text {
            check_schema(text, token)?;
        }
    }
    Ok(())
}

/// Rejects names of system schemas.
fn check_schema(text: &TokenizedQuery<'_>, token: &Token) -> Result<(), GuardError> {
    let name = unquoted(token.text(text.source));
    let parts = [name.clone(), "t".to_owned()];
    if relations::class(text.dialect, &parts) != relations::RelationName::System {
        return Ok(());
    }
    let message = format!("cannot read {name}: it belongs to the system");
    Err(GuardError::new(ErrorCode::GuardSystem, message).at(text.source, &token.span))
}

fn unquoted(name: &str) -> String {
    let inner = name.trim_matches(|c| "\"`[]'".contains(c));
    inner.to_owned()
}

/// Accepts `PRAGMA table_info(t)`: a listed name with at most one name or number in brackets.
fn pragma(text: &TokenizedQuery<'_>) -> Result<ApprovedQuery, GuardError> {
    let help = "allowed: PRAGMA table_info(t), index_list(t) and foreign_key_list(t)";
    if text.dialect != SqlDialect::Sqlite {
        return Err(refuse(text, 0, "only SQLite has PRAGMA"));
    }
    let mut at = 1;
    let has_schema = text
        .tokens
        .get(2)
        .is_some_and(|t| t.is_mark(text.source, "."));
    if has_schema {
        at = 3;
    }
    let name = text
        .tokens
        .get(at)
        .map(|t| t.text(text.source).to_ascii_lowercase());
    if !name.is_some_and(|name| PRAGMAS.contains(&name.as_str())) {
        return Err(refuse(text, at, help));
    }
    let rest: Vec<&Token> = text.tokens.iter().skip(at + 1).collect();
    match rest.as_slice() {
        [] => Ok(approve(text, Vec::new())),
        [open, argument, close]
            if open.is_mark(text.source, "(")
                && close.is_mark(text.source, ")")
                && argument.kind != Kind::Mark =>
        {
            Ok(approve(text, vec![unquoted(argument.text(text.source))]))
        }
        _ => Err(refuse(text, at + 1, help)),
    }
}

/// Accepts `DESCRIBE t [column]`.
fn describe(text: &TokenizedQuery<'_>) -> Result<ApprovedQuery, GuardError> {
    let help = "allowed: DESCRIBE followed by a table";
    if text.dialect != SqlDialect::MySql {
        return Err(refuse(text, 0, help));
    }
    check_rest(text, 1, help)?;
    let names = text
        .tokens
        .iter()
        .skip(1)
        .map(|t| unquoted(t.text(text.source)));
    let names: Vec<String> = names.collect();
    let table = match names.as_slice() {
        [schema, dot, table, ..] if dot == "." => format!("{schema}.{table}"),
        [table] | [table, _] => table.clone(),
        _ => return Err(refuse(text, 0, help)),
    };
    Ok(approve(text, vec![table]))
}

/// Returns the byte offset of the query that EXPLAIN explains.
pub(super) fn explained_query(text: &TokenizedQuery<'_>) -> Option<usize> {
    if !is_word(text, 0, "EXPLAIN") {
        return None;
    }
    let start = explained(text).ok().flatten()?;
    text.tokens.get(start).map(|token| token.span.start)
}

/// Returns the first token of the explained query; `None` if the statement describes a table.
fn explained(text: &TokenizedQuery<'_>) -> Result<Option<usize>, GuardError> {
    let help = "allowed: EXPLAIN without ANALYZE, for queries that only read";
    let mut at = 1;
    // An opening parenthesis starts either options or a query: `EXPLAIN (SELECT 1)`.
    if text
        .tokens
        .get(at)
        .is_some_and(|t| t.is_mark(text.source, "("))
        && text.dialect == SqlDialect::PostgreSql
        && !begins_query(text, at + 1)
    {
        at = options(text, at + 1, help)?;
    }
    loop {
        if begins_query(text, at)
            || text
                .tokens
                .get(at)
                .is_some_and(|t| t.is_mark(text.source, "("))
        {
            return Ok(Some(at));
        }
        let Some(token) = text.tokens.get(at) else {
            return Err(refuse(text, 0, help));
        };
        let word = token.text(text.source).to_ascii_uppercase();
        at += match (text.dialect, word.as_str()) {
            (SqlDialect::PostgreSql, "VERBOSE") => 1,
            (SqlDialect::MySql, "EXTENDED" | "PARTITIONS") => 1,
            (SqlDialect::MySql, "FORMAT") if is_equals(text, at + 1) => 3,
            (SqlDialect::Sqlite, "QUERY") if is_word(text, at + 1, "PLAN") => 2,
            // MySQL: `EXPLAIN t` is the same as `DESCRIBE t`.
            (SqlDialect::MySql, word) if at == 1 && !NO_TABLES.contains(&word) => return Ok(None),
            _ => return Err(refuse(text, at, help)),
        };
    }
}

fn is_equals(text: &TokenizedQuery<'_>, i: usize) -> bool {
    let token = text.tokens.get(i);
    token.is_some_and(|token| token.is_mark(text.source, "="))
}

/// Words after EXPLAIN that are not table names.
const NO_TABLES: [&str; 9] = [
    "ANALYZE", "ANALYSE", "FOR", "INSERT", "UPDATE", "DELETE", "REPLACE", "FORMAT", "INTO",
];

fn begins_query(text: &TokenizedQuery<'_>, i: usize) -> bool {
    let words = ["SELECT", "WITH", "VALUES", "TABLE"];
    words.iter().any(|word| is_word(text, i, word))
}

/// Parses PostgreSQL's bracketed options, and accepts only those that do not run the query.
fn options(text: &TokenizedQuery<'_>, from: usize, help: &str) -> Result<usize, GuardError> {
    const OPTIONS: [&str; 18] = [
        "FORMAT",
        "JSON",
        "TEXT",
        "XML",
        "YAML",
        "VERBOSE",
        "COSTS",
        "SUMMARY",
        "GENERIC_PLAN",
        "TRUE",
        "FALSE",
        "ON",
        "OFF",
        "1",
        "0",
        ",",
        "MEMORY",
        "SETTINGS",
    ];
    for (i, token) in text.tokens.iter().enumerate().skip(from) {
        if token.is_mark(text.source, ")") {
            return Ok(i + 1);
        }
        let word = token.text(text.source).to_ascii_uppercase();
        if !OPTIONS.contains(&word.as_str()) {
            return Err(refuse(text, i, help));
        }
    }
    Err(refuse(text, 0, help))
}

/// Checks the query after EXPLAIN like any other query.
fn explain(
    text: &TokenizedQuery<'_>,
    start: usize,
    catalogue: Option<&Catalogue>,
    policy: &Policy,
) -> Result<ApprovedQuery, GuardError> {
    let at = text.tokens.get(start).map_or(0, |token| token.span.start);
    // Leading blanks preserve the byte offsets of the query.
    let query = " ".repeat(at) + text.source.get(at..).unwrap_or_default();
    let policy = Policy {
        // An explained query must pass the checks of a query that runs: EXPLAIN plans function
        // calls, and planning may evaluate constant calls.
        mode: GuardMode::Select,
        rows: None,
        ..policy.clone()
    };
    let inner = TokenizedQuery::read(&query, text.dialect, &policy)
        .map_err(|error| with_original_position(text, error))?;
    let approved = select::check(&inner, catalogue, &policy)
        .map_err(|error| with_original_position(text, error))?;
    Ok(approve(text, approved.tables))
}

/// Converts the position of an error to the whole text.
fn with_original_position(text: &TokenizedQuery<'_>, error: GuardError) -> GuardError {
    match error.span {
        Some(span) => error.at(text.source, &(span.start..span.end)),
        None => error,
    }
}
