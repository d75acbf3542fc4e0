//! Records and replays model responses for a fixture.

use std::path::Path;
use std::sync::Arc;

use quillet::components::agents;
use quillet::settings::Settings;
use quillet_host::script::ScriptModels;
use quillet_llm::{Record, Replay};
use quillet_script::host;

use crate::failure::CliError;
use crate::scripts::MOCK;

/// Returns models that replay the recordings of a folder, or that record to it.
///
/// # Errors
/// The folder cannot be read or created.
pub(super) fn models(
    folder: &Path,
    config: &Settings,
    records: bool,
) -> Result<Arc<dyn host::ModelSource>, CliError> {
    let door = agents::models(config)?;
    let models = ScriptModels::new(door.clone()).or_default(MOCK);
    if records {
        return Ok(Arc::new(
            models.behind(Arc::new(Record::new(door, folder)?)),
        ));
    }
    // Without recordings every test would fail, and a single message is clearer.
    if !folder.is_dir() {
        return Err(CliError::Usage(format!(
            "cassette {}: no recordings; record them with --record-cassettes",
            folder.display()
        )));
    }
    Ok(Arc::new(models.behind(Arc::new(Replay::open(folder)?))))
}
