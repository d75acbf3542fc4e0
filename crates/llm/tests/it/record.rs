//! Recordings replay all events unchanged.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use quillet_core::chat::{
    ChatEvent, ChatModel, ChatOptions, ChatRequest, ModelError, ModelErrorKind as Kind,
};
use quillet_core::{Message, Role};
use quillet_fake_provider::{
    ErrorResponse, FakeProvider, InjectedFault, ProviderApi, ReplyScript, ScriptedReply,
};
use quillet_llm::{Mock, Provider, ProviderConfig, Record, Replay, ReplaySpeed};
use tokio::time::Instant;

use crate::CANARY;

/// A temporary folder, removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let name = format!("quillet-record-{}", uuid::Uuid::new_v4().simple());
        Folder(std::env::temp_dir().join(name))
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn request(model: &str, text: &str) -> ChatRequest {
    ChatRequest {
        model: Some(model.to_owned()),
        messages: vec![
            Message::new(Role::System, "Be brief."),
            Message::new(Role::User, text),
        ],
        options: ChatOptions::default(),
    }
}

async fn ask(
    model: &dyn ChatModel,
    request: ChatRequest,
) -> Result<Vec<Result<ChatEvent, String>>, ModelError> {
    let stream = model.stream(request).await?;
    let events = stream.map(|event| event.map_err(|error| error.to_string()));
    Ok(events.collect().await)
}

fn recorder(folder: &Folder) -> Record {
    Record::new(Arc::new(Mock), &folder.0).unwrap()
}

fn replay(folder: &Path) -> Replay {
    Replay::open(folder).unwrap().pace(ReplaySpeed::AtOnce)
}

#[tokio::test]
async fn every_exchange_comes_back_as_it_was() {
    let folder = Folder::new();
    let recorder = recorder(&folder);
    let names = ["mock", "mock-cut", "mock-reasoning", "../../escape/mock"];
    let mut recorded = Vec::new();
    for name in names {
        recorded.push(ask(&recorder, request(name, "hi")).await.unwrap());
    }
    let refused = ask(&recorder, request("mock-fail-429", "hi"))
        .await
        .unwrap_err();
    assert_eq!(folder.files().len(), 5);
    let replay = replay(&folder.0);
    assert_eq!((replay.len(), replay.is_empty()), (5, false));
    for (name, recorded) in names.into_iter().zip(recorded) {
        assert_eq!(
            ask(&replay, request(name, "hi")).await.unwrap(),
            recorded,
            "{name}"
        );
    }
    let again = ask(&replay, request("mock-fail-429", "hi"))
        .await
        .unwrap_err();
    assert_eq!(again.to_string(), refused.to_string());
    assert_eq!((again.kind, again.status), (Kind::RateLimited, Some(429)));
}

#[tokio::test]
async fn equal_requests_are_played_in_their_order() {
    let turns = ["first", "second", "third"].map(|text| ScriptedReply::text([text]));
    let provider = FakeProvider::start(ReplyScript::turns(turns));
    let folder = Folder::new();
    let recorder = Record::new(Arc::new(openai(&provider)), &folder.0).unwrap();
    for _ in 0..3 {
        ask(&recorder, request("m", "hi")).await.unwrap();
    }
    let replay = replay(&folder.0);
    for expected in ["first", "second", "third", "third"] {
        let events = ask(&replay, request("m", "hi")).await.unwrap();
        let text = ChatEvent::Text {
            choice: 0,
            text: expected.to_owned(),
        };
        assert!(events.contains(&Ok(text)), "{expected}: {events:?}");
    }
}

