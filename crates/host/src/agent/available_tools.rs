//! Tools and skills that a request may use: tools of this service, tools of MCP servers, stored
//! prompts, and skills with their tools.

use std::sync::Arc;

use quillet_agent::skills::SkillDefinition;
use quillet_agent::{AgentError, Permissions, Skill};
use quillet_core::store::EntryKind;
use quillet_core::tool::Tool;
use quillet_core::{Diagnostic, ErrorCode, nearest};
use quillet_prompt::PromptResult;
use quillet_tools::builtin::{BY_NAME, BuiltinOptions, KnowledgeBase};
use quillet_tools::{McpOrigin, McpServers};
use serde_json::{Map, Value};

use super::assemble::setup;
use super::{AgentRequest, AgentService, RawJson, stored};
use crate::tool_ids::tool_id;

/// Prefixes of prompts and scripts that are used as tools.
const PROMPT: [&str; 2] = ["prompt/", "script/"];

/// Tools and skills of a request.
#[derive(Default)]
pub(super) struct AvailableTools {
    pub(super) tools: Vec<Arc<dyn Tool>>,
    pub(super) skills: Vec<Skill>,
    /// Skills that are loaded from the start because of their own `preload`.
    pub(super) preloaded: Vec<String>,
    /// Warnings for the caller.
    pub(super) warnings: Vec<String>,
}

impl AvailableTools {
    /// Names of all callable tools, including those of skills.
    pub(super) fn names(&self) -> Vec<&str> {
        let of_skills = self.skills.iter().flat_map(|skill| &skill.tools);
        let tools = self.tools.iter().chain(of_skills);
        tools.flat_map(|tool| tool.spec().names()).collect()
    }
}

/// Collects the tools and skills of a request. `permitted` are the tools of a stored agent.
pub(super) async fn collect(
    service: &AgentService,
    request: &AgentRequest,
    permitted: Option<&Permissions>,
    knowledge: Option<&Arc<KnowledgeBase>>,
) -> Result<AvailableTools, AgentError> {
    let mut offered = AvailableTools::default();
    for (name, settings) in &requested_tools(request, knowledge.is_some()) {
        let options = options(request, settings, knowledge);
        add(
            &mut offered.tools,
            named_definitions(service, name, &options)?,
        );
    }
    if let Some(permitted) = permitted {
        let mut known = known(service, request);
        known.extend(versions(service, permitted));
        let names: Vec<&str> = known.iter().flat_map(|tool| tool.spec().names()).collect();
        // Checked before the filter, so that only a pattern that matches no existing tool causes a
        // warning.
        offered.warnings = permitted.doubts(&names);
        let allowed = known.into_iter();
        let allowed = allowed.filter(|tool| permitted.allows_tool(tool.spec()));
        add(&mut offered.tools, allowed.collect());
    }
    let servers = servers(service, request);
    add_mcp(service, &servers, &mut offered.tools).await;
    for definition in definitions(service, request)? {
        if definition.preload {
            offered.preloaded.push(definition.name.clone());
        }
        offered
            .skills
            .push(skill(service, request, definition).await);
    }
    Ok(offered)
}

/// Names of the requested tools, including those of features.
fn requested_tools(
    request: &AgentRequest,
    searches_documents: bool,
) -> Vec<(String, Map<String, Value>)> {
    let on = |(_, settings): &(&String, &Map<String, Value>)| {
        settings.get("enabled").and_then(Value::as_bool) != Some(false)
    };
    let named = request.tools.builtin.iter().filter(on);
    let mut wanted: Vec<_> = named
        .map(|(name, settings)| (name.clone(), settings.clone()))
        .collect();
    let more = [
        (request.features.web_search, "web_search"),
        (searches_documents, "knowledge_base"),
    ];
    for (_, name) in more.into_iter().filter(|(is_on, _)| *is_on) {
        // An explicit entry takes precedence, even if it disables the tool.
        if !request.tools.builtin.contains_key(name) {
            wanted.push((name.to_owned(), Map::new()));
        }
    }
    wanted
}

/// Id of a prompt that is used as a tool.
fn prompt(name: &str) -> Option<&str> {
    PROMPT.iter().find_map(|prefix| name.strip_prefix(prefix))
}

