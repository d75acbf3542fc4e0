//! `--db` with data files such as `FILE.csv`.

use std::process::Stdio;
use std::time::Duration;

use super::ask;
use crate::Place;

const SALES: &str = "id,region,phone,day\n1,North,007,2026-01-02\n2,South,012,2026-02-03\n";
const REGIONS: &str = "{\"region\":\"North\",\"manager\":\"Ann\"}\n";

fn place() -> Place {
    let files = [
        ("sales.csv", SALES),
        ("regions.jsonl", REGIONS),
        ("bad.csv", "a,b\n1\n"),
    ];
    Place::new().with(&files)
}

#[test]
fn a_file_of_rows_is_asked_like_a_database() {
    let place = place();
    let run = |args: &[&str]| {
        let done = place.run(args);
        assert_eq!(done.code, Some(0), "{args:?} {done:?}");
        done.out
    };
    let sql = "SELECT phone, strftime('%m', day) AS month FROM sales ORDER BY id";
    let rows = run(&["sql", "run", sql, "--db", "sales.csv", "-o", "csv"]);
    assert_eq!(rows, "phone,month\r\n007,01\r\n012,02\r\n");
    let schema = run(&["sql", "schema", "--db", "sales.csv"]);
    assert!(schema.contains("day     DATE TEXT"), "{schema}");
    let tables = run(&["sql", "tables", "--db", "sales.csv"]);
    assert_eq!(tables, "main.sales          2  sales.csv\n");
    let done = ask(&place, "SELECT count(*) AS n FROM sales", "sales.csv");
    assert_eq!(done.out, "n\r\n2\r\n", "{done:?}");
    let tested = run(&["sql", "test", "sales.csv"]);
    assert!(tested.starts_with("sales.csv: 3."), "{tested}");
}

#[test]
fn several_files_and_folders_are_one_database() {
    let place = place();
    let join = "SELECT id, manager FROM sales JOIN regions USING (region)";
    let args = [
        "sql",
        "run",
        join,
        "-o",
        "csv",
        "--db",
        "sales.csv",
        "--db",
        "regions.jsonl",
    ];
    assert_eq!(place.run(&args).out, "id,manager\r\n1,Ann\r\n");
    std::fs::create_dir(place.path().join("rows")).unwrap();
    for name in ["sales.csv", "regions.jsonl"] {
        let to = place.path().join("rows").join(name);
        std::fs::rename(place.path().join(name), to).unwrap();
    }
    let args = ["sql", "run", join, "-o", "csv", "--db", "rows/"];
    assert_eq!(place.run(&args).out, "id,manager\r\n1,Ann\r\n");
}

#[test]
fn mistakes_with_files_name_the_place_and_the_mend() {
    let place = place();
    let run = |args: &[&str]| place.run(&[&["sql", "tables"], args].concat());
    run(&["--db", "bad.csv"]).fails(1, &["bad.csv:2: 1 cell, but the first row has 2", "help:"]);
    run(&["--db", "sale.csv"]).fails(2, &["no such file: sale.csv", "did you mean sales.csv?"]);
    run(&["--db", "dmo"]).fails(2, &["unknown database \"dmo\"", "did you mean \"demo\"?"]);
    run(&["--db", "demo", "--db", "sales.csv"]).fails(2, &["--db demo", "only data files can"]);
    std::fs::write(place.path().join("a.json"), "[]").unwrap();
    run(&["--db", "a.json"]).fails(2, &["a.json", ".jsonl", "jq -c"]);
    let done = place.run(&["sql", "add", "sales", "sales.csv"]);
    done.fails(2, &["sales.csv", "--db sales.csv"]);
    for (name, value, words) in [
        ("QUILLET_SQL_FILE_HEADER", "maybe", "auto, yes or no"),
        ("QUILLET_SQL_FILE_SEPARATOR", "ab", "one character"),
        ("QUILLET_SQL_FILE_ENCODING", "klingon", "unknown encoding"),
    ] {
        let done = place.run_with(
            &["sql", "tables", "--db", "sales.csv"],
            "",
            &[(name, value)],
        );
        assert_ne!(done.code, Some(0), "{done:?}");
        assert!(done.err.contains(words), "{done:?}");
    }
}

/// Temporary copies of the rows are deleted, regardless of how a run ends.
#[cfg(unix)]
#[test]
fn nothing_is_left_behind() {
    let place = place();
    let folder = place.path().join("tmp");
    std::fs::create_dir(&folder).unwrap();
    let left = || std::fs::read_dir(&folder).unwrap().count();
    let temporary = folder.to_str().unwrap().to_owned();
    let environment = [("TMPDIR", temporary.as_str())];
    for sql in ["SELECT 1", "SELECT nothing"] {
        place.run_with(&["sql", "run", sql, "--db", "sales.csv"], "", &environment);
        assert_eq!(left(), 0, "{sql}");
    }
    let endless =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::INT] {
        let mut command = place.command(&["sql", "run", endless, "--db", "sales.csv"]);
        let command = command
            .env("TMPDIR", &temporary)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let database = || {
            let made = std::fs::read_dir(&folder).unwrap().flatten().next();
            made.is_some_and(|made| made.path().join("rows.db").exists())
        };
        while !database() {
            assert_eq!(child.try_wait().unwrap(), None, "it ended by itself");
            std::thread::sleep(Duration::from_millis(5));
        }
        // The signal handlers are probably installed after this pause. Without a handler, the
        // signal kills the process.
        std::thread::sleep(Duration::from_millis(300));
        let id = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(id, signal).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert_eq!(left(), 0, "{signal:?}");
    }
}
