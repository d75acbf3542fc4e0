//! Collects everything that a run needs for a request: model, history, prompt, tools and skills.

use std::collections::HashSet;
use std::sync::Arc;

use quillet_agent::{AgentError, Citation, Permissions, RunLimits, RunSpec, Skills};
use quillet_core::chat::{ChatOptions, ToolOffer};
use quillet_core::trace::Tracer;
use quillet_core::{ContentPart, ErrorCode, Message, MessageContent, Role};
use quillet_llm::models::RefusedParameters;
use quillet_tools::builtin::{KnowledgeBase, KnowledgeScope};
use tokio_util::sync::CancellationToken;

use super::available_tools::{self, AvailableTools};
use super::history::{self, RunHistory};
use super::prepared::PreparedRun;
use super::{
    AgentRequest, AgentService, ConnectedModel, DEFAULT_MAX_TOKENS, ModelSettings, RunInput,
    prompt, question, stored,
};

/// Maximum number of images of one tool result that the model receives.
const MOST_RESULT_IMAGES: usize = 8;

/// Collects everything that a run needs: model, history, prompt, tools and skills. If the journal
/// already contains the initial messages of the run, nothing is rendered or loaded again: a prompt
/// may have changed since, and the recorded text takes precedence.
pub(super) async fn prepare(
    service: &AgentService,
    mut request: AgentRequest,
    id: &str,
    stop: CancellationToken,
    is_known: bool,
) -> Result<PreparedRun, AgentError> {
    let agent = stored::find(service, &request).await?;
    let name = stored::name(&request);
    let name = name.map(str::to_owned);
    let spoke = match &agent {
        Some(agent) => {
            stored::apply_agent_defaults(service, agent, &mut request, id, is_known).await?
        }
        None => None,
    };
    // Connected after the agent's defaults are applied, because they may select the model.
    let connected = service.parts.models.connect(request.model.as_ref())?;
    let session = request.session_id();
    let mut input = std::mem::take(&mut request.input);
    let documents = documents(service, &request, &connected, &mut input).await?;
    let mut talk = if is_known {
        ConversationInput::default()
    } else {
        conversation(service, &request, input, session.as_deref()).await?
    };
    let is_asked_again =
        talk.is_loaded && history::is_asked_again(&talk.past.messages, &talk.asked);
    if is_asked_again {
        // The run sends the question itself; the model must not read it twice.
        talk.past.messages.pop();
    }
    let permitted = agent.as_ref().map(|agent| &agent.tools);
    let knowledge = documents.knowledge.as_ref();
    let offered = available_tools::collect(service, &request, permitted, knowledge).await?;
    let mut client_tools = request.tools.custom.clone();
    if request.features.clarification {
        client_tools.push(prompt::clarify());
    }
    no_doubles(&offered.tools, &client_tools)?;
    check_native_tools(&connected.provider, &client_tools)?;
    let agent = agent.unwrap_or_default();
    let ask = asking(&agent.ask, &request.tools.ask)?;
    let unasked = ask.doubts_of_ask(&offered.names());
    let budget = name.clone().filter(|_| agent.budget.is_set());
    let budget = budget.map(|name| (name, agent.budget));
    let configured = service.options.limits.clone();
    let options = options(&request, agent.options, connected.window.output);
    let refused = RefusedParameters::of(&connected.name, &options);
    let refused: Vec<String> = refused.iter().map(ToString::to_string).collect();
    let run = RunSpec {
        id: id.into(),
        agent: name,
        prompt: spoke,
        model: connected.model,
        model_name: Some(connected.name.clone()).filter(|name| !name.is_empty()),
        system: prompt::system(&request, talk.system),
        history: talk.past.messages,
        input: talk.asked.clone(),
        skills: skills(&offered, &request, talk.past.skills),
        tools: offered.tools,
        client_tools,
        silent_exit: request.metadata.is_subscription,
        options,
        window: connected.window,
        counter: connected.counter,
        limits: RunLimits {
            result_images: if service.parts.models.takes_images(&connected.name) {
                MOST_RESULT_IMAGES
            } else {
                0
            },
            summarize: agent.features.summarize.unwrap_or(configured.summarize),
            ..limits(agent.limits.merge_into(configured), &request)
        },
        tracer: service.tracer(),
        parent_span: None,
        // `durable::bind` sets this and the approver if the run has a journal.
        is_journalled: false,
        approver: None,
        cancelled: Box::pin(async move { stop.cancelled().await }),
    };
    Ok(PreparedRun {
        run,
        session,
        asked: talk.asked,
        is_asked_again,
        provider: connected.provider,
        sources: documents.sources,
        warnings: [request.warnings, offered.warnings, unasked, refused].concat(),
        ask,
        budget,
    })
}

