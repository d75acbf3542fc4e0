//! Results for JavaScript, as JSON.

use quillet_bindings::{BindingError, CheckedQuery, QueueEvent, TaskOutput};
use quillet_core::{Diagnostic, Map, Value, json};
use serde_json::{Value as Json, json};

/// `{code, message, source, line, column, hint, findings}`.
pub(crate) fn refusal(refusal: &BindingError) -> String {
    let position = refusal.position;
    let error = json!({
        "code": refusal.code,
        "message": refusal.message,
        "source": refusal.source,
        "line": position.map(|position| position.line),
        "column": position.map(|position| position.column),
        "hint": refusal.hint,
        "findings": findings(&refusal.diagnostics),
    });
    error.to_string()
}

/// A list of `{code, severity, message, source, line, column, hint}`.
pub(crate) fn findings(findings: &[Diagnostic]) -> Json {
    let finding = |finding: &Diagnostic| {
        let mut object = json!({
            "code": finding.code,
            "severity": finding.severity,
            "message": finding.message,
            "source": finding.source,
        });
        if let Some(position) = finding.position {
            object["line"] = json!(position.line);
            object["column"] = json!(position.column);
        }
        if let Some(help) = &finding.help {
            object["hint"] = json!(help);
        }
        object
    };
    findings.iter().map(finding).collect()
}

/// A list of `{call, tool, positional, named}`, `{gone}`, `{event}`; `tool` is `null` for the model.
pub(crate) fn news(news: Vec<QueueEvent>) -> String {
    let one = |news: QueueEvent| match news {
        QueueEvent::Call(call) => Value::from(Map::from([
            ("call", number(call.id)),
            ("tool", call.tool.map_or(Value::Null, Value::Str)),
            ("positional", call.positional.into()),
            ("named", call.named.into()),
        ])),
        QueueEvent::Gone(call) => Value::from(Map::from([("gone", number(call))])),
        QueueEvent::Event(event) => Value::from(Map::from([("event", Value::from(event))])),
    };
    json::to_string(&news.into_iter().map(one).collect::<Vec<_>>().into())
}

fn number(call: u64) -> Value {
    Value::Int(call.try_into().unwrap_or(i64::MAX))
}

/// `{value, failures}`, without `value` if a script returns none.
pub(crate) fn done(done: TaskOutput) -> String {
    let failures = done.failures.into_iter();
    let failures = failures.map(|(tool, why)| vec![tool, why]);
    let failures = failures.collect::<Vec<_>>();
    let mut told = vec![("failures", Value::from(failures))];
    if let Some(value) = done.value {
        told.push(("value", value));
    }
    json::to_string(&told.into_iter().collect::<Map>().into())
}

/// `{sql, shown, tables, limited}`.
pub(crate) fn checked(checked: &CheckedQuery) -> String {
    let checked = json!({
        "sql": checked.sql,
        "shown": checked.shown,
        "tables": checked.tables,
        "limited": checked.limited,
    });
    checked.to_string()
}
