//! A server with databases, agents and scripts in one store, and its provider.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use quillet_core::chat::{Bytes4, ChatModel};
use quillet_core::store::{EntryKey, EntryKind, Store};
use quillet_fake_provider::{FakeProvider, ProviderApi, ReplyScript, ScriptedReply};
use quillet_host::agent::{AgentOptions, AgentParts, AgentService};
use quillet_host::script::{ScriptModels, ScriptOptions, ScriptService, StoredScripts};
use quillet_host::sql::{DatabaseTools, StoredPrompts};
use quillet_llm::RetryPolicy;
use quillet_llm::models::{ModelRouter, ModelSettings, VendorSettings};
use quillet_prompt::{Catalogue, PromptService, ServiceOptions, Variables};
use quillet_script::host::NoTools;
use quillet_script::js::Transport;
use quillet_server::{HttpServer, ServerConfig, Services};
use quillet_sql::database::ConnectOptions;
use quillet_sql::{Databases, ServiceParts, SqlConfig};
use quillet_store::{
    ArchiveOptions, MemoryArchive, MemoryRuns, MemorySessions, MemoryStore, RunOptions,
    SessionOptions,
};
use quillet_template::TemplateFactory;
use quillet_test_support::EchoTools;
use quillet_tools::{McpServers, Tools, ToolsConfig};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::shop::Shop;
use crate::client::{self, Answer};
use crate::test_agents::OneModel;

/// The configuration of a test server.
pub(crate) struct Setup {
    pub(crate) config: ServerConfig,
    pub(crate) sql: SqlConfig,
    pub(crate) answers: ReplyScript,
    pub(crate) has_model: bool,
    /// The definitions in the store.
    pub(crate) entries: Vec<(EntryKind, &'static str, String)>,
}

impl Default for Setup {
    fn default() -> Self {
        Setup {
            config: ServerConfig {
                listen: SocketAddr::from(([127, 0, 0, 1], 0)),
                ..ServerConfig::default()
            },
            sql: SqlConfig::default(),
            answers: ReplyScript::default(),
            has_model: true,
            entries: Vec::new(),
        }
    }
}

impl Setup {
    /// Sets a provider that replies with these texts in order.
    pub(super) fn saying<const N: usize>(texts: [&str; N]) -> Self {
        Setup {
            answers: ReplyScript::turns(texts.map(|text| ScriptedReply::text([text]))),
            ..Setup::default()
        }
    }

    pub(crate) async fn start(self) -> Served {
        let provider = FakeProvider::start(self.answers);
        let models = Arc::new(models(&provider));
        let model: Arc<dyn ChatModel> = models.clone();
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        for (kind, key, text) in &self.entries {
            store.put(*kind, &EntryKey::new(*key), text).await.unwrap();
        }
        let catalogue = Catalogue::new(
            store.clone(),
            TemplateFactory::standard(),
            Arc::new(EchoTools),
            100,
        );
        let prompts = Arc::new(PromptService::new(
            catalogue.with_scripts(Arc::new(StoredScripts)),
            Variables::new(store.clone()),
            Some(model.clone()),
            ServiceOptions::default(),
        ));
        prompts.load().await.unwrap();
        let scripts = ScriptOptions::with_javascript(Transport::Thread);
        let script_models = Arc::new(ScriptModels::new(models));
        ScriptService::run_for(&prompts, script_models, Arc::new(NoTools), scripts);
        let databases = Databases::new(ServiceParts {
            store: store.clone(),
            archive: Arc::new(MemoryArchive::new(ArchiveOptions::default())),
            model: self.has_model.then(|| model.clone()),
            tokens: Arc::new(Bytes4),
            embedder: None,
            prompts: Arc::new(StoredPrompts::new(&prompts).unwrap()),
            config: SqlConfig {
                connect: ConnectOptions {
                    // The tests connect as the owner of the shop.
                    powerful_roles: true,
                    ..self.sql.connect
                },
                ..self.sql
            },
        });
        let services = Services::from(prompts.clone());
        let definitions = services.definitions.clone();
        let services = Services {
            agents: Some(agents(&prompts, model)),
            databases: Some(databases.clone()),
            ..services
        };
        let server = HttpServer::bind(self.config, services).await.unwrap();
        let openapi = serde_json::from_str(server.openapi()).unwrap();
        let tools = DatabaseTools::new(databases, prompts.clone());
        Served {
            address: server.local_addr(),
            provider,
            store,
            openapi,
            running: vec![
                tokio::spawn(async move { prompts.watch().await }),
                tokio::spawn(async move { definitions.watch().await }),
                tokio::spawn(async move { tools.follow().await }),
                tokio::spawn(async move {
                    server.run(std::future::pending()).await;
                }),
            ],
        }
    }

