//! Tests that catalogues are stored, compared, refreshed, and used while the database is
//! unavailable.

use std::sync::Arc;
use std::time::Duration;

use quillet_core::chat::Bytes4;
use quillet_sql::chain::BuiltIn;
use quillet_sql::{
    ConnectionDefinition, ConnectionUrl, Databases, RunOptions, ServiceParts, SqlConfig, SqlDialect,
};
use quillet_store::{ArchiveOptions, MemoryArchive, MemoryStore};

use super::shop::{Shop, serving};
use crate::scripted::Scripted;
use crate::toy::Toy;

fn always_compared() -> SqlConfig {
    SqlConfig {
        catalogue_age: Duration::ZERO,
        ..SqlConfig::default()
    }
}

async fn tables(databases: &Databases) -> Vec<String> {
    let catalogue = databases
        .catalogue("shop", false, &|_, _, _| {})
        .await
        .unwrap();
    catalogue
        .tables
        .iter()
        .map(|table| table.table_name.clone())
        .collect()
}

async fn follows_changes(dialect: SqlDialect) {
    let shop = Shop::open(dialect);
    let model = Arc::new(Scripted::texts(&[]));
    let databases = serving(&shop, &model, always_compared()).await;
    let before = tables(&databases).await;
    assert_eq!(before.len(), 6, "{dialect}: {before:?}");
    shop.execute("CREATE TABLE refunds (id integer PRIMARY KEY, amount decimal(10,2));");
    assert!(
        tables(&databases).await.contains(&"refunds".to_owned()),
        "{dialect}"
    );
    shop.execute("ALTER TABLE refunds ADD COLUMN reason varchar(20);");
    let catalogue = databases
        .catalogue("shop", false, &|_, _, _| {})
        .await
        .unwrap();
    let refunds = catalogue.resolve(None, "refunds").unwrap();
    assert!(refunds.column("reason").is_some(), "{dialect}");
}

#[tokio::test]
async fn changes_are_followed() {
    for dialect in SqlDialect::ALL {
        follows_changes(dialect).await;
    }
}

/// A table created after the catalogue was read must be recognized.
#[tokio::test]
async fn a_name_that_is_not_known_is_looked_for_once_more() {
    let shop = Shop::open(SqlDialect::Sqlite);
    let model = Arc::new(Scripted::texts(&[]));
    let databases = serving(&shop, &model, SqlConfig::default()).await;
    assert_eq!(tables(&databases).await.len(), 6);
    shop.execute("CREATE TABLE refunds (id integer PRIMARY KEY);");
    let ran = databases
        .run("shop", "SELECT id FROM refunds", &RunOptions::default())
        .await;
    assert!(ran.unwrap().rows.rows.is_empty());
    let error = databases
        .run("shop", "SELECT id FROM refundz", &RunOptions::default())
        .await;
    let error = error.unwrap_err();
    assert_eq!(error.code(), "sql.guard.table");
    assert!(error.help().unwrap().contains("refunds"), "{error:?}");
}

/// A client with a wrong password must not see the catalogue that another one has read.
#[tokio::test]
async fn a_kept_catalogue_is_not_for_those_who_are_refused() {
    let shop = Shop::open(SqlDialect::MySql);
    let archive = Arc::new(MemoryArchive::new(ArchiveOptions::default()));
    let asked_at = |url: &str| {
        let databases = Databases::new(ServiceParts {
            store: Arc::new(MemoryStore::new()),
            archive: archive.clone(),
            model: None,
            tokens: Arc::new(Bytes4),
            embedder: None,
            prompts: Arc::new(BuiltIn::new().unwrap()),
            config: always_compared(),
        });
        databases
            .add_temporary("shop", &ConnectionDefinition::of(url))
            .unwrap();
        databases
    };
    assert_eq!(tables(&asked_at(&shop.url)).await.len(), 6);
    let url: ConnectionUrl = shop.url.parse().unwrap();
    let wrong = asked_at(url.with_password("wrong").secret_text());
    let refused = wrong.catalogue("shop", false, &|_, _, _| {}).await;
    assert_eq!(refused.unwrap_err().code(), "sql.denied");
}

/// The stored catalogue remains usable after a restart and without the database.
#[tokio::test]
async fn a_kept_catalogue_serves_while_the_database_is_away() {
    let archive = Arc::new(MemoryArchive::new(ArchiveOptions::default()));
    let store = Arc::new(MemoryStore::new());
    let parts = || ServiceParts {
        store: store.clone(),
        archive: archive.clone(),
        model: None,
        tokens: Arc::new(Bytes4),
        embedder: None,
        prompts: Arc::new(BuiltIn::new().unwrap()),
        config: always_compared(),
    };
    let shop = Shop::open(SqlDialect::Sqlite);
    let first = Databases::new(parts());
    first
        .put("shop", ConnectionDefinition::of(&shop.url))
        .await
        .unwrap();
    assert_eq!(tables(&first).await.len(), 6);
    drop(first);
    drop(shop);
    let second = Databases::new(parts());
    assert_eq!(tables(&second).await.len(), 6);
    let refreshed = second.catalogue("shop", true, &|_, _, _| {}).await;
    assert_eq!(refreshed.unwrap_err().code(), "sql.unreachable");
    let ran = second
        .run("shop", "SELECT 1 AS one", &RunOptions::default())
        .await;
    assert_eq!(ran.unwrap_err().code(), "sql.unreachable");
}

/// The first question starts the embedding in the background.
#[tokio::test]
async fn tables_get_vectors_in_the_background() {
    let shop = Shop::open(SqlDialect::Sqlite);
    let parts = ServiceParts {
        store: Arc::new(MemoryStore::new()),
        archive: Arc::new(MemoryArchive::new(ArchiveOptions::default())),
        model: Some(Arc::new(Scripted::texts(&[
            r#"{"sql": "SELECT 1 AS one"}"#,
        ]))),
        tokens: Arc::new(Bytes4),
        embedder: Some(Arc::new(Toy)),
        prompts: Arc::new(BuiltIn::new().unwrap()),
        config: SqlConfig::default(),
    };
    let databases = Databases::new(parts);
    databases
        .put("shop", ConnectionDefinition::of(&shop.url))
        .await
        .unwrap();
    databases.generate("shop", "which sailors?").await.unwrap();
    let prepared = databases
        .prepared("shop", false, &|_, _, _| {})
        .await
        .unwrap();
    let made = async {
        while !prepared.is_embedded() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), made)
        .await
        .unwrap();
    databases.generate("shop", "which sailors?").await.unwrap();
}
