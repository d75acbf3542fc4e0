//! Runs whose model repeats itself are stopped; a model that polls for a changing result is not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use quillet_agent::EndReason;
use quillet_core::chat::{FinishReason, ToolChoice};
use quillet_core::tool::Tool;
use quillet_core::{Role, Value};

use crate::calls::assert_every_call_has_its_result;
use crate::scripted::{Answer, Scripted, asked, call, calls, echo, finish, finished, says, tool};

/// A turn with these calls, given as name and arguments. `Length` as its reason means that it was
/// truncated.
fn turn(made: &[(&str, &str)], reason: FinishReason) -> Answer {
    let events = (0..).zip(made);
    let mut events: Vec<_> = events
        .map(|(index, (name, arguments))| call(index, &format!("c{index}"), name, arguments))
        .collect();
    events.push(finish(reason));
    says(events)
}

/// A tool that returns a different result each time.
fn changing(name: &str) -> Arc<dyn Tool> {
    let count = Arc::new(AtomicU32::new(0));
    tool(name, move |_| {
        let count = count.fetch_add(1, Ordering::SeqCst);
        async move { Ok(Value::from(format!("{count} %"))) }
    })
}

const X: &str = r#"{"q":"x","n":1}"#;

#[tokio::test]
async fn equal_calls_with_equal_results_are_paid_four_times() {
    use FinishReason::{Length, ToolCalls};
    let again = ["{\"n\":1,\"q\":\"x\"}", "{ \"q\": \"x\", \"n\": 1 }", X];
    type Turns = Vec<(Vec<(&'static str, &'static str)>, FinishReason)>;
    let same = |calls: &[(&'static str, &'static str)], reason| -> Turns {
        (0..20).map(|_| (calls.to_vec(), reason)).collect()
    };
    let table: Vec<(&str, Turns, u32)> = vec![
        ("the same call", same(&[("echo", X)], ToolCalls), 4),
        (
            "written in other ways",
            again
                .iter()
                .cycle()
                .take(20)
                .map(|text| (vec![("echo", *text)], ToolCalls))
                .collect(),
            4,
        ),
        (
            "two calls",
            same(&[("echo", X), ("echo", r#"{"q":"y"}"#)], ToolCalls),
            4,
        ),
        ("no such tool", same(&[("", "")], ToolCalls), 4),
        (
            "arguments that do not fit",
            same(&[("echo", "{}")], ToolCalls),
            4,
        ),
        (
            "arguments that break off anywhere",
            (0..20_usize)
                .map(|n| (vec![("echo", &X[..3 + n % 9])], ToolCalls))
                .collect(),
            4,
        ),
        (
            "arguments cut by the limit",
            same(&[("echo", r#"{"q":"lon"#)], Length),
            4,
        ),
        (
            "one after the other",
            (0..20)
                .map(|n| (vec![("echo", [X, r#"{"q":"y"}"#][n % 2])], ToolCalls))
                .collect(),
            7,
        ),
    ];
    for (what, turns, paid) in table {
        let answers = turns.iter().map(|(calls, reason)| turn(calls, *reason));
        let model = Scripted::new(answers.collect());
        let (_, outcome) = finished(asked(&model, vec![echo("echo")])).await;
        assert_eq!(outcome.model_calls, paid, "{what}");
        assert_every_call_has_its_result(&outcome);
        let requests = model.asked();
        let last = requests.last().unwrap();
        assert_eq!(last.options.tool_choice, Some(ToolChoice::None), "{what}");
        let notice = last.messages.last().unwrap();
        assert_eq!(notice.role, Role::User, "{what}");
        assert!(
            notice.content.to_string().contains("were made 3 times"),
            "{what}"
        );
        let is_kept = outcome
            .messages
            .iter()
            .any(|message| message.role == Role::User);
        assert!(
            !is_kept,
            "{what}: the notice is not part of the conversation"
        );
    }
}

#[tokio::test]
async fn the_ending_says_that_calls_were_repeated_and_the_last_word_is_kept() {
    let mut answers: Vec<Answer> = (0..3).map(|_| calls(&[("a", "echo", X)])).collect();
    answers.push(crate::scripted::last_words("I do not know."));
    let model = Scripted::new(answers);
    let (_, outcome) = finished(asked(&model, vec![echo("echo")])).await;
    assert!(
        matches!(outcome.ending, EndReason::Repeated { times: 3 }),
        "{:?}",
        outcome.ending
    );
    assert_eq!(outcome.text, "I do not know.");
    assert!(!outcome.tool_limit_reached);
}

#[tokio::test]
async fn who_waits_or_gets_on_is_not_stopped() {
    let poll = |_: usize| vec![("progress", r#"{"q":"job"}"#)];
    const FRESH: [&str; 8] = [
        r#"{"q":"0"}"#,
        r#"{"q":"1"}"#,
        r#"{"q":"2"}"#,
        r#"{"q":"3"}"#,
        r#"{"q":"4"}"#,
        r#"{"q":"5"}"#,
        r#"{"q":"6"}"#,
        r#"{"q":"7"}"#,
    ];
    let beside = |n: usize| vec![("echo", X), ("echo", FRESH[n])];
    let between = |n: usize| vec![("echo", if n.is_multiple_of(2) { X } else { FRESH[n] })];
    type Made = fn(usize) -> Vec<(&'static str, &'static str)>;
    let table: [(&str, Made); 3] = [
        ("another result each time", poll),
        ("something new beside it", beside),
        ("something new between", between),
    ];
    for (what, made) in table {
        let mut answers: Vec<Answer> = (0..8)
            .map(|n| turn(&made(n), FinishReason::ToolCalls))
            .collect();
        answers.push(crate::scripted::last_words("done"));
        let model = Scripted::new(answers);
        let tools = vec![echo("echo"), changing("progress")];
        let (_, outcome) = finished(asked(&model, tools)).await;
        assert_eq!(outcome.model_calls, 9, "{what}");
        assert!(
            matches!(outcome.ending, EndReason::Finished(FinishReason::Stop)),
            "{what}"
        );
    }
}

#[tokio::test]
async fn how_often_is_a_setting() {
    for (most, paid) in [(0, 8), (1, 3), (2, 3), (5, 6)] {
        let model = Scripted::new((0..9).map(|_| calls(&[("a", "echo", X)])).collect());
        let mut run = asked(&model, vec![echo("echo")]);
        run.limits.repeated_calls = most;
        run.limits.tool_rounds = 7;
        let (_, outcome) = finished(run).await;
        assert_eq!(outcome.model_calls, paid, "{most}");
    }
}
