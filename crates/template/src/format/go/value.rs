//! Values of Go's text/template.
//!
//! A [`GoValue`] is the argument and result type of functions, like Go's `any`. Variables of the
//! caller remain core values, which are cheap to clone. Values built by a template have Go's own
//! types. The executor tracks whether a value came through an interface, because only error
//! messages show it.

use std::any::Any;
use std::cmp::Ordering;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use quillet_core::Value;

use super::collection::{GoList, GoMap};
use super::function::{FunctionContext, FunctionError, GoFunction};
use super::types::GoType;

/// A Go string: bytes that are usually UTF-8.
///
/// # Examples
///
/// ```
/// use quillet_template::format::go::GoStr;
///
/// // Go can cut a text inside a character.
/// let cut = GoStr::from(&"né".as_bytes()[..2]);
/// assert_eq!(cut.as_bytes(), b"n\xc3");
/// assert_eq!(cut.to_text(), "n\u{FFFD}");
/// ```
#[derive(Clone)]
pub enum GoStr {
    /// Valid UTF-8, shared with core values.
    Text(Arc<str>),
    /// Arbitrary bytes, which may be invalid UTF-8.
    Bytes(Arc<[u8]>),
}

impl GoStr {
    /// Returns the bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            GoStr::Text(text) => text.as_bytes(),
            GoStr::Bytes(bytes) => bytes,
        }
    }

    /// Returns the text, in which U+FFFD replaces invalid UTF-8.
    #[must_use]
    pub fn to_text(&self) -> std::borrow::Cow<'_, str> {
        match self {
            GoStr::Text(text) => text.as_ref().into(),
            GoStr::Bytes(bytes) => String::from_utf8_lossy(bytes),
        }
    }

    /// Returns the text as a core string. Bytes are copied only if they are not known to be UTF-8.
    #[must_use]
    pub fn to_shared(&self) -> Arc<str> {
        match self {
            GoStr::Text(text) => text.clone(),
            GoStr::Bytes(bytes) => String::from_utf8_lossy(bytes).into(),
        }
    }
}

impl From<&str> for GoStr {
    fn from(text: &str) -> Self {
        GoStr::Text(text.into())
    }
}
impl From<String> for GoStr {
    fn from(text: String) -> Self {
        GoStr::Text(text.into())
    }
}
impl From<Vec<u8>> for GoStr {
    fn from(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => GoStr::Text(text.into()),
            Err(error) => GoStr::Bytes(error.into_bytes().into()),
        }
    }
}
impl From<&[u8]> for GoStr {
    fn from(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => GoStr::Text(text.into()),
            Err(_) => GoStr::Bytes(bytes.into()),
        }
    }
}
impl PartialEq for GoStr {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}
impl Eq for GoStr {}
impl PartialOrd for GoStr {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for GoStr {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}
impl std::borrow::Borrow<[u8]> for GoStr {
    fn borrow(&self) -> &[u8] {
        self.as_bytes()
    }
}
impl fmt::Debug for GoStr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_text(), f)
    }
}

/// A Go value whose type has methods, such as `time.Time`.
pub trait GoObject: fmt::Debug {
    /// Returns the value's type, such as `time.Time`.
    fn go_type(&self) -> GoType;

    /// Returns the result of the value's `String` method, which is also its printed form.
    fn text(&self) -> String;

    /// Calls a method or reads a field. Returns `None` if there is neither with this name.
    fn member(&self, name: &str, arguments: &[GoValue]) -> Option<Result<GoValue, FunctionError>>;

    /// Returns the underlying number, if the type's kind is an integer, as for `time.Duration`.
    fn integer(&self) -> Option<i64> {
        None
    }

    /// Returns the value itself, for functions that know its concrete type.
    fn as_any(&self) -> &dyn Any;
}

/// An argument or a result of a function.
#[derive(Clone, Debug, Default)]
pub enum GoValue {
    /// A nil interface. Functions also receive it for a missing key.
    #[default]
    Nil,
    /// `bool`.
    Bool(bool),
    /// `int`.
    Int(i64),
    /// `int32`.
    Int32(i32),
    /// `int64`.
    Int64(i64),
    /// `uint8`, which is the type of a string's bytes.
    Uint8(u8),
    /// `uint64`.
    Uint64(u64),
    /// `float64`.
    Float(f64),
    /// `complex128`, as its real and imaginary part.
    Complex(f64, f64),
    /// `string`.
    Str(GoStr),
    /// A slice.
    List(GoList),
    /// A map from strings.
    Map(GoMap),
    /// A function value.
    Func(Rc<GoFunction>),
    /// A value of a type with methods.
    Object(Rc<dyn GoObject>),
}

/// A number of any type, for comparisons and conversions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum GoNumber {
    /// Signed integer.
    Int(i64),
    /// Unsigned integer.
    Uint(u64),
    /// `float64`.
    Float(f64),
}

