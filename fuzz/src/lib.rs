//! What must hold for any text in any format. A target of [libFuzzer] hands a
//! text to one of these functions; a panic is a finding.
//!
//! [libFuzzer]: https://llvm.org/docs/LibFuzzer.html

mod files;
mod invariants;
mod structured;
mod templates;
mod world;

pub use files::prompt_file;
pub use structured::{chat_prompt, messages};
pub use templates::template;
