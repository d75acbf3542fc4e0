//! Import of prompts saved from OpenAI.
//!
//! OpenAI has no export for prompts, so users have one of two objects. The first is the prompt
//! itself (`id`, `version`, `messages` or `instructions`, the model and its settings), copied from
//! the dashboard or an API. The second is a response created with the prompt, which repeats its
//! messages as `instructions` and all settings; `docs/openai.md` explains how to get one. This
//! module reads both. A member that is not imported is reported as a diagnostic, so nothing is lost
//! silently.

use quillet_core::{ContentPart, Diagnostic, Message, MessageContent};
use quillet_llm::{OpenAiResponses, Protocol};
use quillet_template::{CompileOptions, TemplateFactory, TemplateSource};
use serde_json::{Map, Value, json};

/// Members that both objects share: model parameters.
const SETTINGS: [&str; 9] = [
    "model",
    "temperature",
    "top_p",
    "max_output_tokens",
    "reasoning",
    "text",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
];

/// Members of a prompt: its identity and its content.
const PROMPT: [&str; 14] = [
    "id",
    "prompt_id",
    "object",
    "name",
    "title",
    "description",
    "version",
    "instructions",
    "messages",
    "input",
    "prompt",
    "variables",
    "created_at",
    "updated_at",
];

/// Members of a response that belong to that answer, not to the prompt.
const ANSWER: [&str; 19] = [
    "background",
    "billing",
    "completed_at",
    "content_filters",
    "conversation",
    "error",
    "incomplete_details",
    "metadata",
    "output",
    "output_text",
    "previous_response_id",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "status",
    "store",
    "usage",
    "user",
];

/// One version of an OpenAI prompt as a Quillet definition.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedPrompt {
    /// The OpenAI id, `pmpt_…`; an alias of the definition.
    pub alias: String,
    /// The name, if it was saved.
    pub name: Option<String>,
    /// The version number, if it was saved.
    pub version: Option<u64>,
    /// The definition as JSON.
    pub definition: String,
    /// Warnings about members that were not imported.
    pub findings: Vec<Diagnostic>,
}

impl SavedPrompt {
    /// Returns an id for the definition: its name in lower case, or else the alias.
    #[must_use]
    pub fn id(&self) -> String {
        let name = self.name.as_deref().unwrap_or_default();
        let words = name.split(|c: char| !c.is_alphanumeric());
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        match words.as_slice() {
            [] => self.alias.clone(),
            words => words.join("-").to_lowercase(),
        }
    }
}

/// Reads saved prompts: one object, a list of them, an object with `data`, or one on each line.
/// `source` is the name of the file. Versions of one prompt come in the order of their numbers.
///
/// # Errors
/// An object is invalid; with its number if there are several.
///
/// # Examples
/// ```
/// let text = r#"{"id": "pmpt_1", "name": "Greet", "instructions": "Say hello."}"#;
/// let prompts = quillet::openai_prompts("prompts.json", text).unwrap();
/// assert_eq!(prompts[0].alias, "pmpt_1");
/// assert_eq!(prompts[0].id(), "greet");
/// ```
pub fn openai_prompts(source: &str, text: &str) -> Result<Vec<SavedPrompt>, Vec<Diagnostic>> {
    let objects = objects(text).map_err(|why| vec![wrong(source, why)])?;
    let mut read = Vec::with_capacity(objects.len());
    let mut failed = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        match saved(source, object) {
            Ok(saved) => read.push(saved),
            Err(why) => failed.push(wrong(source, format!("prompt {}: {why}", index + 1))),
        }
    }
    // The import is rejected as a whole, because a history with missing versions would be wrong.
    if !failed.is_empty() {
        return Err(failed);
    }
    read.sort_by(|a, b| (&a.alias, a.version).cmp(&(&b.alias, b.version)));
    Ok(read)
}

fn wrong(source: &str, why: String) -> Diagnostic {
    Diagnostic::error("import.openai", source, why)
}

fn objects(text: &str) -> Result<Vec<Map<String, Value>>, String> {
    let object = |value: Value| match value {
        Value::Object(object) => Ok(object),
        _ => Err("expected an object for each prompt".to_owned()),
    };
    let several = match serde_json::from_str(text) {
        Ok(Value::Array(all)) => all,
        // OpenAI's API wraps its lists in an object with `data`.
        Ok(Value::Object(mut one)) => match one.get_mut("data").map(Value::take) {
            Some(Value::Array(all)) => all,
            _ => vec![one.into()],
        },
        Ok(_) => return Err("expected a JSON object".to_owned()),
        Err(error) => {
            // The text is not a single JSON value, so it may have one object on each line.
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            let read: Result<Vec<Value>, _> = lines.map(serde_json::from_str).collect();
            // The error of the whole text is reported, because most files are a single JSON value.
            read.map_err(|_| format!("invalid JSON: {error}"))?
        }
    };
    several.into_iter().map(object).collect()
}

