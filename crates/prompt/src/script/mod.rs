//! Stored scripts as prompts, and the traits for parsing and running them. The script language is
//! implemented in a crate that depends on this one. Here, a script is its metadata and an opaque
//! value for its runner.
//!
//! A stored script is a definition `{"format": "script", "source": "…"}`, where `source` is the
//! text of an `.ai.yaml` file. In a folder, it is that file itself.

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
