//! The template of a prompt in the words of the target.

use quillet_core::{Diagnostic, Severity, Value};
use quillet_template::convert::{ConvertOptions, Language, Shape, convert};
use quillet_template::{MessageSyntax, Missing, Source, TemplateFactory};

use super::turns::{self, Turn};
use super::{Refusal, Target};
use crate::definition::{Body, Prompt};

/// A template as it will stand in the new file.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) body: Body,
    pub(super) format: String,
    pub(super) messages: MessageSyntax,
    pub(super) missing: Missing,
}

/// The template for the target.
///
/// # Errors
/// What has no counterpart, with its place.
pub(super) fn of(
    prompt: &Prompt,
    target: Target,
    formats: &TemplateFactory,
) -> Result<Written, Vec<Refusal>> {
    let source = formats.format(&prompt.format);
    let source = source.map_or(prompt.format.as_str(), |format| format.name());
    let format = format_for(source, target);
    if target == Target::Definition {
        return Ok(Written {
            body: prompt.body.clone(),
            format: format.to_owned(),
            messages: prompt.messages,
            missing: prompt.missing,
        });
    }
    let turns = turns::of(prompt)?;
    let options = options(prompt);
    let mut text = String::new();
    let mut refusals = Vec::new();
    for (index, turn) in turns.iter().enumerate() {
        begin(&mut text, target, turn, index, turns.len());
        match content(source, format, turn, &options) {
            Ok(content) => text.push_str(&content),
            Err(found) => refusals.extend(found),
        }
        end(&mut text, target, turn, index, turns.len());
    }
    if !refusals.is_empty() {
        return Err(refusals);
    }
    Ok(Written {
        body: Body::Text(text),
        format: format.to_owned(),
        messages: MessageSyntax::Plain,
        missing: Missing::Default,
    })
}

/// The template format of the new file: the old one where the target has it.
fn format_for(source: &str, target: Target) -> &str {
    let has: &[&str] = match target {
        Target::Definition => return source,
        Target::Dotprompt => &["dotprompt"],
        Target::Prompty => &["jinja-plain", "mustache"],
        Target::SemanticKernel => &[
            "semantic-kernel",
            "semantic-kernel-handlebars",
            "semantic-kernel-jinja2",
        ],
    };
    let same = has.iter().find(|format| **format == source);
    same.or(has.first()).copied().unwrap_or(source)
}

/// The kinds of the variables, as the prompt declares them. Which values print
/// alike in both formats follows from them.
fn options(prompt: &Prompt) -> ConvertOptions {
    let schema = prompt.parameters.schema().cloned().map(Value::from);
    ConvertOptions {
        shapes: schema.as_ref().map(Shape::of_schema).unwrap_or_default(),
        ..ConvertOptions::default()
    }
}

/// One message's template in the other format.
fn content(
    from: &str,
    to: &str,
    turn: &Turn,
    options: &ConvertOptions,
) -> Result<String, Vec<Refusal>> {
    if from == to {
        return Ok(turn.text.clone());
    }
    let language = |format: &str| {
        let reason = format!("templates of the format {format:?} cannot be converted");
        Language::of_name(format).ok_or_else(|| vec![Refusal::key("format", reason)])
    };
    let source = Source::new("template", &turn.text);
    let converted = convert(&source, language(from)?, language(to)?, options);
    let refusal = |found: Diagnostic| {
        let at = found.span.map_or(0, |span| span.start);
        let reason = match found.help {
            Some(help) => format!("{} ({help})", found.message),
            None => found.message,
        };
        Refusal::template(turn.at + at, reason)
    };
    match converted {
        Ok(converted) => Ok(converted.text),
        Err(found) => {
            let errors = found.into_iter();
            let errors = errors.filter(|one| one.severity == Severity::Error);
            Err(errors.map(refusal).collect())
        }
    }
}

/// What says who speaks. A single text of the user says so by itself, but in
/// prompty, where text without a role is the system's.
fn begin(text: &mut String, target: Target, turn: &Turn, index: usize, count: usize) {
    let alone = count == 1 && turn.role == "user";
    match target {
        Target::Prompty => text.push_str(&format!("{}:\n", turn.role)),
        Target::SemanticKernel if !alone => {
            text.push_str(&format!("<message role=\"{}\">", turn.role));
        }
        Target::Dotprompt if index > 0 || turn.role != "user" => {
            let assistant = turn.role == "assistant";
            let role = if assistant { "model" } else { &turn.role };
            text.push_str(&format!("{{{{role \"{role}\"}}}}"));
        }
        _ => {}
    }
}

fn end(text: &mut String, target: Target, turn: &Turn, index: usize, count: usize) {
    let last = index + 1 == count;
    match target {
        Target::Prompty if !last => text.push_str("\n\n"),
        Target::SemanticKernel if count > 1 || turn.role != "user" => {
            text.push_str(if last { "</message>" } else { "</message>\n" });
        }
        _ => {}
    }
}
