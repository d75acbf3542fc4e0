//! `quillet sql` sessions: follow-up questions, SQL, and commands.

use crate::Place;
use crate::pseudo_terminal::Terminal;

fn talk(place: &Place, args: &[&str], lines: &[&str]) -> crate::Done {
    let args = [&["sql"], args].concat();
    place.run_with(&args, &lines.join("\n"), &[])
}

#[test]
fn lines_of_a_pipe_are_answered_and_go_on_from_one_another() {
    let place = Place::new();
    let lines = [
        "how many orders?",
        "and by status",
        "select count(*) from suppliers",
    ];
    let done = talk(&place, &["--db", "demo", "--run", "-o", "csv"], &lines);
    assert_eq!(done.code, Some(0), "{done:?}");
    let rows: Vec<&str> = done.out.lines().collect();
    assert_eq!(
        &rows[..3],
        ["row_count", "180", "status,row_count"],
        "{done:?}"
    );
    assert_eq!(rows[rows.len() - 2], "count(*)", "{done:?}");
    // Without `--run`, a question only prints its query, but SQL that the user types is executed.
    let done = talk(
        &place,
        &["--db", "demo"],
        &["how many orders?", "select 7 as n;"],
    );
    assert!(done.out.starts_with("SELECT count(*)"), "{done:?}");
    assert!(done.out.ends_with("───\n 7\n"), "{done:?}");
    // The second question refers to the first, so it has no meaning on its own.
    let done = talk(
        &place,
        &["--db", "demo"],
        &["how many orders?", ".new", "and by zebras"],
    );
    assert_eq!(done.code, Some(4), "{done:?}");
}

#[test]
fn without_a_database_the_demo_is_asked_and_says_so() {
    let place = Place::new();
    let done = talk(&place, &[], &["select count(*) as n from suppliers"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.err.contains("this is the demo"), "{done:?}");
}

#[test]
fn commands_of_sqlite_and_psql_are_understood() {
    let place = Place::new();
    let lines = [
        "\\d suppliers",
        ".tables order*",
        "select 7 as n",
        ".sql",
        ".export rows.csv",
        ".quit",
        "select 888 as n",
    ];
    let done = talk(&place, &["--db", "demo"], &lines);
    assert_eq!(done.code, Some(0), "{done:?}");
    for words in ["main.suppliers  ", "main.order_items", "select 7 as n\n"] {
        assert!(done.out.contains(words), "{words} {done:?}");
    }
    assert!(!done.out.contains("888"), "{done:?}");
    let written = std::fs::read_to_string(place.path().join("rows.csv")).unwrap();
    assert_eq!(written, "n\r\n7\r\n");
    let lines = [
        "select 8 as n",
        ".export rows.csv",
        ".tabels",
        "select 9 as n",
    ];
    let done = talk(&place, &["--db", "demo"], &lines);
    // An error is reported, the next lines are still executed, and the exit code reports the
    // failure.
    assert_eq!(done.code, Some(2), "{done:?}");
    assert!(
        done.err.contains("pass --force") && done.err.contains("did you mean .tables?"),
        "{done:?}"
    );
    assert!(done.out.ends_with(" 9\n"), "{done:?}");
    let done = talk(
        &place,
        &["--db", "demo", "--output", "x.csv"],
        &["select 1"],
    );
    done.fails(2, &[".export"]);
}

#[test]
fn control_c_ends_the_query_and_not_the_session() {
    let place = Place::new();
    let command = place.command(&["sql", "--db", "demo", "--timeout", "600"]);
    let mut terminal = Terminal::start(command);
    terminal.until("Control-D exits");
    terminal.until("> ");
    terminal.types("how many orders?\r");
    terminal.until("Run it? [y/N] ");
    terminal.types("y\r");
    terminal.until("180");
    terminal.until("> ");
    terminal.types(
        "with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) from n\r",
    );
    // The query starts only after the terminal has echoed the line and is back in its normal mode.
    std::thread::sleep(std::time::Duration::from_millis(700));
    crate::ask::interrupt(&terminal.child);
    terminal.until("stopped");
    terminal.until("> ");
    terminal.types("select 40 + 2 as n\r");
    terminal.until("42");
    terminal.until("> ");
    terminal.types("\u{4}");
    assert_eq!(terminal.end(), Some(0), "{}", terminal.shown);
}
