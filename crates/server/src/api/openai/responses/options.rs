//! Members of a Responses request that are for this server and not for the model, such as `store`,
//! `previous_response_id` and members that the response repeats.

use quillet_core::ErrorCode;
use serde_json::{Map, Value, json};

use super::super::prompt_reference::PromptReference;
use crate::error::{ApiError, problem};

/// Returns the members that the response repeats, with OpenAI's defaults.
fn repeated() -> Map<String, Value> {
    let defaults = json!({
        "instructions": null,
        "max_output_tokens": null,
        "max_tool_calls": null,
        "metadata": {},
        "model": null,
        "parallel_tool_calls": true,
        "previous_response_id": null,
        "reasoning": {"effort": null, "summary": null},
        "temperature": null,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": null,
        "truncation": "disabled",
        "user": null,
    });
    match defaults {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// Members that only this server uses.
const OURS: [&str; 6] = [
    "include",
    "store",
    "previous_response_id",
    "truncation",
    "background",
    "conversation",
];

/// Options of a request for this server.
#[derive(Debug)]
pub(super) struct ResponseOptions {
    /// Members that the response repeats.
    pub(super) repeated: Map<String, Value>,
    /// The id of the response to continue.
    pub(super) previous: Option<String>,
    /// Whether to store the response. The default is true, like OpenAI's.
    pub(super) store: bool,
    /// Whether the response also contains the turn in its provider's format.
    pub(super) with_native: bool,
    /// Whether the first message contains the instructions.
    pub(super) has_instructions: bool,
}

impl ResponseOptions {
    /// Removes the options and the prompt reference from a body.
    pub(super) fn take(body: &mut Value) -> Result<(Self, Option<PromptReference>), ApiError> {
        let Some(members) = body.as_object_mut() else {
            let message = "the body must be a JSON object";
            return Err(problem(ErrorCode::InvalidType, message));
        };
        let says = |name: &str| members.get(name).is_some_and(|value| !value.is_null());
        if says("conversation") {
            return Err(unsupported("conversation", "send previous_response_id"));
        }
        if members.get("background") == Some(&Value::Bool(true)) {
            return Err(unsupported("background", "request a stream"));
        }
        let mut repeated = repeated();
        for (name, value) in &mut repeated {
            if let Some(given) = members.get(name).filter(|given| !given.is_null()) {
                *value = given.clone();
            }
        }
        if let Some(prompt) = members.get("prompt").filter(|prompt| !prompt.is_null()) {
            repeated.insert("prompt".into(), prompt.clone());
        }
        let wish = ResponseOptions {
            repeated,
            previous: text(members, "previous_response_id")?,
            store: members.get("store") != Some(&Value::Bool(false)),
            with_native: wants_native(members),
            has_instructions: says("instructions"),
        };
        // A prompt of this server gets its variables from the metadata.
        let is_prompt = text(members, "model")?.is_some_and(|model| model.starts_with("prompt/"));
        // Providers reject members that they do not know.
        for name in OURS.into_iter().chain((!is_prompt).then_some("metadata")) {
            members.shift_remove(name);
        }
        let prompted = PromptReference::of_response(members)?;
        Ok((wish, prompted))
    }
}

fn wants_native(members: &Map<String, Value>) -> bool {
    let include = members.get("include").and_then(Value::as_array);
    include.is_some_and(|list| {
        list.iter()
            .any(|wish| wish == "reasoning.encrypted_content")
    })
}

fn text(members: &Map<String, Value>, name: &str) -> Result<Option<String>, ApiError> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => {
            let message = format!("{name}: must be a string");
            Err(problem(ErrorCode::InvalidType, message).with_param(name))
        }
    }
}

fn unsupported(name: &str, instead: &str) -> ApiError {
    let message = format!("{name}: not supported; {instead}");
    problem(ErrorCode::UnsupportedParameter, message).with_param(name)
}
