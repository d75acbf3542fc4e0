//! The services behind a server.

use std::sync::Arc;

use quillet_core::batch::BatchService;
use quillet_core::trace::TraceReader;
use quillet_host::agent::AgentService;
use quillet_host::definitions::{DefinitionOptions, DefinitionService};
use quillet_host::sql::Databases;
use quillet_llm::models::ModelRouter;
use quillet_llm::{RateLimits, Spending};
use quillet_prompt::PromptService;

/// The services behind a server. A conversion from a prompt service creates no agents and no
/// databases.
#[derive(Clone, Debug)]
pub struct Services {
    /// Prompts, shared variables and tools.
    pub prompts: Arc<PromptService>,
    /// The definitions in the store, including their version histories.
    pub definitions: DefinitionService,
    /// Agents of `/v1/response`, if configured.
    pub agents: Option<Arc<AgentService>>,
    /// Databases of `/api/v1/dbs`, if configured.
    pub databases: Option<Databases>,
    /// Readable traces, if enabled. The agents own the sink that records traces.
    pub traces: Option<Arc<dyn TraceReader>>,
    /// Rate limits of models, if configured.
    pub rates: Option<Arc<RateLimits>>,
    /// Budgets for `/v1/budgets` and `/metrics`, if configured.
    pub spending: Option<Arc<Spending>>,
    /// The models of this server by name. Batches use them to call the batch APIs of model
    /// providers.
    pub models: Option<Arc<ModelRouter>>,
    /// Files and batches of `/v1/files` and `/v1/batches`, if enabled.
    pub batches: Option<BatchService>,
}

impl From<Arc<PromptService>> for Services {
    fn from(prompts: Arc<PromptService>) -> Self {
        Services {
            definitions: DefinitionService::new(prompts.clone(), DefinitionOptions::default()),
            prompts,
            agents: None,
            databases: None,
            traces: None,
            rates: None,
            spending: None,
            models: None,
            batches: None,
        }
    }
}
