//! Writing a `generateContent` request: a conversation becomes `contents`, options become
//! `generationConfig`.

use std::collections::HashMap;

use quillet_core::chat::{ChatOptions, ChatRequest, ModelError, ToolChoice, ToolOffer};
use quillet_core::{Message, Role};
use serde_json::{Map, Value, json};

use super::generation::{is_strict, thinking};
use super::parts::{self, FunctionCallRef};
use crate::protocol::wire_name::GEMINI as WIRE;
use crate::protocol::{native, unsupported};

/// Replacement for a missing thought signature. Google documents it for histories from other
/// models; since generation 3 any other replacement is rejected.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Members of `extra` that other fields of the request determine, or that only OpenAI's Responses
/// API has.
const OWN: [&str; 10] = [
    "contents",
    "generationConfig",
    "max_completion_tokens",
    "messages",
    "model",
    "reasoning",
    "stream",
    "stream_options",
    "text",
    "toolConfig",
];

/// Members of `extra` that belong in `generationConfig`.
const GENERATION: [&str; 9] = [
    "imageConfig",
    "mediaResolution",
    "responseLogprobs",
    "responseModalities",
    "responseSchema",
    "seed",
    "speechConfig",
    "thinkingConfig",
    "topK",
];

/// Consecutive content of one role. Tool results form separate content, because their number must
/// equal the number of calls.
#[derive(Debug)]
struct GeminiContent {
    role: &'static str,
    is_results: bool,
    /// Each part with the number of the call that it answers, or 0.
    parts: Vec<(usize, Value)>,
}

impl GeminiContent {
    /// Tool results are sorted by call, because results without ids are matched by position.
    fn into_value(mut self) -> Value {
        // A stable sort, so several parts of one result keep their order.
        self.parts.sort_by_key(|&(call, _)| call);
        let parts: Vec<Value> = self.parts.into_iter().map(|(_, part)| part).collect();
        json!({"role": self.role, "parts": parts})
    }
}

/// Returns the body of a request.
pub(super) fn body(model: &str, request: &ChatRequest) -> Result<Value, ModelError> {
    let options = &request.options;
    let (system, mut turns) = conversation(model, &request.messages)?;
    if is_strict(model) {
        sign_calls(&mut turns);
    }
    let mut body = Map::new();
    let contents: Vec<Value> = turns.into_iter().map(GeminiContent::into_value).collect();
    body.insert("contents".to_owned(), contents.into());
    let system = (!system.is_empty()).then(|| json!({"parts": system}));
    let members = [
        ("systemInstruction", system),
        ("tools", tools(&options.tools)),
        ("toolConfig", tool_config(options)),
        ("generationConfig", generation_config(model, options)),
    ];
    let members = members
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    body.extend(members);
    let is_own = |key: &str| OWN.contains(&key) || GENERATION.contains(&key);
    let rest = options.extra.iter().filter(|(key, _)| !is_own(key));
    body.extend(rest.map(|(key, value)| (key.clone(), value.clone())));
    Ok(body.into())
}

/// Returns all instructions, wherever they occur, and the turns.
fn conversation(
    model: &str,
    messages: &[Message],
) -> Result<(Vec<Value>, Vec<GeminiContent>), ModelError> {
    let mut system = Vec::new();
    let mut turns: Vec<GeminiContent> = Vec::new();
    let mut calls: HashMap<&str, FunctionCallRef> = HashMap::new();
    let mut count = 0;
    for (at, message) in messages.iter().enumerate() {
        match message.role {
            Role::System | Role::Developer => system.extend(parts::write(message, at)?),
            Role::User => add("user", parts::write(message, at)?, &mut turns),
            Role::Assistant => {
                calls.extend(parts::calls(message, count));
                count += message.tool_calls.len();
                add("model", parts::write(message, at)?, &mut turns);
            }
            Role::Tool => result(message, at, &calls, is_strict(model), &mut turns)?,
        }
    }
    Ok((system, turns))
}

fn add(role: &'static str, parts: Vec<Value>, turns: &mut Vec<GeminiContent>) {
    if !parts.is_empty() {
        let parts = parts.into_iter().map(|part| (0, part));
        turn(role, false, turns).parts.extend(parts);
    }
}

fn result(
    message: &Message,
    at: usize,
    calls: &HashMap<&str, FunctionCallRef>,
    takes_media: bool,
    turns: &mut Vec<GeminiContent>,
) -> Result<(), ModelError> {
    let id = message.tool_call_id.as_deref().unwrap_or_default();
    let call = calls.get(id);
    if let Some(own) = native(message, WIRE) {
        // A result without a known call comes last. It came from this provider, which can match it
        // to its call.
        let number = call.map_or(usize::MAX, |call| call.number);
        let own = own.iter().map(|part| (number, part.clone()));
        turn("user", true, turns).parts.extend(own);
        return Ok(());
    }
    let Some(call) = call else {
        let cause = format!("no earlier message has a call with the id {id:?}");
        return Err(unsupported(&format!("messages[{at}].tool_call_id"), &cause));
    };
    let (part, media) = parts::write_result(message, at, call, takes_media)?;
    turn("user", true, turns).parts.push((call.number, part));
    add("user", media, turns);
    Ok(())
}

