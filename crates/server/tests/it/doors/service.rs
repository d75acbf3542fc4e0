//! A server over a store with a history, a provider that says what it was asked, and tokens with
//! rights.

use std::net::SocketAddr;
use std::sync::Arc;

use quillet_agent::Permissions;
use quillet_core::chat::ChatModel;
use quillet_core::store::{Key, Kind, Store};
use quillet_fake_provider::{Asked, FakeProvider, Script, Turn, Wire};
use quillet_host::definitions::{Grant, Right, Rights};
use quillet_prompt::{Catalogue, PromptService, ServiceOptions, Variables};
use quillet_server::{NamedToken, Server, ServerConfig};
use quillet_store::MemoryStore;
use quillet_template::TemplateFactory;
use quillet_test_support::EchoTools;
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::client::{self, Answer};
use crate::openai::door::models;

/// Definitions that nobody wrote through a door.
const ENTRIES: &[(Kind, &str, &str)] = &[
    (Kind::Environ, "vscode:lang", r#""go""#),
    (
        Kind::Prompt,
        "greet:hello",
        r#"{"prompt":"Hello {{.variables.name}} in {{.vscode.lang}}","model":"scripted-a",
            "options":{"temperature":0.5},"aliases":["pmpt_hello"]}"#,
    ),
    (
        Kind::Prompt,
        "hard",
        r#"{"prompt":"line one\n{{if .variables.name}}x{{end}}"}"#,
    ),
    (
        Kind::Prompt,
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

fn token(name: &str, rights: &[Right]) -> NamedToken {
    NamedToken {
        name: name.to_owned(),
        secret: format!("sk-{name}").into(),
        rights: Rights::of(vec![Grant {
            rights: rights.to_vec(),
            ids: Permissions::parse(&["*"]).unwrap(),
        }]),
    }
}

/// What was asked, as text.
fn answer(asked: &Asked) -> Turn {
    Turn::text([asked.json().to_string()])
}

/// A server whose tokens are `admin`, `writer` and `reader`, each with the secret `sk-NAME`.
pub(super) async fn open() -> Service {
    let provider = FakeProvider::start(Script::function(answer));
    let model: Arc<dyn ChatModel> = Arc::new(models(&provider, Wire::OpenAiChat));
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    for (kind, key, text) in ENTRIES {
        store.put(*kind, &Key::new(*key), text).await.unwrap();
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
            token("admin", &Right::ALL),
            token("writer", &[Right::Read, Right::Render, Right::Write]),
            token("reader", &[Right::Read]),
        ],
        ..ServerConfig::default()
    };
    let server = Server::bind(config, prompts.clone()).await.unwrap();
    let watched = prompts.clone();
    let service = Service {
        address: server.local_addr(),
        provider,
        prompts,
        running: tokio::spawn(server.run(std::future::pending())),
        watching: tokio::spawn(async move { watched.watch().await }),
    };
    // What was there before becomes a version when somebody first asks for one.
    let path = "/api/public/v2/prompts/greet.hello";
    service.done("GET", path, "").await;
    service
}

impl Service {
    /// Asks with the token of that name.
    pub(super) async fn ask(&self, who: &str, method: &str, path: &str, body: &str) -> Answer {
        let token = format!("Bearer sk-{who}");
        let headers = [("authorization", token.as_str())];
        client::request(self.address, method, path, &headers, body).await
    }

    /// Asks with all rights, which has to work.
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

    /// Waits until what was written is known to whoever renders.
    pub(super) async fn settled(&self) {
        self.prompts.sync().await.unwrap();
    }
}
