//! Rows in every form.

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
    done.fails(2, &["ending in .xls", "xlsx"]);
    assert!(!place.path().join("rows.xls").exists());
    let done = demo(&place, &["run", THREE, "--output", "no/such/folder.csv"]);
    done.fails(1, &["no/such/folder.csv"]);
}

#[test]
fn a_limit_cuts_and_says_so() {
    let place = Place::new();
    let done = demo(&place, &["run", THREE, "--limit", "2", "-o", "csv"]);
    assert_eq!(done.out, "n,t\r\n1,\"a,b\"\r\n22,\r\n");
    assert!(done.err.starts_with("cut at 2 rows in "), "{done:?}");
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
    // A program gets the value as it is.
    let done = demo(&place, &["run", sql, "-o", "csv"]);
    assert!(done.out.contains("\u{1b}[2J"), "{done:?}");
}
