//! The state behind every handler, made once when the server starts.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use quillet_core::batch::BatchService;
use quillet_core::store::Health;
use quillet_core::trace::TraceReader;
use quillet_host::agent::AgentService;
use quillet_host::definitions::DefinitionService;
use quillet_host::sql::DatabaseTools;
use quillet_llm::models::ModelRouter;
use quillet_llm::{RateLimits, Spending};
use quillet_prompt::PromptService;

use crate::aliases::Aliases;
use crate::auth::Auth;
use crate::browser::Browsers;
use crate::config::ServerConfig;
use crate::host::Hosts;
use crate::mcp_doors::McpEndpoints;
use crate::metrics::Metrics;
use crate::rate::RateLimiter;
use crate::services::Services;

/// What every request shares.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) config: ServerConfig,
    pub(crate) service: Arc<PromptService>,
    /// Definitions with their histories.
    pub(crate) definitions: DefinitionService,
    /// Agents, if any are set up.
    pub(crate) agents: Option<Arc<AgentService>>,
    /// Databases, if they are set up.
    pub(crate) databases: Option<DatabaseTools>,
    /// Files and batches, if they are kept.
    pub(crate) batching: Option<BatchService>,
    /// Traces that can be read, if any are kept.
    pub(crate) traces: Option<Arc<dyn TraceReader>>,
    /// Other names of prompts.
    pub(crate) aliases: Aliases,
    pub(crate) metrics: Metrics,
    pub(crate) auth: Auth,
    pub(crate) hosts: Hosts,
    pub(crate) browsers: Browsers,
    pub(crate) rate: Option<RateLimiter>,
    /// How often models are asked at most, if that is limited.
    pub(crate) model_rates: Option<Arc<RateLimits>>,
    /// The models of this server by name, if they are known.
    pub(crate) models: Option<Arc<ModelRouter>>,
    /// What may be spent, if that is kept.
    pub(crate) spending: Option<Arc<Spending>>,
    /// Where MCP clients come in.
    pub(crate) mcp: McpEndpoints,
    /// The OpenAPI document, once it was asked for.
    openapi: OnceLock<String>,
    /// Writes it. Not called by its name, so that handlers, which all stand on this file, do not
    /// stand on the list of all handlers.
    describe: fn(&ServerConfig) -> String,
    /// Set at shutdown; never reset.
    stopping: AtomicBool,
}

impl App {
    pub(crate) fn new(
        config: ServerConfig,
        hosts: Hosts,
        services: Services,
        metrics: Metrics,
        describe: fn(&ServerConfig) -> String,
    ) -> Self {
        let prompts = services.prompts.clone();
        let databases = services.databases;
        let databases = databases.map(|databases| DatabaseTools::new(databases, prompts));
        let auth = Auth::new(&config);
        App {
            aliases: Aliases::default(),
            mcp: McpEndpoints::new(
                &services.prompts,
                services.agents.as_ref(),
                &auth,
                config.body_bytes,
            ),
            auth,
            hosts,
            browsers: Browsers::new(config.origins.clone()),
            rate: config.rate.map(RateLimiter::new),
            stopping: AtomicBool::new(false),
            config,
            service: services.prompts,
            definitions: services.definitions,
            agents: services.agents,
            model_rates: services.rates,
            spending: services.spending,
            models: services.models,
            databases,
            batching: services.batches,
            traces: services.traces,
            metrics,
            openapi: OnceLock::new(),
            describe,
        }
    }

    /// The OpenAPI document, as JSON.
    pub(crate) fn openapi(&self) -> &str {
        self.openapi.get_or_init(|| (self.describe)(&self.config))
    }

    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Why no answer of an agent begins, if the store of runs is away.
    pub(crate) fn runs_away(&self) -> Option<String> {
        match self.agents.as_ref()?.parts().runs.health() {
            Health::Away { reason } => Some(reason),
            Health::Ready => None,
        }
    }

    /// Whether clients may change which databases there are.
    pub(crate) fn may_change_databases(&self) -> bool {
        let loopback = self.config.listen.ip().is_loopback();
        let guarded = loopback || self.config.has_tokens();
        self.config.change_databases.unwrap_or(guarded)
    }

    /// Whether templates in requests are rendered.
    pub(crate) fn takes_inline_templates(&self) -> bool {
        let loopback = self.config.listen.ip().is_loopback();
        self.config.inline_templates.unwrap_or(loopback)
    }
}
