//! Hovers.

use quillet_core::Span;
use quillet_yaml::Node;

use super::define::{first_assignment, function_place};
use super::names::{MarkKind, mark_at, message_at};
use super::role_script::role_script;
use super::{EditorContext, ScriptDocument, hover_text, keys, render};
use crate::answer::Inputs;
use crate::directive::Directive;
use crate::syntax::Script;

/// The text of a hover and the span that the text describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hover {
    /// The span that the hover describes.
    pub span: Span,
    /// The text in Markdown.
    pub markdown: String,
}

/// Returns the hover at a byte offset, for a directive, variable, script, key or pattern.
/// Elsewhere, the hover shows the message as a model receives it.
pub async fn hover(
    document: &ScriptDocument,
    at: usize,
    around: EditorContext<'_>,
) -> Option<Hover> {
    if let Some(mark) = mark_at(document, at)
        && let Some(markdown) = named(document, &mark.kind, around).await
    {
        let span = mark.span;
        return Some(Hover { span, markdown });
    }
    let message = message_at(&document.script.body, at)?;
    Some(Hover {
        span: message.content.span,
        markdown: render::message(document, message, around).await,
    })
}

async fn named(
    document: &ScriptDocument,
    kind: &MarkKind,
    around: EditorContext<'_>,
) -> Option<String> {
    match kind {
        MarkKind::Call(name) => call(document, name, around).await,
        MarkKind::Function(name) => Some(format!("Function `${name}` of this script.")),
        MarkKind::Script(name) => called(document, name, around).await,
        MarkKind::Variable { name, .. } => Some(variable(document, name)),
        MarkKind::Role(name) => role(document, name, around).await,
        MarkKind::Key(path) => {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            key(&path)
        }
        MarkKind::Pattern(pattern) => Some(format!("{}\n\n{PATTERNS}", what_matches(pattern))),
        MarkKind::Regex => Some("A regular expression, as in JavaScript. The result is group 1 if there is one, else the whole match.".to_owned()),
        MarkKind::Hole(what) => Some((*what).to_owned()),
    }
}

async fn call(document: &ScriptDocument, name: &str, around: EditorContext<'_>) -> Option<String> {
    if let Some(found) = Directive::named(name) {
        return Some(hover_text::directive(found.spec()));
    }
    if let Some(place) = function_place(document, name, around).await {
        return Some(format!(
            "Function `${name}`, declared in `{}`.",
            place.source.name
        ));
    }
    called(document, name, around).await
}

/// Describes a script, an external tool, or a directive at the end of a chain.
async fn called(
    document: &ScriptDocument,
    name: &str,
    around: EditorContext<'_>,
) -> Option<String> {
    let found = around.library.find(name, Some(&document.source)).await;
    if let Ok(Some(script)) = found {
        return Some(hover_text::script(&script));
    }
    if let Some(tool) = around.tools.tool(name) {
        let spec = tool.spec();
        return Some(format!("**{name}**, a tool\n\n{}", spec.description));
    }
    Directive::named(name).map(|found| hover_text::directive(found.spec()))
}

async fn role(document: &ScriptDocument, name: &str, around: EditorContext<'_>) -> Option<String> {
    let script = role_script(&document.script, name)?;
    let about = called(document, script, around).await?;
    Some(format!("Role `{name}`: {about}"))
}

fn key(path: &[&str]) -> Option<String> {
    let key = keys::key(path)?;
    let mut out = format!("`{}`\n\n{}", key.path, key.doc);
    if !key.values.is_empty() {
        out += &format!("\n\nOne of `{}`.", key.values.join("`, `"));
    }
    Some(out)
}

fn variable(document: &ScriptDocument, name: &str) -> String {
    let script = &document.script;
    let mut out = format!("Variable `{name}`");
    if let Some(value) = value_of(script, name) {
        out += &format!("\n\nIn the front matter: `{}`", hover_text::value(&value));
    }
    let inputs = script.config.get("input").map(Node::value);
    let inputs = inputs
        .and_then(|input| Inputs::read(&input).ok())
        .unwrap_or_default();
    if let Some(field) = inputs.get(name) {
        out += if field.required {
            "\n\nAn input, required"
        } else {
            "\n\nAn input"
        };
        if let Some(default) = &field.default {
            out += &format!(", `{}` by default", hover_text::value(default));
        }
        if !field.description.is_empty() {
            out += &format!(": {}", field.description);
        }
    }
    if let Some(span) = first_assignment(document, name) {
        let line = document
            .text()
            .get(..span.start)
            .unwrap_or_default()
            .matches('\n')
            .count()
            + 1;
        out += &format!("\n\nFirst set in line {line}.");
    }
    out
}

/// Returns the front matter value of a variable. `prompt` takes precedence.
pub(super) fn value_of(script: &Script, name: &str) -> Option<quillet_core::Value> {
    let prompt = script
        .config
        .get("prompt")
        .and_then(|prompt| prompt.get(name));
    let own = || {
        script
            .config
            .get(name)
            .filter(|_| keys::key(&[name]).is_none())
    };
    let parameters = || {
        script
            .config
            .get("parameters")
            .and_then(|node| node.get(name))
    };
    Some(prompt.or_else(own).or_else(parameters)?.value())
}

const PATTERNS: &str = "Patterns: `:/re/flags`, `:> 1`, `:1..5`, `:\"text\"`, `:a || b`, `:[first, _, ..]`, `:{key: value, ..}`, and `_` for everything else.";

fn what_matches(pattern: &str) -> &'static str {
    let pattern = pattern.trim_start_matches(':').trim_start();
    match pattern.chars().next() {
        Some('/') => "Matches a text that contains a match of the regular expression.",
        Some('[') => "Matches a list, item by item; names in it become variables.",
        Some('{') => "Matches an object with these fields.",
        Some('>' | '<' | '=' | '!') => "Matches by a comparison.",
        _ if pattern.contains("..") => "Matches a number in the range.",
        _ if pattern.contains("||") || pattern.contains("&&") => "Matches if its parts match.",
        _ => "Matches a value that is equal.",
    }
}
