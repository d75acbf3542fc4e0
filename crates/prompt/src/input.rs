//! What a request gives to a prompt.

use std::borrow::Cow;

use quillet_core::history::TrafficSplit;
use quillet_core::{Map, Message, json};

/// Where a conversation stands that the template has no place for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HistoryPlacement {
    /// Before the last message of a user, if the prompt ends in one (dotprompt's rule):
    /// the prompt asks, and the conversation is what was said before.
    #[default]
    BeforeUser,
    /// After the prompt: the prompt prepares, and the conversation asks.
    Last,
}

/// The input of a request to a prompt: variables and the conversation so far.
#[derive(Clone, Copy, Debug)]
pub struct RenderInput<'a> {
    /// Its variables.
    pub variables: &'a Map,
    /// The conversation so far, oldest first. It stands where the template says.
    pub history: &'a [Message],
    /// Where it stands if the template says nothing.
    pub unplaced: HistoryPlacement,
    /// Its id, for logs.
    pub request_id: &'a str,
    /// How many prompts and scripts of this service have called each other so far.
    pub depth: usize,
    /// Whether the outcome is to say what the render was made of
    /// ([`RenderOutcome::explanation`](crate::RenderOutcome::explanation)).
    pub explain: bool,
    /// Whether the outcome is to have the texts in pieces that say where they come from
    /// ([`RenderOutcome::segments`](crate::RenderOutcome::segments)).
    pub segments: bool,
    /// Part of a dry run: no tool is called, and scripts run dry, too.
    pub dry: bool,
    /// Whether the outcome is to say the number of the version that stands in the store, too, for
    /// which its history is asked once
    /// ([`RenderOutcome::version`](crate::RenderOutcome::version)).
    pub numbered: bool,
    /// Who asks, where the request says it: decides labels in shares by `user`.
    pub user: Option<&'a str>,
    /// The conversation that it is part of: decides labels in shares by `session`.
    pub session: Option<&'a str>,
}

impl<'a> RenderInput<'a> {
    /// Variables without a conversation.
    #[must_use]
    pub fn new(variables: &'a Map, request_id: &'a str) -> Self {
        RenderInput {
            variables,
            history: &[],
            unplaced: HistoryPlacement::default(),
            request_id,
            depth: 0,
            explain: false,
            segments: false,
            dry: false,
            numbered: false,
            user: None,
            session: None,
        }
    }

    /// The key of this request that decides a label in shares. A request that has nothing of the
    /// name is drawn by its id, which no other has.
    #[must_use]
    pub fn draws_by(&self, split: &TrafficSplit) -> Cow<'a, str> {
        let by = split.by.as_deref();
        let said = match by {
            Some("user") => self.user,
            Some("session") => self.session,
            _ => None,
        };
        if let Some(said) = said {
            return Cow::Borrowed(said);
        }
        let value = by.and_then(|by| self.variables.get(by));
        match value {
            None => Cow::Borrowed(self.request_id),
            Some(value) => match value.as_str() {
                Some(text) => Cow::Owned(text.to_owned()),
                None => Cow::Owned(json::to_string(value)),
            },
        }
    }
}
