//! Checks front matter settings that have a fixed set of values.

use quillet_core::{Map, Span, Value};
use quillet_yaml::Node;

use super::diagnostics::ScriptDiagnostics;
use super::schema;
use crate::call::CallSettings;
use crate::library::ResolvedScript;
use crate::library::permissions::{asks, permissions};
use crate::text::template::Templates;

/// Values of `formatStringStrategy`.
const STRATEGIES: [&str; 3] = ["Deferred", "Immediate", "Raw"];

pub(super) fn check(
    resolved: &ResolvedScript,
    templates: &Templates,
    findings: &mut ScriptDiagnostics<'_>,
) {
    let config = &resolved.script.config;
    schema::check(&resolved.script, findings);
    settings(config, findings);
    if let Some((format, at)) = text_at(config, "templateFormat")
        && let Err(error) = templates.check_format(format)
    {
        findings.error(
            "template.format",
            error.message,
            at,
            &error.help.unwrap_or_default(),
        );
    }
    if let Some((strategy, at)) = text_at(config, "formatStringStrategy")
        && !STRATEGIES
            .iter()
            .any(|known| known.eq_ignore_ascii_case(strategy))
    {
        let why = format!("unknown formatStringStrategy {strategy:?}");
        findings.warning("script.setting", why, at, "use Raw, Deferred or Immediate");
    }
    if let Err(found) = permissions(&resolved.script) {
        let () = findings.add(found);
    }
    if let Err(found) = asks(&resolved.script) {
        let () = findings.add(found);
    }
    role_names(config, findings);
}

fn text_at<'n>(config: &'n Node, key: &str) -> Option<(&'n str, Span)> {
    let node = config.get(key)?;
    Some((node.as_str()?, node.span))
}

/// Checks model parameters in the same way as a model call.
fn settings(config: &Node, findings: &mut ScriptDiagnostics<'_>) {
    let written = config.get("parameters").and_then(Node::entries);
    for entry in written.unwrap_or_default() {
        if let Some(near) = CallSettings::meant(entry.name()) {
            let why = format!("unknown model setting `{}`", entry.name());
            let help = format!("did you mean `{near}`?");
            findings.error("script.setting", why, entry.key.span, &help);
        }
    }
    for key in ["parameters", "prompt"] {
        let node = config.get(key);
        let Some((node, Value::Map(map))) = node.map(|node| (node, node.value())) else {
            continue;
        };
        report_settings(node, &map, findings);
    }
    // These settings are also valid at the top level of the front matter.
    let apart = ["shouldThink", "response_format", "forceJson"];
    let apart = apart
        .into_iter()
        .filter_map(|key| Some((key, config.get(key)?.value())));
    let map: Map = apart.collect();
    if !map.is_empty() {
        report_settings(config, &map, findings);
    }
}

fn report_settings(node: &Node, map: &Map, findings: &mut ScriptDiagnostics<'_>) {
    let (_, warnings) = CallSettings::read(map);
    for why in warnings {
        let mut entries = node.entries().unwrap_or_default().iter();
        let about = entries.find(|entry| why.contains(entry.name()));
        let at = about.map_or(node.span, |entry| entry.value.span);
        findings.warning("script.setting", why, at, "");
    }
}

/// Reports a role with a reserved name, because it would never get a turn.
fn role_names(config: &Node, findings: &mut ScriptDiagnostics<'_>) {
    let roles = config.get("roles").and_then(Node::entries);
    for entry in roles.unwrap_or_default() {
        let name = entry.name();
        if matches!(name, "system" | "user" | "assistant" | "tool" | "all") {
            let why = format!("invalid role name {name:?}: the name is reserved");
            findings.warning("script.role", why, entry.key.span, "use another name");
        }
    }
}
