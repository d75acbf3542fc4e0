//! Calls that somebody is asked about before they are made.

use std::fmt;

use quillet_core::BoxFuture;
use quillet_core::tool::ToolSpec;
use serde_json::{Map, Value as Json};

/// A call that is about to be made.
#[derive(Clone, Copy, Debug)]
pub struct PendingCall<'a> {
    /// The provider's id of the call.
    pub id: &'a str,
    /// The tool.
    pub tool: &'a ToolSpec,
    /// The arguments, which fit the tool's schema.
    pub arguments: &'a Map<String, Json>,
}

/// What is to be done with a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Approval {
    /// It is made.
    Make,
    /// It is made with these arguments.
    MakeWith(Map<String, Json>),
    /// It is not made; the model reads why.
    Deny(String),
    /// It is not made, since somebody knows what it gives.
    Answer(String),
    /// Nobody has decided yet. The turn's other calls are made, and the run ends with
    /// [`crate::Ending::ApprovalRequired`].
    Wait {
        /// Why, in a word: `permission`, `unknown`.
        why: &'static str,
    },
}

/// Who is asked before a tool is called: a person at a terminal, or a list of what was decided.
pub trait Approver: Send + Sync + fmt::Debug {
    /// What is to be done with a call. May take its time; calls that were begun go on meanwhile.
    fn request_approval<'a>(&'a self, call: PendingCall<'a>) -> BoxFuture<'a, Approval>;
}
