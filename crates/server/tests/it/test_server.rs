//! A server on a free port with test prompts.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use quillet_core::chat::ChatModel;
use quillet_core::store::{EntryKind, Store};
use quillet_prompt::{Catalogue, PromptService, ServiceOptions, Variables};
use quillet_server::{HttpServer, ServerConfig};
use quillet_template::{RenderLimits, TemplateFactory};
use quillet_test_support::EchoTools;
use quillet_test_support::TestStore;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::client::{self, Answer};
use crate::test_model::{Script, TestModel, hello};

/// The definitions of the tests.
pub(crate) const ENTRIES: &[(EntryKind, &str, &str)] = &[
    (EntryKind::Environ, "vscode:lang", r#""go""#),
    (EntryKind::Environ, "vscode:frameworks", r#"["gin","gorm"]"#),
    (EntryKind::Environ, "codebase:lines", "1234567"),
    (EntryKind::Environ, "model:gpt-4.1", "true"),
    (
        EntryKind::Tool,
        "codebase:lookup",
        r#"{"parameters":{"type":"object","properties":{"symbol":{"type":"string"}}}}"#,
    ),
    (EntryKind::Tool, "ill", r#"{"fail":true,"default":"none"}"#),
    (
        EntryKind::Tool,
        "hung",
        r#"{"hang":true,"default":"gave up"}"#,
    ),
    (EntryKind::Tool, "my-mod:x", "{}"),
    (EntryKind::Tool, "torn", "{"),
    (
        EntryKind::Extension,
        "zgsm:evaluator",
        r#"{"name":"evaluator","extensionType":"prompt","contributes":{"prompts":[
            {"name":"quality","messages":[
                {"role":"system","content":"You review {{.vscode.lang}}."},
                {"role":"user","content":"{{.variables.repo}} has {{.codebase.lines}} lines"}],
             "parameters":[{"name":"repo","type":"string","default":"This project"}]},
            {"name":"torn","userPrompt":"{{if"}]}}"#,
    ),
    (
        EntryKind::Prompt,
        "hello",
        r#"{"userPrompt":"Hello {{.variables.name}} in {{.vscode.lang}}"}"#,
    ),
    (EntryKind::Prompt, "a:b:c", r#"{"prompt":"dotted"}"#),
    (
        EntryKind::Prompt,
        "torn",
        "{\"userPrompt\":\"line one\\n{{if .variables.x}}\"}",
    ),
    (
        EntryKind::Prompt,
        "both",
        r#"{"userPrompt":"x","messages":[]}"#,
    ),
    (
        EntryKind::Prompt,
        "uses:ill",
        r#"{"userPrompt":"[{{ill}}]"}"#,
    ),
    (
        EntryKind::Prompt,
        "uses:hung",
        r#"{"userPrompt":"[{{hung}}]"}"#,
    ),
    (
        EntryKind::Prompt,
        "uses:lookup",
        r#"{"userPrompt":"{{codebase_lookup .variables.symbol}}"}"#,
    ),
    (
        EntryKind::Prompt,
        "uses:unknown",
        r#"{"userPrompt":"{{codebase_lokup 1}}"}"#,
    ),
    (
        EntryKind::Prompt,
        "typed",
        r#"{"userPrompt":"{{.variables.n}}","parameters":[{"name":"n","type":"integer","required":true}]}"#,
    ),
    (
        EntryKind::Prompt,
        "executes",
        r#"{"userPrompt":"{{index .variables.list 9}}"}"#,
    ),
    (
        EntryKind::Prompt,
        "busy",
        r#"{"userPrompt":"{{range 300000}}x{{end}}"}"#,
    ),
    (
        EntryKind::Prompt,
        "endless",
        r#"{"userPrompt":"{{define \"a\"}}{{template \"a\"}}{{end}}{{template \"a\"}}"}"#,
    ),
];

/// The configuration of a test server.
pub(crate) struct Setup {
    pub(crate) config: ServerConfig,
    pub(crate) model: Option<Arc<TestModel>>,
    pub(crate) limits: RenderLimits,
    pub(crate) load: bool,
    pub(crate) more: Vec<(EntryKind, &'static str, &'static str)>,
}

impl Default for Setup {
    fn default() -> Self {
        Setup {
            config: ServerConfig {
                listen: SocketAddr::from(([127, 0, 0, 1], 0)),
                ..ServerConfig::default()
            },
            model: Some(TestModel::new(Script::Says(hello()))),
            limits: RenderLimits::default(),
            load: true,
            more: Vec::new(),
        }
    }
}

/// A running server.
pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    pub(crate) store: Arc<TestStore>,
    pub(crate) service: Arc<PromptService>,
    pub(crate) openapi: serde_json::Value,
    shutdown: Option<oneshot::Sender<()>>,
    running: JoinHandle<usize>,
    watching: JoinHandle<()>,
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.running.abort();
        self.watching.abort();
    }
}

pub(crate) async fn start() -> TestServer {
    start_with(Setup::default()).await
}

pub(crate) async fn start_with(setup: Setup) -> TestServer {
    let entries: Vec<_> = ENTRIES.iter().chain(&setup.more).copied().collect();
    let store = TestStore::new(&entries);
    let shared: Arc<dyn Store> = store.clone();
    let catalogue = Catalogue::new(
        shared.clone(),
        TemplateFactory::standard(),
        Arc::new(EchoTools),
        100,
    );
    let options = ServiceOptions {
        limits: setup.limits,
        ..ServiceOptions::default()
    };
    let model = setup.model.map(|model| model as Arc<dyn ChatModel>);
    let service = Arc::new(PromptService::new(
        catalogue,
        Variables::new(shared),
        model,
        options,
    ));
    if setup.load {
        service.load().await.unwrap();
    } else {
        store.set_away(true);
    }
    let server = HttpServer::bind(setup.config, service.clone())
        .await
        .unwrap();
    let (shutdown, told) = oneshot::channel::<()>();
    TestServer {
        address: server.local_addr(),
        store,
        openapi: serde_json::from_str(server.openapi()).unwrap(),
        shutdown: Some(shutdown),
        service: service.clone(),
        watching: tokio::spawn(async move { service.watch().await }),
        running: tokio::spawn(server.run(async {
            let _ = told.await;
        })),
    }
}

impl TestServer {
    pub(crate) async fn get(&self, path: &str) -> Answer {
        client::get(self.address, path).await
    }

    pub(crate) async fn post(&self, path: &str, body: &str) -> Answer {
        client::post(self.address, path, body).await
    }

    /// Requests the shutdown of the server.
    pub(crate) fn stop(&mut self) {
        let _ = self.shutdown.take().unwrap().send(());
    }

    /// Waits for the end of the server and returns the number of closed connections.
    pub(crate) async fn ended(&mut self) -> usize {
        (&mut self.running).await.unwrap()
    }
}

/// Waits for a condition and fails after 20 seconds with a description of it.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..2000 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {what}");
}
