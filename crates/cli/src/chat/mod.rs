//! Common parts of `quillet ask` and `quillet chat`: conversion of arguments to runs, and output of
//! runs.

mod call;
mod follow;
mod idle_indicator;
mod markdown;
mod sanitize;
mod show;
mod tool_patterns;
mod writer;

use std::sync::Arc;

use quillet::components;
use quillet::components::agents;
use quillet::components::traces::{self, Traces};
use quillet::settings::{self, Settings};
use quillet_agent::skills;
use quillet_core::Exit;
use quillet_core::chat::ChatOptions;
use quillet_core::store::Store;
use quillet_host::agent::{
    AdmissionError, AgentRequest, AgentService, ModelSettings, Principal, RunHandle, RunInput,
    SkillChoice, ToolSettings,
};
use quillet_llm::models::{ModelRouter, RefusedParameters};
use quillet_store::MemoryStore;

use crate::args::ModelArgs;
use crate::databases;
use crate::failure::CliError;
use crate::terminal;

pub(crate) use call::ToolCallDisplay;
pub(crate) use follow::{follow_run, result_of_ending};
pub(crate) use idle_indicator::IdleIndicator;
pub(crate) use sanitize::{one_line, sanitize};
pub(crate) use show::ChatPrinter;
pub(crate) use writer::ProseWriter;

const NO_MODEL: &str = "no model is set: pass -m MODEL (gpt-6-sol, claude-…, gemini-…, or mock to try it offline), or set QUILLET_MODEL or model.name; keys are OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or `quillet keys set PROVIDER`";

/// Stores sessions and traces of commands in the user's folder, unless configured otherwise.
pub(crate) fn use_user_folder(config: &mut Settings) {
    let Some(folder) = settings::user_data() else {
        return;
    };
    // If both settings have a value, the user's folder is not used and need not be writable.
    let is_set = |setting| config.text(setting).is_some();
    if is_set(&settings::AGENT_SESSIONS) && is_set(&settings::AGENT_TRACES) {
        return;
    }
    // A single question works without sessions and traces, so an unwritable folder is only a
    // warning.
    if let Err(failure) = traces::can_write(&folder.join("sessions.db")) {
        terminal::warning(&format!(
            "sessions and traces are not saved: {failure}; set XDG_DATA_HOME to another folder"
        ));
        return;
    }
    let file = |name: &str| folder.join(name).display().to_string();
    config.fill(
        &settings::AGENT_SESSIONS,
        format!("sqlite:{}", file("sessions.db")),
    );
    config.fill(&settings::AGENT_TRACES, file("traces.db"));
}

/// Client for conversations with a model or an agent.
#[derive(Debug)]
pub(crate) struct ChatClient {
    pub(crate) service: Arc<AgentService>,
    pub(crate) models: Arc<ModelRouter>,
    /// Request template with the model or agent and its permissions, but without a question.
    pub(crate) request: AgentRequest,
    traces: Traces,
}

