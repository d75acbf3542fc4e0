//! Every event and error on every provider API, with a fake provider.

use std::sync::Arc;
use std::time::Duration;

use quillet_agent::Window;
use quillet_core::chat::{Bytes4, ModelError};
use quillet_fake_provider::{
    ErrorResponse, FakeProvider, InjectedFault, ProviderApi, ReplyScript, ScriptedReply,
};
use quillet_host::agent::{ConnectedModel, ModelRegistry, ModelSettings};
use quillet_llm::Http;
use quillet_llm::models::ModelConfig;
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::client::{Connection, parse};
use crate::test_agents::{AgentServer, AgentSetup, Event, events, names};

/// Resolves the models that requests describe.
#[derive(Debug, Default)]
struct Described(Http);

impl ModelRegistry for Described {
    fn connect(&self, settings: Option<&ModelSettings>) -> Result<ConnectedModel, ModelError> {
        let settings = settings.unwrap();
        let config = ModelConfig {
            model_id: settings.model_id.clone(),
            model_type: Some(settings.model.clone()),
            api_key: Some(settings.api_key.clone()),
            base_url: settings.base_url.clone(),
            api_format: Some(settings.api_format.clone()),
            max_retries: settings.max_retries.unwrap_or(0),
            retry_delay: Duration::from_millis(1),
            ..ModelConfig::default()
        };
        Ok(ConnectedModel {
            model: config.connect(&self.0)?,
            name: settings.model_id.clone(),
            provider: config.detect().vendor.name().to_owned(),
            window: Window::default(),
            counter: Arc::new(Bytes4),
        })
    }

    fn default_model(&self) -> Option<String> {
        None
    }

    fn providers(&self) -> Vec<String> {
        Vec::new()
    }
}

async fn server() -> AgentServer {
    AgentSetup::new(Arc::new(Described::default()))
        .start()
        .await
}

/// Returns a request for a model of the fake provider.
fn to(provider: &FakeProvider, wire: ProviderApi, model: &str, more: Value) -> Value {
    let (model_type, format) = match wire {
        ProviderApi::OpenAiChat => ("openai", "chat"),
        ProviderApi::OpenAiResponses => ("gpt", "responses"),
        ProviderApi::Anthropic => ("claude", "chat"),
        ProviderApi::Gemini => ("google", "chat"),
    };
    let mut body = json!({
        "model_config": {
            "model_id": model, "model": model_type, "api_key": "sk-secret", "api_format": format,
            "base_url": provider.base_url(wire),
        },
        "input": {"text": "Hello"},
    });
    if let Value::Object(more) = more {
        body.as_object_mut().unwrap().extend(more);
    }
    body
}

fn last(told: &[Event]) -> (&str, &Value) {
    let last = told.last().unwrap();
    (last.name.as_str(), &last.data)
}

#[tokio::test]
async fn texts_reasoning_calls_and_reasons_to_stop() {
    let (provider, server) = (FakeProvider::start(ReplyScript::turns([])), server().await);
    let own = json!({"tools": {"builtin": {"codebase.lookup": {}}}});
    let custom = json!({"tools": {"custom": [{"type": "function", "function": {"name": "where", "parameters": {"type": "object", "properties": {}}}}]}});
    let cases = [
        (
            "fake-text-3",
            json!({}),
            vec!["response.start", "content.delta", "response.done"],
            "end_turn",
        ),
        (
            "fake-reasoning",
            json!({}),
            vec![
                "response.start",
                "reasoning.delta",
                "content.delta",
                "response.done",
            ],
            "end_turn",
        ),
        (
            "fake-tool",
            own,
            vec![
                "response.start",
                "tool.start",
                "tool.done",
                "content.delta",
                "response.done",
            ],
            "end_turn",
        ),
        (
            "fake-tool",
            custom,
            vec!["response.start", "tool.call_required", "response.done"],
            "tool_use",
        ),
        (
            "fake-length",
            json!({}),
            vec!["response.start", "content.delta", "response.done"],
            "max_tokens",
        ),
        (
            "fake-filter",
            json!({}),
            vec!["response.start", "content.delta", "response.done"],
            "content_filter",
        ),
    ];
    for wire in ProviderApi::ALL {
        for (model, more, expected, reason) in &cases {
            let told = server.ask(&to(&provider, wire, model, more.clone())).await;
            let case = format!("{model} over {wire:?}: {told:?}");
            assert_eq!(names(&told), *expected, "{case}");
            let (_, done) = last(&told);
            // Anthropic reports a filtered reply as a refusal of the model.
            let reason = match (*reason, wire) {
                ("content_filter", ProviderApi::Anthropic) => "refusal",
                (reason, _) => reason,
            };
            assert_eq!(done["stop_reason"], reason, "{case}");
            assert!(
                done["usage"]["total_tokens"].as_u64().unwrap() > 0,
                "{case}"
            );
        }
    }
}

