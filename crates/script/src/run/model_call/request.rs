//! Converts a dialogue with private messages and many roles to the format of providers.

use quillet_core::{ContentPart, Map, Message as ChatMessage, MessageContent, Role, Value};

use super::{ModelClient, ModelQuestion};
use crate::answer;
use crate::call::CallSettings;
use crate::error::ScriptError;
use crate::run::content_parts::{display_text, parts};
use crate::run::dialogue::{DialogueEntry, MessageStage};
use crate::run::failure::refuse;
use crate::run::print::print;
use crate::text::bias::Bias;
use crate::text::system::{System, Titles};

impl ModelClient {
    /// Returns the dialogue for a provider: one system message, then turns with the standard roles.
    pub(super) fn request(
        &self,
        question: &ModelQuestion,
        settings: &CallSettings,
        output: Option<&Value>,
    ) -> Result<(Vec<ChatMessage>, Vec<Bias>), ScriptError> {
        // Another branch is still filling this message, so it has no text yet.
        let is_there = |entry: &&DialogueEntry| entry.stage != MessageStage::Filling;
        let entries: Vec<DialogueEntry> = {
            let dialogue = self.dialogue();
            let seen = dialogue.until(question.until).iter();
            seen.filter(is_there).cloned().collect()
        };
        let mut system = System::default();
        let mut biases = Vec::new();
        let mut turns = Vec::with_capacity(entries.len());
        let own = self.own_name();
        for entry in &entries {
            biases.extend(entry.biases.iter().cloned());
            if entry.role == "system" {
                system
                    .add(&entry.content)
                    .map_err(|message| refuse(&entry.scope, entry.span, message))?;
            } else {
                turns.extend(turn(entry, &own));
            }
        }
        if let Some(schema) = output.filter(|_| question.choice.is_none())
            && settings.output_prompt
            && let Some(format) = settings.format
            && let Some(section) = answer::section(&schema.into(), format, &entries_text(&entries))
        {
            let field = Value::Map(Map::from_iter([("output", Value::from(section))]));
            system.add(&field).map_err(|message| self.refuse(message))?;
        }
        let notes = self.setting("SystemNotesTitle");
        let title = self.setting("SystemOutputTitle");
        let titles = Titles {
            notes: notes.as_ref().and_then(Value::as_str),
            output: title.as_ref().and_then(Value::as_str),
            output_type: settings.format.map(|format| format.as_str()),
        };
        let text = system.render(&titles);
        if !text.is_empty() {
            turns.insert(0, ChatMessage::new(Role::System, text));
        }
        Ok((turns, biases))
    }
}

/// Converts a message to a standard role. The script's own messages become the assistant's, those
/// of other roles become user messages with a name.
fn turn(entry: &DialogueEntry, own: &str) -> Option<ChatMessage> {
    if let Some(mut parts) = parts(&entry.content) {
        let role = match Role::parse(&entry.role) {
            Some(role) => role,
            None if entry.role == own => Role::Assistant,
            None => {
                parts.insert(0, ContentPart::text(format!("{}:", entry.role)));
                Role::User
            }
        };
        let mut message = ChatMessage::new(role, MessageContent::Parts(parts));
        message.name = entry.name.clone().filter(|name| is_wire_name(name));
        return Some(message);
    }
    let text = print(Some(&entry.content));
    if text.is_empty() {
        return None;
    }
    let mut message = match Role::parse(&entry.role) {
        Some(role) => ChatMessage::new(role, text),
        None if entry.role == own => ChatMessage::new(Role::Assistant, text),
        None => ChatMessage::new(Role::User, format!("{}: {text}", entry.role)),
    };
    message.name = entry.name.clone().filter(|name| is_wire_name(name));
    Some(message)
}

/// Returns whether providers accept a name: letters, digits, `_` and `-`, at most 64 characters.
fn is_wire_name(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=64).contains(&name.len()) && name.bytes().all(letter)
}

/// Joins all texts of a dialogue, to find what they already state.
fn entries_text(entries: &[DialogueEntry]) -> String {
    let texts: Vec<String> = entries
        .iter()
        .map(|entry| display_text(&entry.content))
        .collect();
    texts.join("\n")
}
