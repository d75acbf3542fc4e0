//! Tests every failure of phase 1 on each database, with a scripted model.

use std::sync::Arc;

use quillet_core::chat::ModelErrorKind;
use quillet_sql::{ChainMode, RunOptions, SqlConfig, SqlDialect};

use super::shop::{Shop, serving};
use crate::scripted::{Says, Scripted};

const QUERY: &str = r#"{"sql": "SELECT COUNT(*) AS n FROM orders", "explanation": "how many"}"#;

/// Answer of phase 1; reason for the fallback, if any; selected tables, or `None` for all.
type Row = (Says, Option<&'static str>, Option<&'static [&'static str]>);

fn rows() -> Vec<Row> {
    let text = |text: &str| Says::Text(text.to_owned());
    vec![
        // The model call of phase 1 fails.
        (
            Says::Fails(ModelErrorKind::Timeout),
            Some("call_failed"),
            None,
        ),
        (
            Says::Fails(ModelErrorKind::RateLimited),
            Some("call_failed"),
            None,
        ),
        (Says::Breaks("[\"ord".to_owned()), Some("call_failed"), None),
        // Phase 1 returns text that is not JSON.
        (
            text("You need orders and customers."),
            Some("not_json"),
            None,
        ),
        (text("42"), Some("not_an_array"), None),
        // Phase 1 returns an empty array.
        (text("[]"), Some("empty"), None),
        // A selected table does not exist in the database.
        (
            text(r#"["orders", "no_such_table", "customers"]"#),
            None,
            Some(&["orders", "customers"]),
        ),
        // None of the selected tables exists.
        (text(r#"["nope", "nada"]"#), Some("all_unknown"), None),
        // The selected table exists, so there is no fallback.
        (text(r#"["订单备注"]"#), None, Some(&["订单备注"])),
    ]
}

async fn all_rows(dialect: SqlDialect) {
    let shop = Shop::open(dialect);
    for mode in [ChainMode::Seed, ChainMode::Budget] {
        for (says, fallback, chosen) in rows() {
            let model = Arc::new(Scripted::new([says.clone(), Says::Text(QUERY.to_owned())]));
            let config = SqlConfig {
                chain: mode,
                full_schema_tokens: 0,
                repair_tables: 0,
                ..SqlConfig::default()
            };
            let databases = serving(&shop, &model, config).await;
            let options = RunOptions::default();
            let asked = databases
                .ask("shop", "how many orders are there?", &options)
                .await;
            let (generated, ran) =
                asked.unwrap_or_else(|error| panic!("{dialect} {says:?}: {error}"));
            let reason = generated.fallback_reason.as_ref().map(|reason| reason.code);
            assert_eq!(reason, fallback, "{dialect} {says:?}");
            assert_eq!(generated.fallback_used, fallback.is_some());
            let names: Vec<&str> = generated
                .selected_tables
                .iter()
                .map(|t| t.name.as_str())
                .collect();
            match chosen {
                None => assert_eq!(names.len(), 6, "{dialect} {says:?}: {names:?}"),
                Some(chosen) => {
                    let expected = chosen
                        .iter()
                        .map(|name| format!("{}.{name}", shop.schema()));
                    assert_eq!(names, expected.collect::<Vec<_>>(), "{dialect} {says:?}");
                }
            }
            assert_eq!(
                format!("{:?}", ran.rows.rows),
                "[[Int(4)]]",
                "{dialect} {says:?}"
            );
            assert_eq!(model.asked().len(), 2, "one call for each phase");
        }
    }
}

#[tokio::test]
async fn every_row_holds_on_sqlite() {
    all_rows(SqlDialect::Sqlite).await;
}

#[tokio::test]
async fn every_row_holds_on_postgresql() {
    all_rows(SqlDialect::PostgreSql).await;
}

#[tokio::test]
async fn every_row_holds_on_mariadb() {
    all_rows(SqlDialect::MySql).await;
}

/// A failure of phase 2 is an error, because it does not have a fallback.
#[tokio::test]
async fn phase_2_has_no_fallback() {
    let shop = Shop::open(SqlDialect::Sqlite);
    for (says, code) in [
        (Says::Fails(ModelErrorKind::Auth), "model.auth"),
        (Says::Text("I am sorry.".to_owned()), "sql.answer"),
        (Says::Text(String::new()), "sql.answer"),
        (
            Says::Text("DROP TABLE orders".to_owned()),
            "sql.guard.statement",
        ),
    ] {
        let model = Arc::new(Scripted::new([
            Says::Text("[\"orders\"]".to_owned()),
            says.clone(),
        ]));
        let config = SqlConfig {
            full_schema_tokens: 0,
            ..SqlConfig::default()
        };
        let databases = serving(&shop, &model, config).await;
        let error = databases
            .generate("shop", "how many orders?")
            .await
            .unwrap_err();
        assert_eq!(error.code(), code, "{says:?}: {error}");
    }
}
