//! Prompts and tools of the store for MCP clients.

use std::sync::Arc;

use quillet_agent::{AgentEvent, EndReason};
use quillet_core::history::VersionSelector;
use quillet_core::journal::{Decision, RunState as JournalState};
use quillet_core::store::{EntryKey, EntryKind};
use quillet_core::tool::{Tool, ToolError, ToolErrorKind, ToolSpec};
use quillet_core::{BoxFuture, Map, MapTable, Message, Value};
use quillet_prompt::{PromptEntry, PromptResult, PromptService, RenderInput, ServiceError};
use quillet_tools::serve::{AgentReply, McpBackend, NotRendered, PromptArgument, PromptOffer};
use serde_json::Value as Tree;

use crate::agent::{AgentRequest, AgentService, CallDecision, ModelSettings, Principal, RunHandle};
use crate::definitions::{Permission, PermissionSet};
use crate::tool_ids::tool_ids;

/// Prompts and tools of this service. A prompt is also available as a tool: its call returns the
/// model's answer, or the rendered text if no model is configured.
#[derive(Debug)]
pub struct StoredOffer {
    service: Arc<PromptService>,
    /// Permissions of the client: prompts that it may not render are hidden.
    rights: Arc<PermissionSet>,
    /// Agents, and the client that calls them.
    agents: Option<(Arc<AgentService>, Principal)>,
}

impl StoredOffer {
    /// Creates the catalogue of this service, with all permissions.
    #[must_use]
    pub fn new(service: Arc<PromptService>) -> Self {
        StoredOffer {
            service,
            rights: Arc::new(PermissionSet::all()),
            agents: None,
        }
    }

    /// Limits the permissions of the client.
    #[must_use]
    pub fn with_rights(self, rights: Arc<PermissionSet>) -> Self {
        StoredOffer { rights, ..self }
    }

    /// Adds the agents of the store, which are called as `who`.
    #[must_use]
    pub fn with_agents(self, agents: Arc<AgentService>, who: Principal) -> Self {
        StoredOffer {
            agents: Some((agents, who)),
            ..self
        }
    }

    /// Ids of agents.
    async fn agent_ids(&self) -> Vec<String> {
        let store = self.service.catalogue().store();
        // If the store is unavailable, only agents are hidden; prompts and tools stay available.
        let keys = store.keys(EntryKind::Agent).await.unwrap_or_default();
        let mut ids: Vec<String> = keys.iter().map(EntryKey::id).collect();
        ids.retain(|id| self.may(id));
        ids.sort_unstable();
        ids
    }

    async fn call_agent(&self, name: &str, arguments: &Map) -> Result<AgentReply, ToolError> {
        let ids = self.agent_ids().await;
        // Only visible agents are searched, so that a hidden one is reported as unknown.
        let id = ids.iter().find(|id| agent_name(id) == name);
        let (Some((agents, who)), Some(id)) = (&self.agents, id) else {
            let message = format!("unknown agent {name}");
            return Err(ToolError::new(ToolErrorKind::Unknown, message));
        };
        let question = arguments.get("question").and_then(Value::as_str);
        let Some(question) = question else {
            let message = "question: missing text".to_owned();
            return Err(ToolError::new(ToolErrorKind::Arguments, message));
        };
        let mut request = AgentRequest::question(question);
        request.model = Some(ModelSettings {
            model_id: format!("agent/{id}"),
            ..ModelSettings::default()
        });
        let run = uuid::Uuid::new_v4().simple().to_string();
        let begun = agents.begin(request, who, &run).await;
        let running =
            begun.map_err(|error| ToolError::new(ToolErrorKind::Remote, error.to_string()))?;
        followed(agents, who, running).await
    }

