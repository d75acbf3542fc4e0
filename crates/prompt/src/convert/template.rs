//! Conversion of a prompt's template to the target format.

use quillet_core::{Diagnostic, Severity};
use quillet_template::convert::{
    self as templates, ConvertFindings, ConvertOptions, Language, NodeKind, Nodes, TreeNode,
};
use quillet_template::{MessageSyntax, Missing, TemplateFactory, TemplateSource};

use super::refusal::ConvertNote;
use super::target::ConvertTarget;
use super::turns::{self, TemplateTurn};
use crate::definition::{Prompt, PromptBody};

/// A template as written to the new file.
#[derive(Clone, Debug)]
pub(super) struct ConvertedTemplate {
    pub(super) body: PromptBody,
    pub(super) format: String,
    pub(super) messages: MessageSyntax,
    pub(super) missing: Missing,
    /// Parsed trees of the messages, as far as they could be parsed.
    pub(super) trees: Vec<Nodes>,
    /// Notes about conversions that are exact for some values only.
    pub(super) notes: Vec<ConvertNote>,
}

/// Converts the template for the target.
///
/// # Errors
/// Parts without a counterpart, each with its location.
pub(super) fn of(
    prompt: &Prompt,
    target: ConvertTarget,
    formats: &TemplateFactory,
    options: &ConvertOptions,
) -> Result<ConvertedTemplate, Vec<ConvertNote>> {
    let source = formats.format(&prompt.format);
    let source = source.map_or(prompt.format.as_str(), |format| format.name());
    let format = format_for(source, target);
    // A definition can hold every format, so the template is kept as it is.
    if target == ConvertTarget::Definition {
        return Ok(ConvertedTemplate {
            body: prompt.body.clone(),
            format: format.to_owned(),
            messages: prompt.messages,
            missing: prompt.missing,
            trees: Vec::new(),
            notes: Vec::new(),
        });
    }
    let turns = turns::of(prompt)?;
    let mut written = ConvertedTemplate {
        body: PromptBody::Text("".into()),
        format: format.to_owned(),
        messages: MessageSyntax::Plain,
        missing: Missing::Default,
        trees: Vec::new(),
        notes: Vec::new(),
    };
    let mut text = String::new();
    let mut refusals = Vec::new();
    for (index, turn) in turns.iter().enumerate() {
        begin(&mut text, target, turn, index, turns.len());
        match content(source, format, turn, options) {
            Ok(content) => {
                text.push_str(&content.text);
                written.trees.extend(content.tree);
                written.notes.extend(content.notes);
            }
            Err(found) => refusals.extend(found),
        }
        end(&mut text, target, turn, index, turns.len());
    }
    if !refusals.is_empty() {
        return Err(refusals);
    }
    written.body = PromptBody::Text(text.into());
    Ok(written)
}

/// Template format of the new file: the original format if the target supports it.
fn format_for(source: &str, target: ConvertTarget) -> &str {
    let has: &[&str] = match target {
        ConvertTarget::Definition => return source,
        ConvertTarget::Dotprompt => &["dotprompt"],
        ConvertTarget::Prompty => &["jinja-plain", "mustache", "liquid"],
        ConvertTarget::SemanticKernel => &[
            "semantic-kernel",
            "semantic-kernel-handlebars",
            "semantic-kernel-jinja2",
            "semantic-kernel-liquid",
        ],
    };
    let same = has.iter().find(|format| **format == source);
    same.or(has.first()).copied().unwrap_or(source)
}

/// The template of one message in the new format.
struct ConvertedMessage {
    text: String,
    /// The parsed tree, if the template could be parsed.
    tree: Option<Nodes>,
    notes: Vec<ConvertNote>,
}

fn content(
    from: &str,
    to: &str,
    turn: &TemplateTurn,
    options: &ConvertOptions,
) -> Result<ConvertedMessage, Vec<ConvertNote>> {
    let language = |format: &str| {
        let reason = format!("templates of the format {format:?} cannot be converted");
        Language::of_name(format).ok_or_else(|| vec![ConvertNote::key("format", reason)])
    };
    let source = TemplateSource::new("template", &turn.text);
    let mut findings = ConvertFindings::new("template", &turn.text);
    let mut read = |from| templates::read(from, &source, options, &mut findings);
    // Parsed only for the sample values of the verification, so an error does not matter.
    if from == to {
        return Ok(ConvertedMessage {
            text: turn.text.clone(),
            tree: language(from).ok().and_then(|from| read(from).ok()),
            notes: Vec::new(),
        });
    }
    let refusals = |found: Vec<Diagnostic>| {
        let found = found.into_iter().map(|one| refusal(one, turn));
        found.collect::<Vec<_>>()
    };
    let (from, to) = (language(from)?, language(to)?);
    let tree = read(from).map_err(refusals)?;
    refuse_calls(&tree, &mut findings);
    let text = templates::rewrite(tree.clone(), from, to, options, &mut findings);
    match templates::finish(text, options, findings) {
        Ok(converted) => Ok(ConvertedMessage {
            text: converted.text,
            tree: Some(tree),
            notes: refusals(converted.notes),
        }),
        Err(mut found) => {
            found.retain(|one| one.severity == Severity::Error);
            Err(refusals(found))
        }
    }
}

/// Converts a diagnostic in a message to a note in the template.
fn refusal(found: Diagnostic, turn: &TemplateTurn) -> ConvertNote {
    let at = found.span.map_or(0, |span| span.start);
    let reason = match found.help {
        Some(help) => format!("{} ({help})", found.message),
        None => found.message,
    };
    // Findings count from the start of the message, notes from the start of the template.
    ConvertNote::template(turn.at + at, reason)
}

/// Rejects function calls. Functions are bound when a file is rendered, so equal results cannot be
/// verified here.
fn refuse_calls(nodes: &[TreeNode], findings: &mut ConvertFindings<'_>) {
    for node in nodes {
        match &node.kind {
            NodeKind::Call(call) => {
                let message = format!(
                    "the call of {} has no exact counterpart in a file",
                    call.name
                );
                let help = "convert only the template";
                findings.reject_with_help(node.span, message, help);
            }
            NodeKind::If {
                then, otherwise, ..
            }
            | NodeKind::For {
                body: then,
                otherwise,
                ..
            } => {
                refuse_calls(then, findings);
                refuse_calls(otherwise, findings);
            }
            _ => {}
        }
    }
}

/// Writes the role marker of a message. A single user message needs no marker, except in prompty,
/// where text without a role is a system message.
fn begin(
    text: &mut String,
    target: ConvertTarget,
    turn: &TemplateTurn,
    index: usize,
    count: usize,
) {
    let alone = count == 1 && turn.role == "user";
    match target {
        ConvertTarget::Prompty => text.push_str(&format!("{}:\n", turn.role)),
        ConvertTarget::SemanticKernel if !alone => {
            text.push_str(&format!("<message role=\"{}\">", turn.role));
        }
        ConvertTarget::Dotprompt if index > 0 || turn.role != "user" => {
            let assistant = turn.role == "assistant";
            let role = if assistant { "model" } else { &turn.role };
            text.push_str(&format!("{{{{role \"{role}\"}}}}"));
        }
        _ => {}
    }
}

fn end(text: &mut String, target: ConvertTarget, turn: &TemplateTurn, index: usize, count: usize) {
    let last = index + 1 == count;
    match target {
        ConvertTarget::Prompty if !last => text.push_str("\n\n"),
        ConvertTarget::SemanticKernel if count > 1 || turn.role != "user" => {
            text.push_str(if last { "</message>" } else { "</message>\n" });
        }
        _ => {}
    }
}
