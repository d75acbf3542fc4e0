//! Input of a script from a request.

use std::sync::Arc;

use quillet_core::chat::ChatOptions;
use quillet_core::{Message, Role};

use super::run::ScriptJob;
use super::stored::StoredScript;
use crate::input::{HistoryPlacement, RenderInput};
use crate::snapshot::CatalogueSnapshot;

/// The run that a request asks for. Of a conversation that asks, the last message of the
/// user is the question; one that only leads up to the prompt is history, all of it.
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

/// The conversation before its last message of the user, and the text of that.
fn divided(conversation: &[Message]) -> (Vec<Message>, Option<String>) {
    let is_asked = |message: &Message| message.role == Role::User;
    let Some(at) = conversation.iter().rposition(is_asked) else {
        return (conversation.to_vec(), None);
    };
    let mut history = conversation.to_vec();
    let question = history.remove(at).content.to_string();
    (history, Some(question))
}
