//! Warnings about unknown names in a definition.

use quillet_core::{Diagnostic, nearest};
use quillet_yaml::Node;

use super::fields::{DefinitionDiagnostics, ObjectFields};
use super::{AgentDefinition, FIELDS, tree};
use crate::Permissions;
use crate::permission::{pattern_matches, unasked, unmatched};

/// Code of these diagnostics.
const CODE: &str = "agent.unmatched";

/// Known names to which a definition may refer.
#[derive(Clone, Copy, Debug, Default)]
pub struct KnownNames<'a> {
    /// Names of each tool: its function name and its targets, such as `prompt/ID`.
    pub tools: &'a [Vec<String>],
    /// Names of skills; `None` if they are unknown.
    pub skills: Option<&'a [String]>,
    /// Whether every agent has further tools that are not in `tools`, such as those of MCP servers.
    pub has_more: bool,
}

impl AgentDefinition {
    /// Returns warnings about patterns of `tools` that match no known tool, patterns of `ask` that
    /// match no allowed tool, and unknown skills.
    ///
    /// ```
    /// use quillet_agent::{AgentDefinition, KnownNames};
    ///
    /// let tools = [vec!["weather".to_owned()]];
    /// let known = KnownNames {
    ///     tools: &tools,
    ///     ..KnownNames::default()
    /// };
    /// let warnings = AgentDefinition::doubts("helper", "tools: [wether]", known);
    /// assert_eq!(warnings.len(), 1);
    /// assert_eq!(warnings[0].help.as_deref(), Some("did you mean weather?"));
    /// ```
    #[must_use]
    pub fn doubts(source: &str, text: &str, known: KnownNames<'_>) -> Vec<Diagnostic> {
        // `parse` reports the syntax error, and there are no names to compare.
        let Ok(root) = tree(source, text) else {
            return Vec::new();
        };
        // `parse` reports errors in the fields, so they are discarded here.
        let mut other = DefinitionDiagnostics::new(source, text);
        let fields = ObjectFields::of(&root, "", Some(FIELDS), &mut other);
        let warning = |node: &Node, message: String, help: Option<String>| {
            let found = Diagnostic::warning(CODE, source, message);
            Diagnostic {
                help,
                ..found.at(text, node.span)
            }
        };
        let near = |name: &str, known: Vec<&str>| {
            nearest(name, known).map(|near| format!("did you mean {near}?"))
        };
        let mut doubts = Vec::new();
        for (node, pattern) in texts(&fields, "tools") {
            if !known.tools.iter().any(|names| is_about(pattern, names)) {
                let help = near(
                    plain(pattern),
                    known.tools.iter().flatten().map(String::as_str).collect(),
                );
                doubts.push(warning(node, unmatched(pattern), help));
            }
        }
        let called = CallableTools::of(&fields, known);
        for (node, pattern) in texts(&fields, "ask") {
            if called.has_more || called.tools.iter().any(|names| is_about(pattern, names)) {
                continue;
            }
            let is_known = known.tools.iter().any(|names| is_about(pattern, names));
            let help = if is_known {
                Some("also add it to `tools`".to_owned())
            } else {
                near(
                    plain(pattern),
                    called
                        .tools
                        .iter()
                        .copied()
                        .flatten()
                        .map(String::as_str)
                        .collect(),
                )
            };
            doubts.push(warning(node, unasked(pattern), help));
        }
        for node in fields.list("skills") {
            let name = node.as_str().or_else(|| node.get("name")?.as_str());
            let (Some(name), Some(skills)) = (name, known.skills) else {
                continue;
            };
            if !skills.iter().any(|skill| skill == name) {
                let message = format!("skills: unknown skill {name:?}");
                let help = near(name, skills.iter().map(String::as_str).collect());
                doubts.push(warning(node, message, help));
            }
        }
        doubts
    }
}

/// Tools that an agent may call.
struct CallableTools<'a> {
    tools: Vec<&'a Vec<String>>,
    /// Whether it may have other tools: those of its servers and skills, and global ones.
    has_more: bool,
}

impl<'a> CallableTools<'a> {
    fn of(fields: &ObjectFields<'_>, known: KnownNames<'a>) -> Self {
        let patterns: Vec<&str> = texts(fields, "tools").map(|(_, pattern)| pattern).collect();
        let permitted = Permissions::parse(&patterns).unwrap_or_default();
        let searches = |features: &Node| {
            // A raw node has the spelling of the file, so both spellings are looked up.
            let names = ["webSearch", "web_search"];
            names.iter().any(|name| features.get(name).is_some())
        };
        let tools = known.tools.iter().filter(|names| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            permitted.allows_one_of(&names)
        });
        CallableTools {
            tools: tools.collect(),
            has_more: known.has_more
                || fields.get("features").is_some_and(searches)
                || fields.get("mcpServers").is_some()
                || !fields.list("skills").is_empty(),
        }
    }
}

fn texts<'n>(fields: &ObjectFields<'n>, name: &str) -> impl Iterator<Item = (&'n Node, &'n str)> {
    let nodes = fields.list(name).into_iter();
    nodes.filter_map(|node| Some((node, node.as_str()?)))
}

fn is_about(pattern: &str, names: &[String]) -> bool {
    names.iter().any(|name| pattern_matches(pattern, name))
}

fn plain(pattern: &str) -> &str {
    pattern.trim_start_matches('!')
}
