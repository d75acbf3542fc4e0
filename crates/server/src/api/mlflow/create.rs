//! Creates prompts of the registry.

use axum::extract::Request;
use axum::response::Response;
use quillet_core::ErrorCode;
use quillet_core::history::DefinitionContent;
use quillet_core::store::EntryKind;
use quillet_host::definitions::Write;
use serde_json::{Map, Value, json};

use super::answer::{self, IS_PROMPT, KIND, STATEMENT, TAGS, TEXT};
use crate::api::client_fill::{
    self, MUSTACHE, PromptBody, PromptMessage, PromptView, StoredPrompt, VersionRequest,
};
use crate::api::{body as bytes, json_body};
use crate::error::{ApiError, problem};
use crate::request_context::RequestContext;

/// The tag with the model and its options.
const MODEL: &str = "_mlflow_prompt_model_config";

/// The Jinja format of MLflow's client.
const JINJA: &str = "jinja-plain";

/// The JSON object in a request body.
pub(super) struct JsonObjectBody(Map<String, Value>);

/// Reads the body of a request.
///
/// # Errors
/// Fails if the body is not a JSON object.
pub(super) async fn body(
    call: &RequestContext,
    request: Request,
) -> Result<JsonObjectBody, ApiError> {
    let config = &call.app.config;
    let bytes = bytes::read(request.into_body(), config.body_bytes, config.body_time).await?;
    serde_json::from_slice(&bytes)
        .map(JsonObjectBody)
        .map_err(|error| {
            let message = format!("the body must be a JSON object: {error}");
            problem(ErrorCode::DoorRequest, message)
        })
}

impl JsonObjectBody {
    /// Returns a required member, which is a string or a number.
    pub(super) fn text(&self, name: &str) -> Result<String, ApiError> {
        match self.0.get(name) {
            Some(Value::String(text)) if !text.is_empty() => Ok(text.clone()),
            Some(Value::Number(number)) => Ok(number.to_string()),
            _ => Err(wrong(format!("{name}: expected a string"))),
        }
    }

    fn tags(&self) -> Result<Map<String, Value>, ApiError> {
        let tags = match self.0.get("tags") {
            None | Some(Value::Null) => return Ok(Map::new()),
            Some(Value::Array(tags)) => tags,
            Some(_) => return Err(wrong("tags: expected a list".to_owned())),
        };
        let tag = |tag: &Value| {
            let text = |name: &str| tag.get(name).and_then(Value::as_str);
            Some((text("key")?.to_owned(), text("value")?.into()))
        };
        let tags = tags.iter().map(tag).collect::<Option<_>>();
        tags.ok_or_else(|| wrong("tags: each must have key and value, both strings".to_owned()))
    }
}

/// `registered-models/create`: stores nothing, because a prompt exists from its first version on,
/// which the client creates next.
pub(super) async fn model(call: RequestContext, request: Request) -> Result<Response, ApiError> {
    let body = body(&call, request).await?;
    let name = body.text("name")?;
    let id = client_fill::known_id(&call, &name)?;
    if !body.tags()?.contains_key(IS_PROMPT) {
        let message = "only prompts can be registered, and this model is not a prompt";
        return Err(wrong(message.to_owned()));
    }
    if PromptView::of(&call, &id).await.is_ok() {
        return Err(wrong(format!("the prompt {name} already exists")));
    }
    let tags = body.0.get("tags").cloned().unwrap_or_default();
    json_body(&json!({"registered_model": {"name": name, "tags": tags}}))
}

/// `registered-models/set-tag`: does nothing. The tags of a prompt are those of its newest version,
/// and clients set them just before they create a version with the same tags.
pub(super) async fn tag(call: RequestContext, request: Request) -> Result<Response, ApiError> {
    let body = body(&call, request).await?;
    body.text("key")?;
    let id = client_fill::known_id(&call, &body.text("name")?)?;
    PromptView::of(&call, &id).await?;
    json_body(&json!({}))
}