#[tokio::test]
async fn every_failure_has_its_code_and_one_end() {
    let (provider, server) = (FakeProvider::start(ReplyScript::turns([])), server().await);
    let cases = [
        ("fake-fail-400", &["invalid_request"][..]),
        ("fake-fail-401", &["auth"]),
        ("fake-fail-403", &["forbidden"]),
        ("fake-fail-404", &["model_not_found"]),
        ("fake-fail-429", &["rate_limit"]),
        ("fake-quota", &["quota"]),
        ("fake-context", &["context_length"]),
        ("fake-fail-500", &["server_error"]),
        ("fake-fail-529", &["overloaded"]),
        ("fake-error", &["overloaded", "server_error"]),
        ("fake-reset", &["network"]),
        ("fake-reset-stream", &["stream_truncated", "network"]),
        ("fake-cut", &["stream_truncated"]),
        ("fake-bad-json", &["server_error"]),
    ];
    for wire in ProviderApi::ALL {
        for (model, codes) in cases {
            let body = to(&provider, wire, model, json!({}));
            let told = server.ask(&body).await;
            let (name, error) = last(&told);
            let case = format!("{model} over {wire:?}: {error}");
            assert_eq!(name, "response.error", "{case}");
            assert!(codes.contains(&error["code"].as_str().unwrap()), "{case}");
            assert!(!error["message"].as_str().unwrap().is_empty(), "{case}");
            assert!(error["details"]["provider"].is_string(), "{case}");
            assert!(!error.to_string().contains("sk-secret"), "{case}");
        }
    }
}

#[tokio::test]
async fn a_provider_that_asks_to_wait_is_quoted() {
    for wire in ProviderApi::ALL {
        let wait = ErrorResponse::RateLimited(Some(Duration::from_secs(7)));
        let provider = FakeProvider::start(ReplyScript::turns([ScriptedReply::failing(
            InjectedFault::Refuse(wait),
        )]));
        let server = server().await;
        let told = server.ask(&to(&provider, wire, "m", json!({}))).await;
        let (_, error) = last(&told);
        assert_eq!(error["details"]["retry_after_s"], 7.0, "{error}");
        assert_eq!(error["details"]["http_status"], 429, "{error}");
        assert_eq!(error["details"]["retryable"], true, "{error}");
        let body = to(
            &provider,
            wire,
            "m",
            json!({"features": {"streaming": false}}),
        );
        let answer = server.post("/v1/response", &body).await;
        assert_eq!(
            (answer.status, answer.header("retry-after")),
            (429, Some("7"))
        );
    }
}

fn post(body: &Value, id: &str) -> String {
    let (body, id) = (
        body.to_string(),
        format!("x-request-id: {id}\r\nconnection: close\r\n"),
    );
    format!(
        "POST /v1/response HTTP/1.1\r\nhost: localhost\r\n{id}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test]
async fn stopping_and_leaving_reach_the_provider_in_every_phase() {
    for wire in ProviderApi::ALL {
        for model in ["fake-silent", "fake-silent-stream"] {
            let (provider, server) = (FakeProvider::start(ReplyScript::turns([])), server().await);
            let body = to(&provider, wire, model, json!({}));
            let mut connection = Connection::open(server.address).await;
            connection.send(&post(&body, "one")).await;
            provider.until_asked(1).await;
            let stopped = server
                .post("/v1/response/cancel", &json!({"request_id": "one"}))
                .await;
            assert_eq!(stopped.status, 200, "{}", stopped.body);
            let answer = parse(&connection.read_to_end().await);
            assert_eq!(last(&events(&answer.body)).0, "response.cancelled");
            provider.disconnected(1).await;

            let mut connection = Connection::open(server.address).await;
            connection.send(&post(&body, "two")).await;
            provider.until_asked(2).await;
            drop(connection);
            provider.disconnected(2).await;
        }
    }
}

#[tokio::test]
async fn what_a_cancelled_answer_has_cost_is_told_as_far_as_the_provider_did() {
    for wire in [ProviderApi::Anthropic, ProviderApi::Gemini] {
        let (provider, server) = (FakeProvider::start(ReplyScript::turns([])), server().await);
        let body = to(&provider, wire, "fake-silent-stream", json!({}));
        let mut connection = Connection::open(server.address).await;
        connection.send(&post(&body, "one")).await;
        connection.read_until("two").await;
        let stopped = json!({"request_id": "one"});
        server.post("/v1/response/cancel", &stopped).await;
        let answer = parse(&connection.read_to_end().await);
        let told = events(&answer.body);
        let (name, data) = last(&told);
        assert_eq!(name, "response.cancelled");
        assert!(
            data["usage"]["input_tokens"].as_u64() > Some(0),
            "{wire:?}: {data}"
        );
    }
}

#[tokio::test]
async fn arguments_that_were_cut_are_never_run() {
    let (provider, server) = (FakeProvider::start(ReplyScript::turns([])), server().await);
    let tools = json!({"tools": {"builtin": {"codebase.lookup": {}}}});
    for wire in ProviderApi::ALL {
        let told = server
            .ask(&to(&provider, wire, "fake-cut-arguments", tools.clone()))
            .await;
        assert_eq!(last(&told).0, "response.error", "{told:?}");
        assert!(!names(&told).contains(&"tool.start"), "{told:?}");
    }
}

#[tokio::test]
async fn a_key_goes_to_the_provider_and_nowhere_else() {
    let key: SecretString = "sk-secret".to_owned().into();
    let settings = ModelSettings {
        api_key: key,
        base_url: Some("http://user:pass@host".into()),
        ..ModelSettings::default()
    };
    let shown = format!("{settings:?}");
    assert!(
        !shown.contains("secret") && !shown.contains("pass"),
        "{shown}"
    );
}
