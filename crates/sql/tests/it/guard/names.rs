//! Tests table and column names against the catalogue.

use std::path::Path;

use quillet_core::ErrorCode;
use quillet_sql::SqlDialect::{self, MySql, PostgreSql, Sqlite};
use quillet_sql::guard::{GuardMode, Policy, check};
use serde_json::Value;

use super::{named, shop};

/// A false rejection is worse than a later error, so every allowed query must also pass with name
/// checks.
#[test]
fn right_queries_pass_with_a_catalogue() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/sql");
    for file in ["guard.json", "sql-safety.json"] {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        let file: Value = serde_json::from_str(&text).unwrap();
        let allowed = file["cases"].as_array().unwrap().iter();
        for case in allowed.filter(|case| case["verdict"] == "allow") {
            let dialect = SqlDialect::from_name(case["dialect"].as_str().unwrap()).unwrap();
            let mode = if case["mode"] == "explore" {
                GuardMode::Explore
            } else {
                GuardMode::Select
            };
            let policy = Policy {
                mode,
                ..Policy::default()
            };
            let sql = case["sql"].as_str().unwrap();
            if let Err(error) = check(sql, dialect, Some(&shop(dialect)), &policy) {
                panic!("{}: {sql}: {error} ({:?})", case["id"], error.help);
            }
        }
    }
}

#[test]
fn names_that_are_not_there_are_named_with_what_was_meant() {
    for (dialect, sql, code, message, help) in [
        (
            PostgreSql,
            "SELECT * FROM user_s",
            ErrorCode::GuardTable,
            "unknown table user_s",
            "did you mean users?",
        ),
        (
            PostgreSql,
            "SELECT nmae FROM users",
            ErrorCode::GuardColumn,
            "no table of this query has a column nmae",
            "did you mean name?",
        ),
        (
            MySql,
            "SELECT u.emial FROM users u",
            ErrorCode::GuardColumn,
            "u has no column emial",
            "did you mean email?",
        ),
        (
            Sqlite,
            "SELECT o.id FROM users u",
            ErrorCode::GuardTable,
            "unknown table or alias o in this part of the query",
            "did you mean u?",
        ),
        (
            PostgreSql,
            "SELECT u.id FROM users u WHERE total > 5",
            ErrorCode::GuardColumn,
            "no table of this query has a column total",
            "public.orders or sales.Invoices has it",
        ),
        (
            PostgreSql,
            "SELECT id FROM users JOIN orders ON user_id = users.id",
            ErrorCode::GuardAmbiguous,
            "ambiguous column id: more than one table has it",
            "write users.id or orders.id",
        ),
        (
            PostgreSql,
            "SELECT * FROM Invoices",
            ErrorCode::GuardTable,
            "unknown table Invoices",
            "write sales.\"Invoices\"",
        ),
        (
            PostgreSql,
            "SELECT * FROM \"Invoices\"",
            ErrorCode::GuardTable,
            "the table \"Invoices\" is not on the search path",
            "write sales.\"Invoices\"",
        ),
        (
            PostgreSql,
            "SELECT userId FROM sales.\"Invoices\"",
            ErrorCode::GuardColumn,
            "no table of this query has a column userId",
            "write \"userId\"",
        ),
        (
            PostgreSql,
            "SELECT * FROM old",
            ErrorCode::GuardAmbiguous,
            "ambiguous table name old",
            "write archive.old or backup.old",
        ),
        (
            PostgreSql,
            "SELECT * FROM sales.users",
            ErrorCode::GuardTable,
            "unknown table sales.users",
            "did you mean users?",
        ),
        (
            MySql,
            "SELECT t.x FROM (SELECT id AS y FROM users) t",
            ErrorCode::GuardColumn,
            "t has no column x",
            "did you mean y?",
        ),
        (
            Sqlite,
            "WITH t(a) AS (SELECT id FROM users) SELECT b FROM t",
            ErrorCode::GuardColumn,
            "no table of this query has a column b",
            "did you mean a?",
        ),
        (
            PostgreSql,
            "SELECT x.* FROM users",
            ErrorCode::GuardTable,
            "unknown table or alias x in this part of the query",
            "add it to FROM, which has users",
        ),
        (
            PostgreSql,
            "SELECT name FROM users u WHERE EXISTS (SELECT 1 FROM orders o WHERE o.uid = u.id)",
            ErrorCode::GuardColumn,
            "o has no column uid",
            "did you mean id?",
        ),
        (
            PostgreSql,
            "SELECT id FROM users UNION SELECT nope FROM orders",
            ErrorCode::GuardColumn,
            "no table of this query has a column nope",
            "",
        ),
        (
            PostgreSql,
            "SELECT * FROM (SELECT u.id FROM orders) t, users u",
            ErrorCode::GuardTable,
            "unknown table or alias u in this part of the query",
            "add it to FROM, which has orders",
        ),
    ] {
        let error = named(sql, dialect).expect_err(sql);
        assert_eq!(
            (error.code, error.message.as_str()),
            (code, message),
            "{sql}"
        );
        let said = error.help.unwrap_or_default();
        assert!(help.is_empty() || said == help, "{sql}: {said}");
    }
}

