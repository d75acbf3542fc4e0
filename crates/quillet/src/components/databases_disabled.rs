//! Replacement of `databases` in a build without the feature `sql`; warns if the store contains
//! databases.

use std::sync::Arc;

use quillet_core::build::FeatureDisabled;
use quillet_core::store::{EntryKind, Store};
use quillet_host::sql::Databases;
use quillet_llm::models::ModelRouter;
use quillet_prompt::PromptService;

use crate::error::Error;
use crate::settings::Settings;

/// The cargo feature that this build lacks.
pub const SQL: FeatureDisabled = FeatureDisabled {
    what: "databases",
    feature: "sql",
};

/// Does nothing: this build stores no data of databases.
pub fn use_user_folder(_: &mut Settings) {}

/// The databases of a host: none.
#[derive(Debug)]
pub struct ServedDatabases;

impl ServedDatabases {
    /// Warns about databases in the store.
    ///
    /// # Errors
    /// Never fails.
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

    /// Returns `None`: this build serves no databases.
    pub fn http_databases(&self) -> Option<Databases> {
        None
    }

    /// Returns immediately: there are no connections to follow.
    #[allow(clippy::unused_async)] // As where there are databases.
    pub async fn follow(&self) {}
}

/// Offers no tools, and warns about databases in the store.
///
/// # Errors
/// Never fails.
pub async fn register_tools(
    settings: &Settings,
    store: Arc<dyn Store>,
    prompts: &Arc<PromptService>,
    models: Arc<ModelRouter>,
) -> Result<(), Error> {
    let offered = ServedDatabases::open(settings, store, prompts, models, false).await;
    offered.map(drop)
}

/// Returns a warning that the databases of a store are skipped, if it has any.
pub async fn left_out(store: &dyn Store) -> Option<String> {
    // An unavailable store is reported elsewhere, so it causes no warning here.
    let names = store.keys(EntryKind::Database).await.ok()?;
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    (!names.is_empty()).then(|| format!("skipped databases {}: {SQL}", names.join(", ")))
}
