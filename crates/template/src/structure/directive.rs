//! Message structure that helpers write: `role`, `history`, `media` and `section` of dotprompt. A
//! directive is a JSON object between two marks.

use quillet_core::{Map, Value, ValueList, json};

use super::message::{ChatMessage, MessagePart};
use super::{conversation, secret};

/// A directive that defines message structure.
#[derive(Clone, Debug, PartialEq)]
pub enum Directive {
    /// Begins a message of a role.
    Role(String),
    /// Inserts the conversation so far.
    History,
    /// A content part other than text.
    Media(MessagePart),
    /// A named position, which is filled later.
    Section(String),
    /// Inserts the messages of an earlier conversation.
    Thread(Vec<ChatMessage>),
    /// Enables marked lines that name the speaker in the following text.
    Lines,
}

impl Directive {
    /// Returns the message part that the directive represents, if any.
    pub(super) fn into_part(self) -> Option<MessagePart> {
        match self {
            Directive::Media(part) => Some(part),
            Directive::Section(name) => Some(MessagePart::Pending(pending(&name))),
            _ => None,
        }
    }
}

/// Returns a directive that begins a message with this role.
#[must_use]
pub fn role(name: &str) -> String {
    directive(&[("role", name)])
}

/// Returns a directive that inserts the conversation so far.
#[must_use]
pub fn history() -> String {
    directive(&[("history", "")])
}

/// Returns a directive that adds media, given by a URL, to the message.
#[must_use]
pub fn media(url: &str, content_type: Option<&str>) -> String {
    attachment(None, url, content_type)
}

/// Returns a media directive of a known kind (`image`, `audio`, `file`).
#[must_use]
pub fn attachment(kind: Option<&str>, url: &str, content_type: Option<&str>) -> String {
    let pairs = [("media", Some(url)), ("type", content_type), ("kind", kind)];
    let said: Vec<(&str, &str)> = pairs
        .into_iter()
        .filter_map(|(key, value)| Some((key, value?)))
        .collect();
    directive(&said)
}

/// Returns a directive that contains the messages of an earlier conversation. When a template
/// prints the directive as a value, the output contains these as separate messages.
#[must_use]
pub fn thread(messages: &[ChatMessage]) -> String {
    let messages: ValueList = messages.iter().map(conversation::write).collect();
    let pair = [("thread", Value::List(messages))];
    enclosed(&Value::Map(pair.into_iter().collect()))
}

/// Returns a directive that enables marked lines, which name the speaker.
pub(super) fn lines() -> String {
    directive(&[("lines", "")])
}

/// Returns a directive that marks the position of a named section.
#[must_use]
pub fn section(name: &str) -> String {
    directive(&[("section", name)])
}

fn directive(pairs: &[(&str, &str)]) -> String {
    let pairs = pairs.iter().map(|(key, value)| (*key, Value::from(*value)));
    enclosed(&Value::Map(pairs.collect()))
}

fn enclosed(object: &Value) -> String {
    let secret = secret::secret();
    let object = json::to_string(object);
    format!("{secret}({object}{secret})")
}

/// Whether a text contains directives.
pub(super) fn any(text: &str) -> bool {
    text.contains(&format!("{}(", secret::secret()))
}

/// Splits a text into literal text and directives.
pub(super) enum DirectivePart<'a> {
    Text(&'a str),
    Directive(Directive),
}

pub(super) fn pieces(text: &str) -> Vec<DirectivePart<'_>> {
    let open = format!("{}(", secret::secret());
    let close = format!("{})", secret::secret());
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(&open) {
        pieces.push(DirectivePart::Text(before));
        let (object, after) = after.split_once(&close).unwrap_or((after, ""));
        pieces.extend(read(object).map(DirectivePart::Directive));
        rest = after;
    }
    pieces.push(DirectivePart::Text(rest));
    pieces
}

fn read(object: &str) -> Option<Directive> {
    let Ok(Value::Map(map)) = json::parse(object) else {
        return None;
    };
    let text = |key: &str| map.get(key).and_then(Value::as_str).map(str::to_owned);
    if let Some(role) = text("role") {
        return Some(Directive::Role(role));
    }
    if let Some(url) = text("media") {
        return Some(Directive::Media(MessagePart::Media {
            kind: text("kind"),
            url,
            content_type: text("type"),
        }));
    }
    if let Some(name) = text("section") {
        return Some(Directive::Section(name));
    }
    if let Some(Value::List(messages)) = map.get("thread") {
        let messages = messages.iter().filter_map(conversation::read);
        return Some(Directive::Thread(messages.collect()));
    }
    if map.get("lines").is_some() {
        return Some(Directive::Lines);
    }
    text("history").map(|_| Directive::History)
}

/// Splits a text into messages by dotprompt's rules. Text before the first role belongs to the
/// user, and text after the history belongs to the model until the next role. Blank segments are
/// dropped.
pub(super) fn messages(text: &str, history: &[ChatMessage]) -> Vec<ChatMessage> {
    let mut messages = Vec::new();
    let mut current = message("user");
    for piece in pieces(text) {
        match piece {
            DirectivePart::Text(text) if text.trim().is_empty() => {}
            DirectivePart::Text(text) => current.parts.push(MessagePart::Text(text.to_owned())),
            DirectivePart::Directive(Directive::Role(name)) => {
                messages.push(std::mem::replace(&mut current, message(&name)));
            }
            DirectivePart::Directive(Directive::History) => {
                messages.push(std::mem::replace(&mut current, message("model")));
                messages.extend(history.iter().cloned().map(of_history));
            }
            DirectivePart::Directive(Directive::Thread(thread)) => {
                let next = message(&current.role);
                messages.push(std::mem::replace(&mut current, next));
                messages.extend(thread);
            }
            DirectivePart::Directive(other) => current.parts.extend(other.into_part()),
        }
    }
    messages.push(current);
    messages.retain(|message| !message.parts.is_empty());
    with_history(messages, history)
}

fn message(role: &str) -> ChatMessage {
    ChatMessage {
        role: role.to_owned(),
        ..ChatMessage::default()
    }
}

fn pending(purpose: &str) -> Map {
    let pairs = [
        ("purpose", Value::from(purpose)),
        ("pending", Value::Bool(true)),
    ];
    pairs.into_iter().collect()
}

fn of_history(message: ChatMessage) -> ChatMessage {
    let mut table = message.metadata.to_table();
    table.insert("purpose".into(), "history".into());
    ChatMessage {
        metadata: Map::new(table),
        ..message
    }
}

/// Inserts the history before the last user message, unless the template has inserted it.
pub(super) fn with_history(
    mut messages: Vec<ChatMessage>,
    history: &[ChatMessage],
) -> Vec<ChatMessage> {
    let placed = |message: &ChatMessage| {
        message.metadata.get("purpose").and_then(Value::as_str) == Some("history")
    };
    if history.is_empty() || messages.iter().any(placed) {
        return messages;
    }
    let at = match messages.last() {
        Some(last) if last.role == "user" => messages.len() - 1,
        _ => messages.len(),
    };
    messages.splice(at..at, history.iter().cloned());
    messages
}
