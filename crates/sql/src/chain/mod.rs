//! From a question to a query: seed 001's prompt chain, and what goes beyond it.

mod generated;
mod prompts;

pub use generated::{Fallback, Generated, PhaseTime, Repair, SelectedTable, TokenReport};
pub use prompts::{BuiltIn, PromptError, Prompts, Which};
