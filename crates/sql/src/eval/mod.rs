//! Measures table ranking and query generation with question files whose right tables are known.
//!
//! No models are called. Rankings are measured directly, table selections from recordings, and
//! queries by their rows.

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
