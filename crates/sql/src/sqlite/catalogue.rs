//! Reads the catalogue from `sqlite_schema` and the PRAGMAs that describe tables.

use std::time::{Duration, Instant};

use foldhash::{HashMap, HashMapExt};
use rusqlite::{Connection, Row, Statement};

use super::comments::{self, TableComments};
use crate::catalogue::{DatabaseTable, ForeignKey, TableColumn, TableType};
use crate::{Catalogue, SqlDialect};

/// Schema of the main file; this driver does not attach others.
const MAIN: &str = "main";
/// Maximum rows to count in a table without ANALYZE statistics, which takes about ten milliseconds.
const MOST_COUNTED: u64 = 100_000;
/// Time limit for counting all tables.
const COUNTING: Duration = Duration::from_millis(200);
/// Number of tables between two progress reports.
const STEP: usize = 64;

/// User tables and views, without SQLite's internal tables and the shadow tables of virtual tables.
const TABLES: &str = "SELECT l.name, l.type, l.wr, s.sql, l.name IN
      (SELECT tbl_name FROM main.sqlite_schema WHERE type = 'index' AND sql LIKE 'CREATE UNIQUE%')
    FROM pragma_table_list AS l JOIN main.sqlite_schema AS s
      ON s.name = l.name AND s.type IN ('table', 'view')
    WHERE l.schema = 'main' AND l.type IN ('table', 'view', 'virtual')
      AND substr(l.name, 1, 7) <> 'sqlite_'
    ORDER BY l.name";
const COLUMNS: &str = "SELECT name, type, \"notnull\", dflt_value, pk, hidden
    FROM pragma_table_xinfo(?1, 'main') ORDER BY cid";
const KEYS: &str = "SELECT id, \"table\", \"from\", \"to\"
    FROM pragma_foreign_key_list(?1, 'main') ORDER BY id, seq";
const UNIQUE: &str = "SELECT l.name, i.name
    FROM pragma_index_list(?1, 'main') AS l, pragma_index_info(l.name, 'main') AS i
    WHERE l.\"unique\" AND l.origin <> 'pk' AND NOT l.partial ORDER BY l.seq, i.seqno";
const COUNTS: &str = "SELECT tbl, max(CAST(stat AS INTEGER)) FROM main.sqlite_stat1 GROUP BY tbl";

/// Returns the version of SQLite.
pub(super) fn version() -> String {
    rusqlite::version().to_owned()
}

/// Loads the schema and checks that its names are UTF-8.
///
/// # Errors
/// Fails if the file is not a database or a name is not UTF-8, because rusqlite would panic on such
/// a column.
pub(super) fn probe(connection: &Connection) -> rusqlite::Result<()> {
    fingerprint(connection).map(drop)
}

/// Returns SQLite's schema version and a hash of the schema. The hash detects that another file
/// replaced this one.
pub(super) fn fingerprint(connection: &Connection) -> rusqlite::Result<String> {
    let version: i64 = connection.query_row("PRAGMA schema_version", [], |row| row.get(0))?;
    let sql = "SELECT type, name, tbl_name, sql FROM main.sqlite_schema";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut hash = Fnv::default();
    while let Some(row) = rows.next()? {
        for i in 0..4 {
            let bytes = row.get_ref(i)?.as_bytes_or_null().ok().flatten();
            let bytes = bytes.unwrap_or_default();
            std::str::from_utf8(bytes).map_err(|error| rusqlite::Error::Utf8Error(i, error))?;
            hash.add(bytes);
        }
    }
    Ok(format!("{version}-{:016x}", hash.0))
}

