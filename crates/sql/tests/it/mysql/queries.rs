//! Tests exact values, limits, and errors with positions.

use quillet_sql::rows::{TruncationReason, ValueType};
use quillet_sql::{Cell, DatabaseErrorKind, QueryLimits};
use quillet_test_support::MariaDb;

use super::{limits, only, open, refused, rows};

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

/// Column type, value in SQL, type name in the result, value type, and expected cell.
#[rustfmt::skip]
fn values() -> Vec<(&'static str, &'static str, &'static str, ValueType, Cell)> {
    use ValueType::{Binary, Date, Decimal, Float, Integer, Interval, Text, Timestamp};
    vec![
        ("tinyint", "-128", "tinyint", Integer, Cell::Int(-128)),
        ("tinyint unsigned", "255", "tinyint unsigned", Integer, Cell::Int(255)),
        ("smallint", "-32768", "smallint", Integer, Cell::Int(-32768)),
        ("mediumint unsigned", "16777215", "mediumint unsigned", Integer, Cell::Int(16_777_215)),
        ("mediumint", "-8388608", "mediumint", Integer, Cell::Int(-8_388_608)),
        ("int unsigned", "4294967295", "int unsigned", Integer, Cell::Int(4_294_967_295)),
        ("bigint", "-9223372036854775808", "bigint", Integer, Cell::Int(i64::MIN)),
        ("bigint unsigned", "18446744073709551615", "bigint unsigned", Integer, Cell::UInt(u64::MAX)),
        ("boolean", "TRUE", "tinyint", Integer, Cell::Int(1)),
        ("year", "2026", "year", Integer, Cell::Int(2026)),
        ("bit(1)", "b'1'", "bit", Integer, Cell::Int(1)),
        ("bit(12)", "b'100000000001'", "bit", Integer, Cell::Int(2049)),
        ("bit(64)", "0xFFFFFFFFFFFFFFFF", "bit", Integer, Cell::UInt(u64::MAX)),
        ("float", "0.1", "float", Float, Cell::Float(0.1)),
        ("double", "1e308", "double", Float, Cell::Float(1e308)),
        ("decimal(65,30)", "-12345678901234567890123456789012345.000000000000000000000000000001",
            "decimal", Decimal, text("-12345678901234567890123456789012345.000000000000000000000000000001")),
        ("decimal(10,2)", "10", "decimal", Decimal, text("10.00")),
        ("date", "'2026-02-28'", "date", Date, text("2026-02-28")),
        ("date", "'0000-00-00'", "date", Date, text("0000-00-00")),
        ("datetime", "'2026-02-28 13:45:00'", "datetime", Timestamp, text("2026-02-28T13:45:00")),
        ("datetime", "'2026-02-28'", "datetime", Timestamp, text("2026-02-28T00:00:00")),
        ("datetime(6)", "'2026-02-28 13:45:00.000001'", "datetime", Timestamp, text("2026-02-28T13:45:00.000001")),
        ("datetime", "'0000-00-00'", "datetime", Timestamp, text("0000-00-00T00:00:00")),
        ("timestamp(3) NULL", "'2026-02-28 13:45:00.500'", "timestamp", Timestamp, text("2026-02-28T13:45:00.5")),
        ("time", "'09:05:00'", "time", Interval, text("09:05:00")),
        ("time(6)", "'-838:59:58.999999'", "time", Interval, text("-838:59:58.999999")),
        ("time", "'0'", "time", Interval, text("00:00:00")),
        ("char(4)", "'a b'", "char", Text, text("a b")),
        ("varchar(20)", "'订单 😀'", "varchar", Text, text("订单 😀")),
        ("varchar(20) CHARACTER SET gbk", "'订单'", "varchar", Text, text("订单")),
        ("text", "''", "text", Text, text("")),
        ("binary(3)", "'a'", "binary", Binary, Cell::Bytes(vec![b'a', 0, 0])),
        ("varbinary(9)", "0xFF00", "varbinary", Binary, Cell::Bytes(vec![255, 0])),
        ("blob", "x''", "blob", Binary, Cell::Bytes(vec![])),
        ("enum('it''s','已付款')", "'已付款'", "enum", Text, text("已付款")),
        ("set('a','b')", "'a,b'", "set", Text, text("a,b")),
        ("json", "'{\"a\": 1.10}'", "text", Text, text("{\"a\": 1.10}")),
        ("point", "PointFromText('POINT(1 2)')", "geometry", Binary, Cell::Bytes(point())),
        ("uuid", "'123e4567-e89b-12d3-a456-426655440000'", "char", Text, text("123e4567-e89b-12d3-a456-426655440000")),
        ("inet6", "'::1'", "char", Text, text("::1")),
    ]
}

