//! Merges a child's front matter over that of its parents. In addition to [`crate::text::merge`],
//! it merges the entries of `input`, `tools` and `roles` by name instead of repeating them.

use std::sync::Arc;

use quillet_core::{Map, MapTable, Value};

use crate::text::merge;

/// Keys whose lists and objects are tables of named entries.
const NAMED: [&str; 3] = ["input", "roles", "tools"];

/// Merges a child over its parents, the nearest parent first.
pub(super) fn inherit(child: Map, parents: Vec<Map>) -> Map {
    let tables: Vec<(&str, Value)> = NAMED
        .into_iter()
        .filter_map(|key| {
            let mut values = parents.iter().filter_map(|parent| parent.get(key));
            let own = child.get(key)?.clone();
            let merged = values.try_fold(own, |own, inherited| named(key, &own, inherited));
            Some((key, merged?))
        })
        .collect();
    let parents: Vec<Value> = parents.into_iter().map(Value::Map).collect();
    let Value::Map(merged) = merge::inherit(&Value::Map(child), &parents) else {
        return Map::default();
    };
    let mut merged = merged.to_table();
    merged.extend(
        tables
            .into_iter()
            .map(|(key, value)| (Arc::from(key), value)),
    );
    Map::new(merged)
}

/// Merges tables by name, the parent's entries first. Returns `None` if a value is not a table, or
/// if the child's list specifies how to join it.
fn named(key: &str, child: &Value, parent: &Value) -> Option<Value> {
    let mut table = entries(key, parent)?;
    for (name, own) in entries(key, child)? {
        let merged = match table.get(&name) {
            Some(inherited) if own == Value::Null => inherited.clone(),
            Some(inherited) => merge::inherit(&own, std::slice::from_ref(inherited)),
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

/// Reads the entries of a table: `[a, {b: …}, {id: c, …}]` or `{a: …, b: …}`.
fn entries(key: &str, value: &Value) -> Option<MapTable> {
    let items = match value {
        Value::Map(map) => return Some(map.to_table()),
        Value::List(items) => items,
        _ => return None,
    };
    let naming = if key == "input" { "name" } else { "id" };
    let mut table = MapTable::default();
    for item in items.iter() {
        match item {
            Value::Str(name) if !is_marker(name) => {
                table.entry(name.clone()).or_insert(Value::Null);
            }
            Value::Map(map) => match map.get(naming).and_then(Value::as_str) {
                Some(name) => {
                    let mut rest = map.to_table();
                    rest.shift_remove(naming);
                    table.insert(name.into(), Map::new(rest).into());
                }
                None if map.len() == 1 && map.table().keys().all(|key| !is_marker(key)) => {
                    table.extend(map.to_table())
                }
                None => return None,
            },
            _ => return None,
        }
    }
    Some(table)
}

/// Returns whether an item specifies how lists are joined. These lists are joined like any other.
fn is_marker(text: &str) -> bool {
    text.starts_with("@inheritMerge")
}

/// Converts a table back to a list: each entry is a name, or an object in the format of the key.
fn listed(key: &str, table: MapTable) -> Value {
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
