//! The data type of variables, tool arguments and tool results.
//!
//! A [`Value`] is a JSON value with reference-counted strings and containers, so that sharing a
//! variable among a hundred renders does not copy it. Integers stay integers, because a prompt must
//! not print `1e+06`.

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;

/// Maximum nesting of containers. The JSON parser and all template functions that build containers
/// reject deeper nesting.
pub const MAX_DEPTH: u32 = 128;

/// Objects with at most this many keys are searched linearly instead of by hash. Comparing lengths
/// excludes most keys, and lookups take a fifth of the time of a render. Most objects in prompts
/// have only a few keys.
const SCANNED: usize = 8;

/// A variable, an argument or a result.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// JSON `null`: present, without a value.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number without fraction or exponent that fits into 64 bits.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// Text.
    Str(Arc<str>),
    /// An ordered list.
    List(ValueList),
    /// An object, whose keys retain their order.
    Map(Map),
}

/// An immutable, shared list with a known nesting depth.
///
/// # Examples
///
/// ```
/// use quillet_core::{Value, ValueList};
///
/// let list: ValueList = [1, 2, 3].into_iter().map(Value::Int).collect();
/// assert_eq!(list.len(), 3);
/// assert_eq!(list.first(), Some(&Value::Int(1)));
/// ```
#[derive(Clone, Default)]
pub struct ValueList(Arc<ListInner>);

/// An immutable, shared object that preserves the order of its keys.
///
/// # Examples
///
/// ```
/// use quillet_core::{Map, Value};
///
/// let user = Map::from([("name", "Ada"), ("city", "Oslo")]);
/// assert_eq!(user.get("city"), Some(&Value::from("Oslo")));
/// let keys: Vec<&str> = user.iter().map(|(key, _)| &**key).collect();
/// assert_eq!(keys, ["name", "city"]);
/// ```
#[derive(Clone, Default)]
pub struct Map(Arc<MapInner>);

/// The table behind a [`Map`].
pub type MapTable = IndexMap<Arc<str>, Value, foldhash::fast::RandomState>;

#[derive(Default)]
struct ListInner {
    items: Vec<Value>,
    depth: u32,
    weight: usize,
}

#[derive(Default)]
struct MapInner {
    table: MapTable,
    depth: u32,
    weight: usize,
    /// Boxed, because few objects have one, and a program has many objects.
    printed: Option<Box<DisplayValue>>,
    /// See [`Value::into_fallback`].
    stands_in: bool,
}

/// The value that is displayed instead of an object.
#[derive(Clone)]
enum DisplayValue {
    /// The value under this key.
    Key(Arc<str>),
    /// A value outside the object.
    Value(Value),
}

impl ValueList {
    /// Creates a list.
    #[must_use]
    pub fn new(items: Vec<Value>) -> Self {
        let depth = 1 + items.iter().map(Value::depth).max().unwrap_or(0);
        // Shared values are counted each time, so the sum may exceed the actual memory; it must not
        // overflow.
        let weights = items.iter().map(Value::weight);
        let weight = weights.fold(0, usize::saturating_add);
        ValueList(Arc::new(ListInner {
            items,
            depth,
            weight,
        }))
    }

    /// Returns the items in order.
    #[must_use]
    pub fn as_slice(&self) -> &[Value] {
        &self.0.items
    }

    /// Returns the number of nested container levels, including this one: `[[]]` has 2.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.0.depth
    }
}

impl std::ops::Deref for ValueList {
    type Target = [Value];
    fn deref(&self) -> &[Value] {
        &self.0.items
    }
}

impl Map {
    /// Creates an object from a table.
    #[must_use]
    pub fn new(table: MapTable) -> Self {
        let depth = 1 + table.values().map(Value::depth).max().unwrap_or(0);
        let weights = table
            .iter()
            .map(|(key, value)| value.weight().saturating_add(key.len()));
        let weight = weights.fold(0, usize::saturating_add);
        Map(Arc::new(MapInner {
            table,
            depth,
            weight,
            printed: None,
            stands_in: false,
        }))
    }

