//! A server with agents on a free port and a scripted model.

use std::net::SocketAddr;
use std::sync::Arc;

use quillet_agent::Window;
use quillet_core::chat::{Bytes4, ChatModel, ModelError, ModelErrorKind};
use quillet_core::runs::Runs;
use quillet_core::session::Sessions;
use quillet_core::store::EntryKind;
use quillet_host::agent::{
    AgentOptions, AgentParts, AgentService, ConnectedModel, ModelRegistry, ModelSettings,
};
use quillet_prompt::{Catalogue, PromptService, ServiceOptions, Variables};
use quillet_server::{HttpServer, ServerConfig, Services};
use quillet_store::{MemoryRuns, MemorySessions, RunOptions, SessionOptions};
use quillet_template::TemplateFactory;
use quillet_test_support::EchoTools;
use quillet_test_support::TestStore;
use quillet_tools::{Tools, ToolsConfig};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::client::{self, Answer};
use crate::test_server::ENTRIES;

/// Returns the same scripted model for every name except `none`, which is unavailable.
#[derive(Debug)]
pub(crate) struct OneModel(pub(crate) Arc<dyn ChatModel>);

impl ModelRegistry for OneModel {
    fn connect(&self, settings: Option<&ModelSettings>) -> Result<ConnectedModel, ModelError> {
        let settings = settings.cloned().unwrap_or_default();
        if settings.model_id == "none" {
            let why = "there is no key for openai";
            return Err(ModelError::new(ModelErrorKind::Auth, why));
        }
        Ok(ConnectedModel {
            model: self.0.clone(),
            name: settings.model_id,
            provider: "test".into(),
            window: Window {
                context: settings.context_window.unwrap_or(128_000),
                output: settings.max_output_tokens.unwrap_or(4096),
                known: true,
            },
            counter: Arc::new(Bytes4),
        })
    }

    fn default_model(&self) -> Option<String> {
        None
    }

    fn providers(&self) -> Vec<String> {
        vec!["test".into()]
    }
}

/// The configuration of a test server.
pub(crate) struct AgentSetup {
    pub(crate) config: ServerConfig,
    pub(crate) options: AgentOptions,
    pub(crate) models: Arc<dyn ModelRegistry>,
    pub(crate) sessions: Arc<dyn Sessions>,
    pub(crate) runs: Arc<dyn Runs>,
    pub(crate) skills: Vec<quillet_agent::skills::SkillDefinition>,
    pub(crate) tools: ToolsConfig,
    pub(crate) knowledge: Option<Arc<dyn quillet_core::knowledge::Knowledge>>,
}

impl AgentSetup {
    pub(crate) fn new(models: Arc<dyn ModelRegistry>) -> Self {
        AgentSetup {
            config: ServerConfig {
                listen: SocketAddr::from(([127, 0, 0, 1], 0)),
                ..ServerConfig::default()
            },
            options: AgentOptions::default(),
            models,
            sessions: Arc::new(MemorySessions::new(SessionOptions::default())),
            runs: Arc::new(MemoryRuns::new(RunOptions::default())),
            skills: Vec::new(),
            tools: ToolsConfig::default(),
            knowledge: None,
        }
    }

    pub(crate) fn over(model: Arc<dyn ChatModel>) -> Self {
        AgentSetup::new(Arc::new(OneModel(model)))
    }

