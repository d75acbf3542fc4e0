//! Reads the request of `POST /v1/response` into an [`AgentRequest`], or returns all of its errors.
//! Unknown members yield warnings.

use std::time::Duration;

use quillet_core::chat::{ChatOptions, ToolChoice, ToolOffer};
use quillet_core::nearest;
use quillet_host::agent::{
    AgentRequest, Attachment, Features, KnowledgeContext, KnowledgePassage, Metadata,
    ModelSettings, RawJson, RunInput, SkillChoice, ToolResult, ToolSettings,
};
use secrecy::SecretString;
use serde_json::{Map, Value};

use super::input::{self, text_of};
use super::reader::{ObjectReader, not_one_of};
use super::validation::ValidationReport;

/// The longest timeout in a request, in seconds: one day.
const LONGEST: f64 = 86_400.0;

/// Reads a request. `has_model` is true if there is a default model.
pub(super) fn read(body: Value, has_model: bool) -> Result<AgentRequest, ValidationReport> {
    let mut faults = ValidationReport::default();
    let request = request(body, has_model, &mut faults);
    match request {
        Some(request) if faults.is_empty() => Ok(AgentRequest {
            warnings: faults.unknown(),
            ..request
        }),
        _ => Err(faults),
    }
}

fn request(body: Value, has_model: bool, faults: &mut ValidationReport) -> Option<AgentRequest> {
    let mut body = ObjectReader::read(body, vec!["body".into()], faults)?;
    let continues = body.has("tool_results");
    let required: &[&str] = match (has_model, continues) {
        (false, false) => &["model_config", "input"],
        (false, true) => &["model_config"],
        (true, false) => &["input"],
        (true, true) => &[],
    };
    body.require(required);
    let model = body.object("model_config").map(|mut o| model(&mut o));
    let before = body.faults().count();
    let input = body.object("input").map(|mut o| input::read(&mut o));
    // An error inside `input` is more helpful than a report that `input` is empty.
    let wrong_inside = body.faults().count() > before;
    if !continues && !wrong_inside && matches!(input, Some(None)) {
        let msg = "Value error, one of messages, content and text must not be empty";
        body.fault("value_error", "input", msg, &Value::Null);
    }
    let request = AgentRequest {
        budget: None,
        model,
        temperature: body.number("temperature", 0.0, 2.0),
        max_tokens: body.integer("max_tokens", 1),
        input: input.flatten().unwrap_or_else(RunInput::default),
        session: body.id("session_id"),
        include_history: body.flag("include_history", true),
        system: body.text("system"),
        tools: body
            .object("tools")
            .map_or_else(ToolSettings::default, |mut o| tools(&mut o)),
        tool_choice: tool_choice(&mut body),
        features: body
            .object("features")
            .map_or_else(Features::default, |mut o| features(&mut o)),
        metadata: body
            .object("metadata")
            .map_or_else(Metadata::default, |mut o| metadata(&mut o)),
        attachments: body.objects("attachments", |o| Some(attachment(o))),
        knowledge: body
            .object("knowledge_context")
            .map(|mut o| knowledge(&mut o)),
        tool_results: body.objects("tool_results", tool_result),
        options: options(&mut body),
        script: None,
        warnings: Vec::new(),
    };
    body.note_unknown();
    Some(request)
}

/// Reads generation parameters. They are sent to the provider unchanged, and it may reject them.
fn options(body: &mut ObjectReader<'_>) -> ChatOptions {
    const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
    let mut extra = Map::new();
    let thinking = body.table("thinking");
    if !thinking.is_empty() {
        extra.insert("thinking".to_owned(), Value::Object(thinking));
    }
    ChatOptions {
        reasoning_effort: body.word("reasoning_effort", &EFFORTS),
        response_format: response_format(body),
        extra,
        ..ChatOptions::default()
    }
}

/// Reads the format of the last reply, as in OpenAI's Chat API.
fn response_format(body: &mut ObjectReader<'_>) -> Option<Value> {
    const KINDS: [&str; 3] = ["text", "json_object", "json_schema"];
    let mut format = body.object("response_format")?;
    let whole = format.to_value();
    format.require(&["type"]);
    if format.word("type", &KINDS)? == "json_schema" {
        format.require(&["json_schema"]);
        format.object("json_schema")?.require(&["schema"]);
    }
    Some(whole)
}

