//! prompty, version 2: front matter and a template with role lines. Version 1 files are supported
//! too; their old names are mapped to the new ones.
//!
//! Based on microsoft/prompty and its conformance vectors. Only role lines in the file's own text
//! define roles, never the values of inputs; this is prompty's `strict` mode. Parts without a
//! counterpart here (connections, tools, outputs) are stored in [`Prompt::metadata`].

use std::sync::Arc;

use quillet_core::{Value, nearest};
use quillet_template::{MessageSyntax, Missing};
use serde_json::{Map as Object, Value as Tree, json};

use super::front_matter::{self, FrontMatter};
use super::source::{PromptFile, full_span};
use super::yaml::{self, Report, YamlData, YamlEntry, YamlNode};
use super::{FileEnvironment, references};
use crate::checked::CheckResult;
use crate::definition::{Prompt, PromptBody};
use crate::options::chat_options;
use crate::parameters::Parameters;
use crate::rich::{RichKind, StructuredVariable};
use crate::template_location::{TemplateLocation, TemplatePlacement};

const KEYS: [&str; 13] = [
    "name",
    "displayName",
    "description",
    "metadata",
    "model",
    "inputs",
    "sample",
    "outputs",
    "tools",
    "template",
    "version",
    "kind",
    "instructions",
];

/// Keys of version 1 and their replacements.
const OLD_KEYS: [(&str, &str); 3] = [
    ("configuration", "model.connection"),
    ("parameters", "model.options"),
    ("authors", "metadata.authors"),
];

/// Kind names in use in version 1, which did not validate them, and their replacements.
const OLD_KINDS: [(&str, &str); 7] = [
    ("list", "array"),
    ("int", "integer"),
    ("bool", "boolean"),
    ("str", "string"),
    ("text", "string"),
    ("dict", "object"),
    ("double", "float"),
];

pub(super) fn read(file: &PromptFile<'_>, outside: &dyn FileEnvironment) -> CheckResult<Prompt> {
    let mut report = Report::new(file.name, file.text);
    let all = FrontMatter {
        front: quillet_core::Span { start: 0, end: 0 },
        body: full_span(file.text),
    };
    let parts = front_matter::prompty(file.text);
    let lead = file.text.len() - file.text.trim_start().len();
    if parts.is_none() && file.text[lead..].starts_with("---") {
        let help = "end the front matter with a line `---`";
        report.error(lead, "the front matter has no end", Some(help.into()));
        return Err(report.errors);
    }
    let parts = parts.unwrap_or(all);
    let mut node = yaml::parse(file.name, file.text, parts.front)?;
    let raw = node.object();
    if node.entries().is_empty() && !node.is_null() {
        let message = format!("front matter must be an object, not {}", node.kind());
        report.error(node.at, message, None);
    }
    references::resolve(&mut node, outside, &mut report);
    let mut prompt = prompt(file, parts, &report);
    prompt.raw = Tree::Object(raw).into();
    fill(&mut prompt, &node, &mut report);
    if report.errors.is_empty() {
        return Ok((prompt, report.warnings));
    }
    Err(report.errors)
}

fn prompt(file: &PromptFile<'_>, parts: FrontMatter, report: &Report<'_>) -> Prompt {
    let start = parts.body.start;
    Prompt {
        id: file.id.into(),
        body: PromptBody::Text(file.text[start..parts.body.end].into()),
        format: "jinja-plain".into(),
        missing: Missing::Default,
        messages: MessageSyntax::RoleLines,
        trusted: Vec::new(),
        trusted_results: false,
        parameters: Parameters::default(),
        rich: Vec::new(),
        model: None,
        options: Arc::default(),
        metadata: Object::new(),
        raw: Tree::Null.into(),
        place: Some(TemplateLocation {
            source: file.name.into(),
            standing: TemplatePlacement::Verbatim(start, report.position(start)),
        }),
    }
}

fn fill(prompt: &mut Prompt, node: &YamlNode, report: &mut Report<'_>) {
    prompt.metadata = node.object();
    prompt.metadata.insert("kind".into(), "prompt".into());
    keys(node, report);
    for key in ["name", "displayName", "description", "version"] {
        report.scalar(node, key);
    }
    model(prompt, node, report);
    template(prompt, node, report);
    inputs(prompt, node, report);
    let outputs = node.get("outputs").map(|node| properties(node, report));
    keep(prompt, "outputs", outputs);
    tools(prompt, node, report);
}

fn keep(prompt: &mut Prompt, key: &str, properties: Option<Vec<PromptyProperty>>) {
    if let Some(properties) = properties {
        let all = properties.into_iter().map(|one| Tree::Object(one.said));
        prompt.metadata.insert(key.into(), all.collect());
    }
}

