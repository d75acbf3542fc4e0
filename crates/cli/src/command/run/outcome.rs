//! Printing of results and requests.

use std::fmt::Write as _;

use quillet_core::{Map, Value};
use quillet_script::run::{DialogueTurn, ScriptOutcome};
use serde_json::{Value as Json, json};

use crate::args::RunArgs;
use crate::failure::CliError;
use crate::scripts::{pretty, printed};
use crate::terminal;

/// Returns the outcome as JSON.
pub(super) fn json(outcome: &ScriptOutcome, lines: &[String]) -> String {
    let messages: Vec<Json> = outcome.messages.iter().map(turn).collect();
    let mut shown = json!({
        "result": outcome.value,
        "printed": lines,
        "messages": messages,
        "prefix": outcome.prefix,
        "model_calls": outcome.model_calls,
        "usage": outcome.usage,
        "enforced": outcome.enforced,
        "warnings": outcome.warnings,
    });
    // `keepOriginal` and `keepThinking` add these values to the result.
    if !outcome.hidden.is_empty() {
        shown["hidden"] = json!(outcome.hidden);
    }
    pretty(&shown)
}

fn turn(turn: &DialogueTurn) -> Json {
    let mut shown = json!({"role": turn.role, "content": turn.content});
    let mut add = |name: &str, value: Option<Json>| {
        if let Some(value) = value {
            shown[name] = value;
        }
    };
    add("name", turn.name.clone().map(Json::from));
    add("to", (!turn.to.is_empty()).then(|| json!(turn.to)));
    add("thinking", turn.thinking.clone().map(Json::from));
    shown
}

/// Prints the requests of a dry run.
pub(super) fn requests(args: &RunArgs, requests: &[Map]) -> Result<(), CliError> {
    let text = if args.json {
        pretty(&requests.iter().cloned().map(Value::Map).collect::<Vec<_>>())
    } else {
        readable(requests)
    };
    Ok(terminal::line(&text)?)
}

/// Formats requests: parameters, then each message under its role.
fn readable(requests: &[Map]) -> String {
    let mut text = String::new();
    for (number, request) in (1..).zip(requests) {
        let _ = writeln!(text, "# Request {number}\n");
        for (name, value) in request.iter().filter(|(name, _)| &***name != "messages") {
            let _ = writeln!(text, "{name}: {}", printed(value));
        }
        let Some(Value::List(messages)) = request.get("messages") else {
            continue;
        };
        for message in messages.iter().filter_map(Value::as_map) {
            let field = |name: &str| message.get(name).map(printed).unwrap_or_default();
            let from = message.get("source").map(printed);
            let from = from.map_or_else(String::new, |from| format!(" ({from})"));
            let _ = writeln!(
                text,
                "\n[{}]{from}\n{}",
                field("role"),
                field("content").trim_end()
            );
        }
        text.push('\n');
    }
    if requests.is_empty() {
        text.push_str("no model would be called\n");
    }
    text
}