fn model(object: &mut ObjectReader<'_>) -> ModelSettings {
    object.require(&["model_id", "model"]);
    let headers = object.table("default_headers");
    let settings = ModelSettings {
        model_id: object.text("model_id").unwrap_or_default(),
        model: object.text("model").unwrap_or_default(),
        api_key: object.text("api_key").unwrap_or_default().into(),
        base_url: object.text("base_url").filter(|url| !url.is_empty()),
        api_format: object
            .text("api_format")
            .unwrap_or_else(|| "chat".to_owned()),
        default_headers: secrets(headers),
        context_window: object.integer("context_window", 1),
        max_output_tokens: object.integer("max_output_tokens", 1),
        timeout: seconds(object, "timeout"),
        max_retries: object
            .integer("max_retries", 0)
            .map(|retries| u32::try_from(retries).unwrap_or(u32::MAX)),
        retry_delay: seconds(object, "retry_delay"),
        model_name: object.text("model_name"),
        model_namespace: object.text("model_namespace"),
    };
    object.note_unknown();
    settings
}

fn seconds(object: &mut ObjectReader<'_>, name: &str) -> Option<Duration> {
    let seconds = object.number(name, 0.0, LONGEST)?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// Converts headers: strings unchanged, numbers and booleans as JSON.
fn secrets(headers: Map<String, Value>) -> Vec<(String, SecretString)> {
    let text = |(name, value)| match value {
        Value::Null => None,
        Value::String(text) => Some((name, text.into())),
        other => Some((name, other.to_string().into())),
    };
    headers.into_iter().filter_map(text).collect()
}

fn tool_choice(body: &mut ObjectReader<'_>) -> Option<ToolChoice> {
    const WORDS: [&str; 3] = ["auto", "none", "required"];
    let given = body.take("tool_choice")?;
    let fits = given.is_object() || given.as_str().is_some_and(|word| WORDS.contains(&word));
    if fits {
        return serde_json::from_value(given).ok();
    }
    let mut at = body.place("tool_choice");
    at.push("literal['auto','none','required']".into());
    not_one_of(body.faults(), &at, &given, &WORDS);
    at.pop();
    at.push("dict[str,any]".into());
    let msg = "Input should be a valid dictionary".to_owned();
    body.faults().add("dict_type", &at, msg, &given);
    None
}

fn features(object: &mut ObjectReader<'_>) -> Features {
    let features = Features {
        deep_thinking: object.flag("deep_thinking", false),
        clarification: object.flag("clarification", false),
        streaming: object.flag("streaming", true),
        message_compression: object.flag("message_compression", true),
        web_search: object.flag("web_search", false),
        search_engine: object.text("search_engine"),
        resumable: object.choice("resumable").or(object.choice("background")),
        durable: object.choice("durable"),
        events: object.texts("events"),
    };
    object.note_unknown();
    features
}

fn tools(object: &mut ObjectReader<'_>) -> ToolSettings {
    let mut builtin = std::collections::BTreeMap::new();
    if let Some(mut listed) = object.object("builtin") {
        for name in listed.names() {
            let mut settings = listed.table(&name);
            switch(&mut listed, &name, &mut settings);
            builtin.insert(name, settings);
        }
    }
    let max_tool_calls = object.integer("max_tool_calls", 0);
    let repeated_calls = object.integer("repeated_calls", 0);
    let settings = ToolSettings {
        builtin,
        custom: object.objects("custom", offer),
        mcp_servers: object.objects("mcp_servers", server),
        skills: object.objects("skills", |o| {
            o.require(&["name"]);
            Some(SkillChoice {
                name: o.text("name")?,
                preload: o.flag("preload", false),
            })
        }),
        max_tool_calls: max_tool_calls.map(|calls| u32::try_from(calls).unwrap_or(u32::MAX)),
        repeated_calls: repeated_calls.map(|calls| u32::try_from(calls).unwrap_or(u32::MAX)),
        tool_timeout: seconds(object, "tool_timeout_seconds"),
        ask: object.texts("ask"),
    };
    object.note_unknown();
    settings
}

/// Reads the switch that disables a tool. Reports an invalid value, because ignoring it would leave
/// the tool enabled.
fn switch(listed: &mut ObjectReader<'_>, tool: &str, settings: &mut Map<String, Value>) {
    const SWITCH: &str = "enabled";
    let at = listed.place(tool);
    for (key, value) in settings.iter() {
        if key != SWITCH && nearest(&key.to_lowercase(), [SWITCH]).is_some() {
            let message = format!("Unknown setting {key:?} of a tool: did you mean {SWITCH:?}?");
            listed.faults().add("extra_forbidden", &at, message, value);
        }
    }
    let written = Value::Object(settings.clone());
    let object = ObjectReader::read(written, at, listed.faults());
    if let Some(is_on) = object.and_then(|mut object| object.choice(SWITCH)) {
        settings.insert(SWITCH.to_owned(), is_on.into());
    }
}

/// Reads `{"type": "function", "function": {"name": …, "description": …, "parameters": …}}`, or a
/// tool that the provider runs, in the provider's format.
fn offer(object: &mut ObjectReader<'_>) -> Option<ToolOffer> {
    let Value::Object(mut extra) = object.to_value() else {
        return None;
    };
    let is_function = extra.get("type").is_none_or(|kind| kind == "function");
    let is_named = |kind: &Value| kind.as_str().is_some_and(|kind| !kind.is_empty());
    let is_named = extra.get("type").is_some_and(is_named);
    if !is_function && is_named && !extra.contains_key("function") {
        return Some(ToolOffer::Native(Value::Object(extra)));
    }
    // Gemini's tools have no type: `{"googleSearch": {}}`.
    if !extra.contains_key("type") && !extra.contains_key("function") && extra.len() == 1 {
        return Some(ToolOffer::Native(Value::Object(extra)));
    }
    extra.retain(|key, value| key != "type" && key != "function" && !value.is_null());
    object.word("type", &["function"]);
    object.require(&["function"]);
    let mut function = object.object("function")?;
    function.require(&["name"]);
    Some(ToolOffer::Function {
        description: function.text("description").unwrap_or_default(),
        parameters: match function.table("parameters") {
            none if none.is_empty() => Value::Null,
            parameters => Value::Object(parameters),
        },
        strict: function.choice("strict"),
        name: function.text("name")?,
        extra,
    })
}

/// Reads a server. Only its name and URL are checked here, because the connection parses the other
/// members.
fn server(object: &mut ObjectReader<'_>) -> Option<RawJson> {
    object.require(&["name", "url"]);
    let whole = object.to_value();
    object.text("name");
    object.text("url");
    Some(RawJson(whole))
}

fn metadata(object: &mut ObjectReader<'_>) -> Metadata {
    let limit = object.integer("history_limit", 0);
    let chat_type = object.word("chat_type", &["single", "group"]);
    let documents = object.texts("document_ids");
    Metadata {
        request_id: object.id("request_id"),
        user_name: object.text("user_name"),
        task_id: object.id("task_id"),
        is_group: chat_type.as_deref() == Some("group"),
        history_limit: limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX)),
        skill_names: object.texts("skill_names"),
        skill_configs: object.objects("skill_configs", skill),
        preload_skills: object.texts("preload_skills"),
        user_selected_skills: object.texts("user_selected_skills"),
        knowledge_base_ids: object.texts("knowledge_base_ids"),
        document_ids: documents.iter().filter_map(|id| id.parse().ok()).collect(),
        is_user_selected_kb: object.flag("is_user_selected_kb", true),
        task_data: RawJson(object.take("task_data").unwrap_or_default()),
        user_subtask_id: object.id("user_subtask_id").and_then(|id| id.parse().ok()),
        is_subscription: object.flag("is_subscription", false),
    }
}

