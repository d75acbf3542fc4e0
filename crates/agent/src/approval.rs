//! Approval of tool calls before they are made.

use std::fmt;

use quillet_core::BoxFuture;
use quillet_core::tool::ToolSpec;
use serde_json::{Map, Value as Json};

/// Tool call that is about to be made.
#[derive(Clone, Copy, Debug)]
pub struct PendingCall<'a> {
    /// The provider's id of the call.
    pub id: &'a str,
    /// The tool.
    pub tool: &'a ToolSpec,
    /// The arguments, valid for the tool's schema.
    pub arguments: &'a Map<String, Json>,
}

/// Decision about a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Approval {
    /// Make the call.
    Make,
    /// Make the call with these arguments.
    MakeWith(Map<String, Json>),
    /// Do not make it; the model reads the reason.
    Deny(String),
    /// Do not make it, and use this result instead.
    Answer(String),
    /// No decision yet. The other calls of the turn are made, and the run ends with
    /// [`crate::EndReason::ApprovalRequired`].
    Wait {
        /// Reason in one word: `permission`, `unknown`.
        why: &'static str,
    },
}

/// Decides about tool calls: a person at a terminal, or a list of recorded decisions.
pub trait Approver: Send + Sync + fmt::Debug {
    /// Decides about a call. May take long; calls that were begun continue meanwhile.
    fn request_approval<'a>(&'a self, call: PendingCall<'a>) -> BoxFuture<'a, Approval>;
}
