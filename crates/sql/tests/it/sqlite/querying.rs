//! Tests queries: values, limits, errors.

use std::time::Duration;

use quillet_sql::rows::{Cell, TruncationReason, ValueType};
use quillet_sql::{DatabaseError, QueryLimits, RowSet};

use super::folder::{Folder, open};

async fn ask(folder: &Folder, sql: &str) -> Result<RowSet, DatabaseError> {
    folder.database().query(sql, &QueryLimits::default()).await
}

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

#[tokio::test]
async fn values_are_given_as_they_are_kept() {
    let folder = Folder::with(
        "CREATE TABLE t (a BOOLEAN, b DECIMAL(10,2), c DATE, d BIGINT, e BLOB, f TEXT, g);
         INSERT INTO t VALUES (1, 9.5, '2026-11-22', 9223372036854775807, x'00ff', 'ä', NULL);
         INSERT INTO t VALUES ('yes', '12.345', 1700000000, -1, 'text', CAST(x'ff41' AS TEXT), 2.5);",
    );
    let rows = ask(&folder, "SELECT * FROM t").await.unwrap();
    assert_eq!(
        rows.rows,
        [
            vec![
                Cell::Int(1),
                Cell::Float(9.5),
                text("2026-11-22"),
                Cell::Int(i64::MAX),
                Cell::Bytes(vec![0, 255]),
                text("ä"),
                Cell::Null
            ],
            vec![
                text("yes"),
                Cell::Float(12.345),
                Cell::Int(1_700_000_000),
                Cell::Int(-1),
                text("text"),
                Cell::Bytes(vec![0xff, b'A']),
                Cell::Float(2.5)
            ],
        ]
    );
    let types: Vec<ValueType> = rows
        .columns
        .iter()
        .map(|column| column.value_type)
        .collect();
    let expected = [
        ValueType::Boolean,
        ValueType::Decimal,
        ValueType::Date,
        ValueType::Integer,
        ValueType::Binary,
        ValueType::Text,
        ValueType::Float,
    ];
    assert_eq!(types, expected);
}

#[tokio::test]
async fn computed_columns_have_the_type_of_their_values() {
    let folder = Folder::with("");
    let sql = "SELECT 1 AS a, 1.5 AS b, 'x' AS c, x'00' AS d, NULL AS e, 1 AS f, 'x' AS g
               UNION ALL SELECT 2, 2, 'y', NULL, NULL, 'z', 3";
    let rows = ask(&folder, sql).await.unwrap();
    let types: Vec<(&str, ValueType)> = rows
        .columns
        .iter()
        .map(|column| (column.data_type.as_str(), column.value_type))
        .collect();
    assert_eq!(
        types,
        [
            ("INTEGER", ValueType::Integer),
            ("REAL", ValueType::Float),
            ("TEXT", ValueType::Text),
            ("BLOB", ValueType::Binary),
            ("", ValueType::Other),
            ("ANY", ValueType::Other),
            ("ANY", ValueType::Other),
        ]
    );
}

const NUMBERS: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10000000)
     SELECT i, 'some text' FROM n";

#[tokio::test]
async fn rows_and_bytes_are_bounded() {
    let folder = Folder::with("");
    let database = folder.database();
    for (rows, bytes, sql, expected, truncated) in [
        (10, 1 << 20, NUMBERS, 10, Some(TruncationReason::Rows)),
        (1 << 30, 1_700, NUMBERS, 100, Some(TruncationReason::Bytes)),
        (10, 1 << 20, "SELECT 1 LIMIT 3", 1, None),
        (1, 1 << 20, "SELECT 1", 1, None),
        (0, 1 << 20, "SELECT 1", 0, Some(TruncationReason::Rows)),
        (
            9,
            10,
            "SELECT printf('%100s', 'x')",
            0,
            Some(TruncationReason::Bytes),
        ),
    ] {
        let limits = QueryLimits {
            rows,
            bytes,
            ..QueryLimits::default()
        };
        let read = database.query(sql, &limits).await.unwrap();
        assert_eq!(
            (read.rows.len(), read.truncated),
            (expected, truncated),
            "{sql}"
        );
    }
}

/// Endless work, too large values, and both within one instruction must stop.
#[tokio::test]
async fn what_never_ends_is_ended() {
    let folder = Folder::with(
        "CREATE TABLE t (a TEXT); INSERT INTO t VALUES (printf('%.*c', 300000, 'a'));",
    );
    let limits = QueryLimits {
        timeout: Duration::from_millis(300),
        ..QueryLimits::default()
    };
    for (sql, code) in [
        (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
            "sql.timeout",
        ),
        ("SELECT hex(zeroblob(400000000))", "sql.limit"),
        ("SELECT length(randomblob(500000000))", "sql.limit"),
        ("SELECT printf('%.*c', 300000000, 'x')", "sql.limit"),
        (
            "SELECT instr(printf('%.*c', 8000000, 'a'), printf('%.*cb', 4000000, 'a'))",
            "sql.limit",
        ),
        (
            "SELECT trim(printf('%.*c', 8000000, 'a'), 'b')",
            "sql.limit",
        ),
        ("SELECT upper(trim(a)) FROM t", "sql.limit"),
        ("SELECT replace(a, 'a', 'b') FROM t", "sql.limit"),
    ] {
        let error = folder.database().query(sql, &limits).await.unwrap_err();
        assert_eq!(error.kind.code(), code, "{sql}: {error}");
    }
    let rows = ask(&folder, "SELECT length(upper(a)) FROM t")
        .await
        .unwrap();
    assert_eq!(rows.rows, [[Cell::Int(300_000)]]);
}

