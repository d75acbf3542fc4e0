//! Resolves model names.

/// The target of a model name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModelTarget<'a> {
    /// A model by name, or the configured model if there is no name.
    Model,
    /// A stored prompt. Its rendered messages precede the conversation.
    Prompt(&'a str),
    /// A stored agent.
    Agent(&'a str),
    /// A database. The last user message is the question.
    Database(&'a str),
}

/// The prefix of stored prompts.
pub(super) const PROMPT: &str = "prompt/";

/// The prefix of stored agents.
pub(super) const AGENT: &str = "agent/";

/// The prefix of databases.
pub(super) const DATABASE: &str = "database/";

impl<'a> ModelTarget<'a> {
    pub(super) fn of(model: Option<&'a str>) -> Self {
        let Some(model) = model else {
            return ModelTarget::Model;
        };
        if let Some(id) = model.strip_prefix(PROMPT) {
            return ModelTarget::Prompt(id);
        }
        if let Some(name) = model.strip_prefix(DATABASE) {
            return ModelTarget::Database(name);
        }
        model
            .strip_prefix(AGENT)
            .map_or(ModelTarget::Model, ModelTarget::Agent)
    }
}
