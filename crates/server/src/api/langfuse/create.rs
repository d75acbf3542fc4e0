//! `POST /api/public/v2/prompts`: creates a version of a prompt, possibly its first.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use quillet_core::ErrorCode;
use quillet_core::history::{DefinitionContent, LATEST};
use quillet_core::store::EntryKind;
use quillet_host::definitions::Write;
use serde_json::{Map, Value, json};

use super::answer;
use super::compose::compose;
use crate::api::client_fill::{
    self, MUSTACHE, PromptBody, PromptMessage, PromptView, StoredPrompt,
};
use crate::api::{body, json_body};
use crate::error::{ApiError, problem};
use crate::request_context::RequestContext;

/// Options in `config` that this server supports as well.
const OPTIONS: [&str; 4] = ["temperature", "top_p", "max_tokens", "stop"];

/// The version that a client wants to create.
struct CreatePromptRequest {
    name: String,
    said: PromptBody,
    labels: Vec<String>,
    tags: Option<Vec<String>>,
    config: Value,
    message: String,
}

/// Creates a version.
pub(super) async fn create(call: RequestContext, request: Request) -> Result<Response, ApiError> {
    let wanted = parse_request(&object(&call, request).await?)?;
    let CreatePromptRequest {
        name,
        said,
        labels,
        tags,
        config,
        message,
    } = &wanted;
    let id = client_fill::known_id(&call, name)?;
    let before = match PromptView::of(&call, &id).await {
        Ok(view) => StoredPrompt::read(&view.newest.content.text),
        Err(error) if error.code() == ErrorCode::NotFound => None,
        Err(error) => return Err(error),
    };
    if before
        .as_ref()
        .is_some_and(|before| before.kind() != said.kind())
    {
        let message = "Previous versions have different prompt type. Create a new prompt with a different name.";
        return Err(problem(ErrorCode::DoorRequest, message));
    }
    // Resolve the references first, so that a prompt with missing references is not written.
    compose(&call, name, said.clone()).await?;
    let mut stored = StoredPrompt::from_body(said, MUSTACHE, (id != *name).then_some(name));
    let tags = tags.clone().or(before.as_ref().map(StoredPrompt::tags));
    stored.tag(&tags.unwrap_or_default());
    let model = config.get("model").and_then(Value::as_str);
    stored.set_model(model, options(config));
    stored.set_metadata("config", config.clone());
    let write = Write {
        content: DefinitionContent::new(stored.to_text()),
        message,
        // Langfuse creates a version even if nothing changed.
        always: true,
        labels,
        // The clients fill in the text themselves, so they accept invalid Mustache.
        broken: true,
        ..Write::new(EntryKind::Prompt, &id, "")
    };
    let definitions = &call.app.definitions;
    let written = definitions.write(&call.actor(), write).await?;
    let view = PromptView::of(&call, &id).await?;
    let number = written.committed.version.number;
    let wish = client_fill::VersionRequest::Number(number);
    let found = view.find(wish).await?;
    let found = found.ok_or_else(|| answer::not_found(name, wish))?;
    let answer = answer::prompt(&view, &found, said, Value::Null).await?;
    Ok((StatusCode::CREATED, json_body(&answer)?).into_response())
}

/// Reads the body as a JSON object.
///
/// # Errors
/// Fails if the body is not a JSON object.
pub(super) async fn object(
    call: &RequestContext,
    request: Request,
) -> Result<Map<String, Value>, ApiError> {
    let config = &call.app.config;
    let bytes = body::read(request.into_body(), config.body_bytes, config.body_time).await?;
    serde_json::from_slice(&bytes).map_err(|error| {
        let message = format!("the body must be a JSON object: {error}");
        problem(ErrorCode::DoorRequest, message).with_param("body")
    })
}

/// Returns the valid model options in `config`, which may contain anything.
fn options(config: &Value) -> Map<String, Value> {
    let mut options = Map::new();
    for name in OPTIONS {
        let Some(value) = config.get(name) else {
            continue;
        };
        let alone: Map<String, Value> = [(name.to_owned(), value.clone())].into_iter().collect();
        if quillet_prompt::file::chat_options(&alone).is_ok() {
            options.extend(alone);
        }
    }
    options
}

