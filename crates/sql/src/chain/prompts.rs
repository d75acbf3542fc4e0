//! The chain's prompts: templates, which users may put their own in place of.

use std::fmt;

use quillet_core::{BoxFuture, Map, Message};

/// The prompts of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Which {
    /// Phase 1: which tables. Variables `tables` (the list), `question`.
    Tables,
    /// Phase 2: the query. Variables `dialect`, `schema`, `question`, `limit`.
    Query,
    /// After an error: the query again. Variables `dialect`, `schema`, `question`, `limit`, `sql`, `error`.
    Repair,
}

impl Which {
    /// All of them.
    pub const ALL: [Which; 3] = [Which::Tables, Which::Query, Which::Repair];

    /// The id of a stored prompt that takes its place.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Which::Tables => "sql.tables",
            Which::Query => "sql.query",
            Which::Repair => "sql.repair",
        }
    }
}

/// Why there is no prompt.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct PromptError {
    /// What went wrong, with the place in the template.
    pub message: String,
}

/// Who renders the chain's prompts. A server looks for stored prompts of the ids of [`Which`] first.
pub trait Prompts: Send + Sync + fmt::Debug {
    /// The messages of a prompt.
    fn render<'a>(
        &'a self,
        which: Which,
        variables: Map,
    ) -> BoxFuture<'a, Result<Vec<Message>, PromptError>>;
}

/// The prompts that come with the crate.
#[derive(Clone, Debug, Default)]
pub struct BuiltIn {}

impl Prompts for BuiltIn {
    fn render<'a>(
        &'a self,
        which: Which,
        variables: Map,
    ) -> BoxFuture<'a, Result<Vec<Message>, PromptError>> {
        let _ = variables;
        Box::pin(async move {
            Err(PromptError {
                message: format!("{} has no template", which.id()),
            })
        })
    }
}
