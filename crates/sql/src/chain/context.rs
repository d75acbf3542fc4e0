//! Renders a catalogue as text for models: the table list of phase 1 and the schema of phase 2.
//!
//! Names and comments from a database are untrusted. They stay on one line and within length
//! limits, so that a comment cannot imitate another table, a request or a rule.

use super::untrusted_text::{COMMENT, is_unseen, sanitize_line};
use crate::SqlDialect;
use crate::catalogue::{Catalogue, DatabaseTable, ForeignKey, TableColumn};

/// Maximum number of enum labels listed.
const LABELS: usize = 24;

/// Replaces a missing comment in the table list.
const NO_COMMENT: &str = "No description";

/// Returns the list of all tables, and the number of tables. The format is identical to
/// table-chat's: `DatabaseTable: {schema}.{table} ({type}) - {comment or "No description"}`.
#[must_use]
pub fn build_table_summary_context(catalogue: &Catalogue) -> (String, usize) {
    let lines: Vec<String> = catalogue.tables.iter().map(seed_line).collect();
    (lines.join("\n"), lines.len())
}

/// Returns the schema of the named tables, in the given order, or of all tables if `table_names` is
/// `None`. A name is `schema.table`, or a bare name that matches in every schema.
#[must_use]
pub fn build_schema_context(catalogue: &Catalogue, table_names: Option<&[String]>) -> String {
    let text = |table: &DatabaseTable| table_text(table, catalogue.dialect, &|_| None);
    let texts: Vec<String> = match table_names {
        None => catalogue.tables.iter().map(text).collect(),
        Some(names) => {
            let found = names
                .iter()
                .flat_map(|name| super::select::named(catalogue, name));
            found
                .filter_map(|i| catalogue.tables.get(i))
                .map(text)
                .collect()
        }
    };
    texts.join("\n\n")
}

/// Returns the line of a table in table-chat's list.
pub(super) fn seed_line(table: &DatabaseTable) -> String {
    line(table, table.comment.as_deref().unwrap_or(NO_COMMENT))
}

/// Returns the line of a table without the text for a missing comment, which takes 2 to 55 % of a
/// list.
pub(super) fn short_line(table: &DatabaseTable) -> String {
    match table
        .comment
        .as_deref()
        .map(sanitize_line)
        .filter(|comment| !comment.is_empty())
    {
        Some(comment) => line(table, &comment),
        None => head(table, &sanitize_line(&table.qualified())),
    }
}

fn line(table: &DatabaseTable, comment: &str) -> String {
    format!(
        "{} - {}",
        head(table, &sanitize_line(&table.qualified())),
        sanitize_line(comment)
    )
}

fn head(table: &DatabaseTable, name: &str) -> String {
    format!("Table: {name} ({})", table.table_type)
}

/// Returns the schema of one table: one line for the table and one for each column, with names
/// quoted for queries. `known` returns hints about the values of the column with this index, which
/// replace the labels of its enum.
pub(super) fn table_text(
    table: &DatabaseTable,
    dialect: SqlDialect,
    known: &dyn Fn(usize) -> Option<String>,
) -> String {
    let name = format!(
        "{}.{}",
        quoted(&table.schema_name, dialect),
        quoted(&table.table_name, dialect)
    );
    let mut text = head(table, &name);
    if let Some(comment) = &table.comment {
        text.push_str(" - ");
        text.push_str(&sanitize_line(comment));
    }
    for (place, column) in table.columns.iter().enumerate() {
        text.push_str("\n  ");
        text.push_str(&column_text(column, table, dialect, known(place)));
    }
    for key in table
        .foreign_keys
        .iter()
        .filter(|key| key.columns.len() > 1)
    {
        let names = |names: &[String]| {
            let names: Vec<String> = names.iter().map(|name| quoted(name, dialect)).collect();
            names.join(", ")
        };
        text.push_str(&format!(
            "\n  ({}) -> {} ({})",
            names(&key.columns),
            target(key, dialect),
            names(&key.ref_columns)
        ));
    }
    text
}

