//! Input of a request to a prompt.

use std::borrow::Cow;

use quillet_core::history::TrafficSplit;
use quillet_core::{Map, Message, json};

/// Position of the conversation if the template does not place it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HistoryPlacement {
    /// Before the last message of the user, if the prompt ends with one (dotprompt's rule): the
    /// prompt is the question.
    #[default]
    BeforeUser,
    /// After the prompt: the conversation has the question.
    Last,
}

/// The input of a request to a prompt: variables and the conversation so far.
#[derive(Clone, Copy, Debug)]
pub struct RenderInput<'a> {
    /// Its variables.
    pub variables: &'a Map,
    /// The conversation so far, oldest first, at the place that the template sets.
    pub history: &'a [Message],
    /// Its position if the template sets none.
    pub unplaced: HistoryPlacement,
    /// Its id, for logs.
    pub request_id: &'a str,
    /// Nesting depth of prompts and scripts in this service.
    pub depth: usize,
    /// Whether the outcome includes an explanation
    /// ([`RenderOutcome::explanation`](crate::RenderOutcome::explanation)).
    pub explain: bool,
    /// Whether the outcome includes the texts as segments with their origin
    /// ([`RenderOutcome::segments`](crate::RenderOutcome::segments)).
    pub segments: bool,
    /// Part of a dry run: no tool is called, and scripts run dry, too.
    pub dry: bool,
    /// Whether the outcome includes the version number of the current definition, which costs one
    /// read of its history ([`RenderOutcome::version`](crate::RenderOutcome::version)).
    pub numbered: bool,
    /// User of the request: selects versions of labels weighted by `user`.
    pub user: Option<&'a str>,
    /// Session of the request: selects versions of labels weighted by `session`.
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

    /// Key of this request for a weighted label. A request without it is assigned by its unique id.
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
