//! Checks calls of scripts: whether the script exists, and whether its required inputs are given.

use quillet_core::{Span, Value};
use quillet_yaml::{Node, NodeData};

use super::diagnostics::ScriptDiagnostics;
use super::known_names::KnownNames;
use super::line_map::FileSpot;
use super::schema;
use crate::host::{FETCH, Tools};
use crate::library::import::bare_name;
use crate::library::permissions::asks;
use crate::library::{Library, ResolvedScript, missing, resolve};

/// A call by name.
pub(super) struct Callee {
    pub(super) name: String,
    pub(super) at: FileSpot,
    pub(super) way: CallSyntax,
    pub(super) given: CallOutputs,
}

/// Syntax of the call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CallSyntax {
    /// `[[@name]]`
    Hole,
    /// `[[@$name]]`
    Directive,
    /// `-> name`: a script or a directive.
    Chain,
    /// `$exec: {id: name}`
    Exec,
}

/// The arguments that a call passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallOutputs {
    /// Arguments with these names, and this number of positional arguments.
    Names(Vec<String>, usize),
    /// Arguments with these names, and the value that a chain passes on.
    Some(Vec<String>),
    /// Arguments that are known only at run time.
    Unknown,
}

pub(super) async fn check(
    calls: Vec<Callee>,
    resolved: &ResolvedScript,
    known: &KnownNames,
    library: &dyn Library,
    tools: &dyn Tools,
    findings: &mut ScriptDiagnostics<'_>,
) {
    for call in calls {
        if findings.full() {
            return;
        }
        match call.way {
            CallSyntax::Directive => directive(&call, known, findings),
            CallSyntax::Hole | CallSyntax::Chain | CallSyntax::Exec => {
                called(&call, resolved, known, library, findings).await
            }
        }
    }
    roles(resolved, library, findings).await;
    tool_list(resolved, library, tools, findings).await;
    check_approvals(resolved, tools, findings);
}

async fn called(
    call: &Callee,
    resolved: &ResolvedScript,
    known: &KnownNames,
    library: &dyn Library,
    findings: &mut ScriptDiagnostics<'_>,
) {
    let from = &resolved.script.source;
    match library.find(&call.name, Some(from)).await {
        Ok(Some(script)) => {
            if let Ok(callee) = resolve(script, library).await {
                misspelt_input(&call.name, &call.at, &callee, &call.given, findings);
                missing_input(&call.name, &call.at, &callee, &call.given, findings);
            }
        }
        Ok(None) => not_found(call, library, known, findings),
        Err(_) => {
            let at = call.at.span(findings.source);
            let found = missing::demand(library, &call.name, from, at).await;
            findings.add::<()>(
                found
                    .err()
                    .map(|error| error.diagnostics)
                    .unwrap_or_default(),
            );
        }
    }
}

fn directive(call: &Callee, known: &KnownNames, findings: &mut ScriptDiagnostics<'_>) {
    if known.calls(&call.name) == Some(false) {
        let why = format!("unknown directive or function ${}", bare_name(&call.name));
        let help = known
            .meant_call(&call.name)
            .map(|near| format!("did you mean {near}?"));
        findings.error_in("script.directive", why, &call.at, &help.unwrap_or_default());
    }
}

/// Reports an unknown name. In a chain it may also be a directive's, and anywhere a function's.
fn not_found(
    call: &Callee,
    library: &dyn Library,
    known: &KnownNames,
    findings: &mut ScriptDiagnostics<'_>,
) {
    let chain = call.way == CallSyntax::Chain;
    if chain && known.calls(&call.name) != Some(false) {
        return;
    }
    let ids = library.ids();
    let others = known.callable().filter(|_| chain);
    let names = ids.iter().map(String::as_str).chain(others);
    let help = super::diagnostics::meant(&call.name, names);
    let why = format!("unknown script {:?}", call.name);
    findings.error_in("script.not_found", why, &call.at, &help);
}

/// Reports required inputs that a call definitely does not pass.
pub(super) fn missing_input(
    name: &str,
    at: &FileSpot,
    callee: &ResolvedScript,
    given: &CallOutputs,
    findings: &mut ScriptDiagnostics<'_>,
) {
    let CallOutputs::Names(names, places) = given else {
        return;
    };
    for field in schema::required(&callee.config) {
        let input = &field.name;
        let by_place = field.index.is_some_and(|index| index < *places);
        if !names.contains(input) && !by_place {
            let why = format!("missing input {input:?} of {name}");
            let help = format!("write {name}({input}=…)");
            findings.error_in("script.input", why, at, &help);
        }
    }
}