#[tokio::test]
async fn a_query_that_nobody_waits_for_ends() {
    let folder = Folder::with("");
    let database = folder.database();
    let sql =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
    let limits = QueryLimits {
        timeout: Duration::from_secs(3600),
        ..QueryLimits::default()
    };
    for _ in 0..4 {
        let query = database.query(sql, &limits);
        assert!(
            tokio::time::timeout(Duration::from_millis(50), query)
                .await
                .is_err()
        );
    }
    // Dropping a runtime waits for its blocking threads, so this test would hang.
}

#[tokio::test]
async fn texts_that_are_no_single_query_are_refused() {
    let folder = Folder::with("CREATE TABLE t (a)");
    let many = "SELECT 1;".repeat(100_000);
    let deep = format!("SELECT {}1{}", "(".repeat(50_000), ")".repeat(50_000));
    let parts = format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(5_000));
    for (sql, code) in [
        ("", "sql.syntax"),
        ("-- nothing", "sql.syntax"),
        (";;", "sql.syntax"),
        ("SELECT 1; SELECT 2", "sql.syntax"),
        ("SELECT 1; nonsense", "sql.syntax"),
        (many.as_str(), "sql.syntax"),
        ("SELECT 1\0; DELETE FROM t", "sql.syntax"),
        ("SELEC 1", "sql.syntax"),
        ("SELECT ?", "sql.syntax"),
        (deep.as_str(), "sql.limit"),
        (parts.as_str(), "sql.limit"),
        ("SELECT a FROM nope", "sql.unknown_name"),
        ("SELECT nope FROM t", "sql.unknown_name"),
        ("SELECT nope(1)", "sql.unknown_name"),
        ("SELECT abs(-9223372036854775808)", "sql.failed"),
        ("DELETE FROM t", "sql.read_only"),
        ("EXPLAIN DELETE FROM t", "sql.read_only"),
        ("BEGIN", "sql.read_only"),
        ("PRAGMA user_version = 5", "sql.read_only"),
        ("PRAGMA schema_version = 5", "sql.read_only"),
        ("SELECT * FROM pragma_database_list", "sql.denied"),
        ("SELECT * FROM dbstat", "sql.denied"),
        ("SELECT load_extension('x')", "sql.denied"),
        ("SELECT last_insert_rowid()", "sql.denied"),
    ] {
        let error = ask(&folder, sql).await.unwrap_err();
        let start: String = sql.chars().take(50).collect();
        assert_eq!(error.kind.code(), code, "{start}: {error}");
        assert!(error.message.len() < 300, "{start}: {error}");
    }
}

#[tokio::test]
async fn what_describes_tables_may_be_read() {
    let folder = Folder::with("CREATE TABLE t (a); CREATE INDEX i ON t (a);");
    for sql in [
        "SELECT 1;",
        "SELECT 1 ; -- one",
        "PRAGMA table_info(t)",
        "SELECT name FROM pragma_table_info('t')",
        "SELECT name FROM sqlite_schema",
        "SELECT name FROM sqlite_master",
        "EXPLAIN QUERY PLAN SELECT * FROM t",
        "VALUES (1), (2)",
        "SELECT value FROM json_each('[1]')",
    ] {
        let rows = ask(&folder, sql).await.unwrap();
        assert!(!rows.rows.is_empty(), "{sql}");
    }
}

#[tokio::test]
async fn files_that_are_none_are_named() {
    let folder = Folder::with("CREATE TABLE t (a)");
    let text = folder.path().join("text.db");
    std::fs::write(
        &text,
        "this is some text, and no database at all".repeat(99),
    )
    .unwrap();
    let trick = folder.path().join("file:x.db?mode=rwc");
    for path in [
        folder.path().join("none.db"),
        text,
        folder.path().to_owned(),
        trick,
    ] {
        let error = open(&path).check().await.unwrap_err();
        assert_eq!(error.kind.code(), "sql.unreachable", "{error}");
        assert!(
            error.message.contains(&path.display().to_string()),
            "{error}"
        );
    }
    let mut left: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|f| f.unwrap().file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["data.db", "text.db"]);
}

/// A manually changed schema contains a name that is not UTF-8.
#[tokio::test]
async fn a_broken_schema_is_an_error() {
    let folder = Folder::with("CREATE TABLE t (abc)");
    let mut bytes = std::fs::read(folder.file()).unwrap();
    let at = bytes.windows(5).position(|part| part == b"(abc)").unwrap();
    bytes[at + 2] = 0xff;
    std::fs::write(folder.file(), bytes).unwrap();
    let error = ask(&folder, "SELECT * FROM t").await.unwrap_err();
    assert!(error.message.contains("UTF-8"), "{error}");
    let error = folder
        .database()
        .catalogue(&|_, _, _| {})
        .await
        .unwrap_err();
    assert!(error.message.contains("UTF-8"), "{error}");
}
