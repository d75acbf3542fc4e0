//! Files that are streamed while the query runs.

use std::time::Duration;

use quillet_sql::{QueryLimits, SqlConfig};
use quillet_test_support::Postgres;
use serde_json::json;

use super::served::{Served, Setup, error};
use super::shop::Shop;
use crate::client::{Connection, parse};

/// A query whose rows exceed the buffer of a response.
const MANY: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) \
                    SELECT i, 'a text that takes some room' AS t FROM n";
/// A query with the same rows whose last row fails.
const BREAKS: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) \
                      SELECT CASE WHEN i < 50000 THEN i ELSE abs(-9223372036854775807 - 1) END AS i, \
                      'a text that takes some room' AS t FROM n";

fn exports(limits: QueryLimits) -> Setup {
    Setup {
        sql: SqlConfig {
            export_limits: limits,
            ..SqlConfig::default()
        },
        ..Setup::default()
    }
}

fn bounds(rows: usize) -> QueryLimits {
    QueryLimits {
        rows,
        bytes: 1 << 30,
        timeout: Duration::from_secs(60),
    }
}

/// Sends a query and requests a format.
async fn ask(served: &Served, format: &str, sql: &str, more: &str) -> Connection {
    let body = json!({"sql": sql}).to_string();
    let mut connection = Connection::open(served.address).await;
    let length = body.len();
    let head = format!(
        "POST /api/v1/dbs/shop/query?format={format} HTTP/1.1\r\nhost: localhost\r\n\
         connection: close\r\n{more}content-length: {length}\r\n\r\n{body}"
    );
    connection.send(&head).await;
    connection
}

#[tokio::test]
async fn a_long_file_says_at_its_end_what_a_short_one_says_in_its_head() {
    let shop = Shop::sqlite();
    for (rows, truncated) in [(50_000, "none"), (40_000, "rows")] {
        let served = exports(bounds(rows)).with(&shop).await;
        let mut connection = ask(&served, "csv", MANY, "te: trailers\r\n").await;
        let text = connection.read_to_end().await;
        let answer = parse(&text);
        assert_eq!(answer.status, 200, "{}", answer.head);
        assert_eq!(answer.header("quillet-truncated"), None, "{}", answer.head);
        assert_eq!(answer.header("quillet-row-limit"), Some(&*rows.to_string()));
        let announced = answer.header("trailer").unwrap();
        assert!(announced.contains("quillet-truncated"), "{announced}");
        assert_eq!(answer.body.lines().count(), rows + 1);
        let (_, trailers) = text.rsplit_once("\r\n0\r\n").unwrap();
        let has = |line: String| trailers.to_lowercase().contains(&line);
        assert!(
            has(format!("quillet-truncated: {truncated}\r\n")),
            "{trailers}"
        );
        assert!(has(format!("quillet-row-count: {rows}\r\n")), "{trailers}");
        assert!(has("quillet-execution-ms: ".to_owned()), "{trailers}");
    }
}

#[tokio::test]
async fn a_client_that_takes_no_trailers_gets_a_whole_file() {
    let shop = Shop::sqlite();
    let served = exports(bounds(60_000)).with(&shop).await;
    let text = ask(&served, "csv", MANY, "").await.read_to_end().await;
    let answer = parse(&text);
    assert_eq!(answer.header("trailer"), None);
    assert_eq!(answer.body.lines().count(), 50_001);
    assert!(text.ends_with("\r\n0\r\n\r\n"));
    let history = served.get("/dbs/shop/history").await.json();
    assert_eq!(history["items"][0]["rowCount"], 50_000, "{history}");
}

/// In every format, a body without its last chunk is incomplete.
#[tokio::test]
async fn a_query_that_fails_in_the_middle_cuts_the_body_off() {
    let shop = Shop::sqlite();
    let served = exports(bounds(60_000)).with(&shop).await;
    for format in ["csv", "ndjson"] {
        let whole = ask(&served, format, MANY, "").await.read_to_end().await;
        assert!(whole.ends_with("\r\n0\r\n\r\n"));
        let broken = ask(&served, format, BREAKS, "").await.read_to_end().await;
        assert!(broken.starts_with("HTTP/1.1 200"), "{format}");
        assert!(broken.len() > 256 << 10, "{format} {}", broken.len());
        assert!(!broken.contains("\r\n0\r\n"), "{format}");
    }
    let history = served.get("/dbs/shop/history").await.json();
    assert_eq!(history["total"], 2, "what failed is not kept: {history}");
}

/// Formats that buffer a batch of rows have not sent anything when the query fails.
#[tokio::test]
async fn a_query_that_fails_before_anything_was_sent_is_an_error_with_a_status() {
    let shop = Shop::sqlite();
    let served = exports(bounds(60_000)).with(&shop).await;
    let early = "SELECT abs(-9223372036854775807 - 1) AS i";
    for (format, sql) in [("csv", early), ("parquet", early), ("parquet", BREAKS)] {
        let text = ask(&served, format, sql, "").await.read_to_end().await;
        error(&parse(&text), 503, "sql.failed");
    }
    let long = "SELECT printf('%.*c', 40000, 'x') AS t";
    let text = ask(&served, "xlsx", long, "").await.read_to_end().await;
    let told = error(&parse(&text), 400, "sql.export");
    assert!(told["detail"].as_str().unwrap().contains("row 1"), "{told}");
}

async fn wait_for(server: &Postgres, what: &str, count: &str) {
    let sql = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'quillet' AND {what}"
    );
    while server.look("postgres", &sql) != count {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A client that does not read blocks PostgreSQL, and a disconnect cancels the query.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_client_holds_up_the_database_and_one_that_leaves_ends_the_query() {
    let shop = Shop::postgres();
    let Shop::Postgres(server) = &shop else {
        panic!("it is PostgreSQL");
    };
    let served = exports(bounds(100_000_000)).with(&shop).await;
    let endless = "SELECT generate_series(1, 100000000) AS i, repeat('x', 1000) AS t";
    let mut connection = ask(&served, "csv", endless, "").await;
    connection.read_until("\r\n1,xxx").await;
    wait_for(server, "wait_event = 'ClientWrite'", "1").await;
    drop(connection);
    wait_for(server, "state = 'active'", "0").await;
}
