//! Options for running a query, and its result.

use crate::chain::Previous;
use crate::database::QueryLimits;
use crate::guard::GuardMode;
use crate::rows::RowSet;

/// Options for running a query.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The question that it answers, for the history.
    pub question: Option<String>,
    /// Whether who asked has read the query and wants it: if it runs, it is accepted as an answer
    /// to the question.
    pub accepted: bool,
    /// What may pass the guard.
    pub mode: GuardMode,
    /// Bounds; those of the settings where `None`.
    pub limits: Option<QueryLimits>,
    /// What was asked before in the same talk, the latest last.
    pub previous: Vec<Previous>,
}

/// A query that ran.
#[derive(Clone, Debug)]
pub struct QueryRun {
    /// The query as it ran, with our LIMIT where it has one.
    pub sql: String,
    /// What it gave.
    pub rows: RowSet,
    /// How long the database took, in milliseconds.
    pub execution_ms: u64,
    /// Tables that it read, `schema.table`.
    pub tables: Vec<String>,
}