fn saved(source: &str, object: &Map<String, Value>) -> Result<SavedPrompt, String> {
    let is_answer = object.get("object") == Some(&json!("response"));
    let named = match object.get("prompt") {
        Some(Value::Object(prompt)) if is_answer => prompt,
        _ if is_answer => return Err("the response was created without a prompt".to_owned()),
        _ => object,
    };
    let text = |name: &str| named.get(name).and_then(Value::as_str);
    let alias = text("id").or_else(|| text("prompt_id"));
    let alias = alias.ok_or("missing id")?.to_owned();
    let name = text("name").or_else(|| text("title")).map(str::to_owned);
    let mut findings = Vec::new();
    let known = |key: &str| {
        SETTINGS.contains(&key) || PROMPT.contains(&key) || (is_answer && ANSWER.contains(&key))
    };
    for (key, value) in object {
        if !known(key) && !is_default(key, value) {
            findings.push(not_taken(source, &alias, key));
        }
    }
    let request = request(object)?;
    let asked = OpenAiResponses
        .read(&request)
        .map_err(|error| error.message)?;
    let messages: Result<Vec<Value>, String> = asked.messages.iter().map(message).collect();
    let messages = messages?;
    if messages.is_empty() {
        return Err("missing messages or instructions".to_owned());
    }
    findings.extend(unread(source, &alias, &messages));
    findings.extend(unused(source, &alias, named.get("variables"), &messages));
    let mut definition = Map::new();
    for (key, value) in [
        ("displayName", name.as_deref()),
        ("description", text("description")),
    ] {
        if let Some(value) = value {
            definition.insert(key.to_owned(), value.into());
        }
    }
    definition.insert("aliases".into(), json!([alias]));
    // OpenAI writes variables as `{{name}}`, as Mustache does.
    definition.insert("format".into(), "mustache".into());
    definition.insert("messages".into(), messages.into());
    if let Some(model) = asked.model {
        definition.insert("model".into(), model.into());
    }
    let options = serde_json::to_value(&asked.options).map_err(|error| error.to_string())?;
    if options != json!({}) {
        definition.insert("options".into(), options);
    }
    let version = named.get("version").map(|version| match version {
        // OpenAI writes the version number as a string.
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    });
    Ok(SavedPrompt {
        alias,
        name,
        version: version.flatten(),
        definition: serde_json::to_string_pretty(&definition).unwrap_or_default(),
        findings,
    })
}

/// Builds an OpenAI request from the object, because the decoder of that API already exists.
fn request(object: &Map<String, Value>) -> Result<Value, String> {
    let mut request = Map::new();
    let mut input = Vec::new();
    for name in ["instructions", "messages", "input", "prompt"] {
        match (name, object.get(name)) {
            (_, None | Some(Value::Null)) | ("prompt", Some(Value::Object(_))) => {}
            ("instructions", Some(Value::String(text))) => {
                input.push(json!({"role": "system", "content": text}));
            }
            (_, Some(Value::String(text))) => input.push(json!({"role": "user", "content": text})),
            (_, Some(Value::Array(items))) => input.extend(items.iter().cloned()),
            (_, Some(_)) => return Err(format!("{name}: expected text or a list of messages")),
        }
    }
    for name in SETTINGS {
        // OpenAI writes unset members as null; here they count as missing.
        let value = object.get(name).map(without_nulls);
        let value = value.filter(|value| !is_default(name, value));
        request.extend(value.map(|value| (name.to_owned(), value)));
    }
    // Providers reject `tool_choice` without tools, so it is dropped.
    if !request.contains_key("tools") {
        request.remove("tool_choice");
        request.remove("parallel_tool_calls");
    }
    request.insert("input".into(), input.into());
    Ok(request.into())
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.iter().filter(|(_, value)| !value.is_null());
            let members = members.map(|(name, value)| (name.clone(), without_nulls(value)));
            Value::Object(members.collect())
        }
        other => other.clone(),
    }
}

