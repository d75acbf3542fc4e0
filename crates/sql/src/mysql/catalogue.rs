//! Reads the catalogue from `information_schema` with six queries, and the fingerprint with one,
//! regardless of the number of tables.
//!
//! MariaDB does not store these views in a data dictionary, so it opens each table for each query.
//! Rows are therefore read in one pass, filtered by schema only, and joined and sorted here.
//! Columns that do not need an open table are cheap; row estimates and foreign keys need one
//! (figures in docs/performance.md).

use std::fmt;

use foldhash::{HashMap, HashMapExt};
use mysql_async::prelude::{FromRow, Queryable};
use mysql_async::{Conn, Error, Params, Row, Value};

use crate::catalogue::{Catalogue, DatabaseTable, ForeignKey, TableColumn, TableType};
use crate::database::ProgressFn;
use crate::values::checks::choice;
use crate::{DatabaseError, DatabaseErrorKind, SqlDialect};

use super::error;

/// Query of one of the server's views.
struct ViewQuery {
    name: &'static str,
    /// Columns that are part of the fingerprint.
    fields: &'static [&'static str],
    /// Columns that change with the rows of a table.
    volatile: &'static [&'static str],
    condition: &'static str,
}

const TABLES: ViewQuery = ViewQuery {
    name: "TABLES",
    // The comment of a view is the word VIEW, or the reason why the view is broken.
    fields: &[
        "TABLE_SCHEMA",
        "TABLE_NAME",
        "TABLE_TYPE",
        "IF(TABLE_TYPE LIKE '%VIEW', '', TABLE_COMMENT)",
    ],
    volatile: &["TABLE_ROWS"],
    condition: "TRUE",
};
const COLUMNS: ViewQuery = ViewQuery {
    name: "COLUMNS",
    fields: &[
        "TABLE_SCHEMA",
        "TABLE_NAME",
        "ORDINAL_POSITION",
        "COLUMN_NAME",
        "COLUMN_TYPE",
        "DATA_TYPE",
        "IS_NULLABLE",
        "COLUMN_DEFAULT",
        "EXTRA",
        "COLUMN_COMMENT",
    ],
    volatile: &[],
    condition: "TRUE",
};
const UNIQUE_KEYS: ViewQuery = ViewQuery {
    name: "STATISTICS",
    fields: &[
        "TABLE_SCHEMA",
        "TABLE_NAME",
        "INDEX_NAME",
        "SEQ_IN_INDEX",
        "COLUMN_NAME",
    ],
    volatile: &[],
    condition: "NON_UNIQUE = 0",
};
const FOREIGN_KEYS: ViewQuery = ViewQuery {
    name: "KEY_COLUMN_USAGE",
    fields: &[
        "TABLE_SCHEMA",
        "TABLE_NAME",
        "CONSTRAINT_NAME",
        "ORDINAL_POSITION",
        "COLUMN_NAME",
        "REFERENCED_TABLE_SCHEMA",
        "REFERENCED_TABLE_NAME",
        "REFERENCED_COLUMN_NAME",
    ],
    volatile: &[],
    condition: "REFERENCED_TABLE_NAME IS NOT NULL",
};

impl ViewQuery {
    fn from(&self, schemas: &[String]) -> String {
        let list = vec!["?"; schemas.len()].join(", ");
        let (name, condition) = (self.name, self.condition);
        format!("FROM information_schema.{name} WHERE {condition} AND TABLE_SCHEMA IN ({list})")
    }

    /// Returns the query for its rows.
    fn select(&self, schemas: &[String]) -> String {
        let fields = [self.fields, self.volatile].concat().join(", ");
        format!("SELECT {fields} {}", self.from(schemas))
    }

    /// Returns the query for the [`RowChecksum`] of its rows, computed on the server.
    fn select_sum(&self, schemas: &[String]) -> String {
        let fields = self
            .fields
            .iter()
            .map(|field| format!("IFNULL({field}, '\\0')"));
        let fields = fields.collect::<Vec<_>>().join(", ");
        format!(
            "SELECT CONCAT(COUNT(*), '.', LOWER(HEX(BIT_XOR(CAST(CONV(LEFT(SHA1(\
             CONCAT_WS('\\0', {fields})), 16), 16, 10) AS UNSIGNED))))) {}",
            self.from(schemas)
        )
    }
}

