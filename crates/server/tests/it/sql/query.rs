//! Queries over HTTP.

use std::time::Duration;

use quillet_sql::{QueryLimits, SqlConfig};
use serde_json::{Value, json};

use super::served::{Setup, error};
use super::shop::Shop;
use crate::client;

fn bounded(limits: QueryLimits) -> Setup {
    Setup {
        sql: SqlConfig {
            limits,
            ..SqlConfig::default()
        },
        ..Setup::default()
    }
}

#[tokio::test]
async fn rows_come_with_columns_and_exact_values() {
    let shop = Shop::sqlite();
    let served = Setup::default().with(&shop).await;
    let answer = served
        .query("SELECT name, id FROM customers ORDER BY id LIMIT 2")
        .await;
    let result = &answer["result"];
    assert_eq!(
        result["rows"],
        json!([{"name": "Ann", "id": 1}, {"name": "Bob", "id": 2}])
    );
    assert_eq!(
        (&result["rowCount"], &result["truncated"]),
        (&json!(2), &json!(false))
    );
    assert_eq!(result["columns"], json!(["name", "id"]));
    assert!(
        answer["executionTimeMs"].is_u64() && answer["sql"].is_string(),
        "{answer}"
    );
}

/// An appended LIMIT fails after `;` or a comment, does not reduce a larger one, and must not set
/// `truncated` on its own. table-chat has all these defects.
#[tokio::test]
async fn truncated_means_that_rows_were_cut() {
    let shop = Shop::sqlite();
    let limits = QueryLimits {
        rows: 3,
        ..QueryLimits::default()
    };
    let served = bounded(limits).with(&shop).await;
    for (sql, rows, truncated) in [
        ("SELECT id FROM orders", 3, true),
        ("SELECT id FROM orders;", 3, true),
        ("SELECT id FROM orders -- all of them", 3, true),
        ("SELECT id FROM orders LIMIT 100000", 3, true),
        ("SELECT id FROM customers", 3, false),
        ("SELECT id FROM orders LIMIT 2", 2, false),
        ("SELECT id FROM orders LIMIT 3", 3, false),
    ] {
        let result = &served.query(sql).await["result"];
        assert_eq!(result["rowCount"], rows, "{sql}");
        assert_eq!(result["truncated"], truncated, "{sql}");
    }
}

#[tokio::test]
async fn what_may_not_run_is_refused_with_place_and_mend() {
    let shop = Shop::sqlite();
    let served = Setup::default().with(&shop).await;
    for (sql, part) in [
        // If only the first of several statements were checked, this text would pass, and COMMIT
        // would make the deletion permanent.
        ("SELECT 1 LIMIT 1; DELETE FROM orders; COMMIT", "statement"),
        ("DELETE FROM orders", "DELETE"),
        ("SELECT load_extension('x')", "load_extension"),
        ("SELEC 1", "SELEC"),
        ("", "empty"),
    ] {
        let answer = served.post("/dbs/shop/query", &json!({"sql": sql})).await;
        assert_eq!(answer.status, 400, "{sql}: {}", answer.body);
        let body = answer.json();
        let said = body.to_string();
        assert!(body["code"].as_str().unwrap().starts_with("sql."), "{body}");
        assert!(said.contains(part), "{sql}: {body}");
    }
    let body = json!({"sql": "SELECT id,\n  nmae FROM customers"});
    let body = error(
        &served.post("/dbs/shop/query", &body).await,
        400,
        "sql.guard.column",
    );
    assert_eq!(body["position"], json!({"line": 2, "column": 3}));
    assert!(body["help"].as_str().unwrap().contains("name"), "{body}");
    let counted = served.query("SELECT count(*) AS n FROM orders").await;
    assert_eq!(counted["result"]["rows"], json!([{"n": 4}]));
}

#[tokio::test]
async fn set_operations_and_values_are_queries() {
    let shop = Shop::sqlite();
    let served = Setup::default().with(&shop).await;
    for sql in [
        "SELECT 1 UNION SELECT 2",
        "VALUES (1), (2)",
        "WITH a AS (SELECT 1 UNION ALL SELECT 2) SELECT * FROM a",
    ] {
        assert_eq!(served.query(sql).await["result"]["rowCount"], 2, "{sql}");
    }
}