/// Replaces the model that a request names.
pub(super) fn ask_another(
    service: &AgentService,
    prepared: &mut PreparedRun,
    model: &str,
) -> Result<(), AgentError> {
    let settings = ModelSettings {
        model_id: model.to_owned(),
        ..ModelSettings::default()
    };
    let connected = service.parts.models.connect(Some(&settings))?;
    prepared.provider = connected.provider;
    let run = &mut prepared.run;
    run.model = connected.model;
    run.model_name = Some(connected.name).filter(|name| !name.is_empty());
    run.window = connected.window;
    run.counter = connected.counter;
    Ok(())
}

/// Patterns of the tools that need approval: those of the agent and those of the request. A request
/// can add patterns but not remove those of the agent.
fn asking(agent: &Permissions, request: &[String]) -> Result<Permissions, AgentError> {
    let all = [agent.patterns().as_slice(), request].concat();
    if request.is_empty() {
        return Ok(agent.clone());
    }
    // With a `!` pattern, a caller could skip an approval that the agent requires.
    if let Some(taken) = request
        .iter()
        .find(|pattern| pattern.trim().starts_with('!'))
    {
        let message = format!(
            "tools.ask: invalid pattern {taken:?}: a request can only add tools \
            that need approval"
        );
        return Err(setup(ErrorCode::RunInvalidRequest, message));
    }
    Permissions::parse(&all)
        .map_err(|error| setup(ErrorCode::RunInvalidRequest, format!("tools.ask: {error}")))
}

/// Documents that a request may read.
#[derive(Default)]
struct Documents {
    /// Documents for the model to search; empty if they are part of the question.
    knowledge: Option<Arc<KnowledgeBase>>,
    sources: Vec<Citation>,
}

/// Adds small collections to the question as a whole; for larger ones, the model gets search tools.
async fn documents(
    service: &AgentService,
    request: &AgentRequest,
    connected: &ConnectedModel,
    input: &mut RunInput,
) -> Result<Documents, AgentError> {
    let metadata = &request.metadata;
    if metadata.knowledge_base_ids.is_empty() {
        return Ok(Documents::default());
    }
    let scope = KnowledgeScope {
        collections: metadata.knowledge_base_ids.clone(),
        documents: metadata.document_ids.clone(),
        window: connected.window.context,
        saved_for: metadata.user_subtask_id,
    };
    let found = service
        .parts
        .tools
        .knowledge(service.parts.knowledge.clone(), scope);
    let knowledge = found.ok_or_else(|| {
        let message = "the request names knowledge bases, but none are configured: set \
            agent.knowledge or tools.rag.base_url";
        setup(ErrorCode::RunInvalidRequest, message.to_owned())
    })?;
    let RunInput::Content(content) = input else {
        return Ok(searched(knowledge));
    };
    match knowledge.injection(&content.to_string()).await {
        Ok(Some(whole)) => {
            let mut parts = vec![ContentPart::text(format!("{}\n\n", whole.text))];
            match std::mem::take(content) {
                MessageContent::Text(text) => parts.push(ContentPart::text(text)),
                MessageContent::Parts(own) => parts.extend(own),
            }
            *content = MessageContent::Parts(parts);
            let sources = whole.sources.into_iter();
            let sources = sources.filter_map(|source| serde_json::from_value(source).ok());
            Ok(Documents {
                // The question contains the documents, so the model needs no search tool.
                knowledge: None,
                sources: sources.collect(),
            })
        }
        // A document that cannot be read as a whole may still be searchable. Otherwise the search
        // tool reports the reason.
        Ok(None) | Err(_) => Ok(searched(knowledge)),
    }
}

fn searched(knowledge: Arc<KnowledgeBase>) -> Documents {
    Documents {
        knowledge: Some(knowledge),
        sources: Vec::new(),
    }
}

/// The conversation before the question, and the question.
#[derive(Default)]
struct ConversationInput {
    system: Option<String>,
    past: RunHistory,
    asked: Vec<Message>,
    /// Whether `past` comes from the session.
    is_loaded: bool,
}

