//! Catalogues over HTTP.

use std::io::Read;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::served::{Setup, error};
use super::shop::Shop;
use crate::client;

fn names(body: &Value) -> Vec<&str> {
    let tables = body["tables"].as_array().unwrap().iter();
    tables
        .map(|table| table["tableName"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn tables_are_told_with_columns_and_keys_or_in_short() {
    let shop = Shop::sqlite();
    let served = Setup::default().with(&shop).await;
    let all = served.get("/dbs/shop/metadata").await.json();
    assert_eq!(all["name"], "shop");
    assert_eq!(all["schemas"], json!(["main"]));
    assert!(all["lastRefreshed"].is_string());
    let expected = [
        "big_orders",
        "customers",
        "employees",
        "orders",
        "products",
        "订单备注",
    ];
    assert_eq!(names(&all), expected);
    let short = served.get("/dbs/shop/metadata/tables").await.json();
    assert_eq!(names(&short), expected);
    assert_eq!(
        short["tables"][0],
        json!({"schemaName": "main", "tableName": "big_orders", "tableType": "view", "comment": null})
    );
    let orders = served
        .get("/dbs/shop/metadata/tables/main/orders")
        .await
        .json();
    assert_eq!(orders, all["tables"][3]);
    assert_eq!(orders["columns"][0]["isPrimaryKey"], true);
    assert_eq!(orders["foreignKeys"][0]["refTable"], "customers");
    // The table name is percent-encoded for the request line.
    let notes = "/dbs/shop/metadata/tables/main/%E8%AE%A2%E5%8D%95%E5%A4%87%E6%B3%A8";
    assert_eq!(served.get(notes).await.json()["columns"][1]["name"], "内容");
}

#[tokio::test]
async fn a_table_that_is_not_there_is_named_with_its_schema() {
    let shop = Shop::sqlite();
    let served = Setup::default().with(&shop).await;
    let answer = served.get("/dbs/shop/metadata/tables/main/order").await;
    let body = error(&answer, 404, "sql.table_not_found");
    assert!(
        body["detail"].as_str().unwrap().contains("main.order"),
        "{body}"
    );
    assert!(body["help"].as_str().unwrap().contains("orders"), "{body}");
}

#[tokio::test]
async fn what_has_not_changed_is_not_sent_again() {
    let shop = Shop::sqlite();
    let served = Setup::default().with(&shop).await;
    let first = served.get("/dbs/shop/metadata").await;
    let tag = first.header("etag").unwrap().to_owned();
    let path = "/api/v1/dbs/shop/metadata";
    let headers = [("if-none-match", tag.as_str())];
    let same = client::request(served.address, "GET", path, &headers, "").await;
    assert_eq!((same.status, same.body.as_str()), (304, ""));
    assert_eq!(same.header("etag"), Some(tag.as_str()));
    shop.execute("CREATE TABLE coupons (id integer PRIMARY KEY)");
    let anew = served.send("POST", "/dbs/shop/metadata/refresh", "").await;
    assert!(names(&anew.json()).contains(&"coupons"));
    let changed = client::request(served.address, "GET", path, &headers, "").await;
    assert_eq!(changed.status, 200);
    shop.execute("DROP TABLE coupons");
    let asked = served.get("/dbs/shop/metadata?refresh=true").await.json();
    assert!(!names(&asked).contains(&"coupons"));
}

/// A catalogue of 3,000 tables is sent in many chunks. The compressed and plain bodies are equal.
#[tokio::test]
async fn a_large_catalogue_is_sent_whole_and_compressed() {
    let shop = Shop::sqlite();
    let tables: String = (0..3_000)
        .map(|i| format!("CREATE TABLE t{i:04} (id integer PRIMARY KEY, note text);"))
        .collect();
    shop.execute(&format!("BEGIN;{tables}COMMIT;"));
    let served = Setup::default().with(&shop).await;
    let plain = served.get("/dbs/shop/metadata").await;
    assert_eq!(names(&plain.json()).len(), 3_006);
    let mut stream = tokio::net::TcpStream::connect(served.address)
        .await
        .unwrap();
    let request = "GET /api/v1/dbs/shop/metadata HTTP/1.0\r\naccept-encoding: gzip\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    let end = bytes
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap()
        + 4;
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    assert!(head.contains("content-encoding: gzip"), "{head}");
    assert!(bytes.len() * 5 < plain.body.len(), "{} bytes", bytes.len());
    let mut text = String::new();
    flate2::read::GzDecoder::new(&bytes[end..])
        .read_to_string(&mut text)
        .unwrap();
    assert_eq!(text, plain.body);
}
