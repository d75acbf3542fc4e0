//! dotprompt: YAML front matter, then a template of the format `dotprompt`.
//!
//! The rules are those of the reference implementation (google/dotprompt). If the reference ignores
//! something silently, such as an unknown key or a front matter that it reads as text, this parser
//! adds a warning.

use std::sync::Arc;

use quillet_core::{Span, Value, nearest};
use quillet_template::{MessageSyntax, Missing};
use serde_json::{Map as Object, Value as Tree, json};

use super::source::{PromptFile, full_span};
use super::yaml::{self, Report, YamlEntry, YamlNode};
use super::{FileEnvironment, front_matter, picoschema};
use crate::checked::CheckResult;
use crate::definition::{Prompt, PromptBody};
use crate::options::chat_options;
use crate::parameters::Parameters;
use crate::template_location::{TemplateLocation, TemplatePlacement};

/// The `RESERVED_METADATA_KEYWORDS` of the reference, and `metadata`, which is in its type
/// definitions.
const KEYS: [&str; 13] = [
    "config",
    "description",
    "ext",
    "input",
    "metadata",
    "model",
    "name",
    "output",
    "raw",
    "toolDefs",
    "tools",
    "variant",
    "version",
];

pub(super) fn read(file: &PromptFile<'_>, outside: &dyn FileEnvironment) -> CheckResult<Prompt> {
    let mut report = Report::new(file.name, file.text);
    let Some(parts) = front_matter::dotprompt(file.text) else {
        warn_of_front_matter(file.text, &mut report);
        let prompt = prompt(file, full_span(file.text), &report, Front::default());
        return Ok((prompt, report.warnings));
    };
    let node = yaml::parse(file.name, file.text, parts.front)?;
    let front = read_front(&node, outside, &mut report);
    if !report.errors.is_empty() {
        return Err(report.errors);
    }
    let prompt = prompt(file, parts.body, &report, front);
    Ok((prompt, report.warnings))
}

/// Parsed front matter.
#[derive(Default)]
struct Front {
    raw: Object<String, Tree>,
    metadata: Object<String, Tree>,
    parameters: Parameters,
    model: Option<String>,
    options: quillet_core::chat::ChatOptions,
}

fn prompt(file: &PromptFile<'_>, body: Span, report: &Report<'_>, front: Front) -> Prompt {
    Prompt {
        id: file.id.into(),
        body: PromptBody::Text(file.text[body.start..body.end].into()),
        format: "dotprompt".into(),
        missing: Missing::Default,
        messages: MessageSyntax::Plain,
        trusted: Vec::new(),
        trusted_results: false,
        parameters: front.parameters,
        rich: Vec::new(),
        model: front.model,
        options: front.options.into(),
        metadata: with_base(front.metadata),
        raw: Tree::Object(front.raw).into(),
        place: Some(TemplateLocation {
            source: file.name.into(),
            standing: TemplatePlacement::Verbatim(body.start, report.position(body.start)),
        }),
    }
}

/// Adds three keys that are always present in the reference.
fn with_base(mut metadata: Object<String, Tree>) -> Object<String, Tree> {
    for key in ["ext", "metadata", "config"] {
        metadata
            .entry(key)
            .or_insert_with(|| Tree::Object(Object::new()));
    }
    metadata
}

/// Warns about a front matter that is indented, empty or unclosed, because the reference then reads
/// the whole file as the template.
fn warn_of_front_matter(text: &str, report: &mut Report<'_>) {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim();
        if bare == "---" {
            let help = if line.starts_with('-') {
                "end the front matter with a line `---`, and write the keys above that line"
            } else {
                "begin the line with `---`, without white space before it"
            };
            let message = "this is read as prompt text, not as front matter";
            return report.warning(at, message, Some(help.into()));
        }
        if !bare.is_empty() && !bare.starts_with('#') {
            return;
        }
        at += line.len();
    }
}

fn read_front(node: &YamlNode, outside: &dyn FileEnvironment, report: &mut Report<'_>) -> Front {
    let mut front = Front {
        raw: node.object(),
        ..Front::default()
    };
    if node.entries().is_empty() && !node.is_null() {
        report.error(
            node.at,
            format!("front matter must be an object, not {}", node.kind()),
            None,
        );
    }
    let mut ext = Object::new();
    for entry in node.entries() {
        if KEYS.contains(&entry.key.as_str()) {
            front.metadata.insert(entry.key.clone(), entry.value.tree());
        } else if let Some((space, name)) = entry.key.rsplit_once('.') {
            extend(&mut ext, space, name, entry.value.tree());
        } else {
            warn_of_key(entry, report);
        }
    }
    if !ext.is_empty() || !front.metadata.contains_key("ext") {
        front.metadata.insert("ext".into(), Tree::Object(ext));
    }
    for key in ["name", "variant", "version", "description"] {
        report.scalar(node, key);
    }
    front.model = report.text(node, "model");
    if let Some(config) = report.map(node, "config") {
        match chat_options(&config.object()) {
            Ok(options) => front.options = options,
            Err(message) => report.error(config.at, message, None),
        }
    }
    input(node, outside, &mut front, report);
    output(node, outside, &mut front, report);
    front
}