async fn conversation(
    service: &AgentService,
    request: &AgentRequest,
    input: RunInput,
    session: Option<&str>,
) -> Result<ConversationInput, AgentError> {
    let most = service.options.limits.attachment_characters;
    match input {
        RunInput::Messages(messages) => Ok(split_messages(request, messages, most)),
        RunInput::Content(content) => {
            let mut past = loaded(service, request, session).await?;
            past.messages = history::paired(past.messages, &request.tool_results);
            // A request that only returns tool results does not contain a question.
            let says_nothing = matches!(&content, MessageContent::Text(text) if text.is_empty());
            let mut asked = if says_nothing && request.attachments.is_empty() {
                Vec::new()
            } else {
                vec![question::message(request, content, most)]
            };
            // Results of calls belong to the new turn, so they are not part of the history yet.
            let answered = trailing_results(&mut past.messages, request);
            asked.splice(0..0, answered);
            Ok(ConversationInput {
                system: request.system.clone(),
                past,
                asked,
                is_loaded: true,
            })
        }
    }
}

/// Splits the conversation of a request: the last user message is the question, and the system
/// message is used if `system` is missing.
fn split_messages(
    request: &AgentRequest,
    messages: Vec<Message>,
    most: usize,
) -> ConversationInput {
    let is_system = |message: &Message| matches!(message.role, Role::System | Role::Developer);
    let (systems, mut rest): (Vec<_>, Vec<_>) = messages.into_iter().partition(is_system);
    let mut system = request.system.clone();
    if system.is_none() && !systems.is_empty() {
        let texts: Vec<String> = systems.iter().map(|m| m.content.to_string()).collect();
        system = Some(texts.join("\n\n"));
    }
    rest = history::paired(rest, &request.tool_results);
    let asked = rest.iter().rposition(|message| message.role == Role::User);
    let mut asked = rest.split_off(asked.unwrap_or(rest.len()));
    if let Some(question) = asked.first_mut() {
        let content = std::mem::take(&mut question.content);
        question.content = question::message(request, content, most).content;
    }
    ConversationInput {
        system,
        past: RunHistory {
            messages: rest,
            skills: Vec::new(),
        },
        asked,
        is_loaded: false,
    }
}

async fn loaded(
    service: &AgentService,
    request: &AgentRequest,
    session: Option<&str>,
) -> Result<RunHistory, AgentError> {
    let options = &service.options;
    // A request can only lower the limit of the service.
    let asked_for = request.metadata.history_limit.unwrap_or(usize::MAX);
    let most = asked_for.min(options.history_messages);
    let Some(session) = session.filter(|_| request.include_history && most > 0) else {
        return Ok(RunHistory::default());
    };
    let turns = service.parts.sessions.load(session, most).await;
    let mut turns = turns.map_err(|error| setup(ErrorCode::RunServerError, error.to_string()))?;
    if request.metadata.is_group {
        let (first, last) = options.group_history;
        turns = history::ends(turns, first, last);
    }
    Ok(history::past(turns))
}

/// Removes the tool results of the request from the end of the history.
fn trailing_results(messages: &mut Vec<Message>, request: &AgentRequest) -> Vec<Message> {
    if request.tool_results.is_empty() {
        return Vec::new();
    }
    let last = messages
        .iter()
        .rposition(|message| message.role != Role::Tool);
    messages.split_off(last.map_or(0, |last| last + 1))
}

/// Skills of the run; skills chosen by the user count only if they can be loaded.
fn skills(offered: &AvailableTools, request: &AgentRequest, earlier: Vec<String>) -> Skills {
    let metadata = &request.metadata;
    let chosen = request.tools.skills.iter().filter(|skill| skill.preload);
    let mut loaded = metadata.preload_skills.clone();
    loaded.extend(offered.preloaded.iter().cloned());
    loaded.extend(chosen.map(|skill| skill.name.clone()));
    loaded.extend(earlier);
    let known = |name: &&String| offered.skills.iter().any(|skill| skill.name == **name);
    let selected = metadata.user_selected_skills.iter().filter(known);
    Skills {
        loaded: once(loaded),
        chosen: once(selected.cloned().collect()),
        available: offered.skills.clone(),
    }
}

fn once(names: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    let new = |name: &String| seen.insert(name.clone());
    names.into_iter().filter(new).collect()
}

