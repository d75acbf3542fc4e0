//! Embeddings are returned in order, also if they need several requests.

use std::time::Duration;

use quillet_core::chat::ModelErrorKind as Kind;
use quillet_core::knowledge::Embedder;
use quillet_fake_provider::{FakeProvider, ProviderApi, ReplyScript};
use quillet_llm::{EmbedderConfig, Http, OpenAiEmbedder, RetryPolicy};

use crate::CANARY;

fn config(provider: &FakeProvider) -> EmbedderConfig {
    EmbedderConfig {
        base_url: Some(provider.base_url(ProviderApi::OpenAiChat)),
        api_key: Some(CANARY.into()),
        ..EmbedderConfig::default()
    }
}

fn texts(count: usize) -> Vec<String> {
    (0..count)
        .map(|number| format!("text number {number}"))
        .collect()
}

#[tokio::test]
async fn texts_become_vectors_in_their_order() {
    let provider = FakeProvider::start(ReplyScript::default());
    let all = OpenAiEmbedder::new(Http::default(), config(&provider)).unwrap();
    let batched = EmbedderConfig {
        batch: 2,
        dimensions: Some(16),
        ..config(&provider)
    };
    let batched = OpenAiEmbedder::new(Http::default(), batched).unwrap();
    let texts = texts(5);
    let vectors = all.embed(&texts).await.unwrap();
    assert_eq!((vectors.len(), vectors[0].len()), (5, 64));
    assert_ne!(vectors[0], vectors[1]);
    let again = all.embed(&texts[3..4]).await.unwrap();
    assert_eq!(again[0], vectors[3]);
    let short = batched.embed(&texts).await.unwrap();
    assert!(short.len() == 5 && short.iter().all(|vector| vector.len() == 16));
    assert_eq!(provider.asked(), 1 + 1 + 3);
    assert!(all.embed(&[]).await.unwrap().is_empty());
    assert_eq!(provider.asked(), 5);
    let asked = &provider.requests()[0];
    assert_eq!(
        (asked.path.as_str(), asked.key.as_deref()),
        ("/v1/embeddings", Some(CANARY))
    );
    assert_eq!(asked.json()["encoding_format"], "float");
    assert_eq!(all.model(), "text-embedding-3-small");
}

#[tokio::test]
async fn failures_are_told_and_retried() {
    let provider = FakeProvider::start(ReplyScript::default());
    for (model, kind, requests) in [
        ("fake-fail-500", Kind::Provider, 3),
        ("fake-fail-401", Kind::Auth, 1),
        ("fake-fail-404", Kind::ModelNotFound, 1),
        ("fake-quota", Kind::Quota, 1),
    ] {
        let before = provider.asked();
        let config = EmbedderConfig {
            model: model.to_owned(),
            retries: RetryPolicy {
                waits: vec![Duration::ZERO; 2],
                ..RetryPolicy::default()
            },
            ..config(&provider)
        };
        let embedder = OpenAiEmbedder::new(Http::default(), config).unwrap();
        let error = embedder.embed(&texts(1)).await.unwrap_err();
        assert_eq!(
            (error.kind, provider.asked() - before),
            (kind, requests),
            "{error}"
        );
        assert!(!error.message.contains(CANARY), "{error}");
        assert!(!format!("{embedder:?}").contains(CANARY));
    }
    let small = EmbedderConfig {
        body_bytes: 100,
        ..config(&provider)
    };
    let embedder = OpenAiEmbedder::new(Http::default(), small).unwrap();
    let error = embedder.embed(&texts(3)).await.unwrap_err();
    assert!(error.message.contains("body_bytes"), "{error}");
    let error = OpenAiEmbedder::new(Http::default(), EmbedderConfig::default()).unwrap_err();
    assert!(error.message.contains("OPENAI_API_KEY"), "{error}");
}
