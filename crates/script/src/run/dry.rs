//! Dry runs: skipped actions and the warnings about them.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use quillet_core::tool::{Tool, ToolContext, ToolError, ToolSpec};
use quillet_core::{BoxFuture, Diagnostic, Map, Span, Value};

use super::scope::NameScope;
use crate::directive::Directive;
use crate::error::{ErrorKind, ScriptError};
use crate::host::{Observer, RunEvent, Tools};
use crate::syntax::ScriptSource;
use quillet_core::lock::lock;

/// Warning code for an action that a dry run skipped.
pub const DRY_RUN: &str = "script.dry_run";

/// Reports each action that a dry run skipped, but only once.
#[derive(Debug)]
pub struct DryRunReport {
    source: String,
    observer: Arc<dyn Observer>,
    told: Mutex<HashSet<String>>,
}

impl DryRunReport {
    pub(super) fn new(source: &ScriptSource, observer: Arc<dyn Observer>) -> Self {
        DryRunReport {
            source: source.name.clone(),
            observer,
            told: Mutex::default(),
        }
    }

    /// Reports a skipped action. `needs` names the requirement for doing it in a real run.
    pub(crate) fn note(&self, what: &str, needs: &str) {
        if !lock(&self.told).insert(what.to_owned()) {
            return;
        }
        let message = format!(
            "{what}: not available in a dry run, which has no access outside of \
        the script"
        );
        let found = Diagnostic::warning(DRY_RUN, &self.source, message);
        let found = found.help(format!("a real run needs {needs}"));
        self.observer.event(RunEvent::Warning(found));
    }

    /// Returns the error for a file that a directive would have read. The run cannot continue
    /// without its text.
    pub(super) fn unread(&self, name: &str, scope: &NameScope, at: Span) -> ScriptError {
        let message = format!("cannot read `{name}` in a dry run: the file needs a permission");
        let found = scope.source.error(ErrorKind::Denied.code(), message, at);
        let help = "a real run needs --allow-read FOLDER (scripts.allow_read)";
        ScriptError::new(ErrorKind::Denied, found.help(help))
    }
}

/// Tools of a dry run: they have the real names, but none of them does anything.
#[derive(Debug)]
pub(super) struct DryTools {
    real: Arc<dyn Tools>,
    withheld: Arc<DryRunReport>,
}

impl DryTools {
    pub(super) fn new(real: Arc<dyn Tools>, withheld: Arc<DryRunReport>) -> Self {
        DryTools { real, withheld }
    }

    /// Returns a placeholder for a tool that a server may offer.
    fn unasked(&self, name: &str) -> ToolSpec {
        let what = format!(
            "`{name}` is assumed to be a tool of an MCP server that was not \
        contacted"
        );
        self.withheld.note(&what, "the server's list of tools");
        ToolSpec {
            name: name.to_owned(),
            // The real parameters are unknown, so the schema accepts any arguments.
            parameters: serde_json::json!({"type": "object", "additionalProperties": true}),
            ..ToolSpec::default()
        }
    }
}

impl Tools for DryTools {
    fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        if let Some(tool) = self.real.dry(name) {
            return Some(tool);
        }
        let spec = match self.real.tool(name) {
            Some(real) => real.spec().clone(),
            None if self.real.has_unasked() && may_be_a_tool(name) => self.unasked(name),
            None => return None,
        };
        let withheld = self.withheld.clone();
        Some(Arc::new(NotCalled { spec, withheld }))
    }

    /// Needs no approval, because a dry run calls no tool.
    fn approved_tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tool(name)
    }

    fn names(&self) -> Vec<String> {
        self.real.names()
    }
}

/// Returns whether a name may belong to a tool of an MCP server, because the language does not
/// define it.
fn may_be_a_tool(name: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    Directive::named(name).is_none() && !name.is_empty() && name.chars().all(letter)
}

/// Placeholder for a tool: it has the same description and returns a default result.
#[derive(Debug)]
struct NotCalled {
    spec: ToolSpec,
    withheld: Arc<DryRunReport>,
}

impl Tool for NotCalled {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, _: Map, _: &'a ToolContext) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async move {
            let what = format!("the tool `{}` was not called", self.spec.name);
            self.withheld.note(&what, "the tool's answer");
            Ok(self.spec.default.clone())
        })
    }
}