/// Rejects duplicate tool names, because a call of the model would be ambiguous.
fn no_doubles(
    tools: &[Arc<dyn quillet_core::tool::Tool>],
    client_tools: &[ToolOffer],
) -> Result<(), AgentError> {
    let mut seen: HashSet<&str> = HashSet::new();
    let own = tools.iter().map(|tool| tool.spec().name.as_str());
    for name in own.chain(client_tools.iter().filter_map(ToolOffer::name)) {
        if !seen.insert(name) {
            let message =
                format!("duplicate tool name {name:?} in this request: rename one of the tools");
            return Err(setup(ErrorCode::RunInvalidRequest, message));
        }
    }
    Ok(())
}

/// Rejects tools that another provider executes. They can only be sent to that provider, and would
/// otherwise be dropped silently.
fn check_native_tools(provider: &str, client_tools: &[ToolOffer]) -> Result<(), AgentError> {
    let native = client_tools.iter().filter_map(|tool| match tool {
        ToolOffer::Native(native) => Some(native),
        ToolOffer::Function { .. } => None,
    });
    for tool in native {
        let (name, owner) = native_tool(tool);
        // Other providers may have tools that are not known here, so their requests are not
        // checked.
        let is_known = ["openai", "anthropic", "google"].contains(&provider);
        if is_known && owner != provider {
            let message = format!(
                "tools.custom: {name} is a tool of {owner}, but the model's provider is \
                    {provider}"
            );
            return Err(setup(ErrorCode::RunInvalidRequest, message));
        }
    }
    Ok(())
}

/// Returns name and owner of a provider's own tool. Gemini's tools have no type, and the types of
/// Anthropic's tools end in a date.
fn native_tool(tool: &serde_json::Value) -> (&str, &'static str) {
    let Some(kind) = tool.get("type").and_then(serde_json::Value::as_str) else {
        let members = tool.as_object().and_then(|members| members.keys().next());
        return (members.map_or("a tool", String::as_str), "google");
    };
    let last = kind.rsplit('_').next().unwrap_or_default();
    let has_date = last.len() == 8 && last.bytes().all(|byte| byte.is_ascii_digit());
    if has_date || kind == "mcp_toolset" || tool.get("input_schema").is_some() {
        (kind, "anthropic")
    } else {
        (kind, "openai")
    }
}

/// Response format: that of the request, otherwise that of the agent.
fn options(request: &AgentRequest, agent: ChatOptions, most: u64) -> ChatOptions {
    let own = ChatOptions {
        temperature: request.temperature,
        max_tokens: request.max_tokens,
        tool_choice: request.tool_choice.clone(),
        ..request.options.clone()
    };
    let mut options = own.or_defaults(agent);
    let wished = options.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS);
    // Most providers reject a limit above the model's maximum output.
    options.max_tokens = Some(wished.min(most));
    options
}

fn limits(limits: RunLimits, request: &AgentRequest) -> RunLimits {
    RunLimits {
        tool_rounds: request.tools.max_tool_calls.unwrap_or(limits.tool_rounds),
        repeated_calls: request
            .tools
            .repeated_calls
            .unwrap_or(limits.repeated_calls),
        call_time: request.tools.tool_timeout.unwrap_or(limits.call_time),
        // A request can switch compaction off, but not on.
        compaction: limits.compaction && request.features.message_compression,
        ..limits
    }
}

impl AgentService {
    /// Creates the tracer of a new run.
    #[must_use]
    pub fn tracer(&self) -> Tracer {
        match &self.parts.traces {
            None => Tracer::off(),
            Some(sink) => {
                let id = uuid::Uuid::new_v4().simple().to_string();
                Tracer::new(id, sink.clone(), self.options.trace_texts)
            }
        }
    }
}

pub(super) fn setup(code: ErrorCode, message: String) -> AgentError {
    AgentError::Setup { code, message }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_of_one_provider_is_no_tool_of_another() {
        let search = json!({"type": "web_search_20250305", "name": "web_search"});
        let code = json!({"type": "code_interpreter", "container": {"type": "auto"}});
        let google = json!({"googleSearch": {}});
        for (tool, owner, name) in [
            (search, "anthropic", "web_search_20250305"),
            (code, "openai", "code_interpreter"),
            (google, "google", "googleSearch"),
        ] {
            let tools = [ToolOffer::Native(tool)];
            for provider in ["openai", "anthropic", "google", "mock", "test"] {
                let stranger = ["openai", "anthropic", "google"].contains(&provider);
                let told = check_native_tools(provider, &tools).err();
                let told = told.map(|error| error.to_string());
                assert_eq!(told.is_some(), stranger && provider != owner, "{told:?}");
                assert!(told.is_none_or(|told| told.contains(name) && told.contains(owner)));
            }
        }
    }
}
