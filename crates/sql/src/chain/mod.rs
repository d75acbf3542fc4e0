//! From a question to a query, in two phases: a model chooses tables from the list of all, then it
//! is shown their schema and writes the query. Both are skipped, bounded and repaired here.
//!
//! [`build_table_summary_context`], [`Chain::select_relevant_tables`], [`build_schema_context`] and
//! [`Chain::generate_sql`] have the names that table-chat documents.

mod answer;
mod choice;
mod context;
mod examples;
mod generate;
mod generated;
mod prepared;
mod previous;
mod prompts;
mod select;
mod shown;
mod wish;

pub use answer::{Written, read_query};
pub use choice::{Choice, Plan, chosen, plan, unasked};
pub(crate) use context::is_unseen;
pub use context::{build_schema_context, build_table_summary_context, quoted};
pub use examples::Example;
pub(crate) use examples::alike;
pub use generate::{Accepted, Chain, Judge};
pub use generated::{Fallback, Generated, PhaseTime, Repair, SelectedTable, TokenReport};
pub use prepared::Prepared;
pub use previous::Previous;
pub use prompts::{BuiltIn, PromptError, Prompts, Which};
pub use select::read_selection;
