//! Runs the safety and LIMIT vectors on a real server: first the driver alone with any text, then
//! with the guard in front.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use quillet_sql::guard::{self, GuardMode, Policy};
use quillet_sql::rows::TruncationReason;
use quillet_sql::{DatabaseErrorKind as Kind, QueryLimits, SqlDialect};
use quillet_test_support::Postgres;
use serde_json::Value;

use super::{catalogue, database, unjudged};

/// Tables that the vectors need (`fixture_tables` in the file), and functions that delete.
const FIXTURE: &str = r#"
CREATE TABLE users (id int PRIMARY KEY, name text, email text, age int, created_at timestamptz DEFAULT now());
INSERT INTO users SELECT g, 'user ' || g, g || '@example.com', 15 + g FROM generate_series(1, 40) g;
CREATE TABLE orders (id int PRIMARY KEY, user_id int, total numeric(10,2), status text, created_at timestamptz DEFAULT now());
INSERT INTO orders SELECT g, g % 40 + 1, g * 1.5, CASE g % 3 WHEN 0 THEN 'paid' ELSE 'open' END FROM generate_series(1, 60) g;
CREATE TABLE audit_t (id int, update_time timestamptz, deleted bool, "select" text);
CREATE TABLE "订单" ("订单号" int, "金额" numeric);
INSERT INTO "订单" VALUES (1, 9.90);
CREATE SEQUENCE s1;
CREATE FUNCTION evil_fn() RETURNS int LANGUAGE sql AS 'DELETE FROM users; SELECT 1';
CREATE PROCEDURE evil_proc() LANGUAGE sql AS 'DELETE FROM users';
CREATE PROCEDURE evil_giving(INOUT x int) LANGUAGE plpgsql AS 'BEGIN DELETE FROM users; COMMIT; END';
CREATE VIEW evil_view AS SELECT evil_fn();
CREATE MATERIALIZED VIEW mv1 AS SELECT count(*) AS n FROM users;
"#;

/// Query for everything that a case could change permanently in or around the database.
const STATE: &str = r#"
SELECT CASE WHEN EXISTS (SELECT FROM pg_stat_activity WHERE application_name = 'quillet')
    THEN 'at work' ELSE md5(string_agg(part, '|' ORDER BY part)) END FROM (
    SELECT 'u' || users::text FROM users UNION ALL SELECT 'o' || orders::text FROM orders
    UNION ALL SELECT 'a' || audit_t::text FROM audit_t UNION ALL SELECT 'd' || "订单"::text FROM "订单"
    UNION ALL SELECT 'm' || mv1::text FROM mv1 UNION ALL SELECT 's' || last_value || is_called FROM s1
    UNION ALL SELECT 'c' || oid || relname || relfilenode || relowner || coalesce(relacl::text, '')
        FROM pg_class WHERE relkind <> 't'
    UNION ALL SELECT 'p' || oid || proname FROM pg_proc
    UNION ALL SELECT 'r' || pg_authid::text FROM pg_authid
    UNION ALL SELECT 'b' || datname FROM pg_database
    UNION ALL SELECT 'x' || pg_db_role_setting::text FROM pg_db_role_setting
    UNION ALL SELECT 'l' || oid FROM pg_largeobject_metadata
    UNION ALL SELECT 'k' || pg_locks.objid FROM pg_locks WHERE locktype = 'advisory'
    UNION ALL SELECT 'v' || setting FROM pg_settings WHERE name <> 'application_name' AND source <> 'client'
    UNION ALL SELECT 't' || slot_name FROM pg_replication_slots
    UNION ALL SELECT 'f' || name FROM pg_ls_dir('/tmp') name WHERE name LIKE 'pgx%'
) parts(part)"#;

