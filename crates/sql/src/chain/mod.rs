//! The text-to-SQL pipeline in two phases. First, a model selects tables from a list of all tables.
//! Then it sees their schema and writes the query. Phase 1 can be skipped, table lists are limited,
//! and failed queries are repaired.
//!
//! The names of [`build_table_summary_context`] and [`build_schema_context`] are those that
//! table-chat documents.

mod answer;
mod choice;
mod context;
mod examples;
mod export_intent;
mod generate;
mod generated;
mod prepared;
mod previous;
mod prompts;
mod select;
mod untrusted_text;
mod value_hints;

pub use answer::{WrittenQuery, read_query};
pub use choice::{SelectionPlan, TableSelection, plan, select_from_answer, select_without_model};
pub use context::{build_schema_context, build_table_summary_context, quoted};
pub use examples::Example;
pub(crate) use examples::similar_records;
pub use generate::{AcceptedQuery, Judge, QueryChain};
pub use generated::{Fallback, GeneratedQuery, PhaseTime, Repair, SelectedTable, TokenReport};
pub use prepared::PreparedCatalogue;
pub use previous::EarlierQuestion;
pub use prompts::{BuiltIn, PromptError, PromptKind, Prompts};
pub use select::read_selection;
pub(crate) use untrusted_text::is_unseen;
