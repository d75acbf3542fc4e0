//! Checks for secret keys in a script.

use std::sync::LazyLock;

use fancy_regex::Regex;
use quillet_core::Span;
use quillet_yaml::{Node, NodeData};

use super::diagnostics::ScriptDiagnostics;
use crate::syntax::Script;

/// Pattern of the keys of well-known services.
static KEYS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let looks = r"\b(sk-[A-Za-z0-9_-]{20,}|AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{36,}|xox[abpr]-[A-Za-z0-9-]{10,}|AIza[0-9A-Za-z_-]{35})\b";
    Regex::new(looks).ok()
});

/// Names of settings that hold keys, in lower case, without `_` and `-`.
const NAMES: [&str; 7] = [
    "apikey",
    "accesstoken",
    "authtoken",
    "password",
    "privatekey",
    "secret",
    "secretkey",
];

pub(super) fn check(script: &Script, findings: &mut ScriptDiagnostics<'_>) {
    let text: &str = &script.source.text;
    if let Some(keys) = KEYS.as_ref() {
        for found in keys.find_iter(text).flatten() {
            let (start, end) = (found.start(), found.end());
            report_secret(Span { start, end }, findings);
        }
    }
    named(&script.config, findings);
}

fn named(node: &Node, findings: &mut ScriptDiagnostics<'_>) {
    for entry in node.entries().unwrap_or_default() {
        let name = entry.name().replace(['_', '-'], "").to_lowercase();
        match &entry.value.data {
            NodeData::Scalar(scalar)
                if NAMES.contains(&name.as_str()) && is_literal(&scalar.text) =>
            {
                report_secret(entry.value.span, findings);
            }
            NodeData::Scalar(_) => {}
            NodeData::Map(_) | NodeData::List(_) => named(&entry.value, findings),
        }
    }
    node.items()
        .unwrap_or_default()
        .iter()
        .for_each(|item| named(item, findings));
}

/// Returns whether a value is a literal, neither empty nor read from elsewhere.
fn is_literal(text: &str) -> bool {
    let elsewhere = ["{{", "${", "?=", "$"]
        .iter()
        .any(|mark| text.trim_start().starts_with(mark));
    text.len() >= 8 && !elsewhere
}

fn report_secret(at: Span, findings: &mut ScriptDiagnostics<'_>) {
    let told = findings.list.iter().any(|found| {
        let overlaps = |span: Span| span.start < at.end && at.start < span.end;
        found.code == "script.secret" && found.span.is_some_and(overlaps)
    });
    if !told {
        let help = "read it from the environment, and revoke this key at its provider";
        findings.warning(
            "script.secret",
            "possible secret key in the script",
            at,
            help,
        );
    }
}
