//! Gemini's API.

use serde_json::Value;

pub fn normalize(body: &mut Value) {
    let Some(members) = body.as_object_mut() else {
        return;
    };
    if let Some(system) = members
        .get_mut("systemInstruction")
        .and_then(Value::as_object_mut)
    {
        system.remove("role");
    }
    if let Some(parts) = members
        .get_mut("systemInstruction")
        .map(|system| &mut system["parts"])
    {
        normalize_parts(parts);
    }
    if let Some(turns) = members.get_mut("contents").and_then(Value::as_array_mut) {
        let mut merged: Vec<Value> = Vec::new();
        for mut turn in std::mem::take(turns) {
            normalize_parts(&mut turn["parts"]);
            match merged.last_mut().filter(|last| kind(last) == kind(&turn)) {
                Some(last) => super::append(&mut last["parts"], &mut turn["parts"]),
                None => merged.push(turn),
            }
        }
        *turns = merged;
    }
    let tools = members.get_mut("tools").and_then(Value::as_array_mut);
    tools.into_iter().flatten().for_each(normalize_tool);
    for config in ["toolConfig", "generationConfig"] {
        if members
            .get(config)
            .and_then(Value::as_object)
            .is_some_and(|config| config.is_empty())
        {
            members.remove(config);
        }
    }
    if let Some(calling) = members
        .get_mut("toolConfig")
        .map(|config| &mut config["functionCallingConfig"])
    {
        rename(calling, "allowed_function_names", "allowedFunctionNames");
    }
}

/// Tool results form a separate turn.
fn kind(turn: &Value) -> (Value, bool) {
    (
        turn["role"].clone(),
        turn["parts"][0].get("functionResponse").is_some(),
    )
}

fn normalize_parts(parts: &mut Value) {
    let parts = parts.as_array_mut().into_iter().flatten();
    for part in parts.filter_map(Value::as_object_mut) {
        part.retain(|key, value| key != "thought" || value == true);
    }
}

fn normalize_tool(tool: &mut Value) {
    let declarations = tool
        .get_mut("functionDeclarations")
        .and_then(Value::as_array_mut);
    for declaration in declarations.into_iter().flatten() {
        rename(declaration, "parameters", "parametersJsonSchema");
    }
}

fn rename(object: &mut Value, old: &str, new: &str) {
    if let Some(members) = object.as_object_mut()
        && let Some(value) = members.remove(old)
    {
        members.insert(new.to_owned(), value);
    }
}
