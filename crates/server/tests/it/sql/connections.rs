//! Connections: write, list, show, test and remove.

use quillet_server::ServerConfig;
use serde_json::json;

use super::served::{Setup, error};
use super::shop::Shop;

#[tokio::test]
async fn a_connection_is_put_shown_replaced_and_removed() {
    let shop = Shop::sqlite();
    let served = Setup::default().start().await;
    assert_eq!(served.get("/dbs").await.json(), json!({"databases": []}));
    let put = served.put("shop", &shop.url()).await;
    assert_eq!(put["name"], "shop");
    assert_eq!(put["dbType"], "sqlite");
    assert_eq!(put["created"], true);
    assert_eq!(put["sslDisabled"], false);
    assert!(
        put["createdAt"].is_string() && put["warnings"].is_array(),
        "{put}"
    );
    let again = served.put("shop", &shop.url()).await;
    assert_eq!(again["created"], false);
    assert_eq!(again["createdAt"], put["createdAt"]);
    served.put("archive", &shop.url()).await;
    let list = served.get("/dbs").await.json();
    let names: Vec<_> = list["databases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| &d["name"])
        .collect();
    assert_eq!(names, ["archive", "shop"]);
    assert_eq!(served.get("/dbs/shop").await.json()["url"], put["url"]);
    assert_eq!(served.send("DELETE", "/dbs/shop", "").await.status, 204);
    error(&served.get("/dbs/shop").await, 404, "sql.not_found");
    let gone = served.send("DELETE", "/dbs/shop", "").await;
    error(&gone, 404, "sql.not_found");
}

#[tokio::test]
async fn a_mistyped_name_gets_the_nearest_one() {
    let shop = Shop::sqlite();
    let served = Setup::default().with(&shop).await;
    for path in ["/dbs/shpo", "/dbs/shpo/metadata", "/dbs/shpo/history"] {
        let body = error(&served.get(path).await, 404, "sql.not_found");
        assert!(body["help"].as_str().unwrap().contains("shop"), "{body}");
    }
}

#[tokio::test]
async fn what_cannot_be_put_is_refused_with_its_reason() {
    let served = Setup::default().start().await;
    let missing = std::env::temp_dir().join("quillet-no-such-file.db");
    let missing = json!({"url": format!("sqlite:{}", missing.display())}).to_string();
    for (name, body, status, code) in [
        ("x", r#"{"url": "oracle://h/d"}"#, 400, "sql.invalid.url"),
        ("x", r#"{"url": "postgresql://h"}"#, 400, "sql.invalid.url"),
        ("-x", r#"{"url": "sqlite:x.db"}"#, 400, "sql.invalid.name"),
        (
            "x",
            r#"{"url": "postgresql://u:pw@127.0.0.1:1/d"}"#,
            503,
            "sql.unreachable",
        ),
        (
            "x",
            r#"{"url": "mysql://u:pw@127.0.0.1:1/d"}"#,
            503,
            "sql.unreachable",
        ),
        ("x", &missing, 503, "sql.unreachable"),
        ("x", r#"{"sslDisabled": true}"#, 422, "request.body"),
        ("x", r#"{"url": 7}"#, 422, "request.body"),
        (
            "x",
            r#"{"url": "sqlite:x", "ssl": true}"#,
            422,
            "request.body",
        ),
        ("x", "", 422, "request.body"),
        ("x", "{", 400, "request.body"),
    ] {
        let answer = served.send("PUT", &format!("/dbs/{name}"), body).await;
        let told = error(&answer, status, code);
        assert!(!told.to_string().contains("pw"), "{told}");
    }
    assert_eq!(served.get("/dbs").await.json(), json!({"databases": []}));
}

#[tokio::test]
async fn a_connection_is_tried_out_before_and_after_it_is_kept() {
    let shop = Shop::sqlite();
    let served = Setup::default().start().await;
    let body = json!({"url": shop.url()});
    let tried = served.post("/dbs/anything/test", &body).await.json();
    assert_eq!(tried["ok"], true);
    assert!(tried["version"].as_str().unwrap().contains('3'), "{tried}");
    error(
        &served.send("POST", "/dbs/shop/test", "").await,
        404,
        "sql.not_found",
    );
    served.put("shop", &shop.url()).await;
    let tried = served.send("POST", "/dbs/shop/test", "").await;
    assert_eq!(tried.status, 200, "{}", tried.body);
    let away = json!({"url": "postgresql://127.0.0.1:1/d"});
    error(
        &served.post("/dbs/shop/test", &away).await,
        503,
        "sql.unreachable",
    );
}

#[tokio::test]
async fn clients_change_nothing_where_they_may_not() {
    let shop = Shop::sqlite();
    let fixed = |config| Setup {
        config,
        ..Setup::default()
    };
    let config = ServerConfig {
        change_databases: Some(false),
        ..Setup::default().config
    };
    let served = fixed(config).start().await;
    let body = json!({"url": shop.url()}).to_string();
    for (method, path, body) in [
        ("PUT", "/dbs/shop", body.as_str()),
        ("DELETE", "/dbs/shop", ""),
        ("POST", "/dbs/shop/test", body.as_str()),
    ] {
        error(&served.send(method, path, body).await, 403, "sql.fixed");
    }
    assert_eq!(served.get("/dbs").await.status, 200);
}

#[tokio::test]
async fn tokens_are_asked_for_in_the_words_of_these_routes() {
    let mut setup = Setup::default();
    setup.config.tokens = vec!["secret".to_owned().into()];
    let served = setup.start().await;
    error(&served.get("/dbs").await, 401, "auth.missing");
}

#[tokio::test]
async fn the_description_has_every_route() {
    let served = Setup::default().start().await;
    let paths = served.openapi["paths"].as_object().unwrap();
    for (path, methods) in [
        ("/dbs", &["get"][..]),
        ("/dbs/format", &["post"]),
        ("/dbs/{name}", &["get", "put", "delete"]),
        ("/dbs/{name}/test", &["post"]),
        ("/dbs/{name}/metadata", &["get"]),
        ("/dbs/{name}/metadata/refresh", &["post"]),
        ("/dbs/{name}/metadata/tables", &["get"]),
        ("/dbs/{name}/metadata/tables/{schema}/{table}", &["get"]),
        ("/dbs/{name}/query", &["post"]),
        ("/dbs/{name}/query/natural", &["post"]),
        ("/dbs/{name}/history", &["get"]),
        ("/dbs/{name}/history/search", &["get"]),
    ] {
        let described = &paths[&format!("/api/v1{path}")];
        for method in methods {
            assert!(described[method].is_object(), "{method} {path}");
        }
    }
}
