//! Approval of calls before they are made.

use std::sync::Arc;

use quillet_agent::{Approval, Approver, EndReason, PendingCall};
use quillet_core::BoxFuture;
use serde_json::json;

use crate::scripted::{Scripted, asked, brief, calls, echo, finished, history, last_words};

/// Approver that picks its decision by the id of the call.
#[derive(Debug)]
struct ById;

impl Approver for ById {
    fn request_approval<'a>(&'a self, call: PendingCall<'a>) -> BoxFuture<'a, Approval> {
        let approval = match call.id {
            "edit" => Approval::MakeWith(json!({"q": "better"}).as_object().cloned().unwrap()),
            "deny" => Approval::Deny("not today".to_owned()),
            "known" => Approval::Answer("seen".to_owned()),
            "wait" => Approval::Wait { why: "permission" },
            _ => Approval::Make,
        };
        Box::pin(std::future::ready(approval))
    }
}

fn call(id: &str) -> (&str, &str, &str) {
    (id, "echo", r#"{"q":"mine"}"#)
}

#[tokio::test]
async fn calls_are_made_changed_denied_and_answered() {
    let model = Scripted::new(vec![
        // The fourth call has other arguments: a turn makes at most three equal calls.
        calls(&[
            call("make"),
            call("edit"),
            call("deny"),
            ("known", "echo", r#"{"q":"other"}"#),
        ]),
        last_words("done"),
    ]);
    let mut run = asked(&model, vec![echo("echo")]);
    run.approver = Some(Arc::new(ById));
    let (_, outcome) = finished(run).await;
    assert!(
        matches!(outcome.ending, EndReason::Finished(_)),
        "{outcome:?}"
    );
    assert_eq!(
        history(&outcome.messages)[1..5],
        [
            "tool make [mine]",
            "tool edit [better]",
            "tool deny !not today",
            "tool known seen"
        ]
    );
}

#[tokio::test]
async fn a_call_that_waits_ends_the_run_when_the_others_are_made() {
    let model = Scripted::new(vec![
        calls(&["wait", "make"].map(call)),
        last_words("never asked for"),
    ]);
    let mut run = asked(&model, vec![echo("echo")]);
    run.approver = Some(Arc::new(ById));
    let (events, outcome) = finished(run).await;
    assert!(
        matches!(outcome.ending, EndReason::ApprovalRequired),
        "{outcome:?}"
    );
    assert_eq!(
        brief(&events)[..3],
        [
            "start make echo",
            "done make",
            "approval wait echo permission"
        ]
    );
    assert_eq!(model.asked().len(), 1);
    // The pending call stays open, because no decision has been made.
    assert_eq!(
        history(&outcome.messages),
        ["assistant calls wait,make", "tool make [mine]"]
    );
}

#[tokio::test]
async fn nobody_is_asked_about_calls_that_are_not_made_anyway() {
    let model = Scripted::new(vec![
        calls(&[("wait", "echo", "no json"), ("wait", "nothing", "{}")]),
        last_words("done"),
    ]);
    let mut run = asked(&model, vec![echo("echo")]);
    run.approver = Some(Arc::new(ById));
    let (events, outcome) = finished(run).await;
    assert!(
        matches!(outcome.ending, EndReason::Finished(_)),
        "{outcome:?}"
    );
    assert!(
        !brief(&events)
            .iter()
            .any(|event| event.starts_with("approval"))
    );
}

/// A resumed run replays its turns and matches calls by id.
#[tokio::test]
async fn ids_that_the_run_gives_are_the_same_each_time() {
    let mut seen = Vec::new();
    for id in ["one", "one", "two"] {
        let model = Scripted::new(vec![
            calls(&[("", "echo", r#"{"q":"a"}"#), ("", "echo", r#"{"q":"b"}"#)]),
            last_words("done"),
        ]);
        let mut run = asked(&model, vec![echo("echo")]);
        run.id = id.into();
        let (_, outcome) = finished(run).await;
        let ids: Vec<String> = outcome.messages[0]
            .tool_calls
            .iter()
            .map(|call| call.id.clone())
            .collect();
        assert_ne!(ids[0], ids[1]);
        seen.push(ids);
    }
    assert_eq!(seen[0], seen[1]);
    assert_ne!(seen[0], seen[2]);
}
