//! A server with a version history, a provider that replies with the received request, and tokens
//! with different permissions.

use std::net::SocketAddr;
use std::sync::Arc;

use quillet_agent::Permissions;
use quillet_core::chat::ChatModel;
use quillet_core::store::{EntryKey, EntryKind, Store};
use quillet_fake_provider::{
    FakeProvider, ProviderApi, RecordedRequest, ReplyScript, ScriptedReply,
};
use quillet_host::definitions::{Grant, Permission, PermissionSet};
use quillet_prompt::{Catalogue, PromptService, ServiceOptions, Variables};
use quillet_server::{HttpServer, NamedToken, ServerConfig};
use quillet_store::MemoryStore;
use quillet_template::TemplateFactory;
use quillet_test_support::EchoTools;
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::client::{self, Answer};
use crate::openai::door::models;

/// Definitions that were not written through a compatible API.
const ENTRIES: &[(EntryKind, &str, &str)] = &[
    (EntryKind::Environ, "vscode:lang", r#""go""#),
    (
        EntryKind::Prompt,
        "greet:hello",
        r#"{"prompt":"Hello {{.variables.name}} in {{.vscode.lang}}","model":"scripted-a",
            "options":{"temperature":0.5},"aliases":["pmpt_hello"]}"#,
    ),
    (
        EntryKind::Prompt,
        "hard",
        r#"{"prompt":"line one\n{{if .variables.name}}x{{end}}"}"#,
    ),
    (
        EntryKind::Prompt,
        "look",
        r#"{"messages":[{"role":"system","content":"Look."},{"role":"user","content":"{{.variables.question}} {{.variables.image}}"}],"model":"scripted-a"}"#,
    ),
];

/// A running server.
pub(super) struct Service {
    pub(super) address: SocketAddr,
    pub(super) provider: FakeProvider,
    pub(super) prompts: Arc<PromptService>,
    running: JoinHandle<usize>,
    watching: JoinHandle<()>,
}

impl Drop for Service {
    fn drop(&mut self) {
        self.running.abort();
        self.watching.abort();
    }
}

fn token(name: &str, rights: &[Permission]) -> NamedToken {
    NamedToken {
        name: name.to_owned(),
        secret: format!("sk-{name}").into(),
        rights: PermissionSet::of(vec![Grant {
            rights: rights.to_vec(),
            ids: Permissions::parse(&["*"]).unwrap(),
        }]),
    }
}

/// Replies with the received request as text.
fn answer(asked: &RecordedRequest) -> ScriptedReply {
    ScriptedReply::text([asked.json().to_string()])
}

/// Starts a server with the tokens `admin`, `writer` and `reader`, each with the secret `sk-NAME`.
pub(super) async fn open() -> Service {
    let provider = FakeProvider::start(ReplyScript::function(answer));
    let model: Arc<dyn ChatModel> = Arc::new(models(&provider, ProviderApi::OpenAiChat));
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    for (kind, key, text) in ENTRIES {
        store.put(*kind, &EntryKey::new(*key), text).await.unwrap();
    }
    let formats = TemplateFactory::standard();
    let catalogue = Catalogue::new(store.clone(), formats, Arc::new(EchoTools), 100);
    let prompts = Arc::new(PromptService::new(
        catalogue,
        Variables::new(store),
        Some(model),
        ServiceOptions::default(),
    ));
    prompts.load().await.unwrap();
    let config = ServerConfig {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        named_tokens: vec![
            token("admin", &Permission::ALL),
            token(
                "writer",
                &[Permission::Read, Permission::Render, Permission::Write],
            ),
            token("reader", &[Permission::Read]),
        ],
        ..ServerConfig::default()
    };
    let server = HttpServer::bind(config, prompts.clone()).await.unwrap();
    let watched = prompts.clone();
    let service = Service {
        address: server.local_addr(),
        provider,
        prompts,
        running: tokio::spawn(server.run(std::future::pending())),
        watching: tokio::spawn(async move { watched.watch().await }),
    };
    // The first read of an existing definition creates its first version.
    let path = "/api/public/v2/prompts/greet.hello";
    service.done("GET", path, "").await;
    service
}

impl Service {
    /// Sends a request with the token of that name.
    pub(super) async fn ask(&self, who: &str, method: &str, path: &str, body: &str) -> Answer {
        let token = format!("Bearer sk-{who}");
        let headers = [("authorization", token.as_str())];
        client::request(self.address, method, path, &headers, body).await
    }

    /// Sends a request as `admin` and requires success.
    pub(super) async fn done(&self, method: &str, path: &str, body: &str) -> Value {
        let answer = self.ask("admin", method, path, body).await;
        assert!(
            (200..300).contains(&answer.status),
            "{path} {body}: {answer:?}"
        );
        match answer.body.as_str() {
            "" => Value::Null,
            _ => answer.json(),
        }
    }

    /// Waits until renders use the latest writes.
    pub(super) async fn settled(&self) {
        self.prompts.sync().await.unwrap();
    }
}
