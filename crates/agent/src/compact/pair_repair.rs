//! Pairs of calls and results, made whole, and a beginning that every provider takes.

use std::collections::HashSet;

use quillet_core::{Message, Role};

/// What the model reads where a result is missing.
const NO_RESULT: &str = "[No result of this call was kept.]";

/// What stands before a conversation whose first word is the assistant's: a greeting,
/// or what a limit on the length of a history has left. Anthropic and some templates
/// of local models refuse one that does not begin with a user.
const BEGINNING: &str = "[NOTICE: The conversation begins with the assistant.]";

/// The messages with whole pairs: a result without its call is left out, a call
/// without its result gets one that says so. A history from outside, or one that a
/// limit on its length has cut, may have either.
pub(super) fn pairs(messages: impl Iterator<Item = Message>) -> Vec<Message> {
    let mut mended = Vec::new();
    let mut open = OpenCalls::default();
    let mut begun = false;
    for message in messages {
        if message.role == Role::Tool {
            if open.answer(message.tool_call_id.as_deref()) {
                mended.push(message);
            }
            continue;
        }
        open.close(&mut mended);
        open = OpenCalls::of(&message);
        if message.role == Role::Assistant && !begun {
            mended.push(Message::new(Role::User, BEGINNING));
        }
        begun |= !matches!(message.role, Role::System | Role::Developer);
        mended.push(message);
    }
    open.close(&mut mended);
    mended
}

/// Calls of the last turn that have no result yet, in their order.
#[derive(Default)]
struct OpenCalls {
    ids: Vec<String>,
    waiting: HashSet<String>,
}

impl OpenCalls {
    fn of(message: &Message) -> Self {
        let ids: Vec<String> = message.tool_calls.iter().map(|c| c.id.clone()).collect();
        let waiting = ids.iter().cloned().collect();
        OpenCalls { ids, waiting }
    }

    fn answer(&mut self, id: Option<&str>) -> bool {
        id.is_some_and(|id| self.waiting.remove(id))
    }

    fn close(&mut self, mended: &mut Vec<Message>) {
        for id in std::mem::take(&mut self.ids) {
            if self.waiting.remove(&id) {
                let mut result = Message::tool(id, NO_RESULT);
                result.is_error = true;
                mended.push(result);
            }
        }
    }
}
