//! Tests texts that could overflow the stack or take quadratic time.

use quillet_core::ErrorCode;
use quillet_sql::SqlDialect;
use quillet_sql::guard::{Policy, check};

const DEEP: usize = 100_000;

/// Name of a text, and a function that generates it with `n` repetitions.
type Shape = (&'static str, fn(usize) -> String);

fn around(open: &str, inside: &str, close: &str, n: usize) -> String {
    format!("SELECT {}{inside}{}", open.repeat(n), close.repeat(n))
}

const SHAPES: [Shape; 24] = [
    ("brackets", |n| around("(", "1", ")", n)),
    ("open brackets", |n| around("(", "1", "", n)),
    ("calls", |n| around("abs(", "1", ")", n)),
    ("NOT", |n| around("NOT ", "1", "", n)),
    ("minus", |n| around("- ", "1", "", n)),
    ("tilde", |n| around("~", "1", "", n)),
    ("BINARY", |n| around("BINARY ", "1", "", n)),
    ("CASE", |n| around("CASE WHEN 1 THEN ", "1", " END", n)),
    ("CASE operand", |n| {
        around("CASE ", "1", " WHEN 1 THEN 1 END", n)
    }),
    ("sum", |n| around("1 + ", "1", "", n)),
    ("DIV", |n| around("1 DIV ", "1", "", n)),
    ("OR", |n| around("a = 1 OR ", "1", "", n)),
    ("IS NULL", |n| format!("SELECT 1{}", " IS NULL".repeat(n))),
    ("casts", |n| format!("SELECT 1{}", "::int".repeat(n))),
    ("subscripts", |n| around("a[", "1", "]", n)),
    ("arrays", |n| around("ARRAY[", "1", "]", n)),
    ("subqueries", |n| around("(SELECT ", "1", ")", n)),
    ("derived tables", |n| {
        around("* FROM (SELECT ", "1", ") x", n)
    }),
    ("EXISTS", |n| around("EXISTS (SELECT ", "1", ")", n)),
    ("UNION", |n| {
        format!("SELECT 1{}", " UNION SELECT 1".repeat(n))
    }),
    ("right UNION", |n| around("1 UNION (SELECT ", "1", ")", n)),
    ("WITH", |n| {
        format!(
            "{}SELECT 1{}",
            "WITH a AS (".repeat(n),
            ") SELECT 1".repeat(n)
        )
    }),
    ("BETWEEN", |n| {
        format!("SELECT 1{}", " BETWEEN 1 AND 1".repeat(n))
    }),
    ("INTERVAL", |n| around("INTERVAL ", "'1'", "", n)),
];

/// Runs on a thread with the default stack size.
#[test]
fn depth_is_refused_before_anything_recurses() {
    let policy = Policy {
        bytes: 64 << 20,
        ..Policy::default()
    };
    for (i, (name, shape)) in SHAPES.into_iter().enumerate() {
        let dialect = SqlDialect::ALL[i % 3];
        let error = check(&shape(DEEP), dialect, None, &policy).expect_err(name);
        let expected = [ErrorCode::GuardDepth, ErrorCode::GuardSyntax].contains(&error.code);
        assert!(expected, "{name} {dialect}: {error}");
    }
}

/// At the maximum depth of the policy, the parser must not backtrack at each level.
#[test]
fn what_is_within_the_bounds_is_read_in_little_time() {
    for (name, shape) in SHAPES {
        for dialect in SqlDialect::ALL {
            for n in [30, 60] {
                // Chains may be much longer than the maximum nesting.
                let flat = ["sum", "DIV", "OR", "UNION", "IS NULL", "casts", "BETWEEN"];
                let n = if flat.contains(&name) { n * 8 } else { n };
                if let Err(error) = check(&shape(n), dialect, None, &Policy::default()) {
                    let expected = [
                        ErrorCode::GuardDepth,
                        ErrorCode::GuardSyntax,
                        ErrorCode::GuardFunction,
                    ];
                    assert!(
                        expected.contains(&error.code),
                        "{name} {dialect} {n}: {error}"
                    );
                }
            }
        }
    }
}

#[test]
fn long_and_flat_passes() {
    let items = vec!["1"; 100_000].join(",");
    let few = vec!["1"; 10_000].join(",");
    let names = (0..10_000)
        .map(|i| format!("c{i}"))
        .collect::<Vec<_>>()
        .join(",");
    let joins = (0..2_000)
        .map(|i| format!(" JOIN t t{i} ON t{i}.a = t.a"))
        .collect::<String>();
    let policy = Policy {
        bytes: 1 << 20,
        ..Policy::default()
    };
    for sql in [
        format!("SELECT a FROM t WHERE a IN ({items})"),
        format!("SELECT {few}"),
        format!("SELECT {names} FROM t"),
        format!("SELECT t.a FROM t{joins}"),
        format!("VALUES {}", vec!["(1, 'a')"; 5_000].join(",")),
        format!("SELECT '{}'", "x".repeat(500_000)),
        format!("SELECT 1 {}", "/**/ ".repeat(100_000)),
    ] {
        let shown: String = sql.chars().take(40).collect();
        assert!(
            check(&sql, SqlDialect::PostgreSql, None, &policy).is_ok(),
            "{shown}"
        );
    }
}

/// Looking up names in many tables must not take quadratic time.
#[test]
fn many_tables_and_names_are_looked_up_in_little_time() {
    let catalogue = super::shop(SqlDialect::Sqlite);
    let tables = (0..4_000)
        .map(|i| format!("users u{i}"))
        .collect::<Vec<_>>()
        .join(",");
    let doubled = (0..200)
        .map(|i| format!("c{} AS (SELECT * FROM c{i} a, c{i} b)", i + 1))
        .collect::<Vec<_>>()
        .join(",");
    for sql in [
        format!("SELECT {} FROM {tables}", vec!["zz"; 10_000].join(",")),
        format!("WITH c0 AS (SELECT * FROM users), {doubled} SELECT * FROM c200"),
    ] {
        let shown: String = sql.chars().take(40).collect();
        let result = check(
            &sql,
            SqlDialect::Sqlite,
            Some(&catalogue),
            &Policy::default(),
        );
        assert!(result.is_ok(), "{shown} {result:?}");
    }
}
