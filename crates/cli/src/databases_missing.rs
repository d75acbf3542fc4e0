//! What stands where databases would, in a build without the feature `sql`: whoever has some in the
//! store is told that they are left out.

use std::sync::Arc;

use quillet_core::build::Missing;
use quillet_core::store::{Kind, Store};
use quillet_llm::models::Models;
use quillet_prompt::PromptService;
use quillet_server::sql::Databases;

use crate::config::Config;
use crate::failure::Failure;
use crate::terminal;

/// What is missing.
pub(crate) const SQL: Missing = Missing {
    what: "databases",
    feature: "sql",
};

/// Nothing of databases is stored anywhere.
pub(crate) fn rest_with_the_user(_: &mut Config) {}

/// Databases that a service offers: none.
#[derive(Debug)]
pub(crate) struct Offered;

impl Offered {
    /// Warns of those that the store has.
    ///
    /// # Errors
    /// None.
    pub(crate) async fn open(
        _: &Config,
        store: Arc<dyn Store>,
        _: &Arc<PromptService>,
        _: Arc<Models>,
        _: bool,
    ) -> Result<Self, Failure> {
        if let Some(said) = left_out(&*store).await {
            terminal::warning(&said);
        }
        Ok(Offered)
    }

    /// What is served over HTTP.
    pub(crate) fn served(&self) -> Option<Databases> {
        None
    }

    /// There is nothing to follow.
    #[allow(clippy::unused_async)] // As where there are databases.
    pub(crate) async fn follow(&self) {}
}

/// Offers none, and warns of those that the store has.
///
/// # Errors
/// None.
pub(crate) async fn offer(
    config: &Config,
    store: Arc<dyn Store>,
    prompts: &Arc<PromptService>,
    models: Arc<Models>,
) -> Result<(), Failure> {
    let offered = Offered::open(config, store, prompts, models, false).await;
    offered.map(drop)
}

/// What `quillet doctor` finds of one database.
#[derive(Debug)]
pub(crate) enum Finding {
    #[allow(dead_code)] // As where there are databases.
    Fine(String),
    Mind(String),
    #[allow(dead_code)]
    Broken(String),
}

/// That the databases of a store are left out.
pub(crate) async fn examined(_: &Config, store: Arc<dyn Store>) -> Vec<Finding> {
    let said = left_out(&*store).await;
    said.into_iter().map(Finding::Mind).collect()
}

async fn left_out(store: &dyn Store) -> Option<String> {
    // A store that does not answer is reported elsewhere.
    let names = store.keys(Kind::Database).await.ok()?;
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    (!names.is_empty()).then(|| format!("databases {} are left out: {SQL}", names.join(", ")))
}
