//! Semantic Kernel's prompt functions: one YAML file, or a folder with `skprompt.txt` and
//! `config.json`.
//!
//! The fields are those of `PromptTemplateConfig`. As in Semantic Kernel, an unknown key is an
//! error in YAML and ignored in `config.json`, here with a warning. Model settings may have any
//! keys.

use std::sync::Arc;

use quillet_core::{LineColumn, Value, nearest};
use quillet_template::structure::has_role_lines;
use quillet_template::{MessageSyntax, Missing};
use serde_json::{Map as Object, Value as Tree, json};

use super::block;
use super::source::{PromptFile, full_span};
use super::yaml::{self, Report, YamlData, YamlEntry, YamlNode};
use crate::checked::CheckResult;
use crate::definition::{Prompt, PromptBody};
use crate::options::chat_options;
use crate::parameters::Parameters;
use crate::template_location::{TemplateLocation, TemplatePlacement};

const KEYS: [&str; 8] = [
    "name",
    "description",
    "template_format",
    "template",
    "input_variables",
    "output_variable",
    "execution_settings",
    "allow_dangerously_set_content",
];

/// Additional keys of `config.json`: the version and kind of its schema.
const FOLDER_KEYS: [&str; 2] = ["schema", "type"];

const VARIABLE_KEYS: [&str; 7] = [
    "name",
    "description",
    "default",
    "is_required",
    "json_schema",
    "allow_dangerously_set_content",
    "sample",
];

/// Keys from before Semantic Kernel 1, which it no longer reads, and their replacements.
const OLD_KEYS: [(&str, &str); 4] = [
    ("completion", "execution_settings"),
    ("input", "input_variables"),
    ("default_services", "execution_settings"),
    ("output_variables", "output_variable"),
];

/// Keys of input variables from before Semantic Kernel 1, and their replacements.
const OLD_VARIABLE_KEYS: [(&str, &str); 3] = [
    ("required", "is_required"),
    ("defaultValue", "default"),
    ("type", "json_schema"),
];

/// Handling of unknown keys.
#[derive(Clone, Copy, PartialEq, Eq)]
enum UnknownKeyPolicy {
    /// An error, as in the YAML reader of .NET.
    Refused,
    /// A warning. The JSON readers of .NET and Python ignore the key.
    PassedOver,
}

/// Template formats of Semantic Kernel and their names here.
const FORMATS: [(&str, &str); 4] = [
    ("semantic-kernel", "semantic-kernel"),
    ("handlebars", "semantic-kernel-handlebars"),
    ("jinja2", "semantic-kernel-jinja2"),
    ("liquid", LIQUID),
];

/// The only format that supports role lines.
const LIQUID: &str = "semantic-kernel-liquid";

/// Settings that are not chat options.
const NO_OPTIONS: [&str; 3] = ["service_id", "model_id", "function_choice_behavior"];

/// Whether a YAML text is a function: its top level has `template`, and either `template_format` or
/// `input_variables`.
pub(super) fn claims(text: &str) -> bool {
    let has = |key: &str| {
        text.lines().any(|line| {
            let line = line.trim_start_matches('\u{feff}');
            let rest = line.strip_prefix(key).map(str::trim_start);
            rest.is_some_and(|rest| rest.starts_with(':'))
        })
    };
    has("template") && (has("template_format") || has("input_variables"))
}

pub(super) fn read(file: &PromptFile<'_>) -> CheckResult<Prompt> {
    let range = full_span(file.text);
    let node = yaml::parse(file.name, file.text, range)?;
    let mut report = Report::new(file.name, file.text);
    let template = report.text(&node, "template");
    if template.is_none() && report.errors.is_empty() {
        report.error(node.at, "a prompt function needs a template", None);
    }
    let at = node.get("template").map_or(0, |node| node.at);
    let standing = block::standing(file.text, at, template.as_deref().unwrap_or_default());
    let prompt = prompt(file, template.unwrap_or_default(), standing);
    finish(prompt, &node, UnknownKeyPolicy::Refused, report)
}