    /// Starts the server and adds a connection to the shop.
    pub(super) async fn with(self, shop: &Shop) -> Served {
        let served = self.start().await;
        served.put("shop", &shop.url()).await;
        served
    }
}

fn agents(prompts: &Arc<PromptService>, model: Arc<dyn ChatModel>) -> Arc<AgentService> {
    let parts = AgentParts {
        models: Arc::new(OneModel(model)),
        sessions: Arc::new(MemorySessions::new(SessionOptions::default())),
        runs: Arc::new(MemoryRuns::new(RunOptions::default())),
        journal: None,
        scripts: None,
        tools: Arc::new(Tools::new(ToolsConfig::default()).unwrap()),
        prompts: prompts.clone(),
        skills: Vec::new(),
        mcp_servers: McpServers::default(),
        knowledge: None,
        traces: None,
    };
    AgentService::new(parts, AgentOptions::default())
}

fn models(provider: &FakeProvider) -> ModelRouter {
    ModelRouter::new(ModelSettings {
        openai: VendorSettings {
            api_key: Some("sk-upstream".into()),
            base_url: Some(provider.base_url(ProviderApi::OpenAiChat)),
            headers: Vec::new(),
        },
        default_model: Some("gpt-4o".into()),
        retries: RetryPolicy::doubling(0, Duration::ZERO),
        ..ModelSettings::default()
    })
    .unwrap()
}

/// A running server.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) provider: FakeProvider,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) openapi: Value,
    running: Vec<JoinHandle<()>>,
}

impl Drop for Served {
    fn drop(&mut self) {
        for task in &self.running {
            task.abort();
        }
    }
}

impl Served {
    pub(crate) async fn send(&self, method: &str, path: &str, body: &str) -> Answer {
        client::request(self.address, method, &path_of(path), &[], body).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, "").await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &body.to_string()).await
    }

    /// Writes a connection and requires success.
    pub(super) async fn put(&self, name: &str, url: &str) -> Value {
        let body = json!({"url": url}).to_string();
        let answer = self.send("PUT", &format!("/dbs/{name}"), &body).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()
    }

    /// Runs a query on the shop and requires success.
    pub(super) async fn query(&self, sql: &str) -> Value {
        let answer = self.post("/dbs/shop/query", &json!({"sql": sql})).await;
        assert_eq!(answer.status, 200, "{sql}: {}", answer.body);
        answer.json()
    }

    /// Asks the shop a question.
    pub(super) async fn ask(&self, question: &str, run: bool) -> Answer {
        let body = json!({"prompt": question, "run": run});
        self.post("/dbs/shop/query/natural", &body).await
    }
}

/// Adds the prefix of the database routes, unless the path starts with `//`.
fn path_of(path: &str) -> String {
    match path.strip_prefix("//") {
        Some(other) => format!("/{other}"),
        None => format!("/api/v1{path}"),
    }
}

/// Checks that an error has all members of errors on these routes.
pub(super) fn error(answer: &Answer, status: u16, code: &str) -> Value {
    assert_eq!(answer.status, status, "{code}: {}", answer.body);
    let body = answer.json();
    assert_eq!(body["error"], code, "{body}");
    assert_eq!(body["code"], code, "{body}");
    assert!(
        body["detail"].as_str().is_some_and(|text| text.len() > 10),
        "{body}"
    );
    body
}
