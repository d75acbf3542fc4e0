//! Calls that a model wants made, put together from their pieces: an id and a name
//! once, then fragments of arguments, with the servers' many ways to number them.

use quillet_core::chat::ChatEvent;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::text::{TextOrParts, non_empty};
use crate::protocol::made;

/// No model makes more calls in one turn.
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
    /// What Google's endpoint for this wire wants back (signatures).
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
    /// The form that came before `tool_calls`: one call without an id.
    pub(super) fn of_function(function: FunctionDelta<'a>) -> Self {
        CallDelta {
            index: Some(0),
            id: None,
            function: Some(function),
            extra_content: None,
        }
    }
}

/// The calls of one answer so far.
#[derive(Debug, Default)]
pub(super) struct ToolCallAssembler {
    calls: Vec<PartialCall>,
    /// Number and id of a call that has neither name nor arguments yet.
    announced: Option<(Option<u32>, String)>,
}

#[derive(Debug)]
struct PartialCall {
    /// The server's number of it, which need not be ours.
    number: Option<u32>,
    /// As the server sent it; empty if it did not.
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

    /// Counts a call whose beginning was passed to the client as it is.
    pub(super) fn begin(&mut self, number: u32, id: &str) {
        self.calls.push(PartialCall {
            number: Some(number),
            id: id.to_owned(),
            has_name: true,
            extra: None,
        });
    }

    /// What a piece of a call means.
    ///
    /// `None` is no call: some servers send one with neither name nor arguments along with every
    /// text.
    ///
    /// # Errors
    /// There are too many calls.
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
            // The name of a call may come after its id.
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
        // Some servers repeat id and name in every piece.
        let name = name.filter(|_| !call.has_name);
        call.has_name |= name.is_some();
        call.extra = piece.extra_content.or(call.extra.take());
        Ok(Some(ChatEvent::ToolCall {
            choice,
            index: u32::try_from(position).unwrap_or(u32::MAX),
            // Only in the first piece: clients append ids, so a repeated one would be doubled.
            id: is_new.then(|| id.unwrap_or_else(made::call_id)),
            name,
            arguments,
        }))
    }

    /// Which call a piece belongs to. Some servers give every call the same number:
    /// another id with a name begins another call all the same. Without a number, an
    /// id begins another call and anything else goes on with the last one.
    fn position(&self, number: Option<u32>, id: Option<&str>, has_name: bool) -> usize {
        let next = self.calls.len();
        let differs = |call: &PartialCall| id.is_some_and(|id| has_name && id != call.id);
        let found = match (number, id) {
            // From the end: if a server reuses numbers, the latest call is the open one.
            (Some(_), _) => self.calls.iter().rposition(|call| call.number == number),
            (None, Some(id)) => self.calls.iter().rposition(|call| call.id == id),
            (None, None) => next.checked_sub(1),
        };
        let found = found.filter(|found| self.calls.get(*found).is_some_and(|call| !differs(call)));
        found.unwrap_or(next)
    }

    /// What of the calls only the server understands, in their order; `None` if nothing.
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

/// Arguments are JSON text in a string; some servers send the object itself.
fn arguments(raw: &RawValue) -> String {
    match raw.get() {
        "null" => String::new(),
        text => serde_json::from_str(text).unwrap_or_else(|_| text.to_owned()),
    }
}
