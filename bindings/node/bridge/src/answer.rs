//! Results for JavaScript, as JSON; rendered text is passed as plain text.

use quillet::core::{Diagnostic, json};
use quillet::template::TextSegment;
use quillet::template::convert::ConvertedTemplate;
use quillet::{FunctionCall, Map, TemplateError, Value};
use serde_json::{Value as Json, json};

/// Error that is passed to JavaScript.
#[derive(Debug)]
pub enum BridgeError {
    /// An error in the template or its variables.
    Template(TemplateError),
    /// An internal error of the package: JavaScript and engine have different versions, or a
    /// removed object was named.
    Package(&'static str),
}

impl BridgeError {
    /// Returns the JSON object `{code, reason, message, source, line, column, hint, findings}`.
    #[must_use]
    pub fn json(&self) -> String {
        let error = match self {
            BridgeError::Template(error) => error,
            BridgeError::Package(reason) => {
                return json!({"code": "package.broken", "message": reason}).to_string();
            }
        };
        let position = error.position();
        let error = json!({
            "code": error.code(),
            "reason": error.reason(),
            "message": error.to_string(),
            "source": error.source_name(),
            "line": position.map(|position| position.line),
            "column": position.map(|position| position.column),
            "hint": error.hint(),
            "findings": findings(error.diagnostics()),
        });
        error.to_string()
    }
}

impl From<TemplateError> for BridgeError {
    fn from(error: TemplateError) -> Self {
        BridgeError::Template(error)
    }
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

/// A list of `{kind, text, source}`.
pub(crate) fn segments(segments: &[TextSegment]) -> String {
    let segment = |segment: &TextSegment| json!({"kind": segment.kind.name(), "text": segment.text, "source": segment.source});
    segments.iter().map(segment).collect::<Json>().to_string()
}

/// `{text, notes}`.
pub(crate) fn converted(converted: &ConvertedTemplate) -> String {
    json!({"text": converted.text, "notes": findings(&converted.notes)}).to_string()
}

/// A list of `{id, name, positional, named}`.
pub(crate) fn calls(calls: &[FunctionCall]) -> String {
    let call = |call: &FunctionCall| {
        let call = call.clone();
        Value::from(Map::from([
            ("id", Value::Int(call.id.try_into().unwrap_or(i64::MAX))),
            ("name", call.function.into()),
            ("positional", call.arguments.positional.into()),
            ("named", call.arguments.named.into()),
        ]))
    };
    json::to_string(&calls.iter().map(call).collect::<Vec<_>>().into())
}