/// `model-versions/create`: creates a version.
pub(super) async fn version(call: RequestContext, request: Request) -> Result<Response, ApiError> {
    let body = body(&call, request).await?;
    let name = body.text("name")?;
    let id = client_fill::known_id(&call, &name)?;
    let mut tags = body.tags()?;
    let said = prompt_body(&mut tags)?;
    tags.shift_remove(IS_PROMPT);
    // MLflow's client detects the format from the text, so do the same.
    let format = if is_jinja(&said) { JINJA } else { MUSTACHE };
    let mut stored = StoredPrompt::from_body(&said, format, (id != name).then_some(&name));
    copy_model_options(&mut stored, &tags);
    if !tags.is_empty() {
        stored.set_metadata(TAGS, tags.into());
    }
    let message = body.text("description").unwrap_or_default();
    let write = Write {
        content: DefinitionContent::new(stored.to_text()),
        message: &message,
        always: true,
        // The client fills in the text itself, so the text need not be a valid template here.
        broken: true,
        ..Write::new(EntryKind::Prompt, &id, "")
    };
    let definitions = &call.app.definitions;
    let written = definitions.write(&call.actor(), write).await?;
    let view = PromptView::of(&call, &id).await?;
    let wish = VersionRequest::Number(written.committed.version.number);
    let found = view.find(wish).await?;
    let found = found.ok_or_else(|| {
        problem(
            ErrorCode::HistoryVersion,
            "the version was deleted in the meantime",
        )
    })?;
    json_body(&json!({"model_version": answer::version(&call, &view, &found).await?}))
}

/// Returns the content of a prompt from the tags of a version.
fn prompt_body(tags: &mut Map<String, Value>) -> Result<PromptBody, ApiError> {
    let kind = tags.shift_remove(KIND).unwrap_or_else(|| "text".into());
    let text = match tags.shift_remove(TEXT) {
        Some(Value::String(text)) => text,
        _ => {
            return Err(wrong(format!(
                "tags: {TEXT} is missing: only prompts can be registered"
            )));
        }
    };
    match kind.as_str() {
        Some("text") => Ok(PromptBody::Text(text)),
        Some("chat") => chat(&text).ok_or_else(|| {
            wrong(format!(
                "tags: {TEXT} must be a list of messages with role and content, both strings"
            ))
        }),
        _ => Err(wrong(format!("tags: {KIND} must be text or chat"))),
    }
}

fn chat(text: &str) -> Option<PromptBody> {
    let turns: Vec<Value> = serde_json::from_str(text).ok()?;
    let turn = |turn: &Value| {
        let text = |name: &str| turn.get(name).and_then(Value::as_str).map(str::to_owned);
        let (role, content) = (text("role")?, text("content")?);
        Some(PromptMessage::Message { role, content })
    };
    turns
        .iter()
        .map(turn)
        .collect::<Option<_>>()
        .map(PromptBody::Chat)
}

fn is_jinja(said: &PromptBody) -> bool {
    match said {
        PromptBody::Text(text) => text.contains(STATEMENT),
        PromptBody::Chat(turns) => turns.iter().any(|turn| match turn {
            PromptMessage::Message { content, .. } => content.contains(STATEMENT),
            PromptMessage::Placeholder(_) => false,
        }),
    }
}

/// Copies the model from the tags, and the temperature and token limit, which every model supports.
fn copy_model_options(stored: &mut StoredPrompt, tags: &Map<String, Value>) {
    let config = tags.get(MODEL).and_then(Value::as_str);
    let config: Option<Value> = config.and_then(|text| serde_json::from_str(text).ok());
    let Some(config) = config else {
        return;
    };
    let model = config.get("model_name").and_then(Value::as_str);
    let options = ["temperature", "top_p", "max_tokens"].into_iter();
    let options = options.filter_map(|name| {
        let value = config.get(name).filter(|value| value.is_number())?;
        Some((name.to_owned(), value.clone()))
    });
    stored.set_model(model, options.collect());
}

fn wrong(message: String) -> ApiError {
    problem(ErrorCode::DoorRequest, message)
}
