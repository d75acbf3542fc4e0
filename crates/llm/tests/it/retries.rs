//! Retries: which errors are retried, and how often.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use quillet_core::chat::{ChatModel, ChatRequest, ModelErrorKind as Kind};
use quillet_llm::{Mock, Retry, RetryPolicy};
use quillet_test_support::scripted::{
    ResponseScript, ScriptedServer, ServerAction, answer, good, stream, text_event,
};

use crate::{ask, config, provider};

fn status(status: u16) -> ResponseScript {
    answer(
        status,
        "application/json",
        &[],
        r#"{"error":{"message":"no"}}"#,
    )
}

#[tokio::test]
async fn what_may_pass_is_asked_again_and_nothing_else() {
    let cut = || stream(&[text_event("a").as_bytes()]);
    let later = |after| answer(429, "application/json", &[("retry-after", after)], "{}");
    let cases: Vec<(&str, Vec<ResponseScript>, usize, Option<Kind>)> = vec![
        (
            "500 twice, then fine",
            vec![status(500), status(503), good("a")],
            3,
            None,
        ),
        ("500 for ever", vec![status(500)], 3, Some(Kind::Provider)),
        ("429, then fine", vec![later("0"), good("a")], 2, None),
        (
            "429 for too long",
            vec![later("30"), good("a")],
            1,
            Some(Kind::RateLimited),
        ),
        (
            "closed, then fine",
            vec![vec![ServerAction::Close], good("a")],
            2,
            None,
        ),
        (
            "silence, then fine",
            vec![vec![ServerAction::Hang], good("a")],
            2,
            None,
        ),
        ("400", vec![status(400), good("a")], 1, Some(Kind::Refused)),
        ("408, then fine", vec![status(408), good("a")], 2, None),
        ("409, then fine", vec![status(409), good("a")], 2, None),
        ("529, then fine", vec![status(529), good("a")], 2, None),
        (
            "spent quota",
            vec![
                answer(
                    429,
                    "application/json",
                    &[],
                    r#"{"error":{"code":"insufficient_quota"}}"#,
                ),
                good("a"),
            ],
            1,
            Some(Kind::Quota),
        ),
        (
            "cut after the first event",
            vec![cut(), good("a")],
            1,
            Some(Kind::Cut),
        ),
    ];
    for (name, scripts, requests, kind) in cases {
        let server = ScriptedServer::start(scripts);
        let mut config = config(&server);
        config.timeouts.first_byte = Duration::from_millis(200);
        let policy = RetryPolicy {
            waits: vec![Duration::from_millis(1), Duration::from_millis(3)],
            ..RetryPolicy::default()
        };
        let model = Retry::new(Arc::new(provider(config).unwrap())).policy(policy);
        let (_, error) = ask(&model).await;
        assert_eq!(
            error.as_ref().map(|error| error.kind),
            kind,
            "{name}: {error:?}"
        );
        assert_eq!(server.seen().len(), requests, "{name}");
        let tried = error.is_some_and(|error| error.message.ends_with("(tried 3 times)"));
        assert_eq!(tried, requests == 3 && kind.is_some(), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_waits_are_the_seeds_and_are_told() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let list = told.clone();
    let model = Retry::new(Arc::new(Mock)).observe(move |notice| {
        list.lock().unwrap().push(notice.to_string());
    });
    let request = ChatRequest {
        model: Some("mock-fail-500".into()),
        ..ChatRequest::default()
    };
    let begun = tokio::time::Instant::now();
    let error = model.stream(request).await.err().unwrap();
    assert_eq!(begun.elapsed(), Duration::from_millis(400));
    assert_eq!(error.status, Some(500));
    let told = told.lock().unwrap();
    assert!(
        told[0].starts_with("retrying in 100ms (1/2): mock: answered 500"),
        "{told:?}"
    );
    assert!(told[1].starts_with("retrying in 300ms (2/2): "), "{told:?}");
    assert_eq!(told.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn the_mock_can_be_slow_and_can_break_off() {
    let request = |name: &str| ChatRequest {
        model: Some(name.into()),
        ..ChatRequest::default()
    };
    let begun = tokio::time::Instant::now();
    let mut slow = Mock.stream(request("mock-slow")).await.unwrap();
    while slow.next().await.is_some() {}
    assert!(begun.elapsed() > Duration::from_secs(1));
    let cut: Vec<_> = Mock
        .stream(request("mock-cut"))
        .await
        .unwrap()
        .collect()
        .await;
    assert_eq!(cut.len(), 4);
    assert_eq!(cut[3].as_ref().unwrap_err().kind, Kind::Cut);
}

#[tokio::test(start_paused = true)]
async fn waits_double_with_jitter() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let list = told.clone();
    let policy = RetryPolicy::doubling(3, Duration::from_secs(1));
    let model = Retry::new(Arc::new(Mock))
        .policy(policy)
        .observe(move |notice| {
            list.lock().unwrap().push(notice.wait);
        });
    let request = ChatRequest {
        model: Some("mock-fail-500".into()),
        ..ChatRequest::default()
    };
    assert!(model.stream(request).await.is_err());
    let waits = told.lock().unwrap();
    assert_eq!(waits.len(), 3);
    for (wait, whole) in waits.iter().zip([1.0, 2.0, 4.0]) {
        let part = wait.as_secs_f64() / whole;
        assert!((0.5..=1.0).contains(&part), "{wait:?} of {whole} s");
    }
}

/// Transient errors are recognized by their status in every API, whatever the body contains.
#[test]
fn the_same_statuses_pass_on_every_wire() {
    for name in ["openai-chat", "openai-responses", "anthropic", "gemini"] {
        let wire = crate::transcripts::wire(name).unwrap();
        for body in ["", "<html>busy</html>", "{}"] {
            for status in [408, 409, 429, 500, 502, 503, 504, 529] {
                let kind = wire.refusal(status, body).kind;
                assert!(kind.retryable(), "{name}: {status} {body:?} is {kind:?}");
            }
            for status in [400, 401, 403, 404, 422] {
                let kind = wire.refusal(status, body).kind;
                assert!(!kind.retryable(), "{name}: {status} {body:?} is {kind:?}");
            }
        }
    }
}
