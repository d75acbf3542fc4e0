//! The load generator of the benchmarks counts correctly.

use std::io::Read;
use std::time::Duration;

use quillet_fake_provider::{FakeProvider, ProviderApi, ReplyScript, ScriptedReply};
use serde_json::json;

use crate::client::{read, request, send};
use crate::run::{Load, percentile, run};

fn load(provider: &FakeProvider, model: &str, streaming: bool) -> Load {
    let (path, body) = request(ProviderApi::OpenAiChat, model, streaming);
    Load {
        uri: format!("http://{}{path}", provider.address())
            .parse()
            .unwrap(),
        body: body.to_string().into(),
        token: "word".to_owned(),
        requests: Some(6),
        ..Load::default()
    }
}

#[tokio::test]
async fn a_closed_loop_sends_so_many_and_counts_every_token() {
    let provider = FakeProvider::start(ReplyScript::default());
    let whole = Load {
        connections: 2,
        tokens: Some(20),
        ..load(&provider, "fake-text-20", false)
    };
    let times = run(whole.clone()).await.unwrap();
    assert_eq!((times.whole.len(), times.failed), (6, 0));
    assert_eq!((provider.asked(), provider.open()), (6, 0));

    let more = Load {
        tokens: Some(21),
        ..whole
    };
    let times = run(more).await.unwrap();
    assert_eq!((times.whole.len(), times.failed), (0, 6));
    assert_eq!(times.failure.unwrap(), "20 tokens came");
}

#[tokio::test]
async fn a_stream_without_its_end_has_failed() {
    let provider = FakeProvider::start(ReplyScript::default());
    for (model, token, failed) in [("fake-text-3", "word", 0), ("fake-cut", "two", 6)] {
        let stream = Load {
            token: token.to_owned(),
            end: "[DONE]".to_owned(),
            ..load(&provider, model, true)
        };
        assert_eq!(run(stream).await.unwrap().failed, failed, "{model}");
    }
}

#[tokio::test]
async fn at_a_fixed_rate_requests_do_not_wait_for_answers() {
    let provider = FakeProvider::start(ReplyScript::default());
    let silent = Load {
        connections: 6,
        rate: Some(1000.0),
        ..load(&provider, "fake-silent", false)
    };
    let sent = tokio::spawn(run(silent));
    provider.until_asked(6).await;
    assert_eq!(provider.open(), 6);
    sent.abort();
}

#[tokio::test]
async fn at_a_fixed_rate_waiting_counts() {
    let delay = Duration::from_millis(5);
    let late = ScriptedReply::text(["word"]).delay(delay);
    let provider = FakeProvider::start(ReplyScript::turns([late]));
    // All requests are due at nearly the same time and share one connection.
    let queued = Load {
        rate: Some(100_000.0),
        ..load(&provider, "any", false)
    };
    let times = run(queued).await.unwrap();
    let served = times.whole.len();
    assert_eq!((served + times.unserved, times.failed), (6, 0));
    let waited = delay * u32::try_from(served).unwrap();
    let longest = percentile(&times.whole, 99);
    assert!(
        longest > waited - delay / 2,
        "{longest:?} for {served} in turn"
    );
}

#[tokio::test]
async fn what_nobody_was_free_for_is_told() {
    let late = ScriptedReply::text(["word"]).delay(Duration::from_millis(1100));
    let provider = FakeProvider::start(ReplyScript::turns([late]));
    let queued = Load {
        rate: Some(100_000.0),
        ..load(&provider, "any", false)
    };
    let times = run(queued).await.unwrap();
    assert!(times.unserved >= 5, "{times:?}");
    assert_eq!(times.unserved, 6 - times.whole.len());
}

#[tokio::test]
async fn open_answers_are_counted_until_their_clients_leave() {
    let provider = FakeProvider::start(ReplyScript::default());
    let (path, body) = request(ProviderApi::OpenAiChat, "fake-endless", true);
    let mut clients = Vec::new();
    for open in 1..=3 {
        let mut client = send(&provider, &path, "sk-test", &body);
        assert_ne!(client.read(&mut [0; 64]).unwrap(), 0);
        assert_eq!(provider.open(), open);
        clients.push(client);
    }
    for (index, client) in clients.into_iter().enumerate() {
        drop(client);
        provider.disconnected(index + 1).await;
        assert_eq!(provider.open(), 2 - index);
    }
    let told = read(send(&provider, "/fake/counts", "sk-test", &json!({}))).json();
    assert_eq!(told, json!({"asked": 3, "left": 3, "open": 0}));
}
