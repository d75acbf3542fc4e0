//! Builds the value tree that templates see from stored keys and values.

use std::sync::{Arc, LazyLock};

use quillet_core::store::EntryKey;
use quillet_core::{Map, MapTable, Value};

/// Top-level names of the request's variables in the context. Both names refer to the same values.
pub(crate) const REQUEST_ROOTS: [&str; 2] = ["args", "variables"];

/// Builds the tree of shared variables: `vscode:lang` becomes `vscode.lang`.
///
/// Shorter keys come first, so that `a:b` adds to the object under `a`; a value that is not an
/// object is replaced. The result does not depend on the order of the keys.
pub(crate) fn tree<'a>(pairs: impl Iterator<Item = (&'a EntryKey, &'a Value)>) -> Map {
    let mut pairs: Vec<(&EntryKey, &Value)> = pairs.collect();
    pairs.sort_by_key(|(key, _)| (key.segments().count(), *key));
    let mut root = Branch::default();
    for (key, value) in pairs {
        let segments: Vec<&str> = key.segments().collect();
        if root.insert(&segments, value) {
            tracing::debug!(key = %key, "a shared variable replaces a value on its path");
        }
    }
    root.into_map()
}

/// An object under construction.
#[derive(Default)]
struct Branch(indexmap::IndexMap<Arc<str>, ContextNode, foldhash::fast::RandomState>);

enum ContextNode {
    Leaf(Value),
    Branch(Branch),
}

impl Branch {
    fn of(map: &Map) -> Self {
        let leaf =
            |(key, value): (&Arc<str>, &Value)| (key.clone(), ContextNode::Leaf(value.clone()));
        Branch(map.iter().map(leaf).collect())
    }

    /// Inserts a value. Returns whether it replaced a value that is not an object.
    fn insert(&mut self, path: &[&str], value: &Value) -> bool {
        let [first, rest @ ..] = path else {
            return false;
        };
        if rest.is_empty() {
            self.0
                .insert(Arc::from(*first), ContextNode::Leaf(value.clone()));
            return false;
        }
        let node = self
            .0
            .entry(Arc::from(*first))
            .or_insert_with(|| ContextNode::Branch(Branch::default()));
        let mut replaced = false;
        if let ContextNode::Leaf(leaf) = node {
            replaced = !matches!(leaf, Value::Map(_));
            // An object under a shorter key is extended. Any other value is replaced.
            let branch = leaf.as_map().map(Branch::of).unwrap_or_default();
            *node = ContextNode::Branch(branch);
        }
        match node {
            ContextNode::Branch(branch) => branch.insert(rest, value) || replaced,
            ContextNode::Leaf(_) => replaced,
        }
    }

    fn into_map(self) -> Map {
        let value = |node| match node {
            ContextNode::Leaf(value) => value,
            ContextNode::Branch(branch) => Value::Map(branch.into_map()),
        };
        let table: MapTable = self
            .0
            .into_iter()
            .map(|(key, node)| (key, value(node)))
            .collect();
        Map::new(table)
    }
}

/// The top-level names as `Arc`s, so that renders can share them without allocating.
static REQUEST_NAMES: LazyLock<[Arc<str>; 2]> = LazyLock::new(|| REQUEST_ROOTS.map(Arc::from));

/// Adds the request's variables to the shared ones; they hide shared variables of the same name.
/// With `at_root` they are also top-level names.
pub(crate) fn with_request(shared: &Map, variables: &Map, at_root: bool) -> Map {
    let [first, second] = &*REQUEST_NAMES;
    let own = if at_root { variables.len() } else { 0 };
    let capacity = shared.len() + own + REQUEST_NAMES.len();
    let mut table = MapTable::with_capacity_and_hasher(capacity, Default::default());
    let pair = |(name, value): (&Arc<str>, &Value)| (name.clone(), value.clone());
    table.extend(shared.iter().map(pair));
    // Inserted after the shared variables, so that request variables override them.
    if at_root {
        table.extend(variables.iter().map(pair));
    }
    for name in [first, second] {
        // The request may define its own variable with this name.
        if !at_root || variables.get(name).is_none() {
            table.insert(name.clone(), Value::Map(variables.clone()));
        }
    }
    Map::new(table)
}

/// Parses a stored value as JSON. Text that is not valid JSON is a plain string.
pub(crate) fn read(key: &EntryKey, text: &str) -> Value {
    quillet_core::json::parse(text).unwrap_or_else(|error| {
        tracing::warn!(key = %key, %error, "a shared variable is not JSON and is used as plain text");
        Value::from(text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conflicts_end_the_same_in_every_order() {
        let cases = [
            (vec![("a", "1"), ("a:b", "2")], r#"{"a":{"b":2}}"#),
            (
                vec![("a:b", "2"), ("a", r#"{"c":3,"b":9}"#)],
                r#"{"a":{"c":3,"b":2}}"#,
            ),
            (
                vec![("x:y:z", "1"), ("x:y", "[1]")],
                r#"{"x":{"y":{"z":1}}}"#,
            ),
            (
                vec![("v:lang", "\"go\""), ("v:fw", "[]")],
                r#"{"v":{"fw":[],"lang":"go"}}"#,
            ),
            (vec![("bad", "{oops")], r#"{"bad":"{oops"}"#),
        ];
        for (pairs, expected) in cases {
            for reversed in [false, true] {
                let mut values: Vec<(EntryKey, Value)> = pairs
                    .iter()
                    .map(|(k, v)| (EntryKey::new(*k), read(&EntryKey::new(*k), v)))
                    .collect();
                if reversed {
                    values.reverse();
                }
                let map = tree(values.iter().map(|(k, v)| (k, v)));
                assert_eq!(quillet_core::json::to_string(&Value::Map(map)), expected);
            }
        }
    }
}
