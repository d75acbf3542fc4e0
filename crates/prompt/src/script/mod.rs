//! Scripts among the prompts: how one is stored, and the contract with whoever reads and runs them.
//! The crate of the language stands above this one, so a script is here a front page and something
//! that its runner knows more of.
//!
//! A stored script is the definition `{"format": "script", "source": "…"}`, in which
//! `source` is the text of an `.ai.yaml` file. In a folder it is the file itself.

mod answer;
mod dry;
mod failure;
mod request;
mod run;
mod stored;
mod tool;

pub(crate) use answer::{chat_stream, value};
pub use dry::DryRun;
pub(crate) use dry::dry_run;
pub use failure::ScriptFailure;
pub(crate) use request::job;
pub(crate) use run::Scripts;
pub use run::{ScriptEvent, ScriptJob, ScriptRunner, ScriptStream, StoredScriptOutcome};
pub(crate) use stored::{NoScripts, script_text, source};
pub use stored::{SCRIPT_FORMAT, ScriptReader, StoredScript, script_definition, script_source};
pub(crate) use tool::ScriptTool;
