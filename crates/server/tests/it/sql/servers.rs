//! PostgreSQL and MariaDB over HTTP, from the connection to the history.

use serde_json::json;

use super::served::{Setup, error};
use super::shop::Shop;
use crate::client::Connection;
use crate::test_server::eventually;

const SUM: &str = r#"{"sql": "SELECT sum(total) AS s FROM orders", "explanation": "All of them."}"#;

async fn whole_way(shop: &Shop, dialect: &str) {
    let served = Setup::saying([SUM]).start().await;
    let put = served.put("shop", &shop.url()).await;
    assert_eq!(put["dbType"], dialect);
    // The owner may write, so the connection gets a warning.
    assert!(!put["warnings"].as_array().unwrap().is_empty(), "{put}");
    let tables = served.get("/dbs/shop/metadata/tables").await.json();
    assert_eq!(tables["tables"].as_array().unwrap().len(), 6, "{tables}");
    let rows = served
        .query("SELECT total FROM orders ORDER BY id LIMIT 1")
        .await;
    assert_eq!(
        rows["result"]["rows"],
        json!([{"total": "10.50"}]),
        "decimals keep their digits"
    );
    let asked = served.ask("what are all orders worth?", true).await.json();
    assert_eq!(asked["result"]["rows"], json!([{"s": "36.75"}]));
    let refused = served
        .post("/dbs/shop/query", &json!({"sql": "DROP TABLE orders"}))
        .await;
    assert_eq!(refused.status, 400, "{}", refused.body);
    let failed = json!({"sql": "SELECT id FROM orders WHERE totla > 1"});
    let failed = error(
        &served.post("/dbs/shop/query", &failed).await,
        400,
        "sql.guard.column",
    );
    assert!(
        failed["help"].as_str().unwrap().contains("total"),
        "{failed}"
    );
    let history = served.get("/dbs/shop/history").await.json();
    assert_eq!(history["total"], 2, "{history}");
    let csv = served
        .post(
            "/dbs/shop/query?format=csv",
            &json!({"sql": "SELECT city FROM customers"}),
        )
        .await;
    assert_eq!(csv.body.lines().count(), 4, "{}", csv.body);
}

#[tokio::test]
async fn postgresql_is_asked_and_answers() {
    whole_way(&Shop::postgres(), "postgresql").await;
}

#[tokio::test]
async fn mariadb_is_asked_and_answers() {
    whole_way(&Shop::mariadb(), "mysql").await;
}

/// A disconnect must cancel the query in the database.
#[tokio::test]
async fn a_client_that_leaves_ends_its_query() {
    let shop = Shop::postgres();
    let served = Setup::default().with(&shop).await;
    let running = "SELECT count(*) AS n FROM pg_stat_activity \
        WHERE state = 'active' AND query LIKE '%generate_series(1, 1000000000)%' AND pid <> pg_backend_pid()";
    let count = async || {
        let Shop::Postgres(server) = &shop else {
            return String::new();
        };
        server.look("postgres", running)
    };
    let body = json!({"sql": "SELECT count(*) FROM generate_series(1, 1000000000) AS a, generate_series(1, 1000000000) AS b"});
    let body = body.to_string();
    let mut client = Connection::open(served.address).await;
    let head = format!(
        "POST /api/v1/dbs/shop/query HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    client.send(&format!("{head}{body}")).await;
    eventually("the query runs", async || count().await.trim() == "1").await;
    drop(client);
    eventually("the query ends", async || count().await.trim() == "0").await;
}
