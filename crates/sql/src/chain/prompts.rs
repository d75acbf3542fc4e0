//! The chain's prompts: templates, which users may put their own in place of.

use std::fmt;
use std::sync::Arc;

use quillet_core::{BoxFuture, Map, Message, Role};
use quillet_template::{
    CompileError, CompileOptions, CompiledTemplate, NoFunctions, Render, RenderLimits,
    TemplateFactory, TemplateSource, render,
};

/// The prompts of the chain.
///
/// All of them have the variables `prompt` (the question), `db_name`, `db_type` (`postgresql`,
/// `mysql`, `sqlite`) and `description` (what its owner wrote about the database).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PromptKind {
    /// Phase 1: which tables. Variables `table_summary_list` (a line for each table),
    /// `max_tables`, `more_rules`.
    Tables,
    /// Phase 2: the query. Variables `dialect` (its name for people), `dialect_rules`, `schema`,
    /// `limit`, `examples` (accepted queries with their questions and an empty line behind; empty
    /// where there are none), `previous` (earlier questions of the talk and their queries; empty
    /// for the first).
    Query,
    /// After an error: the query again. Those of `Query`, and `sql` and `error`.
    Repair,
}

impl PromptKind {
    /// All of them.
    pub const ALL: [PromptKind; 3] = [PromptKind::Tables, PromptKind::Query, PromptKind::Repair];

    /// The id of a stored prompt that takes its place.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            PromptKind::Tables => "sql.tables",
            PromptKind::Query => "sql.query",
            PromptKind::Repair => "sql.repair",
        }
    }

    /// The messages as they come with the crate: roles and f-string templates.
    #[must_use]
    pub fn texts(self) -> [(Role, &'static str); 2] {
        let query = include_str!("texts/query.system.txt");
        let (system, user) = match self {
            PromptKind::Tables => (
                include_str!("texts/tables.system.txt"),
                include_str!("texts/tables.user.txt"),
            ),
            PromptKind::Query => (query, include_str!("texts/query.user.txt")),
            PromptKind::Repair => (query, include_str!("texts/repair.user.txt")),
        };
        [(Role::System, system), (Role::User, user)]
    }
}

/// The error of a prompt that cannot be rendered.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct PromptError {
    /// What went wrong, with the place in the template.
    pub message: String,
}

/// Renders the chain's prompts. A server looks for stored prompts of the ids of [`PromptKind`] first.
pub trait Prompts: Send + Sync + fmt::Debug {
    /// The messages of a prompt.
    fn render<'a>(
        &'a self,
        which: PromptKind,
        variables: Map,
    ) -> BoxFuture<'a, Result<Vec<Message>, PromptError>>;
}

/// The prompts that come with the crate: f-strings, of which phase 1's are table-chat's, word for
/// word.
#[derive(Clone, Debug)]
pub struct BuiltIn {
    templates: [Arc<dyn CompiledTemplate>; 3],
}

/// Names of the two sources of each prompt.
const ENTRIES: [&str; 2] = ["system", "user"];

impl BuiltIn {
    /// Compiles them.
    ///
    /// # Errors
    /// None of the texts that come with the crate gives one.
    pub fn new() -> Result<Self, CompileError> {
        let factory = TemplateFactory::standard();
        let compile = |which: PromptKind| {
            let [(_, system), (_, user)] = which.texts();
            let sources = [
                TemplateSource::new(ENTRIES[0], system),
                TemplateSource::new(ENTRIES[1], user),
            ];
            factory.compile("f-string", &sources, &CompileOptions::default())
        };
        Ok(BuiltIn {
            templates: [
                compile(PromptKind::Tables)?,
                compile(PromptKind::Query)?,
                compile(PromptKind::Repair)?,
            ],
        })
    }

    fn template(&self, which: PromptKind) -> &dyn CompiledTemplate {
        let [tables, query, repair] = &self.templates;
        match which {
            PromptKind::Tables => tables.as_ref(),
            PromptKind::Query => query.as_ref(),
            PromptKind::Repair => repair.as_ref(),
        }
    }
}

impl Prompts for BuiltIn {
    fn render<'a>(
        &'a self,
        which: PromptKind,
        variables: Map,
    ) -> BoxFuture<'a, Result<Vec<Message>, PromptError>> {
        Box::pin(async move {
            let limits = RenderLimits::default();
            let job = Render {
                template: self.template(which),
                entries: &ENTRIES,
                variables: &variables,
                functions: &NoFunctions,
                limits: &limits,
            };
            let rendered = render(&job).await.map_err(|error| PromptError {
                message: error.to_string(),
            })?;
            let texts = rendered.into_texts().into_iter();
            let roles = which.texts().into_iter().map(|(role, _)| role);
            Ok(roles
                .zip(texts)
                .map(|(role, text)| Message::new(role, text))
                .collect())
        })
    }
}
