//! The model router: the selected provider, its API and the key.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use quillet_core::chat::{ChatModel, ChatRequest, ModelError, ModelErrorKind as Kind, Reply};
use quillet_core::{Message, Role};
use quillet_fake_provider::{FakeProvider, ProviderApi, ReplyScript, ScriptedReply};
use quillet_llm::models::{ModelConfig, ModelRouter, ModelSettings, Vendor, VendorSettings};
use quillet_llm::{Http, RetryPolicy};

fn request(model: Option<&str>) -> ChatRequest {
    ChatRequest {
        model: model.map(str::to_owned),
        messages: vec![Message::new(Role::User, "hi")],
        ..ChatRequest::default()
    }
}

async fn ask(model: &dyn ChatModel, name: Option<&str>) -> Result<String, ModelError> {
    let mut stream = model.stream(request(name)).await?;
    let mut reply = Reply::default();
    while let Some(event) = stream.next().await {
        reply.fold(event?);
    }
    Ok(reply.choices[0].text.clone())
}

fn at(provider: &FakeProvider, wire: ProviderApi, key: &str) -> VendorSettings {
    VendorSettings {
        api_key: Some(key.into()),
        base_url: Some(provider.base_url(wire)),
        headers: Vec::new(),
    }
}

fn settings(provider: &FakeProvider) -> ModelSettings {
    ModelSettings {
        openai: at(provider, ProviderApi::OpenAiChat, "key-openai"),
        anthropic: at(provider, ProviderApi::Anthropic, "key-anthropic"),
        google: at(provider, ProviderApi::Gemini, "key-google"),
        default_model: Some("claude-haiku-4-5".to_owned()),
        ..ModelSettings::default()
    }
}

#[tokio::test]
async fn the_name_chooses_the_provider() {
    let provider = FakeProvider::start(ReplyScript::default());
    let models = ModelRouter::new(settings(&provider)).unwrap();
    for (name, wire, told, key) in [
        (
            Some("gpt-4o"),
            ProviderApi::OpenAiChat,
            "gpt-4o",
            "key-openai",
        ),
        (
            Some("openai/gpt-4o"),
            ProviderApi::OpenAiChat,
            "gpt-4o",
            "key-openai",
        ),
        (
            Some("claude-sonnet-4-5"),
            ProviderApi::Anthropic,
            "claude-sonnet-4-5",
            "key-anthropic",
        ),
        (
            Some("Anthropic/my-tuned"),
            ProviderApi::Anthropic,
            "my-tuned",
            "key-anthropic",
        ),
        (
            Some("gemini/gemini-2.5-pro"),
            ProviderApi::Gemini,
            "gemini-2.5-pro",
            "key-google",
        ),
        (
            Some("qwen/qwen3"),
            ProviderApi::OpenAiChat,
            "qwen/qwen3",
            "key-openai",
        ),
        (
            Some("openai-responses/gpt-5"),
            ProviderApi::OpenAiResponses,
            "gpt-5",
            "key-openai",
        ),
        (
            None,
            ProviderApi::Anthropic,
            "claude-haiku-4-5",
            "key-anthropic",
        ),
    ] {
        assert_eq!(
            ask(&models, name).await.unwrap(),
            "Hello, world.",
            "{name:?}"
        );
        let asked = provider.requests().pop().unwrap();
        let found = (asked.wire, asked.model.as_str(), asked.key.as_deref());
        assert_eq!(found, (Some(wire), told, Some(key)), "{name:?}");
    }
    let text = ask(&models, Some("mock-no-tools")).await.unwrap();
    assert!(text.contains("mock model"), "{text}");
    let described = models.describe();
    let wires = ["openai-chat at http", "anthropic at http", "gemini at http"];
    assert!(
        wires.iter().all(|wire| described.contains(wire)),
        "{described}"
    );
    assert!(models.names().contains(&"gpt-4o".to_owned()));
    assert!(models.facts().find("claude-haiku-4-5").known);
    assert!(!format!("{models:?}").contains("key-"), "{models:?}");
}

#[tokio::test]
async fn a_server_at_openais_base_url_answers_for_all_others() {
    let provider = FakeProvider::start(ReplyScript::default());
    let models = ModelRouter::new(ModelSettings {
        openai: at(&provider, ProviderApi::OpenAiChat, "key"),
        ..ModelSettings::default()
    })
    .unwrap();
    for name in [
        "anthropic/claude-sonnet-4-5",
        "gemini-2.5-pro",
        "llama3.1:8b",
    ] {
        ask(&models, Some(name)).await.unwrap();
        let asked = provider.requests().pop().unwrap();
        assert_eq!(
            (asked.wire, asked.model.as_str()),
            (Some(ProviderApi::OpenAiChat), name)
        );
    }
    assert_eq!(models.configured(), [Vendor::OpenAi]);
}