    async fn decided(
        &self,
        run: &str,
        decisions: Vec<(String, Decision)>,
    ) -> Result<AgentReply, ToolError> {
        let Some((agents, who)) = &self.agents else {
            let message = format!("unknown run {run}");
            return Err(ToolError::new(ToolErrorKind::Unknown, message));
        };
        let failed = |error: String| ToolError::new(ToolErrorKind::Remote, error);
        for (call, decision) in decisions {
            let deciding = CallDecision {
                call: Some(call),
                decision,
                by: "mcp".to_owned(),
            };
            let noted = agents.record_decision(who, run, deciding).await;
            noted.map_err(|error| failed(error.to_string()))?;
        }
        let running = agents.resume_run(&who.run_id(run)).await;
        match running.map_err(|error| failed(error.to_string()))? {
            Some(running) => followed(agents, who, running).await,
            // For example, other decisions are still missing, or another process has leased the
            // run.
            None => waits(agents, who, run).await,
        }
    }

    fn may(&self, id: &str) -> bool {
        self.rights.has(Permission::Render, id)
    }

    fn offered(&self, id: &str, entry: &PromptEntry) -> PromptOffer {
        PromptOffer {
            name: id.to_owned(),
            title: entry.title().map(str::to_owned),
            description: entry.description().map(str::to_owned),
            arguments: arguments(&self.service.accepted(entry)),
        }
    }
}

impl McpBackend for StoredOffer {
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let snapshot = self.service.catalogue().snapshot();
        let model = self.service.model();
        let result = if model.is_some_and(|model| model.is_configured()) {
            PromptResult::Answer
        } else {
            PromptResult::Text
        };
        let ids = tool_ids(&snapshot);
        let stored = snapshot.functions.iter().filter(|(name, _)| {
            let id = ids.get(&***name).copied();
            self.may(id.unwrap_or(name))
        });
        let stored = stored.map(|(_, tool)| tool.clone());
        let rendered = snapshot.prompts.keys().filter(|id| self.may(id));
        let rendered = rendered.filter_map(|id| self.service.tool(id, result).ok());
        stored.chain(rendered).collect()
    }

    fn agents(&self) -> BoxFuture<'_, Vec<ToolSpec>> {
        Box::pin(async move {
            if self.agents.is_none() {
                return Vec::new();
            }
            let ids = self.agent_ids().await;
            ids.iter().map(|id| agent_spec(id)).collect()
        })
    }

    fn ask<'a>(
        &'a self,
        name: &'a str,
        arguments: Map,
    ) -> BoxFuture<'a, Result<AgentReply, ToolError>> {
        Box::pin(async move { self.call_agent(name, &arguments).await })
    }

    fn go_on<'a>(
        &'a self,
        run: &'a str,
        decisions: Vec<(String, Decision)>,
    ) -> BoxFuture<'a, Result<AgentReply, ToolError>> {
        Box::pin(self.decided(run, decisions))
    }

    fn prompts(&self) -> Vec<PromptOffer> {
        let snapshot = self.service.catalogue().snapshot();
        let usable = snapshot.prompts.iter().filter_map(|(id, definition)| {
            if !self.may(id) {
                return None;
            }
            let entry = definition.usable(EntryKind::Prompt).ok()?;
            Some(self.offered(id, entry))
        });
        usable.collect()
    }

    fn render<'a>(
        &'a self,
        name: &'a str,
        arguments: Map,
    ) -> BoxFuture<'a, Result<Vec<Message>, NotRendered>> {
        Box::pin(async move {
            self.permit(name)?;
            let variables = self.typed(name, &arguments);
            let input = RenderInput::new(&variables, "mcp");
            let rendered = self.service.render(name, &input).await;
            let rendered = rendered.map_err(|error| to_not_rendered(&error))?;
            Ok(self.service.messages(rendered.prompt))
        })
    }
}

impl StoredOffer {
    /// Checks that a prompt, with or without a version selector, may be rendered.
    fn permit(&self, name: &str) -> Result<(), NotRendered> {
        let snapshot = self.service.catalogue().snapshot();
        let id = match VersionSelector::split_id(name) {
            // Ids may contain `@`, so a prompt whose id is the whole name takes precedence.
            Some((id, _)) if snapshot.prompts.get(name).is_none() => id,
            _ => name,
        };
        if self.may(id) {
            return Ok(());
        }
        let message = format!("this token does not have the permission render for prompt {id}");
        Err(NotRendered::Asked(message))
    }

