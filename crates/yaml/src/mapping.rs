//! Builds mappings from keys and values. Handles merge keys, duplicate keys and keys that are not
//! names.

use std::collections::HashMap;
use std::sync::Arc;

use crate::node::{MapEntry, Node, NodeData, ScalarFormat};
use crate::problem::YamlProblem;
use crate::rejected;

/// Returns the entries of a mapping from alternating keys and values.
pub(crate) fn entries(
    items: Vec<Node>,
    last_wins: bool,
    file: &str,
    problems: &mut Vec<YamlProblem>,
) -> Vec<MapEntry> {
    let mut entries: Vec<MapEntry> = Vec::with_capacity(items.len() / 2);
    // The entries are indexed by name, because a mapping may have thousands of keys.
    let mut seen: HashMap<Arc<str>, usize> = HashMap::new();
    let mut merges = Vec::new();
    let mut items = items.into_iter();
    while let (Some(key), Some(value)) = (items.next(), items.next()) {
        let NodeData::Scalar(name) = &key.data else {
            problems.push(not_a_name(&key, file));
            continue;
        };
        // A quoted `<<` is an ordinary key.
        if name.style == ScalarFormat::Plain && &*name.text == "<<" {
            merges.push((entries.len(), value));
            continue;
        }
        let first = seen.get(&name.text).and_then(|at| entries.get_mut(*at));
        match first {
            None => {
                seen.insert(Arc::clone(&name.text), entries.len());
                entries.push(MapEntry { key, value });
            }
            Some(first) if last_wins => first.value = value,
            Some(first) => problems.push(duplicate_key(&key, first)),
        }
    }
    // Most mappings do not have a merge key, so they do not need a second pass.
    if merges.is_empty() {
        return entries;
    }
    merge(entries, merges, &mut seen, problems)
}

/// Inserts the entries of merge keys at the position of the key; the mapping's own keys win.
fn merge(
    entries: Vec<MapEntry>,
    merges: Vec<(usize, Node)>,
    seen: &mut HashMap<Arc<str>, usize>,
    problems: &mut Vec<YamlProblem>,
) -> Vec<MapEntry> {
    let mut merged = Vec::with_capacity(entries.len());
    let mut merges = merges.into_iter().peekable();
    let mut entries = entries.into_iter().enumerate().peekable();
    loop {
        // A merge at the position of an entry comes before it, as written.
        let here = entries.peek().map_or(usize::MAX, |(at, _)| *at);
        if let Some((_, value)) = merges.next_if(|(at, _)| *at <= here) {
            merge_entries(value, seen, &mut merged, problems);
        } else if let Some((_, entry)) = entries.next() {
            merged.push(entry);
        } else {
            return merged;
        }
    }
}

fn merge_entries(
    value: Node,
    seen: &mut HashMap<Arc<str>, usize>,
    merged: &mut Vec<MapEntry>,
    problems: &mut Vec<YamlProblem>,
) {
    match value.data {
        NodeData::Map(entries) => {
            for entry in entries {
                // `usize::MAX` marks a merged key; it only has to be present.
                let name: Arc<str> = entry.name().into();
                if seen.insert(name, usize::MAX).is_none() {
                    merged.push(entry);
                }
            }
        }
        NodeData::List(items) => {
            for item in items {
                merge_entries(item, seen, merged, problems);
            }
        }
        NodeData::Scalar(_) => {
            let message = "`<<` must be an object or a list of objects";
            problems.push(YamlProblem::new(value.span, message));
        }
    }
}

fn duplicate_key(key: &Node, first: &MapEntry) -> YamlProblem {
    let name = key.text().unwrap_or_default();
    YamlProblem::new(key.span, format!("duplicate key `{name}`")).first(first.key.span)
}

fn not_a_name(key: &Node, file: &str) -> YamlProblem {
    // `{{x}}` is a mapping whose key is a mapping.
    let before = key.span.start.saturating_sub(1);
    if file
        .get(before..)
        .is_some_and(|written| written.starts_with("{{"))
    {
        return rejected::needs_quotes("{{", before);
    }
    let message = format!("a key must be a name, not {}", key.kind());
    YamlProblem::new(key.span, message).help("quote a key that begins with a bracket")
}
