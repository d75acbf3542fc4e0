//! The catalogue, from `information_schema`: four queries and one for the fingerprint, whatever
//! the number of tables.
//!
//! MariaDB has no dictionary behind these views: it opens each table for each query, so that rows
//! are asked for in one pass, filtered by schema only, and joined and sorted here. What needs
//! no open handler is cheap; row estimates and foreign keys need one (figures in docs/performance.md).

use foldhash::{HashMap, HashMapExt};
use mysql_async::prelude::{FromRow, Queryable};
use mysql_async::{Conn, Error, Params, Value};

use crate::catalogue::{Catalogue, Column, ForeignKey, Table, TableType};
use crate::database::Progress;
use crate::{DatabaseError, Dialect};

use super::error;

/// Reads everything of these schemas; the first is the one that bare names mean.
pub(super) async fn read(
    conn: &mut Conn,
    schemas: &[String],
    progress: Progress<'_>,
) -> Result<Catalogue, DatabaseError> {
    let steps = ["tables", "columns", "keys", "foreign keys"];
    let step = |done: usize| {
        let what = steps.get(done).copied().unwrap_or("done");
        progress(done as u64, steps.len() as u64, what);
    };
    step(0);
    // Before the rest: what changes meanwhile is then seen as a change.
    let (version, fingerprint) = fingerprint(conn, schemas).await?;
    let mut found = Found::new(tables(conn, schemas).await?);
    step(1);
    columns(conn, schemas, &mut found).await?;
    step(2);
    unique_keys(conn, schemas, &mut found).await?;
    step(3);
    foreign_keys(conn, schemas, &mut found).await?;
    step(4);
    let path = schemas.iter().take(1).cloned().collect();
    Ok(Catalogue::new(
        Dialect::MySql,
        version,
        path,
        found.tables,
        fingerprint,
    ))
}

/// Tables, and where each is in the list.
struct Found {
    tables: Vec<Table>,
    places: HashMap<(String, String), usize>,
}

impl Found {
    fn new(mut tables: Vec<Table>) -> Self {
        let name = |table: &Table| (table.schema_name.clone(), table.table_name.clone());
        tables.sort_by_cached_key(name);
        let mut places = HashMap::with_capacity(tables.len());
        for (i, table) in tables.iter().enumerate() {
            places.insert(name(table), i);
        }
        Found { tables, places }
    }

    fn place(&self, schema: String, name: String) -> Option<usize> {
        self.places.get(&(schema, name)).copied()
    }
}

/// All rows of a query with `{in}` in place of the list of schemas.
async fn rows<R: FromRow + Send + 'static>(
    conn: &mut Conn,
    sql: &str,
    schemas: &[String],
    mut each: impl FnMut(R) + Send,
) -> Result<(), DatabaseError> {
    let list = vec!["?"; schemas.len()].join(", ");
    let lists = sql.matches("{in}").count();
    let sql = sql.replace("{in}", &format!("IN ({list})"));
    let names = std::iter::repeat_n(schemas, lists).flatten();
    let values = Params::Positional(names.map(Value::from).collect());
    let failed = |error: Error| error::of_query(&error, &sql);
    let mut result = conn.exec_iter(sql.as_str(), values).await.map_err(failed)?;
    let mut bad = None;
    let reading = result.for_each(|row| match mysql_async::from_row_opt::<R>(row) {
        Ok(row) => each(row),
        Err(error) => bad = Some(error.to_string()),
    });
    reading.await.map_err(failed)?;
    match bad {
        None => Ok(()),
        Some(message) => Err(DatabaseError::new(
            crate::DatabaseErrorKind::Failed,
            format!("information_schema is not as expected: {message}"),
        )),
    }
}

/// Relations that can be read. A sequence is none of them. The comment of a view is the word
/// VIEW, or why the view is broken.
async fn tables(conn: &mut Conn, schemas: &[String]) -> Result<Vec<Table>, DatabaseError> {
    type Row = (String, String, String, Option<String>, Option<u64>);
    let mut tables = Vec::new();
    let sql = "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, TABLE_COMMENT, TABLE_ROWS \
               FROM information_schema.TABLES WHERE TABLE_SCHEMA {in}";
    let each = |(schema_name, table_name, kind, comment, row_count): Row| {
        let is_view = kind.ends_with("VIEW");
        if kind == "SEQUENCE" {
            return;
        }
        tables.push(Table {
            schema_name,
            table_name,
            table_type: match is_view {
                true => TableType::View,
                false => TableType::Table,
            },
            comment: comment.filter(|text| !is_view && !text.is_empty()),
            row_count: row_count.filter(|_| !is_view),
            ..Table::default()
        });
    };
    rows(conn, sql, schemas, each).await?;
    Ok(tables)
}

