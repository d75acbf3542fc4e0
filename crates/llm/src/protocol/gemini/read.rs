//! Converts a request body into a neutral request. Content without a neutral form is stored in
//! `native` and `extra`, so encoding the request reproduces the body.

use std::collections::{HashMap, HashSet, VecDeque};

use quillet_core::chat::{ChatOptions, ChatRequest, ModelError, ToolChoice, ToolOffer};
use quillet_core::{Message, Role};
use serde_json::{Map, Value, json};

use super::parts::{self, string};
use crate::protocol::{member, unsupported};

pub(super) fn request(body: &Value) -> Result<ChatRequest, ModelError> {
    let Some(members) = body.as_object() else {
        return Err(unsupported("body", "must be an object"));
    };
    let mut options = ChatOptions::default();
    for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
        option(name, value, &mut options)?;
    }
    Ok(ChatRequest {
        model: None,
        messages: messages(members)?,
        options,
    })
}

fn messages(body: &Map<String, Value>) -> Result<Vec<Message>, ModelError> {
    let mut reader = Messages::default();
    if let Some(system) = body
        .get("systemInstruction")
        .filter(|system| !system.is_null())
    {
        let parts = list(system, "parts", "systemInstruction.parts")?;
        reader.add(Role::System, parts);
    }
    let Some(turns) = body.get("contents").and_then(Value::as_array) else {
        return Err(unsupported("contents", "must be a list"));
    };
    for (at, turn) in turns.iter().enumerate() {
        let role = match turn.get("role").and_then(Value::as_str) {
            Some("model") => Role::Assistant,
            Some("user" | "function") | None => Role::User,
            Some(_) => {
                let place = format!("contents[{at}].role");
                return Err(unsupported(&place, "must be \"user\" or \"model\""));
            }
        };
        let parts = list(turn, "parts", &format!("contents[{at}].parts"))?;
        reader.add(role, parts);
    }
    Ok(reader.messages)
}

fn list(value: &Value, key: &str, place: &str) -> Result<Vec<Value>, ModelError> {
    let parts = value.get(key).and_then(Value::as_array);
    let parts = parts.filter(|parts| parts.iter().all(Value::is_object));
    let parts = parts.ok_or_else(|| unsupported(place, "must be a list of objects"))?;
    Ok(parts.iter().map(parts::tidy).collect())
}

/// Messages converted so far. Calls may lack ids in this API, so missing ids are numbered.
#[derive(Default)]
struct Messages {
    messages: Vec<Message>,
    made: usize,
    /// Ids of calls without a result.
    open: HashSet<String>,
    /// Ids of all calls by name, starting with the first that may lack a result.
    by_name: HashMap<String, VecDeque<String>>,
}

impl Messages {
    fn add(&mut self, role: Role, parts: Vec<Value>) {
        let mut rest = Vec::new();
        for part in parts {
            if role == Role::User && part.get("functionResponse").is_some() {
                self.group(role, std::mem::take(&mut rest));
                let id = self.answered(part.get("functionResponse").unwrap_or(&Value::Null));
                self.messages.push(parts::read_result(part, id));
            } else {
                rest.push(part);
            }
        }
        self.group(role, rest);
    }

    fn group(&mut self, role: Role, parts: Vec<Value>) {
        if parts.is_empty() {
            return;
        }
        let made = &mut self.made;
        let message = parts::read(role, parts, || make_id(made));
        for call in &message.tool_calls {
            self.open.insert(call.id.clone());
            let same_name = self.by_name.entry(call.name.clone()).or_default();
            same_name.push_back(call.id.clone());
        }
        self.messages.push(message);
    }

    /// Returns the id of the call that a result answers: the id in the result, or the first open
    /// call with this name.
    fn answered(&mut self, result: &Value) -> String {
        let id = string(result, "id");
        if self.open.remove(id) {
            return id.to_owned();
        }
        let mut same_name = self.by_name.get_mut(string(result, "name"));
        while let Some(id) = same_name.as_mut().and_then(|ids| ids.pop_front()) {
            if self.open.remove(&id) {
                return id;
            }
        }
        make_id(&mut self.made)
    }
}

fn make_id(made: &mut usize) -> String {
    *made += 1;
    format!("call_{made:024x}")
}

fn option(name: &str, value: &Value, options: &mut ChatOptions) -> Result<(), ModelError> {
    match name {
        "contents" | "systemInstruction" => {}
        "tools" => {
            let tools: Vec<Map<String, Value>> = member(name, value)?;
            options.tools = tools.into_iter().flat_map(read_tool).collect();
        }
        "toolConfig" => read_tool_config(value, options),
        "generationConfig" => read_generation(value, options)?,
        _ => {
            options.extra.insert(name.to_owned(), value.clone());
        }
    }
    Ok(())
}

