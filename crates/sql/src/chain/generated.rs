//! Result of the pipeline: the query with a report of how it was generated.

use serde::Serialize;

/// A query that a model generated for a question.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GeneratedQuery {
    /// The query, accepted by the guard.
    pub generated_sql: String,
    /// Model name as reported by the provider.
    pub model: String,
    /// Explanation of the query, in the language of the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<String>,
    /// `csv`, `json`, `xlsx` or `parquet`, if the question asks for a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub export_format: Option<String>,
    /// Tables whose schema the model saw, and why.
    pub selected_tables: Vec<SelectedTable>,
    /// Whether the selection of phase 1 was unusable.
    pub fallback_used: bool,
    /// Reason for the fallback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback_reason: Option<Fallback>,
    /// Number of tables that did not fit the token budget.
    pub omitted_tables: usize,
    /// Duration of each phase.
    pub phases: Vec<PhaseTime>,
    /// Number of tokens that were used, and that the whole schema would have used.
    pub tokens: TokenReport,
    /// Ids of the accepted queries that the model saw as examples.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<u64>,
    /// Queries that were rejected before this query, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<Repair>,
}

/// A table whose schema the model saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SelectedTable {
    /// `schema.table`.
    pub name: String,
    /// How the table was selected: `all`, `model`, `rank` or `example`.
    pub chosen_by: &'static str,
    /// Words of the question that matched the table.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
}

/// Reason why the selection of phase 1 was unusable. Every fallback uses tables that the model did
/// not select.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fallback {
    /// Stable code: `call_failed`, `not_json`, `not_an_array`, `empty`, `all_unknown`, `no_tables`.
    pub code: &'static str,
    /// Description in one sentence.
    pub message: String,
}

/// The duration of one phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PhaseTime {
    /// Phase: `catalogue`, `rank`, `select`, `generate` or `repair`.
    pub name: &'static str,
    /// Duration in milliseconds.
    pub ms: u64,
}

/// Token usage as reported by the provider, or an estimate if the provider does not report usage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenReport {
    /// Total tokens of all prompts.
    pub prompt: u64,
    /// Total tokens of all answers.
    pub completion: u64,
    /// Estimated tokens of the schema of all tables.
    pub full_schema: u64,
    /// Tokens saved by selecting tables. The number can be negative for small schemas.
    pub saved: i64,
}

/// A rejected query that was sent back to the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Repair {
    /// The rejected query.
    pub sql: String,
    /// Error code.
    pub code: String,
    /// Error text sent to the model.
    pub error: String,
}
