//! Encodes request bodies.

use std::collections::HashSet;

use quillet_core::chat::{ChatOptions, ChatRequest, ModelError, ToolChoice, ToolOffer};
use quillet_core::{Message, Role};
use serde_json::{Map, Value, json};

use super::blocks;
use super::caching;
use super::generation::takes_later_instructions;
use super::message::AnthropicMessage;
use super::schema::closed;
use super::thinking::{self, ThinkingRequest};
use crate::protocol::wire_name::ANTHROPIC as WIRE;
use crate::protocol::{native, unsupported};

/// Token limit of an answer if the request sets none; the API requires one.
const DEFAULT_MAX_TOKENS: u64 = 4096;

/// Members of `extra` that other fields of the request determine, or that only OpenAI's Responses
/// API has.
const OWN: [&str; 12] = [
    "betas",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "model",
    "output_config",
    "prompt_caching",
    "reasoning",
    "stream",
    "stream_options",
    "system",
    "text",
];

/// Returns the body of a request for a streamed answer.
pub(super) fn body(model: &str, request: &ChatRequest) -> Result<Value, ModelError> {
    let options = &request.options;
    check(options)?;
    let (mut system, mut turns) = conversation(model, &request.messages)?;
    let mut tools: Vec<Value> = options.tools.iter().filter_map(write_tool).collect();
    // Before the turns are converted to JSON, because the markers depend on the model's last turn.
    caching::mark(&options.extra, &mut tools, &mut system, &mut turns);

    let thinking = thinking_of(model, options, &turns);
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    body.insert(
        "max_tokens".to_owned(),
        max_tokens(options, thinking.budget).into(),
    );
    let turns: Vec<Value> = turns
        .into_iter()
        .map(AnthropicMessage::into_value)
        .collect();
    let lists = [("system", system), ("tools", tools), ("messages", turns)];
    for (name, list) in lists
        .into_iter()
        .filter(|(name, list)| *name == "messages" || !list.is_empty())
    {
        body.insert(name.to_owned(), list.into());
    }
    write_options(options, thinking, &mut body);
    let rest = options
        .extra
        .iter()
        .filter(|(key, _)| !OWN.contains(&key.as_str()));
    // Last, so translated options cannot overwrite `extra`; `stream` below is an exception.
    body.extend(rest.map(|(key, value)| (key.clone(), value.clone())));
    // This client only reads streams from Anthropic.
    body.insert("stream".to_owned(), true.into());
    Ok(body.into())
}

fn max_tokens(options: &ChatOptions, budget: u64) -> u64 {
    // `max_tokens` bounds thinking and answer together.
    asked_tokens(options).unwrap_or_else(|| DEFAULT_MAX_TOKENS.saturating_add(budget))
}

fn asked_tokens(options: &ChatOptions) -> Option<u64> {
    let newer = options.extra.get("max_completion_tokens");
    options.max_tokens.or_else(|| newer?.as_u64())
}

/// Returns the instructions and the alternating turns. Instructions between turns keep their
/// position if the model supports that; otherwise they are added to the other instructions.
fn conversation(
    model: &str,
    messages: &[Message],
) -> Result<(Vec<Value>, Vec<AnthropicMessage>), ModelError> {
    let mut system = Vec::new();
    let mut turns: Vec<AnthropicMessage> = Vec::new();
    let mut calls = HashSet::new();
    for (at, message) in messages.iter().enumerate() {
        calls.extend(message.tool_calls.iter().map(|call| call.id.as_str()));
        let written = blocks::write(message, at)?;
        match message.role {
            Role::System | Role::Developer if stays(model, message, &turns) => {
                turn("system", &mut turns).blocks.extend(written);
            }
            Role::System | Role::Developer => system.extend(written),
            Role::Assistant if !written.is_empty() => {
                turn("assistant", &mut turns).blocks.extend(written);
            }
            Role::User if !written.is_empty() => turn("user", &mut turns).blocks.extend(written),
            // The API rejects messages without content.
            Role::Assistant | Role::User => {}
            Role::Tool => {
                check_call(message, at, &calls)?;
                // Anthropic has no tool role: results are blocks of the next user message.
                turn("user", &mut turns).results.extend(written);
            }
        }
    }
    Ok((system, turns))
}

/// Returns the last turn if it has this role, or a new one.
fn turn<'a>(role: &'static str, turns: &'a mut Vec<AnthropicMessage>) -> &'a mut AnthropicMessage {
    let last = turns.pop_if(|last| last.role == role);
    turns.push_mut(last.unwrap_or(AnthropicMessage {
        role,
        results: Vec::new(),
        blocks: Vec::new(),
    }))
}

/// Whether an instruction keeps its position between turns. The provider accepts it only after a
/// user turn; an instruction that came from this API always keeps its position.
fn stays(model: &str, message: &Message, turns: &[AnthropicMessage]) -> bool {
    let Some(last) = turns.last() else {
        return false;
    };
    let after_user = matches!(last.role, "user" | "system");
    native(message, WIRE).is_some() || (after_user && takes_later_instructions(model))
}

fn check_call(message: &Message, at: usize, calls: &HashSet<&str>) -> Result<(), ModelError> {
    let id = message.tool_call_id.as_deref().unwrap_or_default();
    if calls.contains(id) {
        return Ok(());
    }
    let cause = format!("no earlier message has a call with the id {id:?}");
    Err(unsupported(&format!("messages[{at}].tool_call_id"), &cause))
}

