//! From a question to a query: seed 001's prompt chain, and what goes beyond it.
//!
//! The seed's parts have the seed's names: [`build_table_summary_context`], [`Chain::select_relevant_tables`],
//! [`build_schema_context`], [`Chain::generate_sql`].

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