    /// Returns the value under a key.
    #[must_use]
    #[inline]
    pub fn get(&self, key: &str) -> Option<&Value> {
        let table = &self.0.table;
        // For a few short strings, comparing is faster than hashing.
        if table.len() > SCANNED {
            return table.get(key);
        }
        let found = table.iter().find(|(own, _)| own.as_ref() == key);
        found.map(|(_, value)| value)
    }

    /// Returns the table, in the original order of its keys.
    #[must_use]
    pub fn table(&self) -> &MapTable {
        &self.0.table
    }

    /// Returns a copy of the table to modify; its values stay shared.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::Map;
    ///
    /// let user = Map::from([("name", "Ada")]);
    /// let mut table = user.to_table();
    /// table.insert("city".into(), "Oslo".into());
    /// let changed = Map::new(table);
    /// assert_eq!((user.len(), changed.len()), (1, 2));
    /// ```
    #[must_use]
    pub fn to_table(&self) -> MapTable {
        self.0.table.clone()
    }

    /// Returns keys and values in their original order.
    pub fn iter(&self) -> indexmap::map::Iter<'_, Arc<str>, Value> {
        self.0.table.iter()
    }

    /// Number of keys.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.table.len()
    }

    /// Whether the object has no keys.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.table.is_empty()
    }

    /// Returns the number of nested container levels, including this one.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.0.depth
    }

    /// Makes templates print the value under `key` instead of the whole object, whose fields stay
    /// accessible. Tools whose `returns` schema has a single property return such objects.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::{Map, Value};
    ///
    /// let result = Map::from([("text", "Hallo"), ("language", "de")]).with_display_key("text");
    /// assert_eq!(result.display_value(), Some(&Value::from("Hallo")));
    /// assert_eq!(result.get("language"), Some(&Value::from("de")));
    /// ```
    #[must_use]
    pub fn with_display_key(self, key: &str) -> Self {
        Map(Arc::new(MapInner {
            // Copied, because other owners may share the object; the values in it stay shared.
            table: self.0.table.clone(),
            depth: self.0.depth,
            weight: self.0.weight,
            printed: Some(Box::new(DisplayValue::Key(key.into()))),
            stands_in: self.0.stands_in,
        }))
    }

    /// Returns the value that is printed instead of this object; see [`Map::with_display_key`].
    #[must_use]
    pub fn display_value(&self) -> Option<&Value> {
        match self.0.printed.as_deref()? {
            DisplayValue::Key(key) => self.0.table.get(key),
            DisplayValue::Value(value) => Some(value),
        }
    }

    /// Whether this is the fallback for the result of a failed call; see [`Value::into_fallback`].
    #[must_use]
    pub fn is_fallback(&self) -> bool {
        self.0.stands_in
    }

    /// Returns the value that this fallback represents outside template lookups, if that value is
    /// not an object.
    #[must_use]
    pub fn represented_value(&self) -> Option<&Value> {
        match self.0.printed.as_deref()? {
            DisplayValue::Value(value) => Some(value),
            DisplayValue::Key(_) => None,
        }
    }

    /// Returns a field as a fallback value, even if the field does not exist; see
    /// [`Value::into_fallback`].
    #[must_use]
    pub fn fallback_field(&self, key: &str) -> Value {
        let field = self.get(key).cloned();
        field.unwrap_or_else(|| Value::from("")).into_fallback()
    }
}

impl<'a> IntoIterator for &'a Map {
    type Item = (&'a Arc<str>, &'a Value);
    type IntoIter = indexmap::map::Iter<'a, Arc<str>, Value>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl FromIterator<Value> for ValueList {
    fn from_iter<I: IntoIterator<Item = Value>>(items: I) -> Self {
        ValueList::new(items.into_iter().collect())
    }
}

impl<K: Into<Arc<str>>> FromIterator<(K, Value)> for Map {
    fn from_iter<I: IntoIterator<Item = (K, Value)>>(entries: I) -> Self {
        Map::new(entries.into_iter().map(|(k, v)| (k.into(), v)).collect())
    }
}

