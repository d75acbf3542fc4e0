//! Runs the attack list on a real file: first the driver alone, then with the guard in front.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use quillet_sql::guard::{self, GuardMode, Policy};
use quillet_sql::rows::TruncationReason;
use quillet_sql::{Catalogue, QueryLimits, SqlDialect};
use serde_json::Value;

use super::folder::Folder;

/// Tables that the cases use.
const FIXTURE: &str = r#"
CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT, age INT, created_at TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, user_id INT REFERENCES users (id), total REAL, status TEXT, created_at TEXT);
CREATE TABLE audit_t (id INTEGER PRIMARY KEY, update_time TEXT, deleted INT, "select" TEXT);
CREATE TABLE 订单 (订单号 INTEGER PRIMARY KEY, 金额 REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
  INSERT INTO users SELECT i, 'ann_' || i, 'u' || i || '@example.com', i + 10, '2025-01-01' FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
  INSERT INTO orders SELECT i, i % 40 + 1, i * 1.5, 'paid', '2025-01-01' FROM n;
INSERT INTO audit_t VALUES (1, '2025-01-01', 0, 'x');
INSERT INTO 订单 VALUES (1, 9.5);
INSERT INTO users (id, name) VALUES (41, 'update; insert -- x');
"#;

fn cases(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../conformance/sql")
        .join(file);
    let text = std::fs::read_to_string(path).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    let cases = file["cases"].as_array().unwrap().iter();
    cases
        .filter(|case| case["dialect"] == "sqlite")
        .cloned()
        .collect()
}

/// Returns all files in the database's folder with their content, and files that the cases would
/// create in the temporary folder.
fn traces(folder: &Folder) -> BTreeMap<String, Vec<u8>> {
    let mut traces = BTreeMap::new();
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let path = file.unwrap().path();
        traces.insert(path.display().to_string(), std::fs::read(&path).unwrap());
    }
    for file in std::fs::read_dir("/tmp").unwrap() {
        let name = file.unwrap().file_name().display().to_string();
        if name.starts_with("sqx_") {
            traces.insert(name, Vec::new());
        }
    }
    traces
}

fn limits() -> QueryLimits {
    QueryLimits {
        timeout: Duration::from_millis(500),
        ..QueryLimits::default()
    }
}

/// Rejected cases that only read public data, so that the driver does not stop them.
const HARMLESS: [&str; 1] = ["EXPLAIN QUERY PLAN SELECT * FROM users"];

#[tokio::test]
async fn the_driver_alone_changes_nothing() {
    let folder = Folder::with(FIXTURE);
    let before = traces(&folder);
    let cases = cases("sql-safety.json");
    assert!(cases.len() > 50);
    for case in &cases {
        let sql = case["sql"].as_str().unwrap();
        let ran = folder.database().query(sql, &limits()).await;
        let expected = match (case["verdict"].as_str(), case["runtime_guard"].as_str()) {
            (Some("allow"), None) => true,
            (Some("allow"), Some(_)) => false,
            _ => HARMLESS.contains(&sql),
        };
        assert_eq!(ran.is_ok(), expected, "{}: {sql}: {ran:?}", case["id"]);
        assert_eq!(traces(&folder), before, "{}: {sql}", case["id"]);
    }
}

async fn catalogue(folder: &Folder) -> Catalogue {
    folder.database().catalogue(&|_, _, _| {}).await.unwrap()
}

#[tokio::test]
async fn the_guard_and_the_driver_let_reading_pass_only() {
    let folder = Folder::with(FIXTURE);
    let catalogue = catalogue(&folder).await;
    for case in cases("sql-safety.json") {
        let sql = case["sql"].as_str().unwrap();
        let mode = match case["mode"].as_str() {
            Some("explore") => GuardMode::Explore,
            _ => GuardMode::Select,
        };
        let policy = Policy {
            mode,
            ..Policy::default()
        };
        let checked = guard::check(sql, SqlDialect::Sqlite, Some(&catalogue), &policy);
        let allowed = case["verdict"] == "allow";
        assert_eq!(
            checked.is_ok(),
            allowed,
            "{}: {sql}: {checked:?}",
            case["id"]
        );
        let Ok(approved) = checked else { continue };
        let ran = folder.database().query(&approved.sql, &limits()).await;
        let stopped = case["runtime_guard"].as_str();
        let code = ran.as_ref().err().map(|error| error.kind.code().as_str());
        let expected = match stopped {
            Some("timeout") => Some("sql.timeout"),
            Some(_) => Some("sql.limit"),
            None => None,
        };
        assert_eq!(code, expected, "{}: {sql}", case["id"]);
        assert!(ran.is_err() || !ran.unwrap().columns.is_empty());
    }
}

#[tokio::test]
async fn rows_are_cut_as_the_vectors_say() {
    let folder = Folder::with(FIXTURE);
    let catalogue = catalogue(&folder).await;
    let cases = cases("sql-limit.json");
    assert!(cases.len() >= 20);
    for case in cases {
        let sql = case["sql"].as_str().unwrap();
        let cap = case["cap"].as_u64().unwrap();
        let policy = Policy {
            rows: Some(cap),
            ..Policy::default()
        };
        let checked = guard::check(sql, SqlDialect::Sqlite, Some(&catalogue), &policy);
        let bounds = QueryLimits {
            rows: usize::try_from(cap).unwrap(),
            ..limits()
        };
        let rows = match &checked {
            Ok(approved) => folder.database().query(&approved.sql, &bounds).await.ok(),
            Err(_) => None,
        };
        let found = rows.as_ref().map(|rows| rows.rows.len() as u64);
        assert_eq!(found, case["expect_rows"].as_u64(), "{sql}: {checked:?}");
        let cut = rows.map(|rows| rows.truncated == Some(TruncationReason::Rows));
        if let Some(expected) = case["expect_truncated"].as_bool() {
            assert_eq!(cut.unwrap_or_default(), expected, "{sql}: {checked:?}");
        }
    }
}
