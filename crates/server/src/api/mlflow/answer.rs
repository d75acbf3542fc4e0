//! Prompts in the format of MLflow's clients.

use quillet_core::ErrorCode;
use quillet_host::definitions::{ResolvedVersion, heaviest};
use quillet_prompt::Notation;
use serde_json::{Map, Value, json};

use crate::api::client_fill::{self, PromptBody, PromptMessage, PromptView, StoredPrompt, name_of};
use crate::error::{ApiError, problem};
use crate::request_context::RequestContext;

/// The tag that marks a model as a prompt.
pub(super) const IS_PROMPT: &str = "mlflow.prompt.is_prompt";
/// The tag that holds the content of a prompt.
pub(super) const TEXT: &str = "mlflow.prompt.text";
/// The tag with the type of the content, text or chat.
pub(super) const KIND: &str = "_mlflow_prompt_type";
/// The metadata member for the other tags.
pub(super) const TAGS: &str = "mlflowTags";

/// The start of a Jinja statement. A client treats any text that contains it as a Jinja template.
pub(super) const STATEMENT: &str = "{%";

/// Returns a prompt without its content.
pub(super) async fn model(view: &PromptView<'_>) -> Result<Value, ApiError> {
    let newest = view.newest.version.as_ref();
    let created = newest.map(|version| version.created_ms);
    let aliases = view.labels.0.iter();
    let aliases: Vec<Value> = aliases
        .map(|(name, to)| json!({"alias": name, "version": heaviest(to).to_string()}))
        .collect();
    let stored = StoredPrompt::read(&view.newest.content.text);
    Ok(json!({
        "name": name_of(&view.id),
        "creation_timestamp": created,
        "last_updated_timestamp": created,
        "description": newest.map_or("", |version| &version.message),
        "latest_versions": [],
        "aliases": aliases,
        "tags": tags(&[(IS_PROMPT, "true".to_owned())], stored.as_ref()),
    }))
}

/// Returns a version with its content.
pub(super) async fn version(
    call: &RequestContext,
    view: &PromptView<'_>,
    found: &ResolvedVersion,
) -> Result<Value, ApiError> {
    let stored = StoredPrompt::read(&found.content.text);
    let own = stored.as_ref().and_then(StoredPrompt::of_client);
    let said = match own {
        Some(said) => said,
        None => plain(client_fill::export_version(call, &view.id, found, Notation::Double).await?)?,
    };
    let version = found.version.as_ref();
    let number = version.map_or(1, |version| version.number);
    let labels = view.labels_of(number).await?;
    let own = [
        (IS_PROMPT, "true".to_owned()),
        (KIND, said.kind().to_owned()),
        (TEXT, text(said)?),
    ];
    Ok(json!({
        "name": name_of(&view.id),
        "version": number.to_string(),
        "creation_timestamp": version.map(|version| version.created_ms),
        "last_updated_timestamp": version.map(|version| version.created_ms),
        "user_id": version.map(|version| &*version.author),
        "description": version.map_or("", |version| &version.message),
        "current_stage": "None",
        "source": "prompt-template",
        "run_id": "",
        "status": "READY",
        "aliases": labels,
        "tags": tags(&own, stored.as_ref()),
    }))
}

fn tags(own: &[(&str, String)], stored: Option<&StoredPrompt>) -> Vec<Value> {
    let tag = |key: &str, value: &str| json!({"key": key, "value": value});
    let mut all: Vec<Value> = own.iter().map(|(key, value)| tag(key, value)).collect();
    let kept = stored.and_then(|stored| stored.metadata(TAGS)?.as_object());
    let kept = kept.into_iter().flat_map(Map::iter);
    all.extend(kept.filter_map(|(key, value)| Some(tag(key, value.as_str()?))));
    all
}

/// Rejects content that MLflow's client would read as Jinja, if another client wrote it.
fn plain(said: PromptBody) -> Result<PromptBody, ApiError> {
    let texts: Vec<&str> = match &said {
        PromptBody::Text(text) => vec![text],
        PromptBody::Chat(turns) => turns
            .iter()
            .filter_map(|turn| match turn {
                PromptMessage::Message { content, .. } => Some(content.as_str()),
                PromptMessage::Placeholder(_) => None,
            })
            .collect(),
    };
    if texts.iter().any(|text| text.contains(STATEMENT)) {
        let message =
            format!("the text contains {STATEMENT}, which MLflow's client reads as Jinja");
        return Err(problem(ErrorCode::DoorInexact, message));
    }
    Ok(said)
}

fn text(said: PromptBody) -> Result<String, ApiError> {
    let turns = match said {
        PromptBody::Text(text) => return Ok(text),
        PromptBody::Chat(turns) => turns,
    };
    let mut messages = Vec::with_capacity(turns.len());
    for turn in turns {
        match turn {
            PromptMessage::Message { role, content } => {
                messages.push(json!({"role": role, "content": content}));
            }
            PromptMessage::Placeholder(name) => {
                let message =
                    format!("MLflow's client cannot fill in the message placeholder {name}");
                return Err(problem(ErrorCode::DoorInexact, message));
            }
        }
    }
    Ok(Value::from(messages).to_string())
}
