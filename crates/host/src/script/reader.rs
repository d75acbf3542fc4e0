//! Reader of stored scripts for the catalogue.

use std::sync::Arc;

use quillet_core::{Diagnostic, Severity, Span};
use quillet_prompt::{CheckResult, ScriptReader, StoredScript};
use quillet_script::library::permissions::{asks, permissions};
use quillet_script::reader::read;
use quillet_script::run::script_spec;
use quillet_script::syntax::{Script, ScriptSource};

/// Reads stored scripts; a script that cannot run is invalid.
#[derive(Clone, Copy, Debug, Default)]
pub struct StoredScripts;

impl ScriptReader for StoredScripts {
    fn read(&self, name: &str, text: &Arc<str>) -> CheckResult<StoredScript> {
        let source = ScriptSource {
            name: name.to_owned(),
            path: None,
            text: text.clone(),
        };
        let read = read(Arc::new(source));
        let is_error = |found: &Diagnostic| found.severity == Severity::Error;
        if read.diagnostics.iter().any(is_error) {
            return Err(read.diagnostics);
        }
        let script = read.script;
        permissions(&script)?;
        let asks = !asks(&script)?.is_empty();
        let spec =
            script_spec(&script, name).map_err(|message| vec![no_input(&script, message)])?;
        let title = script.config.get("title").and_then(|node| node.text());
        let stored = StoredScript {
            name: name.into(),
            text: text.clone(),
            title: title.map(str::to_owned),
            spec,
            asks,
            read: Arc::new(script),
        };
        Ok((stored, read.diagnostics))
    }
}

fn no_input(script: &Script, message: String) -> Diagnostic {
    let start = Span { start: 0, end: 0 };
    let at = script.config.get("input").map_or(start, |node| node.span);
    script.source.error("script.input", message, at)
}

/// Result of [`StoredScripts`] for a script.
pub(super) fn script(stored: &StoredScript) -> Option<Arc<Script>> {
    stored.read.clone().downcast().ok()
}
