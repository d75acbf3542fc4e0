//! The query history over HTTP.

use serde_json::{Value, json};

use super::served::{Setup, error};
use super::shop::Shop;

fn ids(page: &Value) -> Vec<u64> {
    let items = page["items"].as_array().unwrap().iter();
    items.map(|item| item["id"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn pages_lead_to_the_oldest_query() {
    let shop = Shop::sqlite();
    let served = Setup::default().with(&shop).await;
    for id in 1..=5 {
        served
            .query(&format!("SELECT name FROM customers WHERE id = {id}"))
            .await;
    }
    let first = served.get("/dbs/shop/history?limit=2").await.json();
    assert_eq!(
        (&first["total"], &first["hasMore"]),
        (&json!(5), &json!(true))
    );
    let item = &first["items"][0];
    assert_eq!(
        (&item["dbName"], &item["rowCount"]),
        (&json!("shop"), &json!(0))
    );
    assert!(
        item["sqlContent"].as_str().unwrap().contains("id = 5"),
        "{item}"
    );
    assert!(
        item["executedAt"].as_str().unwrap().ends_with('Z'),
        "{item}"
    );
    let mut seen = ids(&first);
    let mut cursor = first["nextCursor"].clone();
    while let Some(before) = cursor.as_str() {
        let page = served
            .get(&format!("/dbs/shop/history?limit=2&before={before}"))
            .await
            .json();
        seen.extend(ids(&page));
        cursor = page["nextCursor"].clone();
    }
    assert_eq!(seen.len(), 5);
    assert!(seen.is_sorted_by(|newer, older| newer > older), "{seen:?}");
}

/// Clients of table-chat send a time as the cursor.
#[tokio::test]
async fn a_page_may_begin_at_a_time() {
    let shop = Shop::sqlite();
    let served = Setup::default().with(&shop).await;
    for id in 1..=3 {
        served.query(&format!("SELECT {id}")).await;
        // Ensures that the queries have different times in milliseconds.
        tokio::time::sleep(std::time::Duration::from_millis(3)).await;
    }
    let all = served.get("/dbs/shop/history").await.json();
    let time = all["items"][1]["executedAt"].as_str().unwrap();
    let older = served
        .get(&format!("/dbs/shop/history?before={time}"))
        .await
        .json();
    assert_eq!(ids(&older), ids(&all)[2..]);
    let future = served
        .get("/dbs/shop/history?before=2999-01-01T00:00:00Z")
        .await
        .json();
    assert_eq!(ids(&future), ids(&all));
    let past = served
        .get("/dbs/shop/history?before=1999-01-01T00:00:00Z")
        .await
        .json();
    assert!(ids(&past).is_empty());
}

#[tokio::test]
async fn words_find_queries_and_questions() {
    let shop = Shop::sqlite();
    let served = Setup::default().with(&shop).await;
    let body = json!({"sql": "SELECT count(*) FROM orders", "naturalQuery": "有多少订单"});
    assert_eq!(served.post("/dbs/shop/query", &body).await.status, 200);
    served.query("SELECT name FROM employees").await;
    for (words, found) in [
        ("orders", 1),
        ("EMPLOYEES", 1),
        ("%E8%AE%A2%E5%8D%95", 1),
        ("select", 2),
        ("nothing", 0),
    ] {
        let page = served
            .get(&format!("/dbs/shop/history/search?query={words}"))
            .await
            .json();
        assert_eq!(page["items"].as_array().unwrap().len(), found, "{words}");
    }
}

#[tokio::test]
async fn queries_are_accepted_and_taken_back() {
    let shop = Shop::sqlite();
    let served = Setup::default().with(&shop).await;
    let body = json!({"sql": "SELECT count(*) FROM orders", "naturalQuery": "有多少订单"});
    assert_eq!(served.post("/dbs/shop/query", &body).await.status, 200);
    served.query("SELECT name FROM employees").await;
    let accepted = async || {
        let page = served.get("/dbs/shop/history").await.json();
        let items = page["items"].as_array().unwrap().iter();
        items
            .map(|item| item["accepted"].as_bool().unwrap())
            .collect::<Vec<_>>()
    };
    let page = served.get("/dbs/shop/history").await.json();
    let [unasked, asked] = ids(&page)[..] else {
        panic!("{page}");
    };
    assert_eq!(accepted().await, [false, false]);
    let route = format!("/dbs/shop/history/{asked}/accept");
    let record = served.post(&route, &json!({})).await.json();
    assert_eq!(
        (&record["id"], &record["accepted"]),
        (&json!(asked), &json!(true))
    );
    assert_eq!(accepted().await, [false, true]);
    for (path, status, code) in [
        (
            format!("/dbs/shop/history/{unasked}/accept"),
            400,
            "sql.invalid.accept",
        ),
        (
            "/dbs/shop/history/99/accept".to_owned(),
            404,
            "sql.not_found",
        ),
        (
            "/dbs/shops/history/1/accept".to_owned(),
            404,
            "sql.not_found",
        ),
        (
            "/dbs/shop/history/one/accept".to_owned(),
            400,
            "request.path",
        ),
    ] {
        error(&served.post(&path, &json!({})).await, status, code);
    }
    for _ in 0..2 {
        assert_eq!(served.send("DELETE", &route, "").await.status, 204);
    }
    assert_eq!(accepted().await, [false, false]);
}

#[tokio::test]
async fn parameters_that_do_not_fit_are_refused() {
    let shop = Shop::sqlite();
    let served = Setup::default().with(&shop).await;
    for (path, status, code) in [
        ("/dbs/shop/history?limit=0", 422, "sql.invalid.limit"),
        ("/dbs/shop/history?limit=101", 422, "sql.invalid.limit"),
        ("/dbs/shop/history?limit=many", 422, "request.query"),
        (
            "/dbs/shop/history?before=yesterday",
            422,
            "sql.invalid.before",
        ),
        ("/dbs/shop/history/search", 422, "sql.invalid.query"),
        (
            "/dbs/shop/history/search?query=x&limit=0",
            422,
            "sql.invalid.limit",
        ),
        ("/dbs/nowhere/history", 404, "sql.not_found"),
        ("/dbs/nowhere/history/search?query=x", 404, "sql.not_found"),
    ] {
        error(&served.get(path).await, status, code);
    }
}
