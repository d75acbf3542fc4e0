//! Archive in an SQLite file.

use std::path::Path;
use std::sync::Arc;

use futures_util::FutureExt;
use quillet_core::BoxFuture;
use quillet_core::archive::{Archive, QueryPage, QueryRecord};
use quillet_core::store::StoreError;
use rusqlite::types::Type;
use rusqlite::{Connection, Error, OptionalExtension, Row, params};

use super::{ArchiveOptions, accepted, indexed, name};
use crate::sqlite::{Database, SchemaModule};
use crate::tokenize;

/// The catalogue is a separate table, so storing a query does not rewrite it. The index contains
/// preprocessed words and no copy of the texts; its `ascii` tokenizer splits only at spaces.
static PART: SchemaModule = SchemaModule {
    name: "archive",
    steps: &[
        "
        CREATE TABLE catalogues (
            database TEXT PRIMARY KEY,
            catalogue BLOB NOT NULL) STRICT;
        CREATE TABLE queries (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            database TEXT NOT NULL,
            bytes INTEGER NOT NULL,
            record TEXT NOT NULL) STRICT;
        CREATE INDEX queries_database ON queries (database, number, bytes);
        CREATE VIRTUAL TABLE queries_index USING fts5 (
            words, content = '', contentless_delete = 1, tokenize = 'ascii');
        CREATE TRIGGER queries_removed AFTER DELETE ON queries BEGIN
            DELETE FROM queries_index WHERE rowid = old.number; END;",
        "
        CREATE TABLE column_values (
            database TEXT PRIMARY KEY,
            content BLOB NOT NULL) STRICT;
        CREATE TABLE accepted (
            database TEXT NOT NULL,
            number INTEGER NOT NULL,
            record TEXT NOT NULL,
            PRIMARY KEY (database, number)) STRICT, WITHOUT ROWID;",
    ],
};

const CATALOGUE: &str = "SELECT catalogue FROM catalogues WHERE database = ?1";
const KEEP_CATALOGUE: &str = "INSERT INTO catalogues VALUES (?1, ?2)
    ON CONFLICT (database) DO UPDATE SET catalogue = excluded.catalogue";
const VALUES: &str = "SELECT content FROM column_values WHERE database = ?1";
const KEEP_VALUES: &str = "INSERT INTO column_values VALUES (?1, ?2)
    ON CONFLICT (database) DO UPDATE SET content = excluded.content";

/// SQLite archive of database catalogues, values and queries.
#[derive(Debug)]
pub struct SqliteArchive {
    options: Arc<ArchiveOptions>,
    file: Database,
}

impl SqliteArchive {
    /// Opens or creates the file. `:memory:` creates a database that is deleted on drop.
    ///
    /// # Errors
    /// `Configuration` for an invalid path or a file of a newer version; `Corrupt` for a file that
    /// is not an SQLite database.
    pub async fn open(path: &Path, options: ArchiveOptions) -> Result<Self, StoreError> {
        Ok(SqliteArchive {
            options: Arc::new(options),
            file: Database::open(path, &PART).await?,
        })
    }

    async fn kept(
        &self,
        select: &'static str,
        database: &str,
    ) -> Result<Option<Arc<[u8]>>, StoreError> {
        let database = name(database)?.to_owned();
        let work = move |file: &mut Connection| {
            let kept = file.query_row(select, [database], |row| {
                Ok(row.get_ref(0)?.as_blob()?.into())
            });
            kept.optional()
        };
        self.file.run(work).await
    }

    async fn keep(
        &self,
        [what, put]: [&'static str; 2],
        database: &str,
        bytes: &[u8],
    ) -> Result<(), StoreError> {
        let database = name(database)?.to_owned();
        self.options.fits(what, &database, bytes)?;
        let bytes = bytes.to_vec();
        let work = move |file: &Connection| file.execute(put, params![database, bytes]);
        self.file.change(work).await.map(drop)
    }

    async fn drop_values(&self, database: &str) -> Result<(), StoreError> {
        let database = name(database)?.to_owned();
        let delete = "DELETE FROM column_values WHERE database = ?1";
        let work = move |file: &Connection| file.execute(delete, [database]);
        self.file.change(work).await.map(drop)
    }

    async fn add_accepted(&self, record: &QueryRecord) -> Result<(), StoreError> {
        let database = name(&record.database)?.to_owned();
        let (text, id) = (self.options.text(record)?, number(record.id));
        let most = i64::try_from(self.options.max_accepted).unwrap_or(i64::MAX);
        let work = move |file: &Connection| {
            let put = "INSERT OR REPLACE INTO accepted VALUES (?1, ?2, ?3)";
            file.execute(put, params![database, id, text])?;
            let old = "DELETE FROM accepted WHERE database = ?1 AND number NOT IN (
                SELECT number FROM accepted WHERE database = ?1 ORDER BY number DESC LIMIT ?2)";
            file.execute(old, params![database, most])
        };
        self.file.change(work).await.map(drop)
    }