fn options(
    request: &AgentRequest,
    settings: &Map<String, Value>,
    knowledge: Option<&Arc<KnowledgeBase>>,
) -> BuiltinOptions {
    let most = settings.get("max_results").and_then(Value::as_u64);
    BuiltinOptions {
        engine: request.features.search_engine.clone(),
        max_results: most.map(|most| u32::try_from(most).unwrap_or(u32::MAX)),
        knowledge: knowledge.cloned(),
    }
}

fn named_definitions(
    service: &AgentService,
    name: &str,
    options: &BuiltinOptions,
) -> Result<Vec<Arc<dyn Tool>>, AgentError> {
    if let Some(id) = prompt(name) {
        let tool = service.parts.prompts.tool(id, PromptResult::Text);
        let tool = tool.map_err(|error| setup(ErrorCode::RunInvalidRequest, error.to_string()))?;
        return Ok(vec![tool]);
    }
    // A stored tool shadows a built-in one of the same name.
    if let Some(tool) = in_catalogue(service, name) {
        return Ok(vec![tool]);
    }
    let tools = service.parts.tools.builtin(name, options);
    tools.map_err(|error| setup(ErrorCode::RunInvalidRequest, error.to_string()))
}

/// Returns the stored definitions that the request itself refers to: its agent, its tools, prompts
/// used as tools, and the tools of skills in the request. The author of the agent chooses the
/// definitions that the agent uses, so the caller needs no permission for those.
#[must_use]
pub fn definitions_of(service: &AgentService, request: &AgentRequest) -> Vec<(EntryKind, String)> {
    let agent = stored::name(request).map(|name| (EntryKind::Agent, name.to_owned()));
    let own = request.tools.builtin.keys().cloned();
    let brought = request.metadata.skill_configs.iter().enumerate();
    let brought = brought.filter_map(|(index, RawJson(written))| {
        // An invalid skill is skipped here, because the run itself rejects it.
        SkillDefinition::from_request(&index.to_string(), written.as_object()?).ok()
    });
    let brought = brought.flat_map(|skill| skill.tools.into_iter().map(|tool| tool.name));
    let snapshot = service.parts.prompts.catalogue().snapshot();
    let tools = own.chain(brought).filter_map(|name| {
        if let Some(id) = prompt(&name) {
            return Some((EntryKind::Prompt, id.to_owned()));
        }
        let is_stored = snapshot.tools.get(name.as_str()).is_some();
        let is_known = is_stored || snapshot.functions.get(name.as_str()).is_some();
        is_known.then(|| (EntryKind::Tool, tool_id(&snapshot, &name)))
    });
    agent.into_iter().chain(tools).collect()
}

/// Finds a tool of the catalogue by its id or its function name.
fn in_catalogue(service: &AgentService, name: &str) -> Option<Arc<dyn Tool>> {
    let snapshot = service.parts.prompts.catalogue().snapshot();
    if let Ok(definition) = snapshot.tool(name)
        && let Ok(entry) = definition.usable(EntryKind::Tool)
    {
        return Some(entry.tool.clone());
    }
    snapshot.functions.get(name).cloned()
}

/// Returns the existing tools of the catalogue, prompts and built-in tools.
fn known(service: &AgentService, request: &AgentRequest) -> Vec<Arc<dyn Tool>> {
    let prompts = &service.parts.prompts;
    let snapshot = prompts.catalogue().snapshot();
    let stored = snapshot.functions.values().cloned();
    let ids = snapshot.prompts.keys();
    let rendered = ids.filter_map(|id| prompts.tool(id, PromptResult::Text).ok());
    let mut tools: Vec<Arc<dyn Tool>> = stored.chain(rendered).collect();
    let options = options(request, &Map::new(), None);
    let builtin = BY_NAME.iter();
    let builtin = builtin.filter_map(|name| service.parts.tools.builtin(name, &options).ok());
    tools.extend(builtin.flatten());
    tools
}

/// Prompt versions that an agent selects (`prompt/ID@production`). Patterns with `*` always mean
/// the default version.
fn versions(service: &AgentService, permitted: &Permissions) -> Vec<Arc<dyn Tool>> {
    let prompts = &service.parts.prompts;
    let marked = permitted.allowed().filter(|name| !name.contains('*'));
    let tools = marked.filter_map(|name| {
        let id = prompt(name).filter(|id| id.contains('@'))?;
        prompts.tool(id, PromptResult::Text).ok()
    });
    tools.collect()
}

/// Adds tools without duplicates.
fn add(tools: &mut Vec<Arc<dyn Tool>>, more: Vec<Arc<dyn Tool>>) {
    for tool in more {
        if !tools
            .iter()
            .any(|known| known.spec().name == tool.spec().name)
        {
            tools.push(tool);
        }
    }
}

