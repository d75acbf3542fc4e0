//! The session in the README matches the actual output.

use std::path::Path;

use crate::Place;
use crate::pseudo_terminal::Terminal;

const START: &str = "$ quillet sql \"";

/// Removes the lines that end in a duration.
fn steady(text: &str) -> Vec<&str> {
    let is_timed = |line: &&str| line.ends_with(" ms") || line.ends_with(" s");
    text.lines().filter(|line| !is_timed(line)).collect()
}

#[test]
fn the_readme_shows_what_is_printed() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let page = std::fs::read_to_string(page).unwrap();
    let session = &page[page.find(START).unwrap() + START.len()..];
    let (question, rest) = session.split_once("\" --db demo --run\n").unwrap();
    let expected = rest.split("\n```").next().unwrap();
    let place = Place::new();
    let mut command = place.command(&["sql", question, "--db", "demo", "--run"]);
    command.env("NO_COLOR", "1").env("COLUMNS", "100");
    let mut terminal = Terminal::start(command);
    assert_eq!(terminal.end(), Some(0), "{}", terminal.shown);
    let shown = terminal.shown.replace("\r\n", "\n");
    assert_eq!(steady(shown.trim_end()), steady(expected));
}
