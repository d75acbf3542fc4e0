//! Checks `input` and `output`.

use quillet_core::{Map, Span, Value};
use quillet_yaml::Node;
use serde_json::Value as Json;

use super::diagnostics::ScriptDiagnostics;
use crate::answer::{AnswerSchema, InputField, InputProblem, Inputs};
use crate::syntax::Script;

/// Reads the declared inputs. Returns none if they are invalid, which is reported elsewhere.
pub(super) fn inputs(config: &Map) -> Inputs {
    let read = config.get("input").map(Inputs::read);
    read.and_then(Result::ok).unwrap_or_default()
}

/// Returns the required inputs that have no default.
pub(super) fn required(config: &Map) -> Vec<InputField> {
    let given = |name: &str| config.get(name).is_some_and(|value| *value != Value::Null);
    let needs =
        |field: &InputField| field.required && field.default.is_none() && !given(&field.name);
    inputs(config).fields.into_iter().filter(needs).collect()
}

/// Checks both keys as written in this script.
pub(super) fn check(script: &Script, findings: &mut ScriptDiagnostics<'_>) {
    if let Some(input) = script.config.get("input")
        && let Err(problems) = Inputs::read(&input.value())
    {
        for problem in problems {
            report_input(input, problem, findings);
        }
    }
    let Some(output) = script.config.get("output").filter(|node| !node.is_null()) else {
        return;
    };
    if let Err(why) = AnswerSchema::new(&Json::from(&output.value())) {
        let why = format!("invalid JSON Schema in output: {why}");
        let help = "for example, write `output: {type: object, properties: {…}}`";
        findings.error("script.output", why, output.span, help);
    }
}

fn report_input(input: &Node, problem: InputProblem, findings: &mut ScriptDiagnostics<'_>) {
    let at = place(input, &problem.field).unwrap_or(input.span);
    let why = match problem.field.as_str() {
        "input" => format!("input: {}", problem.message),
        field => format!("the input {field:?}: {}", problem.message),
    };
    findings.error("script.input", why, at, &problem.help.unwrap_or_default());
}

/// Returns the location of the last declaration of an input, which takes precedence.
fn place(input: &Node, name: &str) -> Option<Span> {
    if input.get("name").and_then(Node::as_str) == Some(name) {
        return Some(input.span);
    }
    let entries = input.entries().unwrap_or_default().iter();
    let mut named = entries.filter(|entry| entry.name() == name);
    let items = input.items().unwrap_or_default().iter().rev();
    let mut inside = items.filter_map(|item| match item.as_str() {
        Some(text) => (text == name).then_some(item.span),
        None => place(item, name),
    });
    named
        .next()
        .map(|entry| entry.key.span)
        .or_else(|| inside.next())
}
