//! Property tests for arbitrary texts.

use proptest::prelude::*;
use quillet_sql::SqlDialect;
use quillet_sql::guard::{Policy, check};
use rusqlite::Connection;

/// Generates fragments of queries and attacks, and inputs that are difficult for lexers.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![thrown_together(), queries()]
}

/// Generates mostly valid queries.
fn queries() -> impl Strategy<Value = String> {
    let one = |of: &[&'static str]| prop::sample::select(of.to_vec());
    let select = (
        one(&["", "DISTINCT", "/* c */"]),
        one(&[
            "*",
            "id",
            "id AS n, name",
            "count(*) AS id",
            "users.*",
            "(SELECT max(id) FROM orders) AS id",
        ]),
        one(&[
            "users",
            "(SELECT id, name FROM users LIMIT 7) AS users",
            "users JOIN orders USING (id)",
            "users, json_each('[1,2,3]') j",
        ]),
        one(&[
            "",
            "WHERE id > 0",
            "WHERE users.id IN (SELECT user_id FROM orders)",
            "WHERE name LIKE 'a%' -- c\n",
        ]),
    )
        .prop_map(|(how, what, from, filter)| format!("SELECT {how} {what} FROM {from} {filter}"));
    let parts = prop::collection::vec(select, 1..4);
    let end = (
        one(&[
            "",
            "WITH t AS (SELECT 1 AS id) ",
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30) ",
        ]),
        one(&["UNION ALL", "UNION", "EXCEPT"]),
        one(&["", "ORDER BY 1", "ORDER BY 1 DESC"]),
        one(&[
            "",
            "LIMIT 1",
            "LIMIT 5000",
            "LIMIT 3 OFFSET 1",
            "LIMIT 1, 30",
            "LIMIT -1",
            "LIMIT (SELECT 2)",
            "LIMIT 2 + 1",
        ]),
        one(&["", ";", " -- end", " ; /* end */"]),
    );
    (parts, end).prop_map(|(parts, (with, set, order, limit, last))| {
        let body = parts.join(&format!(" {set} "));
        format!("{with}{body} {order} {limit}{last}")
    })
}

fn thrown_together() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "SELECT",
        "*",
        "id",
        "name",
        "FROM users",
        "FROM orders o",
        "WHERE",
        "id = 1",
        "AND",
        "OR",
        "LIMIT 5",
        "LIMIT 5000",
        "LIMIT -1",
        "OFFSET 2",
        "ORDER BY id",
        "GROUP BY id",
        "UNION ALL",
        "WITH t AS (",
        "SELECT 1",
        ")",
        "(",
        ",",
        ";",
        "DELETE FROM users",
        "INSERT INTO users",
        "VALUES (1)",
        "count(*)",
        "evil(1)",
        "load_extension('x')",
        "'a''b'",
        "\"id\"",
        "`id`",
        "[id]",
        "-- c\n",
        "/* c */",
        "/*! c */",
        "$$x$$",
        "E'\\''",
        "'\\'",
        "U&\"a\"",
        "@a",
        "?",
        "FOR UPDATE",
        "INTO t",
        "PRAGMA query_only = OFF",
        "json_each('[1]')",
        "OVER ()",
        "中文",
        "CASE WHEN 1 THEN 2 END",
        "IN (SELECT id FROM users)",
        "x'00'",
        "1e5",
        "||",
        "NOT",
        "#",
        "TABLE users",
        "sqlite_master",
        "randomblob(9)",
        "EXISTS (SELECT 1)",
        "\\",
        "\n",
    ]);
    prop::collection::vec(piece, 1..14).prop_map(|pieces| pieces.join(" "))
}

/// Creates a read-only database with users and orders.
fn database() -> Connection {
    let db = Connection::open_in_memory().unwrap();
    db.execute_batch(
        "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT);
         CREATE TABLE orders (id INTEGER PRIMARY KEY, user_id INTEGER);
         INSERT INTO users VALUES (1, 'a'), (2, 'b');
         INSERT INTO orders VALUES (1, 1), (2, 1);",
    )
    .unwrap();
    db
}

/// Returns all rows of all tables, and the schema.
fn contents(db: &Connection) -> Vec<String> {
    let sql =
        "SELECT 'u' || id || name FROM users UNION ALL SELECT 'o' || id || user_id FROM orders
               UNION ALL SELECT name || sql FROM sqlite_master";
    let mut statement = db.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Returns the number of rows of a query, at most `most`, if it runs.
fn rows(db: &Connection, sql: &str, most: usize) -> Option<usize> {
    let mut statement = db.prepare(sql).ok()?;
    let mut rows = statement.query([]).ok()?;
    let mut count = 0;
    while count <= most && rows.next().ok()?.is_some() {
        count += 1;
    }
    Some(count)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Every text gets a verdict. An approved text passes again unchanged, and does not modify an
    /// SQLite database without other protection.
    #[test]
    fn what_passes_reads_only_and_passes_again(text in texts()) {
        for dialect in SqlDialect::ALL {
            let policy = Policy { rows: Some(10), ..Policy::default() };
            let Ok(approved) = check(&text, dialect, None, &policy) else { continue };
            let more = Policy { rows: Some(11), ..Policy::default() };
            let again = check(&approved.sql, dialect, None, &more).map(|again| again.sql);
            // A LIMIT expression is wrapped again, with a limit that is not smaller.
            let wrapped = ["LEAST(", "min(("].iter().any(|w| approved.sql.contains(w));
            prop_assert!(again.is_ok() && (wrapped || again.as_ref() == Ok(&approved.sql)), "{text}: {again:?}");
            if dialect != SqlDialect::Sqlite {
                continue;
            }
            let db = database();
            let before = contents(&db);
            let bounded = rows(&db, &approved.sql, 1_000);
            prop_assert_eq!(contents(&db), before, "{}", text);
            // The limit only removes rows.
            let free = Policy { rows: None, ..Policy::default() };
            let unbounded = check(&text, dialect, None, &free).unwrap().sql;
            if let (Some(some), Some(all)) = (bounded, rows(&db, &unbounded, 1_000)) {
                let values = unbounded.contains("VALUES");
                prop_assert!(some == all.min(11) || values, "{text}: {some} of {all}");
            }
        }
    }

    #[test]
    fn any_text_has_a_verdict(text in "\\PC{0,200}", prefix in prop::sample::select(vec!["", "SELECT ", "SELECT * FROM "])) {
        let text = format!("{prefix}{text}");
        for dialect in SqlDialect::ALL {
            let result = check(&text, dialect, Some(&super::shop(dialect)), &Policy::default());
            if let Err(error) = result {
                let inside = error.span.is_none_or(|span| span.start <= span.end && span.end <= text.len());
                prop_assert!(inside, "{text}: {error:?}");
            }
        }
    }
}
