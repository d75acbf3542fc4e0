//! Parsing of chat prompts by the rules of Python's `ChatHistory.from_rendered_prompt`, version
//! 1.45.

use super::names;
use super::prompt::{ChatPrompt, ChatPromptError, message, unstructured};
use super::xml::{self, Element, XmlNode};
use crate::structure::{ChatMessage, MessagePart};

type ChatResult<T> = std::result::Result<T, ChatPromptError>;

const ROLES: &[&str] = &["system", "user", "assistant", "tool", "developer"];

pub(super) fn parse(text: &str) -> ChatResult<ChatPrompt> {
    let text = text.trim();
    // Python's XML parser (expat) normalizes all line endings.
    let lines = text.replace("\r\n", "\n").replace('\r', "\n");
    let Some(root) = xml::parse(&lines) else {
        return Ok(unstructured(&unescape(text)));
    };
    let mut messages = Vec::new();
    let mut pieces = pieces(&root).into_iter();
    let before = pieces.next().map(|(_, text)| text).unwrap_or_default();
    add(&mut messages, "system", &before);
    for (element, tail) in pieces {
        let Some(element) = element else { continue };
        match element.name.as_str() {
            "message" => messages.push(read(element)?),
            "chat_history" => {
                for inner in element.elements() {
                    messages.push(read(inner)?);
                }
            }
            _ => {
                append(&mut messages, &unescape(&markup(element)));
                append(&mut messages, &unescape(&tail));
                continue;
            }
        }
        add(&mut messages, "user", &tail);
    }
    if let [only] = &mut messages[..]
        && only.role == "system"
    {
        only.role = "user".to_owned();
    }
    Ok(ChatPrompt {
        messages,
        structured: true,
    })
}

/// Creates a message of this role, unless the text is blank.
fn add(messages: &mut Vec<ChatMessage>, role: &str, text: &str) {
    if !text.trim().is_empty() {
        messages.push(ChatMessage::text(role, unescape(text.trim())));
    }
}

/// Appends to the text of the last message, or adds a user message if there is none.
fn append(messages: &mut Vec<ChatMessage>, text: &str) {
    if text.is_empty() {
        return;
    }
    let Some(last) = messages.last_mut() else {
        return messages.push(ChatMessage::text("user", text));
    };
    let known = last.parts.iter_mut().find_map(|part| match part {
        MessagePart::Text(known) => Some(known),
        _ => None,
    });
    match known {
        Some(known) => known.push_str(text),
        None => last.parts.push(MessagePart::Text(text.to_owned())),
    }
}

/// Returns the text before the first element, and then each element with the text after it.
/// Comments and instructions are dropped.
fn pieces(element: &Element) -> Vec<(Option<&Element>, String)> {
    let mut pieces = vec![(None, String::new())];
    for child in &element.children {
        match (child, pieces.last_mut()) {
            (XmlNode::Element(element), _) => pieces.push((Some(element), String::new())),
            (XmlNode::Text(text) | XmlNode::Data(text), Some((_, last))) => last.push_str(text),
            _ => {}
        }
    }
    pieces
}

fn read(element: &Element) -> ChatResult<ChatMessage> {
    if element.name != "message" {
        return Err(ChatPromptError::new("Element tag is not message"));
    }
    let role = element.attribute("role").unwrap_or_default();
    if !ROLES.contains(&role) {
        let known = ROLES.join(", ");
        return Err(ChatPromptError::new(format!(
            "invalid role {role:?}: use one of {known}"
        )));
    }
    let mut parts = Vec::new();
    for (child, text) in pieces(element) {
        match child {
            None if text.is_empty() => {}
            None => parts.push(MessagePart::Text(unescape(&text))),
            Some(child) => parts.push(part(child, &text)?),
        }
    }
    Ok(message(role, &element.attributes, joined(parts)))
}

/// Joins parts if all of them are texts. Returns an empty list if the joined text is empty.
fn joined(parts: Vec<MessagePart>) -> Vec<MessagePart> {
    let text = |part: &MessagePart| match part {
        MessagePart::Text(text) => Some(text.clone()),
        _ => None,
    };
    match parts.iter().map(text).collect::<Option<String>>() {
        Some(text) if text.is_empty() => Vec::new(),
        Some(text) => vec![MessagePart::Text(text)],
        None => parts,
    }
}

/// Reads a child of a message. As in Python, the text after a child with a known name is lost.
fn part(element: &Element, tail: &str) -> ChatResult<MessagePart> {
    let pieces = pieces(element);
    let text = pieces.first().map_or("", |(_, text)| text.as_str());
    match element.name.as_str() {
        "text" => Ok(MessagePart::Text(unescape(text))),
        "image" => image(element, text),
        _ => {
            let mut all = markup(element);
            xml::escape(tail, xml::Escape::Text, &mut all);
            Ok(MessagePart::Text(unescape(&all)))
        }
    }
}

fn image(element: &Element, text: &str) -> ChatResult<MessagePart> {
    let url = match (text, element.attribute("uri")) {
        ("", Some(uri)) => uri,
        ("", None) => "",
        (text, _) if text.starts_with("data:") && text.contains(',') => text,
        _ => {
            let message = "Invalid data uri format. The data is missing.";
            return Err(ChatPromptError::new(message));
        }
    };
    Ok(MessagePart::Media {
        kind: Some("image".to_owned()),
        url: url.to_owned(),
        content_type: element.attribute("mime_type").map(str::to_owned),
    })
}

/// Returns an element as markup, without the text after it.
fn markup(element: &Element) -> String {
    let mut out = String::new();
    write(element, &mut out);
    out
}

fn write(element: &Element, out: &mut String) {
    out.extend(["<", &element.name]);
    for (name, value) in &element.attributes {
        out.extend([" ", name, "=\""]);
        xml::escape(value, xml::Escape::AttributeDecimal, out);
        out.push('"');
    }
    out.push('>');
    for child in &element.children {
        match child {
            XmlNode::Text(text) | XmlNode::Data(text) => xml::escape(text, xml::Escape::Text, out),
            XmlNode::Element(element) => write(element, out),
            XmlNode::Comment(_) | XmlNode::Instruction(_) => {}
        }
    }
    out.extend(["</", &element.name, ">"]);
}

fn unescape(text: &str) -> String {
    names::decode(text, names::ReferenceEnd::Optional)
}
