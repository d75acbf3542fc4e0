//! Tests reading the tables of a file.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use quillet_sql::Catalogue;
use quillet_sql::catalogue::{DatabaseTable, TableType};

use super::folder::Folder;

const SCHEMA: &str = "
CREATE TABLE customers ( -- 客户
  id INTEGER PRIMARY KEY, -- 客户号
  -- how they are called
  name TEXT NOT NULL,
  email TEXT UNIQUE,
  level TEXT DEFAULT 'new' CHECK (level IN ('new', 'gold'))
);
CREATE TABLE orders (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  customer_id INT REFERENCES Customers,
  lost_id INT REFERENCES nowhere(id),
  price REAL, amount INT,
  total REAL GENERATED ALWAYS AS (price * amount) STORED,
  UNIQUE (customer_id, price)
) STRICT;
CREATE UNIQUE INDEX partial ON orders (amount) WHERE amount > 5;
CREATE UNIQUE INDEX computed ON orders (abs(amount));
CREATE TABLE pairs (b INT, a INT, c, PRIMARY KEY (a, b)) WITHOUT ROWID;
CREATE TABLE links (x INT, y INT, FOREIGN KEY (x, y) REFERENCES pairs (a, b));
CREATE VIEW gold AS -- the best of them
  SELECT id, name FROM customers WHERE level = 'gold';
CREATE VIEW broken AS SELECT * FROM dropped;
CREATE VIRTUAL TABLE notes USING fts5(title, body);
CREATE VIRTUAL TABLE places USING rtree(id, x0, x1);
INSERT INTO customers (name, email) VALUES ('a', 'a'), ('b', 'b'), ('c', 'c');
ANALYZE;";

async fn read(folder: &Folder) -> Catalogue {
    folder.database().catalogue(&|_, _, _| {}).await.unwrap()
}

fn table<'a>(catalogue: &'a Catalogue, name: &str) -> &'a DatabaseTable {
    catalogue.resolve(None, name).unwrap()
}

#[tokio::test]
async fn tables_views_and_columns_are_described() {
    let folder = Folder::with(SCHEMA);
    let catalogue = read(&folder).await;
    let listed: Vec<String> = catalogue
        .tables
        .iter()
        .map(|table| format!("{} ({})", table.qualified(), table.table_type))
        .collect();
    assert_eq!(
        listed,
        [
            "main.customers (table)",
            "main.gold (view)",
            "main.links (table)",
            "main.notes (table)",
            "main.orders (table)",
            "main.pairs (table)",
            "main.places (table)"
        ]
    );
    assert_eq!(catalogue.schemas, ["main"]);
    let customers = table(&catalogue, "customers");
    assert_eq!(customers.comment.as_deref(), Some("客户"));
    assert_eq!(customers.row_count, Some(3));
    assert_eq!(customers.unique, [["email"]]);
    let [id, name, _, level] = customers.columns.as_slice() else {
        panic!("{customers:?}");
    };
    assert_eq!(id.comment.as_deref(), Some("客户号"));
    assert_eq!(id.extra.as_deref(), Some("auto_increment"));
    assert!(id.is_primary_key && !id.is_nullable && !name.is_nullable && level.is_nullable);
    assert_eq!(name.comment.as_deref(), Some("how they are called"));
    assert_eq!(level.default_value.as_deref(), Some("'new'"));
    assert_eq!(level.values, ["new", "gold"]);
    let gold = table(&catalogue, "gold");
    assert_eq!((gold.table_type, gold.columns.len()), (TableType::View, 2));
    assert_eq!(gold.comment.as_deref(), Some("the best of them"));
    let notes: Vec<&str> = table(&catalogue, "notes")
        .columns
        .iter()
        .map(|c| c.name.as_str())
        .collect();
    assert_eq!(notes, ["title", "body"]);
}

