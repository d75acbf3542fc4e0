//! Static checks of a script, for `quillet check`.
//!
//! An error fails in every run that reaches it. A warning is very probably a mistake. Problems that
//! depend on a run are not reported: a name that JavaScript may set, the exports of a module, the
//! arguments of a caller.

use std::sync::Arc;

use quillet_core::Diagnostic;
use quillet_template::TemplateFactory;

use super::import::imports;
use super::{Library, ResolvedScript, exports, resolve};
use crate::host::Tools;
use crate::syntax::Script;
use crate::text::template::Templates;

mod callee;
mod code;
mod config;
mod diagnostics;
mod flow;
mod known_names;
pub(crate) mod line_map;
mod mention;
mod schema;
mod secret;
mod text;
mod texts;
mod walk;

pub(crate) use code::called_on_this;
use diagnostics::ScriptDiagnostics;
use known_names::KnownNames;
pub(crate) use line_map::FileSpot;
use walk::CheckWalk;

/// Returns the problems of a parsed script, sorted by location, at most 100. Problems that the
/// parser found are not included. `tools` are the tools that are defined outside of scripts.
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
    // A check has no engine, but the standard formats are the same as in a run.
    let templates = Templates::new(Arc::new(TemplateFactory::standard()));
    config::check(&resolved, &templates, &mut findings);
    secret::check(script, &mut findings);
    let mut walk = CheckWalk::new(&resolved, &known, &templates, &mut findings);
    walk.script();
    let calls = walk.finish();
    callee::check(calls, &resolved, &known, library, tools, &mut findings).await;
    findings.finish()
}

/// Resolves what the script inherits. On an error, returns only the script itself.
async fn lineage(
    script: &Arc<Script>,
    library: &dyn Library,
    findings: &mut ScriptDiagnostics<'_>,
) -> ResolvedScript {
    match resolve(script.clone(), library).await {
        Ok(resolved) => resolved,
        Err(error) => {
            // The script is still checked without its parents, so that one wrong name does not hide
            // other problems.
            findings.add::<()>(error.diagnostics);
            ResolvedScript::alone(script.clone())
        }
    }
}