/// Rejected cases that the driver alone lets a superuser run. All of them leave the database
/// unchanged. The guard rejects each. A role without the privileges also stops the first two
/// groups, and `check` warns about other roles.
const ONLY_OTHER_LAYERS: &[(&str, &str)] = &[
    (
        "po-205",
        "reads a file: the guard, a role without the right",
    ),
    (
        "po-206",
        "reads a file: the guard, a role without the right",
    ),
    (
        "po-210",
        "reads a file: the guard, a role without the right",
    ),
    (
        "po-228",
        "switches the log, outside of transactions: the guard, a role without the right",
    ),
    (
        "po-229",
        "marks the log, outside of transactions: the guard, a role without the right",
    ),
    (
        "po-230",
        "resets statistics, outside of transactions: the guard, a role without the right",
    ),
    (
        "po-245",
        "reads secrets: the guard, a role without the right",
    ),
    (
        "po-279",
        "reads secrets: the guard, a role without the right",
    ),
    (
        "po-284",
        "reads settings: the guard, a role without the right",
    ),
    (
        "po-421",
        "plans a change and runs nothing: the guard, a role without the right",
    ),
    ("po-222", "sleeps up to the time limit: the guard"),
    ("po-223", "sleeps up to the time limit: the guard"),
    ("po-224", "ends other queries of the same role: the guard"),
    ("po-225", "ends other queries of the same role: the guard"),
    (
        "po-231",
        "locks until its connection closes, which is at once: the guard",
    ),
    ("po-248", "runs a text that may only read: the guard"),
    (
        "po-259",
        "tells others, which the rollback takes back: the guard",
    ),
    ("po-280", "reads what others ask: the guard"),
    ("po-281", "reads statistics: the guard"),
    ("po-282", "reads options of servers: the guard"),
    (
        "po-294",
        "makes a large object, which the rollback takes back: the guard",
    ),
    (
        "po-299",
        "makes a large object, which the rollback takes back: the guard",
    ),
    (
        "po-300",
        "makes a large object, which the rollback takes back: the guard",
    ),
];

struct Case {
    id: String,
    sql: String,
    allowed: bool,
    stopped_while_running: bool,
    mode: GuardMode,
}

fn vectors(file: &str) -> Vec<Value> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../conformance/sql");
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    let mut file: Value = serde_json::from_str(&text).unwrap();
    let Value::Array(mut cases) = file["cases"].take() else {
        panic!("no cases")
    };
    cases.retain(|case| case["dialect"] == "postgresql");
    assert!(cases.len() > 20, "{}", cases.len());
    cases
}

fn cases() -> Vec<Case> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let case = |case: &Value| Case {
        id: text(&case["id"]),
        sql: text(&case["sql"]),
        allowed: case["verdict"] == "allow",
        stopped_while_running: !case["runtime_guard"].is_null(),
        mode: if case["mode"] == "explore" {
            GuardMode::Explore
        } else {
            GuardMode::Select
        },
    };
    vectors("sql-safety.json").iter().map(case).collect()
}

/// Returns additional cases for objects of the fixture that the vectors do not use.
fn more_attacks() -> Vec<Case> {
    [
        "SELECT evil_fn()",
        "SELECT * FROM evil_view",
        "CALL evil_proc()",
        "CALL evil_giving(1)",
        "INSERT INTO users VALUES (99) RETURNING id",
        "COPY users TO PROGRAM 'touch /tmp/pgx_program'",
        "COPY (SELECT 1) TO STDOUT",
        "SELECT lo_from_bytea(0, 'x')",
        "EXPLAIN ANALYZE SELECT nextval('s1')",
        "BEGIN READ WRITE",
        "ROLLBACK; DELETE FROM users",
        "DECLARE c CURSOR WITH HOLD FOR SELECT 1",
        "LISTEN x",
        "DISCARD ALL",
        "CREATE TEMP TABLE t AS SELECT 1",
        "SELECT set_config('default_transaction_read_only', 'off', false)",
    ]
    .iter()
    .enumerate()
    .map(|(i, sql)| Case {
        id: format!("own-{i}"),
        sql: (*sql).to_owned(),
        allowed: false,
        stopped_while_running: false,
        mode: GuardMode::Select,
    })
    .collect()
}

fn limits() -> QueryLimits {
    QueryLimits {
        rows: 1_000,
        bytes: 1 << 20,
        timeout: Duration::from_secs(3),
    }
}

#[tokio::test]
async fn the_driver_alone_changes_nothing_even_as_a_superuser() {
    let server = Postgres::start();
    let url = server.create_database("victim");
    server.execute_in("victim", FIXTURE);
    let database = unjudged(&url);
    let before = state(&server, "victim").await;
    let mut ran = BTreeSet::new();
    for case in cases().into_iter().chain(more_attacks()) {
        let result = database.query(&case.sql, &limits()).await;
        assert_eq!(
            state(&server, "victim").await,
            before,
            "{} {}",
            case.id,
            case.sql
        );
        let own = case.id.starts_with("own");
        if result.is_ok() && !case.allowed && !own {
            ran.insert(case.id);
        }
    }
    let expected: BTreeSet<String> = ONLY_OTHER_LAYERS
        .iter()
        .map(|(id, _)| (*id).to_owned())
        .collect();
    assert_eq!(ran, expected);
}

#[tokio::test]
async fn the_second_judge_lets_none_of_them_run_even_as_a_superuser() {
    let server = Postgres::start();
    server.execute(FIXTURE);
    let database = database(&server.url());
    for case in cases().into_iter().chain(more_attacks()) {
        if !case.allowed {
            let result = database.query(&case.sql, &limits()).await;
            assert!(result.is_err(), "{} {}", case.id, case.sql);
        }
    }
}

