//! Tests that values arrive exactly as the server has them.

use quillet_sql::rows::ValueType as V;
use quillet_sql::{Cell, QueryLimits};
use quillet_test_support::Postgres;

use super::{database, query};

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

fn array<const N: usize>(cells: [Cell; N]) -> Cell {
    Cell::Array(cells.into())
}

#[tokio::test]
async fn every_type_keeps_its_value() {
    let server = Postgres::start();
    server.execute(
        "CREATE TYPE mood AS ENUM ('sad', '开心');
         CREATE DOMAIN year AS int CHECK (value > 1900);
         CREATE TYPE pair AS (a int, b text);
         CREATE TABLE odd (a int, p pair);",
    );
    let int = |n: i64| Cell::Int(n);
    let table: Vec<(&str, &str, V, Cell)> = vec![
        ("true", "boolean", V::Boolean, Cell::Bool(true)),
        ("null::bool", "boolean", V::Boolean, Cell::Null),
        ("(-32768)::int2", "smallint", V::Integer, int(-32768)),
        ("2147483647", "integer", V::Integer, int(2_147_483_647)),
        (
            "(-9223372036854775808)::int8",
            "bigint",
            V::Integer,
            int(i64::MIN),
        ),
        ("4294967295::oid", "oid", V::Integer, int(4_294_967_295)),
        ("0.1::float4", "real", V::Float, Cell::Float(0.1)),
        (
            "1e308::float8",
            "double precision",
            V::Float,
            Cell::Float(1e308),
        ),
        (
            "'-infinity'::float8",
            "double precision",
            V::Float,
            Cell::Float(f64::NEG_INFINITY),
        ),
        (
            "0.10::numeric(10,2)",
            "numeric(10,2)",
            V::Decimal,
            text("0.10"),
        ),
        (
            "12345678901234567890.123456789",
            "numeric",
            V::Decimal,
            text("12345678901234567890.123456789"),
        ),
        ("-0.00001::numeric", "numeric", V::Decimal, text("-0.00001")),
        (
            "1e20::numeric",
            "numeric",
            V::Decimal,
            text("100000000000000000000"),
        ),
        ("'NaN'::numeric", "numeric", V::Decimal, text("NaN")),
        (
            "'-Infinity'::numeric",
            "numeric",
            V::Decimal,
            text("-Infinity"),
        ),
        ("'订单'", "text", V::Text, text("订单")),
        (
            "'ab'::varchar(5)",
            "character varying(5)",
            V::Text,
            text("ab"),
        ),
        ("'ab'::char(4)", "character(4)", V::Text, text("ab  ")),
        ("'x'::\"char\"", "\"char\"", V::Text, text("x")),
        ("'n'::name", "name", V::Text, text("n")),
        (
            "'\\x00ff'::bytea",
            "bytea",
            V::Binary,
            Cell::Bytes(vec![0, 255]),
        ),
        ("'2026-11-22'::date", "date", V::Date, text("2026-11-22")),
        (
            "'0044-03-15 BC'::date",
            "date",
            V::Date,
            text("0044-03-15 BC"),
        ),
        ("'infinity'::date", "date", V::Date, text("infinity")),
        (
            "'294276-12-31 23:59:59.999999'::timestamp",
            "timestamp without time zone",
            V::Timestamp,
            text("294276-12-31T23:59:59.999999"),
        ),
        (
            "'4713-01-01 00:00 BC'::timestamp",
            "timestamp without time zone",
            V::Timestamp,
            text("4713-01-01T00:00:00 BC"),
        ),
        (
            "'2026-11-22 13:45:00.5+08'::timestamptz",
            "timestamp with time zone",
            V::Instant,
            text("2026-11-22T05:45:00.5Z"),
        ),
        (
            "'-infinity'::timestamptz",
            "timestamp with time zone",
            V::Instant,
            text("-infinity"),
        ),
        (
            "'24:00'::time",
            "time without time zone",
            V::Time,
            text("24:00:00"),
        ),
        (
            "'13:45:00.000001'::time(6)",
            "time(6) without time zone",
            V::Time,
            text("13:45:00.000001"),
        ),
        (
            "'13:45+05:30'::timetz",
            "time with time zone",
            V::Other,
            text("13:45:00+05:30"),
        ),
        (
            "'1 year 2 months -3 days 04:05:06.7'::interval",
            "interval",
            V::Interval,
            text("1 year 2 mons -3 days +04:05:06.7"),
        ),
        (
            "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::uuid",
            "uuid",
            V::Uuid,
            text("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        ),
        (
            "'{\"a\": 1.10}'::json",
            "json",
            V::Json,
            Cell::Json("{\"a\": 1.10}".to_owned()),
        ),
        (
            "'{\"a\":1.10}'::jsonb",
            "jsonb",
            V::Json,
            Cell::Json("{\"a\": 1.10}".to_owned()),
        ),
        ("'<a/>'::xml", "xml", V::Text, text("<a/>")),
        (
            "ARRAY[1,NULL,3]",
            "integer[]",
            V::Array,
            array([int(1), Cell::Null, int(3)]),
        ),
        (
            "ARRAY[[0.5,1.50],[2,3]]",
            "numeric[]",
            V::Array,
            array([
                array([text("0.5"), text("1.50")]),
                array([text("2"), text("3")]),
            ]),
        ),
        ("'{}'::text[]", "text[]", V::Array, array([])),
        (
            "'[2:3]={7,8}'::int[]",
            "integer[]",
            V::Array,
            array([int(7), int(8)]),
        ),
        ("ARRAY['{\"a,b\",NULL}'::inet[]]", "", V::Array, Cell::Null),
        ("'开心'::mood", "mood", V::Text, text("开心")),
        (
            "ARRAY['sad'::mood]",
            "mood[]",
            V::Array,
            array([text("sad")]),
        ),
        ("2026::year", "integer", V::Integer, int(2026)),
        ("ARRAY[2026::year]", "year[]", V::Array, array([int(2026)])),
        (
            "'192.168.0.1/24'::inet",
            "inet",
            V::Other,
            text("192.168.0.1/24"),
        ),
        ("'10.0.0.0/8'::cidr", "cidr", V::Other, text("10.0.0.0/8")),
        (
            "'08:00:2b:01:02:03'::macaddr",
            "macaddr",
            V::Other,
            text("08:00:2b:01:02:03"),
        ),
        ("12.5::money", "money", V::Other, text("$12.50")),
        ("B'101'::bit(3)", "bit(3)", V::Other, text("101")),
        ("int4range(1, 5)", "int4range", V::Other, text("[1,5)")),
        (
            "'{[1,2],[5,6]}'::int4multirange",
            "int4multirange",
            V::Other,
            text("{[1,3),[5,7)}"),
        ),
        ("point(1.5,2)", "point", V::Other, text("(1.5,2)")),
        (
            "ARRAY[point(1,2), NULL]",
            "point[]",
            V::Array,
            array([text("(1,2)"), Cell::Null]),
        ),
        (
            "to_tsvector('simple','b a')",
            "tsvector",
            V::Other,
            text("'a':2 'b':1"),
        ),
        (
            "ROW(1,'x, y')::pair",
            "pair",
            V::Other,
            text("(1,\"x, y\")"),
        ),
        ("ROW(1,NULL)", "record", V::Other, text("(1,)")),
        (
            "'pg_class'::regclass",
            "regclass",
            V::Other,
            text("pg_class"),
        ),
        (
            "relacl FROM pg_class WHERE relname = 'odd'",
            "aclitem[]",
            V::Array,
            Cell::Null,
        ),
        ("'0/16B3748'::pg_lsn", "pg_lsn", V::Other, text("0/16B3748")),
        (
            "'1 3'::int2vector",
            "int2vector",
            V::Array,
            array([int(1), int(3)]),
        ),
        ("pg_sleep(0)", "void", V::Other, text("")),
    ];
    let url = server.url();
    for (expression, data_type, value_type, cell) in table {
        if data_type.is_empty() {
            let error = query(&url, &format!("SELECT {expression}"))
                .await
                .unwrap_err();
            assert_eq!(error.native_code.as_deref(), Some("22P02"), "{error:?}");
            continue;
        }
        let rows = query(&url, &format!("SELECT {expression}")).await;
        let rows = rows.unwrap_or_else(|error| panic!("{expression}: {error:?}"));
        assert_eq!(rows.columns[0].data_type, data_type, "{expression}");
        assert_eq!(rows.columns[0].value_type, value_type, "{expression}");
        assert_eq!(rows.rows[0][0], cell, "{expression}");
    }
}

#[tokio::test]
async fn not_a_number_is_a_float() {
    let server = Postgres::start();
    let rows = query(&server.url(), "SELECT 'NaN'::float8, 'NaN'::float4").await;
    for cell in &rows.unwrap().rows[0] {
        assert!(matches!(cell, Cell::Float(f) if f.is_nan()), "{cell:?}");
    }
}

#[tokio::test]
async fn types_that_only_the_server_can_write_change_nothing_else() {
    let server = Postgres::start();
    let url = server.url();
    let sql = "WITH s(i) AS (VALUES (1), (2), (3))
        SELECT i, i AS i, point(i, 0), 'a;b' AS \"选 项\" FROM s ORDER BY i DESC ; -- the last first";
    let rows = query(&url, sql).await.unwrap();
    let names: Vec<&str> = rows.columns.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["i", "i", "point", "选 项"]);
    let points: Vec<&Cell> = rows.rows.iter().map(|row| &row[2]).collect();
    assert_eq!(points, [&text("(3,0)"), &text("(2,0)"), &text("(1,0)")]);
    // A run-time error also includes its position in the original text.
    let error = query(&url, "SELECT point(1,1), nothing").await.unwrap_err();
    assert_eq!(error.position, Some("SELECT point(1,1), ".len()));
    // A result without rows still includes the columns.
    let none = query(&url, "SELECT point(1,1) WHERE false").await.unwrap();
    assert_eq!((none.columns.len(), none.rows.len()), (1, 0));
}

#[tokio::test]
async fn a_thousand_columns_are_a_row_like_any_other() {
    let server = Postgres::start();
    let columns: Vec<String> = (0..1600).map(|i| format!("point({i},0)")).collect();
    let sql = format!("SELECT {}", columns.join(","));
    let database = database(&server.url());
    let rows = database.query(&sql, &QueryLimits::default()).await.unwrap();
    assert_eq!(rows.rows[0][1599], text("(1599,0)"));
}
