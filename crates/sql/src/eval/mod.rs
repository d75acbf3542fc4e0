//! How good the ways to tables and queries are: measured over files of questions whose
//! right tables are known.
//!
//! Nothing here calls a model: rankings are measured by themselves, choices of models from
//! recordings, queries by the rows that they give.

mod execution;
mod measure;
mod order;
mod plain;
mod replay;
mod suite;

pub use execution::{Accuracy, ExecutionOutcome, execution, same_rows};
pub use measure::{MeanTokens, RankingReport, Timings, measure};
pub use order::{DEPTHS, Order, RecallAtK};
pub use plain::Bm25Index;
pub use replay::{Recording, ReplayReport, Selection, replay};
pub use suite::{SearchScope, Suite, SuiteDatabase, SuiteQuestion};
