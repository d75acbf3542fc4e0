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
    /// Whether the user has read and accepted the query: if it runs, it becomes an example for
    /// similar questions.
    pub accepted: bool,
    /// Which statements may pass the guard.
    pub mode: GuardMode,
    /// Limits; those of the settings if `None`.
    pub limits: Option<QueryLimits>,
    /// Earlier questions of the conversation, the latest last.
    pub previous: Vec<EarlierQuestion>,
}

/// A query that ran.
#[derive(Clone, Debug)]
pub struct QueryRun {
    /// The query that ran, including an added LIMIT.
    pub sql: String,
    /// Its rows.
    pub rows: RowSet,
    /// Execution time in milliseconds.
    pub execution_ms: u64,
    /// Tables that it read, `schema.table`.
    pub tables: Vec<String>,
}
