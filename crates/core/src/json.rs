//! Conversion between JSON and [`Value`].
//!
//! Parsing limits the nesting (`serde_json` stops at 128 levels) and distinguishes integers from
//! other numbers. Optionally, every number becomes a 64-bit float, as in Go's `encoding/json`.

use std::fmt;
use std::sync::Arc;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{self, Serialize, SerializeMap, SerializeSeq, Serializer};

use crate::value::{MAX_DEPTH, Map, MapTable, Value, ValueList};

/// Representation of parsed numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NumberMode {
    /// An integer literal that fits 64 bits stays an integer.
    #[default]
    Exact,
    /// Every number becomes a 64-bit float, as in a Go program that decodes into `any`.
    Float,
}

/// Parses a JSON text.
///
/// # Errors
/// The text is not valid JSON, is nested deeper than 128 levels, or continues after the value. The
/// message ends in `at line L column C`.
///
/// # Examples
///
/// ```
/// use quillet_core::{Value, json};
///
/// let order = json::parse(r#"{"count": 3, "price": 2.5}"#)?;
/// assert_eq!(order.get_path(&["count"]), Some(&Value::Int(3)));
/// assert_eq!(order.get_path(&["price"]), Some(&Value::Float(2.5)));
/// assert!(json::parse("[1, 2").is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn parse(text: &str) -> Result<Value, serde_json::Error> {
    parse_with(text, NumberMode::Exact)
}

/// Parses a JSON text with the given representation of numbers.
///
/// # Errors
/// Like [`parse`].
///
/// # Examples
///
/// ```
/// use quillet_core::Value;
/// use quillet_core::json::{NumberMode, parse_with};
///
/// assert_eq!(parse_with("1000000", NumberMode::Exact)?, Value::Int(1_000_000));
/// assert_eq!(parse_with("1000000", NumberMode::Float)?, Value::Float(1e6));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn parse_with(text: &str, numbers: NumberMode) -> Result<Value, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = ValueSeed(numbers).deserialize(&mut reader)?;
    // Text after the value is an error.
    reader.end()?;
    Ok(value)
}

/// Returns the message of an error without the unexpected text that serde quotes, because that text
/// may be a password.
///
/// # Examples
///
/// ```
/// use quillet_core::json;
///
/// let error = serde_json::from_str::<bool>(r#""s3cret""#).unwrap_err();
/// let reason = json::reason(&error);
/// assert!(reason.contains("expected a boolean"));
/// assert!(!reason.contains("s3cret"));
/// ```
#[must_use]
pub fn reason(error: &serde_json::Error) -> String {
    const BEGIN: &str = "string \"";
    const END: &str = "\", expected";
    let message = error.to_string();
    // The last match counts, because the quoted text may contain the same words.
    let (Some(begin), Some(end)) = (message.find(BEGIN), message.rfind(END)) else {
        // The message does not quote a string, so it is returned unchanged.
        return message;
    };
    let before = message.get(..begin).unwrap_or_default();
    let after = message.get(end + 1..).unwrap_or_default();
    format!("{before}a string{after}")
}

/// Writes a value as compact JSON. Floats without a JSON representation (NaN and the infinities)
/// become `null`.
///
/// # Examples
///
/// ```
/// use quillet_core::{Value, json};
///
/// let numbers = Value::from(vec![2.5, f64::NAN]);
/// assert_eq!(json::to_string(&numbers), "[2.5,null]");
/// ```
#[must_use]
pub fn to_string(value: &Value) -> String {
    // Writing fails only for values that are nested too deeply. The quoted error message is then
    // valid JSON.
    serde_json::to_string(value).unwrap_or_else(|error| format!("\"{error}\""))
}

#[derive(Clone, Copy)]
struct ValueSeed(NumberMode);

impl<'de> DeserializeSeed<'de> for ValueSeed {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_some<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        self.deserialize(reader)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(match self.0 {
            NumberMode::Exact => Value::Int(value),
            NumberMode::Float => Value::Float(value as f64),
        })
    }
    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        match i64::try_from(value) {
            Ok(value) => self.visit_i64(value),
            // The number is above `i64::MAX`; values have no unsigned integers, and a float is
            // better than an error.
            Err(_) => Ok(Value::Float(value as f64)),
        }
    }
    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }
    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Str(value.into()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::List(ValueList::new(list)))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut table = MapTable::default();
        while let Some(key) = entries.next_key::<String>()? {
            // For duplicate keys the last value counts, at the position of the first.
            table.insert(Arc::from(key), entries.next_value_seed(self)?);
        }
        Ok(Value::Map(Map::new(table)))
    }
}

