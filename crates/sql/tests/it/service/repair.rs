//! What goes back to the model, once.

use std::sync::Arc;

use quillet_core::Content;
use quillet_sql::{Dialect, RunOptions, SqlConfig};

use super::shop::{Shop, serving};
use crate::scripted::Scripted;

const RIGHT: &str = r#"{"sql": "SELECT COUNT(*) AS n FROM orders"}"#;

/// Answers that cannot be used, the code of what is wrong, and a word of what the model is told.
const WRONG: &[(&str, &str, &str)] = &[
    ("There are many orders.", "sql.answer", "without a query"),
    ("", "sql.answer", "with nothing"),
    (
        r#"{"sql": "SELECT 1; DELETE FROM orders"}"#,
        "sql.guard.statements",
        "statement",
    ),
    (
        r#"{"sql": "DELETE FROM orders"}"#,
        "sql.guard.statement",
        "DELETE",
    ),
    (
        r#"{"sql": "SELECT * FROM orderz"}"#,
        "sql.guard.table",
        "orders",
    ),
    (
        r#"{"sql": "SELECT totl FROM orders"}"#,
        "sql.guard.column",
        "total",
    ),
    (r#"{"sql": "SELECT TOP 5 * FROM orders"}"#, "sql.guard.", ""),
    (
        r#"{"sql": "SELECT * FROM orders WHERE"}"#,
        "sql.guard.syntax",
        "",
    ),
];

#[tokio::test]
async fn what_the_guard_refuses_goes_back_once() {
    let shop = Shop::open(Dialect::Sqlite);
    for (wrong, code, told) in WRONG {
        let model = Arc::new(Scripted::texts(&[wrong, RIGHT]));
        let databases = serving(&shop, &model, SqlConfig::default()).await;
        let generated = databases.generate("shop", "how many orders?").await;
        let generated = generated.unwrap_or_else(|error| panic!("{wrong}: {error}"));
        let [repair] = generated.repairs.as_slice() else {
            panic!("{wrong}: {:?}", generated.repairs);
        };
        assert!(repair.code.starts_with(code), "{wrong}: {repair:?}");
        assert!(repair.error.contains(told), "{wrong}: {repair:?}");
        let asked = model.asked();
        let Content::Text(second) = &asked[1].messages[1].content else {
            panic!("{asked:?}");
        };
        assert!(second.contains(&repair.error), "{second}");
        assert!(second.contains("how many orders?"), "{second}");
    }
}

#[tokio::test]
async fn what_the_database_refuses_goes_back_once() {
    let shop = Shop::open(Dialect::PostgreSql);
    let wrong = r#"{"sql": "SELECT 1 / (total - total) FROM orders"}"#;
    let model = Arc::new(Scripted::texts(&[wrong, RIGHT]));
    let databases = serving(&shop, &model, SqlConfig::default()).await;
    let options = RunOptions::default();
    let (generated, ran) = databases
        .ask("shop", "how many orders?", &options)
        .await
        .unwrap();
    assert_eq!(generated.repairs[0].code, "sql.failed");
    assert!(generated.repairs[0].error.contains("division by zero"));
    assert_eq!(ran.rows.rows.len(), 1);
}

#[tokio::test]
async fn repairs_are_counted() {
    let shop = Shop::open(Dialect::Sqlite);
    for (repairs, calls) in [(0, 1), (1, 2), (3, 4)] {
        let model = Arc::new(Scripted::texts(&["DROP TABLE orders"]));
        let config = SqlConfig {
            repairs,
            ..SqlConfig::default()
        };
        let databases = serving(&shop, &model, config).await;
        let error = databases
            .generate("shop", "how many orders?")
            .await
            .unwrap_err();
        assert_eq!(error.code(), "sql.guard.statement");
        assert_eq!(model.asked().len(), calls, "{repairs} repairs");
    }
}