impl<K: Into<Arc<str>>, V: Into<Value>, const N: usize> From<[(K, V); N]> for Map {
    fn from(entries: [(K, V); N]) -> Self {
        entries
            .map(|(name, value)| (name, value.into()))
            .into_iter()
            .collect()
    }
}

impl PartialEq for ValueList {
    fn eq(&self, other: &Self) -> bool {
        // Shared values are common, and comparing pointers avoids walking them.
        Arc::ptr_eq(&self.0, &other.0) || self.0.items == other.0.items
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        // The fallbacks of all scalars have an empty table, so the values that they represent are
        // compared too.
        Arc::ptr_eq(&self.0, &other.0)
            || self.0.table == other.0.table
                && self.represented_value() == other.represented_value()
    }
}

impl fmt::Debug for ValueList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.0.items).finish()
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(&self.0.table).finish()
    }
}

impl Value {
    /// Returns the number of nested container levels: 0 for a scalar, 1 for a flat list.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::{Value, json};
    ///
    /// assert_eq!(json::parse("[[1], 2]")?.depth(), 2);
    /// assert_eq!(Value::from("text").depth(), 0);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn depth(&self) -> u32 {
        match self {
            Value::List(list) => list.depth(),
            Value::Map(map) => map.depth(),
            _ => 0,
        }
    }

    /// Returns the approximate size in bytes, without regard to sharing: if a list contains the
    /// same list twice, the inner list counts twice. The size is cached, so the call is cheap.
    #[must_use]
    pub fn weight(&self) -> usize {
        let inside = match self {
            Value::Str(text) => text.len(),
            Value::List(list) => list.0.weight,
            Value::Map(map) => map.0.weight,
            _ => 0,
        };
        inside.saturating_add(std::mem::size_of::<Value>())
    }

    /// Turns the value into the fallback for a failed call. In templates, a lookup of a missing
    /// field or item does not fail, but returns another fallback, for the empty string. Everywhere
    /// else, including JSON, it is the original value, or the empty string for `null`.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::{Value, json};
    ///
    /// let fallback = Value::from("n/a").into_fallback();
    /// assert!(fallback.is_fallback());
    /// assert_eq!(fallback.as_str(), Some("n/a"));
    /// assert_eq!(json::to_string(&fallback), r#""n/a""#);
    /// ```
    #[must_use]
    pub fn into_fallback(self) -> Value {
        let entries = match self {
            // Already a fallback, and wrapping it again would only cost a copy.
            Value::Map(map) if map.0.stands_in => return Value::Map(map),
            Value::Map(map) => MapInner {
                table: map.0.table.clone(),
                depth: map.0.depth,
                weight: map.0.weight,
                printed: map.0.printed.clone(),
                stands_in: true,
            },
            value => {
                let value = match value {
                    Value::Null => Value::from(""),
                    value => value,
                };
                MapInner {
                    depth: 1 + value.depth(),
                    weight: value.weight(),
                    printed: Some(Box::new(DisplayValue::Value(value))),
                    stands_in: true,
                    table: MapTable::default(),
                }
            }
        };
        Value::Map(Map(Arc::new(entries)))
    }

    /// Whether this is the fallback for the result of a failed call.
    #[must_use]
    pub fn is_fallback(&self) -> bool {
        matches!(self, Value::Map(map) if map.0.stands_in)
    }

    /// Returns the value itself, or the original value of a fallback if that value is not an
    /// object; see [`Value::into_fallback`].
    #[must_use]
    pub fn represented_value(&self) -> &Value {
        match self {
            Value::Map(map) => map.represented_value().unwrap_or(self),
            other => other,
        }
    }

    /// Returns the JSON type name of this value.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::Value;
    ///
    /// assert_eq!(Value::Int(1).kind(), "integer");
    /// assert_eq!(Value::Float(0.5).kind(), "number");
    /// assert_eq!(Value::from("text").kind(), "string");
    /// ```
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.represented_value() {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Int(_) => "integer",
            Value::Float(_) => "number",
            Value::Str(_) => "string",
            Value::List(_) => "array",
            Value::Map(_) => "object",
        }
    }

    /// Returns the string, if this is a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self.represented_value() {
            Value::Str(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the object, if this is an object.
    #[must_use]
    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// Returns the value at a path of keys. Only objects are traversed.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::{Value, json};
    ///
    /// let order = json::parse(r#"{"customer": {"city": "Oslo"}}"#)?;
    /// let city = order.get_path(&["customer", "city"]);
    /// assert_eq!(city.and_then(Value::as_str), Some("Oslo"));
    /// assert_eq!(order.get_path(&["customer", "name"]), None);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn get_path<S: AsRef<str>>(&self, path: &[S]) -> Option<&Value> {
        path.iter()
            .try_fold(self, |value, key| value.as_map()?.get(key.as_ref()))
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}
impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}
impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Value::Float(value)
    }
}
impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::Str(value.into())
    }
}
impl From<String> for Value {
    fn from(value: String) -> Self {
        Value::Str(value.into())
    }
}
impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        Value::List(ValueList::new(items.into_iter().map(Into::into).collect()))
    }
}
impl From<Map> for Value {
    fn from(value: Map) -> Self {
        Value::Map(value)
    }
}

