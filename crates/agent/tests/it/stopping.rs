//! Causes that end a run early: cancellation, a dropped reader, a timeout, an error of the model.

use std::future::{pending, ready};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use quillet_agent::{AgentEvent, EndReason, RunSpec, run};
use quillet_core::Value;
use quillet_core::chat::ModelErrorKind;
use quillet_core::tool::Tool;
use tokio::time::sleep;

use crate::scripted::{
    Answer, Scripted, asked, brief, call, calls, echo, finished, history, model_error, says, text,
    tool,
};

/// A tool that never returns, and a handle that is shared while the tool runs.
fn endless() -> (Arc<dyn Tool>, Arc<()>) {
    let alive = Arc::new(());
    let held = alive.clone();
    let body = move |_| {
        let held = held.clone();
        async move {
            let _held = held;
            pending::<()>().await;
            Ok(Value::Null)
        }
    };
    (tool("endless", body), alive)
}

fn cancelled_after(millis: u64, mut run: RunSpec) -> RunSpec {
    run.cancelled = Box::pin(sleep(Duration::from_millis(millis)));
    run
}

#[tokio::test(start_paused = true)]
async fn a_run_is_cancelled_wherever_it_is() {
    let cases: [(Answer, &[&str], &[&str]); 3] = [
        (Answer::Silence, &[], &[]),
        (
            Answer::Hang(vec![text("par"), call(0, "a", "echo", "{\"q\"")]),
            &["text par"],
            &["assistant par"],
        ),
        (Answer::Hang(vec![]), &[], &[]),
    ];
    for (answer, seen, kept) in cases {
        let model = Scripted::new(vec![answer]);
        let (events, outcome) = finished(cancelled_after(50, asked(&model, vec![]))).await;
        assert_eq!(brief(&events), seen);
        assert!(matches!(outcome.ending, EndReason::Cancelled));
        assert_eq!(history(&outcome.messages), kept);
        assert_eq!(model.open_streams(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn calls_that_are_cancelled_have_a_result_and_an_end() {
    let (endless, alive) = endless();
    let given = [
        ("a", "echo", r#"{"q":"x"}"#),
        ("b", "endless", r#"{"q":"x"}"#),
    ];
    let model = Scripted::new(vec![calls(&given)]);
    let tools = vec![echo("echo"), endless];
    let (events, outcome) = finished(cancelled_after(50, asked(&model, tools))).await;
    assert_eq!(
        brief(&events),
        ["start a echo", "start b endless", "done a", "failed b"]
    );
    let kept = [
        "assistant calls a,b",
        "tool a [x]",
        "tool b !The call was cancelled before it had a result.",
    ];
    assert_eq!(history(&outcome.messages), kept);
    tokio::task::yield_now().await;
    assert_eq!(Arc::strong_count(&alive), 1, "the tool was dropped");
}

#[tokio::test]
async fn a_run_that_is_cancelled_before_it_begins_asks_nobody() {
    let model = Scripted::new(vec![]);
    let mut run = asked(&model, vec![]);
    run.cancelled = Box::pin(ready(()));
    let (events, outcome) = finished(run).await;
    assert!(events.is_empty() && outcome.messages.is_empty());
    assert!(model.asked().is_empty());
}

#[tokio::test]
async fn a_reader_that_goes_away_ends_the_model_and_the_tools() {
    let model = Scripted::new(vec![Answer::Hang(vec![text("one")])]);
    let mut events = run(asked(&model, vec![]));
    assert!(matches!(events.next().await, Some(AgentEvent::Text(_))));
    assert_eq!(model.open_streams(), 1);
    drop(events);
    assert_eq!(model.open_streams(), 0);

    let (endless, alive) = endless();
    let model = Scripted::new(vec![calls(&[("a", "endless", r#"{"q":"x"}"#)])]);
    let mut events = run(asked(&model, vec![endless]));
    assert!(matches!(
        events.next().await,
        Some(AgentEvent::ToolStarted { .. })
    ));
    assert!(futures_util::poll!(events.next()).is_pending());
    tokio::task::yield_now().await;
    assert_eq!(Arc::strong_count(&alive), 3, "the tool runs");
    drop(events);
    tokio::task::yield_now().await;
    assert_eq!(Arc::strong_count(&alive), 1, "the tool was dropped");
}

#[tokio::test(start_paused = true)]
async fn a_run_has_a_limit_on_time() {
    let (endless, _alive) = endless();
    let model = Scripted::new(vec![calls(&[("a", "endless", r#"{"q":"x"}"#)])]);
    let mut run = asked(&model, vec![endless]);
    run.limits.run_time = Duration::from_secs(5);
    let (_, outcome) = finished(run).await;
    let EndReason::Failed(error) = &outcome.ending else {
        panic!("{:?}", outcome.ending);
    };
    assert_eq!(error.code(), "timeout");
    assert_eq!(
        error.to_string(),
        "the run took longer than the limit on run_time (5s)"
    );
    let result = &history(&outcome.messages)[1];
    assert!(result.contains("run_time (5s)"), "{result}");
}

#[tokio::test]
async fn an_answer_that_does_not_end_is_ended() {
    let pieces = (0..).map(|_| Ok(text("0123456789")));
    let model = Scripted::new(vec![Answer::Endless(Box::new(pieces))]);
    let mut run = asked(&model, vec![]);
    run.limits.answer_bytes = 1_000;
    let (events, outcome) = finished(run).await;
    assert_eq!(events.len(), 100);
    let EndReason::Failed(error) = &outcome.ending else {
        panic!("{:?}", outcome.ending);
    };
    assert_eq!(
        error.to_string(),
        "scripted: the answer is longer than the limit on answer_bytes (1000)"
    );
    assert_eq!(outcome.text.len(), 1_000);
}

#[tokio::test]
async fn an_error_of_the_model_ends_the_run_and_is_not_retried() {
    let cut = || model_error(ModelErrorKind::Cut);
    let cases: [(Answer, &str, &[&str]); 3] = [
        (
            Answer::Refuse(model_error(ModelErrorKind::RateLimited)),
            "rate_limit",
            &[],
        ),
        (
            Answer::Stream(vec![Ok(text("par")), Err(cut())]),
            "stream_truncated",
            &["assistant par"],
        ),
        (
            Answer::Stream(vec![Ok(call(0, "a", "echo", "{}")), Err(cut())]),
            "stream_truncated",
            &[],
        ),
    ];
    for (answer, code, kept) in cases {
        let model = Scripted::new(vec![answer, says(vec![])]);
        let (_, outcome) = finished(asked(&model, vec![echo("echo")])).await;
        let EndReason::Failed(error) = &outcome.ending else {
            panic!("{:?}", outcome.ending);
        };
        assert_eq!(error.code(), code);
        assert_eq!(history(&outcome.messages), kept);
        assert_eq!(model.asked().len(), 1);
    }
}
