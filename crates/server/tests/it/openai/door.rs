//! A server with the fake provider, prompts and agents.

use std::net::SocketAddr;
use std::sync::Arc;

use quillet_agent::Window;
use quillet_core::batch::{BatchOptions, BatchService};
use quillet_core::chat::{Bytes4, ChatModel, ModelError};
use quillet_core::store::EntryKind;
use quillet_fake_provider::{FakeProvider, ProviderApi, ReplyScript};
use quillet_host::agent::{self, AgentOptions, AgentParts, AgentService, ConnectedModel};
use quillet_llm::RetryPolicy;
use quillet_llm::models::{ModelRouter, ModelSettings, VendorSettings};
use quillet_prompt::{Catalogue, PromptService, ServiceOptions, Variables};
use quillet_server::{HttpServer, ServerConfig, Services};
use quillet_store::{MemoryRuns, MemorySessions, RunOptions, SessionOptions, StoreOptions};
use quillet_template::TemplateFactory;
use quillet_test_support::EchoTools;
use quillet_test_support::TestStore;
use quillet_tools::{McpServers, Tools, ToolsConfig};
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::client::{self, Answer};

const ENTRIES: &[(EntryKind, &str, &str)] = &[
    (EntryKind::Environ, "vscode:lang", r#""go""#),
    (
        EntryKind::Tool,
        "codebase:lookup",
        r#"{"parameters":{"type":"object","properties":{"symbol":{"type":"string"}},"required":["symbol"]}}"#,
    ),
    (
        EntryKind::Prompt,
        "review",
        r#"{"messages":[{"role":"system","content":"You review {{.vscode.lang}} in {{.variables.repo}}."}],
            "parameters":[{"name":"repo","type":"string","required":true}],
            "model":"fake-text-2","options":{"temperature":0.5,"top_p":0.5}}"#,
    ),
    (
        EntryKind::Prompt,
        "placed",
        r#"{"format":"dotprompt","prompt":"{{role \"system\"}}Before.{{history}}{{role \"system\"}}After.","model":"fake-text-2"}"#,
    ),
    (EntryKind::Prompt, "torn", r#"{"userPrompt":"{{if"}"#),
    (
        EntryKind::Agent,
        "support",
        r#"{"model":"fake-tool-1","instructions":"Be kind.","tools":["codebase_*"]}"#,
    ),
    (
        EntryKind::Agent,
        "plain",
        r#"{"model":"fake-reasoning","instructions":"Be kind."}"#,
    ),
    (EntryKind::Agent, "failing", r#"{"model":"fake-fail-401"}"#),
    (EntryKind::Agent, "scripted", r#"{"model":"scripted-1"}"#),
];

/// Resolves models by name with the server's connections.
#[derive(Debug)]
struct ByName(Arc<ModelRouter>);

impl agent::ModelRegistry for ByName {
    fn connect(
        &self,
        settings: Option<&agent::ModelSettings>,
    ) -> Result<ConnectedModel, ModelError> {
        let name = settings.map_or_else(String::new, |settings| settings.model_id.clone());
        Ok(ConnectedModel {
            model: self.0.clone(),
            name,
            provider: "openai".into(),
            window: Window::default(),
            counter: Arc::new(Bytes4),
        })
    }

    fn default_model(&self) -> Option<String> {
        self.0.default_model().map(str::to_owned)
    }

    fn providers(&self) -> Vec<String> {
        vec!["openai".into()]
    }
}

/// A running server with its provider.
pub(super) struct Door {
    pub(super) address: SocketAddr,
    pub(super) provider: FakeProvider,
    running: JoinHandle<usize>,
}

impl Drop for Door {
    fn drop(&mut self) {
        self.running.abort();
    }
}

/// Starts a server without tokens.
pub(super) async fn open() -> Door {
    open_with(
        ReplyScript::default(),
        ProviderApi::OpenAiChat,
        ServerConfig::default(),
    )
    .await
}

/// Starts a server with limits on batches.
pub(super) async fn open_limited(batches: BatchOptions) -> Door {
    let config = ServerConfig::default();
    open_all(
        ReplyScript::default(),
        ProviderApi::OpenAiChat,
        config,
        batches,
    )
    .await
}

pub(super) async fn open_with(
    script: ReplyScript,
    wire: ProviderApi,
    config: ServerConfig,
) -> Door {
    open_all(script, wire, config, BatchOptions::default()).await
}

async fn open_all(
    script: ReplyScript,
    wire: ProviderApi,
    config: ServerConfig,
    batches: BatchOptions,
) -> Door {
    let provider = FakeProvider::start(script);
    let models = Arc::new(models(&provider, wire));
    let store = TestStore::new(ENTRIES);
    let catalogue = Catalogue::new(
        store.clone(),
        TemplateFactory::standard(),
        Arc::new(EchoTools),
        100,
    );
    let model: Arc<dyn ChatModel> = models.clone();
    let prompts = PromptService::new(
        catalogue,
        Variables::new(store),
        Some(model),
        ServiceOptions::default(),
    );
    let prompts = Arc::new(prompts);
    prompts.load().await.unwrap();
    let parts = AgentParts {
        models: Arc::new(ByName(models)),
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
    let agents = AgentService::new(parts, AgentOptions::default());
    let config = ServerConfig {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        ..config
    };
    let services = Services {
        agents: Some(agents),
        batches: Some(BatchService {
            store: quillet_store::open_batches("memory:", &StoreOptions::default())
                .await
                .unwrap(),
            options: batches,
        }),
        ..Services::from(prompts)
    };
    let server = HttpServer::bind(config, services).await;
    let server = server.unwrap();
    Door {
        address: server.local_addr(),
        provider,
        running: tokio::spawn(server.run(std::future::pending())),
    }
}

/// Returns a router for a provider with this API.
pub(crate) fn models(provider: &FakeProvider, wire: ProviderApi) -> ModelRouter {
    let at = || VendorSettings {
        api_key: Some("sk-upstream".into()),
        base_url: Some(provider.base_url(wire)),
        headers: Vec::new(),
    };
    let mut settings = ModelSettings {
        default_model: Some("fake-text-3".into()),
        retries: RetryPolicy::doubling(0, std::time::Duration::ZERO),
        ..ModelSettings::default()
    };
    match wire {
        ProviderApi::Anthropic => settings.anthropic = at(),
        ProviderApi::Gemini => settings.google = at(),
        ProviderApi::OpenAiChat | ProviderApi::OpenAiResponses => settings.openai = at(),
    }
    if wire == ProviderApi::OpenAiResponses {
        settings.api_format = Some("responses".into());
    }
    ModelRouter::new(settings).unwrap()
}

impl Door {
    pub(super) async fn post(&self, path: &str, body: &Value) -> Answer {
        client::post(self.address, path, &body.to_string()).await
    }

    pub(super) async fn get(&self, path: &str) -> Answer {
        client::get(self.address, path).await
    }

    /// Returns the chunks of a streamed chat and checks for the final `[DONE]`.
    pub(super) async fn chunks(&self, body: &Value) -> Vec<Value> {
        let answer = self.post("/v1/chat/completions", body).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let mut events = answer.events();
        assert_eq!(events.pop(), Some("[DONE]"), "{}", answer.body);
        let read = |data: &str| serde_json::from_str(data).unwrap();
        events.into_iter().map(read).collect()
    }

    /// Returns the body of the last request to the provider.
    pub(super) fn last(&self) -> Value {
        self.provider.requests().last().unwrap().json()
    }
}
