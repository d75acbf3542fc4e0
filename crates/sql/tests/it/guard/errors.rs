//! Tests that errors include the problem, its position and a fix.

use quillet_core::ErrorCode;
use quillet_sql::SqlDialect::{self, MySql, PostgreSql, Sqlite};
use quillet_sql::guard::{GuardMode, Policy, check};

#[test]
fn places_are_those_of_the_thing() {
    for (dialect, sql, at, thing) in [
        (
            PostgreSql,
            "SELECT id,\n  pg_sleep(1) FROM users",
            (2, 3),
            "pg_sleep",
        ),
        (
            PostgreSql,
            "SELECT '订单',  pg_sleep(1)",
            (1, 15),
            "pg_sleep",
        ),
        (MySql, "SELECT 1 /* 订单 */, SLEEP(1)", (1, 20), "SLEEP"),
        (PostgreSql, "SELECT 1; DROP TABLE x", (1, 9), ";"),
        (
            PostgreSql,
            "SELECT * FROM a JOIN pg_authid p ON true",
            (1, 22),
            "pg_authid",
        ),
        (Sqlite, "SELECT 1 FROM t WHERE a = ?", (1, 27), "?"),
        (
            PostgreSql,
            "SELECT a FROM t FOR UPDATE",
            (1, 17),
            "FOR UPDATE",
        ),
        (MySql, "SELECT 1 /*! x */", (1, 10), "/*! x */"),
        (
            PostgreSql,
            "WITH d AS (DELETE FROM t RETURNING 1) SELECT 1",
            (1, 12),
            "DELETE",
        ),
    ] {
        let error = check(sql, dialect, None, &Policy::default()).expect_err(sql);
        let position = error.position.expect(sql);
        assert_eq!((position.line, position.column), at, "{sql}: {error}");
        let span = error.span.expect(sql);
        assert_eq!(&sql[span.start..span.end], thing, "{sql}");
    }
}

#[test]
fn every_code_is_listed() {
    let page = include_str!("../../../../../docs/sql/safety.md");
    let of_guard = |code: &&ErrorCode| code.as_str().starts_with("sql.guard.");
    for code in ErrorCode::ALL.iter().filter(of_guard) {
        let meaning = code.meaning();
        assert!(page.contains(&format!("| `{code}` | {meaning}")), "{code}");
    }
}

#[test]
fn functions_can_be_allowed() {
    let policy = |functions: &[&str]| Policy {
        functions: functions.iter().map(|f| (*f).to_owned()).collect(),
        ..Policy::default()
    };
    for (sql, functions, passes) in [
        ("SELECT my_rate(total) FROM orders", vec![], false),
        ("SELECT my_rate(total) FROM orders", vec!["my_rate"], true),
        ("SELECT MY_RATE(total) FROM orders", vec!["my_rate"], true),
        ("SELECT app.my_rate(1)", vec!["app.my_rate"], true),
        ("SELECT evil.my_rate(1)", vec!["app.my_rate"], false),
        ("SELECT * FROM my_rows(3)", vec!["my_rows"], true),
        ("SELECT pg_catalog.lower('A')", vec![], true),
        ("SELECT \"LOWER\"('A')", vec![], false),
    ] {
        let result = check(sql, PostgreSql, None, &policy(&functions));
        assert_eq!(result.is_ok(), passes, "{sql} {functions:?} {result:?}");
    }
}

#[test]
fn functions_of_every_list_may_be_called() {
    for (dialect, sql) in [
        (PostgreSql, "SELECT lower('A'), sum(1), jsonb_pretty('{}')"),
        (MySql, "SELECT LOWER('A'), SUM(1), JSON_PRETTY('{}')"),
        (Sqlite, "SELECT lower('A'), sum(1), json_pretty('{}')"),
    ] {
        check(sql, dialect, None, &Policy::default()).expect(sql);
    }
}

#[test]
fn bounds_are_settings() {
    let policy = Policy {
        bytes: 20,
        depth: 2,
        ..Policy::default()
    };
    for (sql, code) in [
        ("SELECT 1 -- a long comment", Some(ErrorCode::GuardLength)),
        ("SELECT (((1)))", Some(ErrorCode::GuardDepth)),
        ("SELECT ((1))", None),
    ] {
        let result = check(sql, Sqlite, None, &policy);
        assert_eq!(result.err().map(|error| error.code), code, "{sql}");
    }
}

#[test]
fn exploring_is_for_those_who_may() {
    let explore = Policy {
        mode: GuardMode::Explore,
        ..Policy::default()
    };
    for (dialect, sql) in [
        (MySql, "SHOW TABLES"),
        (Sqlite, "PRAGMA table_info(users)"),
        (PostgreSql, "EXPLAIN SELECT 1"),
    ] {
        let sql: &str = sql;
        let dialect: SqlDialect = dialect;
        assert!(check(sql, dialect, None, &explore).is_ok(), "{sql}");
        let error = check(sql, dialect, None, &Policy::default()).expect_err(sql);
        assert_eq!(error.code, ErrorCode::GuardStatement);
    }
}