/// The driver queries values of unknown types as text, which could call a user-defined cast.
#[tokio::test]
async fn casts_of_users_are_not_called_by_the_driver_either() {
    let server = Postgres::start_with(&["track_functions=all"]);
    server.execute(
        "CREATE TYPE pair AS (a int, b int); CREATE TABLE t (p pair); INSERT INTO t VALUES ((1, 2));
         CREATE FUNCTION cast_evil(pair) RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN ''evil''; END';
         CREATE CAST (pair AS text) WITH FUNCTION cast_evil(pair)",
    );
    let database = database(&server.url());
    for sql in ["SELECT p FROM t", "SELECT p::text FROM t"] {
        let error = database.query(sql, &limits()).await.unwrap_err();
        assert_eq!(error.kind, Kind::Refused, "{sql}: {error}");
        assert!(error.message.contains("cast_evil"), "{sql}: {error}");
    }
}

/// Returns the state after all connections of the test have closed.
async fn state(server: &Postgres, database: &str) -> String {
    loop {
        tokio::time::sleep(Duration::from_millis(5)).await;
        let state = server.look(database, STATE);
        if state != "at work" {
            return state;
        }
    }
}

#[tokio::test]
async fn the_driver_alone_changes_nothing_as_a_reader() {
    let server = Postgres::start();
    server.execute(FIXTURE);
    let reader = server.create_role("reader");
    server.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader");
    let database = unjudged(&reader);
    assert_eq!(database.check().await.unwrap().warnings, [""; 0]);
    let before = state(&server, "postgres").await;
    let mut ran = BTreeSet::new();
    for case in cases().into_iter().chain(more_attacks()) {
        let result = database.query(&case.sql, &limits()).await;
        assert_eq!(
            state(&server, "postgres").await,
            before,
            "{} {}",
            case.id,
            case.sql
        );
        if result.is_ok() && !case.allowed {
            ran.insert(case.id);
        }
    }
    // Cases about files, secrets and the log are already rejected for a reader.
    for (id, why) in ONLY_OTHER_LAYERS {
        assert_eq!(
            ran.contains(*id),
            !why.contains("a role without"),
            "{id} {why}"
        );
    }
}

#[tokio::test]
async fn guard_and_driver_run_what_is_allowed_and_nothing_else() {
    let server = Postgres::start();
    server.execute(FIXTURE);
    let reader = server.create_role("reader");
    server.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader");
    let database = database(&reader);
    let catalogue = catalogue(&reader).await;
    for case in cases() {
        let policy = Policy {
            mode: case.mode,
            ..Policy::default()
        };
        let approved = guard::check(&case.sql, SqlDialect::PostgreSql, Some(&catalogue), &policy);
        assert_eq!(
            approved.is_ok(),
            case.allowed,
            "{} {}: {approved:?}",
            case.id,
            case.sql
        );
        let Ok(approved) = approved else { continue };
        let result = database.query(&approved.sql, &limits()).await;
        match result {
            Ok(rows) => {
                assert!(!rows.columns.is_empty(), "{}", case.id);
                let whole = rows.truncated.is_none();
                assert!(whole || case.stopped_while_running, "{}", case.id);
            }
            Err(error) => {
                let in_time = error.kind == Kind::Timeout;
                assert!(
                    in_time && case.stopped_while_running,
                    "{}: {error}",
                    case.id
                );
            }
        }
    }
}

#[tokio::test]
async fn guard_and_driver_give_as_many_rows_as_they_may() {
    let server = Postgres::start();
    server.execute(FIXTURE);
    let database = database(&server.url());
    let catalogue = catalogue(&server.url()).await;
    for case in vectors("sql-limit.json") {
        let sql = case["sql"].as_str().unwrap();
        let cap = usize::try_from(case["cap"].as_u64().unwrap()).unwrap();
        let policy = Policy {
            rows: Some(cap as u64),
            ..Policy::default()
        };
        let limits = QueryLimits {
            rows: cap,
            ..limits()
        };
        let result = match guard::check(sql, SqlDialect::PostgreSql, Some(&catalogue), &policy) {
            Ok(approved) => database
                .query(&approved.sql, &limits)
                .await
                .map_err(|e| e.message),
            Err(refused) => Err(refused.message),
        };
        let Some(expected) = case["expect_rows"].as_u64() else {
            assert!(result.is_err(), "{sql}");
            continue;
        };
        let rows = result.unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(rows.rows.len() as u64, expected, "{sql}");
        let is_cut = rows.truncated == Some(TruncationReason::Rows);
        assert_eq!(Some(is_cut), case["expect_truncated"].as_bool(), "{sql}");
    }
}