/// Number of rows, and an order-independent checksum: the XOR of 64 bits of each row's SHA-1.
#[derive(Clone, Copy, Default)]
struct RowChecksum {
    count: u64,
    bits: u64,
}

impl RowChecksum {
    fn add(&mut self, row: &Row, fields: usize) {
        let texts = (0..fields).map(|i| match row.as_ref(i) {
            Some(Value::Bytes(bytes)) => bytes.clone(),
            Some(Value::Int(number)) => number.to_string().into_bytes(),
            Some(Value::UInt(number)) => number.to_string().into_bytes(),
            _ => vec![0],
        });
        let text = texts.collect::<Vec<_>>().join(&0);
        let digest = sha1_smol::Sha1::from(text).digest().bytes();
        let first = digest.iter().take(8);
        self.count += 1;
        // XOR does not depend on order, and `information_schema` returns rows in any order.
        self.bits ^= first.fold(0, |bits, byte| bits << 8 | u64::from(*byte));
    }
}

impl fmt::Display for RowChecksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:x}", self.count, self.bits)
    }
}

/// Reads the whole catalogue of these schemas. Unqualified names refer to the first one.
pub(super) async fn read(
    conn: &mut Conn,
    schemas: &[String],
    progress: ProgressFn<'_>,
) -> Result<Catalogue, DatabaseError> {
    let steps = ["tables", "columns", "keys", "foreign keys"];
    let step = |done: usize| {
        let what = steps.get(done).copied().unwrap_or("done");
        progress(done as u64, steps.len() as u64, what);
    };
    step(0);
    let failed = |error| error::of_query(&error, "");
    let version: Option<String> = conn.query_first("SELECT VERSION()").await.map_err(failed)?;
    let (tables, tables_sum) = tables(conn, schemas).await?;
    let mut found = TableList::new(tables);
    step(1);
    let columns_sum = columns(conn, schemas, &mut found).await?;
    step(2);
    let unique_sum = unique_keys(conn, schemas, &mut found).await?;
    step(3);
    let foreign_sum = foreign_keys(conn, schemas, &mut found).await?;
    checks(
        conn,
        schemas,
        &mut found,
        version.as_deref().unwrap_or_default(),
    )
    .await;
    step(4);
    let sums = [tables_sum, columns_sum, unique_sum, foreign_sum];
    Ok(Catalogue::new(
        SqlDialect::MySql,
        version.unwrap_or_default(),
        schemas.iter().take(1).cloned().collect(),
        found.tables,
        sums.map(|sum| sum.to_string()).join("-"),
    ))
}

/// Returns a fingerprint that changes with tables, columns, comments and keys: the checksums of the
/// rows that [`read`] would read, without transferring them.
pub(super) async fn fingerprint(
    conn: &mut Conn,
    schemas: &[String],
) -> Result<String, DatabaseError> {
    let views = [TABLES, COLUMNS, UNIQUE_KEYS, FOREIGN_KEYS];
    let names = std::iter::repeat_n(schemas, views.len()).flatten();
    let sums = views.map(|view| format!("({})", view.select_sum(schemas)));
    let sql = format!("SELECT CONCAT_WS('-', {})", sums.join(", "));
    let names = Params::Positional(names.map(Value::from).collect());
    let answer: Result<Option<String>, Error> = conn.exec_first(&sql, names).await;
    let answer = answer.map_err(|error| error::of_query(&error, &sql))?;
    Ok(answer.unwrap_or_default())
}