/// FNV-1a, which is stable across processes and versions.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// Adds one part and a separator.
    fn add(&mut self, part: &[u8]) {
        for byte in part.iter().chain(&[0xff]) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// Reads all tables in one snapshot. `tell` receives the progress.
pub(super) fn read(
    connection: &mut Connection,
    tell: &dyn Fn(u64, u64),
) -> rusqlite::Result<Catalogue> {
    // All statements run in one read transaction, so that the schema cannot change between them.
    let moment = connection.transaction()?;
    let fingerprint = fingerprint(&moment)?;
    let counts = counts(&moment);
    let all = listed(&moment)?;
    let mut reader = TableReader::new(&moment)?;
    let mut tables = Vec::with_capacity(all.len());
    for (i, listed) in all.iter().enumerate() {
        if i % STEP == 0 {
            tell(i as u64, all.len() as u64);
        }
        match reader.table(listed) {
            Ok(table) => tables.push(table),
            // The table is a view of a dropped table, or a virtual table whose module is not
            // linked.
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::Unknown) => {
                tracing::debug!(table = listed.name, %error, "table left out of the catalogue");
            }
            Err(error) => return Err(error),
        }
    }
    let begun = Instant::now();
    let virtual_ones = all.iter().filter(|listed| listed.kind == "virtual");
    let virtual_ones: Vec<&str> = virtual_ones.map(|listed| listed.name.as_str()).collect();
    for table in &mut tables {
        let is_counted = table.table_type == TableType::Table
            && !virtual_ones.contains(&table.table_name.as_str())
            && begun.elapsed() < COUNTING;
        table.row_count = match counts.get(&table.table_name) {
            Some(known) => Some(*known),
            None if is_counted => count_rows(&moment, &table.table_name)?,
            None => None,
        };
    }
    resolve_foreign_keys(&mut tables);
    Ok(Catalogue::new(
        SqlDialect::Sqlite,
        version(),
        vec![MAIN.to_owned()],
        tables,
        fingerprint,
    ))
}

/// A table listed in the schema.
struct ListedTable {
    name: String,
    kind: String,
    without_rowid: bool,
    sql: String,
    has_unique_index: bool,
}

impl ListedTable {
    /// Returns whether the CREATE text contains a word. If it does not, a query about the feature
    /// can be skipped. Such queries for each of 10,000 tables would dominate the total time.
    fn contains_word(&self, word: &str) -> bool {
        self.sql.to_ascii_lowercase().contains(word)
    }
}

fn listed(connection: &Connection) -> rusqlite::Result<Vec<ListedTable>> {
    let mut statement = connection.prepare(TABLES)?;
    let rows = statement.query_map([], |row| {
        Ok(ListedTable {
            name: row.get(0)?,
            kind: row.get(1)?,
            without_rowid: row.get(2)?,
            sql: row.get::<_, Option<String>>(3)?.unwrap_or_default(),
            has_unique_index: row.get(4)?,
        })
    })?;
    rows.collect()
}

/// Returns the row counts from ANALYZE; empty if it never ran.
fn counts(connection: &Connection) -> HashMap<String, u64> {
    let read = |connection: &Connection| -> rusqlite::Result<Vec<(String, i64)>> {
        let mut statement = connection.prepare(COUNTS)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect()
    };
    let mut counts = HashMap::new();
    for (table, count) in read(connection).unwrap_or_default() {
        counts.insert(table, u64::try_from(count).unwrap_or_default());
    }
    counts
}

/// Counts the rows of a small table; `None` if it has more than [`MOST_COUNTED`].
fn count_rows(connection: &Connection, name: &str) -> rusqlite::Result<Option<u64>> {
    let sql = format!(
        "SELECT count(*) FROM (SELECT 1 FROM main.\"{}\" LIMIT {})",
        name.replace('"', "\"\""),
        MOST_COUNTED + 1
    );
    let count: u64 = connection.query_row(&sql, [], |row| row.get(0))?;
    Ok((count <= MOST_COUNTED).then_some(count))
}

/// Prepared statements that read one table each.
struct TableReader<'c> {
    columns: Statement<'c>,
    keys: Statement<'c>,
    unique: Statement<'c>,
}

impl<'c> TableReader<'c> {
    fn new(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(TableReader {
            columns: connection.prepare(COLUMNS)?,
            keys: connection.prepare(KEYS)?,
            unique: connection.prepare(UNIQUE)?,
        })
    }

    fn table(&mut self, listed: &ListedTable) -> rusqlite::Result<DatabaseTable> {
        // A virtual table's module interprets its own arguments, so they do not contain comments.
        let told = match listed.kind.as_str() {
            "virtual" => TableComments::default(),
            _ => comments::read(&listed.sql),
        };
        let mut columns = self.columns(listed)?;
        for told in told.columns {
            if let Some(column) = columns.iter_mut().find(|column| column.name == told.name) {
                column.comment = told.comment;
                column.values = told.values;
            }
        }
        Ok(DatabaseTable {
            schema_name: MAIN.to_owned(),
            table_name: listed.name.clone(),
            table_type: match listed.kind.as_str() {
                "view" => TableType::View,
                _ => TableType::Table,
            },
            comment: told.comment,
            row_count: None,
            columns,
            foreign_keys: if listed.contains_word("references") {
                self.keys(&listed.name)?
            } else {
                Vec::new()
            },
            unique: if listed.has_unique_index || listed.contains_word("unique") {
                self.unique(&listed.name)?
            } else {
                Vec::new()
            },
        })
    }

