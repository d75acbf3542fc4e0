//! Assembles tool calls from their chunks: an id and a name, followed by fragments of the
//! arguments. Handles the different numbering schemes of compatible servers.

use quillet_core::chat::ChatEvent;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::text::{TextOrParts, non_empty};
use crate::protocol::made;

/// Maximum number of calls in one turn; no model makes more.
// The server controls how many calls it announces, so the list needs a bound.
pub(super) const MOST_CALLS: usize = 1024;

#[derive(Deserialize)]
pub(super) struct CallDelta<'a> {
    #[serde(default)]
    index: Option<u32>,
    #[serde(default)]
    id: Option<TextOrParts>,
    #[serde(default, borrow)]
    function: Option<FunctionDelta<'a>>,
    /// Data that Google's compatible endpoint expects back (signatures).
    #[serde(default)]
    extra_content: Option<Value>,
}

#[derive(Default, Deserialize)]
pub(super) struct FunctionDelta<'a> {
    #[serde(default)]
    name: Option<TextOrParts>,
    #[serde(default, borrow)]
    arguments: Option<&'a RawValue>,
}

impl<'a> CallDelta<'a> {
    /// Converts the legacy form from before `tool_calls`: one call without an id.
    pub(super) fn of_function(function: FunctionDelta<'a>) -> Self {
        CallDelta {
            index: Some(0),
            id: None,
            function: Some(function),
            extra_content: None,
        }
    }
}

/// Calls of a partially received answer.
#[derive(Debug, Default)]
pub(super) struct ToolCallAssembler {
    calls: Vec<PartialCall>,
    /// Number and id of a call without a name or arguments so far.
    announced: Option<(Option<u32>, String)>,
}

#[derive(Debug)]
struct PartialCall {
    /// The server's number of the call, which may differ from the index in the list.
    number: Option<u32>,
    /// Id sent by the server, or an empty text.
    id: String,
    has_name: bool,
    extra: Option<Value>,
}

impl ToolCallAssembler {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    pub(super) fn count(&self) -> usize {
        self.calls.len()
    }

    /// Records a call whose first chunk was passed through.
    pub(super) fn begin(&mut self, number: u32, id: &str) {
        self.calls.push(PartialCall {
            number: Some(number),
            id: id.to_owned(),
            has_name: true,
            extra: None,
        });
    }

    /// Converts a chunk of a call into an event.
    ///
    /// Returns `None` if the chunk contains no call: some servers send one without a name and
    /// arguments with every text.
    ///
    /// # Errors
    /// The answer contains too many calls.
    pub(super) fn read(
        &mut self,
        choice: u32,
        piece: CallDelta<'_>,
    ) -> Result<Option<ChatEvent>, String> {
        let function = piece.function.unwrap_or_default();
        let name = non_empty(function.name);
        let arguments = function.arguments.map(arguments).unwrap_or_default();
        let mut id = non_empty(piece.id);
        let position = self.position(piece.index, id.as_deref(), name.is_some());
        // `position` returns the length of the list for a call that does not exist yet.
        let is_new = position == self.calls.len();
        if is_new && name.is_none() && arguments.is_empty() {
            // The name of a call may arrive after its id.
            self.announced = id.map(|id| (piece.index, id)).or(self.announced.take());
            return Ok(None);
        }
        if is_new {
            let announced = self.announced.take();
            // An id announced under another number belongs to another call.
            let announced = announced.filter(|(number, _)| *number == piece.index);
            id = id.or(announced.map(|(_, id)| id));
            if self.calls.len() >= MOST_CALLS {
                return Err(format!("the answer makes more than {MOST_CALLS} calls"));
            }
            self.calls.push(PartialCall {
                number: piece.index,
                id: id.clone().unwrap_or_default(),
                has_name: false,
                extra: None,
            });
        }
        let Some(call) = self.calls.get_mut(position) else {
            return Err("a call has no index".to_owned());
        };
        // Some servers repeat id and name in every chunk.
        let name = name.filter(|_| !call.has_name);
        call.has_name |= name.is_some();
        call.extra = piece.extra_content.or(call.extra.take());
        Ok(Some(ChatEvent::ToolCall {
            choice,
            index: u32::try_from(position).unwrap_or(u32::MAX),
            // Only in the first chunk: clients append ids, so a repeated id would be doubled.
            id: is_new.then(|| id.unwrap_or_else(made::call_id)),
            name,
            arguments,
        }))
    }

    /// Returns the index of the call that a chunk belongs to. If a server gives every call the same
    /// number, a different id with a name starts a new call. Without a number, a new id starts a
    /// new call, and a chunk without an id continues the last one.
    fn position(&self, number: Option<u32>, id: Option<&str>, has_name: bool) -> usize {
        let next = self.calls.len();
        let differs = |call: &PartialCall| id.is_some_and(|id| has_name && id != call.id);
        let found = match (number, id) {
            // The search starts at the end, because the latest call with a reused number is the
            // open one.
            (Some(_), _) => self.calls.iter().rposition(|call| call.number == number),
            (None, Some(id)) => self.calls.iter().rposition(|call| call.id == id),
            (None, None) => next.checked_sub(1),
        };
        let found = found.filter(|found| self.calls.get(*found).is_some_and(|call| !differs(call)));
        found.unwrap_or(next)
    }

    /// Returns the server-specific data of all calls in order; `None` if there is none.
    pub(super) fn take_extras(&mut self) -> Option<Value> {
        if self.calls.iter().all(|call| call.extra.is_none()) {
            return None;
        }
        let extra = |call: &mut PartialCall| match call.extra.take() {
            Some(extra) => serde_json::json!({"extra_content": extra}),
            None => serde_json::json!({}),
        };
        Some(self.calls.iter_mut().map(extra).collect())
    }
}

/// Arguments are a string of JSON text, but some servers send the object itself.
fn arguments(raw: &RawValue) -> String {
    match raw.get() {
        "null" => String::new(),
        text => serde_json::from_str(text).unwrap_or_else(|_| text.to_owned()),
    }
}