fn keys(node: &YamlNode, report: &mut Report<'_>) {
    for YamlEntry { key, at, .. } in node.entries() {
        if KEYS.contains(&key.as_str()) {
            continue;
        }
        let old = OLD_KEYS.iter().find(|(old, _)| old == key);
        let help = match (old, nearest(key, KEYS)) {
            (Some((_, new)), _) => format!("in version 2 it is {new}"),
            (None, Some(near)) => format!("did you mean {near:?}?"),
            (None, None) => "custom keys go under metadata".into(),
        };
        report.warning(
            *at,
            format!("unknown key {key:?}: it is kept but has no effect"),
            Some(help),
        );
    }
}

/// Reads `model`: a name, or an object with `id` and `options`.
fn model(prompt: &mut Prompt, node: &YamlNode, report: &mut Report<'_>) {
    let Some(model) = node.get("model") else {
        return;
    };
    if let Some(name) = model.as_str() {
        prompt.model = Some(name.to_owned());
        prompt
            .metadata
            .insert("model".into(), json!({ "id": name }));
        return;
    }
    let Some(model) = report.map(node, "model") else {
        return;
    };
    prompt.model = report.text(model, "id").or_else(|| old_name(model));
    for key in ["provider", "apiType"] {
        report.text(model, key);
    }
    let options = report.map(model, "options");
    let Some(options) = options.or_else(|| report.map(model, "parameters")) else {
        return;
    };
    let mut settings = options.object();
    if let Some(Tree::Object(more)) = settings.remove("additionalProperties") {
        settings.extend(more);
    }
    match chat_options(&settings) {
        Ok(settings) => prompt.options = settings.into(),
        Err(message) => report.error(options.at, message, None),
    }
}

/// Model name from the connection of a version 1 file, unless it is a reference to the environment.
fn old_name(model: &YamlNode) -> Option<String> {
    let connection = model.get("configuration")?;
    let names = ["name", "azure_deployment"];
    let mut names = names.iter().filter_map(|key| connection.get(key)?.as_str());
    let name = names.find(|name| !name.starts_with("${"))?;
    Some(name.to_owned())
}

/// Reads `template: {format: jinja2 | mustache, parser: prompty}`. Each value is a name or
/// `{kind}`.
fn template(prompt: &mut Prompt, node: &YamlNode, report: &mut Report<'_>) {
    let mut said = Object::new();
    let template = node.get("template");
    if let Some(wrong) = template.filter(|node| !matches!(node.data, YamlData::Map(_))) {
        let help = "write template: {format: {kind: jinja2}, parser: {kind: prompty}}";
        let message = "Invalid template format: template must be an object";
        return report.error(wrong.at, message, Some(help.into()));
    }
    for (key, default) in [("format", "jinja2"), ("parser", "prompty")] {
        let part = template.and_then(|template| template.get(key));
        let kind = part.map_or(Some(default), |part| {
            part.as_str()
                .or_else(|| part.get("kind").and_then(YamlNode::as_str))
        });
        let at = part.map_or(0, |part| part.at);
        match (key, kind) {
            // `nunjucks` is the engine of the TypeScript runtime.
            ("format", Some("jinja2" | "jinja" | "nunjucks")) => {}
            ("format", Some(format @ ("mustache" | "liquid"))) => prompt.format = format.into(),
            ("parser", Some("prompty")) => {}
            (_, kind) => {
                let known = if key == "format" {
                    "jinja2, mustache and liquid"
                } else {
                    "prompty"
                };
                let kind = kind.unwrap_or_default();
                report.error(
                    at,
                    format!("unknown template {key} {kind:?}; expected {known}"),
                    None,
                );
            }
        }
        let given = part.filter(|part| matches!(part.data, YamlData::Map(_)));
        let object = given.map_or_else(|| json!({ "kind": kind }), YamlNode::tree);
        said.insert(key.into(), object);
    }
    prompt
        .metadata
        .insert("template".into(), Tree::Object(said));
}

/// An entry of `inputs` or `outputs`.
struct PromptyProperty {
    name: String,
    kind: String,
    /// Byte offset in the file.
    at: usize,
    /// Whether the file declares the kind, so that values are validated.
    checked: bool,
    /// The entry in its object form.
    said: Object<String, Tree>,
}

/// Reads a list of named objects, or a map from names to objects or defaults.
fn properties(node: &YamlNode, report: &mut Report<'_>) -> Vec<PromptyProperty> {
    let mut found = Vec::new();
    match &node.data {
        YamlData::List(items) => {
            for item in items {
                let name = item.get("name").and_then(YamlNode::as_str);
                match name {
                    Some(name) => found.extend(property(name, item, report)),
                    None => report.error(item.at, "missing name", None),
                }
            }
        }
        YamlData::Map(entries) => {
            for entry in entries {
                found.extend(property(&entry.key, &entry.value, report));
            }
        }
        YamlData::Scalar(_) => {
            let message = format!(
                "inputs and outputs are lists or objects, not {}",
                node.kind()
            );
            report.error(node.at, message, None);
        }
    }
    found
}

