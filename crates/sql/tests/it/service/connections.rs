//! Tests storing, listing and removing named connections without showing their secrets.

use std::sync::Arc;

use quillet_sql::{ConnectionDefinition, RunOptions, SqlConfig, SqlDialect};

use super::shop::{Shop, service, serving};
use crate::scripted::Scripted;

fn nobody() -> Arc<Scripted> {
    Arc::new(Scripted::texts(&[]))
}

#[tokio::test]
async fn connections_come_and_go() {
    let shop = Shop::open(SqlDialect::Sqlite);
    let databases = service(&nobody(), SqlConfig::default());
    let put = databases
        .put("shop", ConnectionDefinition::of(&shop.url))
        .await
        .unwrap();
    assert!(put.created);
    let again = databases
        .put("shop", ConnectionDefinition::of(&shop.url))
        .await
        .unwrap();
    assert!(!again.created);
    assert_eq!(again.connection.created_at, put.connection.created_at);
    let names: Vec<String> = databases
        .list()
        .await
        .unwrap()
        .into_iter()
        .map(|c| c.name)
        .collect();
    assert_eq!(names, ["shop"]);
    let error = databases.get("shpo").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown database \"shpo\"; did you mean \"shop\"?"
    );
    assert!(databases.remove("shop").await.unwrap());
    assert!(!databases.remove("shop").await.unwrap());
    assert_eq!(
        databases.get("shop").await.unwrap_err().code(),
        "sql.not_found"
    );
}

#[tokio::test]
async fn a_connection_that_cannot_be_made_is_not_kept() {
    let databases = service(&nobody(), SqlConfig::default());
    for (name, url, code) in [
        ("shop", "sqlite:/no/such/file.db", "sql.unreachable"),
        (
            "shop",
            "postgresql://ann:s3cret@127.0.0.1:1/shop",
            "sql.unreachable",
        ),
        (
            "shop",
            "mysql://ann:s3cret@127.0.0.1:1/shop",
            "sql.unreachable",
        ),
        ("shop", "oracle://h/x", "sql.invalid.url"),
        ("a b", "sqlite:x.db", "sql.invalid.name"),
        ("", "sqlite:x.db", "sql.invalid.name"),
        ("a:b", "sqlite:x.db", "sql.invalid.name"),
    ] {
        let error = databases
            .put(name, ConnectionDefinition::of(url))
            .await
            .unwrap_err();
        assert_eq!(error.code(), code, "{url}: {error}");
        assert!(
            !format!("{error} {error:?}").contains("s3cret"),
            "{error:?}"
        );
    }
    assert!(databases.list().await.unwrap().is_empty());
}

#[tokio::test]
async fn what_ran_is_in_the_history() {
    let shop = Shop::open(SqlDialect::Sqlite);
    let databases = serving(&shop, &nobody(), SqlConfig::default()).await;
    let asked = RunOptions {
        question: Some("奥斯陆的客户".to_owned()),
        ..RunOptions::default()
    };
    let sql = "SELECT name FROM customers WHERE city = 'Oslo'";
    databases.run("shop", sql, &asked).await.unwrap();
    databases
        .run("shop", "SELECT 1 AS one", &RunOptions::default())
        .await
        .unwrap();
    let refused = databases
        .run("shop", "DELETE FROM customers", &RunOptions::default())
        .await;
    assert!(refused.is_err());
    let page = databases.history("shop", None, 20).await.unwrap();
    let shown: Vec<(u64, Option<&str>)> = page
        .items
        .iter()
        .map(|item| (item.row_count, item.question.as_deref()))
        .collect();
    assert_eq!(shown, [(1, None), (2, Some("奥斯陆的客户"))]);
    let found = databases.search_history("shop", "客户", 20).await.unwrap();
    assert_eq!(found.total, 1);
    assert_eq!(
        databases
            .history("shop", None, 101)
            .await
            .unwrap_err()
            .code(),
        "sql.invalid.limit"
    );
}
