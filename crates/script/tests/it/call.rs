//! One call of a model, against scripted ones.

use std::sync::Mutex;

use quillet_core::chat::{ChatEvent, FinishReason};
use quillet_core::{BoxFuture, Map, Message, Role, json};
use quillet_script::call::{Ask, CallEvent, Progress, Settings, Unwatched, ask};
use quillet_script::host::Abilities;
use quillet_script::{ErrorKind, ScriptError};

use crate::call_models::{Rule, Scripted};

/// Writes down the pieces that it is told of.
#[derive(Default)]
pub(crate) struct Watcher(pub(crate) Mutex<Vec<String>>);

impl Progress for Watcher {
    fn event<'a>(&'a self, event: CallEvent<'a>) -> BoxFuture<'a, Result<(), ScriptError>> {
        let line = match event {
            CallEvent::Chunk { text, retry, .. } => format!("{retry}:{text}"),
            CallEvent::Thinking(text) => format!("think:{text}"),
            CallEvent::Request(_) => "request".to_owned(),
            other => format!("{other:?}"),
        };
        self.0.lock().unwrap().push(line);
        Box::pin(async { Ok(()) })
    }
}

pub(crate) fn parameters(text: &str) -> Map {
    json::parse(text).unwrap().as_map().unwrap().clone()
}

pub(crate) fn asking(model: &std::sync::Arc<Scripted>, text: &str, settings: &str) -> Ask {
    let messages = vec![Message::new(Role::User, text)];
    let mut ask = Ask::new(model.answering(Abilities::default()), messages);
    ask.settings = Settings::read(&parameters(settings)).0;
    ask
}

#[tokio::test]
async fn a_plain_call_streams_or_not_and_gives_the_same() {
    let model = Scripted::new([Rule::say("hello", "Hello to you")]);
    for (settings, pieces) in [("{}", 5), (r#"{"stream": false}"#, 1)] {
        let watcher = Watcher::default();
        let answer = ask(asking(&model, "hello", settings), &watcher)
            .await
            .unwrap();
        assert_eq!(answer.content, "Hello to you");
        assert_eq!(answer.finish_reason, FinishReason::Stop);
        assert_eq!(answer.usage.total_tokens(), 12);
        assert_eq!(watcher.0.into_inner().unwrap().len(), pieces);
        let raw = json::to_string(&answer.raw().into());
        assert!(raw.contains(r#""finishReason":"stop""#), "{raw}");
    }
    let sent = &model.asked()[0];
    assert_eq!(sent.options.max_tokens, Some(2048));
    assert_eq!(model.text_of(0), "user: hello");
}

#[tokio::test]
async fn an_answer_that_the_limit_cut_is_continued_as_often_as_allowed() {
    let rules = [
        Rule::say("assistant: p1 p2", "end"),
        Rule::end("assistant: p1", "p2 ", FinishReason::Length),
        Rule::end("LONG", "p1 ", FinishReason::Length),
        Rule::end("FOREVER", "p", FinishReason::Length),
    ];
    for (text, settings, expected, requests) in [
        ("LONG", r#"{"continueOnLengthLimit": true}"#, "p1 p2 end", 3),
        ("LONG", "{}", "p1 ", 1),
        (
            "FOREVER",
            r#"{"continueOnLengthLimit": true, "maxRetry": 2}"#,
            "ppp",
            3,
        ),
        (
            "FOREVER",
            r#"{"continueOnLengthLimit": true}"#,
            "pppppppp",
            8,
        ),
    ] {
        let model = Scripted::new(rules.clone());
        let answer = ask(asking(&model, text, settings), &Unwatched)
            .await
            .unwrap();
        assert_eq!(answer.content, expected);
        assert_eq!(model.asked().len(), requests, "{text} {settings}");
        assert_eq!(answer.retries as usize, requests - 1);
    }
}

#[tokio::test]
async fn stop_words_end_an_answer_wherever_they_are_cut() {
    let model = Scripted::new([Rule::say(".", "one two<END>three")]);
    let settings = r#"{"stop_words": ["<END>", "a", "b", "c", "zz"], "completion_delimiter": "q"}"#;
    let answer = ask(asking(&model, "x", settings), &Unwatched)
        .await
        .unwrap();
    assert_eq!(answer.content, "one two");
    let sent = model.asked()[0].options.stop.clone();
    assert_eq!(sent, Some(serde_json::json!(["<END>", "a", "b", "c"])));
}

#[tokio::test]
async fn a_cut_stream_is_an_error_with_what_was_there() {
    let piece = ChatEvent::Text {
        choice: 0,
        text: "half an ans".to_owned(),
    };
    let model = Scripted::new([Rule::events(".", vec![Ok(piece)])]);
    let error = ask(asking(&model, "x", "{}"), &Unwatched)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Model);
    assert_eq!(error.partial.as_deref(), Some("half an ans"));
}

#[tokio::test]
async fn variables_of_a_script_never_reach_a_provider() {
    let model = Scripted::new([]);
    let settings = r#"{"JOKE": "ha", "args": [1], "temperature": "0.5", "top_k": 3, "seed": 7,
        "extra_body": {"safe": true}, "max_tokens": "many"}"#;
    let (read, warnings) = Settings::read(&parameters(settings));
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    let mut asking = asking(&model, "x", "{}");
    asking.settings = read;
    ask(asking, &Unwatched).await.unwrap();
    let sent = serde_json::to_value(&model.asked()[0].options).unwrap();
    let expected =
        serde_json::json!({"temperature": 0.5, "max_tokens": 2048, "seed": 7, "safe": true});
    assert_eq!(sent, expected);
}
