//! Passwords never appear in a body, a header or a log, including those of errors.

use std::io;
use std::sync::{Arc, Mutex};

use quillet_core::store::{EntryKey, EntryKind};
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

use super::served::{Served, Setup};
use super::shop::Shop;

/// Collects all log output.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Log;

    fn make_writer(&'a self) -> Log {
        self.clone()
    }
}

async fn everything(served: &Served, url: &str) -> Vec<String> {
    let put = json!({"url": url}).to_string();
    let texts = [
        ("PUT", "/dbs/shop", put.as_str()),
        ("POST", "/dbs/shop/test", put.as_str()),
        ("POST", "/dbs/shop/test", ""),
        ("GET", "/dbs", ""),
        ("GET", "/dbs/shop", ""),
        ("GET", "/dbs/broken", ""),
        ("GET", "/dbs/broken/metadata", ""),
        ("GET", "/dbs/away/metadata", ""),
        ("GET", "/dbs/shop/metadata", ""),
        (
            "POST",
            "/dbs/shop/query",
            r#"{"sql": "SELECT id FROM orders"}"#,
        ),
        ("POST", "/dbs/shop/query", r#"{"sql": "SELECT nothing"}"#),
        ("POST", "/dbs/away/query", r#"{"sql": "SELECT 1"}"#),
        (
            "POST",
            "/dbs/shop/query/natural",
            r#"{"prompt": "how many?", "run": true}"#,
        ),
        ("GET", "/dbs/shop/history", ""),
        ("GET", "//openapi.json", ""),
        ("GET", "//metrics", ""),
    ];
    let mut said = Vec::new();
    for (method, path, body) in texts {
        let answer = served.send(method, path, body).await;
        said.push(format!("{method} {path}: {} {}", answer.head, answer.body));
    }
    // Invalid bodies for which an error could quote the content.
    for body in [
        json!(url).to_string(),
        json!({"url": url, "sslDisabled": url}).to_string(),
        json!({"url": format!("x{url}")}).to_string(),
        json!({"url": url.replace("127.0.0.1", "127.0.0.1:port")}).to_string(),
    ] {
        let answer = served.send("PUT", "/dbs/wrong", &body).await;
        assert!(answer.status >= 400, "{}", answer.body);
        said.push(answer.body);
    }
    said
}

#[tokio::test]
async fn no_answer_and_no_log_has_a_password() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    // The subscriber is set for the whole process, because work on other threads is also logged.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let shop = Shop::mariadb();
    let Shop::MariaDb(server) = &shop else { return };
    let url = shop.url();
    let encoded = url.split(['@', ':']).nth(2).unwrap().to_owned();
    let secrets = [server.password(), encoded.as_str()];
    assert!(encoded.starts_with("s3cret"), "{encoded}");
    let away = format!("postgresql://u:{encoded}@127.0.0.1:1/d");
    let mut setup = Setup::saying([r#"{"sql": "SELECT count(*) FROM orders"}"#]);
    setup.entries = vec![
        (EntryKind::Database, "broken", json!(url).to_string()),
        (
            EntryKind::Database,
            "away",
            json!({"url": away}).to_string(),
        ),
    ];
    let has_one = |text: &str| secrets.iter().any(|secret| text.contains(secret));
    let served = setup.start().await;
    let said = everything(&served, &url).await;
    assert!(
        said.iter().any(|text| text.contains("****")),
        "the mask is shown"
    );
    for text in &said {
        assert!(!has_one(text), "{text}");
    }
    for asked in served.provider.requests() {
        assert!(!has_one(&asked.json().to_string()));
    }
    let log = String::from_utf8_lossy(&log.0.lock().unwrap()).into_owned();
    assert!(!log.is_empty(), "something is logged");
    let line = log.lines().find(|line| has_one(line));
    assert_eq!(line, None);
    // The password is only where connections are stored.
    let kept = served
        .store
        .get(EntryKind::Database, &[EntryKey::new("shop")])
        .await
        .unwrap();
    assert!(has_one(kept[0].as_ref().unwrap()));
}