fn warn_of_key(entry: &YamlEntry, report: &mut Report<'_>) {
    let message = format!("unknown key {:?}: it is kept but has no effect", entry.key);
    let help = match nearest(&entry.key, KEYS) {
        Some(near) => format!("did you mean {near:?}?"),
        None => "custom keys contain a dot, as in myext.key".into(),
    };
    report.warning(entry.at, message, Some(help));
}

fn extend(ext: &mut Object<String, Tree>, space: &str, name: &str, value: Tree) {
    let inner = ext
        .entry(space)
        .or_insert_with(|| Tree::Object(Object::new()));
    if let Tree::Object(inner) = inner {
        inner.insert(name.into(), value);
    }
}

fn input(
    node: &YamlNode,
    outside: &dyn FileEnvironment,
    front: &mut Front,
    report: &mut Report<'_>,
) {
    let Some(input) = report.map(node, "input") else {
        return;
    };
    let schema = schema(input, outside, report);
    let defaults = report.map(input, "default").map(YamlNode::object);
    if let Some(schema) = &schema {
        keep(&mut front.metadata, "input", schema);
    }
    match parameters(schema, defaults.unwrap_or_default()) {
        Ok(parameters) => front.parameters = parameters,
        Err(message) => match short_property(input) {
            Some(YamlEntry { key, at, value }) => {
                let kind = value.as_str().unwrap_or_default();
                let message = format!("{key} is {kind:?}, which is not a JSON Schema");
                let help = "in a schema with `type` and `properties` write `{type: string}`; \
                            the short form is for schemas without them";
                report.error(*at, message, Some(help.into()));
            }
            None => report.error(input.at, message, None),
        },
    }
}

/// Finds a property in short form inside a JSON Schema, where the short form is not allowed.
fn short_property(input: &YamlNode) -> Option<&YamlEntry> {
    let properties = input.get("schema")?.get("properties")?;
    let mut properties = properties.entries().iter();
    properties.find(|entry| entry.value.as_str().is_some())
}

fn output(
    node: &YamlNode,
    outside: &dyn FileEnvironment,
    front: &mut Front,
    report: &mut Report<'_>,
) {
    let Some(output) = report.map(node, "output") else {
        return;
    };
    let format = report.text(output, "format");
    let schema = schema(output, outside, report);
    if let Some(schema) = &schema {
        keep(&mut front.metadata, "output", schema);
    }
    // The same formats as in Genkit are accepted. Genkit's other formats (`jsonl`, `enum`, `array`,
    // `media`) need their own parsers.
    let form = match (format.as_deref(), schema) {
        (None | Some("json"), Some(schema)) => {
            json!({"type": "json_schema", "json_schema": {"name": "output", "schema": schema}})
        }
        (Some("json"), None) => json!({"type": "json_object"}),
        _ => return,
    };
    front.options.response_format.get_or_insert(form);
}

fn schema(node: &YamlNode, outside: &dyn FileEnvironment, report: &mut Report<'_>) -> Option<Tree> {
    match picoschema::read(node.get("schema")?, outside) {
        Ok(schema) => Some(schema),
        Err((at, message)) => {
            report.error(at, message, None);
            None
        }
    }
}

/// Replaces a Picoschema with its JSON Schema.
fn keep(metadata: &mut Object<String, Tree>, key: &str, schema: &Tree) {
    if let Some(Tree::Object(object)) = metadata.get_mut(key) {
        object.insert("schema".into(), schema.clone());
    }
}

/// Parameters of the prompt, derived from the schema. Properties with a default are not required. A
/// schema whose type is not an object does not describe variables.
fn parameters(schema: Option<Tree>, defaults: Object<String, Tree>) -> Result<Parameters, String> {
    let mut schema = match schema {
        Some(schema) if schema.get("type").and_then(Tree::as_str) == Some("object") => schema,
        _ if defaults.is_empty() => return Ok(Parameters::default()),
        _ => json!({"type": "object"}),
    };
    if let Some(Tree::Array(required)) = schema.get_mut("required") {
        // A variable with a default is not required.
        required.retain(|name| {
            name.as_str()
                .is_none_or(|name| !defaults.contains_key(name))
        });
    }
    for (name, value) in &defaults {
        if let Some(Tree::Object(property)) = schema.pointer_mut(&format!(
            "/properties/{}",
            name.replace('~', "~0").replace('/', "~1")
        )) {
            property.insert("default".into(), value.clone());
        }
    }
    let preset = |(name, value): (String, Tree)| (Arc::from(name), Value::from(value));
    Parameters::of_schema(&schema, defaults.into_iter().map(preset).collect())
}
