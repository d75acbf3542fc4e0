//! Names of MCP tools for models. Providers accept letters, digits, `_` and `-`, at most 64 of
//! them, but MCP servers may use any names.

use std::collections::HashSet;

const MOST: usize = 64;

/// Names that are in use.
#[derive(Debug, Default)]
pub(super) struct UsedNames(HashSet<String>);

impl UsedNames {
    /// Creates the set with the names of other tools.
    pub(super) fn taken(names: &[&str]) -> Self {
        UsedNames(names.iter().map(|name| (*name).to_owned()).collect())
    }

    /// Returns a unique name for a tool of a server. Uses the server's own name for it if that is
    /// valid and free, otherwise adds the server's name as a prefix, and then a number.
    pub(super) fn give(&mut self, server: &str, tool: &str) -> String {
        let own = fit(tool);
        let prefixed = fit(&format!("{server}_{tool}"));
        let numbered = (2..).map(|number| fit(&format!("{server}_{tool}_{number}")));
        let name = [own, prefixed]
            .into_iter()
            .chain(numbered)
            .find(|name| !self.0.contains(name))
            // The numbered names are infinite, so one of them is free.
            .unwrap_or_default();
        self.0.insert(name.clone());
        name
    }
}

/// Converts a name to one that providers accept. A long name is truncated and ends in a hash, so
/// that names with a common prefix stay distinct.
fn fit(name: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let plain: String = name
        .chars()
        .map(|c| if allowed(c) { c } else { '_' })
        .collect();
    match plain.len() {
        0 => "tool".to_owned(),
        length if length <= MOST => plain,
        // The hash distinguishes long names with the same beginning.
        _ => format!("{}_{:08x}", &plain[..MOST - 9], mark(name)),
    }
}

/// FNV-1a: the same on every platform and in every version, because histories contain these names.
fn mark(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_and_differ() {
        let mut names = UsedNames::taken(&["web_search"]);
        let long = "x".repeat(64);
        let longer = "y".repeat(5_000);
        let cases = [
            ("a", "echo", "echo".to_owned()),
            ("b", "echo", "b_echo".to_owned()),
            ("b", "echo", "b_echo_2".to_owned()),
            ("my server", "web_search", "my_server_web_search".to_owned()),
            ("a", "ns/tool.name\n", "ns_tool_name_".to_owned()),
            ("a", "查询", "__".to_owned()),
            ("a", "", "tool".to_owned()),
            ("a", &long, long.clone()),
            (
                "a",
                &longer,
                format!("{}_{:08x}", &longer[..55], mark(&longer)),
            ),
        ];
        for (server, tool, expected) in cases {
            assert_eq!(names.give(server, tool), expected, "{server} {tool}");
        }
        let first = fit(&format!("{longer}1"));
        assert_ne!(first, fit(&format!("{longer}2")));
        assert_eq!(first.len(), MOST);
    }
}