#[tokio::test]
async fn keys_lead_somewhere() {
    let folder = Folder::with(SCHEMA);
    let catalogue = read(&folder).await;
    let orders = table(&catalogue, "orders");
    let [key] = orders.foreign_keys.as_slice() else {
        panic!("{orders:?}");
    };
    assert_eq!(
        (key.columns.as_slice(), key.ref_table.as_str()),
        (&["customer_id".to_owned()][..], "customers")
    );
    assert_eq!(key.ref_columns, ["id"]);
    assert_eq!(orders.unique, [["customer_id", "price"]]);
    let total = orders.column("total").unwrap();
    assert_eq!(total.extra.as_deref(), Some("generated"));
    let links = table(&catalogue, "links");
    assert_eq!(links.foreign_keys[0].columns, ["x", "y"]);
    assert_eq!(links.foreign_keys[0].ref_columns, ["a", "b"]);
    let pairs = table(&catalogue, "pairs");
    assert!(
        pairs
            .columns
            .iter()
            .take(2)
            .all(|c| c.is_primary_key && !c.is_nullable)
    );
    assert!(pairs.columns[0].extra.is_none());
}

#[tokio::test]
async fn the_fingerprint_changes_with_the_schema_and_the_file() {
    let folder = Folder::with("CREATE TABLE t (a)");
    let change = |sql: &str| {
        rusqlite::Connection::open(folder.file())
            .unwrap()
            .execute_batch(sql)
            .unwrap()
    };
    let database = folder.database();
    let first = database.fingerprint().await.unwrap();
    assert_eq!(read(&folder).await.fingerprint, first);
    change("INSERT INTO t VALUES (1)");
    assert_eq!(database.fingerprint().await.unwrap(), first);
    change("ALTER TABLE t ADD COLUMN b");
    let second = database.fingerprint().await.unwrap();
    assert_ne!(second, first);
    std::fs::remove_file(folder.file()).unwrap();
    change("CREATE TABLE u (a)");
    assert_ne!(database.fingerprint().await.unwrap(), first);
}

#[tokio::test]
async fn many_tables_are_read_with_progress() {
    use std::fmt::Write;
    let mut sql = "BEGIN;".to_owned();
    for i in 0..2_000 {
        writeln!(
            sql,
            "CREATE TABLE t{i} (id INTEGER PRIMARY KEY, a TEXT, b INT REFERENCES t{}); -- {i}",
            i / 2
        )
        .unwrap();
    }
    sql.push_str("COMMIT;");
    let folder = Folder::with(&sql);
    let furthest = AtomicU64::new(0);
    let progress = |done: u64, total: u64, _: &str| {
        assert_eq!(total, 2_000);
        furthest.fetch_max(done, Ordering::Relaxed);
    };
    let catalogue = folder.database().catalogue(&progress).await.unwrap();
    assert_eq!(catalogue.tables.len(), 2_000);
    assert_eq!(
        catalogue.resolve(None, "t1999").unwrap().foreign_keys[0].ref_table,
        "t999"
    );
    assert!(furthest.into_inner() > 1_900);
}

/// Returns a sample file; `None` if it is missing.
fn sample(name: &str) -> Option<String> {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/nl2sql/samples"
    );
    let found = std::fs::read_to_string(Path::new(folder).join(name));
    if found.is_err() {
        eprintln!("left out: {name} is not there");
    }
    found.ok()
}

#[tokio::test]
async fn chinook_is_read() {
    let Some(sql) = sample("chinook_sqlite.sql") else {
        return;
    };
    let folder = Folder::with(&sql);
    let catalogue = read(&folder).await;
    assert_eq!(catalogue.tables.len(), 11);
    let keys: usize = catalogue
        .tables
        .iter()
        .map(|table| table.foreign_keys.len())
        .sum();
    assert_eq!(keys, 11);
    let track = table(&catalogue, "track");
    assert_eq!(
        (track.table_name.as_str(), track.columns.len()),
        ("Track", 9)
    );
    let rows = folder
        .database()
        .query("SELECT count(*) FROM Track", &Default::default())
        .await
        .unwrap();
    assert_eq!(rows.rows, [[quillet_sql::rows::Cell::Int(3_503)]]);
}

#[tokio::test]
async fn sakila_is_read() {
    let Some(sql) = sample("sakila_sqlite_schema.sql") else {
        return;
    };
    let catalogue = read(&Folder::with(&sql)).await;
    let views = catalogue
        .tables
        .iter()
        .filter(|table| table.table_type == TableType::View);
    assert_eq!((catalogue.tables.len(), views.count()), (21, 5));
    assert_eq!(table(&catalogue, "film_actor").foreign_keys.len(), 2);
}
