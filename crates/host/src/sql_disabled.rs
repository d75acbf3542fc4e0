//! Replaces databases in builds without the feature `sql`.

use std::sync::Arc;

use quillet_prompt::PromptService;

/// Uninhabited counterpart of the databases.
#[derive(Clone, Debug)]
pub enum Databases {}

/// Uninhabited counterpart of the database tools.
#[derive(Clone, Debug)]
pub struct DatabaseTools(Databases);

impl DatabaseTools {
    /// Creates the tools of these databases for the catalogue of this service.
    #[must_use]
    pub fn new(databases: Databases, _: Arc<PromptService>) -> Self {
        DatabaseTools(databases)
    }

    /// The databases.
    #[must_use]
    pub fn databases(&self) -> &Databases {
        &self.0
    }
}