/// Returns whether a member has its default value.
fn is_default(name: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(members) if members.is_empty() => true,
        Value::Array(items) => items.is_empty(),
        _ => match name {
            "text" => *value == json!({"format": {"type": "text"}}),
            "tool_choice" => value == "auto",
            "parallel_tool_calls" => *value == json!(true),
            "truncation" => value == "disabled",
            "top_logprobs" => *value == json!(0),
            _ => false,
        },
    }
}

fn message(message: &Message) -> Result<Value, String> {
    let text = match &message.content {
        MessageContent::Text(text) => text.clone(),
        MessageContent::Parts(parts) => {
            let text = |part: &ContentPart| match part {
                ContentPart::Text { text } => Ok(text.clone()),
                _ => Err("a message contains an image or a file: use a variable instead"),
            };
            parts.iter().map(text).collect::<Result<String, _>>()?
        }
    };
    Ok(json!({"role": message.role.as_str(), "content": text}))
}

fn not_taken(source: &str, alias: &str, name: &str) -> Diagnostic {
    let what = format!("{alias}: the member {name:?} is not imported");
    Diagnostic::warning("import.openai", source, what)
}

fn contents(messages: &[Value]) -> impl Iterator<Item = &str> {
    let contents = messages.iter().map(|message| &message["content"]);
    contents.filter_map(Value::as_str)
}

/// Returns warnings about texts that are literal in OpenAI but invalid as templates here.
fn unread(source: &str, alias: &str, messages: &[Value]) -> Vec<Diagnostic> {
    let formats = TemplateFactory::standard();
    let compiles = |text: &str| {
        let sources = [TemplateSource::new("message", text)];
        let compiled = formats.compile("mustache", &sources, &CompileOptions::default());
        compiled.err().map(|error| error.to_string())
    };
    // Some of these templates compile, but they have another meaning in Mustache.
    let sections = ["{{#", "{{^", "{{/", "{{>", "{{!", "{{=", "{{&"];
    let why = |text: &str| {
        let section = sections.iter().find(|section| text.contains(*section));
        let section = section.map(|section| format!("{section} has another meaning in Quillet"));
        section.or_else(|| compiles(text))
    };
    let found = contents(messages).filter_map(why);
    let found = found.map(|why| {
        let what = format!("{alias}: a message must be text with {{{{variables}}}}: {why}");
        Diagnostic::warning("import.openai", source, what)
    });
    found.collect()
}

