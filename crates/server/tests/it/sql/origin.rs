//! An existing frontend of table-chat works without changes.

use serde_json::json;

use super::served::{Setup, error};
use super::shop::Shop;

/// The result table of the frontend expects the keys of the rows in `columns`.
#[tokio::test]
async fn columns_are_the_keys_of_rows() {
    let shop = Shop::sqlite();
    let answers = [r#"{"sql": "SELECT name FROM customers ORDER BY id LIMIT 1"}"#];
    let served = Setup::saying(answers).with(&shop).await;
    let sql = "SELECT c.id, o.id, c.name FROM customers AS c JOIN orders AS o ON o.customer_id = c.id ORDER BY o.id LIMIT 1";
    let result = served.query(sql).await["result"].clone();
    assert_eq!(result["columns"], json!(["id", "id_2", "name"]));
    let row = result["rows"][0].as_object().unwrap();
    let keys: Vec<&str> = row.keys().map(String::as_str).collect();
    assert_eq!(json!(keys), result["columns"]);
    assert_eq!(result["columnInfo"][1]["name"], "id");
    assert_eq!(result["columnInfo"][1]["key"], "id_2");
    let asked = served.ask("who was first?", true).await.json();
    assert_eq!(asked["result"]["columns"], json!(["name"]));
    assert_eq!(asked["model"], "gpt-4o");
}

/// The tunnel dialog sends every member even if the tunnel is disabled, including secrets as text.
#[tokio::test]
async fn its_dialog_of_tunnels_is_read() {
    let shop = Shop::sqlite();
    let served = Setup::default().start().await;
    let off =
        json!({"enabled": false, "host": "", "port": 22, "username": "", "authType": "password"});
    let body = json!({"url": shop.url(), "sslDisabled": true, "sshConfig": off});
    let put = served.send("PUT", "/dbs/shop", &body.to_string()).await;
    assert_eq!(put.status, 200, "{}", put.body);
    assert_eq!(put.json()["sshConfig"]["enabled"], false);
    assert_eq!(
        served.query("SELECT 1 AS one").await["result"]["rowCount"],
        1
    );
    // The server tries an enabled tunnel, and no response contains its secrets.
    let on = json!({
        "enabled": true, "host": "127.0.0.1", "port": 1, "username": "ann", "authType": "key",
        "privateKey": "-----BEGIN s3cret", "keyPassphrase": "s3cret",
    });
    let body = json!({"url": "postgresql://u@db/d", "sshConfig": on});
    let away = served.send("PUT", "/dbs/away", &body.to_string()).await;
    error(&away, 503, "sql.unreachable");
    assert!(!away.body.contains("s3cret"), "{}", away.body);
    let without = json!({"enabled": true, "host": "h", "username": "u", "authType": "password"});
    let body = json!({"url": "postgresql://u@db/d", "sshConfig": without});
    let answer = served.send("PUT", "/dbs/away", &body.to_string()).await;
    assert!(
        answer.body.contains("sshConfig.password"),
        "{}",
        answer.body
    );
}

/// The frontend sends times without a zone as cursors.
#[tokio::test]
async fn times_without_a_zone_are_read() {
    let shop = Shop::sqlite();
    let served = Setup::default().with(&shop).await;
    served.query("SELECT 1 AS one").await;
    for (before, found) in [
        ("2025-12-29T10:30:00", 0),
        ("2025-12-29T10:30:00.123456", 0),
        ("2999-01-01T00:00:00", 1),
        ("2999-01-01T00:00:00Z", 1),
    ] {
        let path = format!("/dbs/shop/history?before={before}");
        let page = served.get(&path).await.json();
        assert_eq!(
            page["items"].as_array().unwrap().len(),
            found,
            "{before}: {page}"
        );
    }
    let answer = served.get("/dbs/shop/history?before=yesterday").await;
    error(&answer, 422, "sql.invalid.before");
}

#[tokio::test]
async fn only_sql_is_laid_out() {
    let served = Setup::default().start().await;
    for (sql, formatted) in [
        ("select 1", Some("SELECT 1")),
        ("-- c\nselect 1", Some("-- c\nSELECT 1")),
        ("(select 1)", Some("(\n  SELECT 1\n)")),
        ("This is not SQL at all!!!", None),
        ("", None),
        ("   \n", None),
        ("-- nothing", None),
        ("42", None),
        ("{\"sql\": 1}", None),
        ("请列出所有订单", None),
    ] {
        let body = json!({"sql": sql, "dialect": "postgres"});
        let answer = served.post("/dbs/format", &body).await;
        match formatted {
            Some(formatted) => assert_eq!(answer.json()["formatted"], formatted, "{sql:?}"),
            None => assert_eq!(answer.status, 400, "{sql:?}: {}", answer.body),
        }
    }
}