async fn columns(
    conn: &mut Conn,
    schemas: &[String],
    found: &mut Found,
) -> Result<(), DatabaseError> {
    type Row = (
        String,
        String,
        u64,
        String,
        String,
        String,
        String,
        Option<String>,
        Option<String>,
        Option<String>,
    );
    let sql = "SELECT TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION, COLUMN_NAME, COLUMN_TYPE, \
               DATA_TYPE, IS_NULLABLE, COLUMN_DEFAULT, EXTRA, COLUMN_COMMENT \
               FROM information_schema.COLUMNS WHERE TABLE_SCHEMA {in}";
    let mut columns: Vec<(usize, u64, Column)> = Vec::new();
    let each =
        |(schema, table, position, name, full, kind, nullable, default, extra, comment): Row| {
            let Some(place) = found.place(schema, table) else {
                return;
            };
            let has_values = ["enum", "set"].contains(&kind.as_str());
            let column = Column {
                name,
                values: if has_values {
                    labels(&full)
                } else {
                    Vec::new()
                },
                data_type: if has_values { kind } else { full },
                is_nullable: nullable == "YES",
                is_primary_key: false,
                // MariaDB writes out that there is none.
                default_value: default.filter(|text| text != "NULL"),
                comment: comment.filter(|text| !text.is_empty()),
                extra: extra.and_then(|text| special(&text)),
            };
            columns.push((place, position, column));
        };
    rows(conn, sql, schemas, each).await?;
    columns.sort_by_key(|(place, position, _)| (*place, *position));
    for (place, _, column) in columns {
        found.tables[place].columns.push(column);
    }
    Ok(())
}

/// What EXTRA says, in the words of [`Column::extra`].
fn special(extra: &str) -> Option<String> {
    let is_generated = [
        "VIRTUAL GENERATED",
        "STORED GENERATED",
        "PERSISTENT GENERATED",
    ];
    if is_generated.iter().any(|known| extra.contains(known)) {
        return Some("generated".to_owned());
    }
    // MySQL's way to say that the default is an expression.
    let rest = extra.replace("DEFAULT_GENERATED", "");
    Some(rest.trim().to_owned()).filter(|text| !text.is_empty())
}

/// The labels of `enum('a','b')`: quotes are doubled, and a backslash stands before what it escapes.
fn labels(full: &str) -> Vec<String> {
    let mut labels = Vec::new();
    let mut label: Option<String> = None;
    let mut rest = full.chars().peekable();
    while let Some(c) = rest.next() {
        let Some(text) = &mut label else {
            if c == '\'' {
                label = Some(String::new());
            }
            continue;
        };
        match c {
            '\'' if rest.peek() == Some(&'\'') => text.extend(rest.next()),
            '\'' => labels.extend(label.take()),
            '\\' => text.extend(rest.next().map(escaped)),
            c => text.push(c),
        }
    }
    labels
}

fn escaped(c: char) -> char {
    match c {
        'n' => '\n',
        'r' => '\r',
        '0' => '\0',
        c => c,
    }
}

/// Primary keys and unique ones, from the index that stands behind each.
async fn unique_keys(
    conn: &mut Conn,
    schemas: &[String],
    found: &mut Found,
) -> Result<(), DatabaseError> {
    type Row = (String, String, String, u64, Option<String>);
    let sql = "SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX, COLUMN_NAME \
               FROM information_schema.STATISTICS WHERE NON_UNIQUE = 0 AND TABLE_SCHEMA {in}";
    let mut parts: Vec<(usize, String, u64, Option<String>)> = Vec::new();
    let each = |(schema, table, index, position, column): Row| {
        if let Some(place) = found.place(schema, table) {
            parts.push((place, index, position, column));
        }
    };
    rows(conn, sql, schemas, each).await?;
    parts.sort();
    for key in parts.chunk_by(|a, b| (a.0, &a.1) == (b.0, &b.1)) {
        // A part without a column is an expression.
        let columns: Option<Vec<String>> = key.iter().map(|part| part.3.clone()).collect();
        let (Some((place, index, ..)), Some(columns)) = (key.first(), columns) else {
            continue;
        };
        let table = &mut found.tables[*place];
        if index != "PRIMARY" {
            table.unique.push(columns);
            continue;
        }
        for column in &mut table.columns {
            column.is_primary_key = columns.contains(&column.name);
        }
    }
    Ok(())
}