fn property(name: &str, node: &YamlNode, report: &mut Report<'_>) -> Option<PromptyProperty> {
    let mut said = Object::new();
    said.insert("name".into(), name.into());
    let (kind, checked) = match &node.data {
        YamlData::Map(_) => {
            said.extend(node.object());
            match (node.get("kind"), node.get("type")) {
                (Some(kind), _) => (kind_named(name, kind, report)?, true),
                (None, Some(kind)) => old_kind(name, kind, report),
                (None, None) => {
                    let kind = node.get("default").map_or("string", kind_of);
                    (kind.to_owned(), node.get("default").is_some())
                }
            }
        }
        _ => {
            said.insert("default".into(), node.tree());
            (kind_of(node).to_owned(), true)
        }
    };
    if let Some(sample) = said.remove("sample") {
        said.entry("default").or_insert(sample);
    }
    said.remove("type");
    said.insert("kind".into(), kind.as_str().into());
    Some(PromptyProperty {
        name: name.to_owned(),
        kind,
        at: node.at,
        checked,
        said,
    })
}

/// Validates a kind of version 2.
fn kind_named(name: &str, kind: &YamlNode, report: &mut Report<'_>) -> Option<String> {
    let said = kind.as_str().unwrap_or_default();
    let old = OLD_KINDS.iter().find(|(old, _)| *old == said);
    let meant = old.map_or(said, |(_, new)| new);
    if json_type(meant).is_some() || RichKind::parse(meant).is_some() {
        return Some(meant.to_owned());
    }
    let known = "string, integer, float, boolean, array, object, thread, image, file, audio";
    let message = format!("{name} has the unknown kind {said:?}; kinds are {known}");
    report.error(kind.at, message, None);
    None
}

/// Maps `type` of version 1 to a kind. The second value says whether values are validated: version
/// 1 ignored the type, so an unknown one accepts any value.
fn old_kind(name: &str, kind: &YamlNode, report: &mut Report<'_>) -> (String, bool) {
    let said = kind.as_str().unwrap_or_default();
    let lower = said.to_ascii_lowercase();
    let old = OLD_KINDS.iter().find(|(old, _)| *old == lower);
    let new = old.map_or(lower.as_str(), |(_, new)| new);
    if json_type(new).is_some() || RichKind::parse(new).is_some() {
        return (new.to_owned(), true);
    }
    let message = format!("{name} has the unknown type {said:?}: any value is accepted");
    let help = "kinds are string, integer, float, boolean, array, object";
    report.warning(kind.at, message, Some(help.into()));
    (said.to_owned(), false)
}

/// Declares an input that occurs only in the sample of a version 1 file. Its kind is not validated,
/// because the sample may not be typical.
fn sampled(sample: &YamlEntry) -> PromptyProperty {
    let kind = kind_of(&sample.value).to_owned();
    let mut said = Object::new();
    said.insert("name".into(), sample.key.as_str().into());
    said.insert("default".into(), sample.value.tree());
    said.insert("kind".into(), kind.as_str().into());
    PromptyProperty {
        name: sample.key.clone(),
        kind,
        at: sample.at,
        checked: false,
        said,
    }
}

/// Derives the kind from a default without a declaration.
fn kind_of(node: &YamlNode) -> &'static str {
    match &node.data {
        YamlData::Scalar(Tree::Bool(_)) => "boolean",
        YamlData::Scalar(Tree::Number(number)) if number.is_f64() => "float",
        YamlData::Scalar(Tree::Number(_)) => "integer",
        YamlData::Scalar(_) => "string",
        YamlData::List(_) => "array",
        YamlData::Map(_) => "object",
    }
}

fn json_type(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "string" => "string",
        "integer" => "integer",
        "float" | "number" => "number",
        "boolean" => "boolean",
        "array" => "array",
        "object" => "object",
        _ => return None,
    })
}

