//! Creates the agent service from settings: models, sessions, durable runs, skills, MCP servers and
//! traces.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use quillet_agent::{RunLimits, Window, skills};
use quillet_core::BoxFuture;
use quillet_core::budget::BudgetAccounts;
use quillet_core::chat::{ChatModel, ModelError, ModelErrorKind, Usage};
use quillet_core::runs::RunAllowance;
use quillet_host::agent::{self, AgentOptions, AgentParts, AgentService, ConnectedModel};
use quillet_host::script::ScriptService;
use quillet_llm::models::{ModelConfig, ModelInfo, ModelRouter, Vendor};
use quillet_llm::tokens;
use quillet_prompt::PromptService;
use quillet_store::{JournalOptions, KnowledgeOptions, RunOptions, SessionOptions};
use quillet_tools::{McpOrigin, McpServers};
use secrecy::ExposeSecret;

use crate::components;
use crate::components::recording::RecordReplay;
use crate::components::traces::Traces;
use crate::error::Error;
use crate::settings::{self, Settings};

/// Creates the agent service over a prompt service.
///
/// # Errors
/// A setting is invalid, or a file, store or service that it names cannot be opened.
pub async fn service(
    settings: &Settings,
    prompts: Arc<PromptService>,
    models: Arc<ModelRouter>,
    more_skills: Vec<skills::SkillDefinition>,
    scripts: Option<Arc<ScriptService>>,
    traces: &Traces,
) -> Result<Arc<AgentService>, Error> {
    let store = components::store_options(settings);
    // All data is in one store unless a setting selects another one. Without any store, sessions
    // and runs end with the process.
    let fallback = settings.text(&settings::STORE_URL).unwrap_or("memory:");
    let address = |setting| settings.text(setting).unwrap_or(fallback);
    let sessions = address(&settings::AGENT_SESSIONS);
    let sessions =
        quillet_store::open_sessions(sessions, &store, &SessionOptions::default()).await?;
    let runs = address(&settings::AGENT_RUNS);
    let runs = quillet_store::open_runs(runs, &store, &run_options(settings)).await?;
    let journal = address(&settings::AGENT_JOURNAL);
    let journal = quillet_store::open_journal(journal, &store, &journal_options(settings)).await?;
    let parts = AgentParts {
        models: Arc::new(ByRequest {
            models,
            own_keys: settings.is_on(&settings::AGENT_OWN_KEYS),
            tape: RecordReplay::from_settings(settings)?,
        }),
        sessions,
        runs,
        journal: Some(journal),
        tools: components::tools(settings, prompts.variables().clone())?,
        prompts,
        scripts,
        skills: more_skills.into_iter().chain(skills(settings)).collect(),
        mcp_servers: mcp_servers(settings)?,
        knowledge: knowledge(settings).await?,
        traces: traces.sink(),
    };
    Ok(AgentService::new(parts, options(settings)))
}

/// Creates a router to all models without counting retries.
///
/// # Errors
/// A setting is invalid.
pub fn models(settings: &Settings) -> Result<Arc<ModelRouter>, Error> {
    components::models(settings, Arc::default())
}

pub(super) fn run_options(settings: &Settings) -> RunOptions {
    RunOptions {
        lease: settings.milliseconds(&settings::AGENT_LEASE_MS),
        ..RunOptions::default()
    }
}

pub(super) fn journal_options(settings: &Settings) -> JournalOptions {
    let number = |setting| u64::try_from(settings.size(setting)).unwrap_or(u64::MAX);
    JournalOptions {
        max_step_bytes: settings.size(&settings::AGENT_JOURNAL_STEP_BYTES),
        max_steps: number(&settings::AGENT_JOURNAL_STEPS),
        // Saturating, because a very large number of days means that runs are kept forever.
        keep: Duration::from_secs(number(&settings::AGENT_JOURNAL_DAYS).saturating_mul(86_400)),
    }
}

