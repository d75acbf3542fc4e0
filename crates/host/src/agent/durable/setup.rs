//! Recorded setup of a run. Later changes of a prompt do not affect a run that has begun.

use quillet_agent::{Citation, Permissions, PromptVersion, RunSpec};
use quillet_core::Message;
use quillet_core::chat::ChatOptions;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent::prepared::PreparedRun;

/// The setup of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::agent) struct Setup {
    /// Prefix of the ids of calls.
    id: String,
    /// Model that a fork uses instead of the run's.
    pub(in crate::agent) model: Option<String>,
    system: String,
    history: Vec<Message>,
    input: Vec<Message>,
    options: ChatOptions,
    prompt: Option<(String, Option<u64>)>,
    loaded_skills: Vec<String>,
    chosen_skills: Vec<String>,
    asked: Vec<Message>,
    is_asked_again: bool,
    sources: Vec<Citation>,
    warnings: Vec<String>,
    ask: Vec<String>,
}

impl Setup {
    /// Setup of a new run.
    pub(in crate::agent) fn of(prepared: &PreparedRun) -> Value {
        let run = &prepared.run;
        let setup = Setup {
            id: run.id.to_string(),
            model: None,
            system: run.system.clone(),
            history: run.history.clone(),
            input: run.input.clone(),
            options: run.options.clone(),
            prompt: run.prompt.clone().map(|used| (used.id, used.version)),
            loaded_skills: run.skills.loaded.clone(),
            chosen_skills: run.skills.chosen.clone(),
            asked: prepared.asked.clone(),
            is_asked_again: prepared.is_asked_again,
            sources: prepared.sources.clone(),
            warnings: prepared.warnings.clone(),
            ask: prepared.ask.patterns(),
        };
        serde_json::to_value(setup).unwrap_or_default()
    }

    /// Replaces the prepared setup with the recorded one. Model connections and tools cannot be
    /// recorded, so the current ones are used.
    pub(in crate::agent) fn apply_to(self, prepared: &mut PreparedRun) {
        let run: &mut RunSpec = &mut prepared.run;
        run.id = self.id.into();
        run.system = self.system;
        run.history = self.history;
        run.input = self.input;
        run.options = self.options;
        run.prompt = self.prompt.map(|(id, version)| PromptVersion {
            id,
            version,
            variables: None,
        });
        run.skills.loaded = self.loaded_skills;
        run.skills.chosen = self.chosen_skills;
        prepared.asked = self.asked;
        prepared.is_asked_again = self.is_asked_again;
        prepared.sources = self.sources;
        prepared.warnings = self.warnings;
        prepared.ask = Permissions::parse(&self.ask).unwrap_or_default();
    }
}
