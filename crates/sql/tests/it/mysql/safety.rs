//! Runs the attack list on a real server: first the driver alone, then with the guard in front.

use std::path::Path;
use std::time::Duration;

use quillet_sql::guard::{self, GuardMode, Policy};
use quillet_sql::{DatabaseErrorKind, QueryLimits, SqlDialect};
use quillet_test_support::MariaDb;
use serde_json::Value;

use super::open;

/// Queries that the guard rejects but the driver alone runs. They only read, and their locks and
/// settings end with the connection. The comment after each names its restriction without the
/// guard.
const READING: &[(&str, &str)] = &[
    (
        "my-307",
        "LOAD_FILE is NULL unless the role has FILE, of which PUT warns",
    ),
    ("my-316", "a named lock goes with the connection"),
    ("my-319", "row locks go with the rollback"),
    ("my-320", "a session variable goes with the connection"),
    ("my-325", "a role without PROCESS sees its own queries"),
    ("my-352", "SHOW TABLES shows what the role may see"),
    ("my-356", "PROCEDURE ANALYSE reads"),
    ("my-360", "waiting is bounded by the time limit"),
    ("my-361", "facts about the session"),
];
/// More such queries for a role that may read all databases. Storing a connection warns about such
/// a role.
const READING_AS_ADMINISTRATOR: &[(&str, &str)] = &[
    ("my-324", "mysql.user can be read"),
    ("my-326", "performance_schema can be read"),
];

/// Reads the vectors that are published with the project.
fn cases(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/sql");
    let text = std::fs::read_to_string(path.join(file)).unwrap();
    let mut file: Value = serde_json::from_str(&text).unwrap();
    let Value::Array(cases) = file["cases"].take() else {
        panic!("no cases");
    };
    let ours = cases.into_iter().filter(|case| case["dialect"] == "mysql");
    ours.collect()
}

/// Starts a server with the tables of the vectors, as the file describes them.
fn fixture() -> MariaDb {
    let server = MariaDb::start();
    server.execute(
        "CREATE TABLE users (id int PRIMARY KEY, name varchar(50), email varchar(80), age int, created_at datetime);
         INSERT INTO users SELECT seq, CONCAT('u', seq), CONCAT('u', seq, '@x.org'), 10 + seq, '2026-01-01' FROM seq_1_to_40;
         CREATE TABLE orders (id int PRIMARY KEY, user_id int, total decimal(10,2), status varchar(10), created_at datetime);
         INSERT INTO orders SELECT seq, 1 + seq % 40, seq * 1.5, ELT(1 + seq % 3, 'new', 'paid', 'sent'), '2026-01-02' FROM seq_1_to_60;
         CREATE TABLE audit_t (id int PRIMARY KEY, update_time datetime, deleted int, `select` int);
         INSERT INTO audit_t VALUES (1, '2026-01-01', 0, 1);
         CREATE TABLE `订单` (`订单号` int PRIMARY KEY, `金额` decimal(10,2));
         INSERT INTO `订单` VALUES (1, 9.5);
         CREATE SEQUENCE s1;
         DELIMITER //
         CREATE FUNCTION evil_fn() RETURNS int MODIFIES SQL DATA BEGIN DELETE FROM users; RETURN 1; END //
         CREATE PROCEDURE evil_proc() BEGIN DELETE FROM users; END //
         DELIMITER ;",
    );
    server
}

/// Returns everything that a query could have changed.
fn state(server: &MariaDb) -> String {
    server.look(
        "test",
        "SHOW FULL TABLES;
         CHECKSUM TABLE users, orders, audit_t, `订单`;
         SELECT next_not_cached_value FROM s1;
         SELECT * FROM mysql.global_priv;
         SELECT * FROM mysql.db;
         SELECT * FROM mysql.func;
         SELECT ROUTINE_NAME FROM information_schema.ROUTINES;
         SELECT SCHEMA_NAME FROM information_schema.SCHEMATA;
         SELECT * FROM mysql.table_stats;
         SELECT VARIABLE_NAME, VARIABLE_VALUE FROM information_schema.GLOBAL_VARIABLES
             WHERE VARIABLE_NAME NOT LIKE '%gtid%';",
    )
}