fn column_text(
    column: &TableColumn,
    table: &DatabaseTable,
    dialect: SqlDialect,
    known: Option<String>,
) -> String {
    let mut text = format!(
        "{} {}",
        quoted(&column.name, dialect),
        sanitize_line(&column.data_type)
    );
    if column.is_primary_key {
        text.push_str(" PK");
    }
    // A single-column key is shown with its column; longer keys get a line below.
    let alone = table
        .foreign_keys
        .iter()
        .find(|key| key.columns == [column.name.as_str()]);
    if let Some(key) = alone {
        text.push_str(&format!(" -> {}", target(key, dialect)));
        if let [column] = key.ref_columns.as_slice() {
            text.push_str(&format!(".{}", quoted(column, dialect)));
        }
    }
    // MySQL includes the labels in the type itself: `enum('a','b')`.
    let spelled = column.data_type.contains('\'');
    let declared = || {
        let has_labels = !column.values.is_empty() && !spelled;
        has_labels.then(|| format!("in ({})", labels(&column.values, dialect)))
    };
    if let Some(values) = known.or_else(declared) {
        text.push(' ');
        text.push_str(&values);
    }
    if let Some(comment) = &column.comment {
        text.push_str(" -- ");
        text.push_str(&sanitize_line(comment));
    }
    text
}