impl<'de> de::Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        ValueSeed(NumberMode::Exact).deserialize(reader)
    }
}

impl<'de> de::Deserialize<'de> for Map {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        match Value::deserialize(reader)? {
            Value::Map(map) => Ok(map),
            other => Err(de::Error::custom(format_args!(
                "expected an object, found {}",
                other.kind()
            ))),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, writer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => writer.serialize_unit(),
            Value::Bool(value) => writer.serialize_bool(*value),
            Value::Int(value) => writer.serialize_i64(*value),
            Value::Float(value) => writer.serialize_f64(*value),
            Value::Str(value) => writer.serialize_str(value),
            Value::List(value) => value.serialize(writer),
            Value::Map(value) => value.serialize(writer),
        }
    }
}

impl Serialize for ValueList {
    fn serialize<S: Serializer>(&self, writer: S) -> Result<S::Ok, S::Error> {
        check_depth::<S>(self.depth())?;
        let mut seq = writer.serialize_seq(Some(self.len()))?;
        for item in self.as_slice() {
            seq.serialize_element(item)?;
        }
        seq.end()
    }
}

impl Serialize for Map {
    fn serialize<S: Serializer>(&self, writer: S) -> Result<S::Ok, S::Error> {
        check_depth::<S>(self.depth())?;
        // A fallback is serialized as the value that it represents.
        if let Some(meant) = self.represented_value() {
            return meant.serialize(writer);
        }
        let mut map = writer.serialize_map(Some(self.len()))?;
        for (key, value) in self {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

fn check_depth<S: Serializer>(depth: u32) -> Result<(), S::Error> {
    // serde recurses for each level, and a stack overflow cannot be caught.
    if depth > 4 * MAX_DEPTH {
        return Err(ser::Error::custom("value is nested too deeply"));
    }
    Ok(())
}

/// Converts a `serde_json` tree, such as a schema, into a [`Value`].
impl From<serde_json::Value> for Value {
    fn from(tree: serde_json::Value) -> Self {
        use serde_json::Value as Tree;
        match tree {
            Tree::Null => Value::Null,
            Tree::Bool(value) => Value::Bool(value),
            Tree::Number(number) => number
                .as_i64()
                .map_or_else(|| Value::Float(number.as_f64().unwrap_or(0.0)), Value::Int),
            Tree::String(text) => Value::from(text),
            Tree::Array(items) => items
                .into_iter()
                .map(Value::from)
                .collect::<Vec<_>>()
                .into(),
            Tree::Object(entries) => entries
                .into_iter()
                .map(|(key, value)| (key, Value::from(value)))
                .collect::<Map>()
                .into(),
        }
    }
}

/// Converts a [`Value`] into a `serde_json` tree, for validators that require one.
impl From<&Value> for serde_json::Value {
    fn from(value: &Value) -> Self {
        // Fails only beyond the nesting limit, which readers and templates enforce earlier.
        serde_json::to_value(value).unwrap_or(serde_json::Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_is_repeated() {
        #[derive(Debug, serde::Deserialize)]
        struct TestInput {
            #[allow(dead_code, reason = "only its reading is looked at")]
            url: bool,
        }
        for text in [
            r#""mysql://u:s3cret@h/d""#,
            r#"{"url": "mysql://u:s3cret@h/d"}"#,
            r#"{"url": "s3cret\", expected s3cret"}"#,
        ] {
            let error = serde_json::from_str::<TestInput>(text).unwrap_err();
            let said = reason(&error);
            assert!(
                !said.contains("s3cret") && said.contains("expected"),
                "{said}"
            );
        }
    }

    #[test]
    fn integers_stay_integers_unless_asked_otherwise() {
        let text = r#"{"n":1000000,"f":1.0,"big":18446744073709551615}"#;
        let exact = parse(text).unwrap();
        assert_eq!(exact.get_path(&["n"]), Some(&Value::Int(1_000_000)));
        assert_eq!(exact.get_path(&["f"]), Some(&Value::Float(1.0)));
        assert_eq!(
            exact.get_path(&["big"]),
            Some(&Value::Float(18_446_744_073_709_551_615.0))
        );
        let float = parse_with(text, NumberMode::Float).unwrap();
        assert_eq!(float.get_path(&["n"]), Some(&Value::Float(1_000_000.0)));
    }

    #[test]
    fn order_survives_a_round_trip_and_depth_is_bounded() {
        let text = r#"{"z":1,"a":[{"y":null,"b":true}]}"#;
        assert_eq!(to_string(&parse(text).unwrap()), text);
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        assert!(parse(&deep).is_err());
    }
}