    /// Converts the arguments of an MCP prompt, which are strings. Arguments for parameters of
    /// other types are parsed as JSON, and stay strings if they are not valid JSON.
    fn typed(&self, name: &str, arguments: &Map) -> Map {
        let snapshot = self.service.catalogue().snapshot();
        let definition = self.service.describe(&snapshot, name).ok();
        let entry = definition.as_deref();
        let entry = entry.and_then(|definition| definition.usable(EntryKind::Prompt).ok());
        let Some(entry) = entry else {
            return arguments.clone();
        };
        let schema = self.service.accepted(entry);
        let typed = |(key, value): (&Arc<str>, &Value)| {
            let kind = schema["properties"][&**key]["type"].as_str();
            let read = value
                .as_str()
                .filter(|_| !matches!(kind, None | Some("string")));
            let read = read.and_then(|text| serde_json::from_str::<Tree>(text).ok());
            (key.clone(), read.map_or_else(|| value.clone(), Value::from))
        };
        let table: MapTable = arguments.iter().map(typed).collect();
        Map::new(table)
    }
}

/// Name of an agent as a tool.
fn agent_name(id: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    format!("agent_{}", id.chars().map(plain).collect::<String>())
}

fn agent_spec(id: &str) -> ToolSpec {
    ToolSpec {
        name: agent_name(id),
        also: vec![format!("agent/{id}")],
        description: format!("Asks the agent {id}, which may call tools of its own."),
        parameters: serde_json::json!({
            "type": "object",
            "properties": {"question": {"type": "string", "description": "What is asked."}},
            "required": ["question"],
        }),
        ..ToolSpec::default()
    }
}

/// Reads a run to its end.
async fn followed(
    agents: &AgentService,
    who: &Principal,
    mut running: RunHandle,
) -> Result<AgentReply, ToolError> {
    let run = running.id().to_owned();
    while let Some(event) = running.next().await {
        let AgentEvent::Ended(outcome) = event else {
            continue;
        };
        drop(running);
        return match outcome.ending {
            EndReason::ApprovalRequired => waits(agents, who, &run).await,
            EndReason::Failed(error) => {
                Err(ToolError::new(ToolErrorKind::Remote, error.to_string()))
            }
            EndReason::Cancelled => {
                let message = "the run was stopped".to_owned();
                Err(ToolError::new(ToolErrorKind::Remote, message))
            }
            _ => Ok(AgentReply::Done(outcome.text)),
        };
    }
    let message = format!("another process has resumed the run {run}");
    Err(ToolError::new(ToolErrorKind::Remote, message))
}

/// Describes the pending approvals of a run.
async fn waits(agents: &AgentService, who: &Principal, run: &str) -> Result<AgentReply, ToolError> {
    let failed = |error: String| ToolError::new(ToolErrorKind::Remote, error);
    let (head, _) = agents
        .run(who, run, 0)
        .await
        .map_err(|error| failed(error.to_string()))?;
    match head.standing.state {
        JournalState::Waiting => Ok(AgentReply::Waits {
            run: run.to_owned(),
            calls: head.standing.waiting,
        }),
        state => Err(failed(format!(
            "run {run} is in progress elsewhere or has ended: its state is {}; see GET \
             /v1/runs/{run}",
            state.as_str()
        ))),
    }
}

fn arguments(schema: &Tree) -> Vec<PromptArgument> {
    let required = schema["required"].as_array();
    let is_required = |name: &str| {
        required.is_some_and(|names| names.iter().any(|known| known.as_str() == Some(name)))
    };
    let properties = schema["properties"].as_object().into_iter().flatten();
    let argument = |(name, property): (&String, &Tree)| PromptArgument {
        name: name.clone(),
        description: property["description"].as_str().map(str::to_owned),
        required: is_required(name),
    };
    properties.map(argument).collect()
}

fn to_not_rendered(error: &ServiceError) -> NotRendered {
    let mut text = error.to_string();
    match error {
        ServiceError::Variables { problems, .. } => {
            for problem in problems {
                text.push_str(&format!("; {}: {}", problem.path, problem.message));
            }
            NotRendered::Asked(text)
        }
        ServiceError::NotFound { .. } | ServiceError::Missing { .. } => NotRendered::Asked(text),
        _ => NotRendered::Failed(text),
    }
}
