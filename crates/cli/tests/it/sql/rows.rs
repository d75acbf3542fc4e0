//! Output of rows in all formats.

use super::{demo, json};
use crate::Place;

const THREE: &str =
    "SELECT 1 AS n, 'a,b' AS t UNION ALL SELECT 22, NULL UNION ALL SELECT 333, '中文' ORDER BY 1";

#[test]
fn rows_come_in_the_form_that_is_asked_for() {
    let place = Place::new();
    let cases = [
        (
            "table",
            "   n │ t\n─────┼──────\n   1 │ a,b\n  22 │ NULL\n 333 │ 中文\n",
        ),
        ("csv", "n,t\r\n1,\"a,b\"\r\n22,\r\n333,中文\r\n"),
        (
            "ndjson",
            "{\"n\":1,\"t\":\"a,b\"}\n{\"n\":22,\"t\":null}\n{\"n\":333,\"t\":\"中文\"}\n",
        ),
        (
            "markdown",
            "| n | t |\n| ---: | --- |\n| 1 | a,b |\n| 22 | NULL |\n| 333 | 中文 |\n",
        ),
    ];
    for (form, expected) in cases {
        let done = demo(&place, &["run", THREE, "-o", form]);
        assert_eq!(
            (done.code, done.out.as_str()),
            (Some(0), expected),
            "{form} {done:?}"
        );
        assert!(done.err.starts_with("3 rows in "), "{done:?}");
    }
}

#[test]
fn files_say_by_their_ending_what_they_are() {
    let place = Place::new();
    for (file, start) in [
        ("rows.csv", &b"n,t\r\n"[..]),
        ("rows.arrow", b"ARROW1"),
        ("rows.parquet", b"PAR1"),
        ("rows.ndjson", b"{\"n\":1"),
        ("rows.md", b"| n |"),
        ("rows.xlsx", b"PK"),
    ] {
        let done = demo(&place, &["run", THREE, "--output", file]);
        assert_eq!((done.code, done.out.as_str()), (Some(0), ""), "{done:?}");
        let written = std::fs::read(place.path().join(file)).unwrap();
        assert!(written.starts_with(start), "{file}: {written:?}");
    }
    let done = demo(&place, &["run", THREE, "--output", "rows.xls"]);
    done.fails(2, &["unknown output format .xls", "xlsx"]);
    assert!(!place.path().join("rows.xls").exists());
    let done = demo(&place, &["run", THREE, "--output", "no/such/folder.csv"]);
    done.fails(1, &["no/such/folder.csv"]);
}

#[test]
fn a_limit_cuts_and_says_so() {
    let place = Place::new();
    let done = demo(&place, &["run", THREE, "--limit", "2", "-o", "csv"]);
    assert_eq!(done.out, "n,t\r\n1,\"a,b\"\r\n22,\r\n");
    assert!(done.err.starts_with("truncated at 2 rows in "), "{done:?}");
    let done = demo(&place, &["run", THREE, "--limit", "3"]);
    assert!(done.err.starts_with("3 rows in "), "{done:?}");
}

#[test]
fn everything_of_a_query_is_json() {
    let ran = json(&demo(&Place::new(), &["run", THREE, "--json"]));
    assert_eq!(ran["result"]["rowCount"], 3, "{ran}");
    assert_eq!(ran["result"]["rows"][2]["t"], "中文");
    assert!(ran["sql"].as_str().unwrap().contains("LIMIT"), "{ran}");
}

#[test]
fn what_a_terminal_would_obey_is_shown() {
    let place = Place::new();
    let sql = "SELECT char(27) || '[2J' || char(10) || char(155) AS evil";
    let done = demo(&place, &["run", sql, "--expanded"]);
    assert!(done.out.contains("evil │ ␛[2J␊\u{fffd}"), "{done:?}");
    // Machine-readable formats contain the original value.
    let done = demo(&place, &["run", sql, "-o", "csv"]);
    assert!(done.out.contains("\u{1b}[2J"), "{done:?}");
}

/// A query with many rows that fails at the last one.
const BREAKS: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) \
    SELECT CASE WHEN i < 50000 THEN i ELSE abs(-9223372036854775807 - 1) END AS i FROM n";
