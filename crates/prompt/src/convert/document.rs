//! Parts of a prompt other than its template, and their representation in each kind of file.

use quillet_template::{MessageSyntax, Missing};
use serde_json::{Map as Object, Value as Tree, json};

use super::refusal::ConvertNote;
use super::target::ConvertTarget;
use super::template::ConvertedTemplate;
use super::yaml::{block, write as yaml};
use crate::definition::{Prompt, PromptBody};

/// Parts that every kind of file can represent.
#[derive(Clone, Debug, Default)]
pub(super) struct FileParts {
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) model: Option<String>,
    /// Keyed by the option names of OpenAI's API.
    pub(super) options: Object<String, Tree>,
    pub(super) inputs: Vec<FileVariable>,
    /// Whether function results may contain messages.
    pub(super) trusted_results: bool,
}

/// An input variable of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FileVariable {
    pub(super) name: String,
    /// JSON Schema without the default value.
    pub(super) schema: Object<String, Tree>,
    pub(super) required: bool,
    pub(super) default: Option<Tree>,
    pub(super) trusted: bool,
}

/// Keys that only one kind of file supports.
const ALONE: [&str; 21] = [
    "displayName",
    "outputs",
    "output",
    "output_variable",
    "tools",
    "toolDefs",
    "version",
    "variant",
    "ext",
    "metadata",
    "returns",
    "supports",
    "author",
    "tags",
    "icon",
    "languages",
    "connection",
    "configuration",
    "provider",
    "apiType",
    "api",
];

/// Keys that describe the deployment of the model. They do not affect the rendered prompt.
const DEPLOYMENT: [&str; 3] = ["connection", "configuration", "provider"];

/// Keys that are also deployment data if they select the chat API.
const API: [&str; 2] = ["apiType", "api"];

/// Nested keys that only one kind of file supports.
const ALONE_INSIDE: [&str; 3] = ["function_choice_behavior", "sample", "example"];

impl FileParts {
    /// Extracts the parts of a prompt. Returns notes instead if it uses keys that only its own kind
    /// of file supports. With `drop_deployment`, deployment data is left out.
    pub(super) fn of(prompt: &Prompt, drop_deployment: bool) -> Result<Self, Vec<ConvertNote>> {
        let refusals = refusals(prompt, drop_deployment);
        if !refusals.is_empty() {
            return Err(refusals);
        }
        let text = |key: &str| {
            let said = prompt.metadata.get(key);
            let said = said.or_else(|| prompt.raw.definition_tree()?.get(key));
            said.and_then(Tree::as_str).map(str::to_owned)
        };
        let options = match serde_json::to_value(&*prompt.options) {
            Ok(Tree::Object(options)) => options,
            _ => Object::new(),
        };
        Ok(FileParts {
            trusted_results: prompt.trusted_results,
            name: text("name"),
            description: text("description"),
            model: prompt.model.clone(),
            options,
            inputs: inputs(prompt),
        })
    }
}

fn refusals(prompt: &Prompt, drop_deployment: bool) -> Vec<ConvertNote> {
    let mut keys: Vec<String> = Vec::new();
    let mut said = if prompt.metadata.is_empty() {
        prompt
            .raw
            .definition_tree()
            .map_or(Tree::Null, |raw| (**raw).clone())
    } else {
        Tree::Object(prompt.metadata.clone())
    };
    if drop_deployment {
        without_deployment(&mut said);
    }
    collect(&said, 0, &mut keys);
    let reason = |key: &str| {
        if is_deployment(key) {
            format!("{key} has no counterpart (--drop-deployment leaves it out)")
        } else {
            format!("{key} has no counterpart")
        }
    };
    let mut refusals: Vec<ConvertNote> = keys
        .iter()
        .map(|key| ConvertNote::key(key, reason(key)))
        .collect();
    for rich in &prompt.rich {
        let reason = format!(
            "{} is a conversation or media, not text, and has no counterpart",
            rich.name
        );
        refusals.push(ConvertNote::key("inputs", reason));
    }
    let services = said.get("execution_settings").and_then(Tree::as_object);
    if services.is_some_and(|services| services.len() > 1) {
        let reason = "settings of more than one service have no counterpart";
        refusals.push(ConvertNote::key("execution_settings", reason));
    }
    refusals
}

fn is_deployment(key: &str) -> bool {
    DEPLOYMENT.contains(&key) || API.contains(&key)
}

/// Removes deployment data from the top level and from the model settings. An API type other than
/// chat is kept.
fn without_deployment(said: &mut Tree) {
    let Tree::Object(front) = said else {
        return;
    };
    let stays = |key: &String, value: &mut Tree| {
        let is_chat = API.contains(&key.as_str()) && *value == "chat";
        !DEPLOYMENT.contains(&key.as_str()) && !is_chat
    };
    front.retain(stays);
    if let Some(Tree::Object(model)) = front.get_mut("model") {
        model.retain(stays);
    }
}

