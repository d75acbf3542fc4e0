//! Errors of a running script, with their locations.

use quillet_core::{Diagnostic, Span};

use super::scope::NameScope;
use crate::answer::InputProblem;
use crate::error::{ErrorKind, ScriptError};
use crate::syntax::ScriptSource;

/// Returns an error of the given kind with its location.
pub(crate) fn fail(scope: &NameScope, at: Span, kind: ErrorKind, message: String) -> ScriptError {
    ScriptError::new(kind, scope.source.error(kind.code(), message, at))
}

/// Returns an error for an invalid instruction.
pub(crate) fn refuse(scope: &NameScope, at: Span, message: impl Into<String>) -> ScriptError {
    fail(scope, at, ErrorKind::Script, message.into())
}

/// Returns an error for an invalid instruction, with a help text.
pub(crate) fn refuse_with(scope: &NameScope, at: Span, why: String, help: String) -> ScriptError {
    let finding = scope.source.error("script.invalid", why, at).help(help);
    ScriptError::new(ErrorKind::Script, finding)
}

/// Returns an error for invalid arguments of a script.
pub(crate) fn input_error(
    source: &ScriptSource,
    at: Span,
    problems: Vec<InputProblem>,
) -> ScriptError {
    let findings = problems.into_iter().map(|problem| {
        let message = format!("`{}`: {}", problem.field, problem.message);
        let finding = source.error(ErrorKind::Input.code(), message, at);
        match problem.help {
            Some(help) => finding.help(help),
            None => finding,
        }
    });
    let mut error = ScriptError::plain(ErrorKind::Input, &source.name, "invalid arguments");
    error.diagnostics = findings.collect();
    error
}

/// Returns an error that holds diagnostics.
pub(crate) fn found(findings: Vec<Diagnostic>, scope: &NameScope) -> ScriptError {
    let mut error =
        ScriptError::plain(ErrorKind::Script, &scope.source.name, "invalid instruction");
    if !findings.is_empty() {
        error.diagnostics = findings;
    }
    error
}

/// Returns an error that names the exceeded limit and how to raise it. A limit without a setting is
/// fixed.
pub(crate) fn limit(scope: &NameScope, at: Span, message: String, setting: &str) -> ScriptError {
    let finding = scope.source.error(ErrorKind::Limit.code(), message, at);
    let help = if setting.is_empty() {
        "this limit cannot be changed".to_owned()
    } else {
        let names = names_of(setting);
        format!("if the script needs more, raise {setting}{names}")
    };
    ScriptError::new(ErrorKind::Limit, finding.help(help))
}

/// Returns the names of a limit on the command line and in the settings.
fn names_of(limit: &str) -> &'static str {
    match limit {
        "limits.steps" => " (--max-steps, scripts.steps)",
        "limits.depth" => " (--max-depth, scripts.depth)",
        "limits.model_calls" => " (--max-calls, scripts.model_calls)",
        "limits.tokens" => " (--max-tokens-total, scripts.tokens)",
        "limits.cost" => " (--max-cost, scripts.cost_usd)",
        "limits.own_time" => " (scripts.own_ms)",
        _ => "",
    }
}

/// Returns the error for a task that panicked or was aborted.
pub(crate) fn broke(scope: &NameScope, at: Span) -> ScriptError {
    let message = "the script stopped unexpectedly";
    let finding = scope.source.error(ErrorKind::Aborted.code(), message, at);
    ScriptError::new(ErrorKind::Aborted, finding)
}
