//! Options for running a query, and its result.

use crate::chain::EarlierQuestion;
use crate::database::QueryLimits;
use crate::guard::GuardMode;
use crate::rows::RowSet;

/// Options for running a query.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The question that the query answers, for the history.
    pub question: Option<String>,
    /// Whether the user has read and accepted the query. If an accepted query succeeds, it becomes
    /// an example for similar questions.
    pub accepted: bool,
    /// Kinds of statements that may pass the guard.
    pub mode: GuardMode,
    /// Limits; `None` uses the limits from the settings.
    pub limits: Option<QueryLimits>,
    /// Earlier questions of the conversation, oldest first.
    pub previous: Vec<EarlierQuestion>,
}

/// A completed query.
#[derive(Clone, Debug)]
pub struct QueryRun {
    /// The query that ran, including an added LIMIT.
    pub sql: String,
    /// Rows of the result.
    pub rows: RowSet,
    /// Execution time in milliseconds.
    pub execution_ms: u64,
    /// Tables that the query read, as `schema.table`.
    pub tables: Vec<String>,
}
