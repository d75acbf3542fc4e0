//! Parsing of chat prompts by the rules of .NET's `XmlPromptParser` and `ChatPromptParser`.

use super::names;
use super::prompt::{ChatPrompt, message, unstructured};
use super::xml::{self, Element, XmlNode};
use crate::structure::{ChatMessage, MessagePart};

pub(super) fn parse(text: &str) -> ChatPrompt {
    if !mentions_message(text) {
        return unstructured(text);
    }
    let Some(root) = xml::parse(text) else {
        return unstructured(text);
    };
    let messages: Vec<ChatMessage> = root.elements().filter_map(read).collect();
    if messages.is_empty() {
        unstructured(text)
    } else {
        ChatPrompt {
            messages,
            structured: true,
        }
    }
}

/// Whether a text contains `<message`. A text without it is not a chat prompt and is not parsed.
fn mentions_message(text: &str) -> bool {
    let name = |at: usize| text.as_bytes().get(at + 1..at + 8);
    memchr::memchr_iter(b'<', text.as_bytes())
        .any(|at| name(at).is_some_and(|name| name.eq_ignore_ascii_case(b"message")))
}

/// Reads a message element. The message consists of the child elements with known names. As in
/// .NET, text between them is lost.
fn read(element: &Element) -> Option<ChatMessage> {
    if !element.name.eq_ignore_ascii_case("message") {
        return None;
    }
    let role = element.attribute("role")?;
    let mut parts: Vec<MessagePart> = element.elements().filter_map(part).collect();
    if parts.is_empty() {
        parts.extend(content(element).map(MessagePart::Text));
    }
    Some(message(role, &element.attributes, parts))
}

fn part(element: &Element) -> Option<MessagePart> {
    let kind = match element.name.to_ascii_lowercase().as_str() {
        "text" => return content(element).map(MessagePart::Text),
        "image" => "image",
        "audio" => "audio",
        "binary" => "file",
        _ => return None,
    };
    Some(MessagePart::Media {
        kind: Some(kind.to_owned()),
        url: content(element)?,
        content_type: element.attribute("mimetype").map(str::to_owned),
    })
}

/// Returns the content as markup, decoded once. Returns `None` if it is blank.
fn content(element: &Element) -> Option<String> {
    let mut children = element.children.iter();
    let first = children.find(|child| !child.is_blank());
    let inside = match first {
        Some(XmlNode::Data(_)) => element.text(),
        _ => inner_xml(element),
    };
    let inside = inside.trim();
    (!inside.is_empty()).then(|| names::decode(inside, names::ReferenceEnd::Semicolon))
}

fn inner_xml(element: &Element) -> String {
    let mut out = String::new();
    for child in &element.children {
        write(child, &mut out);
    }
    out
}

fn write(node: &XmlNode, out: &mut String) {
    match node {
        XmlNode::Text(text) => xml::escape(text, xml::Escape::Text, out),
        XmlNode::Data(text) => out.extend(["<![CDATA[", text, "]]>"]),
        XmlNode::Comment(text) => out.extend(["<!--", text, "-->"]),
        XmlNode::Instruction(text) => out.extend(["<?", text, "?>"]),
        XmlNode::Element(element) => write_element(element, out),
    }
}

fn write_element(element: &Element, out: &mut String) {
    out.extend(["<", &element.name]);
    for (name, value) in &element.attributes {
        out.extend([" ", name, "=\""]);
        xml::escape(value, xml::Escape::AttributeHex, out);
        out.push('"');
    }
    if element.empty {
        return out.push_str(" />");
    }
    out.push('>');
    for child in &element.children {
        write(child, out);
    }
    out.extend(["</", &element.name, ">"]);
}
