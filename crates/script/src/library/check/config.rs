//! Settings of a front matter whose values are a choice.

use quillet_core::{Map, Span, Value};
use quillet_yaml::{Data, Node};

use super::{Findings, schema};
use crate::call::Settings;
use crate::library::Resolved;
use crate::text::template::Templates;

/// When strings are formatted (note 49).
const STRATEGIES: [&str; 3] = ["Deferred", "Immediate", "Raw"];

pub(super) fn check(resolved: &Resolved, templates: &Templates, findings: &mut Findings<'_>) {
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
        let why = format!("there is no formatStringStrategy {strategy:?}");
        findings.warning(
            "script.setting",
            why,
            at,
            "there are Raw, Deferred and Immediate",
        );
    }
    permissions(config, findings);
    role_names(config, findings);
}

fn text_at<'n>(config: &'n Node, key: &str) -> Option<(&'n str, Span)> {
    let node = config.get(key)?;
    Some((node.as_str()?, node.span))
}

/// What the call of a model would say of its parameters.
fn settings(config: &Node, findings: &mut Findings<'_>) {
    for key in ["parameters", "prompt"] {
        let node = config.get(key);
        let Some((node, Value::Map(map))) = node.map(|node| (node, node.value())) else {
            continue;
        };
        told(node, &map, findings);
    }
    // Those that also stand in the front matter itself (seed 002, "模型参数配置").
    let apart = ["shouldThink", "response_format", "forceJson"];
    let apart = apart
        .into_iter()
        .filter_map(|key| Some((key, config.get(key)?.value())));
    let map: Map = apart.collect();
    if !map.is_empty() {
        told(config, &map, findings);
    }
}

fn told(node: &Node, map: &Map, findings: &mut Findings<'_>) {
    let (_, warnings) = Settings::read(map);
    for why in warnings {
        let mut entries = node.entries().unwrap_or_default().iter();
        let about = entries.find(|entry| why.contains(entry.name()));
        let at = about.map_or(node.span, |entry| entry.value.span);
        findings.warning("script.setting", why, at, "");
    }
}

/// `permissions.ai.call`: patterns (seed 002, "权限控制").
fn permissions(config: &Node, findings: &mut Findings<'_>) {
    let Some(permissions) = config.get("permissions").filter(|node| !node.is_null()) else {
        return;
    };
    let help = "such as `permissions: {ai: {call: [\"w*\", \"!search\"]}}`";
    let Some(call) = permissions.get("ai").and_then(|ai| ai.get("call")) else {
        let why = "permissions say nothing: there is `ai.call`";
        return findings.warning("script.permission", why, permissions.span, help);
    };
    let patterns = match &call.data {
        Data::List(items) => items.as_slice(),
        _ => std::slice::from_ref(call),
    };
    for pattern in patterns {
        match pattern.as_str().map(wrong_with) {
            Some(None) => {}
            Some(Some(why)) => findings.error("script.permission", why, pattern.span, help),
            None => {
                let why = format!("a permission is a text, not {}", pattern.kind());
                findings.error("script.permission", why, pattern.span, help);
            }
        }
    }
}

fn wrong_with(pattern: &str) -> Option<&'static str> {
    let name = pattern.strip_prefix('!').unwrap_or(pattern);
    match () {
        () if name.is_empty() => Some("this permission names nothing"),
        () if name.starts_with('!') => Some("a permission has one ! at most"),
        () if name.contains(char::is_whitespace) => {
            Some("a permission has no blanks: each stands for itself in the list")
        }
        () => None,
    }
}

/// A role of the group that is called like a role of every dialogue never gets a word.
fn role_names(config: &Node, findings: &mut Findings<'_>) {
    let roles = config.get("roles").and_then(Node::entries);
    for entry in roles.unwrap_or_default() {
        let name = entry.name();
        if matches!(name, "system" | "user" | "assistant" | "tool" | "all") {
            let why = format!("{name:?} is no name for a role: it has a meaning of its own");
            findings.warning("script.role", why, entry.key.span, "a name of its own");
        }
    }
}