/// Returns a point in WKB: no reference system, little-endian, 1.0 and 2.0.
fn point() -> Vec<u8> {
    let mut bytes = vec![0, 0, 0, 0, 1, 1, 0, 0, 0];
    bytes.extend(1.0_f64.to_le_bytes());
    bytes.extend(2.0_f64.to_le_bytes());
    bytes
}

#[tokio::test]
async fn values_of_every_type_are_exact() {
    let server = MariaDb::start();
    let mut script = "SET sql_mode = '';\n".to_owned();
    for (i, (kind, value, ..)) in values().iter().enumerate() {
        let null = if kind.ends_with("NULL") { "" } else { "NULL" };
        script += &format!("CREATE TABLE v{i} (v {kind} {null});\n");
        script += &format!("INSERT INTO v{i} VALUES ({value}), (NULL);\n");
    }
    server.execute(&script);
    let database = open(&server.url());
    for (i, (kind, value, name, value_type, cell)) in values().into_iter().enumerate() {
        let found = rows(&*database, &format!("SELECT v FROM v{i}")).await;
        assert_eq!(found.columns[0].data_type, name, "{kind} {value}");
        assert_eq!(found.columns[0].value_type, value_type, "{kind} {value}");
        assert_eq!(found.rows, [[cell], [Cell::Null]], "{kind} {value}");
    }
}

#[tokio::test]
async fn names_of_every_kind_are_ordinary() {
    let server = MariaDb::start();
    let url = server.create_database("商 城-1");
    let names = [
        "订单",
        "Order Details",
        "select",
        "MiXed",
        "a`b",
        "a.b",
        "1",
        "x y",
    ];
    for name in names {
        let quoted = name.replace('`', "``");
        server.execute_in(
            "商 城-1",
            &format!("CREATE TABLE `{quoted}` (`{quoted}` int COMMENT '{name}'); INSERT INTO `{quoted}` VALUES (7);"),
        );
    }
    let database = open(&url);
    let catalogue = database.catalogue(&|_, _, _| {}).await.unwrap();
    assert_eq!(catalogue.tables.len(), names.len());
    for name in names {
        let table = catalogue.resolve(None, name).unwrap();
        assert_eq!(
            (table.schema_name.as_str(), table.table_name.as_str()),
            ("商 城-1", name)
        );
        assert_eq!(table.columns[0].name, name);
        assert_eq!(table.columns[0].comment.as_deref(), Some(name));
        let quoted = name.replace('`', "``");
        let found = rows(
            &*database,
            &format!("SELECT `{quoted}` FROM `商 城-1`.`{quoted}`"),
        )
        .await;
        assert_eq!(found.columns[0].name, name);
        assert_eq!(only(found), Cell::Int(7));
    }
}

#[tokio::test]
async fn columns_may_share_a_name_and_rows_may_be_missing() {
    let server = MariaDb::start();
    let database = open(&server.url());
    let found = rows(&*database, "SELECT 1 AS a, 'x' AS a, NULL AS b").await;
    let names: Vec<&str> = found
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    assert_eq!(names, ["a", "a", "b"]);
    assert_eq!(found.rows, [[Cell::Int(1), text("x"), Cell::Null]]);
    let found = rows(&*database, "SELECT 1 AS a FROM DUAL WHERE FALSE").await;
    assert_eq!((found.columns.len(), found.rows.len()), (1, 0));
    assert_eq!(found.truncated, None);
}

#[tokio::test]
async fn looking_around_gives_rows_too() {
    let server = MariaDb::start();
    server.execute("CREATE TABLE t (a int PRIMARY KEY)");
    let database = open(&server.url());
    let mut without = Vec::new();
    for sql in [
        "SHOW TABLES",
        "SHOW DATABASES",
        "SHOW CREATE TABLE t",
        "SHOW COLUMNS FROM t",
        "SHOW INDEX FROM t",
        "SHOW TABLE STATUS",
        "SHOW VARIABLES LIKE 'version'",
        "SHOW GRANTS",
        "DESCRIBE t",
        "EXPLAIN SELECT * FROM t",
        "EXPLAIN FORMAT=JSON SELECT * FROM t",
    ] {
        match database.query(sql, &limits()).await {
            Ok(found) => assert!(!found.rows.is_empty(), "{sql}"),
            Err(error) => without.push(format!("{sql}: {error}")),
        }
    }
    assert!(without.is_empty(), "{without:#?}");
}

