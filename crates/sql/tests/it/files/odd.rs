//! Tests valid and invalid files as people and programs write them.

use quillet_sql::files::{self, FileOptions, Header};
use quillet_sql::{Cell, DatabaseErrorKind, QueryLimits};

use super::{Files, database, load, query, runtime};

fn options() -> FileOptions {
    FileOptions::default()
}

fn encoded(name: &str) -> FileOptions {
    FileOptions {
        encoding: Some(name.to_owned()),
        ..options()
    }
}

/// Returns the first column as text, with NULL as `-`.
fn first(rows: &[Vec<Cell>]) -> String {
    let text = |row: &Vec<Cell>| match &row[0] {
        Cell::Null => "-".to_owned(),
        Cell::Int(number) => number.to_string(),
        Cell::Float(number) => format!("{number:?}"),
        Cell::Text(text) => text.clone(),
        other => panic!("{other:?}"),
    };
    rows.iter().map(text).collect::<Vec<_>>().join("|")
}

#[test]
fn files_are_understood() {
    let no_header = FileOptions {
        header: Header::No,
        ..options()
    };
    let header = FileOptions {
        header: Header::Yes,
        ..options()
    };
    let bar = FileOptions {
        separator: Some(b'!'),
        ..options()
    };
    let utf16 = |text: &str, mark: &[u8]| {
        let units = text.encode_utf16().flat_map(u16::to_le_bytes);
        [mark, &units.collect::<Vec<u8>>()].concat()
    };
    let gbk = b"\xb3\xc7\xca\xd0,n\n\xb1\xb1\xbe\xa9,1\n";
    let cases: &[(&str, &[u8], FileOptions, &str, &str)] = &[
        (
            "a.csv",
            b"a,b\n1,x\n2,y\n",
            options(),
            "a INTEGER, b TEXT",
            "1|2",
        ),
        (
            "a.csv",
            b"a,b\r\n1,x\r\n",
            options(),
            "a INTEGER, b TEXT",
            "1",
        ),
        (
            "a.csv",
            b"a,b\r1,x\r2,y",
            options(),
            "a INTEGER, b TEXT",
            "1|2",
        ),
        ("a.csv", b"a,b\n1,x", options(), "a INTEGER, b TEXT", "1"),
        (
            "a.csv",
            b"\xef\xbb\xbfa,b\n1,x\n",
            options(),
            "a INTEGER, b TEXT",
            "1",
        ),
        (
            "a.csv",
            b"a\n\"x\ny, \"\"z\"\"\"\n",
            options(),
            "a TEXT",
            "x\ny, \"z\"",
        ),
        (
            "a.csv",
            b"a,b\n\n\n1,x\n\n",
            options(),
            "a INTEGER, b TEXT",
            "1",
        ),
        ("a.csv", b"a,b\n", options(), "a TEXT, b TEXT", ""),
        ("a.csv", b"a\n\"\"\nx\n", options(), "a TEXT", "-|x"),
        (
            "a.csv",
            b"a,A,,a\n1,2,3,4\n",
            options(),
            "a INTEGER, A_2 INTEGER, column3 INTEGER, a_3 INTEGER",
            "1",
        ),
        (
            "a.csv",
            b"a;b\n1,5;x\n2;y\n",
            options(),
            "a REAL, b TEXT",
            "1.5|2.0",
        ),
        (
            "a.csv",
            b"a;b\n1,234;x\n",
            options(),
            "a TEXT, b TEXT",
            "1,234",
        ),
        ("a.csv", b"a|b\n1|x\n", options(), "a INTEGER, b TEXT", "1"),
        (
            "a.csv",
            b"a\tb\tc,d\n1\tx\ty,z\n",
            options(),
            "a INTEGER, b TEXT, c,d TEXT",
            "1",
        ),
        (
            "a.csv",
            b"sep=;\r\na;b\r\n1;x,y\r\n",
            options(),
            "a INTEGER, b TEXT",
            "1",
        ),
        ("a.csv", b"a!b,c\n1!x\n", bar, "a INTEGER, b,c TEXT", "1"),
        (
            "a.tsv",
            b"a\tb\n007\tx,\"y\n",
            options(),
            "a TEXT, b TEXT",
            "007",
        ),
        ("a.CSV", b"a,b\n1,x\n", options(), "a INTEGER, b TEXT", "1"),
        (
            "a.csv",
            b"1,x\n2,y\n",
            options(),
            "column1 INTEGER, column2 TEXT",
            "1|2",
        ),
        (
            "a.csv",
            b"2026-01-01,x\n2026-01-02,y\n",
            options(),
            "column1 DATE TEXT, column2 TEXT",
            "2026-01-01|2026-01-02",
        ),
        (
            "a.csv",
            b"x,y\nz,w\n",
            no_header,
            "column1 TEXT, column2 TEXT",
            "x|z",
        ),
        ("a.csv", b"1,2\n3,4\n", header, "1 INTEGER, 2 INTEGER", "3"),
        (
            "a.csv",
            b"2019,2020\n1.5,2.5\n",
            options(),
            "2019 REAL, 2020 REAL",
            "1.5",
        ),
        (
            "a.csv",
            b"n,t\n 5 ,a\n\t,b\n",
            options(),
            "n INTEGER, t TEXT",
            "5|-",
        ),
        (
            "a.csv",
            &utf16("a,b\n北京,1\n", b"\xff\xfe"),
            options(),
            "a TEXT, b INTEGER",
            "北京",
        ),
        (
            "a.csv",
            &utf16("a,b\n北京,1\n", b""),
            encoded("utf-16le"),
            "a TEXT, b INTEGER",
            "北京",
        ),
        ("a.csv", gbk, encoded("gbk"), "城市 TEXT, n INTEGER", "北京"),
        (
            "a.csv",
            b"a,b\nM\xfcller,1\n",
            encoded("windows-1252"),
            "a TEXT, b INTEGER",
            "Müller",
        ),
        (
            "a.jsonl",
            b"{\"a\":1}\n\n{\"b\":\"x\",\"a\":null}\r\n",
            options(),
            "a INTEGER, b TEXT",
            "1|-",
        ),
        (
            "a.ndjson",
            b"{\"a\":[1,{\"b\":2}]}\n{\"a\":{}}",
            options(),
            "a JSON TEXT",
            "[1,{\"b\":2}]|{}",
        ),
        (
            "a.jsonl",
            b"{\"a\":1}\n{\"a\":\"007\"}\n{\"a\":true}\n",
            options(),
            "a TEXT",
            "1|007|true",
        ),
        (
            "a.jsonl",
            b"{\"a\":1e5}\n{\"a\":2}\n",
            options(),
            "a REAL",
            "100000.0|2.0",
        ),
        (
            "a.jsonl",
            b"{\"a\":18446744073709551616}\n",
            options(),
            "a TEXT",
            "18446744073709551616",
        ),
        (
            "a.jsonl",
            b"{\"a\":\"\"}\n{\"a\":\"1\"}\n",
            options(),
            "a TEXT",
            "|1",
        ),
        (
            "a.jsonl",
            b"{\"a\":\"2026-01-01\"}\n",
            options(),
            "a DATE TEXT",
            "2026-01-01",
        ),
        (
            "a.jsonl",
            "{\"\\u0061\":\"\\u00fc\\n\"}\n".as_bytes(),
            options(),
            "a TEXT",
            "ü\n",
        ),
    ];
    for (name, bytes, options, columns, values) in cases {
        let shown = String::from_utf8_lossy(bytes);
        let read = load(name, bytes, options).unwrap_or_else(|error| panic!("{shown}: {error}"));
        assert_eq!(read.columns(), *columns, "{shown}");
        assert_eq!(first(&read.rows), *values, "{shown}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let few = FileOptions {
        rows: 2,
        ..options()
    };
    let small = FileOptions {
        bytes: 20,
        ..options()
    };
    let short = FileOptions {
        row_bytes: 1_000,
        ..options()
    };
    let long = format!("a,b\n1,{}\n", "x".repeat(200_000));
    let long_line = format!("{{\"a\":\"{}\"}}\n", "x".repeat(2_000));
    let wide = vec!["a"; 2_001].join(",");
    let cases: &[(&str, &[u8], FileOptions, &str, &str)] = &[
        (
            "a.csv",
            b"a,b\n1,2\n1,2,3\n",
            options(),
            "sql.file.ragged",
            "a.csv:3: 3 cells",
        ),
        (
            "a.csv",
            b"a,b\n\"1\n\n\",2\n1\n",
            options(),
            "sql.file.ragged",
            "a.csv:5: 1 cell,",
        ),
        (
            "a.csv",
            b"a,b\n1,\"x\n2,y\n3,z\n",
            options(),
            "sql.file.form",
            "a.csv:2: unclosed quote",
        ),
        (
            "a.csv",
            b"a\n\"",
            options(),
            "sql.file.form",
            "a.csv:2: unclosed quote",
        ),
        ("a.csv", b"", options(), "sql.file.form", "a.csv: is empty"),
        (
            "a.csv",
            b"\n\n",
            options(),
            "sql.file.form",
            "a.csv: is empty",
        ),
        (
            "a.csv",
            b"a,b\nx,1\nM\xfcller,1\n",
            options(),
            "sql.file.encoding",
            "a.csv:3: byte 0xfc at offset 9 is not valid UTF-8",
        ),
        (
            "a.csv",
            b"a\n\xb1\xb1\xbe\xa9\n",
            options(),
            "sql.file.encoding",
            "a.csv:2: byte 0xb1",
        ),
        (
            "a.csv",
            b"a\0,\0b\0\n\0",
            options(),
            "sql.file.encoding",
            "UTF-16",
        ),
        (
            "a.csv",
            b"a\nx\n",
            encoded("klingon"),
            "sql.file.encoding",
            "klingon",
        ),
        (
            "a.csv",
            b"a\n1\n2\n3\n",
            few.clone(),
            "sql.file.limit",
            "sql.file_rows",
        ),
        (
            "a.jsonl",
            b"{\"a\":1}\n{\"a\":1}\n{\"a\":1}\n",
            few,
            "sql.file.limit",
            "sql.file_rows",
        ),
        (
            "a.csv",
            b"a\n1234567890\n1234567890\n",
            small,
            "sql.file.limit",
            "sql.file_bytes",
        ),
        (
            "a.csv",
            long.as_bytes(),
            short.clone(),
            "sql.file.limit",
            "a.csv:2: a row of more than 1000 bytes",
        ),
        (
            "a.jsonl",
            long_line.as_bytes(),
            short,
            "sql.file.limit",
            "sql.file_row_bytes",
        ),
        (
            "a.csv",
            wide.as_bytes(),
            options(),
            "sql.file.limit",
            "too many columns: 2001",
        ),
        ("a.jsonl", b"", options(), "sql.file.form", "no rows"),
        (
            "a.jsonl",
            b"{\"a\":1}\n{\"a\":}\n",
            options(),
            "sql.file.form",
            "a.jsonl:2:6: expected value",
        ),
        (
            "a.jsonl",
            b"[{\"a\":1}]\n",
            options(),
            "sql.file.form",
            "a.jsonl:1:",
        ),
        (
            "a.jsonl",
            b"{\"a\":1} {\"a\":2}\n",
            options(),
            "sql.file.form",
            "a.jsonl:1:9: trailing",
        ),
        (
            "a.jsonl",
            b"{\"a\":1,\"a\":2}\n",
            options(),
            "sql.file.form",
            "duplicate key \"a\"",
        ),
        (
            "a.jsonl",
            b"{\"a\":\"\xff\"}\n",
            options(),
            "sql.file.encoding",
            "a.jsonl:1: byte 0xff at offset 6",
        ),
        (
            "a.parquet",
            b"a,b\n1,2\n",
            options(),
            "sql.file.form",
            "Parquet",
        ),
        (
            "a.parquet",
            b"PAR1xxxxxxxxPAR1",
            options(),
            "sql.file.form",
            "Parquet",
        ),
    ];
    for (name, bytes, options, code, words) in cases {
        let shown: String = String::from_utf8_lossy(bytes).chars().take(60).collect();
        let error = load(name, bytes, options).unwrap_err();
        assert_eq!(error.code, *code, "{shown}: {error}");
        assert!(error.to_string().contains(words), "{shown}: {error}");
    }
}

#[test]
fn the_mend_names_the_encoding() {
    for (bytes, name) in [
        (&b"a\n\xb1\xb1\xbe\xa9\n"[..], "\"gbk\""),
        (b"name\nM\xfcller\n", "\"windows-1252\""),
        (b"a\0,\0b\0\n\0", "\"utf-16le\""),
        (b"\0a\0,\0b\0\n", "\"utf-16be\""),
    ] {
        let help = load("a.csv", bytes, &options()).unwrap_err().help.unwrap();
        assert!(help.contains(name), "{help}");
    }
}

#[test]
fn what_may_surprise_is_noted() {
    let numbers: String = (0..20).map(|i| format!("{i}\n")).collect();
    let read = load("a.csv", format!("n\n{numbers}NA\n").as_bytes(), &options()).unwrap();
    assert_eq!(read.columns(), "n TEXT");
    assert_eq!(
        read.notes,
        ["a.csv: \"n\" is text, not numbers: line 22 has \"NA\""]
    );
    let read = load("a.csv", b"1,a\n2,b\n", &options()).unwrap();
    assert!(
        read.notes[0].contains("sql.file_header"),
        "{:?}",
        read.notes
    );
    let read = load("a.csv", b"a,b\n1,x\n", &options()).unwrap();
    assert!(read.notes.is_empty(), "{:?}", read.notes);
}

#[test]
fn several_files_join_and_nothing_can_be_written() {
    let files = Files::new();
    let paths = [
        files.write("orders.csv", "id,city\n1,1\n2,2\n"),
        files.write("cities.jsonl", "{\"id\":1,\"name\":\"北京\"}\n"),
        files.write("Orders.tsv", "id\n9\n"),
    ];
    runtime().block_on(async {
        let loaded = files::load(&paths, &options(), &|_, _, _| {})
            .await
            .unwrap();
        let database = database(&loaded);
        let sql = "SELECT c.name FROM orders o JOIN cities c ON c.id = o.city";
        let rows = query(&database, sql).await.rows;
        assert_eq!(rows, [[Cell::Text("北京".into())]]);
        let rows = query(&database, "SELECT id FROM Orders_2").await.rows;
        assert_eq!(rows, [[Cell::Int(9)]]);
        let limits = QueryLimits::default();
        let written = database.query("DELETE FROM orders", &limits).await;
        assert_eq!(written.unwrap_err().kind, DatabaseErrorKind::ReadOnly);
        let file = loaded.url().replace("sqlite:", "");
        assert!(std::fs::exists(&file).unwrap());
        drop(loaded);
        assert!(!std::fs::exists(&file).unwrap());
    });
}

#[test]
fn a_loading_that_nobody_waits_for_leaves_nothing() {
    let files = Files::new();
    let rows: String = (0..200_000).map(|i| format!("{i},x\n")).collect();
    let path = files.write("a.csv", format!("a,b\n{rows}"));
    let own = || {
        let prefix = format!("quillet-files-{}-", std::process::id());
        let entries = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
        entries
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
            .count()
    };
    let runtime = runtime();
    runtime.block_on(async {
        let options = options();
        let paths = [path];
        let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
        let tell = |_: u64, _: u64, _: &str| told.send(()).unwrap();
        tokio::select! {
            done = files::load(&paths, &options, &tell) => panic!("{done:?}"),
            _ = heard.recv() => {}
        }
    });
    // Dropping the runtime waits for the thread, which must notice the cancellation.
    drop(runtime);
    assert_eq!(own(), 0);
}