/// Returns all rows of a view, and their checksum.
async fn rows<R: FromRow + Send + 'static>(
    conn: &mut Conn,
    view: &ViewQuery,
    schemas: &[String],
    mut each: impl FnMut(R) + Send,
) -> Result<RowChecksum, DatabaseError> {
    let sql = view.select(schemas);
    let names = Params::Positional(schemas.iter().map(Value::from).collect());
    let failed = |error: Error| error::of_query(&error, &sql);
    let mut result = conn.exec_iter(&sql, names).await.map_err(failed)?;
    let (mut sum, mut bad) = (RowChecksum::default(), None);
    let reading = result.for_each(|row| {
        sum.add(&row, view.fields.len());
        match mysql_async::from_row_opt::<R>(row) {
            Ok(row) => each(row),
            Err(error) => bad = Some(error.to_string()),
        }
    });
    reading.await.map_err(failed)?;
    match bad {
        None => Ok(sum),
        Some(message) => Err(DatabaseError::new(
            DatabaseErrorKind::Failed,
            format!("unexpected row of information_schema: {message}"),
        )),
    }
}

/// Tables, with an index by name.
struct TableList {
    tables: Vec<DatabaseTable>,
    places: HashMap<(String, String), usize>,
}

impl TableList {
    fn new(mut tables: Vec<DatabaseTable>) -> Self {
        let name = |table: &DatabaseTable| (table.schema_name.clone(), table.table_name.clone());
        tables.sort_by_cached_key(name);
        let mut places = HashMap::with_capacity(tables.len());
        for (i, table) in tables.iter().enumerate() {
            places.insert(name(table), i);
        }
        TableList { tables, places }
    }

    fn place(&self, schema: String, name: String) -> Option<usize> {
        self.places.get(&(schema, name)).copied()
    }
}

/// Reads all readable relations except sequences.
async fn tables(
    conn: &mut Conn,
    schemas: &[String],
) -> Result<(Vec<DatabaseTable>, RowChecksum), DatabaseError> {
    type Fields = (String, String, String, Option<String>, Option<u64>);
    let mut tables = Vec::new();
    let each = |(schema_name, table_name, kind, comment, row_count): Fields| {
        let is_view = kind.ends_with("VIEW");
        // MariaDB lists sequences as tables.
        if kind == "SEQUENCE" {
            return;
        }
        tables.push(DatabaseTable {
            schema_name,
            table_name,
            table_type: if is_view {
                TableType::View
            } else {
                TableType::Table
            },
            comment: comment.filter(|text| !text.is_empty()),
            row_count: row_count.filter(|_| !is_view),
            ..DatabaseTable::default()
        });
    };
    let sum = rows(conn, &TABLES, schemas, each).await?;
    Ok((tables, sum))
}