fn parse_request(body: &Map<String, Value>) -> Result<CreatePromptRequest, ApiError> {
    let name = text(body, "name")?.filter(|name| !name.trim().is_empty());
    let name = name.ok_or_else(|| wrong("name", "expected a string"))?;
    let mut labels = texts(body, "labels")?.unwrap_or_default();
    labels.retain(|label| label != LATEST);
    labels.dedup();
    Ok(CreatePromptRequest {
        name: name.to_owned(),
        said: prompt_body(body)?,
        labels,
        tags: texts(body, "tags")?,
        config: match body.get("config") {
            None | Some(Value::Null) => json!({}),
            Some(config) => config.clone(),
        },
        message: text(body, "commitMessage")?.unwrap_or_default().to_owned(),
    })
}

fn prompt_body(body: &Map<String, Value>) -> Result<PromptBody, ApiError> {
    let prompt = body.get("prompt").unwrap_or(&Value::Null);
    match (text(body, "type")?.unwrap_or("text"), prompt) {
        ("text", Value::String(text)) => Ok(PromptBody::Text(text.clone())),
        ("text", _) => Err(wrong("prompt", "expected a string when type is text")),
        ("chat", Value::Array(turns)) => {
            let turns: Result<Vec<PromptMessage>, ApiError> = turns.iter().map(turn).collect();
            let turns = turns?;
            distinct(&turns)?;
            Ok(PromptBody::Chat(turns))
        }
        ("chat", _) => Err(wrong(
            "prompt",
            "expected a list of messages when type is chat",
        )),
        _ => Err(wrong("type", "must be text or chat")),
    }
}

fn turn(turn: &Value) -> Result<PromptMessage, ApiError> {
    let text = |name: &str| turn.get(name).and_then(Value::as_str).map(str::to_owned);
    if text("type").as_deref() == Some("placeholder") {
        let name = text("name").filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| wrong("prompt", "a placeholder must have a name"))?;
        return Ok(PromptMessage::Placeholder(name));
    }
    match (text("role"), text("content")) {
        (Some(role), Some(content)) => Ok(PromptMessage::Message { role, content }),
        _ => Err(wrong(
            "prompt",
            "a message must have role and content, both strings",
        )),
    }
}

/// Rejects names that are both a variable and a placeholder.
fn distinct(turns: &[PromptMessage]) -> Result<(), ApiError> {
    let mut variables = Vec::new();
    for turn in turns {
        if let PromptMessage::Message { content, .. } = turn {
            let parts = content.split("{{").skip(1);
            let names = parts.filter_map(|part| Some(part.split_once("}}")?.0.trim()));
            variables.extend(names);
        }
    }
    let both = turns.iter().filter_map(|turn| match turn {
        PromptMessage::Placeholder(name) if variables.contains(&name.as_str()) => {
            Some(name.as_str())
        }
        _ => None,
    });
    let both: Vec<&str> = both.collect();
    if both.is_empty() {
        return Ok(());
    }
    let message = format!(
        "Cannot create prompt, variables and placeholders must be unique, the following are not: {}",
        both.join(", ")
    );
    Err(problem(ErrorCode::DoorRequest, message))
}

/// Returns an optional string member.
fn text<'b>(body: &'b Map<String, Value>, name: &str) -> Result<Option<&'b str>, ApiError> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(wrong(name, "expected a string")),
    }
}

/// Returns an optional member with a list of strings.
///
/// # Errors
/// Fails if the member has another type.
pub(super) fn texts(
    body: &Map<String, Value>,
    name: &str,
) -> Result<Option<Vec<String>>, ApiError> {
    let wanted = || wrong(name, "expected a list of strings");
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(items)) => {
            let item = |item: &Value| item.as_str().map(str::to_owned).ok_or_else(wanted);
            items.iter().map(item).collect::<Result<_, _>>().map(Some)
        }
        Some(_) => Err(wanted()),
    }
}

/// Returns the error for an invalid member.
pub(super) fn wrong(member: &str, why: &str) -> ApiError {
    problem(ErrorCode::DoorRequest, format!("{member}: {why}")).with_param(member)
}
