//! Effects between the provider and the client: compression, pings, and whether the key came with
//! the request.

use std::io::Write as _;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use quillet_core::chat::{ChatRequest, ModelErrorKind as Kind};
use quillet_core::{Message, Role};
use quillet_llm::models::{ModelConfig, ModelRouter, ModelSettings, VendorSettings};
use quillet_llm::{Http, Timeouts};
use quillet_test_support::scripted::{
    ResponseScript, ScriptedServer, ServerAction, done_event, finish_event, text_event,
};

use crate::{ask, config, model, provider};

fn packed(text: &str) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(text.as_bytes()).unwrap();
    packer.finish().unwrap()
}

/// A compressed body in chunks of `size` bytes.
fn encoded(status: &str, encoding: &str, body: &[u8], size: usize) -> ResponseScript {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/event-stream\r\ncontent-encoding: {encoding}\r\nconnection: close\r\n\r\n"
    );
    let mut script = vec![ServerAction::Send(head.into_bytes())];
    script.extend(
        body.chunks(size)
            .map(|piece| ServerAction::Send(piece.to_vec())),
    );
    script.push(ServerAction::Close);
    script
}

#[tokio::test]
async fn what_a_proxy_packed_is_read() {
    let text = "Good day! ".repeat(2_000);
    let body = packed(&(text_event(&text) + &finish_event() + &done_event()));
    let whole = packed(
        r#"{"id":"c1","choices":[{"index":0,"message":{"content":"Good day!"},"finish_reason":"stop"}]}"#,
    );
    for size in [1, 7, body.len()] {
        for (encoding, body, said) in [
            ("gzip", &body, text.as_str()),
            ("x-gzip", &body, &text),
            ("GZIP", &whole, "Good day!"),
        ] {
            let server = ScriptedServer::start(vec![encoded("200 OK", encoding, body, size)]);
            let (reply, error) = ask(&model(&server)).await;
            assert!(error.is_none(), "{encoding}: {error:?}");
            assert_eq!(reply.choices[0].text, said);
        }
    }
    // A truncated body is reported as truncated, even if it is compressed.
    let half = &body[..body.len() / 2];
    let server = ScriptedServer::start(vec![encoded("200 OK", "gzip", half, 64)]);
    let (_, error) = ask(&model(&server)).await;
    assert!(error.is_some());
}

#[tokio::test]
async fn what_cannot_be_unpacked_is_named() {
    for (encoding, body) in [
        ("br", &b"\x0b\x02"[..]),
        ("zstd", b"x"),
        ("gzip", b"data: {}\n\n"),
    ] {
        let server = ScriptedServer::start(vec![encoded("200 OK", encoding, body, 64)]);
        let (_, error) = ask(&model(&server)).await;
        let error = error.unwrap();
        assert_eq!(error.kind, Kind::Protocol);
        let words = ["content-encoding", encoding];
        assert!(
            words.iter().all(|word| error.message.contains(word)),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_packed_refusal_is_readable() {
    let body = packed(r#"{"error":{"message":"the key is not mine","code":"invalid_api_key"}}"#);
    let server = ScriptedServer::start(vec![encoded("401 Unauthorized", "gzip", &body, 8)]);
    let (_, error) = ask(&model(&server)).await;
    let error = error.unwrap();
    assert!(error.message.contains("the key is not mine"), "{error}");
}

#[tokio::test]
async fn a_bomb_meets_the_bound_on_what_comes_out() {
    let zeros = "data: ".to_owned() + &"0".repeat(64 << 20);
    let body = packed(&zeros);
    assert!(body.len() < 1 << 20);
    let server = ScriptedServer::start(vec![encoded("200 OK", "gzip", &body, body.len())]);
    let (_, error) = ask(&model(&server)).await;
    let error = error.unwrap();
    assert!(error.message.contains("line_bytes"), "{error}");
}

#[tokio::test]
async fn signs_of_life_are_no_answer() {
    let comment = ": still here\n\n";
    let ping = "event: ping\ndata: {\"type\": \"ping\"}\n\n";
    let keepalive = "data: {\"type\":\"keepalive\",\"sequence_number\":3}\n\n";
    let text = text_event("Good");
    for (begun, sign) in [
        ("", comment),
        ("", ping),
        (text.as_str(), comment),
        (&text, keepalive),
        (&text, "d"),
    ] {
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        let mut script = vec![ServerAction::Send(format!("{head}{begun}").into_bytes())];
        for _ in 0..200 {
            script.push(ServerAction::Send(sign.as_bytes().to_vec()));
            script.push(ServerAction::Wait(Duration::from_millis(10)));
        }
        script.push(ServerAction::Hang);
        let server = ScriptedServer::start(vec![script]);
        let mut config = config(&server);
        config.timeouts = Timeouts {
            first_byte: Duration::from_millis(300),
            idle: Duration::from_millis(300),
            total: Duration::from_secs(30),
        };
        let (_, error) = ask(&provider(config).unwrap()).await;
        let error = error.unwrap();
        assert_eq!(error.kind, Kind::Timeout, "{sign:?}: {error}");
        assert!(error.message.contains("only pings"), "{sign:?}: {error}");
    }
}

#[tokio::test]
async fn an_error_names_the_key_and_the_setting_of_its_provider() {
    let refusal = "HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\n\r\n{}";
    let server = ScriptedServer::start(vec![vec![ServerAction::Send(refusal.as_bytes().to_vec())]]);
    let vendor = || VendorSettings {
        api_key: Some("sk-canary".into()),
        base_url: Some(server.url()),
        ..VendorSettings::default()
    };
    let ours = ModelRouter::new(ModelSettings {
        openai: vendor(),
        anthropic: vendor(),
        google: vendor(),
        ..ModelSettings::default()
    });
    let ours = ours.unwrap();
    let none = ModelRouter::new(ModelSettings::default()).unwrap();
    for (name, variable, setting) in [
        ("gpt-4o", "OPENAI_API_KEY", "model.api_key"),
        (
            "claude-sonnet-4-5",
            "ANTHROPIC_API_KEY",
            "model.anthropic_key",
        ),
        ("gemini-2.5-flash", "GOOGLE_API_KEY", "model.google_key"),
    ] {
        let request = || ChatRequest {
            model: Some(name.to_owned()),
            messages: vec![Message::new(Role::User, "hi")],
            ..ChatRequest::default()
        };
        let told = async |models: &ModelRouter| {
            use quillet_core::chat::ChatModel;
            let error = models.stream(request()).await.err().unwrap();
            assert_eq!(error.kind, Kind::Auth, "{error}");
            error.message
        };
        for message in [told(&ours).await, told(&none).await] {
            let words = [variable, setting];
            assert!(words.iter().all(|word| message.contains(word)), "{message}");
        }
        let brought = ModelConfig {
            model_id: name.to_owned(),
            api_key: Some("sk-canary".into()),
            base_url: Some(server.url()),
            ..ModelConfig::default()
        };
        let model = brought.connect(&Http::default()).unwrap();
        let error = model.stream(request()).await.err().unwrap();
        assert!(error.message.contains("came with the request"), "{error}");
        assert!(!error.message.contains(variable), "{error}");
    }
}
