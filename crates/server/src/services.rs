//! What is handed to a server before it starts.

use std::sync::Arc;

use quillet_core::batch::BatchService;
use quillet_core::trace::TraceReader;
use quillet_host::agent::AgentService;
use quillet_host::definitions::{DefinitionOptions, DefinitionService};
use quillet_host::sql::Databases;
use quillet_llm::models::ModelRouter;
use quillet_llm::{RateLimits, Spending};
use quillet_prompt::PromptService;

/// The services behind a server. Made of a prompt service alone, it has no agents and no databases.
#[derive(Clone, Debug)]
pub struct Services {
    /// Prompts, shared variables and tools.
    pub prompts: Arc<PromptService>,
    /// The definitions of their store, with their histories.
    pub definitions: DefinitionService,
    /// Agents behind `/v1/response`, if any are set up.
    pub agents: Option<Arc<AgentService>>,
    /// Databases behind `/api/v1/dbs`, if they are set up.
    pub databases: Option<Databases>,
    /// Traces that can be read, if any are kept. Where they go to is a part of the agents.
    pub traces: Option<Arc<dyn TraceReader>>,
    /// How often models are asked at most, for `/metrics`, if that is limited.
    pub rates: Option<Arc<RateLimits>>,
    /// What may be spent, for `/v1/budgets` and `/metrics`, if that is kept.
    pub spending: Option<Arc<Spending>>,
    /// The models of this server by name, for the batch APIs of their providers.
    pub models: Option<Arc<ModelRouter>>,
    /// Files and batches behind `/v1/files` and `/v1/batches`, if they are kept.
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
