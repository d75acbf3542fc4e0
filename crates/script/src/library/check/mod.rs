//! What can be said of a script without running it: `quillet check`.
//!
//! An error is something that fails in every run that reaches it. A warning is something that is
//! very likely not meant. What only a run can know is not said: a name that JavaScript may set,
//! what a module exports, what a caller gives.

use std::sync::Arc;

use quillet_core::{Diagnostic, Severity, Span};
use quillet_template::TemplateFactory;

use super::import::imports;
use super::{Library, ResolvedScript, exports, resolve};
use crate::host::Tools;
use crate::syntax::{Script, ScriptSource};
use crate::text::template::Templates;

mod callee;
mod code;
mod config;
mod flow;
mod known_names;
pub(crate) mod line_map;
mod mention;
mod schema;
mod secret;
mod text;
mod walk;

pub(crate) use code::called_on_this;
use known_names::KnownNames;
pub(crate) use line_map::FileSpot;
use walk::CheckWalk;

/// Most findings that are reported for one script.
const MOST_FINDINGS: usize = 100;

/// Everything that is wrong with a script that was read, by place; at most 100 findings. What the
/// reader found is not among it. `tools` are those that are registered outside of scripts.
pub async fn check(
    script: &Arc<Script>,
    library: &dyn Library,
    tools: &dyn Tools,
) -> Vec<Diagnostic> {
    let mut findings = ScriptDiagnostics::new(&script.source);
    let resolved = lineage(script, library, &mut findings).await;
    let plan = match imports(&script.config, &script.source) {
        Ok(plan) => plan,
        Err(wrong) => findings.add(wrong),
    };
    if let Err(wrong) = exports(script) {
        findings.add::<()>(wrong);
    }
    let known = KnownNames::of(&resolved, &plan, library, &mut findings).await;
    let templates = Templates::new(Arc::new(TemplateFactory::standard()));
    config::check(&resolved, &templates, &mut findings);
    secret::check(script, &mut findings);
    let mut walk = CheckWalk::new(&resolved, &known, &templates, &mut findings);
    walk.script();
    let calls = walk.finish();
    callee::check(calls, &resolved, &known, (library, tools), &mut findings).await;
    findings.finish()
}

/// What the script inherits; if that is wrong, the script alone.
async fn lineage(
    script: &Arc<Script>,
    library: &dyn Library,
    findings: &mut ScriptDiagnostics<'_>,
) -> ResolvedScript {
    match resolve(script.clone(), library).await {
        Ok(resolved) => resolved,
        Err(error) => {
            findings.add::<()>(error.diagnostics);
            ResolvedScript::alone(script.clone())
        }
    }
}

/// What is wrong with one script, while it is found out.
struct ScriptDiagnostics<'a> {
    source: &'a ScriptSource,
    list: Vec<Diagnostic>,
}

impl<'a> ScriptDiagnostics<'a> {
    fn new(source: &'a ScriptSource) -> Self {
        let list = Vec::new();
        ScriptDiagnostics { source, list }
    }

    fn add<T: Default>(&mut self, mut wrong: Vec<Diagnostic>) -> T {
        self.list.append(&mut wrong);
        T::default()
    }

    /// Whether no more is reported: then nothing has to be looked up.
    fn full(&self) -> bool {
        self.list.len() >= MOST_FINDINGS
    }

    fn error(&mut self, code: &'static str, why: impl Into<String>, at: Span, help: &str) {
        if !self.full() {
            self.list
                .push(helped(self.source.error(code, why, at), help));
        }
    }

    fn error_in(&mut self, code: &'static str, why: impl Into<String>, at: &FileSpot, help: &str) {
        if !self.full() {
            self.error(code, why, at.span(self.source), help);
        }
    }

    fn warning(&mut self, code: &'static str, why: impl Into<String>, at: Span, help: &str) {
        if !self.full() {
            self.list
                .push(helped(self.source.warning(code, why, at), help));
        }
    }

    /// By place, errors before warnings, nothing twice.
    fn finish(mut self) -> Vec<Diagnostic> {
        let rank = |found: &Diagnostic| {
            let start = found.span.map(|span| span.start);
            (start, found.severity != Severity::Error)
        };
        self.list.sort_by_key(rank);
        self.list.dedup();
        self.list.truncate(MOST_FINDINGS);
        self.list
    }
}

fn helped(found: Diagnostic, help: &str) -> Diagnostic {
    match help {
        "" => found,
        help => found.help(help),
    }
}

/// `did you mean x?`, if something is near.
fn meant<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let near = quillet_core::nearest(name, known);
    near.map(|near| format!("did you mean {near}?"))
        .unwrap_or_default()
}
