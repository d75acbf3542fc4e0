//! Stored connections, real servers, and cancelled queries.

use quillet_test_support::{MariaDb, Postgres};

use super::{ask, json};
use crate::Place;
use crate::pseudo_terminal::Terminal;

#[test]
fn connections_are_kept_listed_used_and_forgotten() {
    let place = Place::new().with(&[("hello.tmpl", "Hello")]);
    // The SQLite store of quillet can be queried like any other file.
    let hello = [
        "prompt",
        "add",
        "hello",
        "hello.tmpl",
        "--store",
        "sqlite:shop.db",
    ];
    assert_eq!(place.run(&hello).code, Some(0));
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
    // The only connection needs no name.
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
    wrong.fails(2, &["unknown database \"shpo\"", "did you mean \"shop\"?"]);
    // A relative file name is stored as an absolute path.
    let whole = format!("sqlite:{}", place.path().join("shop.db").display());
    assert_eq!(list[0]["url"], whole);
    for written in ["./shop.db", "sqlite:shop.db", "sqlite:./shop.db"] {
        let other = run(&["sql", "add", "other", written, "--force", "--json"]);
        assert_eq!(json(&other)["connection"]["url"], whole, "{written}");
    }
    let again = run(&["sql", "add", "other", "shop.db"]);
    again.fails(2, &["other already exists", &whole, "--force"]);
    run(&["sql", "tables"]).fails(2, &["several databases", "other, shop"]);
    run(&["sql", "remove", "other"]).gives("");
    run(&["sql", "remove", "othr"]).fails(2, &["unknown database \"othr\""]);
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

/// A query that runs until it is cancelled.
const ENDLESS: &str = "SELECT count(*) FROM endless a, endless b, endless c, endless d, endless e";

/// Runs a query and cancels it with Control-C. `look` counts the running queries.
#[track_caller]
fn ends_with_control_c(place: &Place, url: &str, look: impl Fn() -> String) {
    let command = place.command(&["sql", "run", ENDLESS, "--db", url, "--timeout", "600"]);
    let mut terminal = Terminal::start(command);
    while look() == "0" {
        std::thread::yield_now();
    }
    crate::ask::interrupt(&terminal.child);
    assert_eq!(terminal.end(), Some(130), "{}", terminal.shown);
    while look() != "0" {
        std::thread::yield_now();
    }
}

#[test]
fn postgresql_answers_and_ends_with_who_asked() {
    let server = Postgres::start();
    server.execute("CREATE TABLE endless (n int); INSERT INTO endless SELECT generate_series(1, 2000); COMMENT ON TABLE endless IS '无尽 numbers'");
    let place = Place::new();
    let url = server.create_role("reader");
    server.execute("GRANT SELECT ON endless TO reader");
    let rows = place.run(&[
        "sql",
        "run",
        "SELECT sum(n) AS s FROM endless",
        "--db",
        &url,
        "-o",
        "csv",
    ]);
    assert_eq!(rows.out, "s\r\n2001000\r\n", "{rows:?}");
    let tables = place.run(&["sql", "tables", "无尽", "--db", &url]);
    assert!(tables.out.starts_with("public.endless"), "{tables:?}");
    let question = ask(&place, "SELECT count(*) AS n FROM endless", &url);
    assert_eq!(question.out, "n\r\n2000\r\n", "{question:?}");
    let owner = place.run(&["sql", "run", "SELECT 1", "--db", &server.url()]);
    assert!(owner.err.contains("is a superuser"), "{owner:?}");
    assert!(owner.err.contains("sql.powerful_roles"), "{owner:?}");
    let tested = place.run(&["sql", "test", &server.url()]);
    assert!(
        tested.out.contains("CREATE ROLE quillet_reader"),
        "{tested:?}"
    );
    assert!(
        tested
            .out
            .contains("GRANT SELECT ON ALL TABLES IN SCHEMA public"),
        "{tested:?}"
    );
    let busy = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%endless e%' AND pid <> pg_backend_pid()";
    ends_with_control_c(&place, &url, || server.look("postgres", busy));
}

#[test]
fn mariadb_answers_and_ends_with_who_asked() {
    let server = MariaDb::start();
    server
        .execute("CREATE TABLE endless (n int); INSERT INTO endless SELECT seq FROM seq_1_to_2000");
    let place = Place::new();
    let url = server.create_role("reader");
    server.execute("GRANT SELECT ON test.* TO reader");
    let owner = place.run(&["sql", "run", "SELECT 1", "--db", &server.url()]);
    assert!(owner.err.contains("FILE and SUPER"), "{owner:?}");
    let rows = place.run(&[
        "sql",
        "run",
        "SELECT sum(n) AS s FROM endless",
        "--db",
        &url,
        "-o",
        "csv",
    ]);
    assert_eq!(rows.out, "s\r\n2001000\r\n", "{rows:?}");
    let question = ask(&place, "SELECT count(*) AS n FROM endless", &url);
    assert_eq!(question.out, "n\r\n2000\r\n", "{question:?}");
    // Passwords are percent-encoded in addresses.
    let (before, after) = url.rsplit_once('@').unwrap();
    let (before, _) = before.rsplit_once(':').unwrap();
    let wrong = format!("{before}:wrong-canary@{after}");
    // The catalogue cached for the right password is not used for the wrong one.
    assert_eq!(place.run(&["sql", "tables", "--db", &url]).code, Some(0));
    for what in [&["run", "SELECT 1"][..], &["tables"]] {
        let denied = place.run(&[&["sql"], what, &["--db", &wrong]].concat());
        denied.fails(1, &["denied"]);
        assert!(!denied.err.contains("canary"), "{denied:?}");
    }
    let bare = format!("{before}@{after}");
    let env = [("MYSQL_PWD", server.password())];
    let tables = place.run_with(&["sql", "tables", "--db", &bare], "", &env);
    assert_eq!(tables.code, Some(0), "{tables:?}");
    let asked = place.run_with(
        &["sql", "tables", "-W", "--db", &bare],
        server.password(),
        &[],
    );
    assert_eq!(asked.code, Some(0), "{asked:?}");
    let busy = "SELECT count(*) FROM information_schema.processlist WHERE info LIKE '%endless e%' AND id <> connection_id()";
    ends_with_control_c(&place, &url, || server.look("test", busy));
}