async fn columns(
    conn: &mut Conn,
    schemas: &[String],
    found: &mut TableList,
) -> Result<RowChecksum, DatabaseError> {
    type Fields = (
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
    let mut columns: Vec<(usize, u64, TableColumn)> = Vec::new();
    let each =
        |(schema, table, position, name, full, kind, nullable, default, extra, comment): Fields| {
            let Some(place) = found.place(schema, table) else {
                return;
            };
            let has_values = ["enum", "set"].contains(&kind.as_str());
            let column = TableColumn {
                name,
                values: if has_values {
                    labels(&full)
                } else {
                    Vec::new()
                },
                data_type: if has_values { kind } else { full },
                is_nullable: nullable == "YES",
                is_primary_key: false,
                // MariaDB returns the text NULL for a missing default.
                default_value: default.filter(|text| text != "NULL"),
                comment: comment.filter(|text| !text.is_empty()),
                extra: extra.and_then(|text| column_extra(&text)),
            };
            columns.push((place, position, column));
        };
    let sum = rows(conn, &COLUMNS, schemas, each).await?;
    columns.sort_by_key(|(place, position, _)| (*place, *position));
    for (place, _, column) in columns {
        found.tables[place].columns.push(column);
    }
    Ok(sum)
}

/// Converts EXTRA to the terms of [`TableColumn::extra`].
fn column_extra(extra: &str) -> Option<String> {
    let is_generated = [
        "VIRTUAL GENERATED",
        "STORED GENERATED",
        "PERSISTENT GENERATED",
    ];
    if is_generated.iter().any(|known| extra.contains(known)) {
        return Some("generated".to_owned());
    }
    // MySQL marks an expression default with this word.
    let rest = extra.replace("DEFAULT_GENERATED", "");
    Some(rest.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Parses the labels of `enum('a','b')`. Quotes are doubled, and a backslash escapes the next
/// character.
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

/// Reads primary and unique keys from their indexes.
async fn unique_keys(
    conn: &mut Conn,
    schemas: &[String],
    found: &mut TableList,
) -> Result<RowChecksum, DatabaseError> {
    type Fields = (String, String, String, u64, Option<String>);
    let mut parts: Vec<(usize, String, u64, Option<String>)> = Vec::new();
    let each = |(schema, table, index, position, column): Fields| {
        if let Some(place) = found.place(schema, table) {
            parts.push((place, index, position, column));
        }
    };
    let sum = rows(conn, &UNIQUE_KEYS, schemas, each).await?;
    parts.sort();
    for key in parts.chunk_by(|a, b| (a.0, &a.1) == (b.0, &b.1)) {
        // An index part without a column is an expression.
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
    Ok(sum)
}

async fn foreign_keys(
    conn: &mut Conn,
    schemas: &[String],
    found: &mut TableList,
) -> Result<RowChecksum, DatabaseError> {
    type Fields = (String, String, String, u64, String, String, String, String);
    let mut parts: Vec<(usize, String, u64, [String; 4])> = Vec::new();
    let each =
        |(schema, table, name, position, column, ref_schema, ref_table, ref_column): Fields| {
            if let Some(place) = found.place(schema, table) {
                parts.push((
                    place,
                    name,
                    position,
                    [column, ref_schema, ref_table, ref_column],
                ));
            }
        };
    let sum = rows(conn, &FOREIGN_KEYS, schemas, each).await?;
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
    Ok(sum)
}

/// Reads the values that CHECK constraints allow. MariaDB reports the table of each; in MySQL (from
/// 8.0.16) constraint names are unique in a schema. If the server has neither, or does not return
/// them, the catalogue lacks these values but is complete otherwise. They are not part of the
/// fingerprint.
async fn checks(conn: &mut Conn, schemas: &[String], found: &mut TableList, version: &str) {
    let list = vec!["?"; schemas.len()].join(", ");
    let sql = if version.contains("MariaDB") {
        format!(
            "SELECT CONSTRAINT_SCHEMA, TABLE_NAME, CHECK_CLAUSE \
         FROM information_schema.CHECK_CONSTRAINTS WHERE CONSTRAINT_SCHEMA IN ({list})"
        )
    } else {
        format!(
            "SELECT t.TABLE_SCHEMA, t.TABLE_NAME, c.CHECK_CLAUSE \
         FROM information_schema.CHECK_CONSTRAINTS c \
         JOIN information_schema.TABLE_CONSTRAINTS t \
         ON t.CONSTRAINT_SCHEMA = c.CONSTRAINT_SCHEMA AND t.CONSTRAINT_NAME = c.CONSTRAINT_NAME \
         WHERE t.CONSTRAINT_TYPE = 'CHECK' AND t.TABLE_SCHEMA IN ({list})"
        )
    };
    let names = Params::Positional(schemas.iter().map(Value::from).collect());
    let rows: Result<Vec<(String, String, String)>, Error> = conn.exec(&sql, names).await;
    let rows = match rows {
        Ok(rows) => rows,
        Err(error) => {
            tracing::debug!(%error, "cannot read CHECK constraints");
            return;
        }
    };
    for (schema, table, clause) in rows {
        let read = choice(&clause, SqlDialect::MySql);
        if let (Some(place), Some((name, values))) = (found.place(schema, table), read) {
            let mut columns = found.tables[place].columns.iter_mut();
            let same = columns.find(|column| column.name.eq_ignore_ascii_case(&name));
            if let Some(column) = same.filter(|column| column.values.is_empty()) {
                column.values = values;
            }
        }
    }
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
