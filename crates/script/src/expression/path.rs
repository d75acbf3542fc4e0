//! Key paths: `a.b[0].c`.
//!
//! Values are shared and immutable. Setting a value copies the path to it and shares everything
//! else.

use std::sync::Arc;

use quillet_core::value::MAX_DEPTH;
use quillet_core::{Map, MapTable, Value, ValueList};

/// Maximum index up to which a list is extended. The limit prevents a typo from using all memory.
pub const MAX_INDEX: usize = 1 << 16;

/// A segment of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathSegment {
    /// `.name`, or `["name"]`.
    Key(Arc<str>),
    /// `[3]`.
    Index(usize),
}

/// Error for an invalid path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The syntax is invalid: `a..b`, `a[`, or an empty text.
    #[error("invalid key path `{0}`: use the form `a.b[0].c`")]
    Syntax(String),
    /// A list would have to be extended to this large index.
    #[error("index {0} exceeds {MAX_INDEX}, the limit of key paths")]
    Index(usize),
    /// The value would be nested too deeply.
    #[error("the key path is nested deeper than {MAX_DEPTH} levels")]
    Depth,
}

/// Parses a path such as `a.b[0]`.
///
/// # Errors
/// [`PathError::Syntax`], [`PathError::Depth`].
pub fn parse(text: &str) -> Result<Vec<PathSegment>, PathError> {
    let bad = || PathError::Syntax(text.to_owned());
    let mut steps = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (step, after) = match rest.strip_prefix('[') {
            Some(inside) => bracket(inside).ok_or_else(bad)?,
            None => key(rest, steps.is_empty()).ok_or_else(bad)?,
        };
        steps.push(step);
        rest = after;
    }
    match steps.len() {
        0 => Err(bad()),
        count if count > MAX_DEPTH as usize => Err(PathError::Depth),
        _ => Ok(steps),
    }
}

fn key(text: &str, first: bool) -> Option<(PathSegment, &str)> {
    let text = if first { text } else { text.strip_prefix('.')? };
    let end = text.find(['.', '[']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    (!name.is_empty()).then(|| (PathSegment::Key(name.into()), rest))
}

fn bracket(text: &str) -> Option<(PathSegment, &str)> {
    if let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        // Slicing cannot split a character, because the quote is one byte.
        let (name, rest) = text[1..].split_once(quote)?;
        return Some((PathSegment::Key(name.into()), rest.strip_prefix(']')?));
    }
    let (inside, rest) = text.split_once(']')?;
    let inside = inside.trim();
    match inside.parse() {
        Ok(index) => Some((PathSegment::Index(index), rest)),
        Err(_) if inside.is_empty() => None,
        Err(_) => Some((PathSegment::Key(inside.into()), rest)),
    }
}

/// Returns the value at a path, if it exists.
#[must_use]
pub fn get<'a>(value: &'a Value, path: &[PathSegment]) -> Option<&'a Value> {
    path.iter()
        .try_fold(value, |value, step| match (value, step) {
            (Value::Map(map), PathSegment::Key(key)) => map.get(key),
            (Value::Map(map), PathSegment::Index(index)) => map.get(&index.to_string()),
            (Value::List(list), PathSegment::Index(index)) => list.get(*index),
            (Value::List(list), PathSegment::Key(key)) => {
                list.get(super::property::array_index(key)?)
            }
            _ => None,
        })
}

/// Returns a copy of `value` in which the value at the path is `new`. Missing objects and lists on
/// the path are created. Values on the path that are neither are replaced.
///
/// # Errors
/// [`PathError::Index`], [`PathError::Depth`].
pub fn set(value: &Value, path: &[PathSegment], new: Value) -> Result<Value, PathError> {
    // The depth is checked before the path is followed.
    if path.len() as u64 + u64::from(new.depth()) > u64::from(MAX_DEPTH) {
        return Err(PathError::Depth);
    }
    put(Some(value), path, new)
}