/// Collects the keys in use that only one kind of file supports.
fn collect(said: &Tree, depth: usize, keys: &mut Vec<String>) {
    let empty = |value: &Tree| match value {
        Tree::Null => true,
        Tree::Object(object) => object.is_empty(),
        Tree::Array(items) => items.is_empty(),
        _ => false,
    };
    for (key, value) in said.as_object().into_iter().flatten() {
        let alone = depth < 2 && ALONE.contains(&key.as_str())
            || depth > 0 && ALONE_INSIDE.contains(&key.as_str());
        if alone && !empty(value) {
            keys.push(key.clone());
        // Names inside a schema are variables of the prompt, not keys of the file.
        } else if depth < 3 && key != "schema" && key != "parameters" {
            collect(value, depth + 1, keys);
            for item in value.as_array().into_iter().flatten() {
                collect(item, depth + 1, keys);
            }
        }
    }
}

fn inputs(prompt: &Prompt) -> Vec<FileVariable> {
    let schema = prompt.parameters.schema();
    let schema = schema.as_ref();
    let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
    let required = schema.and_then(|schema| schema.get("required")?.as_array());
    let required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let presets = prompt.parameters.presets();
    let default = |name: &str| {
        let (_, value) = presets.iter().find(|(preset, _)| &**preset == name)?;
        Some(Tree::from(value)).filter(|value| !value.is_null())
    };
    let names = properties.into_iter().flat_map(Object::keys);
    // A variable may have a default without being declared.
    let undeclared = presets.iter().map(|(name, _)| name.to_string());
    let mut inputs: Vec<FileVariable> = Vec::new();
    for name in names.cloned().chain(undeclared) {
        if inputs.iter().any(|input| input.name == name) {
            continue;
        }
        let property = properties.and_then(|all| all.get(&name)?.as_object().cloned());
        let mut property = property.unwrap_or_default();
        // Stored separately, because the location of defaults depends on the kind of file.
        property.remove("default");
        inputs.push(FileVariable {
            schema: property,
            required: required(&name),
            default: default(&name),
            trusted: prompt.trusted.contains(&name),
            name,
        });
    }
    inputs
}

/// Writes the new file.
///
/// # Errors
/// Parts that the target cannot represent.
pub(super) fn write(
    parts: &FileParts,
    body: &ConvertedTemplate,
    target: ConvertTarget,
) -> Result<String, Vec<ConvertNote>> {
    let text = match &body.body {
        PromptBody::Text(text) => &**text,
        PromptBody::Messages(_) | PromptBody::Script(_) => "",
    };
    if let Some(input) = parts.inputs.iter().find(|input| input.trusted)
        && matches!(target, ConvertTarget::Dotprompt | ConvertTarget::Prompty)
    {
        let reason = format!(
            "{} is trusted to contain messages, which has no counterpart",
            input.name
        );
        return Err(vec![ConvertNote::key(
            "allow_dangerously_set_content",
            reason,
        )]);
    }
    if parts.trusted_results && matches!(target, ConvertTarget::Dotprompt | ConvertTarget::Prompty)
    {
        let reason =
            "functions are trusted to return messages, which has no counterpart".to_owned();
        return Err(vec![ConvertNote::key(
            "allow_dangerously_set_content",
            reason,
        )]);
    }
    let named = |mut front: Object<String, Tree>| {
        let mut all = Object::new();
        for (key, value) in [("name", &parts.name), ("description", &parts.description)] {
            if let Some(value) = value {
                all.insert(key.into(), value.as_str().into());
            }
        }
        all.append(&mut front);
        all
    };
    Ok(match target {
        ConvertTarget::Definition => {
            let object = Tree::Object(named(definition(parts, body)));
            format!("{object:#}\n")
        }
        ConvertTarget::Dotprompt => fenced(&named(dotprompt(parts)), text),
        ConvertTarget::Prompty => fenced(&named(prompty(parts, body)?), text),
        ConvertTarget::SemanticKernel => {
            let mut front = named(semantic_kernel(parts, body)?);
            let rest = front.split_off_after("template_format");
            format!(
                "{}template: {}{}",
                yaml(&front),
                block(text, 2),
                yaml(&rest)
            )
        }
    })
}

/// Joins front matter and template. Readers trim the template, so blank lines around it are safe.
fn fenced(front: &Object<String, Tree>, text: &str) -> String {
    if front.is_empty() {
        return text.to_owned();
    }
    format!("---\n{}---\n{text}\n", yaml(front))
}