    async fn drop_accepted(&self, database: &str, id: u64) -> Result<bool, StoreError> {
        let database = name(database)?.to_owned();
        let delete = "DELETE FROM accepted WHERE database = ?1 AND number = ?2";
        let work = move |file: &Connection| file.execute(delete, params![database, number(id)]);
        Ok(self.file.change(work).await? > 0)
    }

    async fn all_accepted(&self, database: &str) -> Result<Vec<QueryRecord>, StoreError> {
        let database = name(database)?.to_owned();
        let work = move |file: &mut Connection| {
            let mut newest = file.prepare(
                "SELECT number, record FROM accepted WHERE database = ?1 ORDER BY number DESC",
            )?;
            let rows = newest.query_map([database], record)?;
            rows.map(|row| row.map(|record| accepted(record.id, record)))
                .collect()
        };
        self.file.run(work).await
    }

    async fn add(&self, record: &QueryRecord) -> Result<u64, StoreError> {
        let database = name(&record.database)?.to_owned();
        let (text, words) = (self.options.text(record)?, indexed(record));
        let options = self.options.clone();
        let work = move |file: &Connection| {
            let number = insert(file, &database, &text, &words)?;
            make_room(file, &options, &database)?;
            Ok(number)
        };
        self.file.change(work).await
    }

    async fn page(
        &self,
        database: &str,
        before: Option<u64>,
        limit: usize,
    ) -> Result<QueryPage, StoreError> {
        let database = name(database)?.to_owned();
        let before = before.map_or(i64::MAX, number);
        self.file
            .run(move |file| history(file, &database, before, limit))
            .await
    }

    async fn find(
        &self,
        database: &str,
        search: &str,
        limit: usize,
    ) -> Result<QueryPage, StoreError> {
        let database = name(database)?.to_owned();
        let Some(all) = all_of(&tokenize::phrases(search)) else {
            return Ok(QueryPage::default());
        };
        self.file
            .run(move |file| found(file, &database, &all, limit))
            .await
    }

    async fn drop_all(&self, database: &str) -> Result<(), StoreError> {
        let database = name(database)?.to_owned();
        let work = move |file: &Connection| {
            for table in ["catalogues", "column_values", "accepted"] {
                let delete = format!("DELETE FROM {table} WHERE database = ?1");
                file.execute(&delete, [&database])?;
            }
            file.execute("DELETE FROM queries WHERE database = ?1", [&database])
        };
        self.file.change(work).await.map(drop)
    }
}

fn insert(file: &Connection, database: &str, text: &str, words: &str) -> rusqlite::Result<u64> {
    let insert =
        "INSERT INTO queries (database, bytes, record) VALUES (?1, ?2, ?3) RETURNING number";
    let values = params![database, text.len(), text];
    let number: i64 = file.query_row(insert, values, |row| row.get(0))?;
    let index = "INSERT INTO queries_index (rowid, words) VALUES (?1, ?2)";
    file.execute(index, params![number, words])?;
    Ok(number.unsigned_abs())
}

/// Removes the oldest queries of a database until the limits are met.
fn make_room(file: &Connection, options: &ArchiveOptions, database: &str) -> rusqlite::Result<()> {
    let sums = "SELECT count(*), coalesce(sum(bytes), 0) FROM queries WHERE database = ?1";
    let sums = file.query_row(sums, [database], |row| Ok((row.get(0)?, row.get(1)?)));
    let (mut records, mut bytes): (usize, usize) = sums?;
    let fits =
        |records, bytes| records <= options.max_records && bytes <= options.max_history_bytes;
    if fits(records, bytes) {
        return Ok(());
    }
    let sizes = "SELECT number, bytes FROM queries WHERE database = ?1 ORDER BY number";
    let mut sizes = file.prepare(sizes)?;
    let mut rows = sizes.query([database])?;
    let mut last: i64 = 0;
    while !fits(records, bytes)
        && let Some(row) = rows.next()?
    {
        last = row.get(0)?;
        records = records.saturating_sub(1);
        bytes = bytes.saturating_sub(row.get(1)?);
    }
    let old = "DELETE FROM queries WHERE database = ?1 AND number <= ?2";
    file.execute(old, params![database, last])?;
    Ok(())
}

fn history(
    file: &Connection,
    database: &str,
    before: i64,
    limit: usize,
) -> rusqlite::Result<QueryPage> {
    let total = "SELECT count(*) FROM queries WHERE database = ?1";
    let total = file.query_row(total, [database], |row| row.get(0))?;
    let mut newest = file.prepare(
        "SELECT number, record FROM queries WHERE database = ?1 AND number < ?2
         ORDER BY number DESC LIMIT ?3",
    )?;
    let rows = newest.query_map(params![database, before, one_more(limit)], record)?;
    page(rows, total, limit)
}

