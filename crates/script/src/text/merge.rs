//! Merges the configuration of a script with that of its parents.

use std::sync::Arc;

use indexmap::IndexMap;
use quillet_core::{Map, Value, ValueList};

/// Key or prefix of the marker that specifies how a list is merged.
const MARKER: &str = "@inheritMerge";

/// Maximum depth to which objects are merged. Below it, the child's value is used.
const DEPTH: usize = 100;

/// Merges a configuration with the configurations of its parents, which are given nearest first.
/// The child's values take precedence, objects are merged recursively, and lists contain the
/// parents' items followed by the child's.
///
/// The first item of a list can change how the list is merged: `@inheritMerge(.end)` or
/// `{"@inheritMerge": ".end"}` puts the parents' items last, and `false` omits them.
///
/// ```
/// use quillet_core::Value;
/// use quillet_script::text::merge::inherit;
/// use serde_json::json;
///
/// let child = Value::from(json!({"model": "small"}));
/// let parent = Value::from(json!({"model": "large", "tone": "brief"}));
/// let merged = inherit(&child, &[parent]);
/// assert_eq!(merged, Value::from(json!({"model": "small", "tone": "brief"})));
/// ```
#[must_use]
pub fn inherit(child: &Value, parents: &[Value]) -> Value {
    let parents: Vec<&Value> = parents.iter().collect();
    merged(child, &parents, 0)
}

fn merged(child: &Value, parents: &[&Value], level: usize) -> Value {
    match child {
        Value::Map(map) if level < DEPTH => maps(map, parents, level),
        Value::List(items) => lists(items, parents),
        plain => plain.clone(),
    }
}

fn maps(child: &Map, parents: &[&Value], level: usize) -> Value {
    let mut keys: IndexMap<&Arc<str>, Vec<&Value>> = IndexMap::new();
    let parents = parents.iter().filter_map(|parent| parent.as_map());
    // The child comes first, so its values take precedence and its key order is preserved.
    for map in std::iter::once(child).chain(parents) {
        for (key, value) in map {
            keys.entry(key).or_default().push(value);
        }
    }
    let merged = keys.into_iter().filter_map(|(key, values)| {
        let (first, others) = values.split_first()?;
        Some((Arc::clone(key), merged(first, others, level + 1)))
    });
    Value::Map(merged.collect())
}

/// The position of a parent's items.
#[derive(Clone, Copy, PartialEq)]
enum MergePosition {
    Before,
    Behind,
    Nowhere,
}

fn lists(child: &ValueList, parents: &[&Value]) -> Value {
    let (marker, own) = marked(child);
    let mode = marker.unwrap_or(MergePosition::Before);
    if mode == MergePosition::Nowhere {
        return own.to_vec().into();
    }
    let (mut before, mut behind): (Vec<&[Value]>, Vec<&[Value]>) = (Vec::new(), Vec::new());
    for parent in parents {
        // A parent value of another type has no items to add, so the child's type is used.
        let Value::List(items) = parent else { continue };
        let (marker, items) = marked(items);
        match mode {
            MergePosition::Behind => behind.push(items),
            _ => before.push(items),
        }
        // This parent excludes the items of its own parents, so any farther ones are ignored.
        if marker == Some(MergePosition::Nowhere) {
            break;
        }
    }
    // Parents are ordered nearest first, but items before the child's start with the farthest
    // parent.
    let parts = before.into_iter().rev().chain([own]).chain(behind);
    Value::List(parts.flatten().cloned().collect())
}

/// Splits a list into its marker and its items.
fn marked(list: &[Value]) -> (Option<MergePosition>, &[Value]) {
    let found = list
        .split_first()
        .and_then(|(first, rest)| Some((mode(first)?, rest)));
    match found {
        Some((mode, rest)) => (Some(mode), rest),
        None => (None, list),
    }
}

fn mode(item: &Value) -> Option<MergePosition> {
    match item {
        Value::Str(text) => {
            let rest = text.trim().strip_prefix(MARKER)?;
            let inside = rest
                .strip_prefix('(')
                .and_then(|rest| rest.strip_suffix(')'));
            match (rest.is_empty(), inside) {
                (true, _) => Some(MergePosition::Before),
                (false, inside) => mode_of(inside?.trim()),
            }
        }
        Value::Map(map) if map.len() == 1 => match map.get(MARKER)? {
            Value::Bool(false) => Some(MergePosition::Nowhere),
            Value::Bool(true) | Value::Null => Some(MergePosition::Before),
            Value::Str(text) => mode_of(text.trim()),
            _ => None,
        },
        _ => None,
    }
}

fn mode_of(text: &str) -> Option<MergePosition> {
    match text {
        "" | ".start" | "start" | "true" => Some(MergePosition::Before),
        ".end" | "end" => Some(MergePosition::Behind),
        "false" => Some(MergePosition::Nowhere),
        _ => None,
    }
}