/// Converts a tool, which may contain several functions as well as the provider's own tools.
fn read_tool(tool: Map<String, Value>) -> Vec<ToolOffer> {
    let mut offers = Vec::new();
    for (key, value) in tool.into_iter().filter(|(_, value)| !value.is_null()) {
        match value {
            Value::Array(declarations) if key == "functionDeclarations" => {
                offers.extend(declarations.iter().map(read_declaration));
            }
            value => offers.push(ToolOffer::Native(json!({key: value}))),
        }
    }
    offers
}

/// A declaration that the neutral form cannot fully express is stored unchanged.
fn read_declaration(declaration: &Value) -> ToolOffer {
    let known = ["name", "description", "parameters", "parametersJsonSchema"];
    let members = declaration.as_object();
    let is_common = members.is_some_and(|members| {
        let mut given = members.iter().filter(|(_, value)| !value.is_null());
        given.all(|(key, _)| known.contains(&key.as_str()))
    });
    let given = |key: &str| declaration.get(key).filter(|value| !value.is_null());
    let older = given("parameters");
    if !is_common || older.is_some_and(|schema| !is_json_schema(schema)) {
        return ToolOffer::Native(json!({"functionDeclarations": [declaration]}));
    }
    ToolOffer::Function {
        name: string(declaration, "name").to_owned(),
        description: string(declaration, "description").to_owned(),
        parameters: given("parametersJsonSchema")
            .or(older)
            .cloned()
            .unwrap_or_default(),
        strict: None,
        extra: serde_json::Map::new(),
    }
}

/// Whether a schema in the older OpenAPI dialect is also a JSON Schema: its types are lowercase,
/// and it does not use `nullable`.
fn is_json_schema(schema: &Value) -> bool {
    let text = schema.to_string();
    let types = ["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT"];
    let has_types = types
        .iter()
        .any(|name| text.contains(&format!("\"type\":\"{name}\"")));
    !has_types && !text.contains("\"nullable\":")
}

fn read_tool_config(config: &Value, options: &mut ChatOptions) {
    let mut rest = config.as_object().cloned().unwrap_or_default();
    if let Some(calling) = rest.shift_remove("functionCallingConfig") {
        options.tool_choice = Some(read_choice(calling));
    }
    if !rest.is_empty() {
        options.extra.insert("toolConfig".to_owned(), rest.into());
    }
}

fn read_choice(mut calling: Value) -> ToolChoice {
    // Google accepts member names in both spellings.
    if let Some(members) = calling.as_object_mut()
        && let Some(names) = members.shift_remove("allowed_function_names")
    {
        members.insert("allowedFunctionNames".to_owned(), names);
    }
    let names = calling
        .get("allowedFunctionNames")
        .and_then(Value::as_array);
    let names = names.map(Vec::as_slice).unwrap_or_default();
    let is_plain = calling
        .as_object()
        .is_some_and(|members| members.len() <= 1 + usize::from(!names.is_empty()));
    match (string(&calling, "mode"), names) {
        ("AUTO", []) if is_plain => ToolChoice::Auto,
        ("NONE", []) if is_plain => ToolChoice::None,
        ("ANY", []) if is_plain => ToolChoice::Required,
        ("ANY", [Value::String(name)]) if is_plain => ToolChoice::Named(name.clone()),
        _ => ToolChoice::Native(calling),
    }
}

fn read_generation(config: &Value, options: &mut ChatOptions) -> Result<(), ModelError> {
    let mut rest: Map<String, Value> = member("generationConfig", config)?;
    rest.retain(|_, value| !value.is_null());
    take("temperature", &mut rest, &mut options.temperature)?;
    take("topP", &mut rest, &mut options.top_p)?;
    take("maxOutputTokens", &mut rest, &mut options.max_tokens)?;
    take("presencePenalty", &mut rest, &mut options.presence_penalty)?;
    take(
        "frequencyPenalty",
        &mut rest,
        &mut options.frequency_penalty,
    )?;
    take("candidateCount", &mut rest, &mut options.n)?;
    take("stopSequences", &mut rest, &mut options.stop)?;
    let is_json = rest
        .get("responseMimeType")
        .is_some_and(|kind| kind == "application/json");
    if is_json && !rest.contains_key("responseSchema") {
        rest.shift_remove("responseMimeType");
        options.response_format = Some(match rest.shift_remove("responseJsonSchema") {
            Some(schema) => {
                json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}})
            }
            None => json!({"type": "json_object"}),
        });
    }
    if !rest.is_empty() {
        options
            .extra
            .insert("generationConfig".to_owned(), rest.into());
    }
    Ok(())
}

fn take<T: serde::de::DeserializeOwned>(
    name: &str,
    from: &mut Map<String, Value>,
    to: &mut Option<T>,
) -> Result<(), ModelError> {
    if let Some(value) = from.shift_remove(name) {
        *to = Some(member(&format!("generationConfig.{name}"), &value)?);
    }
    Ok(())
}
