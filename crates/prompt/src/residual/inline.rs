//! Converts a prompt to an inline definition that is rendered in its place.

use quillet_core::Diagnostic;
use quillet_template::{MessageSyntax, Missing};
use serde_json::{Map as Object, Value as Tree, json};

use crate::definition::{Prompt, PromptBody};
use crate::error::ServiceError;

/// Error of a prompt that cannot be exported.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ResidualError {
    /// The export would not be exact. Each diagnostic has a location.
    #[error("{}", first(.0))]
    Refused(Vec<Diagnostic>),
    /// The prompt does not render.
    #[error(transparent)]
    Service(#[from] ServiceError),
}

fn first(found: &[Diagnostic]) -> String {
    found.first().map(ToString::to_string).unwrap_or_default()
}

impl From<Box<Diagnostic>> for ResidualError {
    fn from(found: Box<Diagnostic>) -> Self {
        ResidualError::Refused(vec![*found])
    }
}

/// Converts a prompt with this body to a definition that accepts any variables. Placeholder
/// messages are left out; returns `None` if no other message remains.
pub(super) fn definition(
    prompt: &Prompt,
    threads: &[(usize, String)],
    body: &PromptBody,
) -> Option<Object<String, Tree>> {
    let body = match body {
        PromptBody::Text(text) => ("prompt", json!(text)),
        PromptBody::Messages(messages) => {
            let is_thread = |index: usize| threads.iter().any(|(place, _)| *place == index);
            let said = messages
                .iter()
                .enumerate()
                .filter(|(index, _)| !is_thread(*index));
            let said: Vec<Tree> = said
                .map(
                    |(_, said)| json!({"role": said.role.as_str(), "content": said.content.as_ref()}),
                )
                .collect();
            if said.is_empty() {
                return None;
            }
            ("messages", said.into())
        }
        PromptBody::Script(_) => return None,
    };
    let syntax = match prompt.messages {
        MessageSyntax::Plain => "plain",
        MessageSyntax::Elements => "elements",
        MessageSyntax::RoleLines => "role-lines",
    };
    let missing = match prompt.missing {
        Missing::Strict => "strict",
        _ => "lenient",
    };
    let members = [
        body,
        ("format", json!(prompt.format)),
        ("messageSyntax", json!(syntax)),
        ("missing", json!(missing)),
        ("trusted", json!(prompt.trusted)),
        ("trustedResults", json!(prompt.trusted_results)),
    ];
    let members = members
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    Some(members.collect())
}