fn put(old: Option<&Value>, path: &[PathSegment], new: Value) -> Result<Value, PathError> {
    let Some((step, rest)) = path.split_first() else {
        return Ok(new);
    };
    match (old, step) {
        (Some(Value::List(list)), PathSegment::Key(key)) => match super::property::array_index(key)
        {
            Some(index) => put_item(list, index, rest, new),
            None => put_field(None, key, rest, new),
        },
        (Some(Value::List(list)), PathSegment::Index(index)) => put_item(list, *index, rest, new),
        // Keys are strings: `a[0]` on an object is its field `0`, as in JavaScript.
        (Some(Value::Map(map)), PathSegment::Index(index)) => {
            put_field(Some(map), &index.to_string().into(), rest, new)
        }
        (_, PathSegment::Index(index)) => put_item(&ValueList::default(), *index, rest, new),
        (old, PathSegment::Key(key)) => put_field(old.and_then(Value::as_map), key, rest, new),
    }
}

fn put_field(
    map: Option<&Map>,
    key: &Arc<str>,
    rest: &[PathSegment],
    new: Value,
) -> Result<Value, PathError> {
    let mut table = map.map_or_else(MapTable::default, Map::to_table);
    let inner = put(table.get(key), rest, new)?;
    table.insert(Arc::clone(key), inner);
    Ok(Value::Map(Map::new(table)))
}

fn put_item(
    list: &ValueList,
    index: usize,
    rest: &[PathSegment],
    new: Value,
) -> Result<Value, PathError> {
    // An existing index of a long list is allowed; only extending a list to it is rejected.
    if index >= list.len() && index >= MAX_INDEX {
        return Err(PathError::Index(index));
    }
    let inner = put(list.get(index), rest, new)?;
    let mut items = list.to_vec();
    if index >= items.len() {
        items.resize(index + 1, Value::Null);
    }
    if let Some(item) = items.get_mut(index) {
        *item = inner;
    }
    Ok(Value::List(ValueList::new(items)))
}

/// Returns a copy of `value` without the value at the path, or `None` if no value exists there. If
/// a list item is removed, the items after it move up.
#[must_use]
pub fn unset(value: &Value, path: &[PathSegment]) -> Option<Value> {
    let (last, before) = path.split_last()?;
    let holder = get(value, before)?;
    let less = without(holder, last)?;
    // This cannot fail, because the path exists and no list is extended.
    put(Some(value), before, less).ok()
}

fn without(holder: &Value, step: &PathSegment) -> Option<Value> {
    match (holder, step) {
        (Value::Map(map), step) => {
            let mut table = map.to_table();
            match step {
                PathSegment::Key(key) => table.shift_remove(key),
                PathSegment::Index(index) => table.shift_remove(index.to_string().as_str()),
            }?;
            Some(Value::Map(Map::new(table)))
        }
        (Value::List(list), PathSegment::Index(index)) if *index < list.len() => {
            let mut items = list.to_vec();
            items.remove(*index);
            Some(Value::from(items))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        quillet_core::json::parse(text).unwrap()
    }

    #[test]
    fn setting_makes_what_is_missing_on_the_way() {
        for (before, path, after) in [
            ("{}", "cfg.bb", r#"{"cfg":{"bb":2}}"#),
            ("{}", "x1.y1[1]", r#"{"x1":{"y1":[null,2]}}"#),
            (
                r#"{"a":[1,{"b":0}],"c":3}"#,
                "a[1].b",
                r#"{"a":[1,{"b":2}],"c":3}"#,
            ),
            (r#"{"a":"text"}"#, "a.b", r#"{"a":{"b":2}}"#),
            ("{}", "a['x.y']", r#"{"a":{"x.y":2}}"#),
        ] {
            let path = parse(path).unwrap();
            let set = set(&value(before), &path, Value::Int(2)).unwrap();
            assert_eq!(set, value(after));
            assert_eq!(get(&set, &path), Some(&Value::Int(2)));
        }
    }

    #[test]
    fn unsetting_takes_out_one_thing() {
        let path = parse("a.b").unwrap();
        let before = value(r#"{"a":{"b":1,"c":2}}"#);
        assert_eq!(unset(&before, &path), Some(value(r#"{"a":{"c":2}}"#)));
        assert_eq!(unset(&value("{}"), &path), None);
    }

    #[test]
    fn bad_paths_are_refused() {
        for text in ["", "a..b", ".a", "a[", "a[]", "a[0]b", "a."] {
            assert!(parse(text).is_err(), "{text}");
        }
        let far = parse("a[99999999999]").unwrap();
        assert!(matches!(
            set(&value("{}"), &far, Value::Null),
            Err(PathError::Index(_))
        ));
    }
}
