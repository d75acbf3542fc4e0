//! Replacement of `databases` in a build without the feature `sql`.

use std::sync::Arc;

pub(crate) use quillet::components::databases::*;
use quillet::settings::Settings;
use quillet_core::store::Store;

/// Result of `quillet doctor` for a database.
#[derive(Debug)]
pub(crate) enum DoctorFinding {
    #[allow(dead_code)] // Constructed only with the feature `sql`.
    Fine(String),
    Mind(String),
    #[allow(dead_code)]
    Broken(String),
}

/// Reports that the databases of the store are skipped.
pub(crate) async fn check_databases(_: &Settings, store: Arc<dyn Store>) -> Vec<DoctorFinding> {
    let said = left_out(&*store).await;
    said.into_iter().map(DoctorFinding::Mind).collect()
}