const MANY: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) \
    SELECT i FROM n";

#[test]
fn many_rows_are_written_in_every_form() {
    let place = Place::new();
    for file in [
        "r.csv",
        "r.ndjson",
        "r.json",
        "r.arrow",
        "r.parquet",
        "r.xlsx",
    ] {
        let done = demo(&place, &["run", MANY, "--output", file]);
        assert_eq!((done.code, done.out.as_str()), (Some(0), ""), "{done:?}");
        assert!(done.err.starts_with("50000 rows in "), "{done:?}");
        let written = std::fs::read(place.path().join(file)).unwrap();
        let end: &[u8] = match file {
            "r.csv" => b"50000\r\n",
            "r.ndjson" => b"{\"i\":50000}\n",
            "r.json" => b"\"rowCount\":50000,\"truncated\":false}",
            "r.arrow" => b"ARROW1",
            "r.parquet" => b"PAR1",
            _ => b"\0\0",
        };
        assert!(written.ends_with(end), "{file}");
    }
}

/// Returns the names of all files in the folder.
fn files(place: &Place) -> Vec<String> {
    let entries = std::fs::read_dir(place.path()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name.contains("rows.")).collect();
    names.sort();
    names
}

/// If a query fails, an existing file is kept and no partial file is left behind.
#[test]
fn a_query_that_fails_in_the_middle_leaves_no_half_file() {
    let place = Place::new().with(&[("rows.csv", "before")]);
    for file in ["rows.csv", "rows.ndjson", "rows.xlsx", "rows.parquet"] {
        let done = demo(&place, &["run", BREAKS, "--force", "--output", file]);
        done.fails(1, &["integer overflow"]);
    }
    assert_eq!(files(&place), ["rows.csv"]);
    let kept = std::fs::read_to_string(place.path().join("rows.csv")).unwrap();
    assert_eq!(kept, "before");
    // Without permission to replace the file, the query does not start.
    let done = demo(&place, &["run", THREE, "--output", "rows.csv"]);
    done.fails(2, &["rows.csv", "--force"]);
    let kept = std::fs::read_to_string(place.path().join("rows.csv")).unwrap();
    assert_eq!(kept, "before");
    let done = demo(&place, &["run", BREAKS, "--force", "--output", "rows.csv"]);
    assert!(done.err.contains("rows.csv was not written"), "{done:?}");
    let done = demo(&place, &["run", THREE, "--force", "--output", "rows.csv"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let written = std::fs::read_to_string(place.path().join("rows.csv")).unwrap();
    assert!(written.starts_with("n,t\r\n"), "{written}");
    assert_eq!(files(&place), ["rows.csv"]);
}

/// A pipe receives the rows before the error, and the exit code reports that they are incomplete.
#[test]
fn a_query_that_fails_in_the_middle_of_a_pipe_says_so() {
    let done = demo(&Place::new(), &["run", BREAKS, "-o", "csv"]);
    assert_eq!(done.code, Some(1));
    assert!(
        done.out.starts_with("i\r\n1\r\n2\r\n"),
        "{}",
        done.out.len()
    );
    assert!(!done.out.contains("\r\n50000\r\n"));
    assert!(done.err.contains("integer overflow"), "{}", done.err);
    assert!(
        done.err.contains("the output is incomplete"),
        "{}",
        done.err
    );
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_written_as_it_is() {
    let place = Place::new();
    let done = demo(
        &place,
        &["run", THREE, "-o", "csv", "--output", "/dev/stdout"],
    );
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(done.out, "n,t\r\n1,\"a,b\"\r\n22,\r\n333,中文\r\n");
    // Writing to a symbolic link replaces its target, not the link.
    let target = place.path().join("target.csv");
    std::fs::write(&target, "before").unwrap();
    std::os::unix::fs::symlink(&target, place.path().join("rows.csv")).unwrap();
    let done = demo(&place, &["run", THREE, "--force", "--output", "rows.csv"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(std::fs::read_to_string(&target).unwrap().starts_with("n,t"));
    assert!(place.path().join("rows.csv").is_symlink());
}
