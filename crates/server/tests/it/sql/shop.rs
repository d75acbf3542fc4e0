//! A small shop in each of the three databases.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use quillet_test_support::{MariaDb, Postgres};

/// Tables in SQL that is valid in all three databases.
const TABLES: &str = "
CREATE TABLE customers (id integer PRIMARY KEY, name varchar(80), city varchar(80));
CREATE TABLE orders (id integer PRIMARY KEY, customer_id integer, total decimal(10,2),
  FOREIGN KEY (customer_id) REFERENCES customers (id));
CREATE TABLE employees (id integer PRIMARY KEY, name varchar(80));
CREATE TABLE products (id integer PRIMARY KEY, name varchar(80), price decimal(10,2));
CREATE TABLE 订单备注 (id integer PRIMARY KEY, 内容 varchar(80));
CREATE VIEW big_orders AS SELECT id, total FROM orders WHERE total > 10;
INSERT INTO customers VALUES (1, 'Ann', 'Oslo'), (2, 'Bob', 'Rome'), (3, 'Cai', 'Oslo');
INSERT INTO orders VALUES (1, 1, 10.50), (2, 1, 20.00), (3, 2, 5.25), (4, 3, 1.00);
";

/// A shop that is removed on drop.
#[derive(Debug)]
pub(super) enum Shop {
    Sqlite(PathBuf),
    Postgres(Postgres),
    MariaDb(MariaDb),
}

impl Shop {
    pub(super) fn sqlite() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("quillet-shop-{}-{count}.db", std::process::id());
        let shop = Shop::Sqlite(std::env::temp_dir().join(name));
        shop.execute(TABLES);
        shop
    }

    pub(super) fn postgres() -> Self {
        let shop = Shop::Postgres(Postgres::start());
        shop.execute(TABLES);
        shop
    }

    pub(super) fn mariadb() -> Self {
        let shop = Shop::MariaDb(MariaDb::start());
        shop.execute(TABLES);
        shop
    }

    pub(super) fn url(&self) -> String {
        match self {
            Shop::Sqlite(path) => format!("sqlite:{}", path.display()),
            Shop::Postgres(server) => server.url(),
            Shop::MariaDb(server) => server.url(),
        }
    }

    /// Runs SQL as the owner of the shop.
    pub(super) fn execute(&self, script: &str) {
        match self {
            Shop::Sqlite(path) => {
                let file = rusqlite::Connection::open(path).unwrap();
                file.execute_batch(script).unwrap();
            }
            Shop::Postgres(server) => server.execute(script),
            Shop::MariaDb(server) => server.execute(script),
        }
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        if let Shop::Sqlite(path) = self {
            let _ = std::fs::remove_file(path);
        }
    }
}
