//! Exports a prompt for clients that fill in variables themselves. Shared variables and tools are
//! resolved now. Request variables stay open as `{{name}}` or `{name}`.
//!
//! Such a client only replaces names with texts. A template is exported only if the result is
//! exact. Request variables must be printed unchanged and must not affect anything else, which
//! [`open`] checks on the template's neutral tree. No other text may look like a variable to the
//! client, which [`notation`] checks. The engine renders the template with an unguessable text in
//! place of each open variable, and the export then replaces that text with the name. Everything
//! else is rejected with its location, so a client never gets a wrong text.
//!
//! If the tree cannot express a template (functions over shared variables, other prompts),
//! [`masked`] performs the check instead.
//!
//! Texts and integers look the same in every client. Other values depend on the client, so
//! variables that are declared with another type are rejected.

mod inline;
mod masked;
mod notation;
mod open;

use quillet_core::{ContentPart, Diagnostic, Map, MessageContent, Role, Value};

pub use self::inline::ResidualError;
use self::inline::definition;
use self::notation::FilledPlaceholders;
pub use self::notation::Notation;
use self::open::OpenVariables;
use crate::definition::{Prompt, PromptBody};
use crate::input::RenderInput;
use crate::messages::RenderedPrompt;
use crate::service::PromptService;

/// A prompt in which request variables are not filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Residual {
    /// One text.
    Text(String),
    /// Messages.
    Messages(Vec<ResidualMessage>),
}

/// A message of an exported prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResidualMessage {
    /// A message with fixed role and text.
    Said {
        /// The role.
        role: Role,
        /// The text, with open variables.
        content: String,
    },
    /// A placeholder for messages, with the name of the request variable that holds them.
    Thread(String),
}

/// Exports a prompt: fills in everything that is known now except the request variables.
///
/// # Errors
/// The export would not be exact, or the prompt does not render.
///
/// # Examples
///
/// ```
/// # use std::sync::Arc;
/// # use quillet_core::{Map, Message, Role, Value};
/// # use quillet_core::store::{EntryKey, EntryKind, Store};
/// # use quillet_core::tool::Tool;
/// # use quillet_prompt::*;
/// # use quillet_store::MemoryStore;
/// # use quillet_template::TemplateFactory;
/// # use quillet_test_support::EchoTools;
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
/// # runtime.unwrap().block_on(async {
/// # let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
/// let text = r#"{"prompt": "Hello {{.variables.name}}!"}"#;
/// store.put(EntryKind::Prompt, &EntryKey::new("greet"), text).await.unwrap();
/// # let formats = TemplateFactory::standard();
/// # let catalogue = Catalogue::new(store.clone(), formats, Arc::new(EchoTools), 100);
/// # let variables = Arc::new(Variables::new(store));
/// # let service = PromptService::new(catalogue, variables, None, ServiceOptions::default());
/// service.load().await.unwrap();
///
/// # let snapshot = service.catalogue().snapshot();
/// # let entry = snapshot.prompt("greet").unwrap().usable(EntryKind::Prompt).unwrap();
/// let open = residual(&service, &entry.prompt, Notation::Double, "request-1").await.unwrap();
/// assert_eq!(open, Residual::Text("Hello {{name}}!".to_owned()));
/// # });
/// ```
pub async fn residual(
    service: &PromptService,
    prompt: &Prompt,
    notation: Notation,
    request_id: &str,
) -> Result<Residual, ResidualError> {
    let shared = service.variables().ids().await?;
    let open =
        OpenVariables::of(prompt, service.catalogue(), &shared).map_err(ResidualError::Refused)?;
    let filling = FilledPlaceholders::new(&open.names, notation);
    let variables: Map = filling
        .marks()
        .map(|(name, mark)| (name, Value::from(mark)))
        .collect();
    let Some(plain) = definition(prompt, &open.threads, &prompt.body) else {
        return Ok(Residual::Messages(threads(&open.threads)));
    };
    let masked = if open.unread.is_empty() {
        None
    } else {
        Some(masked::render(service, prompt, &open, &filling, request_id).await?)
    };
    let input = RenderInput::new(&variables, request_id);
    let rendered = service.render_inline(plain, &input).await?.prompt;
    // The literals and the variables must render to the same text. A difference means that
    // something else depends on a variable.
    if masked.is_some_and(|masked| masked != rendered) {
        return Err(ResidualError::Refused(open.unread));
    }
    let is_divided = matches!(prompt.body, PromptBody::Text(_));
    let filled = match rendered {
        RenderedPrompt::Text(text) => return Ok(Residual::Text(filling.write(&prompt.id, &text)?)),
        RenderedPrompt::Messages(messages) => messages,
    };
    let mut written = Vec::with_capacity(filled.len());
    for message in filled {
        let text = text(message.content).ok_or_else(|| {
            let what = "a message has more than text, which these clients do not accept";
            Box::new(Diagnostic::error("convert.refused", &prompt.id, what))
        })?;
        // Splitting a text into messages trims line breaks around each message, including those of
        // a value.
        if is_divided {
            filling.inside(&prompt.id, &text)?;
        }
        written.push(ResidualMessage::Said {
            role: message.role,
            content: filling.write(&prompt.id, &text)?,
        });
    }
    for (index, name) in &open.threads {
        let place = (*index).min(written.len());
        written.insert(place, ResidualMessage::Thread(name.clone()));
    }
    Ok(Residual::Messages(written))
}

/// Returns the text of a message that contains only text.
fn text(content: MessageContent) -> Option<String> {
    match content {
        MessageContent::Text(text) => Some(text),
        MessageContent::Parts(parts) => parts
            .into_iter()
            .map(|part| match part {
                ContentPart::Text { text } => Some(text),
                _ => None,
            })
            .collect(),
    }
}

fn threads(threads: &[(usize, String)]) -> Vec<ResidualMessage> {
    let names = threads.iter().map(|(_, name)| name.clone());
    names.map(ResidualMessage::Thread).collect()
}
