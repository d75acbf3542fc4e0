//! Descriptions of directives, scripts and variables for hovers and completion.

use quillet_core::{Value, json};
use quillet_yaml::Node;

use crate::answer::Inputs;
use crate::directive::{DirectiveForm, DirectiveSpec};
use crate::library::id;
use crate::syntax::Script;

/// Maximum number of characters of a value to display.
const MOST_SHOWN: usize = 200;

/// Describes a directive with its parameters.
pub(super) fn directive(directive: &DirectiveSpec) -> String {
    let mut out = format!("{}\n\n{}\n", signature(directive), directive.doc);
    for parameter in directive.parameters {
        let required = if parameter.required { ", required" } else { "" };
        out += &format!("\n- `{}`{required}: {}", parameter.name, parameter.doc);
    }
    if let DirectiveForm::Blocks(keys) = directive.form {
        let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
        out += &format!("\n- takes instructions below {}", keys.join(" and "));
    }
    if let DirectiveForm::Patterns = directive.form {
        out += "\n- takes instructions below patterns such as `:/re/`, `:> 1`, `:1..5`, and `_` for everything else";
    }
    if !directive.aliases.is_empty() {
        out += &format!("\n\nAlso called `${}`.", directive.aliases.join("`, `$"));
    }
    let notes: Vec<String> = directive.notes.iter().map(u16::to_string).collect();
    out + &format!("\n\nLanguage reference: {}.", notes.join(", "))
}

fn signature(directive: &DirectiveSpec) -> String {
    let parameters = directive.parameters.iter().map(|parameter| {
        if parameter.required {
            parameter.name.to_owned()
        } else {
            format!("{}?", parameter.name)
        }
    });
    let mut parameters: Vec<String> = parameters.collect();
    if directive.open {
        parameters.push("…".to_owned());
    }
    format!("```\n${}({})\n```", directive.name, parameters.join(", "))
}

/// Describes a script: its title, description and inputs.
pub(super) fn script(script: &Script) -> String {
    let text = |key: &str| {
        script
            .config
            .get(key)
            .and_then(Node::as_str)
            .filter(|text| !text.is_empty())
    };
    let mut out = format!(
        "**{}**",
        text("title").or(text("name")).unwrap_or(id(script))
    );
    if let Some(description) = text("description") {
        out += &format!("\n\n{description}");
    }
    out += &format!("\n\nScript `{}`", script.source.name);
    for line in inputs(script) {
        out += &format!("\n- {line}");
    }
    out
}

/// Describes the inputs of a script, one per line.
fn inputs(script: &Script) -> Vec<String> {
    let input = script.config.get("input").map(Node::value);
    let inputs = input
        .and_then(|input| Inputs::read(&input).ok())
        .unwrap_or_default();
    let fields = inputs.fields.into_iter().filter(|field| !field.hidden);
    let lines = fields.map(|field| {
        let mut line = format!("`{}`", field.name);
        if field.required {
            line += ", required";
        }
        if let Some(default) = &field.default {
            line += &format!(", `{}` by default", value(default));
        }
        if !field.description.is_empty() {
            line += &format!(": {}", field.description);
        }
        line
    });
    lines.collect()
}

/// Returns a short form of a value.
pub(super) fn value(value: &Value) -> String {
    let text = match value {
        Value::Str(text) => text.to_string(),
        other => json::to_string(other),
    };
    let line = text
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('`', "'");
    match line.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

/// Puts a text into a code fence that is longer than any fence in the text.
pub(super) fn fenced(text: &str) -> String {
    let longest = text
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{}\n{fence}", text.trim_end())
}