#[tokio::test]
async fn recursion_is_not_cut_short() {
    let server = MariaDb::start();
    let database = open(&server.url());
    let sql = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) \
               SELECT COUNT(*) FROM n";
    assert_eq!(only(rows(&*database, sql).await), Cell::Int(3000));
}

#[tokio::test]
async fn rows_and_bytes_are_cut_where_the_limits_say() {
    let server = MariaDb::start();
    let database = open(&server.url());
    let ask = async |sql: &str, rows: usize, bytes: usize| {
        let limits = QueryLimits {
            rows,
            bytes,
            ..limits()
        };
        let found = database.query(sql, &limits).await;
        let found = found.unwrap_or_else(|error| panic!("{sql}: {error}"));
        (found.rows.len(), found.truncated)
    };
    let (ten, million) = (
        "SELECT seq FROM seq_1_to_10",
        "SELECT seq FROM seq_1_to_10000000",
    );
    let own = "SELECT seq FROM seq_1_to_10000000 LIMIT 9000000";
    let wide = "SELECT REPEAT('x', 1000) FROM seq_1_to_100";
    let large = "SELECT 1 UNION ALL SELECT REPEAT('x', 5000000)";
    let endless = "SELECT a.seq FROM seq_1_to_1000000 a, seq_1_to_1000000 b, seq_1_to_1000000 c LIMIT 999999999";
    for (sql, row_limit, byte_limit, expected) in [
        (ten, 10, 1 << 20, (10, None)),
        (ten, 9, 1 << 20, (9, Some(TruncationReason::Rows))),
        (ten, 11, 1 << 20, (10, None)),
        (ten, 0, 1 << 20, (0, Some(TruncationReason::Rows))),
        (million, 1000, 1 << 20, (1000, Some(TruncationReason::Rows))),
        (own, 1000, 1 << 20, (1000, Some(TruncationReason::Rows))),
        (endless, 1000, 1 << 20, (1000, Some(TruncationReason::Rows))),
        (
            million,
            10_000_000,
            8000,
            (1000, Some(TruncationReason::Bytes)),
        ),
        (wide, 1000, 10_500, (10, Some(TruncationReason::Bytes))),
        (large, 1000, 1 << 20, (1, Some(TruncationReason::Bytes))),
        (large, 1000, 8 << 20, (2, None)),
    ] {
        assert_eq!(
            ask(sql, row_limit, byte_limit).await,
            expected,
            "{sql} {row_limit} {byte_limit}"
        );
    }
}

#[tokio::test]
async fn errors_have_a_kind_and_a_place() {
    use DatabaseErrorKind::{Denied, Failed, ReadOnly, Syntax, UnknownName};
    let server = MariaDb::start();
    server.execute(
        "CREATE TABLE t (a int); CREATE TABLE hidden (a int); INSERT INTO t VALUES (1), (2);",
    );
    let reader = server.create_role("reader");
    server.execute("GRANT SELECT ON test.t TO reader;");
    let database = open(&reader);
    for (sql, kind, position) in [
        ("SELEC 1", ReadOnly, Some(0)),
        ("SELECT * FORM t", Syntax, Some(9)),
        ("SELECT 1,\n  FROM t\nWHERE x", Syntax, Some(12)),
        ("SELECT (1", Syntax, Some(9)),
        ("SELECT '订单', FROM t", Syntax, Some(17)),
        ("SELECT 1; SELECT 2", Syntax, Some(10)),
        ("SELECT 1; DROP TABLE t", Syntax, Some(10)),
        ("SELECT nothing FROM t", UnknownName, None),
        ("SELECT * FROM nothing_like_it", Denied, None),
        ("SELECT * FROM hidden", Denied, None),
        ("SELECT nothing(1)", Denied, None),
        ("SELECT (SELECT a FROM t)", Failed, None),
        ("SELECT ~0 + 1", Failed, None),
        ("SELECT * FROM t WHERE a = ?", Syntax, None),
        ("SELECT * FROM t WHERE a = :a", Syntax, None),
        // The library's parser does not recognize a quote after a minus sign.
        ("SELECT 5-'1 :b'", Syntax, None),
        ("SELECT 1 INTO @x", ReadOnly, None),
        ("INSERT INTO t VALUES (3) RETURNING a", ReadOnly, Some(0)),
    ] {
        let error = refused(&*database, sql).await;
        assert_eq!(
            (error.kind, error.position),
            (kind, position),
            "{sql}: {error:?}"
        );
    }
    let quoted = rows(&*database, "SELECT '12:30 :x' -- :y").await;
    assert_eq!(only(quoted), text("12:30 :x"));
}
