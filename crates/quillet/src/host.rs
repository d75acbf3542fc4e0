//! Everything that a process serves, made of settings: what `quillet serve` stands on.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use quillet_core::store::Store;
use quillet_host::agent::AgentService;
use quillet_host::definitions::DefinitionService;
use quillet_llm::models::ModelRouter;
use quillet_prompt::PromptService;
use quillet_store::MemoryStore;

use crate::components::databases::ServedDatabases;
use crate::components::traces::Traces;
use crate::components::{self, agents, scripts};
use crate::error::Error;
use crate::settings::{self, Settings};

/// Everything that a process serves, made of settings.
#[derive(Debug)]
pub struct Host {
    prompts: Arc<PromptService>,
    definitions: DefinitionService,
    /// Whether what others write into the store becomes versions.
    keeps_history: bool,
    models: Arc<ModelRouter>,
    agents: Arc<AgentService>,
    databases: ServedDatabases,
    traces: Traces,
}

impl Host {
    /// Opens the store of the settings, or none in memory, and makes all parts over it. A store that does
    /// not answer yet is a warning; [`Host::watch`] goes on trying.
    ///
    /// # Errors
    /// A setting is wrong, or something that it names cannot be opened.
    pub async fn open(settings: &Settings) -> Result<Self, Error> {
        let store = components::optional_store(settings).await?;
        let store = store.unwrap_or_else(|| Arc::new(MemoryStore::new()));
        Host::over(settings, store, false).await
    }

    /// The same over a store; with the demo's shop among the databases, if that is wanted.
    ///
    /// # Errors
    /// As [`Host::open`].
    pub async fn over(
        settings: &Settings,
        store: Arc<dyn Store>,
        with_shop: bool,
    ) -> Result<Self, Error> {
        let retries = Arc::new(AtomicU64::new(0));
        let models = components::models(settings, retries.clone())?;
        let model = components::asked(settings, &models)?;
        let prompts = components::service(settings, store.clone(), Some(model), retries)?;
        let prompts = Arc::new(prompts);
        if let Err(error) = prompts.load().await {
            settings.warn(&format!("{error}; serving what is known until it answers"));
        }
        let traces = Traces::open(settings).await?;
        let scripts = scripts::serve(settings, &prompts, models.clone()).await?;
        let agents = agents::service(
            settings,
            prompts.clone(),
            models.clone(),
            Vec::new(),
            Some(scripts),
            &traces,
        );
        let agents = agents.await?;
        let databases = ServedDatabases::open(settings, store, &prompts, models.clone(), with_shop);
        Ok(Host {
            databases: databases.await?,
            definitions: DefinitionService::new(
                prompts.clone(),
                components::definition_options(settings),
            ),
            keeps_history: settings.is_on(&settings::STORE_HISTORY),
            prompts,
            models,
            agents,
            traces,
        })
    }

    /// Prompts, shared variables and tools.
    #[must_use]
    pub fn prompts(&self) -> &Arc<PromptService> {
        &self.prompts
    }

    /// The definitions of the store, with their histories.
    #[must_use]
    pub fn definitions(&self) -> &DefinitionService {
        &self.definitions
    }

    /// The models of the settings, by name.
    #[must_use]
    pub fn models(&self) -> &Arc<ModelRouter> {
        &self.models
    }

    /// Agents over these prompts and models.
    #[must_use]
    pub fn agents(&self) -> &Arc<AgentService> {
        &self.agents
    }

    /// Databases of the store, which are tools, too.
    #[must_use]
    pub fn databases(&self) -> &ServedDatabases {
        &self.databases
    }

    /// What a server serves.
    #[cfg(feature = "server")]
    #[must_use]
    pub fn services(&self) -> quillet_server::Services {
        quillet_server::Services {
            agents: Some(self.agents.clone()),
            databases: self.databases.served(),
            definitions: self.definitions.clone(),
            traces: self.traces.reader(),
            rates: self.models.rates().cloned(),
            spending: self.models.spending().cloned(),
            models: Some(self.models.clone()),
            ..quillet_server::Services::from(self.prompts.clone())
        }
    }

    /// Follows the store for as long as the future is polled: definitions, shared variables,
    /// connections of databases. What others write there becomes versions, unless `store.history`
    /// is off.
    pub async fn watch(&self) {
        let keeping = async {
            if self.keeps_history {
                self.definitions.watch().await;
            }
        };
        tokio::join!(self.prompts.watch(), self.databases.follow(), keeping);
    }

    /// Waits until traces are written, and for a collector a moment.
    pub async fn flush(&self) {
        self.traces.flush().await;
    }
}
