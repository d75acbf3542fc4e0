//! What stands where databases would, in a build without the feature `sql`: whoever has some in the
//! store is warned that they are left out.

use std::sync::Arc;

use quillet_core::build::FeatureDisabled;
use quillet_core::store::{EntryKind, Store};
use quillet_host::sql::Databases;
use quillet_llm::models::ModelRouter;
use quillet_prompt::PromptService;

use crate::error::Error;
use crate::settings::Settings;

/// What is missing.
pub const SQL: FeatureDisabled = FeatureDisabled {
    what: "databases",
    feature: "sql",
};

/// Nothing of databases is stored anywhere.
pub fn rest_with_the_user(_: &mut Settings) {}

/// Databases that a service offers: none.
#[derive(Debug)]
pub struct ServedDatabases;

impl ServedDatabases {
    /// Warns of those that the store has.
    ///
    /// # Errors
    /// None.
    pub async fn open(
        settings: &Settings,
        store: Arc<dyn Store>,
        _: &Arc<PromptService>,
        _: Arc<ModelRouter>,
        _: bool,
    ) -> Result<Self, Error> {
        if let Some(said) = left_out(&*store).await {
            settings.warn(&said);
        }
        Ok(ServedDatabases)
    }

    /// What is served over HTTP.
    pub fn served(&self) -> Option<Databases> {
        None
    }

    /// There is nothing to follow.
    #[allow(clippy::unused_async)] // As where there are databases.
    pub async fn follow(&self) {}
}

/// Offers none, and warns of those that the store has.
///
/// # Errors
/// None.
pub async fn offer(
    settings: &Settings,
    store: Arc<dyn Store>,
    prompts: &Arc<PromptService>,
    models: Arc<ModelRouter>,
) -> Result<(), Error> {
    let offered = ServedDatabases::open(settings, store, prompts, models, false).await;
    offered.map(drop)
}

/// That the databases of a store are left out.
pub async fn left_out(store: &dyn Store) -> Option<String> {
    // A store that does not answer is reported by others.
    let names = store.keys(EntryKind::Database).await.ok()?;
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    (!names.is_empty()).then(|| format!("databases {} are left out: {SQL}", names.join(", ")))
}
