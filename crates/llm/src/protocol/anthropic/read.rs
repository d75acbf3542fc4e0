//! Converts a request body into a neutral request. Content without a neutral form is stored in
//! `native` and `extra`, so encoding the request reproduces the body.

use quillet_core::chat::{ChatOptions, ChatRequest, ModelError, ToolChoice, ToolOffer};
use quillet_core::{Message, Role};
use serde_json::{Map, Value, json};

use super::blocks;
use crate::protocol::{member, unsupported};

pub(super) fn request(body: &Value) -> Result<ChatRequest, ModelError> {
    let Some(members) = body.as_object() else {
        return Err(unsupported("body", "must be an object"));
    };
    let mut options = ChatOptions::default();
    // The body already contains its cache markers.
    options
        .extra
        .insert("prompt_caching".to_owned(), false.into());
    for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
        option(name, value, &mut options)?;
    }
    let model = members.get("model").and_then(Value::as_str);
    Ok(ChatRequest {
        model: model.map(str::to_owned),
        messages: messages(members)?,
        options,
    })
}

fn messages(body: &Map<String, Value>) -> Result<Vec<Message>, ModelError> {
    let mut messages = Vec::new();
    if let Some(system) = body.get("system").filter(|system| !system.is_null()) {
        let blocks = blocks::read_list(Some(system));
        let blocks =
            blocks.ok_or_else(|| unsupported("system", "must be a string or a list of blocks"))?;
        messages.extend(blocks::read(Role::System, blocks));
    }
    let Some(turns) = body.get("messages").and_then(Value::as_array) else {
        return Err(unsupported("messages", "must be a list"));
    };
    for (at, turn) in turns.iter().enumerate() {
        messages.extend(read_turn(turn, at)?);
    }
    Ok(messages)
}

fn read_turn(turn: &Value, at: usize) -> Result<Vec<Message>, ModelError> {
    let role = match turn.get("role").and_then(Value::as_str) {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system") => Role::System,
        _ => {
            let cause = "must be \"user\", \"assistant\" or \"system\"";
            return Err(unsupported(&format!("messages[{at}].role"), cause));
        }
    };
    let Some(blocks) = blocks::read_list(turn.get("content")) else {
        let place = format!("messages[{at}].content");
        return Err(unsupported(&place, "must be a string or a list of blocks"));
    };
    Ok(match role {
        Role::System => vec![blocks::read_instruction(blocks)],
        _ => blocks::read(role, blocks),
    })
}

fn option(name: &str, value: &Value, options: &mut ChatOptions) -> Result<(), ModelError> {
    match name {
        "model" | "messages" | "system" | "stream" => {}
        "max_tokens" => options.max_tokens = Some(member(name, value)?),
        "temperature" => options.temperature = Some(member(name, value)?),
        "top_p" => options.top_p = Some(member(name, value)?),
        "stop_sequences" => options.stop = Some(value.clone()),
        "tools" => {
            let tools: Vec<Value> = member(name, value)?;
            options.tools = tools.into_iter().map(read_tool).collect();
        }
        "tool_choice" => read_choice(value, options),
        "metadata" => match value.as_object() {
            Some(members)
                if members.len() == 1 && value.get("user_id").is_some_and(Value::is_string) =>
            {
                options.user = value
                    .get("user_id")
                    .and_then(Value::as_str)
                    .map(str::to_owned);
            }
            _ => keep(name, value, options),
        },
        "output_config" => read_output(value, options),
        _ => keep(name, value, options),
    }
    Ok(())
}

fn keep(name: &str, value: &Value, options: &mut ChatOptions) {
    options.extra.insert(name.to_owned(), value.clone());
}

/// A tool that the neutral form cannot fully express is stored unchanged.
fn read_tool(tool: Value) -> ToolOffer {
    let is_common = |tool: &Map<String, Value>| {
        let known = ["name", "description", "input_schema", "strict"];
        let mut given = tool.iter().filter(|(_, value)| !value.is_null());
        given.all(|(key, value)| {
            known.contains(&key.as_str()) || (key == "type" && value == "custom")
        })
    };
    let schema = tool.get("input_schema").filter(|schema| !schema.is_null());
    let (Some(name), Some(schema)) = (tool.get("name").and_then(Value::as_str), schema) else {
        return ToolOffer::Native(tool);
    };
    if !tool.as_object().is_some_and(is_common) {
        return ToolOffer::Native(tool);
    }
    let description = tool.get("description").and_then(Value::as_str);
    ToolOffer::Function {
        name: name.to_owned(),
        description: description.unwrap_or_default().to_owned(),
        parameters: schema.clone(),
        strict: tool.get("strict").and_then(Value::as_bool),
        extra: Map::new(),
    }
}

fn read_choice(choice: &Value, options: &mut ChatOptions) {
    let name = choice.get("name").and_then(Value::as_str);
    options.tool_choice = Some(match (blocks::kind(choice), name) {
        ("auto", _) => ToolChoice::Auto,
        ("any", _) => ToolChoice::Required,
        ("none", _) => ToolChoice::None,
        ("tool", Some(name)) => ToolChoice::Named(name.to_owned()),
        _ => ToolChoice::Native(choice.clone()),
    });
    let one_by_one = choice
        .get("disable_parallel_tool_use")
        .and_then(Value::as_bool);
    options.parallel_tool_calls = one_by_one.map(|one_by_one| !one_by_one);
}

fn read_output(config: &Value, options: &mut ChatOptions) {
    let mut config = config.clone();
    let schema = config.pointer("/format/schema").cloned();
    if let (Some(schema), Some(members)) = (schema, config.as_object_mut()) {
        members.shift_remove("format");
        let format = json!({"name": "answer", "schema": schema});
        options.response_format = Some(json!({"type": "json_schema", "json_schema": format}));
    }
    if config.as_object().is_none_or(|members| !members.is_empty()) {
        keep("output_config", &config, options);
    }
}
