//! Natural-language questions over HTTP.

use quillet_fake_provider::{ErrorResponse, InjectedFault, ReplyScript, ScriptedReply};
use serde_json::json;

use super::served::{Setup, error};
use super::shop::Shop;

const COUNT: &str =
    r#"{"sql": "SELECT count(*) AS n FROM orders", "explanation": "How many orders there are."}"#;

/// The first question to a database reads its catalogue without a refresh.
#[tokio::test]
async fn a_question_becomes_a_query_and_its_account() {
    let shop = Shop::sqlite();
    let served = Setup::saying([COUNT]).with(&shop).await;
    let answer = served.ask("how many orders are there?", false).await.json();
    assert!(
        answer["generatedSql"]
            .as_str()
            .unwrap()
            .contains("count(*)"),
        "{answer}"
    );
    assert_eq!(answer["explanation"], "How many orders there are.");
    assert_eq!(answer["fallbackUsed"], false);
    assert!(!answer["selectedTables"].as_array().unwrap().is_empty());
    assert!(answer["tokens"]["prompt"].as_u64().unwrap() > 0);
    assert!(answer["phases"].as_array().unwrap().len() > 1);
    assert!(answer.get("result").is_none(), "nothing is run: {answer}");
    let history = served.get("/dbs/shop/history").await.json();
    assert_eq!(history["total"], 0, "only what ran is kept");
}

#[tokio::test]
async fn it_is_run_if_that_is_wished() {
    let shop = Shop::sqlite();
    let served = Setup::saying([COUNT]).with(&shop).await;
    let answer = served.ask("订单有多少?", true).await.json();
    assert_eq!(answer["result"]["rows"], json!([{"n": 4}]));
    assert!(answer["executionTimeMs"].is_u64());
    let history = served.get("/dbs/shop/history").await.json();
    assert_eq!(history["items"][0]["naturalQuery"], "订单有多少?");
}

/// A check for `SELECT` as the first word would reject all of these queries.
#[tokio::test]
async fn queries_that_begin_with_with_are_queries() {
    let shop = Shop::sqlite();
    let with = r#"{"sql": "WITH o AS (SELECT total FROM orders) SELECT sum(total) AS s FROM o"}"#;
    let served = Setup::saying([with]).with(&shop).await;
    assert_eq!(served.ask("all orders together?", true).await.status, 200);
}

#[tokio::test]
async fn a_refused_query_goes_back_to_the_model_once() {
    let shop = Shop::sqlite();
    let wrong = r#"{"sql": "SELECT count(*) AS n FROM order"}"#;
    let served = Setup::saying([wrong, COUNT]).with(&shop).await;
    let answer = served.ask("how many orders?", true).await.json();
    assert_eq!(answer["result"]["rows"], json!([{"n": 4}]));
    assert_eq!(answer["repairs"].as_array().unwrap().len(), 1, "{answer}");
}

#[tokio::test]
async fn what_gives_no_query_has_its_status() {
    let shop = Shop::sqlite();
    for (setup, question, status, code) in [
        (Setup::saying([COUNT]), " ", 400, "sql.invalid.prompt"),
        (
            Setup::saying(["I would rather not."]),
            "why?",
            400,
            "sql.answer",
        ),
        (
            Setup::saying([r#"{"sql": "DROP TABLE orders"}"#]),
            "drop it",
            400,
            "sql.guard.statement",
        ),
    ] {
        let served = setup.with(&shop).await;
        error(&served.ask(question, true).await, status, code);
    }
    let failing = Setup {
        answers: ReplyScript::turns([ScriptedReply::failing(InjectedFault::Refuse(
            ErrorResponse::Server,
        ))]),
        ..Setup::default()
    };
    let served = failing.with(&shop).await;
    assert_eq!(served.ask("how many?", false).await.status, 503);
    let speechless = Setup {
        has_model: false,
        ..Setup::default()
    };
    let served = speechless.with(&shop).await;
    error(&served.ask("how many?", false).await, 503, "sql.no_model");
    let missing = served.post("/dbs/shop/query/natural", &json!({})).await;
    error(&missing, 422, "request.body");
}

#[tokio::test]
async fn an_unknown_database_is_not_asked() {
    let served = Setup::saying([COUNT]).start().await;
    error(&served.ask("how many?", false).await, 404, "sql.not_found");
    assert!(served.provider.requests().is_empty());
}

#[tokio::test]
async fn a_question_goes_on_from_those_before() {
    let shop = Shop::sqlite();
    let served = Setup::saying([COUNT]).with(&shop).await;
    let earlier = json!({"question": "how many customers?", "sql": "SELECT 4711"});
    let body = json!({"prompt": "and of Oslo?", "previous": [earlier]});
    let answer = served.post("/dbs/shop/query/natural", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let asked = format!("{:?}", served.provider.requests());
    assert!(asked.contains("how many customers?") && asked.contains("SELECT 4711"));
    let wrong = json!({"prompt": "x", "previous": [{"quest": "y"}]});
    let answer = served.post("/dbs/shop/query/natural", &wrong).await;
    assert_eq!(answer.status, 422, "{}", answer.body);
}
