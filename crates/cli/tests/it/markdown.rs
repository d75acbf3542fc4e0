//! Answers are formatted as Markdown on terminals only.

use std::process::Command;

use quillet_fake_provider::{FakeProvider, Finish, ReplyScript, ScriptedReply};

use crate::Place;
use crate::ask::{borrowed, reach};
use crate::pseudo_terminal::Terminal;

const SAID: &str = "# One\n\nSome **bold words** and `code`, \u{1b}[31mred &#27;]0;title&#7; 中文。\n\n- first\n- second\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```sh\nls **\n";

fn provider(turns: usize) -> FakeProvider {
    let pieces = || SAID.split_inclusive(' ').collect::<Vec<_>>();
    FakeProvider::start(ReplyScript::turns(
        (0..turns).map(|_| ScriptedReply::text(pieces())),
    ))
}

fn place() -> Place {
    Place::new().with(&[("a.j2", "hi"), ("raw.toml", "[terminal]\nraw = true\n")])
}

/// Returns the output of a command on a terminal of 40 cells.
fn shown(mut command: Command, provider: &FakeProvider) -> String {
    let env = reach(provider);
    command.envs(borrowed(&env)).env("COLUMNS", "40");
    let mut terminal = Terminal::start(command);
    let code = terminal.end();
    let shown = terminal.shown.replace("\r\n", "\n");
    assert_eq!(code, Some(0), "{shown}");
    shown
}

#[test]
fn markdown_is_laid_out_on_a_terminal() {
    let place = place();
    for args in [
        &["ask", "hi", "-m", "gpt-4o"][..],
        &["ask", "hi", "-m", "gpt-4o", "--no-stream"],
        &["run", "a.j2", "-m", "gpt-4o"],
        &["run", "a.j2", "-m", "gpt-4o", "--no-stream"],
    ] {
        let shown = shown(place.command(args), &provider(1));
        let expected = "\u{1b}[1;4;35mOne\u{1b}[0m\n\
            \n\
            Some \u{1b}[1mbold words\u{1b}[0m and \u{1b}[36mcode\u{1b}[0m, ␛[31mred\n\
            ␛]0;title␇ 中文。\n\
            \n\
            • first\n\
            • second\n\
            \n\
            \u{1b}[1ma\u{1b}[0m │ \u{1b}[1mb\u{1b}[0m\n\
            \u{1b}[2m──┼──\u{1b}[0m\n\
            1 │ 2\n\
            \n\
            \u{1b}[2m```sh\u{1b}[0m\n\
            \u{1b}[36mls **\u{1b}[0m\n";
        assert_eq!(shown, expected, "{args:?}");
    }
}

#[test]
fn the_text_as_it_was_written_is_shown_to_who_asks_for_it() {
    let place = place();
    let harmless = SAID.replace('\u{1b}', "␛");
    type Set = &'static [(&'static str, &'static str)];
    let cases: [(&[&str], Set); 6] = [
        (&["ask", "hi", "-m", "gpt-4o", "--raw"], &[]),
        (&["run", "a.j2", "-m", "gpt-4o", "--raw"], &[]),
        (&["ask", "hi", "-m", "gpt-4o"], &[("NO_COLOR", "1")]),
        (&["ask", "hi", "-m", "gpt-4o"], &[("QUILLET_RAW", "true")]),
        (&["ask", "hi", "-m", "gpt-4o", "--config", "raw.toml"], &[]),
        (&["run", "a.j2", "-m", "gpt-4o"], &[("CLICOLOR", "0")]),
    ];
    for (args, env) in cases {
        let mut command = place.command(args);
        command.envs(env.iter().copied());
        assert_eq!(shown(command, &provider(1)), harmless, "{args:?} {env:?}");
        // A pipe gets the original bytes.
        let provider = provider(1);
        let reach = reach(&provider);
        let env: Vec<_> = [&borrowed(&reach), env].concat();
        place.run_with(args, "", &env).gives(SAID);
    }
}

#[test]
fn models_that_are_compared_are_laid_out_too() {
    let place = place();
    let args = ["run", "a.j2", "-m", "gpt-4o", "-m", "gpt-4o-mini"];
    let shown = shown(place.command(&args), &provider(2));
    assert_eq!(shown.matches("• second\n").count(), 2, "{shown}");
    assert!(!shown.contains("**bold"), "{shown}");
}

#[test]
fn an_answer_that_breaks_off_is_shown_up_to_its_end() {
    let place = place();
    let text = ["Not **closed and [no link"];
    let provider = FakeProvider::start(ReplyScript::turns([
        ScriptedReply::text(text).finish(Finish::Length)
    ]));
    let env = reach(&provider);
    let mut command = place.command(&["ask", "hi", "-m", "gpt-4o"]);
    command.envs(borrowed(&env));
    let mut terminal = Terminal::start(command);
    terminal.until("Not **closed and [no link\r\n");
    assert_eq!(terminal.end(), Some(4));
}
