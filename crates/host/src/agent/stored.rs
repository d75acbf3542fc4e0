//! Stored agents, which requests name as `agent/NAME` in `model_id`.

use std::sync::Arc;

use quillet_agent::definition::{Instructions, SkillChoice as Chosen};
use quillet_agent::{AgentDefinition, AgentError, PromptVersion};
use quillet_core::store::{EntryKey, EntryKind};
use quillet_core::{ErrorCode, Map, nearest};
use quillet_prompt::{RenderInput, RenderedPrompt};
use serde_json::Value;

use super::assemble::setup;
use super::{AgentRequest, AgentService, ModelSettings, RawJson, SkillChoice};

/// Prefix of model names that refer to agents.
pub(super) const PREFIX: &str = "agent/";

/// Returns the name of the requested agent, if any.
pub(super) fn name(request: &AgentRequest) -> Option<&str> {
    request.model.as_ref()?.model_id.strip_prefix(PREFIX)
}

/// Returns the requested agent, if any.
pub(super) async fn find(
    service: &AgentService,
    request: &AgentRequest,
) -> Result<Option<AgentDefinition>, AgentError> {
    let Some(name) = name(request) else {
        return Ok(None);
    };
    let store = service.parts.prompts.catalogue().store();
    // Ids contain dots where keys contain colons; a key with dots is used as it is.
    let keys = [EntryKey::new(name), EntryKey::new(name.replace('.', ":"))];
    let texts = store.get(EntryKind::Agent, &keys).await;
    let texts = texts.map_err(|error| setup(ErrorCode::RunServerError, error.to_string()))?;
    let Some(text) = texts.into_iter().flatten().next() else {
        return Err(unknown(service, name).await);
    };
    let definition = AgentDefinition::parse(&format!("agent {name}"), &text);
    definition.map(Some).map_err(|found| {
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        setup(
            ErrorCode::RunInvalidRequest,
            format!("agent {name} is invalid: {}", found.join("; ")),
        )
    })
}

async fn unknown(service: &AgentService, name: &str) -> AgentError {
    let keys = service
        .parts
        .prompts
        .catalogue()
        .store()
        .keys(EntryKind::Agent)
        .await;
    // The keys only serve the hint; the error is the same without them.
    let known: Vec<String> = keys.unwrap_or_default().iter().map(EntryKey::id).collect();
    let near = nearest(name, known.iter().map(String::as_str));
    let hint = near.map_or_else(String::new, |near| format!(" (did you mean {near:?}?)"));
    setup(
        ErrorCode::RunModelNotFound,
        format!("unknown agent {name:?}{hint}"),
    )
}

/// Applies the settings of an agent to a request, whose own settings take precedence. Returns the
/// stored prompt of the instructions, if any. Recorded instructions are not rendered again.
pub(super) async fn apply_agent_defaults(
    service: &AgentService,
    agent: &AgentDefinition,
    request: &mut AgentRequest,
    id: &str,
    is_known: bool,
) -> Result<Option<PromptVersion>, AgentError> {
    model(agent, request);
    let session = request.session_id();
    let (own, spoke) = if is_known {
        (None, None)
    } else {
        instructions(service, agent, id, session.as_deref()).await?
    };
    let parts: Vec<String> = own.into_iter().chain(request.system.take()).collect();
    request.system = (!parts.is_empty()).then(|| parts.join("\n\n"));
    let skill = |chosen: &Chosen| SkillChoice {
        name: chosen.name.clone(),
        preload: chosen.preload,
    };
    request.tools.skills.extend(agent.skills.iter().map(skill));
    request
        .tools
        .mcp_servers
        .extend(servers(&agent.mcp_servers));
    let features = &mut request.features;
    let told = &agent.features;
    features.deep_thinking |= told.deep_thinking.unwrap_or(false);
    features.clarification |= told.clarification.unwrap_or(false);
    features.web_search |= told.web_search.unwrap_or(false);
    // On by default, unlike the other features, so the request and the agent can each turn it off.
    features.message_compression &= told.message_compression.unwrap_or(true);
    features.search_engine = features
        .search_engine
        .take()
        .or_else(|| told.search_engine.clone());
    request.metadata.is_subscription |= told.silent_exit.unwrap_or(false);
    Ok(spoke)
}

/// Applies the model of the agent, keeping key and address of the request.
fn model(agent: &AgentDefinition, request: &mut AgentRequest) {
    let Some(model) = &agent.model else {
        // The model id of the request is the agent's name, which no provider knows.
        request.model = None;
        return;
    };
    let given = request.model.take().unwrap_or_default();
    request.model = Some(ModelSettings {
        model_id: model.clone(),
        model: agent.model_type.clone().unwrap_or_default(),
        api_format: agent.api_format.clone().unwrap_or(given.api_format),
        context_window: agent.context_window.or(given.context_window),
        max_output_tokens: agent.max_output_tokens.or(given.max_output_tokens),
        ..given
    });
}

async fn instructions(
    service: &AgentService,
    agent: &AgentDefinition,
    id: &str,
    session: Option<&str>,
) -> Result<(Option<String>, Option<PromptVersion>), AgentError> {
    match &agent.instructions {
        Instructions::None => Ok((None, None)),
        Instructions::Text(text) => Ok((Some(text.clone()), None)),
        Instructions::Prompt {
            id: prompt,
            variables,
        } => {
            let variables = variables.clone().into_iter();
            let variables: Map = variables
                .map(|(name, value)| (name, quillet_core::Value::from(value)))
                .collect();
            let (text, version) = rendered(service, prompt, &variables, id, session).await?;
            let id = prompt.clone();
            let spoke = PromptVersion {
                id,
                version,
                variables: Some(Arc::new(variables)),
            };
            Ok((Some(text), Some(spoke)))
        }
    }
}

/// Returns the text of a stored prompt, and its version.
pub(super) async fn rendered(
    service: &AgentService,
    prompt: &str,
    variables: &Map,
    id: &str,
    session: Option<&str>,
) -> Result<(String, Option<u64>), AgentError> {
    let input = RenderInput {
        numbered: true,
        session,
        ..RenderInput::new(variables, id)
    };
    let rendered = service.parts.prompts.render(prompt, &input).await;
    let rendered =
        rendered.map_err(|error| setup(ErrorCode::RunInvalidRequest, error.to_string()))?;
    Ok((text(rendered.prompt), rendered.version))
}

pub(super) fn text(prompt: RenderedPrompt) -> String {
    match prompt {
        RenderedPrompt::Text(text) => text,
        RenderedPrompt::Messages(messages) => {
            let texts: Vec<String> = messages.iter().map(|m| m.content.to_string()).collect();
            texts.join("\n\n")
        }
    }
}

/// The servers of an agent as a list, each with its name.
fn servers(written: &Value) -> Vec<RawJson> {
    match written {
        Value::Array(list) => list.iter().cloned().map(RawJson).collect(),
        Value::Object(named) => named
            .iter()
            .map(|(name, server)| {
                let mut server = server.clone();
                if let Value::Object(members) = &mut server {
                    members.insert("name".to_owned(), name.as_str().into());
                }
                RawJson(server)
            })
            .collect(),
        _ => Vec::new(),
    }
}
