//! First steps of a new user, with the output of each.

use std::time::Duration;

use quillet_fake_provider::{FakeProvider, ReplyScript, ScriptedReply};

use crate::Place;
use crate::ask::{borrowed, reach};
use crate::pseudo_terminal::Terminal;

#[test]
fn a_byte_order_mark_says_nothing() {
    let place = Place::new().with(&[
        ("a.j2", "\u{feff}Hello {{ name }}"),
        ("a.json", "\u{feff}{\"name\": \"Ada\"}"),
        (
            "p.json",
            "\u{feff}{\"userPrompt\": \"Hello {{.variables.name}}\"}",
        ),
    ]);
    for args in [
        ["render", "a.j2", "-d", "a.json"],
        ["render", "p.json", "-d", "a.json"],
    ] {
        place.run(&args).gives("Hello Ada");
    }
}

#[test]
fn variables_that_nothing_uses_are_told() {
    let place = Place::new().with(&[
        ("a.j2", "{{ name }}"),
        ("more.json", r#"{"name": "x", "other": 1}"#),
        ("a.tmpl", "{{.name}}{{.variables.b}}"),
        (
            "p.json",
            r#"{"userPrompt": "Hello {{.variables.language}}"}"#,
        ),
    ]);
    let cases: [(&[&str], &str, &str); 5] = [
        (&["a.j2", "-D", "name=x"], "x", ""),
        (&["a.j2", "-d", "more.json"], "x", ""),
        (&["a.tmpl", "-D", "name=x", "-D", "b=y"], "xy", ""),
        (
            &["p.json", "-D", "language=x", "-D", "langage=y"],
            "Hello x",
            "warning: unused variable langage\n",
        ),
        (
            &["p.json", "-D", "language=x", "-D", "variables.language=y"],
            "Hello x",
            "warning: -D already sets fields of variables: write -D name=…, not -D variables.name=…\n",
        ),
    ];
    for (args, out, err) in cases {
        let done = place.run(&[&["render"], args].concat());
        let got = (done.code, done.out.as_str(), done.err.as_str());
        assert_eq!(got, (Some(0), out, err), "{args:?}");
    }
}

#[test]
fn nothing_to_look_at_is_an_error() {
    let place = Place::new().with(&[
        ("empty/readme.txt", "x"),
        ("s/readme.txt", "x"),
        ("t/a.ai.yaml", "user: hi\n"),
        (
            "t/a.fixture.yaml",
            "- {title: one, input: x, replies: [y], output: y}\n",
        ),
    ]);
    let cases: [(&[&str], &[&str]); 5] = [
        (&["check", "empty"], &["nothing to check in empty"]),
        (&["check", "-s", "dir:s"], &["the store is empty"]),
        (&["test", "empty"], &["no fixtures"]),
        (&["test", "t", "-t", "zzz"], &["no tests were run"]),
        (&["test", "t", "-i", "9"], &["no tests were run"]),
    ];
    for (args, words) in cases {
        let done = place.run(args);
        assert_eq!(done.code, Some(2), "{args:?} {done:?}");
        for word in words {
            assert!(done.err.contains(word), "{args:?} {done:?}");
        }
    }
}

#[test]
fn words_of_a_question_need_no_quotes() {
    let place = Place::new();
    let done = place.run(&["ask", "What", "is", "a", "monad?", "-m", "mock"]);
    assert!(done.out.contains("What is a monad?"), "{done:?}");
    if cfg!(not(feature = "sql")) {
        return;
    }
    let rows = place.run(&[
        "sql", "How", "many", "orders", "are", "there?", "--db", "demo", "--run",
    ]);
    assert_eq!(rows.code, Some(0), "{rows:?}");
}

#[test]
fn a_question_is_answered_where_nothing_can_be_kept() {
    let place = Place::new().with(&[("file", "x")]);
    let home = place.path().join("file").display().to_string();
    let done = place.run_with(&["ask", "hi", "-m", "mock"], "", &[("HOME", &home)]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.out.contains("hi"), "{done:?}");
    assert_eq!(
        done.err
            .matches("sessions and traces are not saved")
            .count(),
        1,
        "{done:?}"
    );
}

#[test]
fn usage_errors_name_the_help_of_their_command() {
    let place = Place::new();
    let cases: [(&[&str], &[&str]); 3] = [
        (
            &["render", "x", "-d", "{\"a\": 1}"],
            &["-d takes a file", "-D name:=", "`quillet render --help`"],
        ),
        (&["render", "."], &["is a folder", "quillet check"]),
        (&["ask", "-m", "mock"], &["`quillet ask --help`"]),
    ];
    for (args, words) in cases {
        place.run(args).fails(2, words);
    }
}

#[test]
fn help_fits_the_terminal_and_keeps_common_options_apart() {
    let place = Place::new();
    let mut command = place.command(&["render", "--help"]);
    command.env("COLUMNS", "80").env("TERM", "xterm");
    let mut terminal = Terminal::start(command);
    terminal.until("Global options:");
    assert_eq!(terminal.end(), Some(0));
    let widest = terminal
        .shown
        .lines()
        .map(|line| line.chars().count())
        .max();
    assert!(widest <= Some(100), "{widest:?}\n{}", terminal.shown);
}

#[test]
fn somebody_who_waits_sees_a_sign_of_life() {
    let place = Place::new();
    let slow = || ScriptedReply::text(["Here it is."]).delay(Duration::from_millis(2_500));
    for args in [
        &["ask", "hi", "-m", "gpt-4o"][..],
        &["run", "a.j2", "-m", "gpt-4o"],
    ] {
        std::fs::write(place.path().join("a.j2"), "hi").unwrap();
        let provider = FakeProvider::start(ReplyScript::turns([slow(), slow()]));
        let env = reach(&provider);
        let mut command = place.command(args);
        command.envs(borrowed(&env));
        let mut terminal = Terminal::start(command);
        terminal.until("waiting for the model, 2 s");
        terminal.until("\r\u{1b}[2K");
        terminal.until("Here it is.");
        assert_eq!(terminal.end(), Some(0));
        // A pipe gets only the answer.
        let done = place.run_with(args, "", &borrowed(&env));
        done.gives("Here it is.\n");
    }
}