impl GoValue {
    /// Returns the type of the value, or `None` for nil.
    #[must_use]
    pub fn go_type(&self) -> Option<GoType> {
        Some(match self {
            GoValue::Nil => return None,
            GoValue::Bool(_) => GoType::Bool,
            GoValue::Int(_) => GoType::Int,
            GoValue::Int32(_) => GoType::Int32,
            GoValue::Int64(_) => GoType::Int64,
            GoValue::Uint8(_) => GoType::Uint8,
            GoValue::Uint64(_) => GoType::Uint64,
            GoValue::Float(_) => GoType::Float64,
            GoValue::Complex(..) => GoType::Complex128,
            GoValue::Str(_) => GoType::String,
            GoValue::List(list) => list.go_type(),
            GoValue::Map(map) => map.go_type(),
            GoValue::Func(function) => function.go_type,
            GoValue::Object(object) => object.go_type(),
        })
    }

    /// Returns the type name that `%T` prints.
    #[must_use]
    pub fn type_name(&self) -> String {
        self.go_type()
            .map_or_else(|| "<nil>".to_owned(), |go_type| go_type.to_string())
    }

    /// Returns whether a condition treats the value as true. A value is true if it is not the zero
    /// value of its type.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_template::format::go::{GoList, GoValue};
    ///
    /// assert!(!GoValue::from("").is_true());
    /// assert!(GoValue::from("no").is_true());
    /// assert!(!GoValue::List(GoList::new(Vec::new())).is_true());
    /// ```
    #[must_use]
    pub fn is_true(&self) -> bool {
        match self {
            GoValue::Nil => false,
            GoValue::Bool(value) => *value,
            GoValue::Int(value) | GoValue::Int64(value) => *value != 0,
            GoValue::Int32(value) => *value != 0,
            GoValue::Uint8(value) => *value != 0,
            GoValue::Uint64(value) => *value != 0,
            GoValue::Float(value) => *value != 0.0,
            GoValue::Complex(real, imaginary) => *real != 0.0 || *imaginary != 0.0,
            GoValue::Str(text) => !text.as_bytes().is_empty(),
            GoValue::List(list) => !list.is_empty(),
            GoValue::Map(map) => match map.as_core().and_then(quillet_core::Map::represented_value)
            {
                Some(meant) => GoValue::from(meant).is_true(),
                None => !map.is_empty(),
            },
            GoValue::Func(_) => true,
            GoValue::Object(object) => object.integer() != Some(0),
        }
    }

    /// Returns the value as a number, or `None` if the value is complex or not a number.
    #[must_use]
    pub fn number(&self) -> Option<GoNumber> {
        Some(match self {
            GoValue::Int(value) | GoValue::Int64(value) => GoNumber::Int(*value),
            GoValue::Int32(value) => GoNumber::Int((*value).into()),
            GoValue::Uint8(value) => GoNumber::Uint((*value).into()),
            GoValue::Uint64(value) => GoNumber::Uint(*value),
            GoValue::Float(value) => GoNumber::Float(*value),
            GoValue::Object(object) => GoNumber::Int(object.integer()?),
            _ => return None,
        })
    }