    pub(crate) async fn start(self) -> AgentServer {
        let agent = r#"{"model": "big-1", "instructions": "Be kind.", "tools": ["codebase_*"]}"#;
        let misspelt = r#"{"model": "big-1", "tools": ["codebase_*", "codebse_*"]}"#;
        let entries: Vec<_> = ENTRIES
            .iter()
            .copied()
            .chain([
                (EntryKind::Agent, "support", agent),
                (EntryKind::Agent, "misspelt", misspelt),
            ])
            .collect();
        let store = TestStore::new(&entries);
        let catalogue = Catalogue::new(
            store.clone(),
            TemplateFactory::standard(),
            Arc::new(EchoTools),
            100,
        );
        let variables = Variables::new(store);
        let service = PromptService::new(catalogue, variables, None, ServiceOptions::default());
        let service = Arc::new(service);
        service.load().await.unwrap();
        let parts = AgentParts {
            models: self.models,
            sessions: self.sessions,
            runs: self.runs,
            journal: None,
            scripts: None,
            tools: Arc::new(Tools::new(self.tools).unwrap()),
            prompts: service.clone(),
            skills: self.skills,
            mcp_servers: quillet_tools::McpServers::default(),
            knowledge: self.knowledge,
            traces: None,
        };
        let agents = AgentService::new(parts, self.options);
        let services = Services {
            agents: Some(agents.clone()),
            ..Services::from(service)
        };
        let server = HttpServer::bind(self.config, services).await;
        let server = server.unwrap();
        let (shutdown, told) = oneshot::channel::<()>();
        AgentServer {
            address: server.local_addr(),
            agents,
            shutdown: Some(shutdown),
            running: tokio::spawn(server.run(async {
                let _ = told.await;
            })),
        }
    }
}

/// A running server.
pub(crate) struct AgentServer {
    pub(crate) address: SocketAddr,
    pub(crate) agents: Arc<AgentService>,
    shutdown: Option<oneshot::Sender<()>>,
    running: JoinHandle<usize>,
}

impl Drop for AgentServer {
    fn drop(&mut self) {
        self.running.abort();
    }
}

impl AgentServer {
    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        client::post(self.address, path, &body.to_string()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        client::get(self.address, path).await
    }

    /// Sends a request and reads the events.
    pub(crate) async fn ask(&self, body: &Value) -> Vec<Event> {
        let answer = self.post("/v1/response", body).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        events(&answer.body)
    }

    /// Requests the shutdown of the server.
    pub(crate) fn stop(&mut self) {
        let _ = self.shutdown.take().unwrap().send(());
    }
}

/// Returns a request for the test's model with additional members.
pub(crate) fn question(text: &str, more: Value) -> Value {
    let mut body = json!({
        "model_config": {"model_id": "test-1", "model": "openai", "api_key": ""},
        "input": {"text": text},
    });
    if let Value::Object(more) = more {
        body.as_object_mut().unwrap().extend(more);
    }
    body
}

/// A received event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) data: Value,
}

/// Reads a stream and checks its structure: every frame has `id`, `event` and `data`, the numbers
/// have no gaps, `response.start` is first, and the only terminal event is last.
pub(crate) fn events(body: &str) -> Vec<Event> {
    let events = frames(body);
    let names: Vec<&str> = events.iter().map(|event| event.name.as_str()).collect();
    let terminal =
        |name: &&&str| ["response.done", "response.cancelled", "response.error"].contains(*name);
    assert_eq!(names.iter().filter(terminal).count(), 1, "{body}");
    assert!(names.last().iter().all(terminal), "{body}");
    assert_eq!(names[0], "response.start");
    assert_eq!(
        names
            .iter()
            .filter(|name| **name == "response.start")
            .count(),
        1
    );
    events
}

/// Returns the frames of a stream without checks of their order.
pub(crate) fn frames(body: &str) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    for frame in body
        .split("\n\n")
        .filter(|frame| !frame.is_empty() && !frame.starts_with(':'))
    {
        let lines: Vec<&str> = frame.split('\n').collect();
        assert_eq!(lines.len(), 3, "{frame:?}");
        let value = |line: &str, name: &str| line.strip_prefix(name).unwrap().to_owned();
        let event = Event {
            id: value(lines[0], "id: ").parse().unwrap(),
            name: value(lines[1], "event: "),
            data: serde_json::from_str(&value(lines[2], "data: ")).unwrap(),
        };
        assert!(
            events.last().is_none_or(|last| event.id == last.id + 1),
            "{body}"
        );
        events.push(event);
    }
    events
}

/// Returns the names of events, with repeated neighbours removed.
pub(crate) fn names(events: &[Event]) -> Vec<&str> {
    let mut names: Vec<&str> = events.iter().map(|event| event.name.as_str()).collect();
    names.dedup();
    names
}