fn openai(provider: &FakeProvider) -> Provider {
    crate::provider(ProviderConfig {
        base_url: Some(provider.base_url(ProviderApi::OpenAiChat)),
        api_key: Some(CANARY.into()),
        ..ProviderConfig::default()
    })
    .unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_pauses_are_kept_or_left_out() {
    let folder = Folder::new();
    ask(&recorder(&folder), request("mock-slow", "hi"))
        .await
        .unwrap();
    let slow = Replay::open(&folder.0).unwrap();
    let begun = Instant::now();
    let events = ask(&slow, request("mock-slow", "hi")).await.unwrap();
    let pauses = u32::try_from(events.len()).unwrap();
    let taken = begun.elapsed();
    let recorded = pauses * Duration::from_millis(200);
    assert!(taken >= recorded && taken < recorded * 2, "{taken:?}");
    let begun = Instant::now();
    ask(&slow.pace(ReplaySpeed::AtOnce), request("mock-slow", "hi"))
        .await
        .unwrap();
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test]
async fn a_miss_names_the_nearest_recording_and_what_differs() {
    let folder = Folder::new();
    let recorder = recorder(&folder);
    for text in ["What is a quillet?", "Something else entirely"] {
        ask(&recorder, request("mock", text)).await.unwrap();
    }
    let replay = replay(&folder.0);
    let error = ask(&replay, request("mock", "What is a pun?"))
        .await
        .unwrap_err();
    assert_eq!(error.kind, Kind::Configuration);
    let first = folder.files()[0]
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    let expected = r#"messages[1].content: recorded "What is a quillet?", asked "What is a pun?""#;
    assert!(error.message.contains(&first), "{error}");
    assert!(error.message.ends_with(expected), "{error}");
    let empty = Folder::new();
    fs::create_dir(&empty.0).unwrap();
    let error = ask(&Replay::open(&empty.0).unwrap(), request("mock", "hi"))
        .await
        .unwrap_err();
    assert!(error.message.contains("has no recordings"), "{error}");
}

#[tokio::test]
async fn secrets_are_in_no_recording() {
    let key = "sk-canary-0123456789abcdef";
    let refusal = ScriptedReply::failing(InjectedFault::Refuse(ErrorResponse::Auth));
    let provider = FakeProvider::start(ReplyScript::turns([
        refusal,
        ScriptedReply::text([format!("it is {key}")]),
    ]));
    let folder = Folder::new();
    let recorder = Record::new(Arc::new(openai(&provider)), &folder.0).unwrap();
    let mut asked = request("m", &format!("my key is {key}"));
    let extra = serde_json::json!({"api_key": key, "mcp": {"headers": {"x": key}}});
    asked.options.extra = extra.as_object().unwrap().clone();
    ask(&recorder, asked.clone()).await.unwrap_err();
    ask(&recorder, asked.clone()).await.unwrap();
    for file in folder.files() {
        let text = fs::read_to_string(&file).unwrap();
        assert!(!text.contains("canary"), "{text}");
        assert!(text.contains("my key is [scrubbed]"), "{text}");
    }
    let replay = replay(&folder.0);
    ask(&replay, asked.clone()).await.unwrap_err();
    ask(&replay, asked).await.unwrap();
}

#[tokio::test]
async fn what_nobody_waited_for_ends_with_an_error() {
    let folder = Folder::new();
    let recorder = recorder(&folder);
    let mut stream = recorder.stream(request("mock", "hi")).await.unwrap();
    stream.next().await.unwrap().unwrap();
    drop(stream);
    let events = ask(&replay(&folder.0), request("mock", "hi"))
        .await
        .unwrap();
    assert_eq!(events.len(), 2);
    assert!(
        events[1]
            .as_ref()
            .is_err_and(|error| error.contains("the recording ends here"))
    );
}

#[tokio::test]
async fn many_at_once_do_not_mix() {
    let folder = Folder::new();
    let recorder = recorder(&folder);
    let texts: Vec<String> = (0..50).map(|number| format!("question {number}")).collect();
    let asked = texts
        .iter()
        .map(|text| ask(&recorder, request("mock", text)));
    let recorded = futures_util::future::join_all(asked).await;
    let replay = replay(&folder.0);
    for (text, recorded) in texts.iter().zip(recorded) {
        assert_eq!(
            ask(&replay, request("mock", text)).await.unwrap(),
            recorded.unwrap()
        );
    }
}

#[tokio::test]
async fn broken_recordings_are_named_with_their_line() {
    let head =
        r#"{"quillet":"exchange","version":1,"request":{"model":null,"messages":[],"options":{}}}"#;
    for (text, cause) in [
        ("", "line 1"),
        ("{}", "line 1"),
        (&head.replace('1', "2"), "not a recording of version 1"),
    ] {
        let folder = Folder::new();
        fs::create_dir(&folder.0).unwrap();
        fs::write(folder.0.join("a.jsonl"), text).unwrap();
        let error = Replay::open(&folder.0).unwrap_err();
        assert!(
            error.message.contains("a.jsonl") && error.message.contains(cause),
            "{error}"
        );
    }
    for (text, cause) in [
        (format!("{head}\n"), "line 2"),
        (
            format!("{head}\n{{\"ms\":1,\"end\":\"done\"}}\n{{"),
            "line 3",
        ),
    ] {
        let folder = Folder::new();
        fs::create_dir(&folder.0).unwrap();
        fs::write(folder.0.join("a.jsonl"), text).unwrap();
        let error = ask(&replay(&folder.0), ChatRequest::default())
            .await
            .unwrap_err();
        assert!(error.message.contains(cause), "{error}");
    }
    let error = Replay::open("/nowhere/at/all").unwrap_err();
    assert!(error.message.contains("/nowhere/at/all"), "{error}");
}
