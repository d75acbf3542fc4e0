//! Repairs call/result pairs, and conversations that begin with the assistant.

use std::collections::HashSet;

use quillet_core::{Message, Role};

/// Placeholder for a missing result.
const NO_RESULT: &str = "[No result of this call was kept.]";

/// Notice before a conversation that begins with the assistant, because of a greeting or a
/// truncated history. Anthropic and some templates of local models require that a conversation
/// begins with a user.
const BEGINNING: &str = "[NOTICE: The conversation begins with the assistant.]";

/// Returns the messages with complete pairs. A result without its call is dropped, and a call
/// without its result gets a placeholder. Both occur in histories from clients and in truncated
/// ones.
pub(super) fn pairs(messages: impl Iterator<Item = Message>) -> Vec<Message> {
    let mut mended = Vec::new();
    let mut open = OpenCalls::default();
    let mut begun = false;
    for message in messages {
        if message.role == Role::Tool {
            // The first result of a call removes the call's id, so a second result is dropped.
            if open.answer(message.tool_call_id.as_deref()) {
                mended.push(message);
            }
            continue;
        }
        open.close(&mut mended);
        // Results must follow the turn with their calls, so earlier calls can no longer be
        // answered.
        open = OpenCalls::of(&message);
        if message.role == Role::Assistant && !begun {
            mended.push(Message::new(Role::User, BEGINNING));
        }
        // System messages may precede the first user message, so they do not begin the
        // conversation.
        begun |= !matches!(message.role, Role::System | Role::Developer);
        mended.push(message);
    }
    open.close(&mut mended);
    mended
}

/// Calls of the last turn that have no result yet, in order.
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
