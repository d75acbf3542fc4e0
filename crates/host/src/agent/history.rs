//! Conversation history: loading, selection, repair, and the messages of a new run.

use std::collections::{HashMap, HashSet};

use quillet_agent::{AgentOutcome, EndReason, skills};
use quillet_core::session::StoredMessage;
use quillet_core::{Message, Role, clock};

use super::ToolResult;

/// Result of a call for which the client sent no result.
const UNANSWERED: &str = "The client gave no result for this call.";

/// History in the form that the next run needs.
#[derive(Debug, Default)]
pub(super) struct RunHistory {
    pub(super) messages: Vec<Message>,
    /// Skills that are still loaded.
    pub(super) skills: Vec<String>,
}

/// Keeps the first and the last turns of a group's long history.
pub(super) fn ends(mut turns: Vec<StoredMessage>, first: usize, last: usize) -> Vec<StoredMessage> {
    if turns.len() <= first + last {
        return turns;
    }
    let tail = turns.split_off(turns.len() - last);
    turns.truncate(first);
    turns.extend(tail);
    turns
}

/// Returns the messages of these turns, and the skills that are still loaded.
pub(super) fn past(turns: Vec<StoredMessage>) -> RunHistory {
    let skills = skills::retained(&turns);
    RunHistory {
        skills: skills.into_iter().map(|(name, _)| name).collect(),
        messages: turns.into_iter().map(|turn| turn.message).collect(),
    }
}

/// Gives every call exactly one result, directly after the turn of the call: the result in the
/// request, or a text that states that it is missing. Results without a call are dropped. Providers
/// reject calls without a result and results without a call.
pub(super) fn paired(messages: Vec<Message>, given: &[ToolResult]) -> Vec<Message> {
    let mut results: HashMap<&str, &ToolResult> = given
        .iter()
        .map(|result| (result.id.as_str(), result))
        .collect();
    let mut paired = Vec::with_capacity(messages.len() + given.len());
    let mut open: Vec<String> = Vec::new();
    let mut seen: HashSet<String> = HashSet::new();
    for message in messages {
        match (&message.role, &message.tool_call_id) {
            (Role::Tool, Some(call)) => {
                let Some(place) = open.iter().position(|id| id == call) else {
                    continue;
                };
                open.remove(place);
            }
            (Role::Tool, None) => continue,
            _ => answer(&mut open, &mut results, &mut paired),
        }
        seen.clear();
        let calls = message.tool_calls.iter().map(|call| call.id.clone());
        // A model may repeat a call id in one turn, but the id may get only one result.
        open.extend(calls.filter(|id| seen.insert(id.clone())));
        paired.push(message);
    }
    answer(&mut open, &mut results, &mut paired);
    paired
}

/// Adds results for calls that have none.
fn answer(
    open: &mut Vec<String>,
    results: &mut HashMap<&str, &ToolResult>,
    into: &mut Vec<Message>,
) {
    for id in open.drain(..) {
        let given = results.remove(id.as_str());
        let mut message = match given {
            Some(result) => Message::tool(id, result.output.clone()),
            None => Message::tool(id, UNANSWERED),
        };
        message.is_error = given.is_none_or(|result| result.is_error);
        into.push(message);
    }
}

/// Messages that a run adds to its session; empty if the model wrote nothing.
pub(super) fn turns(run: &str, asked: &[Message], outcome: &AgentOutcome) -> Vec<StoredMessage> {
    if outcome.messages.is_empty() {
        return Vec::new();
    }
    let partial = matches!(outcome.ending, EndReason::Cancelled | EndReason::Failed(_));
    let mut turns = numbered(run, asked.iter().chain(&outcome.messages));
    let last = turns
        .iter_mut()
        .rev()
        .find(|turn| turn.message.role == Role::Assistant);
    if let Some(last) = last {
        last.loaded_skills.clone_from(&outcome.loaded_skills);
        last.partial = partial;
    }
    turns
}

/// The user's message in the form that is stored before the answer exists.
pub(super) fn question_turns(run: &str, asked: &[Message]) -> Vec<StoredMessage> {
    numbered(run, asked.iter())
}

fn numbered<'m>(run: &str, messages: impl Iterator<Item = &'m Message>) -> Vec<StoredMessage> {
    let created_ms = clock::millis();
    let turn = |(number, message): (usize, &Message)| StoredMessage {
        // Derived from the run, so that a repeated write of the same messages is recognized.
        id: format!("{run}-{number}"),
        created_ms,
        message: message.clone(),
        loaded_skills: Vec::new(),
        partial: false,
    };
    (1..).zip(messages).map(turn).collect()
}

/// Whether the conversation already ends with this unanswered message: the earlier run crashed, and
/// the client sent the message again.
pub(super) fn is_asked_again(past: &[Message], asked: &[Message]) -> bool {
    match (past.last(), asked) {
        (Some(last), [question]) => last.role == Role::User && last.content == question.content,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use quillet_core::ToolCall;

    use super::*;

    fn turn(role: Role, text: &str) -> StoredMessage {
        StoredMessage {
            id: text.into(),
            created_ms: 0,
            message: Message::new(role, text),
            loaded_skills: Vec::new(),
            partial: false,
        }
    }

    fn calls(ids: &[&str]) -> Message {
        let call = |id: &&str| ToolCall {
            id: (*id).into(),
            name: "t".into(),
            arguments: "{}".into(),
        };
        Message {
            tool_calls: ids.iter().map(call).collect(),
            ..Message::new(Role::Assistant, "")
        }
    }

    #[test]
    fn every_call_has_one_result_in_its_place() {
        let user = || Message::new(Role::User, "u");
        let given = [ToolResult {
            id: "b".into(),
            output: "B".into(),
            is_error: false,
        }];
        let messages = vec![
            Message::tool("orphan", "x"),
            calls(&["a", "a"]),
            Message::tool("a", "A"),
            Message::tool("a", "again"),
            user(),
            calls(&["b", "c"]),
            user(),
        ];
        let paired = paired(messages, &given);
        let shape: Vec<String> = paired
            .iter()
            .map(|m| format!("{}:{}:{}", m.role.as_str(), m.content, m.is_error))
            .collect();
        assert_eq!(
            shape,
            [
                "assistant::false",
                "tool:A:false",
                "user:u:false",
                "assistant::false",
                "tool:B:false",
                &format!("tool:{UNANSWERED}:true"),
                "user:u:false",
            ]
        );
    }

    #[test]
    fn a_group_keeps_both_ends() {
        let turns = (0..50).map(|n| turn(Role::User, &n.to_string())).collect();
        let kept = ends(turns, 10, 20);
        assert_eq!(kept.len(), 30);
        assert_eq!((kept[9].id.as_str(), kept[10].id.as_str()), ("9", "30"));
    }
}