async fn foreign_keys(
    conn: &mut Conn,
    schemas: &[String],
    found: &mut Found,
) -> Result<(), DatabaseError> {
    type Row = (String, String, String, u64, String, String, String, String);
    let sql = "SELECT TABLE_SCHEMA, TABLE_NAME, CONSTRAINT_NAME, ORDINAL_POSITION, COLUMN_NAME, \
               REFERENCED_TABLE_SCHEMA, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME \
               FROM information_schema.KEY_COLUMN_USAGE \
               WHERE REFERENCED_TABLE_NAME IS NOT NULL AND TABLE_SCHEMA {in}";
    let mut parts: Vec<(usize, String, u64, [String; 4])> = Vec::new();
    let each = |(schema, table, name, position, column, ref_schema, ref_table, ref_column): Row| {
        if let Some(place) = found.place(schema, table) {
            parts.push((
                place,
                name,
                position,
                [column, ref_schema, ref_table, ref_column],
            ));
        }
    };
    rows(conn, sql, schemas, each).await?;
    parts.sort();
    for part in parts {
        let (place, _name, position, [column, ref_schema, ref_table, ref_column]) = part;
        let keys = &mut found.tables[place].foreign_keys;
        if position == 1 {
            keys.push(ForeignKey {
                ref_schema,
                ref_table,
                ..ForeignKey::default()
            });
        }
        if let Some(key) = keys.last_mut() {
            key.columns.push(column);
            key.ref_columns.push(ref_column);
        }
    }
    Ok(())
}

/// The server's version, and what changes when tables, columns, comments or keys do: counts and
/// sums over what the catalogue reads, taken in the server.
pub(super) async fn fingerprint(
    conn: &mut Conn,
    schemas: &[String],
) -> Result<(String, String), DatabaseError> {
    let sum = |view: &str, fields: &str, more: &str| {
        format!(
            "(SELECT CONCAT(COUNT(*), '.', LOWER(HEX(BIT_XOR(CAST(CONV(LEFT(MD5(CONCAT_WS('\\0', \
             TABLE_SCHEMA, TABLE_NAME, {fields})), 16), 16, 10) AS UNSIGNED))))) \
             FROM information_schema.{view} WHERE TABLE_SCHEMA {{in}} {more})"
        )
    };
    let sums = [
        sum("TABLES", "TABLE_TYPE, TABLE_COMMENT", ""),
        sum(
            "COLUMNS",
            "ORDINAL_POSITION, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, \
             IFNULL(COLUMN_DEFAULT, '\\0'), EXTRA, COLUMN_COMMENT",
            "",
        ),
        sum(
            "STATISTICS",
            "INDEX_NAME, SEQ_IN_INDEX, IFNULL(COLUMN_NAME, '\\0')",
            "AND NON_UNIQUE = 0",
        ),
        sum(
            "KEY_COLUMN_USAGE",
            "CONSTRAINT_NAME, ORDINAL_POSITION, COLUMN_NAME, REFERENCED_TABLE_SCHEMA, \
             REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME",
            "AND REFERENCED_TABLE_NAME IS NOT NULL",
        ),
    ];
    let sql = format!("SELECT VERSION(), CONCAT_WS('-', {})", sums.join(", "));
    let mut answer = (String::new(), String::new());
    rows(conn, &sql, schemas, |row: (String, String)| answer = row).await?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_enums_are_read_with_their_quotes() {
        for (full, expected) in [
            ("enum('a','b')", &["a", "b"][..]),
            ("set('it''s','a,b','(x)')", &["it's", "a,b", "(x)"]),
            (r"enum('a\\b','c\nd','')", &["a\\b", "c\nd", ""]),
            ("enum('待付款','已付款')", &["待付款", "已付款"]),
            ("enum(", &[]),
            ("enum('never closed", &[]),
        ] {
            assert_eq!(labels(full), expected, "{full}");
        }
    }
}
