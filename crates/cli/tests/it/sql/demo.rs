//! The built-in demo database and the mock, without a network.

use super::{demo, json};
use crate::Place;
use crate::pseudo_terminal::Terminal;

const QUESTION: &str = "How many orders has each customer?";

#[test]
fn a_question_becomes_a_query_and_nothing_runs() {
    let place = Place::new();
    let done = demo(&place, &[QUESTION]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.out.starts_with("SELECT"), "{done:?}");
    for words in ["no model is set", "Tables", "main.orders", "tokens in"] {
        assert!(done.err.contains(words), "{words}: {done:?}");
    }
    let history = demo(&place, &["history"]);
    assert_eq!(
        (history.code, history.out.as_str()),
        (Some(0), ""),
        "{history:?}"
    );
}

#[test]
fn a_question_is_run_where_that_is_asked_for() {
    let place = Place::new();
    let done = demo(&place, &[QUESTION, "--run", "-m", "mock", "-o", "csv"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.out.contains("\r\n"), "{done:?}");
    assert!(
        done.err.contains("SELECT") && done.err.contains(" rows in "),
        "{done:?}"
    );
    let kept = demo(&place, &["history", "--json"]);
    let kept = json(&kept);
    assert_eq!(kept[0]["question"], QUESTION, "{kept}");
    let found = demo(&place, &["history", "customer"]);
    assert!(found.out.contains(QUESTION), "{found:?}");
    let nothing = demo(&place, &["history", "zebra"]);
    assert_eq!(nothing.err, "no queries found\n");
}

#[test]
fn everything_of_a_question_is_json() {
    let place = Place::new();
    let asked = json(&demo(&place, &[QUESTION, "--json"]));
    assert_eq!(asked["question"], QUESTION);
    assert!(
        asked["generatedSql"]
            .as_str()
            .unwrap()
            .starts_with("SELECT")
    );
    assert!(!asked["selectedTables"].as_array().unwrap().is_empty());
    assert_eq!(asked["fallbackUsed"], false);
    assert!(asked.get("ran").is_none());
    let ran = json(&demo(&place, &[QUESTION, "--json", "--run"]));
    assert!(
        ran["ran"]["result"]["rowCount"].as_u64().unwrap() > 0,
        "{ran}"
    );
}

#[test]
fn prompts_are_shown_without_a_model() {
    let place = Place::new();
    let done = demo(&place, &[QUESTION, "--dry-run", "--chain", "seed"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    for words in [
        "[system]",
        "[user]",
        "database schema analyst",
        "Available Tables:",
        QUESTION,
    ] {
        assert!(done.out.contains(words), "{words}: {done:?}");
    }
    let done = demo(&place, &[QUESTION, "--show-prompts"]);
    assert!(
        done.out.starts_with("SELECT") && done.err.contains("[user]"),
        "{done:?}"
    );
}

#[test]
fn tables_are_listed_found_and_described() {
    let place = Place::new();
    let all = demo(&place, &["tables"]);
    assert!(all.out.contains("main.orders"), "{all:?}");
    let some = demo(&place, &["tables", "order*"]);
    assert!(
        some.out.lines().count() < all.out.lines().count(),
        "{some:?}"
    );
    let found = demo(&place, &["tables", "哪些客户下了订单"]);
    assert!(
        found.out.contains("main.customers") && found.out.contains("main.orders"),
        "{found:?}"
    );
    let schema = demo(&place, &["schema", "orders"]);
    for words in ["main.orders", "key", "→ main.customers"] {
        assert!(schema.out.contains(words), "{words}: {schema:?}");
    }
    let tables = json(&demo(&place, &["schema", "--json"]));
    assert_eq!(tables.as_array().unwrap().len(), all.out.lines().count());
    let fresh = demo(&place, &["refresh"]);
    assert!(
        fresh.out.starts_with("SQLite 3.") && fresh.out.contains(" tables, "),
        "{fresh:?}"
    );
}

#[test]
fn somebody_at_a_terminal_is_asked_first() {
    let place = Place::new();
    let ask = |answer: &str| {
        let mut command = place.command(&["sql", QUESTION, "--db", "demo"]);
        command.env("NO_COLOR", "1");
        let mut terminal = Terminal::start(command);
        terminal.until("Run it? [y/N]");
        terminal.types(answer);
        let code = terminal.end();
        (code, terminal.shown)
    };
    let (code, shown) = ask("y\r");
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains(" rows in "), "{shown}");
    let kept = json(&demo(&place, &["history", "--json"]));
    assert_eq!(kept[0]["accepted"], true, "{kept}");
    let id = kept[0]["id"].to_string();
    assert!(
        demo(&place, &["history"])
            .out
            .contains(&format!("#{id}  accepted"))
    );
    for (flag, said) in [
        ("--unaccept", "withdrew the acceptance of"),
        ("--accept", "accepted "),
    ] {
        let done = demo(&place, &["history", flag, &id]);
        assert!(done.code == Some(0) && done.err.contains(said), "{done:?}");
    }
    for no in ["\r", "n\r", "\u{4}"] {
        let (code, shown) = ask(no);
        assert_eq!(code, Some(0), "{shown}");
        assert!(!shown.contains(" rows in "), "{no:?}: {shown}");
    }
    let (code, shown) = ask("\u{3}");
    assert_eq!(code, Some(130), "{shown}");
}

#[test]
fn colour_is_for_terminals() {
    let place = Place::new();
    let mut terminal =
        Terminal::start(place.command(&["sql", QUESTION, "--db", "demo", "--no-run"]));
    assert_eq!(terminal.end(), Some(0));
    assert!(
        terminal.shown.contains("\u{1b}[1mSELECT\u{1b}[0m"),
        "{}",
        terminal.shown
    );
    let piped = demo(&place, &[QUESTION]);
    assert!(
        !piped.out.contains('\u{1b}') && !piped.err.contains('\u{1b}'),
        "{piped:?}"
    );
}
