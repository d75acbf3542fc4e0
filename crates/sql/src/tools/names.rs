//! Derives tool names from connection names.

use std::collections::HashSet;

use crate::Connection;

/// Maximum length of a prefix: the shortest limit of all providers minus the longest task name.
const LONGEST: usize = 64 - "_table_schema".len();

/// Returns each connection with the prefix of its tools, such as `db_shop` for `shop`. Providers
/// accept ASCII letters, digits and `_`. A name with other characters, and a name that would
/// collide, gets a hash of the whole name.
pub(super) fn prefixes<'a>(
    connections: impl Iterator<Item = &'a Connection>,
) -> Vec<(&'a Connection, String)> {
    let mut taken = HashSet::new();
    let mut prefixes = Vec::new();
    for connection in connections {
        let mut prefix = plain(&connection.name);
        // Non-ASCII letters become `_`, so different names could collide. Such names get a hash.
        let says_all = connection.name.is_ascii() && prefix.len() <= LONGEST;
        if !says_all || taken.contains(&prefix) {
            prefix = numbered(&prefix, &connection.name);
        }
        taken.insert(prefix.clone());
        prefixes.push((connection, prefix));
    }
    prefixes
}

fn plain(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = name.chars().map(safe).collect();
    format!("db_{name}")
}

fn numbered(prefix: &str, name: &str) -> String {
    let number = format!("_{:08x}", hash(name));
    let head: String = prefix.chars().take(LONGEST - number.len()).collect();
    format!("{}{number}", head.trim_end_matches('_'))
}

/// Hashes a name with FNV-1a, which is stable across machines and versions.
fn hash(name: &str) -> u32 {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    name.bytes().fold(0x811c_9dc5, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_fit_for_every_provider_and_stay_apart() {
        let long = "a".repeat(64);
        let names = ["shop", "a-b", "a.b", "a_b", "商店", "店商", &long];
        let connections = names.map(|name| Connection {
            name: name.to_owned(),
            ..Connection::default()
        });
        let prefixes: Vec<String> = prefixes(connections.iter())
            .into_iter()
            .map(|(_, prefix)| prefix)
            .collect();
        assert_eq!(prefixes[..2], ["db_shop", "db_a_b"]);
        assert!(prefixes[4].starts_with("db_") && prefixes[4].is_ascii());
        let different: HashSet<&String> = prefixes.iter().collect();
        assert_eq!(different.len(), names.len(), "{prefixes:?}");
        assert!(prefixes.iter().all(|prefix| prefix.len() <= LONGEST));
    }
}