/// Returns warnings about declared or set variables that no message uses.
fn unused(
    source: &str,
    alias: &str,
    variables: Option<&Value>,
    messages: &[Value],
) -> Vec<Diagnostic> {
    let names: Vec<&str> = match variables {
        Some(Value::Object(variables)) => variables.keys().map(String::as_str).collect(),
        Some(Value::Array(names)) => {
            let names = names.iter().map(|one| one.get("name").unwrap_or(one));
            names.filter_map(Value::as_str).collect()
        }
        _ => Vec::new(),
    };
    let used = |name: &str| {
        contents(messages).any(|text| {
            let tags = text.split("{{").skip(1);
            let mut tags = tags.filter_map(|tag| tag.split_once("}}"));
            tags.any(|(tag, _)| tag.trim() == name)
        })
    };
    let unused = names.into_iter().filter(|name| !used(name));
    let found = unused.map(|name| {
        let what = format!(
            "{alias}: no message uses the variable {name}; check whether its value was filled in when the prompt was saved"
        );
        Diagnostic::warning("import.openai", source, what)
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &Value) -> SavedPrompt {
        let mut read = openai_prompts("saved.json", &value.to_string()).unwrap();
        assert_eq!(read.len(), 1);
        read.remove(0)
    }

    fn definition(saved: &SavedPrompt) -> Value {
        serde_json::from_str(&saved.definition).unwrap()
    }

    #[test]
    fn a_prompt_becomes_a_definition() {
        let saved = read(&json!({
            "id": "pmpt_1", "object": "prompt", "name": "Weather, local", "version": "3",
            "instructions": "You know {{city}}.",
            "messages": [{"role": "user", "content": [{"type": "input_text", "text": "Today?"}]}],
            "model": "gpt-5.4", "temperature": 0.5, "max_output_tokens": 99,
            "reasoning": {"effort": "low", "summary": null},
            "text": {"format": {"type": "json_schema", "name": "w", "schema": {"type": "object"}}},
            "tools": [{"type": "function", "name": "look", "parameters": {"type": "object"}}],
            "tool_choice": "required", "variables": ["city"], "owner": "x",
        }));
        assert_eq!(
            (saved.id().as_str(), saved.version),
            ("weather-local", Some(3))
        );
        let expected = json!({
            "displayName": "Weather, local", "aliases": ["pmpt_1"], "format": "mustache",
            "messages": [
                {"role": "system", "content": "You know {{city}}."},
                {"role": "user", "content": "Today?"},
            ],
            "model": "gpt-5.4",
        });
        let mut is = definition(&saved);
        let options = is.as_object_mut().unwrap().remove("options").unwrap();
        assert_eq!(is, expected);
        for (at, value) in [
            ("/temperature", json!(0.5)),
            ("/max_tokens", json!(99)),
            ("/reasoning_effort", json!("low")),
            ("/response_format/json_schema/name", json!("w")),
            ("/tools/0/function/name", json!("look")),
            ("/tool_choice", json!("required")),
        ] {
            assert_eq!(options.pointer(at), Some(&value), "{at}: {options}");
        }
        let found: Vec<&str> = saved.findings.iter().map(|one| &*one.message).collect();
        assert_eq!(found, ["pmpt_1: the member \"owner\" is not imported"]);
    }

    #[test]
    fn a_response_repeats_its_prompt() {
        let saved = read(&json!({
            "id": "resp_1", "object": "response", "status": "completed", "model": "gpt-5.4-2026-03-05",
            "instructions": [{"type": "message", "role": "developer", "content": [
                {"type": "input_text", "text": "You know {{city}}."}]}],
            "prompt": {"id": "pmpt_1", "version": "2", "variables": {"city": "{{city}}"}},
            "output": [], "usage": null, "text": {"format": {"type": "text"}}, "tools": [],
            "tool_choice": "auto", "parallel_tool_calls": true, "truncation": "disabled",
            "temperature": 1.0, "max_output_tokens": null,
        }));
        assert_eq!((saved.id().as_str(), saved.version), ("pmpt_1", Some(2)));
        assert_eq!(saved.findings, []);
        let expected = json!({
            "aliases": ["pmpt_1"], "format": "mustache", "model": "gpt-5.4-2026-03-05",
            "messages": [{"role": "developer", "content": "You know {{city}}."}],
            "options": {"temperature": 1.0},
        });
        assert_eq!(definition(&saved), expected);
    }

    #[test]
    fn what_is_not_as_it_should_be_is_found() {
        let filled = read(&json!({"id": "pmpt_1", "instructions": "You know Paris.",
            "variables": {"city": "Paris"}}));
        assert!(
            filled.findings[0]
                .message
                .contains("no message uses the variable city"),
            "{filled:?}"
        );
        let sections = read(&json!({"id": "pmpt_1", "instructions": "{{#if x}}y{{/if}}"}));
        assert!(sections.findings[0].message.contains("{{#"), "{sections:?}");
        for (text, part) in [
            ("{", "invalid JSON"),
            ("7", "object"),
            ("[7]", "object"),
            (r#"{"instructions":"x"}"#, "missing id"),
            (r#"{"id":"pmpt_1"}"#, "missing messages or instructions"),
            (r#"{"object":"response","id":"resp_1"}"#, "without a prompt"),
            (
                r#"[{"id":"pmpt_1","instructions":"x"},{"id":"pmpt_2","messages":7}]"#,
                "prompt 2",
            ),
            (
                r#"{"id":"pmpt_1","messages":[{"role":"user","content":[{"type":"input_image","image_url":"https://x/y.png"}]}]}"#,
                "image",
            ),
        ] {
            let found = openai_prompts("saved.json", text).unwrap_err();
            assert!(found[0].message.contains(part), "{text}: {found:?}");
        }
    }

    #[test]
    fn versions_come_in_order_from_every_kind_of_file() {
        let one = |version: u64| json!({"id": "pmpt_1", "version": version, "instructions": "x"});
        let lines = format!("{}\n\n{}\n", one(10), one(2));
        for text in [
            json!([one(10), one(2)]).to_string(),
            json!({"object": "list", "data": [one(10), one(2)]}).to_string(),
            lines,
        ] {
            let read = openai_prompts("saved.json", &text).unwrap();
            let versions: Vec<Option<u64>> = read.iter().map(|one| one.version).collect();
            assert_eq!(versions, [Some(2), Some(10)], "{text}");
        }
    }
}
