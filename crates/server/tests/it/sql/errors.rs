//! All failures of phase 1, over HTTP with a scripted provider.

use quillet_fake_provider::{ErrorResponse, InjectedFault, ReplyScript, ScriptedReply};
use quillet_sql::{ChainMode, SqlConfig};
use serde_json::json;

use super::served::{Setup, error};
use super::shop::Shop;

const QUERY: &str = r#"{"sql": "SELECT count(*) AS n FROM orders", "explanation": "how many"}"#;
const ALL: usize = 6;

/// Returns the reply in phase 1, the expected reason for the fallback, and the number of tables in
/// phase 2.
fn rows() -> Vec<(ScriptedReply, Option<&'static str>, usize)> {
    let text = |text: &str| ScriptedReply::text([text]);
    vec![
        (
            ScriptedReply::failing(InjectedFault::Refuse(ErrorResponse::Server)),
            Some("call_failed"),
            ALL,
        ),
        (text("You need the orders."), Some("not_json"), ALL),
        (text("[]"), Some("empty"), ALL),
        (text(r#"["orders", "no_such_table"]"#), None, 1),
        (text(r#"["nope", "nada"]"#), Some("all_unknown"), ALL),
    ]
}

async fn every_row(shop: &Shop) {
    for (turn, reason, tables) in rows() {
        let setup = Setup {
            answers: ReplyScript::turns([turn, ScriptedReply::text([QUERY])]),
            sql: SqlConfig {
                chain: ChainMode::Seed,
                ..SqlConfig::default()
            },
            ..Setup::default()
        };
        let served = setup.with(shop).await;
        let answer = served.ask("how many orders are there?", true).await;
        assert_eq!(answer.status, 200, "{reason:?}: {}", answer.body);
        let body = answer.json();
        assert_eq!(body["fallbackUsed"], reason.is_some(), "{body}");
        assert_eq!(body["fallbackReason"]["code"].as_str(), reason, "{body}");
        assert_eq!(
            body["selectedTables"].as_array().unwrap().len(),
            tables,
            "{body}"
        );
        assert_eq!(body["result"]["rows"], json!([{"n": 4}]), "{body}");
    }
}

#[tokio::test]
async fn every_row_holds_on_sqlite() {
    every_row(&Shop::sqlite()).await;
}

#[tokio::test]
async fn every_row_holds_on_postgresql() {
    every_row(&Shop::postgres()).await;
}

#[tokio::test]
async fn every_row_holds_on_mariadb() {
    every_row(&Shop::mariadb()).await;
}

/// If a database becomes unavailable, the error names it and its cached catalogue stays.
#[tokio::test]
async fn a_database_that_goes_away_is_an_answer() {
    let shop = Shop::postgres();
    let served = Setup::default().with(&shop).await;
    assert_eq!(served.get("/dbs/shop/metadata").await.status, 200);
    drop(shop);
    let query = json!({"sql": "SELECT id FROM orders"});
    error(
        &served.post("/dbs/shop/query", &query).await,
        503,
        "sql.unreachable",
    );
    let kept = served.get("/dbs/shop/metadata").await;
    assert_eq!(kept.status, 200);
    let anew = served.send("POST", "/dbs/shop/metadata/refresh", "").await;
    error(&anew, 503, "sql.unreachable");
}
