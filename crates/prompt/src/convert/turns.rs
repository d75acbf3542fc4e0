//! Role markers in a template, in each notation.

use quillet_core::Role;
use quillet_template::MessageSyntax;
use quillet_template::structure::{MessagePart, computed_role_line, parse_role_lines};

use super::refusal::ConvertNote;
use crate::definition::{Prompt, PromptBody};

/// A message and its part of the prompt's template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TemplateTurn {
    /// The common role name: `assistant`, not `model`.
    pub(super) role: String,
    pub(super) text: String,
    /// Offset of the text in the prompt's template.
    pub(super) at: usize,
}

/// Splits a prompt's template into messages. Text without role markers is one user message.
pub(super) fn of(prompt: &Prompt) -> Result<Vec<TemplateTurn>, Vec<ConvertNote>> {
    let text = match &prompt.body {
        PromptBody::Text(text) => text,
        PromptBody::Messages(messages) => {
            let turn = |message: &crate::TemplateMessage| TemplateTurn {
                role: message.role.as_str().to_owned(),
                text: message.content.to_string(),
                // Each message is a separate text, so positions have no common offset.
                at: 0,
            };
            return Ok(messages.iter().map(turn).collect());
        }
        PromptBody::Script(_) => {
            let reason = "a script is a program, and has no counterpart among templates";
            return Err(vec![ConvertNote::template(0, reason.to_owned())]);
        }
    };
    match prompt.messages {
        MessageSyntax::RoleLines => role_lines(text),
        MessageSyntax::Elements if text.contains("<message") => elements(text),
        _ if prompt.format == "dotprompt" => helpers(text),
        _ => Ok(vec![turn("user", text, 0)]),
    }
}

fn turn(role: &str, text: &str, at: usize) -> TemplateTurn {
    let role = if role == "model" { "assistant" } else { role };
    TemplateTurn {
        role: role.to_owned(),
        text: text.to_owned(),
        at,
    }
}

const COMPUTED: &str = "a computed role has no counterpart";

fn role_lines(text: &str) -> Result<Vec<TemplateTurn>, Vec<ConvertNote>> {
    if let Some(at) = computed_role_line(text) {
        return Err(vec![ConvertNote::template(at, COMPUTED)]);
    }
    let mut turns = Vec::new();
    let mut refusals = Vec::new();
    let mut from = 0;
    for message in parse_role_lines(text) {
        let content: String = message.parts.iter().map(text_of).collect();
        let at = text[from..]
            .find(&content)
            .map_or(from, |found| from + found);
        if !message.metadata.is_empty() {
            refusals.push(ConvertNote::template(
                at,
                "metadata of a message has no counterpart",
            ));
        }
        from = at + content.len();
        turns.push(turn(&message.role, &content, at));
    }
    if refusals.is_empty() {
        Ok(turns)
    } else {
        Err(refusals)
    }
}

fn text_of(part: &MessagePart) -> &str {
    match part {
        MessagePart::Text(text) => text,
        _ => "",
    }
}

/// dotprompt: `{{role "system"}}`.
fn helpers(text: &str) -> Result<Vec<TemplateTurn>, Vec<ConvertNote>> {
    let mut turns = Vec::new();
    let (mut role, mut from) = ("user", 0);
    for (at, _) in text.match_indices("{{role ") {
        let Some((name, after)) = role_helper(&text[at..]) else {
            return Err(vec![ConvertNote::template(at, COMPUTED)]);
        };
        turns.push(turn(role, &text[from..at], from));
        (role, from) = (name, at + after);
    }
    turns.push(turn(role, &text[from..], from));
    // White space between two helpers is not a separate message.
    turns.retain(|turn| !turn.text.trim().is_empty());
    Ok(turns)
}

/// Returns the quoted role and the length of the helper.
fn role_helper(text: &str) -> Option<(&str, usize)> {
    let inside = text.strip_prefix("{{role ")?;
    let end = inside.find("}}")?;
    let name = inside[..end].trim();
    let quote = name.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let name = name.strip_prefix(quote)?.strip_suffix(quote)?;
    // `end` counts from after the prefix, so both delimiters are added.
    Some((name, end + "{{role }}".len()))
}

/// `<message role="system">…</message>` with nothing else around.
fn elements(text: &str) -> Result<Vec<TemplateTurn>, Vec<ConvertNote>> {
    let mut turns = Vec::new();
    let mut at = 0;
    while let Some(lead) = text[at..].find(|c: char| !c.is_whitespace()) {
        at += lead;
        let Some((role, inner, length)) = element(&text[at..]) else {
            let reason = "only <message role=\"…\"> with text inside has a counterpart";
            return Err(vec![ConvertNote::template(at, reason)]);
        };
        let content = &text[at + inner.0..at + inner.1];
        let lead = content.len() - content.trim_start().len();
        // Markup and entities have a meaning in this syntax only.
        if let Some(tag) = content.find(['<', '&']) {
            let reason = "markup inside a message has no counterpart";
            return Err(vec![ConvertNote::template(at + inner.0 + tag, reason)]);
        }
        turns.push(turn(role, content.trim(), at + inner.0 + lead));
        at += length;
    }
    Ok(turns)
}

/// Parses the element at the start of a text: its role, the range of its content, and its length.
fn element(text: &str) -> Option<(&str, (usize, usize), usize)> {
    let rest = text.strip_prefix("<message role=")?;
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (role, rest) = rest[1..].split_once(quote)?;
    let rest = rest.strip_prefix('>')?;
    let start = text.len() - rest.len();
    let end = start + rest.find("</message>")?;
    Some((role, (start, end), end + "</message>".len()))
}

/// Parses a role by its name in model APIs.
pub(super) fn role(name: &str) -> Option<Role> {
    Role::parse(if name == "model" { "assistant" } else { name })
}
