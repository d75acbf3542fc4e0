//! Text answers of the mock, which repeat the question or the tool results.

use quillet_core::{Message, Role};

/// Maximum number of characters to repeat from a message.
const MOST_REPEATED: usize = 2000;

/// Introduces itself as a mock and repeats the last question or the results of the last calls.
pub(super) fn answer(messages: &[Message]) -> String {
    let mut text = format!(
        "This is the built-in mock model: nothing was sent to a real one. It read {}.",
        counted(messages)
    );
    let results = results(messages);
    if !results.is_empty() {
        for (tool, result) in results {
            text.push_str(&format!(
                " The tool {tool} answered:\n\n{}\n\n",
                clip(&result)
            ));
        }
        text.truncate(text.trim_end().len());
        return text;
    }
    let asked = messages
        .iter()
        .rev()
        .find(|message| message.role == Role::User);
    if let Some(last) = asked {
        // Media are shown as their kind and address.
        let said = clip(&last.content.to_string());
        text.push_str(&format!(" The last user message says:\n\n{said}"));
    }
    text
}

/// Returns the reasoning of `mock-reasoning`.
pub(super) fn reasoning(messages: &[Message], tools: usize) -> String {
    let asked = messages.last().map(|last| clip(&last.content.to_string()));
    format!(
        "The last message is: {} There are {tools} tools. I follow my rules.",
        asked.unwrap_or_default()
    )
}

/// Returns the tool results at the end of the conversation, with the names of their tools.
fn results(messages: &[Message]) -> Vec<(&str, String)> {
    let before = messages
        .iter()
        .rposition(|message| message.role != Role::Tool);
    let (calls, results) = messages.split_at(before.map_or(0, |index| index + 1));
    let calls = calls.last().map_or(&[][..], |message| &message.tool_calls);
    let name = |result: &Message| {
        let id = result.tool_call_id.as_deref();
        let call = calls.iter().find(|call| Some(call.id.as_str()) == id);
        call.map_or("", |call| call.name.as_str())
    };
    results
        .iter()
        .map(|result| (name(result), result.content.to_string()))
        .collect()
}

fn clip(said: &str) -> String {
    let kept: String = said.chars().take(MOST_REPEATED).collect();
    if kept.len() < said.len() {
        kept + " ..."
    } else {
        kept
    }
}

/// Formats the number of messages: `2 messages (1 system, 1 user)`.
fn counted(messages: &[Message]) -> String {
    const ROLES: [Role; 5] = [
        Role::System,
        Role::Developer,
        Role::User,
        Role::Assistant,
        Role::Tool,
    ];
    let count = |role: Role| {
        messages
            .iter()
            .filter(|message| message.role == role)
            .count()
    };
    let parts = ROLES.map(|role| (count(role), role.as_str()));
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, role)| format!("{count} {role}"))
        .collect();
    match messages.len() {
        0 => "no messages".to_owned(),
        1 => format!("1 message ({})", parts.join(", ")),
        n => format!("{n} messages ({})", parts.join(", ")),
    }
}
