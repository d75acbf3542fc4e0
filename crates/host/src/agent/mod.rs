//! Agents of this process, from a request to a run.
//!
//! [`AgentService::begin`] admits a request and gives a [`RunHandle`], whose events the caller reads.
//! No HTTP here: `POST /v1/response` is one caller, other routes and the command line are others.
//! The loop itself is `quillet-agent`'s.

mod assemble;
mod available_tools;
mod config;
mod counts;
mod durable;
mod history;
mod prepared;
mod principal;
mod prompt;
mod question;
mod request;
mod running;
mod script;
mod service;
mod session_writer;
mod start;
mod stored;

pub use available_tools::definitions_of;
pub use config::{AgentOptions, AgentParts, ConnectedModel, ModelRegistry};
pub use counts::AgentCounts;
pub use durable::{
    Admission, AdvanceMode, CallDecision, DecideError, Fork, ForkError, NextStep, RunProgress,
    RunTimeouts,
};
pub use principal::Principal;
pub use prompt::CLARIFY;
pub use request::{
    AgentRequest, Attachment, DEFAULT_MAX_TOKENS, Features, KnowledgeContext, KnowledgePassage,
    Metadata, ModelSettings, RawJson, RunInput, SkillChoice, ToolResult, ToolSettings,
};
pub use running::RunHandle;
pub use script::ScriptRequest;
pub use service::{AdmissionError, AgentService};
