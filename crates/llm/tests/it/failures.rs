//! Errors name the provider, the cause and the fix, and never contain a secret.

use std::time::Duration;

use quillet_core::chat::{ChatModel, ModelErrorKind as Kind};
use quillet_llm::{AnswerLimits, ProviderConfig, Timeouts};
use quillet_test_support::scripted::{
    ResponseScript, ScriptedServer, ServerAction, answer, stream, stream_head, text_event,
};

use crate::{CANARY, ask, config, model, provider};

fn short() -> Timeouts {
    Timeouts {
        first_byte: Duration::from_millis(100),
        idle: Duration::from_millis(100),
        total: Duration::from_secs(5),
    }
}

#[tokio::test]
async fn each_failure_has_its_kind_and_names_the_mend() {
    let error_event =
        "data: {\"error\":{\"message\":\"overloaded\",\"type\":\"server_error\"}}\n\n";
    let long = format!("{{\"error\":{{\"message\":\"{}\"}}}}", "x".repeat(5000));
    let echo = format!("bad key {CANARY}");
    let most = "x".repeat(1024);
    let json = "application/json";
    let cases: Vec<(&str, ResponseScript, Kind, &str)> = vec![
        (
            "401",
            answer(401, json, &[], r#"{"error":{"message":"bad key"}}"#),
            Kind::Auth,
            "answered 401: bad key; check the key: set OPENAI_API_KEY",
        ),
        (
            "key echoed",
            answer(401, "text/plain", &[], &echo),
            Kind::Auth,
            "bad key [secret]",
        ),
        (
            "404",
            answer(404, json, &[], ""),
            Kind::Refused,
            "answered 404; check the model's name and the base URL",
        ),
        (
            "429",
            answer(429, json, &[("retry-after", "7")], "{}"),
            Kind::RateLimited,
            "answered 429",
        ),
        (
            "500 with html",
            answer(500, "text/html", &[], "<h1>oops</h1>"),
            Kind::Provider,
            "answered 500: <h1>oops</h1>",
        ),
        (
            "long body",
            answer(400, json, &[], &long),
            Kind::Refused,
            &most,
        ),
        (
            "redirect",
            answer(307, json, &[("location", "http://example.com/")], ""),
            Kind::Refused,
            "redirects are not followed",
        ),
        (
            "page with 200",
            answer(200, "text/html", &[], "<html>log in</html>"),
            Kind::Protocol,
            "(text/html); is the base URL right?",
        ),
        (
            "empty 200",
            answer(200, json, &[], ""),
            Kind::Protocol,
            "the answer is not a model API response",
        ),
        (
            "no choices",
            answer(200, json, &[], "{}"),
            Kind::Protocol,
            "contains no chat completion",
        ),
        (
            "error with 200",
            answer(
                200,
                json,
                &[],
                r#"{"error":{"message":"quota","code":429}}"#,
            ),
            Kind::RateLimited,
            "the answer contains an error: quota",
        ),
        (
            "error first",
            stream(&[error_event.as_bytes()]),
            Kind::Provider,
            "the answer contains an error: overloaded",
        ),
        (
            "closed at once",
            vec![ServerAction::Close],
            Kind::Connect,
            "the connection closed before an answer",
        ),
        (
            "reset at once",
            vec![ServerAction::Reset],
            Kind::Connect,
            "the connection closed before an answer",
        ),
        (
            "silence",
            vec![ServerAction::Hang],
            Kind::Timeout,
            "no answer within 100ms (limit first_byte)",
        ),
        (
            "silence after the head",
            vec![stream_head(), ServerAction::Hang],
            Kind::Timeout,
            "limit first_byte",
        ),
        (
            "silence after a comment",
            vec![
                stream_head(),
                ServerAction::Send(b": wait\n\n".to_vec()),
                ServerAction::Hang,
            ],
            Kind::Timeout,
            "within 100ms (limit",
        ),
        (
            "cut before anything",
            stream(&[b": hi\n\n"]),
            Kind::Cut,
            "ended without a finish reason",
        ),
    ];
    for (name, script, kind, says) in cases {
        let server = ScriptedServer::start(vec![script]);
        let mut config = config(&server);
        config.timeouts = short();
        let model = provider(config).unwrap();
        let error = model.stream(crate::request()).await.err().expect(name);
        assert_eq!(error.kind, kind, "{name}: {error}");
        assert!(error.message.contains(says), "{name}: {error}");
        assert!(
            error
                .message
                .starts_with(&format!("model at {}", server.url())),
            "{name}: {error}"
        );
        assert!(
            error.message.len() < 1300,
            "{name}: {} bytes",
            error.message.len()
        );
        assert!(!format!("{error:?}").contains(CANARY), "{name}: {error:?}");
    }
}

#[tokio::test]
async fn what_came_before_a_failure_is_handed_out() {
    let a = text_event("a");
    let cases: Vec<(&str, ResponseScript, Kind)> = vec![
        ("cut", stream(&[a.as_bytes()]), Kind::Cut),
        (
            "cut in an event",
            stream(&[a.as_bytes(), b"data: {\"id\":"]),
            Kind::Cut,
        ),
        (
            "reset",
            vec![
                stream_head(),
                ServerAction::Send(a.clone().into()),
                ServerAction::Wait(Duration::from_millis(50)),
                ServerAction::Reset,
            ],
            Kind::Cut,
        ),
        (
            "silence",
            vec![
                stream_head(),
                ServerAction::Send(a.clone().into()),
                ServerAction::Hang,
            ],
            Kind::Timeout,
        ),
        (
            "error in one write",
            stream(&[format!("{a}data: {{\"error\":\"no\"}}\n\n").as_bytes()]),
            Kind::Provider,
        ),
        (
            "not JSON",
            stream(&[format!("{a}data: {{oops\n\n").as_bytes()]),
            Kind::Protocol,
        ),
    ];
    for (name, script, kind) in cases {
        let server = ScriptedServer::start(vec![script]);
        let mut config = config(&server);
        config.timeouts = Timeouts {
            first_byte: Duration::from_secs(5),
            ..short()
        };
        let (reply, error) = ask(&provider(config).unwrap()).await;
        assert_eq!(error.expect(name).kind, kind, "{name}");
        assert_eq!(reply.choices[0].text, "a", "{name}");
    }
}

#[tokio::test]
async fn the_total_time_ends_an_answer_that_only_drips() {
    let mut script = vec![stream_head()];
    for _ in 0..200 {
        script.push(ServerAction::Send(text_event("a").into()));
        script.push(ServerAction::Wait(Duration::from_millis(20)));
    }
    let server = ScriptedServer::start(vec![script]);
    let mut config = config(&server);
    config.timeouts.total = Duration::from_millis(300);
    let (reply, error) = ask(&provider(config).unwrap()).await;
    let error = error.unwrap();
    assert_eq!(error.kind, Kind::Timeout);
    assert!(error.message.contains("limit total"), "{error}");
    assert!(!reply.choices[0].text.is_empty());
}

#[tokio::test]
async fn bounds_name_themselves() {
    let line = format!("data: {}\n\n", "x".repeat(100));
    let event = "data: 0123456789\n".repeat(10);
    let comments = ": still thinking\n\n".repeat(20);
    let body = format!("{{\"x\":\"{}\"}}", "x".repeat(100));
    let cases = [
        ("line_bytes", stream(&[line.as_bytes()])),
        ("event_bytes", stream(&[event.as_bytes()])),
        ("body_bytes", answer(200, "application/json", &[], &body)),
        ("stream_bytes", stream(&[comments.as_bytes()])),
    ];
    for (limit, script) in cases {
        let server = ScriptedServer::start(vec![script]);
        let mut config = config(&server);
        config.limits = AnswerLimits {
            line_bytes: 64,
            event_bytes: 64,
            body_bytes: 64,
            stream_bytes: 250,
        };
        let (_, error) = ask(&provider(config).unwrap()).await;
        let error = error.expect(limit);
        assert_eq!(error.kind, Kind::Protocol, "{limit}");
        assert!(
            error.message.contains(&format!("limit {limit} (")),
            "{error}"
        );
    }
}

#[tokio::test]
async fn nobody_listening_is_told_apart_from_a_name_that_is_none() {
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let config = ProviderConfig {
        base_url: Some(format!("http://{free}")),
        model: Some("small".into()),
        ..ProviderConfig::default()
    };
    let (_, error) = ask(&provider(config).unwrap()).await;
    let error = error.unwrap();
    assert_eq!(error.kind, Kind::Connect);
    for part in [&format!("http://{free}/v1"), "refused", "OPENAI_BASE_URL"] {
        assert!(error.message.contains(part), "{error}");
    }
}

#[tokio::test]
async fn what_is_missing_is_said_before_anything_is_sent() {
    let server = ScriptedServer::start(vec![]);
    let mut config = config(&server);
    config.model = None;
    let (_, error) = ask(&provider(config).unwrap()).await;
    let error = error.unwrap();
    assert_eq!(error.kind, Kind::Configuration);
    assert!(error.message.contains("QUILLET_MODEL"), "{error}");
    assert!(server.seen().is_empty());

    let config = ProviderConfig {
        base_url: Some("http://api.openai.com".into()),
        model: Some("gpt".into()),
        ..ProviderConfig::default()
    };
    let (_, error) = ask(&provider(config).unwrap()).await;
    let error = error.unwrap();
    assert_eq!(error.kind, Kind::Auth);
    assert!(error.message.contains("set OPENAI_API_KEY"), "{error}");
}

#[test]
fn keys_and_headers_show_nowhere() {
    let config = ProviderConfig {
        base_url: Some(format!("http://example.com/v1?key={CANARY}")),
        api_key: Some(CANARY.into()),
        headers: vec![("x-team".into(), CANARY.into())],
        ..ProviderConfig::default()
    };
    let model = provider(config.clone()).unwrap();
    let shown = format!(
        "{model:?} {} {:?} {:?}",
        model.describe(),
        config.api_key,
        config.headers
    );
    assert!(!shown.contains(CANARY), "{shown}");
    for headers in [("bad name", CANARY), ("x-ok", "sk-canary-5f1d\n")] {
        let config = ProviderConfig {
            base_url: Some("http://example.com".into()),
            headers: vec![(headers.0.into(), headers.1.into())],
            ..ProviderConfig::default()
        };
        let error = provider(config).unwrap_err();
        assert_eq!(error.kind, Kind::Configuration);
        assert!(!error.message.contains(CANARY), "{error}");
    }
}

#[tokio::test]
async fn the_request_carries_key_headers_and_parameters() {
    let server = ScriptedServer::start(vec![quillet_test_support::scripted::good("hello")]);
    let mut config = config(&server);
    config.headers = vec![("x-team".into(), "blue".into())];
    let model = provider(config).unwrap();
    let (reply, error) = ask(&model).await;
    assert!(error.is_none());
    assert_eq!(reply.choices[0].text, "hello");
    assert_eq!(
        (reply.id.as_str(), reply.model.as_str(), reply.created),
        ("c1", "scripted", 1_700_000_000)
    );
    let seen = &server.seen()[0];
    let head = seen.head.to_lowercase();
    for part in [
        "post /v1/chat/completions http/1.1",
        "x-team: blue",
        &format!("authorization: bearer {CANARY}"),
    ] {
        assert!(head.contains(part), "{head}");
    }
    assert!(seen.body.contains(r#""model":"small""#), "{}", seen.body);
    assert!(seen.body.contains(r#""stream":true"#), "{}", seen.body);
}

#[tokio::test]
async fn a_connection_serves_one_answer_after_the_other() {
    let server = ScriptedServer::start(vec![quillet_test_support::scripted::good("a")]);
    let model = model(&server);
    for _ in 0..3 {
        let (_, error) = ask(&model).await;
        assert!(error.is_none());
        // The end of the body arrives shortly after the end of the answer.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let connections: Vec<usize> = server.seen().iter().map(|seen| seen.connection).collect();
    assert_eq!(connections, [0, 0, 0]);
}