fn labels(values: &[String], dialect: SqlDialect) -> String {
    let shown = values.iter().filter_map(|label| literal(label, dialect));
    let mut shown: Vec<String> = shown.take(LABELS).collect();
    if values.len() > shown.len() {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}

/// Returns a value as an SQL literal. Returns `None` if it does not fit on one line unchanged,
/// because a changed literal would be a different value.
pub(super) fn literal(value: &str, dialect: SqlDialect) -> Option<String> {
    if value.chars().any(is_unseen) || value.chars().nth(COMMENT).is_some() {
        return None;
    }
    let value = match dialect {
        // In MySQL, a backslash is an escape character here, because sessions never use another
        // mode.
        SqlDialect::MySql => value.replace('\\', "\\\\"),
        _ => value.to_owned(),
    };
    Some(format!("'{}'", value.replace('\'', "''")))
}

fn target(key: &ForeignKey, dialect: SqlDialect) -> String {
    format!(
        "{}.{}",
        quoted(&key.ref_schema, dialect),
        quoted(&key.ref_table, dialect)
    )
}

/// Returns a name, quoted if this dialect requires quotes.
///
/// ```
/// use quillet_sql::SqlDialect;
/// use quillet_sql::chain::quoted;
///
/// assert_eq!(quoted("city", SqlDialect::PostgreSql), "city");
/// assert_eq!(quoted("City", SqlDialect::PostgreSql), "\"City\"");
/// ```
#[must_use]
pub fn quoted(name: &str, dialect: SqlDialect) -> String {
    // Unnecessary quotes are safe but cost tokens in every prompt.
    let plain = match dialect {
        // PostgreSQL folds bare names to lower case; the others keep or ignore case.
        SqlDialect::PostgreSql => !name.chars().any(char::is_uppercase),
        _ => true,
    };
    let first = name.chars().next().unwrap_or(' ');
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let bare = plain
        && (first.is_alphabetic() || first == '_')
        && name.chars().all(word)
        && !is_reserved(name);
    if bare {
        return name.to_owned();
    }
    let name: String = name.chars().filter(|c| !c.is_control()).collect();
    match dialect {
        SqlDialect::MySql => format!("`{}`", name.replace('`', "``")),
        _ => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

/// Returns whether the word must be quoted as a name in at least one dialect. Only words common in
/// schemas are listed.
fn is_reserved(name: &str) -> bool {
    let folded = name.to_ascii_lowercase();
    RESERVED.binary_search(&folded.as_str()).is_ok()
}

/// Sorted for binary search.
const RESERVED: &[&str] = &[
    "add",
    "all",
    "alter",
    "analyse",
    "analyze",
    "and",
    "any",
    "array",
    "as",
    "asc",
    "asymmetric",
    "authorization",
    "before",
    "between",
    "binary",
    "both",
    "by",
    "call",
    "cascade",
    "case",
    "cast",
    "change",
    "char",
    "character",
    "check",
    "collate",
    "collation",
    "column",
    "commit",
    "condition",
    "constraint",
    "continue",
    "convert",
    "create",
    "cross",
    "cube",
    "current",
    "current_date",
    "current_role",
    "current_time",
    "current_timestamp",
    "current_user",
    "cursor",
    "database",
    "databases",
    "default",
    "deferrable",
    "delete",
    "desc",
    "describe",
    "distinct",
    "div",
    "do",
    "drop",
    "dual",
    "each",
    "else",
    "elseif",
    "empty",
    "end",
    "escape",
    "except",
    "exists",
    "exit",
    "explain",
    "false",
    "fetch",
    "float",
    "for",
    "force",
    "foreign",
    "freeze",
    "from",
    "full",
    "fulltext",
    "function",
    "generated",
    "get",
    "grant",
    "group",
    "grouping",
    "groups",
    "having",
    "if",
    "ignore",
    "ilike",
    "in",
    "index",
    "infile",
    "initially",
    "inner",
    "inout",
    "insert",
    "int",
    "integer",
    "intersect",
    "interval",
    "into",
    "is",
    "isnull",
    "iterate",
    "join",
    "key",
    "keys",
    "kill",
    "lag",
    "lateral",
    "lead",
    "leading",
    "leave",
    "left",
    "like",
    "limit",
    "lines",
    "load",
    "localtime",
    "localtimestamp",
    "lock",
    "long",
    "loop",
    "match",
    "mod",
    "natural",
    "not",
    "notnull",
    "null",
    "numeric",
    "of",
    "offset",
    "on",
    "only",
    "optimize",
    "option",
    "or",
    "order",
    "out",
    "outer",
    "over",
    "overlaps",
    "partition",
    "placing",
    "precision",
    "primary",
    "procedure",
    "range",
    "rank",
    "read",
    "real",
    "recursive",
    "references",
    "regexp",
    "release",
    "rename",
    "repeat",
    "replace",
    "require",
    "restrict",
    "return",
    "returning",
    "revoke",
    "right",
    "rlike",
    "row",
    "rows",
    "schema",
    "schemas",
    "select",
    "separator",
    "session_user",
    "set",
    "show",
    "similar",
    "smallint",
    "some",
    "spatial",
    "sql",
    "ssl",
    "starting",
    "symmetric",
    "system",
    "table",
    "tablesample",
    "terminated",
    "then",
    "to",
    "trailing",
    "transaction",
    "trigger",
    "true",
    "undo",
    "union",
    "unique",
    "unlock",
    "unsigned",
    "update",
    "usage",
    "use",
    "user",
    "using",
    "values",
    "variadic",
    "varying",
    "verbose",
    "when",
    "where",
    "while",
    "window",
    "with",
    "write",
    "xor",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_literals_of_their_dialect_or_not_written() {
        let long = "x".repeat(COMMENT + 1);
        for (value, mysql, others) in [
            ("PAID", Some("'PAID'"), Some("'PAID'")),
            ("it's", Some("'it''s'"), Some("'it''s'")),
            (r"a\b", Some(r"'a\\b'"), Some(r"'a\b'")),
            (r"\' OR 1", Some(r"'\\'' OR 1'"), Some(r"'\'' OR 1'")),
            ("{{x}} {y}", Some("'{{x}} {y}'"), Some("'{{x}} {y}'")),
            ("two  blanks", Some("'two  blanks'"), Some("'two  blanks'")),
            ("已付款", Some("'已付款'"), Some("'已付款'")),
            ("a\nb", None, None),
            ("a\u{0}b", None, None),
            ("a\u{202e}b", None, None),
            (&long, None, None),
        ] {
            let written = |dialect| literal(value, dialect);
            assert_eq!(written(SqlDialect::MySql).as_deref(), mysql, "{value:?}");
            for dialect in [SqlDialect::PostgreSql, SqlDialect::Sqlite] {
                assert_eq!(written(dialect).as_deref(), others, "{value:?}");
            }
        }
    }
}