pub(super) fn read_folder(file: &PromptFile<'_>) -> CheckResult<Prompt> {
    let standing = TemplatePlacement::Verbatim(0, LineColumn { line: 1, column: 1 });
    let prompt = prompt(file, file.text.to_owned(), standing);
    // Without a config.json, a function consists of its text only.
    let (name, text) = file.config.unwrap_or((file.name, ""));
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let range = full_span(text);
    let node = yaml::parse(name, text, range)?;
    let mut report = Report::new(name, text);
    if let Some(template) = node.get("template") {
        let message = "in a folder, the template is in skprompt.txt: remove this key";
        report.error(template.at, message, None);
    }
    finish(prompt, &node, UnknownKeyPolicy::PassedOver, report)
}

fn prompt(file: &PromptFile<'_>, template: String, standing: TemplatePlacement) -> Prompt {
    Prompt {
        id: file.id.into(),
        body: PromptBody::Text(template.into()),
        format: "semantic-kernel".into(),
        missing: Missing::Default,
        messages: MessageSyntax::Elements,
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
            standing,
        }),
    }
}

fn finish(
    mut prompt: Prompt,
    node: &YamlNode,
    unknown: UnknownKeyPolicy,
    mut report: Report<'_>,
) -> CheckResult<Prompt> {
    if node.entries().is_empty() && !node.is_null() {
        let message = format!("a prompt function must be an object, not {}", node.kind());
        report.error(node.at, message, None);
    }
    let more: &[&str] = match unknown {
        UnknownKeyPolicy::Refused => &[],
        UnknownKeyPolicy::PassedOver => &FOLDER_KEYS,
    };
    let known: Vec<&str> = KEYS.iter().chain(more).copied().collect();
    unknown.report(node, &known, &OLD_KEYS, &mut report);
    report.text(node, "name");
    report.text(node, "description");
    format(&mut prompt, node, &mut report);
    inputs(&mut prompt, node, unknown, &mut report);
    settings(&mut prompt, node, &mut report);
    if let Some(output) = report.map(node, "output_variable") {
        let known = ["description", "json_schema"];
        unknown.report(output, &known, &[], &mut report);
    }
    // In .NET this flag affects function results and values, but not variables.
    prompt.trusted_results = report.truth(node, "allow_dangerously_set_content") == Some(true);
    prompt.metadata = node.object();
    prompt.metadata.remove("template");
    prompt.raw = node.tree().into();
    if report.errors.is_empty() {
        return Ok((prompt, report.warnings));
    }
    Err(report.errors)
}

impl UnknownKeyPolicy {
    fn report(
        self,
        node: &YamlNode,
        known: &[&str],
        old: &[(&str, &str)],
        report: &mut Report<'_>,
    ) {
        for YamlEntry { key, at, .. } in node.entries() {
            if known.contains(&key.as_str()) {
                continue;
            }
            let now = old.iter().find(|(old, _)| old == key).map(|(_, now)| *now);
            let help = match (now, nearest(key, known.iter().copied())) {
                (Some(now), _) => format!("in Semantic Kernel it is {now:?}"),
                (None, Some(near)) => format!("did you mean {near:?}?"),
                (None, None) => format!("keys are {}", known.join(", ")),
            };
            let message = format!("unknown key {key:?}");
            match self {
                UnknownKeyPolicy::Refused => report.error(*at, message, Some(help)),
                UnknownKeyPolicy::PassedOver => {
                    let message = format!("{message}: it is kept but has no effect");
                    report.warning(*at, message, Some(help));
                }
            }
        }
    }
}

fn format(prompt: &mut Prompt, node: &YamlNode, report: &mut Report<'_>) {
    let Some(name) = report.text(node, "template_format") else {
        return;
    };
    let known = FORMATS
        .iter()
        .find(|(theirs, _)| theirs.eq_ignore_ascii_case(&name));
    if let Some((_, ours)) = known {
        prompt.format = (*ours).into();
        let has_role_lines = match &prompt.body {
            PromptBody::Text(text) => has_role_lines(text, true),
            PromptBody::Messages(_) | PromptBody::Script(_) => false,
        };
        if *ours == LIQUID && has_role_lines {
            prompt.messages = MessageSyntax::RoleLines;
        }
        return;
    }
    let at = node.get("template_format").map_or(0, |node| node.at);
    let names: Vec<&str> = FORMATS.iter().map(|(theirs, _)| *theirs).collect();
    let message = format!("unknown template_format {name:?}");
    let help = format!("formats are {}", names.join(", "));
    report.error(at, message, Some(help));
}

