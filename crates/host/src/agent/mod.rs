//! Agents of this process: from what is asked to a run that goes.
//!
//! [`AgentService::begin`] admits a request and gives a [`Running`], whose events the caller reads.
//! No HTTP here: `POST /v1/response` is one caller, other routes and the command line are others.
//! The loop itself is `quillet-agent`'s.

mod assemble;
mod beginning;
mod counts;
mod durable;
mod history;
mod kept;
mod offer;
mod parts;
mod prepared;
mod prompt;
mod question;
mod request;
mod running;
mod script;
mod service;
mod stored;
mod who;

pub use counts::AgentCounts;
pub use durable::{
    Admission, Advanced, Bounds, DecideError, Deciding, Fork, ForkError, Next, Permit,
};
pub use offer::definitions_of;
pub use parts::{AgentOptions, AgentParts, Connected, Models};
pub use prompt::CLARIFY;
pub use request::{
    AgentRequest, Attachment, DEFAULT_MAX_TOKENS, Features, Input, KnowledgeContext,
    KnowledgePassage, Metadata, ModelSettings, SkillChoice, ToolResult, ToolSettings, Written,
};
pub use running::Running;
pub use script::ScriptRequest;
pub use service::{AgentService, Refused};
pub use who::Who;
