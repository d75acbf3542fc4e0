//! Failures of a script, with their places.

use quillet_core::{Diagnostic, Span};

use super::scope::NameScope;
use crate::answer::InputProblem;
use crate::error::{ErrorKind, ScriptError};
use crate::syntax::ScriptSource;

/// That something cannot be done.
pub(crate) fn fail(scope: &NameScope, at: Span, kind: ErrorKind, message: String) -> ScriptError {
    ScriptError::new(kind, scope.source.error(kind.code(), message, at))
}

/// That a node is not what a directive takes.
pub(crate) fn refuse(scope: &NameScope, at: Span, message: impl Into<String>) -> ScriptError {
    fail(scope, at, ErrorKind::Script, message.into())
}

/// The same, with the fix.
pub(crate) fn refuse_with(scope: &NameScope, at: Span, why: String, help: String) -> ScriptError {
    let finding = scope.source.error("script.invalid", why, at).help(help);
    ScriptError::new(ErrorKind::Script, finding)
}

/// Arguments that do not fit a script.
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
    let mut error = ScriptError::plain(ErrorKind::Input, &source.name, "the arguments do not fit");
    error.diagnostics = findings.collect();
    error
}

/// Findings as a failure of the script.
pub(crate) fn found(findings: Vec<Diagnostic>, scope: &NameScope) -> ScriptError {
    let mut error = ScriptError::plain(
        ErrorKind::Script,
        &scope.source.name,
        "this is not an instruction",
    );
    if !findings.is_empty() {
        error.diagnostics = findings;
    }
    error
}

/// A failure that names a limit and how to raise it.
pub(crate) fn limit(scope: &NameScope, at: Span, message: String, setting: &str) -> ScriptError {
    let finding = scope.source.error(ErrorKind::Limit.code(), message, at);
    let names = names_of(setting);
    let help = format!("if it is meant to take that much, raise {setting}{names}");
    ScriptError::new(ErrorKind::Limit, finding.help(help))
}

/// What a bound is called on the command line and in settings.
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

/// A task of the run that ended without a result: its thread broke off.
pub(crate) fn broke(scope: &NameScope, at: Span) -> ScriptError {
    let message = "the script's task broke off";
    let finding = scope.source.error(ErrorKind::Aborted.code(), message, at);
    ScriptError::new(ErrorKind::Aborted, finding)
}
