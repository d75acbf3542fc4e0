//! Checks the recipients of a message: `user[@dobby]`, and `@dobby` at the start of a text.

use quillet_core::nearest;
use quillet_yaml::Node;

use super::diagnostics::{ScriptDiagnostics, meant};
use crate::library::ResolvedScript;
use crate::run::{role_table, speaks_here};
use crate::syntax::MessageTemplate;
use crate::text::recipients;

pub(super) fn check(
    message: &MessageTemplate,
    resolved: &ResolvedScript,
    findings: &mut ScriptDiagnostics<'_>,
) {
    let roles = names(resolved);
    let known = || roles.iter().map(String::as_str);
    let has = |name: &str| speaks_here(name) || known().any(|role| role == name);
    if let Some(to) = &message.to {
        // A value that is not a list of names is reported at run time.
        for named in recipients::bracketed(&to.value).unwrap_or_default() {
            if !has(&named.name) {
                let why = format!("unknown role `{}`", named.name);
                findings.error("script.role", why, to.span, &help(&named.name, known()));
            }
        }
    }
    let text = message.content.as_str().unwrap_or_default();
    if roles.is_empty() || !text.trim_start().starts_with('@') {
        return;
    }
    // `@name` may be a handle or a part of an address, so only names that resemble a role are
    // reported.
    for named in recipients::leading(text).0 {
        if !has(&named.name) && nearest(&named.name, known()).is_some() {
            let why = format!("unknown recipient `@{}`", named.name);
            let help = meant(&named.name, known());
            findings.warning("script.role", why, message.content.span, &help);
        }
    }
}

/// Returns the suggestion for an unknown role.
fn help<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let near = meant(name, known);
    if near.is_empty() {
        "declare its script under `roles`".to_owned()
    } else {
        near
    }
}

/// Returns the names of all roles, including that of the script.
fn names(resolved: &ResolvedScript) -> Vec<String> {
    let own = resolved.script.config.get("name").and_then(Node::as_str);
    let mut names: Vec<String> = own.map(str::to_owned).into_iter().collect();
    let roles = role_table(resolved.config.get("roles"));
    names.extend(roles.keys().map(ToString::to_string));
    names
}
