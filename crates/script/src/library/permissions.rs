//! Front matter keys `permissions.ai.call` (tools that models may call) and `ask` (tools that need
//! approval).
//!
//! A misspelled key would silently allow everything. Unknown keys, values of a wrong type, and keys
//! that resemble `permissions` are therefore errors, both in checks and when a script is stored or
//! run.

use quillet_agent::Permissions;
use quillet_core::{Diagnostic, Span, nearest};
use quillet_yaml::{Node, NodeData};

use crate::syntax::Script;

/// Error code for invalid permissions.
const CODE: &str = "script.permission";
const KEY: &str = "permissions";
/// Marker in a list that specifies how it is joined with the parent's list.
const MERGES: &str = "@inheritMerge";
const ASK: &str = "ask";
const ASK_HELP: &str = "`ask` lists tools that need approval: `ask: [send, \"orders_*\"]`; use \
another name for a variable";
const HELP: &str = "for example, write `permissions: {ai: {call: [\"w*\", \"!search\"]}}`";

/// Returns the tools that models may call according to the script's own front matter, or `None` if
/// the front matter does not specify them.
///
/// # Errors
/// Returns all errors in it, with locations.
pub fn permissions(script: &Script) -> Result<Option<Permissions>, Vec<Diagnostic>> {
    let mut reading = PermissionReader {
        script,
        found: Vec::new(),
    };
    reading.misspelt(&script.config);
    let read = match script.config.get(KEY) {
        Some(node) => reading.of(node),
        None => None,
    };
    if reading.found.is_empty() {
        Ok(read)
    } else {
        Err(reading.found)
    }
}

/// Returns the tools that need approval according to the script's own front matter. The result is
/// empty if the front matter does not specify any.
///
/// # Errors
/// Returns all errors in it, with locations.
pub fn asks(script: &Script) -> Result<Permissions, Vec<Diagnostic>> {
    let mut reading = PermissionReader {
        script,
        found: Vec::new(),
    };
    let node = script.config.get(ASK);
    let read = node.and_then(|node| reading.patterns(node, ASK_HELP));
    if reading.found.is_empty() {
        Ok(read.unwrap_or_default())
    } else {
        Err(reading.found)
    }
}

struct PermissionReader<'s> {
    script: &'s Script,
    found: Vec<Diagnostic>,
}

impl PermissionReader<'_> {
    fn wrong(&mut self, at: Span, message: impl Into<String>, help: &str) {
        let found = self.script.source.error(CODE, message, at);
        self.found.push(found.help(help.to_owned()));
    }

    fn of(&mut self, node: &Node) -> Option<Permissions> {
        let ai = self.only(node, KEY, "ai")?;
        let call = self.only(ai, "permissions.ai", "call")?;
        self.patterns(call, HELP)
    }

    /// Returns the value of the single member that an object must have.
    fn only<'n>(&mut self, node: &'n Node, name: &str, member: &str) -> Option<&'n Node> {
        let Some(entries) = node.entries() else {
            let why = format!(
                "{name} must be an object with `{member}`, not {}",
                node.kind()
            );
            self.wrong(node.span, why, HELP);
            return None;
        };
        for entry in entries.iter().filter(|entry| entry.name() != member) {
            let key = entry.name();
            let why = format!("unknown key {key:?} in {name}");
            let help = if near(key, member) {
                format!("did you mean {member}? It is the only key")
            } else {
                format!("the only key is `{member}`")
            };
            self.wrong(entry.key.span, why, &help);
        }
        let found = node.get(member);
        if found.is_none() && entries.is_empty() {
            let why = format!("missing `{member}` in {name}");
            self.wrong(node.span, why, HELP);
        }
        found
    }

    fn patterns(&mut self, node: &Node, help: &str) -> Option<Permissions> {
        let nodes = match &node.data {
            NodeData::List(items) => items.as_slice(),
            _ => std::slice::from_ref(node),
        };
        let mut texts = Vec::new();
        for pattern in nodes {
            match pattern.as_str() {
                Some(text) if text.starts_with(MERGES) => {}
                Some(text) => texts.push(text),
                None => {
                    let why = format!(
                        "invalid permission: expected a string, not {}",
                        pattern.kind()
                    );
                    self.wrong(pattern.span, why, help);
                }
            }
        }
        if !self.found.is_empty() {
            return None;
        }
        match Permissions::parse(&texts) {
            Ok(permissions) => Some(permissions),
            Err(problem) => {
                // `texts` does not contain the markers for joining lists, so the index refers to
                // the shorter list.
                let text = problem.index().and_then(|index| texts.get(index));
                let place =
                    text.and_then(|text| nodes.iter().find(|node| node.as_str() == Some(text)));
                self.wrong(place.unwrap_or(node).span, problem.to_string(), help);
                None
            }
        }
    }

    /// Rejects keys that are probably misspellings of `permissions`. Any other key of a front
    /// matter is a variable of the script.
    fn misspelt(&mut self, config: &Node) {
        for entry in config.entries().unwrap_or_default() {
            let key = entry.name();
            let (first, dotted) = match key.split_once('.') {
                Some((first, _)) => (first, true),
                None => (key, false),
            };
            let is_meant = match entry.value.entries() {
                _ if key == KEY => false,
                _ if dotted => first == KEY || near(first, KEY),
                Some(members) => {
                    near(key, KEY)
                        || members.iter().any(|member| {
                            let calls = |name: &str| name == "call" || near(name, "call");
                            let inner = member.value.entries().unwrap_or_default();
                            member.name() == "ai" && inner.iter().any(|entry| calls(entry.name()))
                        })
                }
                None => matches!(entry.value.data, NodeData::List(_)) && near(key, KEY),
            };
            if is_meant {
                let why = format!("unknown permission key {key:?}");
                let help = format!("did you mean {KEY}? {HELP}");
                self.wrong(entry.key.span, why, &help);
            }
        }
    }
}

/// Returns whether a name is probably a misspelling of another, ignoring case.
fn near(name: &str, known: &str) -> bool {
    name != known && nearest(&name.to_lowercase(), [known]).is_some()
}
