//! The target that a model name selects.

/// The target of a model name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModelTarget<'a> {
    /// A model of this server, by its name; the configured one where there is none.
    Model,
    /// A stored prompt: what it renders to goes before the conversation.
    Prompt(&'a str),
    /// A stored agent.
    Agent(&'a str),
    /// A database, which is asked a question.
    Database(&'a str),
}

/// What the names of stored prompts begin with.
pub(super) const PROMPT: &str = "prompt/";

/// What the names of stored agents begin with.
pub(super) const AGENT: &str = "agent/";

/// What the names of databases begin with.
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
