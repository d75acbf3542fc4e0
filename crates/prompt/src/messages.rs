//! Converts rendered texts to messages, based on the structure of the template and the conversation
//! so far.

use std::fmt;

use quillet_core::{Message, Role, Value};
use quillet_template::{ChatMessage, RenderError, RenderedTemplate};

use crate::definition::PromptBody;
use crate::input::{HistoryPlacement, RenderInput};

/// The result of a render: text, or messages.
///
/// # Examples
///
/// ```
/// use quillet_core::{Message, Role};
/// use quillet_prompt::RenderedPrompt;
///
/// let messages = vec![Message::new(Role::System, "Be brief."), Message::new(Role::User, "Hi")];
/// let prompt = RenderedPrompt::Messages(messages);
/// assert_eq!(prompt.to_string(), "system: Be brief.\nuser: Hi");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RenderedPrompt {
    /// A text.
    Text(String),
    /// Messages.
    Messages(Vec<Message>),
}

/// Writes the text. Messages are written as `role: content`, each on a new line.
impl fmt::Display for RenderedPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let messages = match self {
            RenderedPrompt::Text(text) => return f.write_str(text),
            RenderedPrompt::Messages(messages) => messages,
        };
        for (index, message) in messages.iter().enumerate() {
            let gap = if index > 0 { "\n" } else { "" };
            write!(f, "{gap}{}: {}", message.role, message.content)?;
        }
        Ok(())
    }
}

/// Assembles the result of a render. A text without message markup stays a text, or becomes one
/// message with the role of the definition. A text with markup is split into messages. If the
/// template does not place the conversation, [`HistoryPlacement`] determines its position, so it is
/// never lost.
///
/// # Errors
/// A message has an unknown role.
pub(crate) fn assemble(
    body: &PromptBody,
    names: &[&str],
    rendered: RenderedTemplate,
    input: &RenderInput<'_>,
) -> Result<RenderedPrompt, Box<RenderError>> {
    let history = input.history;
    // Most prompts are a single text, which needs no list of messages.
    let plain = names.len() == 1 && history.is_empty() && matches!(body, PromptBody::Text(_));
    if plain && structured(&rendered, 0, &[]).is_none() {
        return Ok(RenderedPrompt::Text(rendered.into_text()));
    }
    let so_far: Vec<ChatMessage> = history.iter().map(chat_message).collect();
    let structured: Vec<Option<MessageList>> = (0..names.len())
        .map(|entry| structured(&rendered, entry, &so_far))
        .collect();
    let is_text = matches!(body, PromptBody::Text(_)) && structured.iter().all(Option::is_none);
    let mut texts = rendered.into_texts().into_iter();
    if is_text && history.is_empty() {
        return Ok(RenderedPrompt::Text(texts.next().unwrap_or_default()));
    }
    let mut messages = Vec::new();
    let mut is_placed = false;
    for ((index, (name, text)), structured) in names.iter().zip(texts).enumerate().zip(structured) {
        let Some(structured) = structured else {
            messages.push(Message::new(role_of(body, index), text));
            continue;
        };
        is_placed |= structured.is_placed;
        let mut so_far = history.iter();
        for message in structured.messages {
            let given = is_history(&message).then(|| so_far.next().cloned());
            match given.flatten() {
                // Restores the original message, because templates see only its text.
                Some(given) => messages.push(given),
                None => messages.push(of_template(message, name)?),
            }
        }
    }
    if !is_placed {
        let asks = messages.last().is_some_and(|last| last.role == Role::User)
            && input.unplaced == HistoryPlacement::BeforeUser;
        // The question stays last, as models expect.
        let at = messages.len() - usize::from(asks);
        messages.splice(at..at, history.iter().cloned());
    }
    Ok(RenderedPrompt::Messages(messages))
}

struct MessageList {
    messages: Vec<ChatMessage>,
    /// Whether the template places the conversation.
    is_placed: bool,
}

fn structured(
    rendered: &RenderedTemplate,
    entry: usize,
    history: &[ChatMessage],
) -> Option<MessageList> {
    let messages = rendered.messages(entry, history)?;
    if messages.iter().any(is_history) {
        return Some(MessageList {
            messages,
            is_placed: true,
        });
    }
    Some(MessageList {
        messages: rendered.messages(entry, &[])?,
        is_placed: false,
    })
}

/// Whether a message belongs to the conversation that the template places.
fn is_history(message: &ChatMessage) -> bool {
    message.metadata.get("purpose").and_then(Value::as_str) == Some("history")
}

fn role_of(body: &PromptBody, index: usize) -> Role {
    match body {
        PromptBody::Text(_) | PromptBody::Script(_) => Role::User,
        PromptBody::Messages(templates) => templates
            .get(index)
            .map_or(Role::User, |template| template.role),
    }
}

fn of_template(message: ChatMessage, template: &str) -> Result<Message, Box<RenderError>> {
    message.into_message().map_err(|mut error| {
        error.message = format!("{template}: {}", error.reason);
        template.clone_into(&mut error.source_name);
        error
    })
}

/// Converts a message for the template, which only needs its role and text.
fn chat_message(message: &Message) -> ChatMessage {
    ChatMessage::text(message.role.as_str(), message.content.to_string())
}