pub(super) fn options(settings: &Settings) -> AgentOptions {
    let small = |setting| {
        let number = settings.integer(setting)?;
        Some(u32::try_from(number).unwrap_or(u32::MAX))
    };
    let defaults = RunLimits::default();
    AgentOptions {
        limits: RunLimits {
            tool_rounds: small(&settings::AGENT_TOOL_ROUNDS).unwrap_or(defaults.tool_rounds),
            repeated_calls: small(&settings::AGENT_REPEATED_CALLS)
                .unwrap_or(defaults.repeated_calls),
            call_time: settings.milliseconds(&settings::AGENT_CALL_MS),
            run_time: settings.milliseconds(&settings::AGENT_RUN_MS),
            ..defaults
        },
        concurrent: settings.size(&settings::AGENT_CONCURRENT),
        allowance: RunAllowance {
            concurrent: small(&settings::AGENT_KEY_CONCURRENT),
            per_minute: small(&settings::AGENT_KEY_PER_MINUTE),
        },
        history_messages: settings.size(&settings::AGENT_HISTORY_MESSAGES),
        log_patience: settings.milliseconds(&settings::AGENT_LOG_PATIENCE_MS),
        resumable: settings.is_on(&settings::AGENT_RESUMABLE),
        durable: settings.is_on(&settings::AGENT_DURABLE),
        lease: settings.milliseconds(&settings::AGENT_LEASE_MS),
        approval_time: Duration::from_secs(
            u64::try_from(settings.size(&settings::AGENT_APPROVAL_S)).unwrap_or(u64::MAX >> 12),
        ),
        body_bytes: settings.size(&settings::AGENT_BODY_BYTES),
        shown_tools: settings.texts(&settings::AGENT_SHOWN_TOOLS).into(),
        trace_texts: settings.is_on(&settings::AGENT_TRACE_TEXTS),
        ..AgentOptions::default()
    }
}

/// Reads the skills of the configured folder. An invalid skill is reported as a warning; the others
/// stay available.
fn skills(settings: &Settings) -> Vec<skills::SkillDefinition> {
    let Some(folder) = settings.text(&settings::AGENT_SKILLS) else {
        return Vec::new();
    };
    let (skills, found) = skills::read_folder(Path::new(folder));
    for diagnostic in found {
        settings.warn(&diagnostic.to_string());
    }
    skills
}

/// Reads the configured file of MCP servers, in the JSON format common to MCP clients.
pub fn mcp_servers(settings: &Settings) -> Result<McpServers, Error> {
    let Some(path) = settings.text(&settings::AGENT_MCP_SERVERS) else {
        return Ok(McpServers::default());
    };
    let wrong = |what: String| Error::setting(format!("agent.mcp_servers: {path}: {what}"));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let list = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let (servers, found) = McpServers::read(&list, McpOrigin::Configuration);
    for diagnostic in found {
        settings.warn(&diagnostic.to_string());
    }
    Ok(servers)
}

async fn knowledge(
    settings: &Settings,
) -> Result<Option<Arc<dyn quillet_core::knowledge::Knowledge>>, Error> {
    let Some(path) = settings.text(&settings::AGENT_KNOWLEDGE) else {
        return Ok(None);
    };
    let path = Path::new(path);
    let opened = quillet_store::open_knowledge(path, None, KnowledgeOptions::default()).await?;
    Ok(Some(Arc::new(opened)))
}

/// Selects the model of each request, with the key and address of the request or of this server.
struct ByRequest {
    models: Arc<ModelRouter>,
    /// Whether requests without a key may use the keys of this server.
    own_keys: bool,
    tape: RecordReplay,
}

impl fmt::Debug for ByRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ByRequest")
            .field("models", &self.models)
            .finish_non_exhaustive()
    }
}

impl agent::ModelRegistry for ByRequest {
    fn connect(
        &self,
        settings: Option<&agent::ModelSettings>,
    ) -> Result<ConnectedModel, ModelError> {
        let Some(settings) = settings else {
            let name = self.models.default_model().ok_or_else(no_model)?;
            return self.own(name, Vendor::name(self.models.choose(name).0), None);
        };
        let model = config_of(settings);
        let vendor = model.detect().vendor;
        let brings_key = !settings.api_key.expose_secret().trim().is_empty();
        // A request with its own address needs no key of this server, and the mock needs no key.
        let brings_own = brings_key || settings.base_url.is_some() || vendor == Vendor::Mock;
        if brings_own || (self.own_keys && self.reaches(vendor)) {
            let connected = self.models.connect(&model)?;
            return self.connected(connected, &settings.model_id, vendor.name(), Some(settings));
        }
        // A gateway at OpenAI's address receives the name unchanged.
        let name = &settings.model_id;
        let vendor = self.models.choose(name).0;
        // A replay calls no provider, so it needs no key.
        if self.own_keys && (self.reaches(vendor) || self.tape.is_replay()) {
            self.own(name, vendor.name(), Some(settings))
        } else {
            Err(no_key(vendor))
        }
    }