fn found(
    file: &Connection,
    database: &str,
    all: &str,
    limit: usize,
) -> rusqlite::Result<QueryPage> {
    let total = "SELECT count(*) FROM queries_index JOIN queries ON number = queries_index.rowid
                 WHERE queries_index MATCH ?1 AND database = ?2";
    let total = file.query_row(total, [all, database], |row| row.get(0))?;
    let mut newest = file.prepare(
        "SELECT number, record FROM queries_index JOIN queries ON number = queries_index.rowid
         WHERE queries_index MATCH ?1 AND database = ?2
         ORDER BY queries_index.rowid DESC LIMIT ?3",
    )?;
    let rows = newest.query_map(params![all, database, one_more(limit)], record)?;
    page(rows, total, limit)
}

/// Converts rows into a page; one additional row tells whether there are more.
fn page(
    rows: impl Iterator<Item = rusqlite::Result<QueryRecord>>,
    total: u64,
    limit: usize,
) -> rusqlite::Result<QueryPage> {
    let mut items = rows.collect::<rusqlite::Result<Vec<QueryRecord>>>()?;
    let more = items.len() > limit;
    items.truncate(limit);
    Ok(QueryPage { items, total, more })
}

fn record(row: &Row<'_>) -> rusqlite::Result<QueryRecord> {
    let wrong = |error| Error::FromSqlConversionFailure(1, Type::Text, Box::new(error));
    let record: QueryRecord = serde_json::from_str(row.get_ref(1)?.as_str()?).map_err(wrong)?;
    let id: i64 = row.get(0)?;
    Ok(QueryRecord {
        id: id.unsigned_abs(),
        ..record
    })
}

/// Returns a query that requires all phrases; `None` without phrases. They consist of letters,
/// digits and spaces; the quotes prevent words such as `near` from being parsed as FTS5 operators.
fn all_of(phrases: &[String]) -> Option<String> {
    let quoted: Vec<String> = phrases
        .iter()
        .map(|phrase| format!("\"{phrase}\""))
        .collect();
    (!quoted.is_empty()).then(|| quoted.join(" AND "))
}

/// SQLite integers are signed.
fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn one_more(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1)
}

impl Archive for SqliteArchive {
    fn describe(&self) -> String {
        format!("sqlite {}", self.file.path())
    }

    fn catalogue<'a>(
        &'a self,
        database: &'a str,
    ) -> BoxFuture<'a, Result<Option<Arc<[u8]>>, StoreError>> {
        self.kept(CATALOGUE, database).boxed()
    }

    fn keep_catalogue<'a>(
        &'a self,
        database: &'a str,
        catalogue: &'a [u8],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.keep(["catalogue", KEEP_CATALOGUE], database, catalogue)
            .boxed()
    }

    fn values<'a>(
        &'a self,
        database: &'a str,
    ) -> BoxFuture<'a, Result<Option<Arc<[u8]>>, StoreError>> {
        self.kept(VALUES, database).boxed()
    }

    fn keep_values<'a>(
        &'a self,
        database: &'a str,
        values: Option<&'a [u8]>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        match values {
            Some(values) => self.keep(["values", KEEP_VALUES], database, values).boxed(),
            None => self.drop_values(database).boxed(),
        }
    }

    fn record<'a>(&'a self, record: &'a QueryRecord) -> BoxFuture<'a, Result<u64, StoreError>> {
        self.add(record).boxed()
    }

    fn history<'a>(
        &'a self,
        database: &'a str,
        before: Option<u64>,
        limit: usize,
    ) -> BoxFuture<'a, Result<QueryPage, StoreError>> {
        self.page(database, before, limit).boxed()
    }

    fn search<'a>(
        &'a self,
        database: &'a str,
        words: &'a str,
        limit: usize,
    ) -> BoxFuture<'a, Result<QueryPage, StoreError>> {
        self.find(database, words, limit).boxed()
    }

    fn accept<'a>(&'a self, record: &'a QueryRecord) -> BoxFuture<'a, Result<(), StoreError>> {
        self.add_accepted(record).boxed()
    }

    fn unaccept<'a>(
        &'a self,
        database: &'a str,
        id: u64,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.drop_accepted(database, id).boxed()
    }

    fn accepted<'a>(
        &'a self,
        database: &'a str,
    ) -> BoxFuture<'a, Result<Vec<QueryRecord>, StoreError>> {
        self.all_accepted(database).boxed()
    }

    fn forget<'a>(&'a self, database: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.drop_all(database).boxed()
    }
}
