//! The pipeline's prompts: built-in templates, which users can replace.

use std::fmt;
use std::sync::Arc;

use quillet_core::{BoxFuture, Map, Message, Role};
use quillet_template::{
    CompileError, CompileOptions, CompiledTemplate, NoFunctions, Render, RenderLimits,
    TemplateFactory, TemplateSource, render,
};

/// The prompts of the pipeline.
///
/// All have the variables `prompt` (the question), `db_name`, `db_type` (`postgresql`, `mysql`,
/// `sqlite`) and `description` (of the connection).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PromptKind {
    /// Phase 1: select tables. Variables: `table_summary_list` (one line for each table),
    /// `max_tables`, `more_rules`.
    Tables,
    /// Phase 2: write the query. Variables: `dialect` (display name), `dialect_rules`, `schema`,
    /// `limit`, `examples` (accepted queries with their questions, followed by an empty line; empty
    /// if there are none), `previous` (earlier questions of the conversation with their queries;
    /// empty for the first question).
    Query,
    /// Repair a query after an error. Variables: those of `Query`, plus `sql` and `error`.
    Repair,
}

impl PromptKind {
    /// All prompts of the pipeline.
    pub const ALL: [PromptKind; 3] = [PromptKind::Tables, PromptKind::Query, PromptKind::Repair];

    /// Returns the id of the stored prompt that replaces this prompt.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            PromptKind::Tables => "sql.tables",
            PromptKind::Query => "sql.query",
            PromptKind::Repair => "sql.repair",
        }
    }

    /// Returns the built-in messages. Each has a role and an f-string template.
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

/// Error for a prompt that cannot be rendered.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct PromptError {
    /// The problem, including its position in the template.
    pub message: String,
}

/// Renders the pipeline's prompts. A server first looks for stored prompts that have the ids of
/// [`PromptKind`].
pub trait Prompts: Send + Sync + fmt::Debug {
    /// Renders the messages of a prompt.
    fn render<'a>(
        &'a self,
        which: PromptKind,
        variables: Map,
    ) -> BoxFuture<'a, Result<Vec<Message>, PromptError>>;
}

/// The built-in prompts, as f-strings. The prompt of phase 1 is identical to table-chat's.
#[derive(Clone, Debug)]
pub struct BuiltIn {
    templates: [Arc<dyn CompiledTemplate>; 3],
}

/// Names of the two template sources of each prompt.
const ENTRIES: [&str; 2] = ["system", "user"];

impl BuiltIn {
    /// Compiles the built-in prompts.
    ///
    /// # Errors
    /// Never fails for the built-in texts.
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