/// Returns the MCP servers of the configuration and of the request.
fn servers(service: &AgentService, request: &AgentRequest) -> McpServers {
    let list: Vec<Value> = request
        .tools
        .mcp_servers
        .iter()
        .map(|w| w.0.clone())
        .collect();
    let (own, found) = McpServers::read(&Value::Array(list), McpOrigin::Request);
    report(&found);
    // Configured servers come first, so their tools keep the plain names.
    let mut servers = service.parts.mcp_servers.clone();
    servers.extend(own);
    servers.filled(&request.metadata.task_data.0)
}

/// Lists the tools of a server. A server that does not answer is skipped, so the others stay
/// usable.
async fn add_mcp(service: &AgentService, servers: &McpServers, tools: &mut Vec<Arc<dyn Tool>>) {
    if servers.is_empty() {
        return;
    }
    // If a name is taken, the server's tool gets another name instead of being dropped.
    let taken: Vec<String> = tools.iter().map(|tool| tool.spec().name.clone()).collect();
    let taken: Vec<&str> = taken.iter().map(String::as_str).collect();
    let found = service.parts.tools.mcp_tools(servers, &taken).await;
    report(&found.warnings);
    add(tools, found.tools);
}

fn report(found: &[Diagnostic]) {
    for diagnostic in found {
        tracing::warn!(%diagnostic, "tool or skill skipped");
    }
}

/// Returns the skills in the request, and the skills of the service that it refers to.
fn definitions(
    service: &AgentService,
    request: &AgentRequest,
) -> Result<Vec<SkillDefinition>, AgentError> {
    let mut definitions: Vec<SkillDefinition> = Vec::new();
    for (index, RawJson(written)) in request.metadata.skill_configs.iter().enumerate() {
        let Value::Object(object) = written else {
            continue;
        };
        let place = format!("metadata.skill_configs.{index}");
        definitions.push(SkillDefinition::from_request(&place, object).map_err(wrong_skill)?);
    }
    let metadata = &request.metadata;
    let chosen = request.tools.skills.iter().map(|skill| &skill.name);
    for name in metadata
        .skill_names
        .iter()
        .chain(&metadata.preload_skills)
        .chain(chosen)
    {
        // A skill in the request shadows a skill of the service with the same name.
        if definitions.iter().any(|skill| skill.name == *name) {
            continue;
        }
        let known = service
            .parts
            .skills
            .iter()
            .find(|skill| skill.name == *name);
        definitions.push(known.cloned().ok_or_else(|| no_skill(service, name))?);
    }
    Ok(definitions)
}

#[allow(
    clippy::needless_pass_by_value,
    reason = "the shape that map_err takes"
)]
fn wrong_skill(found: Vec<Diagnostic>) -> AgentError {
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    setup(ErrorCode::RunInvalidRequest, found.join("; "))
}

fn no_skill(service: &AgentService, name: &str) -> AgentError {
    let known = service.parts.skills.iter().map(|skill| skill.name.as_str());
    let near = nearest(name, known);
    let hint = near.map_or_else(String::new, |near| format!(" (did you mean {near:?}?)"));
    setup(
        ErrorCode::RunInvalidRequest,
        format!("unknown skill {name:?}{hint}"),
    )
}

/// Adds a skill with its tools: those of the catalogue, and those of its servers.
async fn skill(
    service: &AgentService,
    request: &AgentRequest,
    definition: SkillDefinition,
) -> Skill {
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    for reference in &definition.tools {
        let options = options(request, &Map::new(), None);
        // A missing tool does not fail the run: the skill may still help without it.
        match named_definitions(service, &reference.name, &options) {
            Ok(found) => add(&mut tools, found),
            Err(error) => {
                tracing::warn!(skill = definition.name, %error, "tool of a skill skipped")
            }
        }
    }
    let written = Value::Object(definition.mcp_servers.clone());
    // A skill in a folder comes from the operator, so its servers may start programs.
    let origin = match definition.folder {
        Some(_) => McpOrigin::Configuration,
        None => McpOrigin::Request,
    };
    let (servers, found) = McpServers::read(&written, origin);
    report(&found);
    add_mcp(
        service,
        &servers.filled(&request.metadata.task_data.0),
        &mut tools,
    )
    .await;
    definition.into_skill(tools)
}
