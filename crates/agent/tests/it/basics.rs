//! Basic runs: text, calls, results and the end.

use futures_util::{FutureExt, StreamExt};
use quillet_agent::{AgentEvent, EndReason, run};
use quillet_core::Role;
use quillet_core::chat::{FinishReason, Usage};

use crate::scripted::{
    Scripted, asked, brief, call, calls, echo, finish, finished, history, last_words, says, text,
    thought, usage,
};

#[tokio::test]
async fn an_answer_is_streamed_as_it_comes() {
    let model = Scripted::new(vec![says(vec![
        thought("hm"),
        text("he"),
        text("llo"),
        finish(FinishReason::Stop),
        usage(10, 5),
    ])]);
    let (events, outcome) = finished(asked(&model, vec![])).await;
    assert_eq!(brief(&events), ["thought hm", "text he", "text llo"]);
    assert!(matches!(
        outcome.ending,
        EndReason::Finished(FinishReason::Stop)
    ));
    assert_eq!(outcome.text, "hello");
    assert_eq!(outcome.reasoning, "hm");
    assert_eq!(history(&outcome.messages), ["assistant hello"]);
    assert_eq!(outcome.messages[0].reasoning.as_deref(), Some("hm"));
    assert_eq!(outcome.usage.unwrap().total_tokens(), 15);
    let request = &model.asked()[0];
    assert_eq!(request.model.as_deref(), Some("m"));
    assert_eq!(history(&request.messages), ["system Be brief.", "user hi"]);
}

/// The reader drives the run directly, without a task in between, so each delta is ready on the
/// next poll.
#[tokio::test]
async fn pieces_are_handed_over_at_once() {
    let pieces = (0..500).map(|n| text(&format!("{n} ")));
    let answer = says(pieces.chain([finish(FinishReason::Stop)]).collect());
    let model = Scripted::new(vec![answer]);
    let mut events = run(asked(&model, vec![]));
    for n in 0..500 {
        match events.next().now_or_never() {
            Some(Some(AgentEvent::Text(piece))) => assert_eq!(piece, format!("{n} ")),
            other => panic!("{other:?}"),
        }
    }
    let last = events.next().now_or_never();
    assert!(matches!(last, Some(Some(AgentEvent::Ended(_)))));
    assert!(matches!(events.next().now_or_never(), Some(None)));
    assert!(matches!(events.next().now_or_never(), Some(None)));
}

#[tokio::test]
async fn calls_are_made_and_the_model_reads_their_results() {
    let model = Scripted::new(vec![
        says(vec![
            text("let me see "),
            call(0, "a", "search", r#"{"q": "x"}"#),
            usage(10, 5),
            finish(FinishReason::ToolCalls),
        ]),
        says(vec![
            text("found"),
            finish(FinishReason::Stop),
            usage(20, 7),
        ]),
    ]);
    let (events, outcome) = finished(asked(&model, vec![echo("search")])).await;
    assert_eq!(
        brief(&events),
        ["text let me see ", "start a search", "done a", "text found"]
    );
    let kept = [
        "assistant let me see calls a",
        "tool a [x]",
        "assistant found",
    ];
    assert_eq!(history(&outcome.messages), kept);
    assert_eq!(outcome.text, "let me see found");
    assert_eq!((outcome.model_calls, outcome.rounds), (2, 1));
    let spent = Usage {
        input_tokens: 30,
        output_tokens: 12,
        reasoning_tokens: 2,
        cache_read_tokens: 4,
        cache_write_tokens: 6,
    };
    assert_eq!(outcome.usage, Some(spent));
    let second = &model.asked()[1];
    assert_eq!(history(&second.messages)[2..], kept[..2]);
    assert_eq!(second.messages[3].role, Role::Tool);
    assert_eq!(second.messages[3].name.as_deref(), Some("search"));
    assert_eq!(second.options.tools.len(), 1);
}

#[tokio::test]
async fn what_a_stream_without_an_end_said_is_kept_and_is_an_error() {
    let model = Scripted::new(vec![says(vec![text("hal"), call(0, "a", "search", "{}")])]);
    let (_, outcome) = finished(asked(&model, vec![echo("search")])).await;
    let EndReason::Failed(error) = &outcome.ending else {
        panic!("{:?}", outcome.ending);
    };
    assert_eq!(error.code(), "stream_truncated");
    assert_eq!(history(&outcome.messages), ["assistant hal"]);
}

#[tokio::test]
async fn an_answer_to_nothing_leaves_nothing() {
    let model = Scripted::new(vec![last_words("")]);
    let (events, outcome) = finished(asked(&model, vec![])).await;
    assert!(events.is_empty());
    assert!(outcome.messages.is_empty());
}

#[tokio::test]
async fn calls_without_ids_of_their_own_get_some() {
    let model = Scripted::new(vec![
        calls(&[
            ("", "search", r#"{"q":"x"}"#),
            ("", "search", r#"{"q":"y"}"#),
        ]),
        last_words("ok"),
    ]);
    let (_, outcome) = finished(asked(&model, vec![echo("search")])).await;
    let ids: Vec<&str> = outcome.messages[0]
        .tool_calls
        .iter()
        .map(|c| c.id.as_str())
        .collect();
    assert_eq!(ids[0].len(), "call_".len() + 24);
    assert_ne!(ids[0], ids[1]);
    assert_eq!(outcome.messages[2].tool_call_id.as_deref(), Some(ids[1]));
    assert_eq!(outcome.messages[2].content, "[y]");
}
