//! Tests the formatter: one layout for each query, without losing text.

use proptest::prelude::*;
use quillet_sql::SqlDialect::{self, MySql, PostgreSql, Sqlite};
use quillet_sql::layout::format;

#[test]
fn queries_are_laid_out() {
    for (dialect, sql, expected) in [
        (PostgreSql, "select 1", "SELECT 1"),
        (
            PostgreSql,
            "select a,b from t where x=1 and y between 2 and 3 or z is null order by a desc limit 5 offset 2;",
            "SELECT a, b\nFROM t\nWHERE x = 1\n  AND y BETWEEN 2 AND 3\n  OR z IS NULL\nORDER BY a DESC\nLIMIT 5 OFFSET 2;",
        ),
        (
            PostgreSql,
            "select u.name,count(*) as n from users u left join orders o on o.user_id=u.id and o.total>5 group by u.name having count(*)>1",
            "SELECT u.name, count(*) AS n\nFROM users u\nLEFT JOIN orders o ON o.user_id = u.id\n  AND o.total > 5\nGROUP BY u.name\nHAVING count(*) > 1",
        ),
        (
            PostgreSql,
            "select * from (select id from t where a in (select b from c)) x",
            "SELECT *\nFROM (\n  SELECT id\n  FROM t\n  WHERE a IN (\n    SELECT b\n    FROM c\n  )\n) x",
        ),
        (
            PostgreSql,
            "with a as (select 1), b(x) as (select 2) select * from a union all select * from b",
            "WITH a AS (\n  SELECT 1\n),\nb(x) AS (\n  SELECT 2\n)\nSELECT *\nFROM a\nUNION ALL\nSELECT *\nFROM b",
        ),
        (
            PostgreSql,
            "select row_number() over (partition by a order by b) from t -- end",
            "SELECT row_number() OVER (PARTITION BY a ORDER BY b)\nFROM t -- end",
        ),
        (
            PostgreSql,
            "-- what\nselect a, -- first\n b /* second */\nfrom t",
            "-- what\nSELECT a, -- first\nb /* second */\nFROM t",
        ),
        (
            PostgreSql,
            "select case when a=1 and b=2 then 'From  x' else null end from t where a is distinct from b",
            "SELECT CASE WHEN a = 1 AND b = 2 THEN 'From  x' ELSE NULL END\nFROM t\nWHERE a IS DISTINCT FROM b",
        ),
        (
            PostgreSql,
            "select first_column_name, second_column_name, third_column_name, fourth_column_name from t",
            "SELECT\n  first_column_name,\n  second_column_name,\n  third_column_name,\n  fourth_column_name\nFROM t",
        ),
        (
            MySql,
            "select `from`, t.select, \"From\" from `Order` where a<=>null # c",
            "SELECT `from`, t.select, \"From\"\nFROM `Order`\nWHERE a<=>NULL # c",
        ),
        (
            Sqlite,
            "select [group by] from t;select 2",
            "SELECT [group by]\nFROM t;\nSELECT 2",
        ),
        (
            PostgreSql,
            "select a->>'x', b::int, -1, $$select from$$ from t where inet '1' <<= b",
            "SELECT a->>'x', b::int, -1, $$select from$$\nFROM t\nWHERE inet '1' <<= b",
        ),
        (
            PostgreSql,
            "SELECT extract(year from d), substring(a from 1 for 2), percentile_cont(0.5) within group (order by x) from t",
            "SELECT\n  extract(year FROM d),\n  substring(a FROM 1 FOR 2),\n  percentile_cont(0.5) WITHIN GROUP (ORDER BY x)\nFROM t",
        ),
        (PostgreSql, "select 'a'\n'b'", "SELECT 'a'\n'b'"),
    ] {
        let once = format(sql, dialect).unwrap();
        assert_eq!(once, expected, "{sql}");
        assert_eq!(format(&once, dialect).unwrap(), once, "{sql}");
    }
}

#[test]
fn what_is_no_sql_is_refused() {
    for (text, code) in [
        ("", "sql.guard.empty"),
        (" -- nothing", "sql.guard.empty"),
        ("This is not SQL at all!!!", "sql.guard.syntax"),
        ("请列出所有订单", "sql.guard.syntax"),
        ("'select'", "sql.guard.syntax"),
    ] {
        assert_eq!(format(text, PostgreSql).expect_err(text).code, code);
    }
    let place = format("-- c\n what?", PostgreSql).unwrap_err().position;
    assert_eq!(place.map(|p| (p.line, p.column)), Some((2, 2)));
}

#[test]
fn what_has_no_end_is_refused() {
    for sql in ["select 'a", "select /* a", "select \"a"] {
        let error = format(sql, PostgreSql).expect_err(sql);
        assert_eq!(error.code, "sql.guard.syntax");
        assert_eq!(error.position.map(|p| p.column), Some(8));
    }
}

#[test]
fn deep_texts_are_laid_out_in_little_time_and_space() {
    for (open, close) in [
        ("(", ")"),
        ("(SELECT ", ")"),
        ("CASE ", " END"),
        (", (", ")"),
    ] {
        let sql = format!("SELECT {}1{}", open.repeat(20_000), close.repeat(20_000));
        let once = format(&sql, Sqlite).unwrap();
        assert!(once.len() < 100 * sql.len());
    }
}

/// Returns the text without whitespace, ignoring the case of words.
fn bare(sql: &str) -> String {
    let kept: String = sql.chars().filter(|c| !c.is_whitespace()).collect();
    kept.to_lowercase()
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "select",
        "from",
        "where",
        "and",
        "or",
        "between",
        "case",
        "when",
        "then",
        "end",
        "join",
        "left",
        "on",
        "group by",
        "order by",
        "limit",
        "union all",
        "with",
        "as",
        "not",
        "in",
        "exists",
        "(",
        ")",
        "(select",
        ",",
        ";",
        "a",
        "t.b",
        "\"c d\"",
        "'x''y'",
        "1.5",
        "-1",
        "=",
        "<=",
        "||",
        "*",
        "::",
        "-> ",
        "-- c\n",
        "/* d */",
        "\n/* e */\n",
        "\n-- f\n",
        "$$ g $$",
        "[1]",
        "+",
        "is distinct from",
        "values",
        "offset",
        "over (",
        "中文",
    ]);
    let blank = prop::sample::select(vec!["", " ", "\n", "  \n "]);
    prop::collection::vec((piece, blank), 0..40).prop_map(|all: Vec<_>| {
        let rest: String = all.into_iter().map(|(a, b)| format!("{a}{b}")).collect();
        format!("select {rest}")
    })
}

#[test]
fn a_bracket_that_touches_a_join_is_no_call() {
    for (sql, laid) in [
        ("select from join(", "SELECT\nFROM\nJOIN ("),
        (
            "select a from t join(select 1) x on left(a,1) = b",
            "SELECT a\nFROM t\nJOIN (\n  SELECT 1\n) x ON LEFT(a, 1) = b",
        ),
    ] {
        for dialect in SqlDialect::ALL {
            assert_eq!(format(sql, dialect).unwrap(), laid, "{dialect:?}");
        }
    }
}

proptest! {
    #[test]
    fn laying_out_twice_is_laying_out_once_and_nothing_is_lost(sql in pieces()) {
        for dialect in SqlDialect::ALL {
            let Ok(once) = format(&sql, dialect) else { continue };
            prop_assert_eq!(bare(&once), bare(&sql));
            prop_assert_eq!(&format(&once, dialect).unwrap(), &once, "{} of {:?}", dialect, sql);
        }
    }
}
