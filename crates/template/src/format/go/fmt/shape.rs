//! One view over both kinds of values that are printed, without copying any.

use quillet_core::Value;

use super::super::collection::{GoList, GoMap};
use super::super::types::GoType;
use super::super::value::{GoValue, Object};

/// A value as its printing depends on it.
pub(super) enum Shape<'v> {
    Nil,
    Bool(bool),
    /// An integer of a signed type.
    Signed(i64, GoType),
    /// An integer of an unsigned type.
    Unsigned(u64, GoType),
    Float(f64),
    Complex(f64, f64),
    Str(&'v [u8]),
    List(Elements<'v>),
    Map(Entries<'v>),
    /// A function; it has a type, but nothing to print.
    Func(GoType),
    Object(&'v dyn Object),
}

/// The elements of a slice.
pub(super) enum Elements<'v> {
    Core(&'v [Value]),
    Built(&'v GoList),
}

/// The entries of a map.
pub(super) enum Entries<'v> {
    Core(&'v quillet_core::Map),
    Built(&'v GoMap),
}

impl<'v> From<&'v Value> for Shape<'v> {
    fn from(value: &'v Value) -> Self {
        match value {
            Value::Null => Shape::Nil,
            Value::Bool(value) => Shape::Bool(*value),
            Value::Int(value) => Shape::Signed(*value, GoType::Int),
            Value::Float(value) => Shape::Float(*value),
            Value::Str(text) => Shape::Str(text.as_bytes()),
            Value::List(list) => Shape::List(Elements::Core(list.as_slice())),
            Value::Map(map) => core_map(map),
        }
    }
}

impl<'v> From<&'v GoValue> for Shape<'v> {
    fn from(value: &'v GoValue) -> Self {
        match value {
            GoValue::Nil => Shape::Nil,
            GoValue::Bool(value) => Shape::Bool(*value),
            GoValue::Int(value) => Shape::Signed(*value, GoType::Int),
            GoValue::Int32(value) => Shape::Signed((*value).into(), GoType::Int32),
            GoValue::Int64(value) => Shape::Signed(*value, GoType::Int64),
            GoValue::Uint8(value) => Shape::Unsigned((*value).into(), GoType::Uint8),
            GoValue::Uint64(value) => Shape::Unsigned(*value, GoType::Uint64),
            GoValue::Float(value) => Shape::Float(*value),
            GoValue::Complex(real, imaginary) => Shape::Complex(*real, *imaginary),
            GoValue::Str(text) => Shape::Str(text.as_bytes()),
            GoValue::List(list) => Shape::List(match list.as_core() {
                Some(core) => Elements::Core(core.as_slice()),
                None => Elements::Built(list),
            }),
            GoValue::Map(map) => match map.as_core() {
                Some(core) => core_map(core),
                None => Shape::Map(Entries::Built(map)),
            },
            GoValue::Func(function) => Shape::Func(function.go_type),
            GoValue::Object(object) => Shape::Object(object.as_ref()),
        }
    }
}

/// A tool's answer may name the one field that stands for it in print.
fn core_map(map: &quillet_core::Map) -> Shape<'_> {
    match map.printed() {
        Some(value) => Shape::from(value),
        None => Shape::Map(Entries::Core(map)),
    }
}

impl Shape<'_> {
    /// Its type; `None` for nil.
    pub(super) fn go_type(&self) -> Option<GoType> {
        Some(match self {
            Shape::Nil => return None,
            Shape::Bool(_) => GoType::Bool,
            Shape::Signed(_, go_type) | Shape::Unsigned(_, go_type) => *go_type,
            Shape::Float(_) => GoType::Float64,
            Shape::Complex(..) => GoType::Complex128,
            Shape::Str(_) => GoType::String,
            Shape::List(elements) => elements.go_type(),
            Shape::Map(entries) => entries.go_type(),
            Shape::Func(go_type) => *go_type,
            Shape::Object(object) => object.go_type(),
        })
    }
}

impl Elements<'_> {
    /// The type of the slice.
    pub(super) fn go_type(&self) -> GoType {
        match self {
            Elements::Core(_) => GoType::LIST,
            Elements::Built(list) => list.go_type(),
        }
    }

    /// The bytes, if this is a slice of bytes.
    pub(super) fn bytes(&self) -> Option<Vec<u8>> {
        let Elements::Built(list) = self else {
            return None;
        };
        let byte = |value| match value {
            GoValue::Uint8(byte) => byte,
            _ => 0,
        };
        (list.element() == GoType::Uint8).then(|| list.iter().map(byte).collect())
    }

    /// Shows every element to `each`, until it wants no more.
    pub(super) fn each(&self, mut each: impl FnMut(usize, Shape<'_>) -> bool) {
        match self {
            Elements::Core(items) => {
                let mut items = items.iter().enumerate();
                items.all(|(index, item)| each(index, Shape::from(item)));
            }
            Elements::Built(list) => {
                let mut items = list.iter().enumerate();
                items.all(|(index, item)| each(index, Shape::from(&item)));
            }
        }
    }
}

impl Entries<'_> {
    /// The type of the map.
    pub(super) fn go_type(&self) -> GoType {
        match self {
            Entries::Core(_) => GoType::MAP,
            Entries::Built(map) => map.go_type(),
        }
    }

    /// Shows every entry to `each` in the order of the keys, until it wants no more.
    pub(super) fn each(&self, mut each: impl FnMut(usize, &[u8], Shape<'_>) -> bool) {
        match self {
            Entries::Core(map) => {
                let mut entries: Vec<_> = map.iter().collect();
                entries.sort_unstable_by_key(|(key, _)| *key);
                let mut entries = entries.into_iter().enumerate();
                entries.all(|(index, (key, value))| each(index, key.as_bytes(), value.into()));
            }
            Entries::Built(map) => {
                let mut entries = map.sorted().into_iter().enumerate();
                entries
                    .all(|(index, (key, value))| each(index, key.as_bytes(), Shape::from(&value)));
            }
        }
    }
}