    fn default_model(&self) -> Option<String> {
        self.models.default_model().map(str::to_owned)
    }

    fn providers(&self) -> Vec<String> {
        let configured = self.models.configured().into_iter();
        configured.map(|vendor| vendor.name().to_owned()).collect()
    }

    fn list(&self) -> BoxFuture<'_, Vec<(String, String)>> {
        Box::pin(async move {
            let mut listed: Vec<(String, String)> = Vec::new();
            let default = self.models.default_model();
            listed.extend(default.map(|name| (name.to_owned(), "system".to_owned())));
            // A replay calls no provider, so it has no list to offer.
            if self.own_keys && !self.tape.is_replay() {
                let known = self.models.list().await.into_iter();
                // The default model is listed already.
                let known = known.filter(|(name, _)| Some(name.as_str()) != default);
                listed.extend(known.map(|(name, vendor)| (name, vendor.name().to_owned())));
            }
            listed
        })
    }

    fn takes_images(&self, model: &str) -> bool {
        self.models.facts().find(model).supports.images
    }

    fn payer(&self, key: Option<&str>) -> BudgetAccounts {
        let spending = self.models.spending();
        spending.map_or_else(
            || BudgetAccounts::of(key.map(Into::into)),
            |it| it.payer(key),
        )
    }

    fn cost(&self, model: &str, usage: &Usage, calls: u32) -> Option<f64> {
        self.models.facts().find(model).cost_of_calls(usage, calls)
    }
}

impl ByRequest {
    /// Returns whether a key or an address is set for the provider.
    fn reaches(&self, vendor: Vendor) -> bool {
        let configured = self.models.configured();
        configured.iter().any(|known| known.name() == vendor.name())
    }

    fn own(
        &self,
        name: &str,
        provider: &str,
        settings: Option<&agent::ModelSettings>,
    ) -> Result<ConnectedModel, ModelError> {
        self.connected(self.models.clone(), name, provider, settings)
    }

    fn connected(
        &self,
        model: Arc<dyn ChatModel>,
        name: &str,
        provider: &str,
        settings: Option<&agent::ModelSettings>,
    ) -> Result<ConnectedModel, ModelError> {
        let facts = self.models.facts().find(name);
        Ok(ConnectedModel {
            model: self.tape.wrap_model(model)?,
            name: name.to_owned(),
            provider: provider.to_owned(),
            window: window(&facts, settings),
            counter: tokens::counter(facts.tokenizer),
        })
    }
}

/// Returns the context window: from the request, or else from the model info.
fn window(facts: &ModelInfo, settings: Option<&agent::ModelSettings>) -> Window {
    let said = settings.and_then(|settings| settings.context_window);
    let output = settings.and_then(|settings| settings.max_output_tokens);
    Window {
        context: said.unwrap_or(facts.context_window),
        output: output.unwrap_or(facts.max_output),
        // A context window in the request is used like that of a known model.
        known: facts.known || said.is_some(),
    }
}

fn config_of(settings: &agent::ModelSettings) -> ModelConfig {
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let defaults = ModelConfig::default();
    ModelConfig {
        model_id: settings.model_id.clone(),
        model_type: text(&settings.model),
        api_key: Some(settings.api_key.clone()),
        base_url: settings.base_url.clone(),
        api_format: text(&settings.api_format),
        headers: settings.default_headers.clone(),
        timeout: settings.timeout.unwrap_or(defaults.timeout),
        max_retries: settings.max_retries.unwrap_or(defaults.max_retries),
        retry_delay: settings.retry_delay.unwrap_or(defaults.retry_delay),
        by_request: true,
    }
}

fn no_model() -> ModelError {
    let message = "no model is set: send model_config, or set QUILLET_MODEL or model.name";
    ModelError::new(ModelErrorKind::Configuration, message)
}

fn no_key(vendor: Vendor) -> ModelError {
    let variable = vendor.key_variable().unwrap_or("the key");
    let message = format!(
        "no API key for {}: send model_config.api_key, or set {variable} for the server",
        vendor.name()
    );
    ModelError::new(ModelErrorKind::Auth, message)
}
