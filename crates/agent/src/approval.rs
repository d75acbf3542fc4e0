//! Approval of tool calls before they are made.

use std::fmt;

use quillet_core::BoxFuture;
use quillet_core::tool::ToolSpec;
use serde_json::{Map, Value as Json};

/// A tool call before its execution.
#[derive(Clone, Copy, Debug)]
pub struct PendingCall<'a> {
    /// The provider's id of the call.
    pub id: &'a str,
    /// The tool.
    pub tool: &'a ToolSpec,
    /// The arguments, which match the tool's schema.
    pub arguments: &'a Map<String, Json>,
}

/// Decision about a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Approval {
    /// Make the call.
    Make,
    /// Make the call with these arguments instead.
    MakeWith(Map<String, Json>),
    /// Do not make the call; the model reads this reason.
    Deny(String),
    /// Do not make the call, and use this result.
    Answer(String),
    /// The decision is pending. The other calls of the turn are made, and the run ends with
    /// [`crate::EndReason::ApprovalRequired`].
    Wait {
        /// Reason in one word: `permission`, `unknown`.
        why: &'static str,
    },
}

/// Decides about tool calls, for example by asking a person at a terminal or by reading recorded
/// decisions.
pub trait Approver: Send + Sync + fmt::Debug {
    /// Decides about a call. May take long; calls in progress continue meanwhile.
    fn request_approval<'a>(&'a self, call: PendingCall<'a>) -> BoxFuture<'a, Approval>;
}