    /// Returns the bytes of a string.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            GoValue::Str(text) => Some(text.as_bytes()),
            _ => None,
        }
    }

    /// Returns the list, if the value is a list.
    #[must_use]
    pub fn as_list(&self) -> Option<&GoList> {
        match self {
            GoValue::List(list) => Some(list),
            _ => None,
        }
    }

    /// Returns the map, if the value is a map.
    #[must_use]
    pub fn as_map(&self) -> Option<&GoMap> {
        match self {
            GoValue::Map(map) => Some(map),
            _ => None,
        }
    }

    /// Returns the nesting depth: 0 for a scalar, 1 for a flat list.
    #[must_use]
    pub fn depth(&self) -> u32 {
        match self {
            GoValue::List(list) => list.depth(),
            GoValue::Map(map) => map.depth(),
            _ => 0,
        }
    }

    /// Returns the zero value of a type, which is `nil` for types that have no other zero value.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::Value;
    /// use quillet_template::format::go::{GoType, GoValue};
    ///
    /// assert_eq!(GoValue::zero(GoType::Int).to_core(), Value::Int(0));
    /// assert_eq!(GoValue::zero(GoType::String).to_core(), Value::from(""));
    /// assert_eq!(GoValue::zero(GoType::Any).to_core(), Value::Null);
    /// ```
    #[must_use]
    pub fn zero(go_type: GoType) -> GoValue {
        match go_type {
            GoType::Bool => GoValue::Bool(false),
            GoType::Int => GoValue::Int(0),
            GoType::Int32 => GoValue::Int32(0),
            GoType::Int64 => GoValue::Int64(0),
            GoType::Uint8 => GoValue::Uint8(0),
            GoType::Uint64 => GoValue::Uint64(0),
            GoType::Float64 => GoValue::Float(0.0),
            GoType::Complex128 => GoValue::Complex(0.0, 0.0),
            GoType::String => GoValue::Str("".into()),
            GoType::Slice(element) => GoValue::List(GoList::typed(*element, Vec::new())),
            GoType::Map(element) => GoValue::Map(GoMap::typed(*element)),
            GoType::Any | GoType::Named(_) => GoValue::Nil,
        }
    }

    /// Converts the value to a core value. Integers that do not fit in 64 bits become floats, and
    /// objects become strings. Functions and NaN become `null`, because JSON has neither.
    #[must_use]
    pub fn to_core(&self) -> Value {
        match self {
            GoValue::Nil | GoValue::Func(_) => Value::Null,
            GoValue::Bool(value) => Value::Bool(*value),
            GoValue::Str(text) => Value::Str(text.to_shared()),
            GoValue::List(list) => Value::List(list.to_core()),
            GoValue::Map(map) => Value::Map(map.to_core()),
            GoValue::Complex(real, imaginary) => format!("({real}{imaginary:+}i)").into(),
            GoValue::Object(object) if object.integer().is_none() => object.text().into(),
            _ => match self.number() {
                Some(GoNumber::Int(value)) => Value::Int(value),
                Some(GoNumber::Uint(value)) => {
                    i64::try_from(value).map_or(Value::Float(value as f64), Value::Int)
                }
                Some(GoNumber::Float(value)) => Value::Float(value),
                None => Value::Null,
            },
        }
    }

    /// Calls a method or reads a field of an object.
    #[must_use]
    pub fn member(
        &self,
        name: &str,
        arguments: &[GoValue],
    ) -> Option<Result<GoValue, FunctionError>> {
        match self {
            GoValue::Object(object) => object.member(name, arguments),
            _ => None,
        }
    }

    /// Calls a function value.
    ///
    /// # Errors
    /// Returns the function's error, or an error if the value is not a function.
    pub fn call(
        &self,
        context: &mut FunctionContext<'_, '_>,
        arguments: &[GoValue],
    ) -> Result<GoValue, FunctionError> {
        match self {
            GoValue::Func(function) => (function.run)(context, arguments),
            _ => Err("call of a value that is not a function".into()),
        }
    }
}

impl From<&Value> for GoValue {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => GoValue::Nil,
            Value::Bool(value) => GoValue::Bool(*value),
            Value::Int(value) => GoValue::Int(*value),
            Value::Float(value) => GoValue::Float(*value),
            Value::Str(text) => GoValue::Str(GoStr::Text(text.clone())),
            Value::List(list) => GoValue::List(GoList::core(list.clone())),
            Value::Map(map) => GoValue::Map(GoMap::core(map.clone())),
        }
    }
}
impl From<Value> for GoValue {
    fn from(value: Value) -> Self {
        match value {
            Value::Str(text) => GoValue::Str(GoStr::Text(text)),
            Value::List(list) => GoValue::List(GoList::core(list)),
            Value::Map(map) => GoValue::Map(GoMap::core(map)),
            scalar => GoValue::from(&scalar),
        }
    }
}
impl GoValue {
    /// Returns the empty value for access inside a fallback value.
    pub(super) fn nothing() -> GoValue {
        Value::Null.into_fallback().into()
    }

    /// Whether the value replaces the result of a failed call.
    pub(super) fn is_fallback(&self) -> bool {
        let map = self.as_map().and_then(GoMap::as_core);
        map.is_some_and(quillet_core::Map::is_fallback)
    }

    /// Returns the value that functions receive, see [`Value::represented_value`].
    pub(super) fn meant(self) -> GoValue {
        let map = self.as_map().and_then(GoMap::as_core);
        match map.and_then(quillet_core::Map::represented_value) {
            Some(meant) => meant.into(),
            None => self,
        }
    }
}

impl From<bool> for GoValue {
    fn from(value: bool) -> Self {
        GoValue::Bool(value)
    }
}
impl From<f64> for GoValue {
    fn from(value: f64) -> Self {
        GoValue::Float(value)
    }
}
impl From<&str> for GoValue {
    fn from(text: &str) -> Self {
        GoValue::Str(text.into())
    }
}
impl From<String> for GoValue {
    fn from(text: String) -> Self {
        GoValue::Str(text.into())
    }
}
impl From<Vec<u8>> for GoValue {
    fn from(bytes: Vec<u8>) -> Self {
        GoValue::Str(bytes.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_values_are_false_and_have_their_type() {
        let types = [
            GoType::Bool,
            GoType::Int,
            GoType::Uint8,
            GoType::Float64,
            GoType::String,
            GoType::LIST,
            GoType::Map(&GoType::String),
        ];
        for go_type in types {
            let zero = GoValue::zero(go_type);
            assert!(!zero.is_true(), "{go_type}");
            assert_eq!(zero.go_type(), Some(go_type));
        }
    }

    #[test]
    fn core_values_come_back_as_they_were() {
        let value = quillet_core::json::parse(r#"{"a":[1,2.5,"x",null,true],"b":{}}"#).unwrap();
        assert_eq!(GoValue::from(&value).to_core(), value);
    }
}