/// Returns the files that the text of a query names.
fn files(sql: &str) -> Vec<(String, bool)> {
    let parts = sql
        .split(['\'', '"'])
        .filter(|part| part.starts_with("/tmp/"));
    parts
        .map(|path| (path.to_owned(), Path::new(path).exists()))
        .collect()
}

fn short() -> QueryLimits {
    QueryLimits {
        rows: 100,
        bytes: 1 << 20,
        timeout: Duration::from_millis(800),
    }
}

#[tokio::test]
async fn the_driver_alone_lets_nothing_be_changed() {
    let server = fixture();
    let reader = server.create_role("reader");
    server.execute("GRANT SELECT ON test.* TO reader;");
    for (url, more) in [(reader, &[][..]), (server.url(), READING_AS_ADMINISTRATOR)] {
        let database = open(&url);
        let before = state(&server);
        let mut ran = Vec::new();
        for case in cases("sql-safety.json") {
            let (id, sql) = (case["id"].as_str().unwrap(), case["sql"].as_str().unwrap());
            if case["verdict"] != "deny" {
                continue;
            }
            let files_before = files(sql);
            if database.query(sql, &short()).await.is_ok() {
                ran.push(id.to_owned());
            }
            assert_eq!(state(&server), before, "{id}: {sql}");
            assert_eq!(files(sql), files_before, "{id}: {sql}");
        }
        let mut expected: Vec<&str> = READING.iter().chain(more).map(|(id, _)| *id).collect();
        expected.sort_unstable();
        ran.sort_unstable();
        assert_eq!(ran, expected, "{url}");
    }
}

#[tokio::test]
async fn the_guard_refuses_what_is_denied_and_what_it_allows_runs() {
    let server = fixture();
    let database = open(&server.url());
    let catalogue = database.catalogue(&|_, _, _| {}).await.unwrap();
    for case in cases("sql-safety.json") {
        let (id, sql) = (case["id"].as_str().unwrap(), case["sql"].as_str().unwrap());
        let policy = Policy {
            mode: match case["mode"].as_str() {
                Some("explore") => GuardMode::Explore,
                _ => GuardMode::Select,
            },
            ..Policy::default()
        };
        let approved = guard::check(sql, SqlDialect::MySql, Some(&catalogue), &policy);
        if case["verdict"] == "deny" {
            assert!(approved.is_err(), "{id} passed: {sql}");
            continue;
        }
        let approved = approved.unwrap_or_else(|error| panic!("{id} {sql}: {error}"));
        let found = database.query(&approved.sql, &short()).await;
        if case["runtime_guard"] == "timeout" {
            assert_eq!(found.unwrap_err().kind, DatabaseErrorKind::Timeout, "{id}");
            continue;
        }
        let found = found.unwrap_or_else(|error| panic!("{id} {}: {error:?}", approved.sql));
        assert!(!found.columns.is_empty(), "{id}");
        // This is the only query that matches no rows.
        assert_eq!(found.rows.is_empty(), id == "my-035", "{id}: {found:?}");
    }
}

#[tokio::test]
async fn limits_are_those_of_the_vectors() {
    let server = fixture();
    let database = open(&server.url());
    for case in cases("sql-limit.json") {
        let (sql, cap) = (case["sql"].as_str().unwrap(), case["cap"].as_u64().unwrap());
        let policy = Policy {
            rows: Some(cap),
            ..Policy::default()
        };
        let approved = guard::check(sql, SqlDialect::MySql, None, &policy);
        let approved = approved.unwrap_or_else(|error| panic!("{sql}: {error}"));
        let limits = QueryLimits {
            rows: usize::try_from(cap).unwrap(),
            ..QueryLimits::default()
        };
        let found = database.query(&approved.sql, &limits).await;
        let found = found.unwrap_or_else(|error| panic!("{}: {error:?}", approved.sql));
        assert_eq!(found.rows.len() as u64, case["expect_rows"], "{sql}");
        let truncated = found.truncated.is_some();
        assert_eq!(truncated, case["expect_truncated"], "{sql}");
    }
}
