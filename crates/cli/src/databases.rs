//! Configured databases, and their checks in `quillet doctor`.

use std::sync::Arc;

pub(crate) use quillet::components::databases::*;
use quillet::settings::Settings;
use quillet_core::store::Store;
use quillet_sql::database::ConnectionReport;
use quillet_store::{ArchiveOptions, MemoryArchive};

use crate::chat::one_line;

/// Maximum characters of a version or warning of a database.
const MOST_VERSION: usize = 300;

/// Result of `quillet doctor` for a database.
#[derive(Debug)]
pub(crate) enum DoctorFinding {
    Fine(String),
    Mind(String),
    Broken(String),
}

/// Checks each stored database: whether it answers, and which privileges its role has beyond
/// reading.
pub(crate) async fn check_databases(
    config: &Settings,
    store: Arc<dyn Store>,
) -> Vec<DoctorFinding> {
    // The archive is in memory, so a check changes nothing on disk.
    let archive = Arc::new(MemoryArchive::new(ArchiveOptions::default()));
    let known = match without_model(config, store, archive) {
        Ok(known) => known,
        Err(failure) => return vec![DoctorFinding::Broken(failure.to_string())],
    };
    let Ok(list) = known.list().await else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for connection in list {
        let name = connection.name;
        match known.test_known(&name).await {
            Ok(checked) => found.extend(answered(&name, &checked)),
            Err(error) => found.push(DoctorFinding::Broken(format!("{name}: {error}"))),
        }
    }
    found
}

fn answered(name: &str, checked: &ConnectionReport) -> Vec<DoctorFinding> {
    let told = |text: &str| format!("{name}: {}", one_line(text, MOST_VERSION));
    let mut found = vec![DoctorFinding::Fine(told(&checked.version))];
    let warnings = checked.warnings.iter();
    found.extend(warnings.map(|warning| DoctorFinding::Mind(told(warning))));
    found
}
