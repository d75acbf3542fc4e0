//! What must hold for any text in any format, and for any bytes on any wire. A target of
//! [libFuzzer] hands a text to one of these functions; a panic is a finding.
//!
//! [libFuzzer]: https://llvm.org/docs/LibFuzzer.html

mod answers;
mod files;
mod invariants;
mod scripts;
mod sql;
mod structured;
mod templates;
mod world;

pub use answers::{agent_files, answer, request};
pub use files::prompt_file;
pub use scripts::script;
pub use sql::query;
pub use structured::{chat_prompt, messages};
pub use templates::template;