#[tokio::test]
async fn what_is_missing_is_named() {
    let models = ModelRouter::new(ModelSettings::default()).unwrap();
    for (name, kind, parts) in [
        (
            None,
            Kind::Configuration,
            ["no model is set", "QUILLET_MODEL"],
        ),
        (Some("gpt-4o"), Kind::Auth, ["no key", "OPENAI_API_KEY"]),
        (
            Some("claude-opus-4"),
            Kind::Auth,
            ["no key", "ANTHROPIC_API_KEY"],
        ),
        (
            Some("google/gemini-3-pro"),
            Kind::Auth,
            ["no key", "GOOGLE_API_KEY"],
        ),
        (
            Some("llama3"),
            Kind::Auth,
            [
                "\"llama3\", so the request went to OpenAI",
                "OPENAI_BASE_URL",
            ],
        ),
    ] {
        let error = ask(&models, name).await.unwrap_err();
        assert_eq!(error.kind, kind, "{name:?}: {error}");
        for part in parts {
            assert!(error.message.contains(part), "{name:?}: {error}");
        }
    }
    assert!(models.configured().is_empty() && models.names().is_empty());
}

#[tokio::test]
async fn a_request_can_describe_its_own_model() {
    let provider = FakeProvider::start(ReplyScript::turns([ScriptedReply::text(["own"])]));
    let models = ModelRouter::new(ModelSettings::default()).unwrap();
    for (id, kind, format, wire) in [
        ("x", "openai", "chat", ProviderApi::OpenAiChat),
        ("x", "", "", ProviderApi::OpenAiChat),
        ("gpt-5", "gpt", "responses", ProviderApi::OpenAiResponses),
        ("x", "Claude", "", ProviderApi::Anthropic),
        ("gemini-2.5-flash", "", "", ProviderApi::Gemini),
    ] {
        let config = ModelConfig {
            model_id: id.to_owned(),
            model_type: Some(kind.to_owned()),
            api_format: Some(format.to_owned()),
            // With a base URL, the key may be missing or empty.
            api_key: Some("".into()),
            base_url: Some(provider.base_url(wire)),
            headers: vec![("x-own".to_owned(), "yes".into())],
            ..ModelConfig::default()
        };
        let model = models.connect(&config).unwrap();
        assert_eq!(ask(&*model, None).await.unwrap(), "own");
        let asked = provider.requests().pop().unwrap();
        assert_eq!((asked.wire, asked.model.as_str()), (Some(wire), id));
        assert_eq!((asked.header("x-own"), &asked.key), (Some("yes"), &None));
    }
    let config = ModelConfig {
        model_id: "gpt-4o".to_owned(),
        base_url: Some("ftp://nowhere".to_owned()),
        ..ModelConfig::default()
    };
    assert_eq!(
        models.connect(&config).unwrap_err().kind,
        Kind::Configuration
    );
}

#[tokio::test]
async fn keys_of_the_settings_stay_with_their_addresses() {
    let provider = FakeProvider::start(ReplyScript::default());
    let models = ModelRouter::new(settings(&provider)).unwrap();
    let bare = ModelConfig {
        model_id: "claude-opus-4".to_owned(),
        ..ModelConfig::default()
    };
    let own_address = ModelConfig {
        base_url: Some(provider.base_url(ProviderApi::Anthropic)),
        ..bare.clone()
    };
    for (config, key) in [(bare, Some("key-anthropic")), (own_address, None)] {
        ask(&*models.connect(&config).unwrap(), None).await.unwrap();
        let asked = provider.requests().pop().unwrap();
        assert_eq!(
            (asked.wire, asked.key.as_deref()),
            (Some(ProviderApi::Anthropic), key)
        );
    }
}

#[tokio::test]
async fn retries_follow_the_settings() {
    let provider = FakeProvider::start(ReplyScript::default());
    let config = ModelConfig {
        model_id: "fake-fail-500".to_owned(),
        base_url: Some(provider.base_url(ProviderApi::OpenAiChat)),
        max_retries: 2,
        retry_delay: Duration::from_millis(1),
        ..ModelConfig::default()
    };
    let model = config.connect(&Http::default()).unwrap();
    let error = ask(&*model, None).await.unwrap_err();
    assert_eq!((error.status, provider.asked()), (Some(500), 3));
    let told = Arc::new(AtomicUsize::new(0));
    let count = told.clone();
    let models = ModelRouter::new(ModelSettings {
        retries: RetryPolicy {
            waits: vec![Duration::ZERO],
            ..RetryPolicy::default()
        },
        observer: Some(Arc::new(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
        })),
        ..settings(&provider)
    });
    ask(&models.unwrap(), Some("anthropic/fake-fail-529"))
        .await
        .unwrap_err();
    assert_eq!((told.load(Ordering::Relaxed), provider.asked()), (1, 5));
}
