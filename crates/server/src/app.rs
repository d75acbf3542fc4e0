//! The state that all handlers share, created once at startup.

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

/// The shared state of all requests.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) config: ServerConfig,
    pub(crate) service: Arc<PromptService>,
    /// The service for definitions and their version histories.
    pub(crate) definitions: DefinitionService,
    /// The agent service, if configured.
    pub(crate) agents: Option<Arc<AgentService>>,
    /// The databases, if configured.
    pub(crate) databases: Option<DatabaseTools>,
    /// Files and batches, if enabled.
    pub(crate) batching: Option<BatchService>,
    /// Readable traces, if enabled.
    pub(crate) traces: Option<Arc<dyn TraceReader>>,
    /// Aliases of prompts.
    pub(crate) aliases: Aliases,
    pub(crate) metrics: Metrics,
    pub(crate) auth: Auth,
    pub(crate) hosts: Hosts,
    pub(crate) browsers: Browsers,
    pub(crate) rate: Option<RateLimiter>,
    /// Rate limits of models, if configured.
    pub(crate) model_rates: Option<Arc<RateLimits>>,
    /// The router of models, if configured.
    pub(crate) models: Option<Arc<ModelRouter>>,
    /// Budgets, if configured.
    pub(crate) spending: Option<Arc<Spending>>,
    /// The endpoints for MCP clients.
    pub(crate) mcp: McpEndpoints,
    /// The OpenAPI document, generated on first use.
    openapi: OnceLock<String>,
    /// Generates the OpenAPI document. A function pointer breaks the import cycle between this
    /// file, the handlers and the route list.
    describe: fn(&ServerConfig) -> String,
    /// Set at shutdown and never reset.
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

    /// Returns the OpenAPI document as JSON.
    pub(crate) fn openapi(&self) -> &str {
        self.openapi.get_or_init(|| (self.describe)(&self.config))
    }

    pub(crate) fn stop(&self) {
        // The release store pairs with the acquire load below. A request that sees the flag also
        // sees all writes before the shutdown.
        self.stopping.store(true, Ordering::Release);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Returns the reason why the store of runs is unavailable, in which case agent runs cannot
    /// start.
    pub(crate) fn runs_outage(&self) -> Option<String> {
        match self.agents.as_ref()?.parts().runs.health() {
            Health::Away { reason } => Some(reason),
            Health::Ready => None,
        }
    }

    /// Returns whether clients may change connections to databases.
    pub(crate) fn may_change_databases(&self) -> bool {
        let loopback = self.config.listen.ip().is_loopback();
        // A client that may change databases can open any address, so the default permits it only
        // for local or authenticated clients.
        let guarded = loopback || self.config.has_tokens();
        self.config.change_databases.unwrap_or(guarded)
    }

    /// Returns whether templates in requests are permitted.
    pub(crate) fn takes_inline_templates(&self) -> bool {
        let loopback = self.config.listen.ip().is_loopback();
        self.config.inline_templates.unwrap_or(loopback)
    }
}
