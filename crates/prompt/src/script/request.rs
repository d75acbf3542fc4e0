//! Input of a script from a request.

use std::sync::Arc;

use quillet_core::chat::ChatOptions;
use quillet_core::{Message, Role};

use super::run::ScriptJob;
use super::stored::StoredScript;
use crate::input::{HistoryPlacement, RenderInput};
use crate::snapshot::CatalogueSnapshot;

/// Converts a request to a script run. If the conversation contains the question, the last user
/// message becomes the question. Otherwise the whole conversation is history.
pub(crate) fn job(
    id: &str,
    script: &StoredScript,
    snapshot: &Arc<CatalogueSnapshot>,
    input: &RenderInput<'_>,
) -> ScriptJob {
    let (history, question) = match input.unplaced {
        HistoryPlacement::BeforeUser => (input.history.to_vec(), None),
        HistoryPlacement::Last => divided(input.history),
    };
    ScriptJob {
        id: id.into(),
        script: script.clone(),
        snapshot: snapshot.clone(),
        arguments: input.variables.clone(),
        question,
        history,
        model: None,
        options: ChatOptions::default(),
        stream: false,
        dry: input.dry,
        depth: input.depth,
        request_id: input.request_id.to_owned(),
    }
}

/// Splits a conversation at its last user message, and returns the history and the text of that
/// message.
fn divided(conversation: &[Message]) -> (Vec<Message>, Option<String>) {
    let is_asked = |message: &Message| message.role == Role::User;
    let Some(at) = conversation.iter().rposition(is_asked) else {
        return (conversation.to_vec(), None);
    };
    let mut history = conversation.to_vec();
    let question = history.remove(at).content.to_string();
    (history, Some(question))
}