#[test]
fn what_is_read_is_listed_as_the_catalogue_names_it() {
    for (dialect, sql, tables) in [
        (
            PostgreSql,
            "SELECT * FROM Users u JOIN orders o ON u.id = o.user_id",
            vec!["public.users", "public.orders"],
        ),
        (
            PostgreSql,
            "WITH users AS (SELECT 1 AS id) SELECT id FROM users",
            vec![],
        ),
        (
            MySql,
            "SELECT 1 FROM ORDERS, orders b, information_schema.tables",
            vec!["shop.orders"],
        ),
        (
            Sqlite,
            "SELECT (SELECT count(*) FROM orders) FROM main.users",
            vec!["main.orders", "main.users"],
        ),
        (
            PostgreSql,
            "SELECT id FROM sales.\"Invoices\"",
            vec!["sales.Invoices"],
        ),
    ] {
        assert_eq!(named(sql, dialect).unwrap().tables, tables, "{sql}");
    }
}

#[test]
fn scopes_that_are_not_certain_take_any_name() {
    for (dialect, sql) in [
        (
            PostgreSql,
            "SELECT whatever FROM unnest(ARRAY[1]) AS t(whatever), users",
        ),
        (
            PostgreSql,
            "SELECT t.anything FROM jsonb_to_record('{}') AS t(anything int)",
        ),
        (PostgreSql, "SELECT (d.data).value FROM docs d"),
        (PostgreSql, "SELECT s.\"?column?\" FROM (SELECT 1) s"),
        (
            PostgreSql,
            "SELECT count FROM (SELECT count(*) FROM users) s",
        ),
        (
            Sqlite,
            "SELECT name FROM users WHERE name = \"no such column\"",
        ),
        (
            MySql,
            "SELECT o.`max(id)` FROM (SELECT max(id) FROM orders) o",
        ),
        (Sqlite, "SELECT users.rowid, oid FROM users"),
        (
            PostgreSql,
            "SELECT a.id FROM users a NATURAL JOIN orders b WHERE created_at IS NULL",
        ),
        (PostgreSql, "SELECT name AS n FROM users ORDER BY n"),
        (
            PostgreSql,
            "SELECT u.id FROM users u WHERE u.id IN (SELECT user_id FROM orders WHERE total > u.age)",
        ),
        (
            PostgreSql,
            "SELECT 1 FROM users a WHERE EXISTS (SELECT 1 FROM orders b WHERE EXISTS (SELECT 1 FROM docs WHERE a.age = b.total))",
        ),
        (
            PostgreSql,
            "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT n FROM t",
        ),
        (PostgreSql, "SELECT t.a FROM (VALUES (1)) AS t(a)"),
        (
            PostgreSql,
            "SELECT u.* FROM (users u JOIN orders o ON o.user_id = u.id)",
        ),
    ] {
        if let Err(error) = named(sql, dialect) {
            panic!("{sql}: {error}");
        }
    }
}