/// Returns the last content if it has this role and kind, or a new one.
fn turn<'a>(
    role: &'static str,
    is_results: bool,
    turns: &'a mut Vec<GeminiContent>,
) -> &'a mut GeminiContent {
    let last = turns.pop_if(|last| last.role == role && last.is_results == is_results);
    turns.push_mut(last.unwrap_or(GeminiContent {
        role,
        is_results,
        parts: Vec::new(),
    }))
}

/// Adds a signature to the first call of each step of the current turn, unless it has one. The
/// current turn is everything after the last user message.
fn sign_calls(turns: &mut [GeminiContent]) {
    let is_said = |turn: &&mut GeminiContent| turn.role != "user" || turn.is_results;
    // The provider checks only the current turn; older turns need no signature.
    let steps = turns.iter_mut().rev().take_while(is_said);
    for step in steps.filter(|turn| turn.role == "model") {
        let call = step
            .parts
            .iter_mut()
            .find(|(_, part)| part.get("functionCall").is_some());
        if let Some((_, call)) = call.filter(|(_, call)| call.get("thoughtSignature").is_none()) {
            // Only the first of several parallel calls has a signature.
            call["thoughtSignature"] = json!(NO_SIGNATURE);
        }
    }
}

fn tools(offers: &[ToolOffer]) -> Option<Value> {
    let declarations: Vec<Value> = offers.iter().filter_map(declaration).collect();
    let declarations =
        (!declarations.is_empty()).then(|| json!({"functionDeclarations": declarations}));
    let own = offers.iter().filter_map(|offer| match offer {
        // Tools of other providers have a type; Gemini's tools are identified by a member name.
        ToolOffer::Native(native) if native.is_object() && native.get("type").is_none() => {
            Some(native.clone())
        }
        _ => None,
    });
    let tools: Vec<Value> = declarations.into_iter().chain(own).collect();
    (!tools.is_empty()).then(|| tools.into())
}

fn declaration(offer: &ToolOffer) -> Option<Value> {
    let ToolOffer::Function {
        name,
        description,
        parameters,
        ..
    } = offer
    else {
        return None;
    };
    let mut declaration = json!({"name": name, "description": description});
    if !parameters.is_null() {
        // `parameters` is not used, because it accepts only a subset of OpenAPI schemas.
        declaration["parametersJsonSchema"] = parameters.clone();
    }
    Some(declaration)
}

fn tool_config(options: &ChatOptions) -> Option<Value> {
    let calling = match &options.tool_choice {
        None => None,
        Some(ToolChoice::Auto) => Some(json!({"mode": "AUTO"})),
        Some(ToolChoice::None) => Some(json!({"mode": "NONE"})),
        Some(ToolChoice::Required) => Some(json!({"mode": "ANY"})),
        Some(ToolChoice::Named(name)) => {
            Some(json!({"mode": "ANY", "allowedFunctionNames": [name]}))
        }
        // A native choice without a mode belongs to another provider.
        Some(ToolChoice::Native(native)) => native.get("mode").map(|_| native.clone()),
    };
    let mut config = match options.extra.get("toolConfig") {
        Some(Value::Object(config)) => config.clone(),
        _ => Map::new(),
    };
    if let Some(calling) = calling.filter(|_| !options.tools.is_empty()) {
        config.insert("functionCallingConfig".to_owned(), calling);
    }
    (!config.is_empty()).then(|| config.into())
}

/// Returns the members of `generationConfig` that the request sets natively.
fn own_config(extra: &Map<String, Value>) -> Map<String, Value> {
    let mut config = match extra.get("generationConfig") {
        Some(Value::Object(config)) => config.clone(),
        _ => Map::new(),
    };
    let given = extra.iter();
    let given = given.filter(|(key, _)| GENERATION.contains(&key.as_str()));
    config.extend(given.map(|(key, value)| (key.clone(), value.clone())));
    config
}

fn generation_config(model: &str, options: &ChatOptions) -> Option<Value> {
    let mut config = own_config(&options.extra);
    let newer = options.extra.get("max_completion_tokens");
    let max_tokens = options.max_tokens.or_else(|| newer?.as_u64());
    let stop = options.stop.as_ref().map(|stop| match stop {
        Value::String(_) => json!([stop]),
        list => list.clone(),
    });
    let effort = options.reasoning_effort.as_deref();
    let effort = effort.filter(|_| !config.contains_key("thinkingConfig"));
    let thinking = effort.and_then(|effort| thinking(model, effort));
    let schema = options.json_schema().map(|format| format.schema.clone());
    let media_type = options.wants_json().then(|| json!("application/json"));
    let members = [
        ("temperature", options.temperature.map(Value::from)),
        ("topP", options.top_p.map(Value::from)),
        ("maxOutputTokens", max_tokens.map(Value::from)),
        ("presencePenalty", options.presence_penalty.map(Value::from)),
        (
            "frequencyPenalty",
            options.frequency_penalty.map(Value::from),
        ),
        ("candidateCount", options.n.map(Value::from)),
        ("stopSequences", stop),
        ("responseMimeType", media_type),
        ("responseJsonSchema", schema),
        ("thinkingConfig", thinking),
    ];
    let members = members.into_iter();
    config.extend(members.filter_map(|(name, value)| Some((name.to_owned(), value?))));
    (!config.is_empty()).then(|| config.into())
}
