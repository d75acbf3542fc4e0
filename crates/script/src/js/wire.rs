//! Wire format: a greeting, then frames that consist of a length (four bytes, little-endian) and
//! JSON.
//!
//! A value in a message is JSON in a nested string. Values can therefore use the full nesting
//! depth, and numbers without a JSON form (`NaN`, infinities) have an unambiguous encoding.

use std::io::{self, Read, Write};

use quillet_core::{Map, MapTable, Value, ValueList, json};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// First bytes that a worker process sends. A program that does not send them is not a worker.
pub(super) const GREETING: &[u8] = b"quillet javascript 1\n";

/// Maximum size of a message in bytes.
const LARGEST: usize = 256 << 20;

/// Maximum number of bytes that are skipped before the greeting.
const NOISE: usize = 4 << 10;

/// Writes and flushes a message.
pub(super) fn write<T: Serialize>(out: &mut impl Write, message: &T) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len())
        .ok()
        .filter(|length| *length as usize <= LARGEST);
    let length = length.ok_or_else(|| io::Error::other("a message exceeds 256 MiB"))?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(&body)?;
    out.flush()
}

/// Reads a message; `None` if the other side has closed.
pub(super) fn read<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        result => result?,
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > LARGEST {
        return Err(io::Error::other("a message exceeds 256 MiB"));
    }
    // The buffer grows with the received data, so a false length cannot allocate memory.
    let mut body = Vec::new();
    from.take(length as u64).read_to_end(&mut body)?;
    Ok(Some(serde_json::from_slice(&body)?))
}

/// Reads until the greeting has been received.
pub(super) fn greeted(from: &mut impl Read) -> io::Result<()> {
    let mut seen = Vec::new();
    let mut byte = [0];
    // A language runtime or wrapper may print text before the worker starts, so it is skipped.
    while !seen.ends_with(GREETING) {
        if seen.len() >= NOISE {
            return Err(io::Error::other("the program is not a JavaScript worker"));
        }
        from.read_exact(&mut byte)?;
        seen.extend(byte);
    }
    Ok(())
}

/// Prefix of values that JSON cannot represent, and of texts that contain them.
const ODD: char = '\u{1}';

/// For `serde(with)`: serializes a value as a string.
pub(super) fn serialize<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    // Most values are encoded unchanged and are not copied.
    if !is_odd(value) {
        return serializer.serialize_str(&json::to_string(value));
    }
    let text = json::to_string(&map(value, &mark));
    serializer.serialize_str(&format!("{ODD}{text}"))
}

/// For `serde(with)`: deserializes a value from a string.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
    let Some(text) = text.strip_prefix(ODD) else {
        return json::parse(&text).map_err(D::Error::custom);
    };
    let value = json::parse(text).map_err(D::Error::custom)?;
    Ok(map(&value, &unmark))
}

fn is_odd(value: &Value) -> bool {
    match value {
        Value::Float(number) => !number.is_finite(),
        Value::List(list) => list.iter().any(is_odd),
        Value::Map(map) => map.iter().any(|(_, value)| is_odd(value)),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Str(_) => false,
    }
}

/// Applies a function to all scalars. Recursion is safe, because values have at most `DEEPEST`
/// levels.
fn map(value: &Value, change: &dyn Fn(&Value) -> Value) -> Value {
    match value {
        Value::List(list) => Value::List(ValueList::from_iter(
            list.iter().map(|item| map(item, change)),
        )),
        Value::Map(entries) => {
            let entries = entries
                .iter()
                .map(|(key, item)| (key.clone(), map(item, change)));
            Value::Map(Map::new(MapTable::from_iter(entries)))
        }
        scalar => change(scalar),
    }
}

fn mark(value: &Value) -> Value {
    match value {
        Value::Float(number) if !number.is_finite() => Value::from(format!("{ODD}{number}")),
        // Doubling the prefix escapes texts that already start with it.
        Value::Str(text) if text.starts_with(ODD) => Value::from(format!("{ODD}{text}")),
        other => other.clone(),
    }
}

fn unmark(value: &Value) -> Value {
    let Some(text) = value.as_str().and_then(|text| text.strip_prefix(ODD)) else {
        return value.clone();
    };
    match text.parse() {
        Ok(number) if !text.starts_with(ODD) => Value::Float(number),
        _ => Value::from(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js::{JsError, JsErrorKind, JsValueRef};

    fn back(passed: &JsValueRef) -> JsValueRef {
        let mut bytes = Vec::new();
        write(&mut bytes, passed).unwrap();
        read(&mut &bytes[..]).unwrap().unwrap()
    }

    #[test]
    fn messages_come_back_as_they_were() {
        let odd = Value::from(vec![
            Value::Float(f64::INFINITY),
            Value::Float(f64::NEG_INFINITY),
            Value::from("\u{1}inf"),
            Value::from("NaN"),
            Value::Float(-0.0),
            Value::Int(i64::MAX),
        ]);
        let mut deep = Value::Null;
        for _ in 0..crate::js::DEEPEST {
            deep = Value::from(vec![deep]);
        }
        for value in [odd, deep, Value::Null, Value::from("\u{1}")] {
            let passed = JsValueRef::Value(value);
            assert_eq!(back(&passed), passed);
        }
        assert_eq!(back(&JsValueRef::Undefined), JsValueRef::Undefined);
        let JsValueRef::Value(Value::Float(nan)) = back(&JsValueRef::Value(Value::Float(f64::NAN)))
        else {
            panic!("not a number")
        };
        assert!(nan.is_nan());
    }

    #[test]
    fn what_is_no_message_is_an_error() {
        let cases: [&[u8]; 3] = [b"\xff\xff\xff\xff", b"\x02\0\0\0{}", b"\x02\0\0\0{"];
        for bytes in cases {
            assert!(
                read::<Result<JsValueRef, JsError>>(&mut &bytes[..]).is_err(),
                "{bytes:?}"
            );
        }
        assert!(read::<JsErrorKind>(&mut &b""[..]).unwrap().is_none());
        assert!(greeted(&mut &b"hello"[..]).is_err());
        assert!(greeted(&mut io::repeat(b'x')).is_err());
        assert!(greeted(&mut &b"noise\nquillet javascript 1\n"[..]).is_ok());
    }
}