fn inputs(
    prompt: &mut Prompt,
    node: &YamlNode,
    unknown: UnknownKeyPolicy,
    report: &mut Report<'_>,
) {
    let Some(list) = node.get("input_variables") else {
        return;
    };
    let YamlData::List(items) = &list.data else {
        let message = format!("input_variables must be a list, not {}", list.kind());
        return report.error(list.at, message, None);
    };
    let (mut schemas, mut required, mut presets) = (Object::new(), Vec::new(), Vec::new());
    for item in items {
        unknown.report(item, &VARIABLE_KEYS, &OLD_VARIABLE_KEYS, report);
        let Some(name) = report.text(item, "name") else {
            report.error(item.at, "an input variable needs a name", None);
            continue;
        };
        let default = default(item, report);
        if let Some(text) = &default {
            presets.push((Arc::from(name.as_str()), Value::from(text.as_str())));
        } else if report.truth(item, "is_required") != Some(false) {
            required.push(name.clone());
        }
        if report.truth(item, "allow_dangerously_set_content") == Some(true) {
            prompt.trusted.push(name.clone());
        }
        schemas.insert(name, schema(item, default, report));
    }
    let tree = json!({"type": "object", "properties": schemas, "required": required});
    match Parameters::of_schema(&tree, presets) {
        Ok(parameters) => prompt.parameters = parameters,
        Err(message) => report.error(list.at, message, None),
    }
}

/// Reads a default as text. Semantic Kernel accepts only text, so numbers and booleans of YAML are
/// converted.
fn default(item: &YamlNode, report: &mut Report<'_>) -> Option<String> {
    let node = item.get("default")?;
    match &node.data {
        YamlData::Scalar(Tree::String(text)) => Some(text.clone()),
        YamlData::Scalar(other) => Some(other.to_string()),
        _ => {
            let help = "quote the value: Semantic Kernel accepts only strings";
            let message = format!("default must be a string, not {}", node.kind());
            report.error(node.at, message, Some(help.into()));
            None
        }
    }
}

/// Parses a variable's `json_schema`, which is JSON text, and adds its description and default.
fn schema(item: &YamlNode, default: Option<String>, report: &mut Report<'_>) -> Tree {
    let mut schema = Object::new();
    if let Some(node) = item.get("json_schema") {
        let read = match node.as_str() {
            Some(text) => serde_json::from_str(text).ok(),
            None => Some(node.tree()),
        };
        match read {
            Some(Tree::Object(object)) => schema = object,
            _ => report.error(
                node.at,
                "json_schema must be the JSON text of a schema",
                None,
            ),
        }
    }
    if let Some(text) = report.text(item, "description") {
        schema.entry("description").or_insert_with(|| text.into());
    }
    if let Some(text) = default {
        schema.insert("default".into(), text.into());
    }
    Tree::Object(schema)
}

/// Reads the execution settings. The section `default` is used, or else the first one.
fn settings(prompt: &mut Prompt, node: &YamlNode, report: &mut Report<'_>) {
    let Some(services) = report.map(node, "execution_settings") else {
        return;
    };
    for YamlEntry { key, value, .. } in services.entries() {
        let id = value.get("service_id");
        if let Some(id) = id.filter(|id| id.as_str() != Some(key.as_str())) {
            let message = format!("service_id must be {key:?}, the key of its section");
            report.error(id.at, message, None);
        }
    }
    let used = services.get("default");
    let Some(used) = used.or_else(|| services.entries().first().map(|entry| &entry.value)) else {
        return;
    };
    prompt.model = report.text(used, "model_id");
    let mut settings = used.object();
    settings.retain(|key, _| !NO_OPTIONS.contains(&key.as_str()));
    match chat_options(&settings) {
        Ok(options) => prompt.options = options.into(),
        Err(message) => report.error(used.at, message, None),
    }
}