trait SplitOff {
    /// Removes and returns the entries that follow a key.
    fn split_off_after(&mut self, key: &str) -> Object<String, Tree>;
}

impl SplitOff for Object<String, Tree> {
    fn split_off_after(&mut self, key: &str) -> Object<String, Tree> {
        let at = self.keys().position(|known| known == key);
        let at = at.map_or(0, |at| at + 1);
        let rest: Vec<String> = self.keys().skip(at).cloned().collect();
        let take = |key: String| self.remove(&key).map(|value| (key, value));
        rest.into_iter().filter_map(take).collect()
    }
}

fn definition(parts: &FileParts, body: &ConvertedTemplate) -> Object<String, Tree> {
    let mut all = Object::new();
    all.insert("format".into(), body.format.as_str().into());
    let missing = match body.missing {
        Missing::Strict => "strict",
        Missing::Default | Missing::Zero | Missing::Empty => "lenient",
    };
    all.insert("missing".into(), missing.into());
    let syntax = match body.messages {
        MessageSyntax::Plain => None,
        MessageSyntax::Elements => Some("elements"),
        MessageSyntax::RoleLines => Some("role-lines"),
    };
    all.extend(syntax.map(|syntax| ("messageSyntax".to_owned(), Tree::from(syntax))));
    match &body.body {
        PromptBody::Text(text) => all.insert("userPrompt".into(), (&**text).into()),
        PromptBody::Messages(messages) => {
            let message = |message: &crate::TemplateMessage| json!({"role": message.role.as_str(), "content": &*message.content});
            all.insert("messages".into(), messages.iter().map(message).collect())
        }
        PromptBody::Script(script) => all.insert("source".into(), (*script.text).into()),
    };
    let trusted = parts.inputs.iter().filter(|input| input.trusted);
    let trusted: Vec<&str> = trusted.map(|input| input.name.as_str()).collect();
    if !trusted.is_empty() {
        all.insert("trusted".into(), json!(trusted));
    }
    if parts.trusted_results {
        all.insert("trustedResults".into(), true.into());
    }
    if !parts.inputs.is_empty() {
        let all_inputs = parts.inputs.iter().map(parameter).collect();
        all.insert("parameters".into(), all_inputs);
    }
    all.extend(
        parts
            .model
            .iter()
            .map(|model| ("model".to_owned(), Tree::from(model.as_str()))),
    );
    if !parts.options.is_empty() {
        all.insert("options".into(), Tree::Object(parts.options.clone()));
    }
    all
}

fn parameter(input: &FileVariable) -> Tree {
    let mut all = Object::new();
    all.insert("name".into(), input.name.as_str().into());
    all.extend(input.schema.clone());
    if let Some(default) = &input.default {
        all.insert("default".into(), default.clone());
    }
    if input.required {
        all.insert("required".into(), true.into());
    }
    Tree::Object(all)
}

/// Option names of dotprompt and prompty.
const CAMEL: [(&str, &str); 6] = [
    ("max_tokens", "maxOutputTokens"),
    ("top_p", "topP"),
    ("top_k", "topK"),
    ("stop", "stopSequences"),
    ("frequency_penalty", "frequencyPenalty"),
    ("presence_penalty", "presencePenalty"),
];

fn renamed(options: &Object<String, Tree>, names: &[(&str, &str)]) -> Object<String, Tree> {
    let name = |key: &String| {
        let known = names.iter().find(|(ours, _)| ours == key);
        known.map_or(key.clone(), |(_, theirs)| (*theirs).to_owned())
    };
    options
        .iter()
        .map(|(key, value)| (name(key), value.clone()))
        .collect()
}

fn dotprompt(parts: &FileParts) -> Object<String, Tree> {
    let mut all = Object::new();
    all.extend(
        parts
            .model
            .iter()
            .map(|model| ("model".to_owned(), Tree::from(model.as_str()))),
    );
    if !parts.options.is_empty() {
        all.insert(
            "config".into(),
            Tree::Object(renamed(&parts.options, &CAMEL)),
        );
    }
    if parts.inputs.is_empty() {
        return all;
    }
    let (mut properties, mut required, mut defaults) = (Object::new(), Vec::new(), Object::new());
    for input in &parts.inputs {
        properties.insert(input.name.clone(), Tree::Object(input.schema.clone()));
        if input.required {
            required.push(input.name.clone());
        }
        defaults.extend(
            input
                .default
                .clone()
                .map(|value| (input.name.clone(), value)),
        );
    }
    let mut input = Object::new();
    let mut schema = Object::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), Tree::Object(properties));
    if !required.is_empty() {
        schema.insert("required".into(), json!(required));
    }
    input.insert("schema".into(), Tree::Object(schema));
    if !defaults.is_empty() {
        input.insert("default".into(), Tree::Object(defaults));
    }
    all.insert("input".into(), Tree::Object(input));
    all
}

