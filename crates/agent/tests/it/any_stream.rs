//! Properties that hold for any model stream: every call has one result, every start event has an
//! end event, and only the last event ends the run.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use quillet_agent::{AgentEvent, AgentOutcome, EndReason, Skill};
use quillet_core::chat::{ChatEvent, FinishReason, ModelErrorKind, ToolOffer};
use quillet_core::tool::{ToolError, ToolErrorKind};
use quillet_core::{Message, Value};
use tokio::time::sleep;

use crate::calls::assert_every_call_has_its_result;
use crate::scripted::{
    Answer, Scripted, asked, echo, finish, finished, model_error, text, thought, tool, usage,
};

const NAMES: &[&str] = &[
    "echo",
    "fail",
    "hang",
    "silent_exit",
    "load_skill",
    "nobody",
    "ask_user",
    "",
];
const ARGUMENTS: &[&str] = &[
    r#"{"q":"x"}"#,
    r#"{"q":1}"#,
    r#"{"q":"#,
    "",
    "null",
    "[]",
    "{}",
];
const IDS: &[&str] = &["a", "b", "", "a"];

fn event() -> impl Strategy<Value = ChatEvent> {
    prop_oneof![
        3 => "[a-z ]{0,5}".prop_map(|said| text(&said)),
        1 => "[a-z]{0,5}".prop_map(|said| thought(&said)),
        6 => (
            0..4_u32,
            prop::option::of(prop::sample::select(IDS)),
            prop::option::of(prop::sample::select(NAMES)),
            prop::sample::select(ARGUMENTS),
            0..8_u32,
        )
            .prop_map(|(index, id, name, arguments, choice)| ChatEvent::ToolCall {
                choice: choice / 7,
                index,
                id: id.map(str::to_owned),
                name: name.map(str::to_owned),
                arguments: arguments.to_owned(),
            }),
        1 => (0..9_u64, 0..9_u64).prop_map(|(input, output)| usage(input, output)),
        1 => Just(ChatEvent::Text { choice: 2, text: "another answer".to_owned() }),
    ]
}

fn reason() -> impl Strategy<Value = FinishReason> {
    prop_oneof![
        5 => Just(FinishReason::ToolCalls),
        2 => Just(FinishReason::Stop),
        2 => Just(FinishReason::Length),
        1 => Just(FinishReason::Pause),
        1 => Just(FinishReason::ContentFilter),
    ]
}

/// How the stream of an answer ends.
#[derive(Clone, Debug)]
enum Close {
    Finish(FinishReason),
    Error,
    Cut,
    Hang,
}

fn answer() -> impl Strategy<Value = (Vec<ChatEvent>, Close)> {
    let close = prop_oneof![
        8 => reason().prop_map(Close::Finish),
        1 => Just(Close::Error),
        1 => Just(Close::Cut),
        1 => Just(Close::Hang),
    ];
    (prop::collection::vec(event(), 0..8), close)
}

fn scripted((mut events, close): (Vec<ChatEvent>, Close)) -> Answer {
    match close {
        Close::Hang => Answer::Hang(events),
        Close::Error => {
            let error = Err(model_error(ModelErrorKind::Provider));
            Answer::Stream(events.into_iter().map(Ok).chain([error]).collect())
        }
        Close::Cut => Answer::Stream(events.into_iter().map(Ok).collect()),
        Close::Finish(reason) => {
            events.push(finish(reason));
            Answer::Stream(events.into_iter().map(Ok).collect())
        }
    }
}

fn assert_every_start_has_its_end(events: &[AgentEvent]) {
    let mut running: BTreeMap<&str, usize> = BTreeMap::new();
    for event in events {
        match event {
            AgentEvent::ToolStarted { id, .. } => *running.entry(id).or_default() += 1,
            AgentEvent::ToolDone { id, .. } => {
                let open = running.get_mut(id.as_str()).expect("it has started");
                *open = open.checked_sub(1).expect("it ends once");
            }
            _ => {}
        }
    }
    assert!(running.values().all(|open| *open == 0), "{running:?}");
}

fn assert_text_is_what_was_streamed(events: &[AgentEvent], outcome: &AgentOutcome) {
    let pieces = events.iter().filter_map(|event| match event {
        AgentEvent::Text(text) => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(pieces.collect::<String>(), outcome.text);
}

/// Results that the client would send for the calls required from it.
fn results_of_the_client(events: &[AgentEvent]) -> Vec<Message> {
    let last = events.iter().rev();
    let required = last.map_while(|event| match event {
        AgentEvent::CallRequired { id, .. } => Some(Message::tool(id.as_str(), "yes")),
        _ => None,
    });
    required.collect()
}

async fn check(answers: Vec<(Vec<ChatEvent>, Close)>, cancel_after: Option<u64>) {
    let fallback = (0..40).map(|_| (vec![text("end")], Close::Finish(FinishReason::Stop)));
    let answers = answers.into_iter().chain(fallback).map(scripted);
    let model = Scripted::new(answers.collect());
    let fail = tool("fail", |_| async {
        sleep(Duration::from_millis(3)).await;
        Err(ToolError::new(ToolErrorKind::Remote, "no"))
    });
    let hang = tool("hang", |_| async {
        sleep(Duration::from_secs(3_600)).await;
        Ok(Value::Null)
    });
    let mut run = asked(&model, vec![echo("echo"), fail, hang]);
    run.silent_exit = true;
    run.limits.tool_rounds = 4;
    run.limits.concurrent_calls = 2;
    if let Some(millis) = cancel_after {
        run.cancelled = Box::pin(sleep(Duration::from_millis(millis)));
    }
    run.skills.available = vec![Skill {
        name: "s".to_owned(),
        ..Skill::default()
    }];
    run.client_tools = vec![ToolOffer::Function {
        name: "ask_user".to_owned(),
        description: String::new(),
        parameters: serde_json::Value::Null,
        strict: None,
        extra: serde_json::Map::new(),
    }];
    let (events, mut outcome) = finished(run).await;
    if matches!(outcome.ending, EndReason::CallsRequired) {
        outcome.messages.extend(results_of_the_client(&events));
    }
    assert_every_call_has_its_result(&outcome);
    assert_every_start_has_its_end(&events);
    assert_text_is_what_was_streamed(&events, &outcome);
    assert!(outcome.rounds <= 4);
    if cancel_after == Some(0) {
        assert!(matches!(outcome.ending, EndReason::Cancelled));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]
    #[test]
    fn whatever_is_streamed_the_history_is_whole(
        answers in prop::collection::vec(answer(), 1..7),
        cancel_after in prop::option::of(prop::sample::select(&[0, 1, 2, 4, 61_000][..])),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        runtime.block_on(check(answers, cancel_after));
    }
}
