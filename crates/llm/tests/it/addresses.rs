//! Destinations and headers of requests: rejected addresses, the header of the key, request ids and
//! wait times.

use std::sync::Arc;
use std::time::Duration;

use quillet_core::chat::{ChatModel, ModelErrorKind as Kind};
use quillet_llm::{Http, HttpOptions, OpenAiChat, Provider, ProviderConfig};
use quillet_test_support::scripted::{ScriptedServer, answer, good};

use crate::{CANARY, ask, config, provider, request};

#[tokio::test]
async fn metadata_services_are_no_models() {
    for url in [
        "http://169.254.169.254/latest",
        "http://[fd00:ec2::254]/v1",
        "http://metadata.google.internal",
        "http://100.100.100.200",
        "http://0xa9fea9fe/",
    ] {
        let config = ProviderConfig {
            base_url: Some(url.into()),
            ..ProviderConfig::default()
        };
        let error = provider(config).unwrap_err();
        assert_eq!(error.kind, Kind::Configuration, "{url}");
        assert!(error.message.contains("may expose credentials"), "{error}");
    }
    let http = Http::new(HttpOptions {
        allow: vec!["169.254.1.2".into()],
        ..HttpOptions::default()
    });
    let config = ProviderConfig {
        base_url: Some("http://169.254.1.2".into()),
        ..ProviderConfig::default()
    };
    assert!(Provider::new(http, Arc::new(OpenAiChat::default()), config).is_ok());
}

#[tokio::test]
async fn many_providers_share_one_connection() {
    let server = ScriptedServer::start(vec![good("a")]);
    let http = Http::default();
    for key in ["first-key", "second-key"] {
        let mut config = config(&server);
        config.api_key = Some(key.into());
        let wire = Arc::new(OpenAiChat::default());
        let model = Provider::new(http.clone(), wire, config).unwrap();
        assert!(ask(&model).await.1.is_none());
        // The end of the body arrives shortly after the end of the answer.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let seen = server.seen();
    assert_eq!((seen[0].connection, seen[1].connection), (0, 0));
    assert!(seen[1].head.contains("second-key") && !seen[1].head.contains("first-key"));
}

#[tokio::test]
async fn the_key_goes_where_the_server_looks_for_it() {
    let azure = "/openai/deployments/d?api-version=2024-10-21";
    let cases = [
        (
            "",
            Some(CANARY),
            "post /v1/chat/completions http/1.1",
            "authorization: bearer sk-",
        ),
        ("", Some(""), "post /v1/chat/completions http/1.1", ""),
        (
            azure,
            Some(CANARY),
            "post /openai/deployments/d/chat/completions?api-version=2024-10-21 http/1.1",
            "api-key: sk-",
        ),
    ];
    for (path, key, line, header) in cases {
        let server = ScriptedServer::start(vec![good("a")]);
        let mut config = config(&server);
        config.base_url = Some(server.url().replace("/v1", path));
        config.api_key = key.map(Into::into);
        assert!(ask(&provider(config).unwrap()).await.1.is_none());
        let head = server.seen()[0].head.to_lowercase();
        assert!(head.starts_with(line) && head.contains(header), "{head}");
        let sent = head.contains("authorization:") || head.contains("api-key:");
        assert_eq!(sent, !header.is_empty(), "{head}");
    }
}

#[tokio::test]
async fn headers_of_the_connection_are_not_the_callers() {
    for name in ["Host", "content-length", "Transfer-Encoding"] {
        let config = ProviderConfig {
            base_url: Some("http://h".into()),
            headers: vec![(name.into(), "x".into())],
            ..ProviderConfig::default()
        };
        let error = provider(config).unwrap_err();
        assert!(error.message.contains(name), "{error}");
    }
}

#[tokio::test]
async fn ids_and_waits_of_a_refusal_come_back() {
    let body = r#"{"error":{"message":"slow","code":"rate_limit_exceeded"}}"#;
    let headers = [("x-request-id", "req_7"), ("retry-after-ms", "1500")];
    let server = ScriptedServer::start(vec![answer(429, "application/json", &headers, body)]);
    let model = provider(config(&server)).unwrap();
    let error = model.stream(request()).await.err().unwrap();
    assert_eq!(error.kind, Kind::RateLimited);
    assert_eq!(error.request_id.as_deref(), Some("req_7"));
    assert_eq!(error.retry_after, Some(Duration::from_millis(1500)));
    assert_eq!(error.provider_code.as_deref(), Some("rate_limit_exceeded"));
}