impl ChatClient {
    /// Creates a client from the arguments.
    ///
    /// # Errors
    /// No model is selected, or a selected resource does not exist.
    pub(crate) async fn new(args: &ModelArgs, config: &Settings) -> Result<Self, CliError> {
        if args.agent.is_none() && config.text(&settings::MODEL).is_none() {
            return Err(CliError::Usage(NO_MODEL.to_owned()));
        }
        let sessions = config.text(&settings::AGENT_SESSIONS);
        if let Some(path) = sessions.and_then(|address| address.strip_prefix("sqlite:")) {
            traces::create_parent_folder(path.as_ref())?;
        }
        let given = args.store.store.as_deref().unwrap_or_default();
        // Other programs use `-s` for a system prompt, so the error names the right option.
        if given.contains(char::is_whitespace) && !given.contains(':') {
            return Err(CliError::Usage(format!(
                "invalid store {given:?}: -s sets the store; for a system prompt use --system TEXT"
            )));
        }
        // Agents are in a store, so the missing store is the cause.
        if args.agent.is_some() {
            components::store(config).await?;
        }
        let store = match components::optional_store(config).await? {
            Some(store) => store,
            None => Arc::new(MemoryStore::new()) as Arc<dyn Store>,
        };
        let prompts = components::service(config, store.clone(), None, Arc::default())?;
        let prompts = Arc::new(prompts);
        prompts.load().await?;
        let traces = Traces::open(config).await?;
        let models = agents::models(config)?;
        databases::register_tools(config, store, &prompts, models.clone()).await?;
        let skills = skills_of(args)?;
        let names: Vec<String> = skills.iter().map(|skill| skill.name.clone()).collect();
        let service =
            agents::service(config, prompts, models.clone(), skills, None, &traces).await?;
        let builtin = tool_patterns::tools(&service, args)?;
        let skill = |name| SkillChoice {
            name,
            preload: false,
        };
        let request = AgentRequest {
            model: args.agent.as_deref().map(agent),
            temperature: args.temperature,
            max_tokens: args.max_tokens,
            system: args.system.clone(),
            tools: ToolSettings {
                builtin,
                skills: names.into_iter().map(skill).collect(),
                ..ToolSettings::default()
            },
            ..AgentRequest::default()
        };
        Ok(ChatClient {
            service,
            models,
            request,
            traces,
        })
    }

    /// Returns the parameters that are not sent because the model refuses them.
    pub(crate) fn refused_parameters(&self) -> Option<RefusedParameters> {
        let options = ChatOptions {
            temperature: self.request.temperature,
            ..self.request.options.clone()
        };
        RefusedParameters::of(&self.model(), &options)
    }

    /// Returns the model that will answer, as far as it is known.
    pub(crate) fn model(&self) -> String {
        match &self.request.model {
            Some(model) => model.model_id.clone(),
            None => self.models.default_model().unwrap_or_default().to_owned(),
        }
    }

    /// Starts a run.
    ///
    /// # Errors
    /// The limit of concurrent runs is reached.
    pub(crate) async fn begin(
        &self,
        input: RunInput,
        session: Option<&str>,
    ) -> Result<RunHandle, CliError> {
        let request = AgentRequest {
            input,
            session: session.map(str::to_owned),
            ..self.request.clone()
        };
        // Each question is a separate request with its own id.
        let id = quillet::components::new_id();
        let who = Principal::from_address("terminal");
        let begun = self.service.begin(request, &who, &id);
        begun.await.map_err(|refused| match refused {
            AdmissionError::Store(error) => error.into(),
            other => {
                terminal::error(&other.to_string());
                CliError::Said(Exit::Refused)
            }
        })
    }

    /// Waits until traces are written.
    pub(crate) async fn close(&self) {
        self.traces.flush().await;
    }
}

/// Creates settings with a model and no other values.
pub(crate) fn model(name: &str) -> ModelSettings {
    ModelSettings {
        model_id: name.to_owned(),
        ..ModelSettings::default()
    }
}

fn agent(name: &str) -> ModelSettings {
    model(&format!("agent/{name}"))
}

/// Loads the skills from the selected folders. An invalid skill is an error here, because the user
/// selected it.
fn skills_of(args: &ModelArgs) -> Result<Vec<skills::SkillDefinition>, CliError> {
    let mut all = Vec::new();
    for folder in &args.skill {
        let (skills, found) = skills::read_folder(folder);
        let wrong = found
            .into_iter()
            .map(crate::report::LocatedDiagnostic::without_text);
        let wrong: Vec<_> = wrong.collect();
        if wrong.iter().any(crate::report::LocatedDiagnostic::is_error) {
            return Err(CliError::Findings(wrong));
        }
        if skills.is_empty() {
            return Err(CliError::Usage(format!(
                "no skill in {}: a skill is a folder that contains SKILL.md",
                folder.display()
            )));
        }
        all.extend(skills);
    }
    Ok(all)
}
