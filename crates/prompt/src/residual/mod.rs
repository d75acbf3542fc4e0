//! A prompt for clients that fill in the variables themselves: shared variables and tools are
//! filled in now, variables of the request are left open as `{{name}}` or `{name}`.
//!
//! Such a client replaces names with texts and can do nothing else. So a template is only exported
//! if that is exact: a variable of the request is printed unchanged and decides nothing ([`open`]
//! checks the template's neutral tree), and nothing else in the text looks like a variable to the
//! client ([`notation`]). The real engine renders with an unguessable text instead of each open
//! variable, and its position in the output becomes the name. Everything else is rejected with its
//! location, so a client never gets a wrong text.
//!
//! Where a template has what the tree cannot say (functions over shared variables, other prompts),
//! [`masked`] shows the same in another way.
//!
//! A text or a whole number is filled in as we would print it. Values of other kinds are printed by
//! the client, in its own way, so a variable that is declared to be one is refused.

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

/// A prompt with the variables of the request left open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Residual {
    /// One text.
    Text(String),
    /// Messages.
    Messages(Vec<ResidualMessage>),
}

/// A message of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResidualMessage {
    /// A message.
    Said {
        /// Who says it.
        role: Role,
        /// What, with open variables.
        content: String,
    },
    /// A place for messages of the request, which are in the variable of that name.
    Thread(String),
}

/// Fills in what is known of a prompt now and leaves the variables of the request open.
///
/// # Errors
/// What of it a client could not fill in exactly; why it does not render.
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
    // A literal and a variable must print the same; otherwise something else depends on it.
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
        // Where the text of a template is divided into messages, line breaks around each are
        // dropped, and those of a value with them.
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

/// What a message says, if that is text and nothing else.
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
