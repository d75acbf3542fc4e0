//! Agents of this process, from a request to a run.
//!
//! [`AgentService::begin`] admits a request and returns a [`RunHandle`], from which the caller
//! reads events. This module is independent of HTTP: `POST /v1/response`, other routes and the
//! command line use it. The loop itself is in `quillet-agent`.

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
