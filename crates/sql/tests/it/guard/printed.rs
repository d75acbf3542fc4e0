//! Tests that the approved text means the same as the original.

use quillet_sql::SqlDialect::{self, MySql, PostgreSql, Sqlite};
use quillet_sql::guard::{Policy, check};

fn both(sql: &str, dialect: SqlDialect, rows: u64) -> (String, String) {
    let policy = Policy {
        rows: Some(rows),
        ..Policy::default()
    };
    let approved = check(sql, dialect, None, &policy).expect(sql);
    (approved.sql, approved.shown)
}

#[test]
fn limits_are_set_where_they_belong() {
    for (dialect, sql, runs, shown) in [
        (
            PostgreSql,
            "SELECT 1",
            "SELECT 1 LIMIT 11",
            "SELECT 1 LIMIT 10",
        ),
        (
            PostgreSql,
            " SELECT 1 ; ",
            "SELECT 1 LIMIT 11",
            "SELECT 1 LIMIT 10 ;",
        ),
        (
            PostgreSql,
            "SELECT 1 -- one",
            "SELECT 1 LIMIT 11",
            "SELECT 1 LIMIT 10 -- one",
        ),
        (
            PostgreSql,
            "SELECT 1 /* LIMIT 3 */ LIMIT 99",
            "SELECT 1   LIMIT 11",
            "SELECT 1 /* LIMIT 3 */ LIMIT 10",
        ),
        (
            PostgreSql,
            "SELECT 1 LIMIT 10",
            "SELECT 1 LIMIT 10",
            "SELECT 1 LIMIT 10",
        ),
        (
            PostgreSql,
            "SELECT 1 LIMIT ALL OFFSET 2",
            "SELECT 1 LIMIT 11 OFFSET 2",
            "SELECT 1 LIMIT 10 OFFSET 2",
        ),
        (
            PostgreSql,
            "SELECT 1 OFFSET 2",
            "SELECT 1 OFFSET 2 LIMIT 11",
            "SELECT 1 OFFSET 2 LIMIT 10",
        ),
        (
            PostgreSql,
            "SELECT 1 LIMIT (SELECT 40)",
            "SELECT 1 LIMIT LEAST((SELECT 40), 11)",
            "SELECT 1 LIMIT LEAST((SELECT 40), 10)",
        ),
        (
            PostgreSql,
            "SELECT 1 FETCH NEXT 50 ROWS ONLY",
            "SELECT 1 FETCH NEXT 11 ROWS ONLY",
            "SELECT 1 FETCH NEXT 10 ROWS ONLY",
        ),
        (
            PostgreSql,
            "SELECT 1 FETCH FIRST ROW ONLY",
            "SELECT 1 FETCH FIRST ROW ONLY",
            "SELECT 1 FETCH FIRST ROW ONLY",
        ),
        (
            PostgreSql,
            "SELECT 1 ORDER BY 1 FETCH FIRST 50 ROWS WITH TIES",
            "SELECT 1 ORDER BY 1 FETCH FIRST 11 ROWS WITH TIES",
            "SELECT 1 ORDER BY 1 FETCH FIRST 10 ROWS WITH TIES",
        ),
        (
            PostgreSql,
            "(SELECT 1 LIMIT 40)",
            "(SELECT 1 LIMIT 11)",
            "(SELECT 1 LIMIT 10)",
        ),
        (
            PostgreSql,
            "((SELECT 1))",
            "((SELECT 1 LIMIT 11))",
            "((SELECT 1 LIMIT 10))",
        ),
        (
            PostgreSql,
            "(SELECT 1 LIMIT 40) ORDER BY 1",
            "(SELECT 1 LIMIT 40) ORDER BY 1",
            "(SELECT 1 LIMIT 40) ORDER BY 1",
        ),
        (
            PostgreSql,
            "(SELECT 1) UNION (SELECT 2)",
            "(SELECT 1) UNION (SELECT 2) LIMIT 11",
            "(SELECT 1) UNION (SELECT 2) LIMIT 10",
        ),
        (
            PostgreSql,
            "SELECT 1 AS limit",
            "SELECT 1 AS limit LIMIT 11",
            "SELECT 1 AS limit LIMIT 10",
        ),
        (
            PostgreSql,
            "TABLE t",
            "TABLE t LIMIT 11",
            "TABLE t LIMIT 10",
        ),
        (
            PostgreSql,
            "WITH a AS (SELECT 1 LIMIT 5) SELECT * FROM a",
            "WITH a AS (SELECT 1 LIMIT 5) SELECT * FROM a LIMIT 11",
            "WITH a AS (SELECT 1 LIMIT 5) SELECT * FROM a LIMIT 10",
        ),
        (
            MySql,
            "SELECT /*+ MAX_EXECUTION_TIME(0) */ 1",
            "SELECT   1 LIMIT 11",
            "SELECT /*+ MAX_EXECUTION_TIME(0) */ 1 LIMIT 10",
        ),
        (
            MySql,
            "SELECT 1 LIMIT 5, 99",
            "SELECT 1 LIMIT 5, 11",
            "SELECT 1 LIMIT 5, 10",
        ),
        (
            MySql,
            "SELECT 1 # end",
            "SELECT 1 LIMIT 11",
            "SELECT 1 LIMIT 10 # end",
        ),
        (
            Sqlite,
            "SELECT 1 LIMIT -1 OFFSET 3",
            "SELECT 1 LIMIT 11 OFFSET 3",
            "SELECT 1 LIMIT 10 OFFSET 3",
        ),
        (
            Sqlite,
            "VALUES (1), (2)",
            "VALUES (1), (2)",
            "VALUES (1), (2)",
        ),
        (
            Sqlite,
            "SELECT 1 LIMIT (SELECT 3)",
            "SELECT 1 LIMIT min(((SELECT 3)) & 9223372036854775807, 11)",
            "SELECT 1 LIMIT min(((SELECT 3)) & 9223372036854775807, 10)",
        ),
        (
            Sqlite,
            "SELECT 'a' /* x\n */ , 'b'",
            "SELECT 'a' \n , 'b' LIMIT 11",
            "SELECT 'a' /* x\n */ , 'b' LIMIT 10",
        ),
    ] {
        let expected = (runs.to_owned(), shown.to_owned());
        assert_eq!(both(sql, dialect, 10), expected, "{sql}");
    }
}

/// Checking an approved text again does not change it.
#[test]
fn what_runs_passes_again() {
    for (dialect, sql) in [
        (PostgreSql, "SELECT a -- c\nFROM t WHERE x = $$;$$"),
        (MySql, "SELECT 'it\\'s' FROM t -- c"),
        (Sqlite, "SELECT [a b] FROM t LIMIT 3, 400"),
    ] {
        let (runs, _) = both(sql, dialect, 10);
        assert_eq!(both(&runs, dialect, 11).0, runs, "{sql}");
    }
}

#[test]
fn without_a_bound_the_query_stays_as_it_is() {
    let policy = Policy {
        rows: None,
        ..Policy::default()
    };
    let approved = check("SELECT 1 LIMIT 5000", PostgreSql, None, &policy).unwrap();
    assert_eq!(approved.sql, "SELECT 1 LIMIT 5000");
    assert!(!approved.limited);
}

#[test]
fn the_largest_bound_still_is_a_number_for_servers() {
    let (runs, _) = both("SELECT 1", PostgreSql, u64::MAX);
    assert_eq!(runs, format!("SELECT 1 LIMIT {}", i64::MAX));
}
