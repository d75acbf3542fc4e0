//! What is asked of a script, and what it begins with.

use std::path::PathBuf;

use quillet_agent::{AgentError, Permissions};
use quillet_core::chat::ChatOptions;
use quillet_core::{ErrorCode, Map, Message, Value, clock};
use quillet_prompt::ScriptJob;
use serde::{Deserialize, Serialize};

/// A run of a script. Its text is part of it, so a script that changes meanwhile changes nothing.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ScriptRequest {
    /// Its id, or the name of its file.
    pub id: String,
    /// Its name, as scripts see it.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Where its file is, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    /// Of a file: folders in which scripts are looked for that it names, besides its own.
    pub search: Vec<PathBuf>,
    /// What it is given, by name.
    pub arguments: Map,
    /// What it is given, where that is one value that is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub single: Option<Value>,
    /// What the user says.
    pub question: Option<String>,
    /// The conversation before that.
    pub history: Vec<Message>,
    /// The model that answers, over the script's own.
    pub model: Option<String>,
    /// How it is to answer, over what the script says.
    pub options: ChatOptions,
    /// Whether answers stream.
    pub stream: bool,
    /// Whether it may connect, besides what the settings grant.
    pub net: bool,
    /// Where random choices start from; taken from the clock where `None`.
    pub seed: Option<u64>,
    /// Patterns of tools that are not called before somebody has agreed.
    pub ask: Vec<String>,
}

impl ScriptRequest {
    /// What a stored script is asked.
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

    /// What lists of runs call it.
    #[must_use]
    pub fn title(&self) -> String {
        format!("prompt/{}", self.id)
    }
}

/// What a script begins with, once that is known.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::agent) struct ScriptSetup {
    /// What the ids of its calls are made of.
    pub(super) id: String,
    /// Where random numbers start from.
    pub(super) seed: u64,
    /// What time it is in the script, in milliseconds since 1970.
    pub(super) began_ms: u64,
    /// The model that a fork asks in place of its run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<String>,
    /// Patterns of tools that are not called before somebody has agreed.
    pub(super) ask: Vec<String>,
}

impl ScriptSetup {
    /// That of a script that begins now.
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

    /// As the journal keeps it.
    pub(in crate::agent) fn written(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    pub(super) fn permissions(&self) -> Permissions {
        Permissions::parse(&self.ask).unwrap_or_default()
    }
}
