//! Parses requests in OpenAI's formats, with errors that name the invalid member.

use axum::BoxError;
use axum::body::{Bytes, HttpBody};
use quillet_core::chat::{ChatRequest, ModelError};
use quillet_core::{ErrorCode, Map};
use quillet_llm::Protocol;
use serde_json::Value;

use super::prompt_reference::PromptReference;
use crate::api::body;
use crate::error::{ApiError, problem};
use crate::request_context::RequestContext;

/// A parsed request, without members that only this server uses.
#[derive(Debug)]
pub(super) struct ParsedRequest {
    pub(super) request: ChatRequest,
    /// Whether the response is a stream of events.
    pub(super) stream: bool,
    /// Whether the last event contains the usage.
    pub(super) include_usage: bool,
    /// Variables of a stored prompt that is the model. `variables` of the body override `metadata`.
    pub(super) variables: Map,
    /// A stored prompt in addition to the model.
    pub(super) prompted: Option<PromptReference>,
}

/// Reads the body as JSON.
pub(super) async fn json<B>(call: &RequestContext, body: B) -> Result<Value, ApiError>
where
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    tree(&bytes(call, body).await?)
}

/// Reads the body, which must not be empty.
pub(super) async fn bytes<B>(call: &RequestContext, body: B) -> Result<Bytes, ApiError>
where
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    let config = &call.app.config;
    // Agents have their own limit, and the target is unknown before the body is parsed, so the
    // larger limit applies.
    let most = match &call.app.agents {
        Some(agents) => agents.options().body_bytes.max(config.body_bytes),
        None => config.body_bytes,
    };
    let bytes = body::read(body, most, config.body_time).await?;
    if bytes.trim_ascii().is_empty() {
        return Err(problem(
            ErrorCode::InvalidJson,
            "missing body: expected JSON",
        ));
    }
    Ok(bytes)
}

/// Parses a body as a tree.
pub(super) fn tree(bytes: &[u8]) -> Result<Value, ApiError> {
    serde_json::from_slice(bytes).map_err(|error| {
        let message = format!("the body is not JSON: {error}");
        problem(ErrorCode::InvalidJson, message)
    })
}

/// Parses a body by the rules of a provider API. The member `said` may be missing if a prompt in
/// addition to the model provides messages.
pub(super) fn read(
    wire: &impl Protocol,
    mut json: Value,
    prompted: Option<PromptReference>,
    said: &str,
) -> Result<ParsedRequest, ApiError> {
    if let (Some(_), Some(members)) = (&prompted, json.as_object_mut()) {
        let said = members.entry(said).or_insert(Value::Null);
        if said.is_null() {
            *said = Value::Array(Vec::new());
        }
    }
    let stream = flag(&json, "stream")?;
    let include_usage = json
        .pointer("/stream_options/include_usage")
        .is_some_and(|wish| wish == true);
    let variables = variables(&mut json)?;
    let request = wire.read(&json).map_err(|error| refused(&error))?;
    Ok(ParsedRequest {
        request,
        stream,
        include_usage,
        variables,
        prompted,
    })
}

fn flag(json: &Value, name: &str) -> Result<bool, ApiError> {
    match json.get(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => {
            let message = format!("{name}: must be true or false");
            Err(problem(ErrorCode::InvalidType, message).with_param(name))
        }
    }
}

/// Removes the variables of a prompt, which must not be sent to a provider.
fn variables(json: &mut Value) -> Result<Map, ApiError> {
    let is_prompt = json
        .get("model")
        .and_then(Value::as_str)
        .is_some_and(|model| model.starts_with(super::target::PROMPT));
    let Some(members) = json.as_object_mut().filter(|_| is_prompt) else {
        return Ok(Map::default());
    };
    let mut all = serde_json::Map::new();
    for name in ["metadata", "variables"] {
        match members.shift_remove(name) {
            None | Some(Value::Null) => {}
            Some(Value::Object(given)) => all.extend(given),
            Some(_) => {
                let message = format!("{name}: must be an object of variables");
                return Err(problem(ErrorCode::InvalidType, message).with_param(name));
            }
        }
    }
    let value = |(name, value)| (name, quillet_core::Value::from(value));
    Ok(all.into_iter().map(value).collect())
}

/// Converts a parse error and names the invalid member.
pub(super) fn refused(error: &ModelError) -> ApiError {
    let place = place(&error.message);
    let answer = problem(ErrorCode::InvalidValue, error.message.clone());
    if place.is_empty() {
        answer
    } else {
        answer.with_param(place)
    }
}

/// Returns the path at the start of a parser's message, as in `messages[0]: role: …`.
fn place(message: &str) -> String {
    let is_name = |part: &&str| {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b"_[]".contains(&b);
        !part.is_empty() && part.bytes().all(allowed)
    };
    let (path, _) = message.rsplit_once(": ").unwrap_or_default();
    let parts: Vec<&str> = path.split(": ").take_while(is_name).collect();
    parts.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_the_path_before_the_cause() {
        let cases = [
            (
                "messages[0]: role: \"x\" is none of a, b",
                "messages[0].role",
            ),
            ("messages: must be a list of messages", "messages"),
            ("the body must be a JSON object", ""),
            ("temperature: invalid type: string", "temperature"),
        ];
        for (message, path) in cases {
            assert_eq!(place(message), path, "{message}");
        }
    }
}
