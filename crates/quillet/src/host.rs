//! Components of a host process, built from settings.

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

/// Components of a host process, created from settings. `quillet serve` uses this type.
#[derive(Debug)]
pub struct Host {
    prompts: Arc<PromptService>,
    definitions: DefinitionService,
    /// Whether changes by other writers of the store are recorded as versions.
    keeps_history: bool,
    models: Arc<ModelRouter>,
    agents: Arc<AgentService>,
    databases: ServedDatabases,
    traces: Traces,
}

impl Host {
    /// Opens the store of the settings, or an empty store in memory, and creates all components.
    ///
    /// An unavailable store causes only a warning, and [`Host::watch`] retries.
    ///
    /// # Errors
    /// A setting is invalid, or a file, store or service that it names cannot be opened.
    pub async fn open(settings: &Settings) -> Result<Self, Error> {
        let store = components::optional_store(settings).await?;
        let store = store.unwrap_or_else(|| Arc::new(MemoryStore::new()));
        Host::with_store(settings, store, false).await
    }

    /// Creates all components over a given store; `with_shop` adds the database of the demo shop.
    ///
    /// # Errors
    /// As for [`Host::open`].
    pub async fn with_store(
        settings: &Settings,
        store: Arc<dyn Store>,
        with_shop: bool,
    ) -> Result<Self, Error> {
        // The counter is shared, because the router counts the retries and the prompt service
        // reports them.
        let retries = Arc::new(AtomicU64::new(0));
        let models = components::models(settings, retries.clone())?;
        let model = components::configured_model(settings, &models)?;
        let prompts = components::service(settings, store.clone(), Some(model), retries)?;
        let prompts = Arc::new(prompts);
        // An unavailable store must not prevent the start: a server can serve models, and recovers
        // when the store answers.
        if let Err(error) = prompts.load().await {
            settings.warn(&format!(
                "{error}; serving cached definitions until the store answers"
            ));
        }
        // Traces are opened before the agents, which record their runs there.
        let traces = Traces::open(settings).await?;
        // Scripts are attached to the prompt service first, because agents may call stored scripts
        // as tools.
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

    /// Returns the prompt service: prompts, shared variables and tools.
    #[must_use]
    pub fn prompts(&self) -> &Arc<PromptService> {
        &self.prompts
    }

    /// Returns the service for definitions and their version histories.
    #[must_use]
    pub fn definitions(&self) -> &DefinitionService {
        &self.definitions
    }

    /// Returns the router to the configured models.
    #[must_use]
    pub fn models(&self) -> &Arc<ModelRouter> {
        &self.models
    }

    /// Returns the agent service over these prompts and models.
    #[must_use]
    pub fn agents(&self) -> &Arc<AgentService> {
        &self.agents
    }

    /// Returns the databases of the store, which are also tools.
    #[must_use]
    pub fn databases(&self) -> &ServedDatabases {
        &self.databases
    }

    /// Returns the services for an HTTP server.
    #[cfg(feature = "server")]
    #[must_use]
    pub fn services(&self) -> quillet_server::Services {
        quillet_server::Services {
            agents: Some(self.agents.clone()),
            databases: self.databases.http_databases(),
            definitions: self.definitions.clone(),
            traces: self.traces.reader(),
            rates: self.models.rates().cloned(),
            spending: self.models.spending().cloned(),
            models: Some(self.models.clone()),
            ..quillet_server::Services::from(self.prompts.clone())
        }
    }

    /// Follows changes of the store while the future is polled: definitions, shared variables and
    /// database connections. Changes by other writers are recorded as versions, unless
    /// `store.history` is off.
    pub async fn watch(&self) {
        let keeping = async {
            if self.keeps_history {
                self.definitions.watch().await;
            }
        };
        // `join!` is used instead of `select!`, because a part that ends immediately must not stop
        // the others.
        tokio::join!(self.prompts.watch(), self.databases.follow(), keeping);
    }

    /// Waits until all traces are written to the file, and for a limited time until they are sent
    /// to the collector.
    pub async fn flush(&self) {
        self.traces.flush().await;
    }
}
