//! Tests that loading files preserves their values.

mod odd;
mod parquet;
mod properties;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quillet_sql::database::{ConnectOptions, connect};
use quillet_sql::files::{self, FileError, FileOptions, LoadedFiles};
use quillet_sql::{Cell, Database, QueryLimits, RowSet};
use std::sync::Arc;

/// A folder of files, removed on drop.
struct Files(PathBuf);

impl Files {
    fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("quillet-test-files-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Files(folder)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

/// Loads one file.
fn load(name: &str, bytes: &[u8], options: &FileOptions) -> Result<Read, FileError> {
    let files = Files::new();
    let path = files.write(name, bytes);
    runtime().block_on(async {
        let loaded = files::load(&[path], options, &|_, _, _| {}).await?;
        Ok(Read::of(loaded).await)
    })
}

fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap()
}

/// A loaded file, read through queries.
#[derive(Debug)]
struct Read {
    /// Name and declared type of each column.
    columns: Vec<(String, String)>,
    rows: Vec<Vec<Cell>>,
    notes: Vec<String>,
}

impl Read {
    async fn of(loaded: LoadedFiles) -> Read {
        let database = database(&loaded);
        let catalogue = database.catalogue(&|_, _, _| {}).await.unwrap();
        let [table] = catalogue.tables.as_slice() else {
            panic!("{:?}", catalogue.tables);
        };
        let named = table.columns.iter();
        let columns = named.map(|it| (it.name.clone(), it.data_type.clone()));
        let sql = format!("SELECT * FROM \"{}\"", table.table_name);
        let rows = query(&database, &sql).await;
        assert_eq!(table.row_count, Some(rows.rows.len() as u64));
        Read {
            columns: columns.collect(),
            rows: rows.rows,
            notes: loaded.notes,
        }
    }

    /// Formats the columns as `name TYPE, …`.
    fn columns(&self) -> String {
        let columns = self
            .columns
            .iter()
            .map(|(name, kind)| format!("{name} {kind}"));
        columns.collect::<Vec<_>>().join(", ")
    }
}

fn database(loaded: &LoadedFiles) -> Arc<dyn Database> {
    connect(&loaded.url().parse().unwrap(), &ConnectOptions::default()).unwrap()
}

async fn query(database: &Arc<dyn Database>, sql: &str) -> RowSet {
    let limits = QueryLimits {
        rows: 1_000_000,
        bytes: 1 << 30,
        timeout: Duration::from_secs(60),
    };
    database.query(sql, &limits).await.unwrap()
}
