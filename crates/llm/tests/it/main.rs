//! Tests of the model client with a scripted provider.

#![allow(clippy::unwrap_used)]

mod addresses;
mod anthropic;
mod anthropic_requests;
mod cancel;
mod embeddings;
mod facts;
mod failures;
mod gemini;
mod gemini_requests;
mod hostile;
mod models;
mod on_the_way;
mod openai_requests;
mod parts;
mod providers;
mod rates;
mod record;
mod refusals;
mod retries;
mod splits;
mod transcripts;
mod wholeness;
mod wire_hostile;
mod wire_moves;
mod wire_sent;

use std::sync::Arc;

use futures_util::StreamExt;
use quillet_core::chat::{ChatModel, ChatRequest, ModelError, Reply};
use quillet_core::{Message, Role};
use quillet_llm::{Http, OpenAiChat, Provider, ProviderConfig};
use quillet_test_support::scripted::ScriptedServer;

/// A secret that must not appear in any message or debug output.
const CANARY: &str = "sk-canary-5f1d";

fn config(server: &ScriptedServer) -> ProviderConfig {
    ProviderConfig {
        base_url: Some(server.url()),
        api_key: Some(CANARY.into()),
        model: Some("small".into()),
        ..ProviderConfig::default()
    }
}

fn provider(config: ProviderConfig) -> Result<Provider, ModelError> {
    Provider::new(Http::default(), Arc::new(OpenAiChat::default()), config)
}

fn model(server: &ScriptedServer) -> Provider {
    provider(config(server)).unwrap()
}

fn request() -> ChatRequest {
    ChatRequest {
        messages: vec![Message::new(Role::User, "hi")],
        ..ChatRequest::default()
    }
}

/// Returns the reply, and the error that ended it.
async fn ask(model: &dyn ChatModel) -> (Reply, Option<ModelError>) {
    let mut reply = Reply::default();
    let mut stream = match model.stream(request()).await {
        Ok(stream) => stream,
        Err(error) => return (reply, Some(error)),
    };
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => reply.fold(event),
            Err(error) => return (reply, Some(error)),
        }
    }
    (reply, None)
}
