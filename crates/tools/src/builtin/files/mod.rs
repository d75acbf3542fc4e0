//! Tools `read_file` and `list_files`: read-only access to one folder, the workspace.

mod glob;
mod list;
mod read;
mod workspace;

use std::time::Duration;

use quillet_core::tool::ToolErrorKind;
use quillet_core::{Map, Value};
use serde_json::Value as Json;

use crate::deadline::CallTimeout;

pub(super) use list::{ListFiles, SHAPE as LIST};
pub(super) use read::{ReadFile, SHAPE as READ};
use workspace::PathError;
pub(crate) use workspace::Workspace;

/// Timeout of a call: enough for any folder on a disk that responds.
const TIME: Duration = Duration::from_secs(10);

pub(super) const LIMIT: CallTimeout = CallTimeout {
    time: TIME,
    setting: "the limit on file tools",
};

/// Runs blocking disk access on a blocking thread.
async fn blocking(
    work: impl FnOnce() -> Result<Json, PathError> + Send + 'static,
) -> Result<Value, PathError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(answer) => answer.map(Value::from),
        Err(error) => Err(PathError::new(ToolErrorKind::Transport, error.to_string())),
    }
}

fn word<'m>(arguments: &'m Map, name: &str) -> &'m str {
    arguments
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn count(arguments: &Map, name: &str, default: u64) -> u64 {
    match arguments.get(name) {
        Some(Value::Int(count)) => u64::try_from(*count).unwrap_or(0),
        _ => default,
    }
}
