//! A small shop in each of the three databases, with a service on top.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use quillet_core::chat::Bytes4;
use quillet_sql::chain::BuiltIn;
use quillet_sql::database::ConnectOptions;
use quillet_sql::{ConnectionDefinition, Databases, ServiceParts, SqlConfig, SqlDialect};
use quillet_store::{ArchiveOptions, MemoryArchive, MemoryStore};
use quillet_test_support::{MariaDb, Postgres};

use crate::scripted::Scripted;

/// Six tables in SQL that all three databases accept.
const TABLES: &str = "
CREATE TABLE customers (id integer PRIMARY KEY, name varchar(80), city varchar(80));
CREATE TABLE products (id integer PRIMARY KEY, name varchar(80), price decimal(10,2));
CREATE TABLE orders (id integer PRIMARY KEY, customer_id integer, total decimal(10,2),
  FOREIGN KEY (customer_id) REFERENCES customers (id));
CREATE TABLE order_items (order_id integer, product_id integer, quantity integer,
  FOREIGN KEY (order_id) REFERENCES orders (id));
CREATE TABLE employees (id integer PRIMARY KEY, name varchar(80));
CREATE TABLE 订单备注 (id integer PRIMARY KEY, 内容 varchar(80));
INSERT INTO customers VALUES (1, 'Ann', 'Oslo'), (2, 'Bob', 'Rome'), (3, 'Cai', 'Oslo');
INSERT INTO orders VALUES (1, 1, 10.50), (2, 1, 20.00), (3, 2, 5.25), (4, 3, 1.00);
";

/// A shop, removed on drop.
#[derive(Debug)]
pub(crate) struct Shop {
    pub(crate) dialect: SqlDialect,
    pub(crate) url: String,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Postgres(Postgres),
    MariaDb(MariaDb),
    File(PathBuf),
}

impl Shop {
    pub(crate) fn open(dialect: SqlDialect) -> Self {
        match dialect {
            SqlDialect::PostgreSql => {
                let server = Postgres::start();
                server.execute(TABLES);
                Shop {
                    dialect,
                    url: server.url(),
                    place: Place::Postgres(server),
                }
            }
            SqlDialect::MySql => {
                let server = MariaDb::start();
                server.execute(TABLES);
                Shop {
                    dialect,
                    url: server.url(),
                    place: Place::MariaDb(server),
                }
            }
            SqlDialect::Sqlite => {
                let name = format!("quillet-shop-{}.db", uuid::Uuid::new_v4());
                let path = std::env::temp_dir().join(name);
                write(&path, TABLES);
                Shop {
                    dialect,
                    url: format!("sqlite:{}", path.display()),
                    place: Place::File(path),
                }
            }
        }
    }

    /// Runs a script as the owner of the shop.
    pub(crate) fn execute(&self, script: &str) {
        match &self.place {
            Place::Postgres(server) => server.execute(script),
            Place::MariaDb(server) => server.execute(script),
            Place::File(path) => write(path, script),
        }
    }

    /// Returns the schema of the tables, as the pipeline names it.
    pub(crate) fn schema(&self) -> String {
        match self.dialect {
            SqlDialect::PostgreSql => "public".to_owned(),
            SqlDialect::Sqlite => "main".to_owned(),
            SqlDialect::MySql => {
                let url: quillet_sql::ConnectionUrl = self.url.parse().unwrap();
                url.database
            }
        }
    }
}

fn write(path: &Path, script: &str) {
    let file = rusqlite::Connection::open(path).unwrap();
    file.execute_batch(script).unwrap();
}

impl Drop for Shop {
    fn drop(&mut self) {
        if let Place::File(path) = &self.place {
            // The system cleans up temporary files that cannot be removed here.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Creates a service in memory with a scripted model.
pub(crate) fn service(model: &Arc<Scripted>, config: SqlConfig) -> Databases {
    Databases::new(ServiceParts {
        store: Arc::new(MemoryStore::new()),
        archive: Arc::new(MemoryArchive::new(ArchiveOptions::default())),
        model: Some(model.clone()),
        tokens: Arc::new(Bytes4),
        embedder: None,
        prompts: Arc::new(BuiltIn::new().unwrap()),
        config: SqlConfig {
            connect: ConnectOptions {
                // The test runs as the owner of the shop.
                powerful_roles: true,
                ..config.connect
            },
            ..config
        },
    })
}

/// Creates a service that already has a connection to the shop.
pub(crate) async fn serving(shop: &Shop, model: &Arc<Scripted>, config: SqlConfig) -> Databases {
    let databases = service(model, config);
    databases
        .put("shop", ConnectionDefinition::of(&shop.url))
        .await
        .unwrap();
    databases
}
