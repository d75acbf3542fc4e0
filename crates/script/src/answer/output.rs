//! Instructions that tell a model the form of its answer.

use std::fmt::Write;

use serde_json::Value as Json;

use super::AnswerFormat;

// Maximum depth at which nested objects are described individually.
const MOST_LEVELS: usize = 8;

/// Describes a schema in natural language, for `{{output}}` unless `naturalOutput` is `false`. Each
/// line describes one field: its type, its description, and whether it is required.
#[must_use]
pub fn describe(schema: &Json) -> String {
    let mut out = String::new();
    if let Some(text) = text(schema, "description") {
        // Writing to a `String` cannot fail, so the result is ignored here and below.
        let _ = writeln!(out, "{text}");
    }
    match fields(schema) {
        Some(_) => out.push_str("An object with these fields:\n"),
        None => {
            let _ = writeln!(out, "A value of type {}{}.", kind(schema), bounds(schema));
        }
    }
    inside(&mut out, schema, 0);
    out.truncate(out.trim_end().len());
    out
}

/// Returns the part of the system message that describes objects and lists. Returns `None` if the
/// text of the messages (`told`) already mentions all required fields.
#[must_use]
pub fn section(schema: &Json, format: AnswerFormat, told: &str) -> Option<String> {
    let is_list = schema.get("type") == Some(&"array".into());
    if fields(schema).is_none() && !is_list {
        return None;
    }
    let required = required(schema);
    // The author's messages already describe the form. A second description would only cost tokens.
    if !required.is_empty() && required.iter().all(|name| told.contains(name)) {
        return None;
    }
    Some(format!("{}\n\n{}", manner(format), describe(schema)))
}

/// Returns the instruction for writing a format.
fn manner(format: AnswerFormat) -> &'static str {
    match format {
        AnswerFormat::Json => {
            "Answer with one JSON value of the form below, and with nothing before or after it."
        }
        AnswerFormat::Yaml => {
            "Answer with one YAML document of the form below, and with nothing before or after it. \
             Put texts with colons or quotation marks in quotes."
        }
        AnswerFormat::NObj => {
            "Answer with one line for each field, written as `name: value`, and with nothing \
             before or after. Put the fields of an inner object below its name, two blanks \
             further in. Write the items of a list on one line with commas between them. Put a \
             text of several lines between two lines of \"\"\"."
        }
    }
}

fn inside(out: &mut String, schema: &Json, level: usize) {
    if level >= MOST_LEVELS {
        return;
    }
    if let Some(fields) = fields(schema) {
        let required = required(schema);
        for (name, field) in fields {
            line(out, name, field, required.contains(&name.as_str()), level);
        }
        return;
    }
    if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
        let blanks = "  ".repeat(level);
        let _ = writeln!(out, "{blanks}Each item is {}{}.", kind(items), about(items));
        inside(out, items, level);
    }
}

fn line(out: &mut String, name: &str, field: &Json, required: bool, level: usize) {
    let blanks = "  ".repeat(level);
    let need = if required { "required" } else { "optional" };
    let kind = kind(field);
    let about = about(field);
    let _ = writeln!(out, "{blanks}- {name:?} ({kind}, {need}){about}");
    inside(out, field, level + 1);
}

fn about(schema: &Json) -> String {
    let bounds = bounds(schema);
    match text(schema, "description") {
        Some(text) => format!(": {}{bounds}", text.trim()),
        None => bounds,
    }
}

fn fields(schema: &Json) -> Option<&serde_json::Map<String, Json>> {
    schema.get("properties")?.as_object()
}

fn required(schema: &Json) -> Vec<&str> {
    let names = schema.get("required").and_then(Json::as_array);
    let names = names.into_iter().flatten();
    names.filter_map(Json::as_str).collect()
}

fn text<'a>(schema: &'a Json, name: &str) -> Option<&'a str> {
    schema.get(name)?.as_str().filter(|text| !text.is_empty())
}

fn kind(schema: &Json) -> String {
    match schema.get("type") {
        Some(Json::String(kind)) if kind == "array" => match schema.get("items") {
            Some(items @ Json::Object(_)) => format!("list of {}", kind_of_items(items)),
            _ => "list".to_owned(),
        },
        Some(Json::String(kind)) => kind.clone(),
        Some(Json::Array(kinds)) => {
            let kinds: Vec<&str> = kinds.iter().filter_map(Json::as_str).collect();
            kinds.join(" or ")
        }
        _ => either(schema).unwrap_or_else(|| "any".to_owned()),
    }
}

fn kind_of_items(items: &Json) -> &str {
    items.get("type").and_then(Json::as_str).unwrap_or("any")
}

fn either(schema: &Json) -> Option<String> {
    let all = schema.get("anyOf").or_else(|| schema.get("oneOf"))?;
    let kinds = all.as_array()?.iter().map(kind_of_items);
    Some(kinds.collect::<Vec<_>>().join(" or "))
}

/// Describes the other constraints of a value.
fn bounds(schema: &Json) -> String {
    const WORDS: [(&str, &str); 12] = [
        ("enum", "one of"),
        ("const", "always"),
        ("minimum", "at least"),
        ("exclusiveMinimum", "more than"),
        ("maximum", "at most"),
        ("exclusiveMaximum", "less than"),
        ("minLength", "characters at least"),
        ("maxLength", "characters at most"),
        ("minItems", "items at least"),
        ("maxItems", "items at most"),
        ("pattern", "of the pattern"),
        ("format", "of the format"),
    ];
    let found = WORDS.iter().filter_map(|(name, words)| {
        let value = match schema.get(*name)? {
            Json::Array(options) => {
                let options: Vec<String> = options.iter().map(Json::to_string).collect();
                options.join(", ")
            }
            Json::String(text) => text.clone(),
            other => other.to_string(),
        };
        Some(format!("{words} {value}"))
    });
    let found: Vec<String> = found.collect();
    if found.is_empty() {
        String::new()
    } else {
        format!(" ({})", found.join("; "))
    }
}
