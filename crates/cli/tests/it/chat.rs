//! `quillet chat` with piped lines and on a terminal.

use std::process::{Command, Stdio};
use std::time::Duration;

use quillet_fake_provider::{FakeProvider, ReplyScript, ScriptedReply};
use serde_json::Value;

use crate::Place;
use crate::ask::{borrowed, hear, interrupt, reach, start, stuck, wait};
use crate::pseudo_terminal::Terminal;

fn terminal(place: &Place, provider: &FakeProvider) -> Terminal {
    let mut command: Command = place.command(&["chat", "-m", "gpt-4o", "--session", "s1"]);
    command.envs(reach(provider));
    Terminal::start(command)
}

fn said(asked: &Value) -> Vec<String> {
    let messages = asked["messages"].as_array().unwrap().iter();
    messages
        .map(|message| message["content"].as_str().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn each_line_of_a_pipe_is_a_turn() {
    let place = Place::new();
    let provider = FakeProvider::start(ReplyScript::turns([
        ScriptedReply::text(["One."]),
        ScriptedReply::text(["Two."]),
        ScriptedReply::text(["Three."]),
    ]));
    let env = reach(&provider);
    let lines = "first\n\nsecond\n/undo\nthird\n/nonsense\n";
    let done = place.run_with(&["chat", "-m", "gpt-4o"], lines, &borrowed(&env));
    assert_eq!(
        (done.code, done.out.as_str()),
        (Some(1), "One.\nTwo.\nThree.\n"),
        "{done:?}"
    );
    assert!(
        done.err.contains("removed: second") && done.err.contains("unknown command /nonsense"),
        "{done:?}"
    );
    // A question that was removed with `/undo` is not sent again.
    assert_eq!(
        said(&provider.requests()[2].json()),
        ["first", "One.", "third"]
    );
}

#[test]
fn commands_do_what_they_say() {
    let place = Place::new();
    let provider = FakeProvider::start(ReplyScript::turns([
        ScriptedReply::text(["Yes."]).spent(10, 5)
    ]));
    let env = reach(&provider);
    let lines = "hi\n/system Be kind.\n/model gpt-4o-mini\n/retry\n/usage\n/save said.md\n/history\n/clear\nanew\n/exit\nnever\n";
    let done = place.run_with(&["chat", "-m", "gpt-4o"], lines, &borrowed(&env));
    assert_eq!(done.code, Some(0), "{done:?}");
    let asked = provider.requests();
    assert_eq!(asked.len(), 3, "{done:?}");
    assert_eq!(
        (asked[1].model.as_str(), said(&asked[1].json())),
        ("gpt-4o-mini", vec!["Be kind.".to_owned(), "hi".to_owned()])
    );
    assert_eq!(said(&asked[2].json()), ["Be kind.", "anew"]);
    assert!(done.err.contains("20 tokens in, 10 out"), "{done:?}");
    let saved = std::fs::read_to_string(place.path().join("said.md")).unwrap();
    assert_eq!(saved, "## user\n\nhi\n\n## assistant\n\nYes.\n\n");
    assert!(done.out.contains(&saved), "{done:?}");
    // An existing file is not overwritten.
    let again = place.run_with(&["chat", "-m", "mock"], "/save said.md\n", &[]);
    assert_eq!(again.code, Some(1), "{again:?}");
}

#[test]
fn a_session_goes_on() {
    let place = Place::new();
    let none = place.run(&["chat", "-m", "mock", "--continue"]);
    none.fails(1, &["no session to continue"]);
    let provider = FakeProvider::start(ReplyScript::turns([ScriptedReply::text(["Yes."])]));
    let env = reach(&provider);
    for args in [
        &["chat", "-m", "gpt-4o"][..],
        &["chat", "-m", "gpt-4o", "--continue"],
    ] {
        place
            .run_with(args, "hi\n", &borrowed(&env))
            .gives("Yes.\n");
    }
    assert_eq!(said(&provider.requests()[1].json()), ["hi", "Yes.", "hi"]);
    let sessions = place.path().join(".local/share/quillet/sessions.db");
    assert!(sessions.is_file());
}

#[test]
fn control_c_stops_the_answer_and_not_the_session() {
    let place = Place::new();
    let provider = FakeProvider::start(ReplyScript::turns([
        stuck(),
        ScriptedReply::text(["It ends."]),
    ]));
    let mut command = place.command(&["chat", "-m", "gpt-4o"]);
    command.stdin(Stdio::piped());
    let mut child = start(command, &provider);
    let mut input = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut input, b"first\nsecond\n/history\n").unwrap();
    hear(&mut child, "It begins");
    interrupt(&child);
    wait(provider.disconnected(1));
    drop(input);
    let ended = child.wait_with_output().unwrap();
    let out = String::from_utf8(ended.stdout).unwrap();
    assert_eq!(ended.status.code(), Some(0), "{out}");
    assert!(out.contains("\nIt ends.\n"), "{out}");
    assert!(out.contains("## assistant (stopped)\n\nIt begins"), "{out}");
}

#[test]
fn on_a_terminal_an_answer_is_stopped_and_the_next_one_comes() {
    let place = Place::new();
    let provider = FakeProvider::start(ReplyScript::turns([
        stuck(),
        ScriptedReply::text(["It ends."]),
    ]));
    let mut terminal = terminal(&place, &provider);
    terminal.until("> ");
    terminal.types("first\r");
    terminal.until("It begins");
    interrupt(&terminal.child);
    wait(provider.disconnected(1));
    terminal.until("stopped; the partial answer");
    terminal.until("> ");
    // When no answer is in progress, Control-C shows how to exit.
    terminal.types("\u{3}");
    terminal.until("Control-D or /exit exits");
    terminal.until("> ");
    terminal.types("second\\\rline\r");
    terminal.until("It ends.");
    terminal.until("> ");
    terminal.types("\u{4}");
    assert_eq!(terminal.end(), Some(0), "{}", terminal.shown);
    let asked = said(&provider.requests()[1].json());
    assert_eq!(asked.last().unwrap(), "second\nline");
    let remembered = place.path().join(".local/share/quillet/chat_history");
    assert!(
        std::fs::read_to_string(remembered)
            .unwrap()
            .contains("first")
    );
}

#[test]
fn a_terminal_is_not_obeyed_by_the_text_of_a_model() {
    let place = Place::new();
    let turn = ScriptedReply::text([
        "safe \u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m",
        " \u{1b}",
        "[8mend",
    ])
    .and_reasoning("th\u{1b}[5mink")
    .pause(Duration::from_millis(1));
    let provider = FakeProvider::start(ReplyScript::turns([turn]));
    let mut terminal = terminal(&place, &provider);
    terminal.until("> ");
    terminal.types("hi\r");
    terminal.until("[8mend");
    terminal.until("> ");
    terminal.types("/history\r");
    terminal.until("## assistant");
    terminal.until("[8mend");
    terminal.until("> ");
    terminal.types("\u{4}");
    assert_eq!(terminal.end(), Some(0), "{}", terminal.shown);
    let shown = &terminal.shown;
    assert!(
        shown.contains("safe ␛]0;owned␇␛[2J\u{fffd}31m ␛[8mend"),
        "{shown:?}"
    );
    for sequence in [
        "\u{1b}]0",
        "\u{1b}[2J",
        "\u{1b}[8m",
        "\u{1b}[5m",
        "\u{9b}",
        "\u{7}",
    ] {
        assert!(!shown.contains(sequence), "{sequence:?} in {shown:?}");
    }
}
