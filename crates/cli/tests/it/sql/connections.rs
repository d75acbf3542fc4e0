//! Connections of the store, real servers, and queries that are given up.

use super::json;
use crate::Place;

#[test]
fn connections_are_kept_listed_used_and_forgotten() {
    let place = Place::new();
    // A store of the program is a file of SQLite like any other.
    let hello = ["prompt", "add", "hello", "-", "--store", "sqlite:shop.db"];
    place.run_with(&hello, "Hello", &[]).gives("");
    let run = |args: &[&str]| place.run(args);
    let added = run(&[
        "sql",
        "add",
        "shop",
        "shop.db",
        "--description",
        "A small shop",
    ]);
    assert_eq!(added.code, Some(0), "{added:?}");
    assert!(added.err.contains("kept: shop is sqlite:"), "{added:?}");
    // The only one needs no name.
    let rows = run(&[
        "sql",
        "run",
        "SELECT count(*) AS n FROM definitions",
        "-o",
        "csv",
    ]);
    assert!(rows.out == "n\r\n1\r\n", "{rows:?}");
    let list = json(&run(&["sql", "list", "--json"]));
    assert_eq!(
        (&list[0]["name"], &list[0]["dbType"]),
        (&"shop".into(), &"sqlite".into())
    );
    let test = run(&["sql", "test"]);
    assert!(test.out.starts_with("shop: "), "{test:?}");
    let wrong = run(&["sql", "tables", "--db", "shpo"]);
    wrong.fails(
        2,
        &["there is no database \"shpo\"", "did you mean \"shop\"?"],
    );
    run(&["sql", "add", "other", "./shop.db", "--json"]);
    run(&["sql", "tables"]).fails(2, &["several databases", "other, shop"]);
    run(&["sql", "remove", "other"]).gives("");
    run(&["sql", "remove", "othr"]).fails(2, &["there is no database \"othr\""]);
    let there = place.path().join(".local/share/quillet/databases.db");
    assert!(there.exists());
}

#[test]
fn passwords_are_shown_nowhere() {
    let place = Place::new();
    let url = "postgresql://ann:s3cret-canary@127.0.0.1:1/shop";
    for args in [
        &["sql", "tables", "--db", url][..],
        &["sql", "add", "shop", url],
        &["sql", "test", url],
    ] {
        let done = place.run(args);
        assert_eq!(done.code, Some(1), "{done:?}");
        assert!(done.err.contains("127.0.0.1"), "{done:?}");
        assert!(!format!("{done:?}").contains("s3cret-canary"), "{done:?}");
    }
    let shown = place.run_with(&["config", "show"], "", &[("QUILLET_DB", url)]);
    assert!(
        shown.out.contains("@127.0.0.1") && !shown.out.contains("canary"),
        "{shown:?}"
    );
}
