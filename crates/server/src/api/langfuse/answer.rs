//! Formats a prompt version for Langfuse's clients.

use quillet_core::ErrorCode;
use quillet_core::history::Version;
use quillet_host::definitions::ResolvedVersion;
use serde_json::{Value, json};

use crate::api::client_fill::{
    PromptBody, PromptMessage, PromptView, StoredPrompt, VersionRequest, name_of,
};
use crate::error::{ApiError, problem};

/// The id and name of the only project.
pub(super) const PROJECT: &str = "quillet";

/// Returns a version as Langfuse's prompt object.
pub(super) async fn prompt(
    view: &PromptView<'_>,
    found: &ResolvedVersion,
    said: &PromptBody,
    resolved: Value,
) -> Result<Value, ApiError> {
    let stored = StoredPrompt::read(&found.content.text);
    let newest = StoredPrompt::read(&view.newest.content.text);
    let version = found.version.as_ref();
    let number = version.map_or(1, |version| version.number);
    let message = version.map(|version| &*version.message);
    let created = version.map(created);
    let text = match said {
        PromptBody::Text(text) => json!(text),
        PromptBody::Chat(turns) => turns.iter().map(turn).collect(),
    };
    Ok(json!({
        "id": format!("{}@{number}", view.id),
        "createdAt": created,
        "updatedAt": created,
        "projectId": PROJECT,
        "createdBy": version.map(|version| &*version.author),
        "name": name_of(&view.id),
        "version": number,
        "type": said.kind(),
        "prompt": text,
        "config": stored.as_ref().map_or_else(|| json!({}), StoredPrompt::config),
        "labels": view.labels_of(number).await?,
        // In Langfuse, tags belong to the prompt and not to a version.
        "tags": newest.as_ref().map(StoredPrompt::tags).unwrap_or_default(),
        "commitMessage": message.filter(|message| !message.is_empty()),
        "resolutionGraph": resolved,
        "isActive": null,
    }))
}

fn turn(turn: &PromptMessage) -> Value {
    match turn {
        PromptMessage::Message { role, content } => {
            json!({"type": "chatmessage", "role": role, "content": content})
        }
        PromptMessage::Placeholder(name) => json!({"type": "placeholder", "name": name}),
    }
}

/// Returns the creation time of a version in Langfuse's format.
pub(super) fn created(version: &Version) -> String {
    let millis = i64::try_from(version.created_ms).unwrap_or(i64::MAX);
    let time = jiff::Timestamp::from_millisecond(millis).unwrap_or_default();
    format!("{time:.3}")
}

/// Returns Langfuse's own error for a missing version.
pub(super) fn not_found(name: &str, wish: VersionRequest<'_>) -> ApiError {
    let which = match wish {
        VersionRequest::Number(number) => format!("version {number}"),
        VersionRequest::Label(label) => format!("label '{label}'"),
        VersionRequest::Default => "label 'production'".to_owned(),
    };
    let message = format!("Prompt not found: '{name}' with {which}");
    problem(ErrorCode::NotFound, message)
}

/// Converts errors of the store about missing versions to Langfuse's own.
pub(super) fn or_not_found(error: ApiError, name: &str, wish: VersionRequest<'_>) -> ApiError {
    let is_absent = [
        ErrorCode::NotFound,
        ErrorCode::HistoryVersion,
        ErrorCode::HistoryLabel,
    ];
    if is_absent.contains(&error.code()) {
        not_found(name, wish)
    } else {
        error
    }
}
