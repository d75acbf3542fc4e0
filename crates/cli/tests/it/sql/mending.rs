//! A query that the database rejects after the user confirmed it.

use quillet_fake_provider::{FakeProvider, ReplyScript, ScriptedReply};

use crate::Place;
use crate::ask::reach;
use crate::pseudo_terminal::Terminal;

/// Passes the guard but overflows in the database.
const WRONG: &str = r#"{"sql": "SELECT abs(-9223372036854775807 - 1) AS n"}"#;
const RIGHT: &str = r#"{"sql": "SELECT 4711 AS n"}"#;

fn asked(answers: &[&str]) -> (FakeProvider, Terminal) {
    let turns = answers.iter().map(|answer| ScriptedReply::text([*answer]));
    let provider = FakeProvider::start(ReplyScript::turns(turns));
    let place = Place::new();
    let mut command = place.command(&["sql", "How many?", "--db", "demo", "-m", "gpt-4o"]);
    command.env("NO_COLOR", "1").envs(reach(&provider));
    let mut terminal = Terminal::start(command);
    terminal.until("Run it? [y/N]");
    terminal.types("y\r");
    terminal.until("integer overflow");
    terminal.until("Let the model fix it? [Y/n]");
    (provider, terminal)
}

#[test]
fn the_model_may_mend_it_once() {
    let (provider, mut terminal) = asked(&[WRONG, RIGHT]);
    terminal.types("\r");
    terminal.until("SELECT 4711");
    terminal.until("Run it? [y/N]");
    terminal.types("y\r");
    assert_eq!(terminal.end(), Some(0), "{}", terminal.shown);
    assert!(terminal.shown.contains("1 row in "), "{}", terminal.shown);
    let requests = provider.requests();
    let second = String::from_utf8_lossy(&requests[1].body);
    assert!(second.contains("integer overflow"), "{second}");

    let (provider, mut terminal) = asked(&[WRONG, WRONG]);
    terminal.types("y\r");
    terminal.until("Run it? [y/N]");
    terminal.types("y\r");
    assert_eq!(terminal.end(), Some(1), "{}", terminal.shown);
    assert_eq!(provider.requests().len(), 2);
}

#[test]
fn nobody_is_asked_where_the_user_says_no() {
    let (provider, mut terminal) = asked(&[WRONG]);
    terminal.types("n\r");
    assert_eq!(terminal.end(), Some(1), "{}", terminal.shown);
    assert_eq!(provider.requests().len(), 1);
}
