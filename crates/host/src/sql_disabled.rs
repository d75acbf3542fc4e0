//! Stand-in for databases in a build without the feature `sql`.

use std::sync::Arc;

use quillet_prompt::PromptService;

/// Databases, of which there are none.
#[derive(Clone, Debug)]
pub enum Databases {}

/// Keeps the tools of a catalogue in sync with the databases, of which there are none.
#[derive(Clone, Debug)]
pub struct DatabaseTools(Databases);

impl DatabaseTools {
    /// The tools of these databases in the catalogue of this service.
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
