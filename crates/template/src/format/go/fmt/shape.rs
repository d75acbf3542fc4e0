//! One view of built and core values for printing, without copying.

use quillet_core::Value;

use super::super::collection::{GoList, GoMap};
use super::super::types::GoType;
use super::super::value::{GoObject, GoValue};

/// A value, classified for printing.
pub(super) enum PrintShape<'v> {
    Nil,
    Bool(bool),
    /// A signed integer.
    Signed(i64, GoType),
    /// An unsigned integer.
    Unsigned(u64, GoType),
    Float(f64),
    Complex(f64, f64),
    Str(&'v [u8]),
    List(Elements<'v>),
    Map(FormattedMap<'v>),
    /// A function. It has a type, but no printed form.
    Func(GoType),
    Object(&'v dyn GoObject),
}

/// The elements of a slice.
pub(super) enum Elements<'v> {
    Core(&'v [Value]),
    Built(&'v GoList),
}

/// The entries of a map.
pub(super) enum FormattedMap<'v> {
    Core(&'v quillet_core::Map),
    Built(&'v GoMap),
}

impl<'v> From<&'v Value> for PrintShape<'v> {
    fn from(value: &'v Value) -> Self {
        match value {
            Value::Null => PrintShape::Nil,
            Value::Bool(value) => PrintShape::Bool(*value),
            Value::Int(value) => PrintShape::Signed(*value, GoType::Int),
            Value::Float(value) => PrintShape::Float(*value),
            Value::Str(text) => PrintShape::Str(text.as_bytes()),
            Value::List(list) => PrintShape::List(Elements::Core(list.as_slice())),
            Value::Map(map) => core_map(map),
        }
    }
}

impl<'v> From<&'v GoValue> for PrintShape<'v> {
    fn from(value: &'v GoValue) -> Self {
        match value {
            GoValue::Nil => PrintShape::Nil,
            GoValue::Bool(value) => PrintShape::Bool(*value),
            GoValue::Int(value) => PrintShape::Signed(*value, GoType::Int),
            GoValue::Int32(value) => PrintShape::Signed((*value).into(), GoType::Int32),
            GoValue::Int64(value) => PrintShape::Signed(*value, GoType::Int64),
            GoValue::Uint8(value) => PrintShape::Unsigned((*value).into(), GoType::Uint8),
            GoValue::Uint64(value) => PrintShape::Unsigned(*value, GoType::Uint64),
            GoValue::Float(value) => PrintShape::Float(*value),
            GoValue::Complex(real, imaginary) => PrintShape::Complex(*real, *imaginary),
            GoValue::Str(text) => PrintShape::Str(text.as_bytes()),
            GoValue::List(list) => PrintShape::List(match list.as_core() {
                Some(core) => Elements::Core(core.as_slice()),
                None => Elements::Built(list),
            }),
            GoValue::Map(map) => match map.as_core() {
                Some(core) => core_map(core),
                None => PrintShape::Map(FormattedMap::Built(map)),
            },
            GoValue::Func(function) => PrintShape::Func(function.go_type),
            GoValue::Object(object) => PrintShape::Object(object.as_ref()),
        }
    }
}

/// Classifies a core map. A tool's result may have a display field that replaces it in print.
fn core_map(map: &quillet_core::Map) -> PrintShape<'_> {
    match map.display_value() {
        Some(value) => PrintShape::from(value),
        None => PrintShape::Map(FormattedMap::Core(map)),
    }
}

impl PrintShape<'_> {
    /// Returns the type of the value, or `None` for nil.
    pub(super) fn go_type(&self) -> Option<GoType> {
        Some(match self {
            PrintShape::Nil => return None,
            PrintShape::Bool(_) => GoType::Bool,
            PrintShape::Signed(_, go_type) | PrintShape::Unsigned(_, go_type) => *go_type,
            PrintShape::Float(_) => GoType::Float64,
            PrintShape::Complex(..) => GoType::Complex128,
            PrintShape::Str(_) => GoType::String,
            PrintShape::List(elements) => elements.go_type(),
            PrintShape::Map(entries) => entries.go_type(),
            PrintShape::Func(go_type) => *go_type,
            PrintShape::Object(object) => object.go_type(),
        })
    }
}

impl Elements<'_> {
    /// Returns the type of the slice.
    pub(super) fn go_type(&self) -> GoType {
        match self {
            Elements::Core(_) => GoType::LIST,
            Elements::Built(list) => list.go_type(),
        }
    }

    /// Returns the bytes, if this is a slice of bytes.
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

    /// Passes each element to `each` until that returns false.
    pub(super) fn each(&self, mut each: impl FnMut(usize, PrintShape<'_>) -> bool) {
        match self {
            Elements::Core(items) => {
                let mut items = items.iter().enumerate();
                items.all(|(index, item)| each(index, PrintShape::from(item)));
            }
            Elements::Built(list) => {
                let mut items = list.iter().enumerate();
                items.all(|(index, item)| each(index, PrintShape::from(&item)));
            }
        }
    }
}

impl FormattedMap<'_> {
    /// Returns the type of the map.
    pub(super) fn go_type(&self) -> GoType {
        match self {
            FormattedMap::Core(_) => GoType::MAP,
            FormattedMap::Built(map) => map.go_type(),
        }
    }

    /// Passes each entry to `each` in key order until that returns false.
    pub(super) fn each(&self, mut each: impl FnMut(usize, &[u8], PrintShape<'_>) -> bool) {
        match self {
            FormattedMap::Core(map) => {
                let mut entries: Vec<_> = map.iter().collect();
                entries.sort_unstable_by_key(|(key, _)| *key);
                let mut entries = entries.into_iter().enumerate();
                entries.all(|(index, (key, value))| each(index, key.as_bytes(), value.into()));
            }
            FormattedMap::Built(map) => {
                let mut entries = map.sorted().into_iter().enumerate();
                entries.all(|(index, (key, value))| {
                    each(index, key.as_bytes(), PrintShape::from(&value))
                });
            }
        }
    }
}