/// Reports an argument name that resembles an input of the called script.
pub(super) fn misspelt_input(
    name: &str,
    at: &FileSpot,
    callee: &ResolvedScript,
    given: &CallOutputs,
    findings: &mut ScriptDiagnostics<'_>,
) {
    let (CallOutputs::Names(names, _) | CallOutputs::Some(names)) = given else {
        return;
    };
    let given = names.iter().map(|name| (name.as_str(), Value::Null));
    let inputs = schema::inputs(&callee.config);
    if let Some(problem) = inputs.misspelt(&given.collect(), &callee.config) {
        let why = format!("unknown input {:?} of {name}", problem.field);
        findings.error_in("script.input", why, at, &problem.help.unwrap_or_default());
    }
}

/// Checks `roles: {name: script}` and `roles: [script]`.
async fn roles(
    resolved: &ResolvedScript,
    library: &dyn Library,
    findings: &mut ScriptDiagnostics<'_>,
) {
    let Some(roles) = resolved.script.config.get("roles") else {
        return;
    };
    let mut named: Vec<(&str, Span)> = Vec::new();
    collect(roles, &mut named);
    for (name, at) in named {
        demand(name, at, resolved, library, findings).await;
    }
}

fn collect<'n>(node: &'n Node, named: &mut Vec<(&'n str, Span)>) {
    match &node.data {
        NodeData::Map(entries) => {
            for entry in entries {
                let id = entry.value.get("id").or_else(|| entry.value.get("script"));
                let id = id.unwrap_or(&entry.value);
                named.extend(id.as_str().map(|name| (name, id.span)));
            }
        }
        NodeData::List(items) => {
            for item in items {
                match item.as_str() {
                    Some(name) => named.push((name, item.span)),
                    None => collect(item, named),
                }
            }
        }
        NodeData::Scalar(_) => named.extend(node.as_str().map(|name| (name, node.span))),
    }
}

async fn demand(
    name: &str,
    at: Span,
    resolved: &ResolvedScript,
    library: &dyn Library,
    findings: &mut ScriptDiagnostics<'_>,
) {
    if let Err(error) = missing::demand(library, name, &resolved.script.source, at).await {
        findings.add::<()>(error.diagnostics);
    }
}

/// Checks `tools`: scripts, exported functions and registered tools.
async fn tool_list(
    resolved: &ResolvedScript,
    library: &dyn Library,
    tools: &dyn Tools,
    findings: &mut ScriptDiagnostics<'_>,
) {
    let Some(node) = resolved.script.config.get("tools") else {
        return;
    };
    let declared = |name: &str| {
        let mut functions = resolved
            .functions
            .iter()
            .filter_map(|(script, index)| script.functions.get(*index));
        functions.any(|function| bare_name(&function.name) == bare_name(name))
    };
    for (name, at) in tool_names(node) {
        if !declared(name) && tools.tool(name).is_none() {
            demand(name, at, resolved, library, findings).await;
        }
    }
}

/// Reports a pattern in `ask` that matches no tool. Skipped if the names of the tools are unknown.
fn check_approvals(
    resolved: &ResolvedScript,
    tools: &dyn Tools,
    findings: &mut ScriptDiagnostics<'_>,
) {
    let (Some(node), Ok(asks)) = (resolved.script.config.get("ask"), asks(&resolved.script)) else {
        return;
    };
    let names = tools.names();
    if names.is_empty() || tools.has_unasked() {
        return;
    }
    let all: Vec<_> = names.iter().filter_map(|name| tools.tool(name)).collect();
    let mut known: Vec<&str> = all.iter().flat_map(|tool| tool.spec().names()).collect();
    known.extend(names.iter().map(String::as_str).chain([FETCH]));
    for why in asks.doubts_of_ask(&known) {
        let help = "use the name of an external tool; scripts and functions are not tools here";
        findings.warning("script.permission", why, node.span, help);
    }
}

fn tool_names(node: &Node) -> Vec<(&str, Span)> {
    let mut names = Vec::new();
    match &node.data {
        NodeData::Map(entries) => {
            names.extend(entries.iter().map(|entry| (entry.name(), entry.key.span)))
        }
        NodeData::List(items) => {
            for item in items {
                let id = item.get("id").unwrap_or(item);
                match (id.as_str(), item.entries()) {
                    (Some(name), _) => names.push((name, id.span)),
                    (None, Some(entries)) => {
                        names.extend(entries.iter().map(|entry| (entry.name(), entry.key.span)))
                    }
                    (None, None) => {}
                }
            }
        }
        NodeData::Scalar(_) => names.extend(node.as_str().map(|name| (name, node.span))),
    }
    names
}