/// Reads the declared inputs. Examples are not used as defaults. An optional input without a
/// default stays undefined.
fn inputs(prompt: &mut Prompt, node: &YamlNode, report: &mut Report<'_>) {
    let samples = node
        .get("sample")
        .filter(|it| matches!(it.data, YamlData::Map(_)));
    let declared = node.get("inputs");
    let Some(inputs) = declared.or(samples) else {
        return;
    };
    let mut found = declared.map_or_else(Vec::new, |declared| properties(declared, report));
    for sample in samples.map_or(&[][..], YamlNode::entries) {
        match found.iter_mut().find(|it| it.name == sample.key) {
            Some(known) => drop(
                known
                    .said
                    .entry("default")
                    .or_insert_with(|| sample.value.tree()),
            ),
            None => found.push(sampled(sample)),
        }
    }
    for property in &mut found {
        doubt(property, report);
    }
    let (mut schemas, mut required, mut presets) = (Object::new(), Vec::new(), Vec::new());
    for property in &found {
        let PromptyProperty {
            name, kind, said, ..
        } = property;
        let default = said.get("default").filter(|value| !value.is_null());
        if let Some(value) = default {
            presets.push((Arc::from(name.as_str()), Value::from(value.clone())));
        } else if said.get("required").and_then(Tree::as_bool) == Some(true) {
            required.push(name.clone());
        }
        if let Some(kind) = RichKind::parse(kind) {
            let name = name.as_str().into();
            prompt.rich.push(StructuredVariable { name, kind });
        }
        schemas.insert(name.clone(), schema(property));
    }
    let tree = json!({"type": "object", "properties": schemas, "required": required});
    match Parameters::of_schema(&tree, presets) {
        Ok(parameters) => prompt.parameters = parameters,
        Err(message) => report.error(inputs.at, message, None),
    }
    keep(prompt, "inputs", Some(found));
}

/// Disables validation if the default contradicts the declared kind. Prompty validates neither, so
/// both kinds of values may be in use.
fn doubt(property: &mut PromptyProperty, report: &mut Report<'_>) {
    let Some(value) = property.said.get("default") else {
        return;
    };
    let fits = match json_type(&property.kind) {
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => true,
    };
    if fits || value.is_null() || !property.checked {
        return;
    }
    property.checked = false;
    let PromptyProperty { name, kind, .. } = property;
    let message = format!(
        "the default of {name} does not match the kind {kind}: any value of \
        {name} is accepted"
    );
    let help = "set the kind that matches its values";
    report.warning(property.at, message, Some(help.into()));
}

fn schema(property: &PromptyProperty) -> Tree {
    let said = &property.said;
    let mut schema = Object::new();
    if let Some(kind) = json_type(&property.kind).filter(|_| property.checked) {
        schema.insert("type".into(), kind.into());
    }
    let names = [
        ("description", "description"),
        ("default", "default"),
        ("enumValues", "enum"),
    ];
    for (theirs, ours) in names {
        if let Some(value) = said.get(theirs).filter(|value| !value.is_null()) {
            schema.insert(ours.into(), value.clone());
        }
    }
    Tree::Object(schema)
}

/// Adds tools to the model options. Bindings between tool arguments and inputs are left out,
/// because the model must not see them.
fn tools(prompt: &mut Prompt, node: &YamlNode, report: &mut Report<'_>) {
    let Some(tools) = node.get("tools") else {
        return;
    };
    let YamlData::List(items) = &tools.data else {
        return report.error(
            tools.at,
            format!("tools must be a list, not {}", tools.kind()),
            None,
        );
    };
    for item in items {
        for key in ["name", "kind"] {
            if report.text(item, key).is_none() {
                report.error(item.at, format!("a tool needs a {key}"), None);
            }
        }
    }
    let functions: Vec<Tree> = items.iter().filter_map(function).collect();
    if !functions.is_empty() {
        Arc::make_mut(&mut prompt.options)
            .extra
            .insert("tools".into(), Tree::Array(functions));
    }
}

/// Converts a function to the form that models receive. Other kinds of tools are not sent to a
/// model.
fn function(tool: &YamlNode) -> Option<Tree> {
    if tool.get("kind")?.as_str() != Some("function") {
        return None;
    }
    let bound = tool
        .get("bindings")
        .map(YamlNode::object)
        .unwrap_or_default();
    let mut silent = Report::new("", "");
    let parameters = tool
        .get("parameters")
        .map(|node| properties(node, &mut silent));
    let (mut schemas, mut required) = (Object::new(), Vec::new());
    for property in parameters.unwrap_or_default() {
        if bound.contains_key(&property.name) {
            continue;
        }
        if property.said.get("required").and_then(Tree::as_bool) == Some(true) {
            required.push(property.name.clone());
        }
        let schema = schema(&property);
        schemas.insert(property.name, schema);
    }
    let mut function = Object::new();
    for key in ["name", "description", "strict"] {
        if let Some(value) = tool.get(key) {
            function.insert(key.into(), value.tree());
        }
    }
    let parameters = json!({"type": "object", "properties": schemas, "required": required});
    function.insert("parameters".into(), parameters);
    Some(json!({"type": "function", "function": function}))
}
