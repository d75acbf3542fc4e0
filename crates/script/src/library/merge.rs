//! A child's front matter over its parent's (note 76): the child wins, objects are merged in depth, lists
//! are joined with the parent's items first.
//!
//! A list may say otherwise with its first item: `@inheritMerge(.end)` puts the parent's items last,
//! `@inheritMerge(false)` leaves them out. `input`, `tools` and `roles` name things: what both name is
//! merged, not repeated.

use std::sync::Arc;

use quillet_core::{Map, Table, Value};

const MARKER: &str = "@inheritMerge";
/// Keys whose lists and objects are tables of named things.
const NAMED: [&str; 3] = ["input", "roles", "tools"];

/// Merges a child over its parents, the nearest first.
pub(super) fn inherit(child: Map, parents: impl IntoIterator<Item = Map>) -> Map {
    let merged = parents
        .into_iter()
        .fold(child, |child, parent| top(&child, &parent));
    without_markers(&Value::Map(merged))
        .as_map()
        .cloned()
        .unwrap_or_default()
}

fn top(child: &Map, parent: &Map) -> Map {
    let mut table = child.to_table();
    for (key, inherited) in parent {
        let merged = match (table.get(key), NAMED.contains(&key.as_ref())) {
            (Some(own), true) => named(key, own, inherited).unwrap_or_else(|| over(own, inherited)),
            (Some(own), false) => over(own, inherited),
            (None, _) => inherited.clone(),
        };
        table.insert(key.clone(), merged);
    }
    Map::new(table)
}

/// A child's value over its parent's.
fn over(child: &Value, parent: &Value) -> Value {
    match (child, parent) {
        (Value::Map(child), Value::Map(parent)) => {
            let mut table = child.to_table();
            for (key, inherited) in parent {
                let own = table.get(key).map(|own| over(own, inherited));
                table.insert(key.clone(), own.unwrap_or_else(|| inherited.clone()));
            }
            Map::new(table).into()
        }
        (Value::List(child), Value::List(parent)) => joined(child, parent),
        _ => child.clone(),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Placing {
    Before,
    After,
    Nowhere,
}

/// A child's list with its parent's. The child's marker stays, so that it holds for grandparents too.
fn joined(child: &[Value], parent: &[Value]) -> Value {
    let own = child.first().and_then(placing);
    let (marker, rest) = child.split_at(usize::from(own.is_some()));
    let parent_marked = parent.first().and_then(placing).is_some();
    let inherited = match own {
        // A parent's own marker is for its parents; it stays only where it comes first.
        Some(_) => &parent[usize::from(parent_marked)..],
        None => parent,
    };
    let parts = match own.unwrap_or(Placing::Before) {
        Placing::Before => [marker, inherited, rest],
        Placing::After => [marker, rest, inherited],
        Placing::Nowhere => [marker, rest, &[]],
    };
    Value::from(parts.concat())
}

fn placing(item: &Value) -> Option<Placing> {
    let word = match item {
        Value::Str(text) => text.strip_prefix(MARKER)?.trim_matches(['(', ')']).into(),
        Value::Map(map) if map.len() == 1 => match map.get(MARKER)? {
            Value::Str(text) => text.clone(),
            Value::Bool(false) => Arc::from("false"),
            _ => return None,
        },
        _ => return None,
    };
    match word.as_ref() {
        "" | ".start" => Some(Placing::Before),
        ".end" => Some(Placing::After),
        "false" => Some(Placing::Nowhere),
        _ => None,
    }
}

fn without_markers(value: &Value) -> Value {
    match value {
        Value::List(items) => {
            let marked = usize::from(items.first().and_then(placing).is_some());
            Value::from(
                items[marked..]
                    .iter()
                    .map(without_markers)
                    .collect::<Vec<_>>(),
            )
        }
        Value::Map(map) => {
            let entries = map
                .iter()
                .map(|(key, value)| (key.clone(), without_markers(value)));
            Map::new(entries.collect()).into()
        }
        scalar => scalar.clone(),
    }
}

/// Tables of named things: the parent's first, what both name merged. `None` where one of them is no
/// such table, or where the child's list says how it wants to be joined.
fn named(key: &str, child: &Value, parent: &Value) -> Option<Value> {
    let mut table = entries(parent)?;
    for (name, own) in entries(child)? {
        let merged = match table.get(&name) {
            Some(inherited) if own == Value::Null => inherited.clone(),
            Some(inherited) => over(&own, inherited),
            None => own,
        };
        table.insert(name, merged);
    }
    let lists = matches!((child, parent), (Value::List(_), Value::List(_)));
    Some(if lists {
        listed(key, table)
    } else {
        Map::new(table).into()
    })
}

/// What a table names: `[a, {b: …}, {id: c, …}]` or `{a: …, b: …}`.
fn entries(value: &Value) -> Option<Table> {
    let items = match value {
        Value::Map(map) => return Some(map.to_table()),
        Value::List(items) => items,
        _ => return None,
    };
    let mut table = Table::default();
    for item in items.iter() {
        match item {
            Value::Str(name) if placing(item).is_none() => {
                table.entry(name.clone()).or_insert(Value::Null);
            }
            Value::Map(map) => match map.get("id").and_then(Value::as_str) {
                Some(id) => {
                    let mut rest = map.to_table();
                    rest.shift_remove("id");
                    table.insert(id.into(), Map::new(rest).into());
                }
                None if map.len() == 1 && placing(item).is_none() => table.extend(map.to_table()),
                None => return None,
            },
            _ => return None,
        }
    }
    Some(table)
}

/// The list of a table: a name alone, or an object as the key's lists have it.
fn listed(key: &str, table: Table) -> Value {
    let items = table.into_iter().map(|(name, value)| match value {
        Value::Null => Value::Str(name),
        Value::Map(fields) if key == "tools" => {
            let id = (Arc::from("id"), Value::Str(name));
            let fields = fields
                .iter()
                .map(|(key, value)| (key.clone(), value.clone()));
            Map::from_iter([id].into_iter().chain(fields)).into()
        }
        value => Map::from_iter([(name, value)]).into(),
    });
    Value::from(items.collect::<Vec<_>>())
}