#[tokio::test]
async fn members_that_do_not_fit_are_named() {
    let shop = Shop::sqlite();
    let served = Setup::default().with(&shop).await;
    for (body, status, code, part) in [
        (json!({}), 422, "request.body", "sql"),
        (json!({"sql": 1}), 422, "request.body", "string"),
        (
            json!({"sql": "SELECT 1", "timeoutSeconds": 9}),
            422,
            "sql.invalid.timeout",
            "expected 10 to 300",
        ),
        (
            json!({"sql": "SELECT 1", "timeoutSeconds": 301}),
            422,
            "sql.invalid.timeout",
            "expected 10 to 300",
        ),
    ] {
        let told = error(&served.post("/dbs/shop/query", &body).await, status, code);
        assert!(told["detail"].as_str().unwrap().contains(part), "{told}");
    }
    let body = json!({"sql": "SELECT 1", "timeoutSeconds": 10});
    assert_eq!(served.post("/dbs/shop/query", &body).await.status, 200);
    let nowhere = served
        .post("/dbs/nowhere/query", &json!({"sql": "SELECT 1"}))
        .await;
    error(&nowhere, 404, "sql.not_found");
}

const ENDLESS: &str =
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

#[tokio::test]
async fn a_query_that_never_ends_is_ended() {
    let shop = Shop::sqlite();
    let limits = QueryLimits {
        timeout: Duration::from_millis(200),
        ..QueryLimits::default()
    };
    let served = bounded(limits).with(&shop).await;
    let answer = served
        .post("/dbs/shop/query", &json!({"sql": ENDLESS}))
        .await;
    error(&answer, 408, "sql.timeout");
}

#[tokio::test]
async fn rows_are_exported_in_the_form_that_is_asked_for() {
    let shop = Shop::sqlite();
    let limits = QueryLimits {
        rows: 2,
        ..QueryLimits::default()
    };
    let served = bounded(limits).with(&shop).await;
    let body = json!({"sql": "SELECT id, name FROM customers ORDER BY id"}).to_string();
    let path = "/api/v1/dbs/shop/query";
    let with = async |query: &str, accept: &str| {
        let headers = [("accept", accept)];
        client::request(
            served.address,
            "POST",
            &format!("{path}{query}"),
            &headers,
            &body,
        )
        .await
    };
    for (query, accept) in [
        ("?format=csv", "*/*"),
        ("", "text/csv"),
        ("?format=csv", "application/json"),
    ] {
        let csv = with(query, accept).await;
        assert_eq!(
            csv.body.lines().count(),
            4,
            "more rows than the JSON has: {}",
            csv.body
        );
        assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
        assert_eq!(csv.header("quillet-truncated"), Some("none"));
        assert_eq!(csv.header("quillet-row-count"), Some("3"));
        let disposition = csv.header("content-disposition").unwrap();
        assert!(disposition.contains("shop.csv"), "{disposition}");
    }
    let lines = with("?format=ndjson", "*/*").await;
    let first: Value = serde_json::from_str(lines.body.lines().next().unwrap()).unwrap();
    assert_eq!(first, json!({"id": 1, "name": "Ann"}));
    for accept in ["*/*", "application/json", "text/html"] {
        let json = with("", accept).await.json();
        assert_eq!(json["result"]["truncated"], true, "{accept}");
    }
    let unknown = with("?format=csw", "*/*").await;
    let told = error(&unknown, 422, "sql.invalid.format");
    assert!(told["detail"].as_str().unwrap().contains("csv"), "{told}");
}

#[tokio::test]
async fn queries_are_laid_out_without_a_database() {
    let served = Setup::default().start().await;
    let body = json!({"sql": "select a, b from t where a = 'x  y' -- why", "dialect": "sqlite"});
    let answer = served.post("/dbs/format", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let formatted = answer.json()["formatted"].as_str().unwrap().to_owned();
    assert!(formatted.lines().count() > 2, "{formatted}");
    assert!(
        formatted.contains("'x  y'") && formatted.contains("-- why"),
        "{formatted}"
    );
    let body = json!({"sql": "SELECT 1", "dialect": "oracle"});
    error(
        &served.post("/dbs/format", &body).await,
        422,
        "sql.invalid.dialect",
    );
    let open = json!({"sql": "SELECT 'no end"});
    let told = served.post("/dbs/format", &open).await;
    assert_eq!(told.status, 400, "{}", told.body);
    assert!(told.json()["position"]["line"].is_u64(), "{}", told.body);
}