fn write_tool(tool: &ToolOffer) -> Option<Value> {
    let (name, description, parameters, strict, extra) = match tool {
        ToolOffer::Native(native) => return is_own_tool(native).then(|| native.clone()),
        ToolOffer::Function {
            name,
            description,
            parameters,
            strict,
            extra,
        } => (name, description, parameters, strict, extra),
    };
    // `input_schema` is required even for a function without parameters.
    let schema = if parameters.is_null() {
        json!({"type": "object", "properties": {}})
    } else {
        parameters.clone()
    };
    let mut tool = json!({"name": name, "input_schema": schema});
    if !description.is_empty() {
        tool["description"] = json!(description);
    }
    if let Some(strict) = strict {
        tool["strict"] = json!(strict);
    }
    for (key, value) in extra {
        tool[key] = value.clone();
    }
    Some(tool)
}

/// Anthropic's tools have a schema, or a date in their type (`web_search_20250305`).
fn is_own_tool(tool: &Value) -> bool {
    let kind = tool.get("type").and_then(Value::as_str).unwrap_or_default();
    let date = kind.rsplit_once('_').map_or("", |(_, date)| date);
    let has_date = date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit());
    has_date || kind == "mcp_toolset" || tool.get("input_schema").is_some()
}

/// Rejects options that the API cannot express.
fn check(options: &ChatOptions) -> Result<(), ModelError> {
    if options.n.is_some_and(|n| n > 1) {
        let cause = "anthropic returns one answer per request; send another request";
        return Err(unsupported("n", cause));
    }
    if options.wants_json() && options.json_schema().is_none() {
        let cause =
            "anthropic has no JSON mode without a schema; send {\"type\": \"json_schema\", …}";
        return Err(unsupported("response_format", cause));
    }
    Ok(())
}

fn write_options(options: &ChatOptions, thinking: ThinkingRequest, body: &mut Map<String, Value>) {
    let user = options.user.as_ref().map(|user| json!({"user_id": user}));
    let stop = options.stop.as_ref().map(|stop| match stop {
        // The API accepts only lists.
        Value::String(_) => json!([stop]),
        list => list.clone(),
    });
    let members = [
        ("temperature", options.temperature.map(Value::from)),
        ("top_p", options.top_p.map(Value::from)),
        ("stop_sequences", stop),
        ("metadata", user),
        ("tool_choice", tool_choice(options)),
        ("thinking", thinking.thinking),
        ("output_config", output_config(options, thinking.effort)),
    ];
    let members = members.into_iter();
    body.extend(members.filter_map(|(name, value)| Some((name.to_owned(), value?))));
}

fn output_config(options: &ChatOptions, effort: Option<String>) -> Option<Value> {
    let mut config = match options.extra.get("output_config") {
        Some(Value::Object(config)) => config.clone(),
        _ => Map::new(),
    };
    if let Some(effort) = effort.filter(|_| !config.contains_key("effort")) {
        config.insert("effort".to_owned(), effort.into());
    }
    if let Some(format) = options.json_schema() {
        let format = json!({"type": "json_schema", "schema": closed(format.schema)});
        config.insert("format".to_owned(), format);
    }
    (!config.is_empty()).then(|| config.into())
}

fn tool_choice(options: &ChatOptions) -> Option<Value> {
    // The provider rejects a tool choice without tools.
    if options.tools.is_empty() {
        return None;
    }
    // `tool_choice` contains this switch in Anthropic's API, so it is added even if the request has
    // none.
    let one_by_one = options.parallel_tool_calls == Some(false);
    let mut choice = match &options.tool_choice {
        None if one_by_one => json!({"type": "auto"}),
        None => return None,
        Some(ToolChoice::Auto) => json!({"type": "auto"}),
        Some(ToolChoice::None) => return Some(json!({"type": "none"})),
        Some(ToolChoice::Required) => json!({"type": "any"}),
        Some(ToolChoice::Named(name)) => json!({"type": "tool", "name": name}),
        // A native choice without a type belongs to another provider.
        Some(ToolChoice::Native(native)) => native.get("type").map(|_| native.clone())?,
    };
    if one_by_one {
        choice["disable_parallel_tool_use"] = true.into();
    }
    Some(choice)
}

/// Converts `reasoning_effort`; `extra.thinking` takes precedence.
fn thinking_of(model: &str, options: &ChatOptions, turns: &[AnthropicMessage]) -> ThinkingRequest {
    let Some(effort) = options.reasoning_effort.as_deref() else {
        return ThinkingRequest::default();
    };
    // The provider rejects a forced call combined with thinking.
    let is_forced = tool_choice(options).is_some_and(|choice| {
        let kind = blocks::kind(&choice);
        matches!(kind, "any" | "tool")
    });
    if is_forced || options.extra.contains_key("thinking") {
        return ThinkingRequest::default();
    }
    let thinking = thinking::of_effort(model, effort, asked_tokens(options));
    // With a thinking budget, a turn with open calls must start with a thinking block. A turn from
    // another provider has no such block, so thinking is disabled.
    if thinking.budget > 0 && is_in_thoughtless_calls(turns) {
        return ThinkingRequest::default();
    }
    thinking
}

fn is_in_thoughtless_calls(turns: &[AnthropicMessage]) -> bool {
    let [.., calls, results] = turns else {
        return false;
    };
    let first = calls.blocks.first().map(blocks::kind).unwrap_or_default();
    calls.role == "assistant"
        && !results.results.is_empty()
        && !matches!(first, "thinking" | "redacted_thinking")
}