/// Reads a skill. Only its name is checked here, because the loader parses the other members.
fn skill(object: &mut ObjectReader<'_>) -> Option<RawJson> {
    object.require(&["name"]);
    let whole = object.to_value();
    object.text("name");
    Some(RawJson(whole))
}

fn attachment(object: &mut ObjectReader<'_>) -> Attachment {
    Attachment {
        id: object.id("id"),
        filename: object.text("filename").unwrap_or_default(),
        mime_type: object.text("mime_type").unwrap_or_default(),
        content: object.text("content"),
        data: object.text("data"),
    }
}

fn knowledge(object: &mut ObjectReader<'_>) -> KnowledgeContext {
    KnowledgeContext {
        contexts: object.objects("contexts", |o| {
            Some(KnowledgePassage {
                collection: o.id("kb_id").unwrap_or_default(),
                name: o.text("kb_name").unwrap_or_default(),
                content: o.text("content").unwrap_or_default(),
            })
        }),
        meta_prompt: object.text("meta_prompt"),
    }
}

fn tool_result(object: &mut ObjectReader<'_>) -> Option<ToolResult> {
    object.require(&["id", "output"]);
    Some(ToolResult {
        output: object.take("output").map(text_of).unwrap_or_default(),
        is_error: object.flag("is_error", false),
        id: object.text("id")?,
    })
}