fn prompty(
    parts: &FileParts,
    body: &ConvertedTemplate,
) -> Result<Object<String, Tree>, Vec<ConvertNote>> {
    let mut all = Object::new();
    let id = parts.model.clone();
    let options = renamed(&parts.options, &CAMEL);
    match (id, options.is_empty()) {
        (Some(id), true) => all.insert("model".into(), id.into()),
        (None, true) => None,
        (Some(id), false) => all.insert("model".into(), json!({"id": id, "options": options})),
        (None, false) => all.insert("model".into(), json!({ "options": options })),
    };
    if !parts.inputs.is_empty() {
        let inputs: Result<Vec<Tree>, Vec<ConvertNote>> =
            parts.inputs.iter().map(property).collect();
        all.insert("inputs".into(), Tree::Array(inputs?));
    }
    // Jinja is prompty's default, so only the other formats are named.
    if let kind @ ("mustache" | "liquid") = body.format.as_str() {
        all.insert("template".into(), json!({"format": {"kind": kind}}));
    }
    Ok(all)
}

fn property(input: &FileVariable) -> Result<Tree, Vec<ConvertNote>> {
    let mut all = Object::new();
    all.insert("name".into(), input.name.as_str().into());
    for (key, value) in &input.schema {
        // Prompty calls the `number` of JSON Schema a `float`.
        let kind = |name: &str| if name == "number" { "float" } else { name }.to_owned();
        match (key.as_str(), value) {
            ("type", Tree::String(name)) => all.insert("kind".into(), kind(name).into()),
            ("description", value) => all.insert("description".into(), value.clone()),
            ("enum", value) => all.insert("enumValues".into(), value.clone()),
            // A conversion is exact or refused: nothing is dropped silently.
            (key, _) => {
                let reason = format!("{key} in the schema of {} has no counterpart", input.name);
                return Err(vec![ConvertNote::key(&input.name, reason)]);
            }
        };
    }
    if let Some(default) = &input.default {
        all.insert("default".into(), default.clone());
    }
    if input.required {
        all.insert("required".into(), true.into());
    }
    Ok(Tree::Object(all))
}

fn semantic_kernel(
    parts: &FileParts,
    body: &ConvertedTemplate,
) -> Result<Object<String, Tree>, Vec<ConvertNote>> {
    let format = match body.format.as_str() {
        "semantic-kernel-handlebars" => "handlebars",
        "semantic-kernel-jinja2" => "jinja2",
        "semantic-kernel-liquid" => "liquid",
        _ => "semantic-kernel",
    };
    let mut all = Object::new();
    all.insert("template_format".into(), format.into());
    let inputs: Result<Vec<Tree>, Vec<ConvertNote>> = parts.inputs.iter().map(variable).collect();
    all.insert("input_variables".into(), Tree::Array(inputs?));
    if parts.trusted_results {
        all.insert("allow_dangerously_set_content".into(), true.into());
    }
    let mut settings = Object::new();
    settings.extend(
        parts
            .model
            .iter()
            .map(|id| ("model_id".to_owned(), Tree::from(id.as_str()))),
    );
    settings.extend(renamed(&parts.options, &[("stop", "stop_sequences")]));
    if !settings.is_empty() {
        all.insert("execution_settings".into(), json!({ "default": settings }));
    }
    Ok(all)
}

fn variable(input: &FileVariable) -> Result<Tree, Vec<ConvertNote>> {
    let mut all = Object::new();
    all.insert("name".into(), input.name.as_str().into());
    let mut schema = input.schema.clone();
    if let Some(description) = schema.remove("description") {
        all.insert("description".into(), description);
    }
    match &input.default {
        Some(Tree::String(text)) => drop(all.insert("default".into(), text.as_str().into())),
        Some(other) => {
            let reason = format!(
                "the default of {} is {other}, but the other format requires a string",
                input.name
            );
            return Err(vec![ConvertNote::key("default", reason)]);
        }
        None => {}
    }
    all.insert("is_required".into(), input.required.into());
    if !schema.is_empty() {
        let text = Tree::Object(schema).to_string();
        all.insert("json_schema".into(), text.into());
    }
    if input.trusted {
        all.insert("allow_dangerously_set_content".into(), true.into());
    }
    Ok(Tree::Object(all))
}

/// Checks that files can represent how a prompt handles missing variables.
pub(super) fn lenient(prompt: &Prompt) -> Result<(), Vec<ConvertNote>> {
    if prompt.missing == Missing::Default {
        return Ok(());
    }
    let reason = "a missing variable is an error in this prompt, but prints nothing in the other format: set \"missing\": \
        \"lenient\"";
    Err(vec![ConvertNote::key("missing", reason)])
}
