//! Model calls against scripted models.

use std::future::pending;
use std::sync::{Arc, Mutex};

use futures_util::{StreamExt, stream};
use quillet_core::chat::{
    ChatEvent, ChatModel, ChatRequest, ChatStream, FinishReason, ModelError, TokenCounter,
};
use quillet_core::{BoxFuture, Map, Message, Role, json};
use quillet_script::call::{CallEvent, CallObserver, CallSettings, ModelCall, NoCallObserver, ask};
use quillet_script::host::ModelCapabilities;
use quillet_script::text::bias::{Amount, Bias};
use quillet_script::{ErrorKind, ScriptError};

use crate::call_models::{Rule, Scripted};

/// Records the received deltas.
#[derive(Default)]
pub(crate) struct Watcher(pub(crate) Mutex<Vec<String>>);

impl CallObserver for Watcher {
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

pub(crate) fn asking(model: &Arc<Scripted>, text: &str, settings: &str) -> ModelCall {
    let messages = vec![Message::new(Role::User, text)];
    let mut ask = ModelCall::new(model.answering(ModelCapabilities::default()), messages);
    ask.settings = CallSettings::read(&parameters(settings)).0;
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
        let answer = ask(asking(&model, text, settings), &NoCallObserver)
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
    let answer = ask(asking(&model, "x", settings), &NoCallObserver)
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
    let error = ask(asking(&model, "x", "{}"), &NoCallObserver)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Model);
    assert_eq!(error.partial.as_deref(), Some("half an ans"));
}

#[tokio::test]
async fn variables_of_a_script_never_reach_a_provider() {
    let model = Scripted::new([]);
    let settings = r#"{"JOKE": "ha", "args": [1], "temperature": "0.5", "top_k": 3, "seed": 7,
        "extra_body": {"safe": true, "top_k": 5}, "max_tokens": "many"}"#;
    let (read, warnings) = CallSettings::read(&parameters(settings));
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    let mut asking = asking(&model, "x", "{}");
    asking.settings = read;
    ask(asking, &NoCallObserver).await.unwrap();
    let sent = serde_json::to_value(&model.asked()[0].options).unwrap();
    let expected = serde_json::json!({"temperature": 0.5, "max_tokens": 2048, "seed": 7,
        "safe": true, "top_k": 5});
    assert_eq!(sent, expected);
    assert_eq!(model.asked()[0].options.forced, ["top_k"]);
}

/// A tokenizer with one token per character.
#[derive(Debug)]
struct Characters;

impl TokenCounter for Characters {
    fn count_text(&self, text: &str) -> u64 {
        text.chars().count() as u64
    }

    fn token_ids(&self, text: &str) -> Option<Vec<u32>> {
        Some(text.chars().map(u32::from).collect())
    }
}

#[tokio::test]
async fn biases_go_to_who_takes_them_and_are_warned_of_else() {
    let biases = || {
        vec![
            Bias {
                text: "a".to_owned(),
                amount: Amount::Percent(20.0),
            },
            Bias {
                text: "bc".to_owned(),
                amount: Amount::Never,
            },
        ]
    };
    for (takes, counts, effect) in [
        (true, true, ""),
        (
            false,
            true,
            "this model's provider does not support logit_bias",
        ),
        (true, false, "the tokenizer of this model is unknown"),
    ] {
        let model = Scripted::new([]);
        let mut asked = asking(&model, "x", r#"{"logit_bias": {"7": 1}}"#);
        asked.biases = biases();
        asked.model.abilities.logit_bias = takes;
        if counts {
            asked.model.counter = Arc::new(Characters);
        }
        let answer = ask(asked, &NoCallObserver).await.unwrap();
        let sent = model.asked()[0].options.extra["logit_bias"].clone();
        if effect.is_empty() {
            // The biases are those of a, b and the author's own entry, but not of the space.
            let expected = serde_json::json!({"97": 1.2_f64.ln(), "98": -100.0, "7": 1});
            assert_eq!(sent.as_object().unwrap().len(), 3);
            for (id, bias) in expected.as_object().unwrap() {
                let near = (sent[id].as_f64().unwrap() - bias.as_f64().unwrap()).abs() < 1e-9;
                assert!(near, "{id}: {sent}");
            }
        } else {
            assert_eq!(sent, serde_json::json!({"7": 1}));
            let warning = format!("((a:…)) has no effect: {effect}");
            assert_eq!(answer.warnings, [warning]);
        }
    }
}

/// A model that sends one word and then nothing.
#[derive(Debug)]
struct Silent(bool);

impl ChatModel for Silent {
    fn describe(&self) -> String {
        "silent".to_owned()
    }

    fn stream(&self, _: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        let word = ChatEvent::Text {
            choice: 0,
            text: "well".to_owned(),
        };
        let begins = self.0;
        Box::pin(async move {
            if !begins {
                pending::<()>().await;
            }
            let answer = stream::iter([Ok(word)]).chain(stream::pending());
            Ok(Box::pin(answer) as ChatStream)
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_says_nothing_is_waited_for_as_long_as_told() {
    for (begins, settings, name) in [
        (
            false,
            r#"{"timeout": 30000}"#,
            "parameters.timeout (30000 ms)",
        ),
        (true, "{}", "parameters.timeout (120000 ms)"),
        (
            true,
            r#"{"idleTimeout": 500}"#,
            "parameters.idleTimeout (500 ms)",
        ),
    ] {
        let model = Scripted::new([]);
        let mut asked = asking(&model, "x", settings);
        asked.model.model = Arc::new(Silent(begins));
        let error = ask(asked, &NoCallObserver).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Limit);
        assert!(error.message.ends_with(name), "{error}");
        assert_eq!(error.partial.as_deref(), begins.then_some("well"));
    }
}

/// An observer that ends the call at the first delta.
struct Stopping;

impl CallObserver for Stopping {
    fn event<'a>(&'a self, event: CallEvent<'a>) -> BoxFuture<'a, Result<(), ScriptError>> {
        let stops = matches!(event, CallEvent::Chunk { .. });
        Box::pin(async move {
            if stops {
                Err(ScriptError::plain(
                    ErrorKind::Aborted,
                    "x.ai.yaml",
                    "stopped",
                ))
            } else {
                Ok(())
            }
        })
    }
}

#[tokio::test]
async fn whoever_watches_can_end_a_call() {
    let model = Scripted::new([Rule::say(".", "a long answer")]);
    let error = ask(asking(&model, "x", "{}"), &Stopping).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Aborted);
    let error = error.into_script_error("other.ai.yaml");
    assert_eq!(error.to_string(), "x.ai.yaml: stopped");
}

#[tokio::test]
async fn an_echo_of_the_beginning_is_no_part_of_the_answer() {
    let model = Scripted::new([Rule::say("讲个笑话", "讲个笑话：从前有座山")]);
    let mut asked = asking(&model, "go", "{}");
    asked
        .messages
        .push(Message::new(Role::Assistant, "讲个笑话："));
    let answer = ask(asked, &NoCallObserver).await.unwrap();
    assert_eq!(answer.content, "从前有座山");
    assert_eq!(model.text_of(0), "user: go\nassistant: 讲个笑话：");
}
