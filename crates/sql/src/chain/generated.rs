//! What the chain gives: the query and an account of how it came about.

use serde::Serialize;

/// A query that a model wrote for a question.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GeneratedQuery {
    /// The query, approved by the guard.
    pub generated_sql: String,
    /// The model that wrote it, as it calls itself.
    pub model: String,
    /// What it does, in the language of the question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<String>,
    /// `csv`, `json`, `xlsx` or `parquet` where the question asks for a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub export_format: Option<String>,
    /// The tables whose schema the model saw, and why.
    pub selected_tables: Vec<SelectedTable>,
    /// Whether phase 1's choice could not be used.
    pub fallback_used: bool,
    /// Why, where it was so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback_reason: Option<Fallback>,
    /// Tables that did not fit into the token budget.
    pub omitted_tables: usize,
    /// What took how long.
    pub phases: Vec<PhaseTime>,
    /// What it cost, and what it would have cost with the whole schema.
    pub tokens: TokenReport,
    /// Numbers in the history of the accepted queries that the model was shown as examples.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub examples: Vec<u64>,
    /// Queries that were refused before this one, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<Repair>,
}

/// A table whose schema the model saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SelectedTable {
    /// `schema.table`.
    pub name: String,
    /// `all`, `model`, `rank`, `example`: who chose it.
    pub chosen_by: &'static str,
    /// The words that it was found by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<String>,
}

/// Why phase 1's choice could not be used. Every one of them falls back to tables that the model
/// did not choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fallback {
    /// Stable code: `call_failed`, `not_json`, `not_an_array`, `empty`, `all_unknown`, `no_tables`.
    pub code: &'static str,
    /// One sentence.
    pub message: String,
}

/// The duration of one phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PhaseTime {
    /// `catalogue`, `rank`, `select`, `generate`, `repair`.
    pub name: &'static str,
    /// Milliseconds.
    pub ms: u64,
}

/// Tokens, as the provider counted them where it did, else estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenReport {
    /// Tokens of all prompts.
    pub prompt: u64,
    /// Tokens of all answers.
    pub completion: u64,
    /// Tokens that the schema of all tables would have had, estimated.
    pub full_schema: u64,
    /// Tokens that were not sent because tables were chosen: may be negative on small schemas.
    pub saved: i64,
}

/// A query that went back to the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Repair {
    /// The query.
    pub sql: String,
    /// Code of the error.
    pub code: String,
    /// The error, as it was sent to the model.
    pub error: String,
}
