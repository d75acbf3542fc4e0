//! What a request gives to a prompt.

use quillet_core::{Map, Message};

/// Where a conversation stands that the template has no place for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unplaced {
    /// Before the last message of a user, if the prompt ends in one (dotprompt's rule):
    /// the prompt asks, and the conversation is what was said before.
    #[default]
    BeforeUser,
    /// After the prompt: the prompt prepares, and the conversation asks.
    Last,
}

/// The input of a request to a prompt: variables and the conversation so far.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// Its variables.
    pub variables: &'a Map,
    /// The conversation so far, oldest first. It stands where the template says.
    pub history: &'a [Message],
    /// Where it stands if the template says nothing.
    pub unplaced: Unplaced,
    /// Its id, for logs.
    pub request_id: &'a str,
    /// How many prompts and scripts of this service have called each other so far.
    pub depth: usize,
    /// Whether the outcome is to say what the render was made of
    /// ([`RenderOutcome::explanation`](crate::RenderOutcome::explanation)).
    pub explain: bool,
    /// Part of a dry run: no tool is called, and scripts run dry, too.
    pub dry: bool,
}

impl<'a> Input<'a> {
    /// Variables without a conversation.
    #[must_use]
    pub fn new(variables: &'a Map, request_id: &'a str) -> Self {
        Input {
            variables,
            history: &[],
            unplaced: Unplaced::default(),
            request_id,
            depth: 0,
            explain: false,
            dry: false,
        }
    }
}
