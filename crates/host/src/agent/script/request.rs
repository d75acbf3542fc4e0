//! Request and setup of a script run.

use std::path::PathBuf;

use quillet_agent::{AgentError, Permissions};
use quillet_core::chat::ChatOptions;
use quillet_core::{ErrorCode, Map, Message, Value, clock};
use quillet_prompt::ScriptJob;
use serde::{Deserialize, Serialize};

/// Request to run a script. It contains the source text, so later changes of the script do not
/// affect the run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ScriptRequest {
    /// Its id, or the name of its file.
    pub id: String,
    /// Name by which scripts refer to the script.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Path of its file, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Further folders to search for scripts, if the script is a file.
    pub search: Vec<PathBuf>,
    /// Arguments by name.
    pub arguments: Map,
    /// Single argument, if it is not a string.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub single: Option<Value>,
    /// The user's message.
    pub question: Option<String>,
    /// The conversation before the message.
    pub history: Vec<Message>,
    /// Model that overrides the script's own.
    pub model: Option<String>,
    /// Model parameters that override those of the script.
    pub options: ChatOptions,
    /// Whether answers are streamed.
    pub stream: bool,
    /// Whether network access is allowed, in addition to the grants of the settings.
    pub net: bool,
    /// Seed of random choices; taken from the clock if `None`.
    pub seed: Option<u64>,
    /// Patterns of tools that need approval.
    pub ask: Vec<String>,
}

impl ScriptRequest {
    /// Request to run a stored script.
    #[must_use]
    pub fn of_job(job: &ScriptJob) -> Self {
        ScriptRequest {
            id: job.id.to_string(),
            name: job.script.name.to_string(),
            text: job.script.text.to_string(),
            arguments: job.arguments.clone(),
            question: job.question.clone(),
            history: job.history.clone(),
            model: job.model.clone(),
            options: job.options.clone(),
            stream: job.stream,
            ..ScriptRequest::default()
        }
    }

    /// Title in lists of runs.
    #[must_use]
    pub fn title(&self) -> String {
        format!("prompt/{}", self.id)
    }
}

/// Recorded setup of a script.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::agent) struct ScriptSetup {
    /// Prefix of the ids of calls.
    pub(super) id: String,
    /// Seed of random numbers.
    pub(super) seed: u64,
    /// Time of the script in milliseconds since 1970.
    pub(super) began_ms: u64,
    /// Model that a fork uses instead of the run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<String>,
    /// Patterns of tools that need approval.
    pub(super) ask: Vec<String>,
}

impl ScriptSetup {
    /// Setup of a new script run.
    pub(in crate::agent) fn new(
        request: &ScriptRequest,
        ask: &[String],
    ) -> Result<Self, AgentError> {
        Permissions::parse(ask).map_err(|error| AgentError::Setup {
            code: ErrorCode::RunInvalidRequest,
            message: format!("tools.ask: {error}"),
        })?;
        let id = uuid::Uuid::new_v4();
        Ok(ScriptSetup {
            id: id.simple().to_string(),
            seed: request.seed.unwrap_or_else(|| id.as_u64_pair().0),
            began_ms: clock::millis(),
            model: None,
            ask: ask.to_vec(),
        })
    }

    /// Recorded form of the setup.
    pub(in crate::agent) fn written(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    pub(super) fn permissions(&self) -> Permissions {
        Permissions::parse(&self.ask).unwrap_or_default()
    }
}
