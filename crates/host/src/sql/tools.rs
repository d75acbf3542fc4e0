//! Databases as tools of the catalogue, for templates, agents, scripts and MCP clients. The tools
//! change with the connections.

use std::sync::Arc;

use futures_util::StreamExt;
use quillet_core::store::{EntryKind, StoreChange};
use quillet_prompt::PromptService;
use quillet_sql::{Databases, SqlError, tools};

/// Owner of these tools in the catalogue.
const OWNER: &str = "databases";

/// Keeps the tools of a catalogue in sync with the databases.
#[derive(Clone, Debug)]
pub struct DatabaseTools {
    databases: Databases,
    prompts: Arc<PromptService>,
}

impl DatabaseTools {
    /// Creates the tools of these databases for the catalogue of this service.
    #[must_use]
    pub fn new(databases: Databases, prompts: Arc<PromptService>) -> Self {
        DatabaseTools { databases, prompts }
    }

    /// The databases.
    #[must_use]
    pub fn databases(&self) -> &Databases {
        &self.databases
    }

    /// Publishes the tools of the current connections.
    ///
    /// # Errors
    /// The store does not answer. The tools that are already published remain.
    pub async fn offer(&self) -> Result<(), SqlError> {
        let connections = self.databases.list().await?;
        let tools = tools::all(&self.databases, &connections);
        self.prompts.catalogue().offer(OWNER, tools).await;
        Ok(())
    }

    /// Publishes the tools now and after every change of a connection, while the future is polled.
    pub async fn follow(&self) {
        // Subscribed before the first offer, so that no change is missed.
        let mut changes = self.databases.changes();
        loop {
            // The last published tools remain available until the next change.
            if let Err(error) = self.offer().await {
                tracing::warn!(%error, "cannot refresh the tools of databases");
            }
            loop {
                match changes.next().await {
                    Some(change) if concerns(&change) => break,
                    Some(_) => {}
                    None => return,
                }
            }
        }
    }
}

fn concerns(change: &StoreChange) -> bool {
    matches!(
        change,
        StoreChange::All
            | StoreChange::Kind(EntryKind::Database)
            | StoreChange::Entry(EntryKind::Database, _)
    )
}