// Dropping a container drops its children, so a value that is nested ten thousand levels deep would
// overflow the stack of the current thread. Deep containers are therefore dropped iteratively, with
// a work list.
const SHALLOW: u32 = 64;

impl Drop for ListInner {
    fn drop(&mut self) {
        if self.depth > SHALLOW {
            drop_iteratively(std::mem::take(&mut self.items));
        }
    }
}

impl Drop for MapInner {
    fn drop(&mut self) {
        if self.depth > SHALLOW {
            let table = std::mem::take(&mut self.table);
            let mut work: Vec<Value> = table.into_values().collect();
            // A fallback stores the original value here, which may be nested deeply.
            if let Some(DisplayValue::Value(value)) = self.printed.take().map(|printed| *printed) {
                work.push(value);
            }
            drop_iteratively(work);
        }
    }
}

fn drop_iteratively(mut work: Vec<Value>) {
    while let Some(value) = work.pop() {
        match value {
            Value::List(list) => {
                // `into_inner` returns `None` if the list has other owners; the last one drops it.
                if let Some(mut items) = Arc::into_inner(list.0) {
                    work.append(&mut items.items);
                }
            }
            Value::Map(map) => {
                if let Some(mut entries) = Arc::into_inner(map.0) {
                    work.extend(std::mem::take(&mut entries.table).into_values());
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_nested_a_million_deep_is_dropped_without_recursion() {
        let mut value = Value::Null;
        for level in 0..1_000_000 {
            value = if level % 2 == 0 {
                Value::from(vec![value])
            } else {
                Value::Map([("k", value)].into_iter().collect())
            };
        }
        assert_eq!(value.depth(), 1_000_000);
        drop(value);
    }

    #[test]
    fn a_stand_in_is_what_it_is_made_of_to_everybody_but_templates() {
        for text in [r#""""#, r#""n/a""#, "7", "[1,2]", r#"{"a":1}"#] {
            let value = crate::json::parse(text).unwrap();
            let stand_in = value.clone().into_fallback();
            assert_eq!(crate::json::to_string(&stand_in), text);
            assert_eq!(serde_json::Value::from(&stand_in).to_string(), text);
            assert_eq!(stand_in.kind(), value.kind());
            assert!(stand_in.is_fallback() && !value.is_fallback());
            let list = Value::from(vec![stand_in.clone()]);
            assert_eq!(crate::json::to_string(&list), format!("[{text}]"));
            let missing = stand_in.as_map().unwrap().fallback_field("b");
            assert_eq!(crate::json::to_string(&missing), r#""""#);
        }
        let nothing = Value::Null.into_fallback();
        assert_eq!(crate::json::to_string(&nothing), r#""""#);
    }

    #[test]
    fn paths_lead_through_objects_only() {
        let value: Value = crate::json::parse(r#"{"a":{"b":[1]}}"#).unwrap();
        assert_eq!(value.get_path(&["a", "b"]), Some(&Value::from(vec![1])));
        assert_eq!(value.get_path(&["a", "b", "0"]), None);
    }
}