    fn columns(&mut self, listed: &ListedTable) -> rusqlite::Result<Vec<TableColumn>> {
        let rows = self.columns.query_map([&listed.name], described)?;
        let described: Vec<PragmaColumn> = rows.collect::<rusqlite::Result<_>>()?;
        let keys = described.iter().filter(|d| d.column.is_primary_key).count();
        let columns = described.into_iter().filter(|d| d.hidden != 1);
        let columns = columns.map(|PragmaColumn { mut column, .. }| {
            // An `INTEGER PRIMARY KEY` is the row id, which SQLite assigns.
            let is_row_number = column.is_primary_key
                && keys == 1
                && !listed.without_rowid
                && column.data_type.eq_ignore_ascii_case("INTEGER");
            if is_row_number {
                column.extra = Some("auto_increment".to_owned());
            }
            let in_key = column.is_primary_key && listed.without_rowid;
            column.is_nullable &= !is_row_number && !in_key;
            column
        });
        Ok(columns.collect())
    }

    /// Returns foreign keys as written: table names may differ in case, and the columns are empty
    /// if the key refers to the primary key.
    fn keys(&mut self, table: &str) -> rusqlite::Result<Vec<ForeignKey>> {
        let mut keys: Vec<(i64, ForeignKey)> = Vec::new();
        let mut rows = self.keys.query([table])?;
        while let Some(row) = rows.next()? {
            let id = row.get(0)?;
            if keys.last().is_none_or(|(last, _)| *last != id) {
                let key = ForeignKey {
                    ref_schema: MAIN.to_owned(),
                    ref_table: row.get(1)?,
                    ..ForeignKey::default()
                };
                keys.push((id, key));
            }
            if let Some((_, key)) = keys.last_mut() {
                key.columns.push(row.get(2)?);
                key.ref_columns.extend(row.get::<_, Option<String>>(3)?);
            }
        }
        // SQLite lists the last key first.
        Ok(keys.into_iter().rev().map(|(_, key)| key).collect())
    }

    /// Returns unique keys. Indexes on expressions have columns without names and are omitted.
    fn unique(&mut self, table: &str) -> rusqlite::Result<Vec<Vec<String>>> {
        let mut found: Vec<(String, Vec<Option<String>>)> = Vec::new();
        let mut rows = self.unique.query([table])?;
        while let Some(row) = rows.next()? {
            let index: String = row.get(0)?;
            let column: Option<String> = row.get(1)?;
            match found.last_mut() {
                Some((last, columns)) if *last == index => columns.push(column),
                _ => found.push((index, vec![column])),
            }
        }
        let named = found.into_iter().rev().map(|(_, columns)| columns);
        Ok(named
            .filter_map(|columns| columns.into_iter().collect())
            .collect())
    }
}

/// A column, and whether a virtual table hides it.
struct PragmaColumn {
    column: TableColumn,
    hidden: i64,
}

fn described(row: &Row<'_>) -> rusqlite::Result<PragmaColumn> {
    let hidden: i64 = row.get(5)?;
    let is_generated = hidden == 2 || hidden == 3;
    let column = TableColumn {
        name: row.get(0)?,
        data_type: row.get(1)?,
        is_nullable: !row.get::<_, bool>(2)?,
        default_value: row.get(3)?,
        is_primary_key: row.get::<_, i64>(4)? > 0,
        extra: is_generated.then(|| "generated".to_owned()),
        ..TableColumn::default()
    };
    Ok(PragmaColumn { column, hidden })
}

/// Replaces the names in foreign keys by those of the target table, and removes keys without a
/// valid target, which SQLite allows.
fn resolve_foreign_keys(tables: &mut [DatabaseTable]) {
    let mut targets: HashMap<String, (String, Vec<String>)> = HashMap::new();
    for table in tables.iter() {
        let keys = table.columns.iter().filter(|column| column.is_primary_key);
        let keys = keys.map(|column| column.name.clone()).collect();
        let name = table.table_name.clone();
        targets.insert(name.to_lowercase(), (name, keys));
    }
    for table in tables {
        table.foreign_keys.retain_mut(|key| {
            let Some((name, primary)) = targets.get(&key.ref_table.to_lowercase()) else {
                return false;
            };
            key.ref_table.clone_from(name);
            if key.ref_columns.is_empty() {
                key.ref_columns.clone_from(primary);
            }
            key.ref_columns.len() == key.columns.len()
        });
    }
}
