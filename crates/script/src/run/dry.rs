//! Dry runs: what they leave out, and how they say so.

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

/// The code of warnings that tell what a dry run omitted.
pub const DRY_RUN: &str = "script.dry_run";

/// Tells what a dry run omitted, each thing once.
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

    /// Something was not done; `needs` is what a run that is not dry would do it with.
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

    /// A file that a directive would have read: the run cannot go on without its text.
    pub(super) fn unread(&self, name: &str, scope: &NameScope, at: Span) -> ScriptError {
        let message = format!("cannot read `{name}` in a dry run: the file needs a permission");
        let found = scope.source.error(ErrorKind::Denied.code(), message, at);
        let help = "a real run needs --allow-read FOLDER (scripts.allow_read)";
        ScriptError::new(ErrorKind::Denied, found.help(help))
    }
}

/// The tools of a dry run: the same names, and none of them reaches anything.
#[derive(Debug)]
pub(super) struct DryTools {
    real: Arc<dyn Tools>,
    withheld: Arc<DryRunReport>,
}

impl DryTools {
    pub(super) fn new(real: Arc<dyn Tools>, withheld: Arc<DryRunReport>) -> Self {
        DryTools { real, withheld }
    }

    /// What stands for a tool that a server may have.
    fn unasked(&self, name: &str) -> ToolSpec {
        let what = format!(
            "`{name}` is assumed to be a tool of an MCP server that was not \
        contacted"
        );
        self.withheld.note(&what, "the server's list of tools");
        ToolSpec {
            name: name.to_owned(),
            // Whatever it is called with.
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

    /// Nothing is called, so nobody is asked.
    fn approved_tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tool(name)
    }

    fn names(&self) -> Vec<String> {
        self.real.names()
    }
}

/// Whether a server may have a tool of this name, and the language has nothing else of it.
fn may_be_a_tool(name: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    Directive::named(name).is_none() && !name.is_empty() && name.chars().all(letter)
}

/// What stands for a tool: its description, and its default for a result.
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
