//! Values of an evaluation.
//!
//! A [`DotValue`] corresponds to `reflect.Value` in Go's executor. It borrows the caller's
//! variables and distinguishes a missing value from nil. It also records whether the value came
//! through an interface, which only error messages show.

use quillet_core::Value;

use super::super::types::GoType;
use super::super::value::{GoNumber, GoValue};

#[derive(Clone, Debug)]
pub(super) enum DotValue<'a> {
    /// A missing key.
    Missing,
    /// A nil interface: a key whose value is `null`.
    Nil,
    /// A variable of the caller, which is never [`Value::Null`]. The flag reports whether it came
    /// through an interface.
    Core(&'a Value, bool),
    /// A computed value, which is never [`GoValue::Nil`]. The flag reports whether it came through
    /// an interface.
    Own(GoValue, bool),
    /// The result of a pending call.
    Pending,
}

/// Operand of a comparison.
#[derive(Clone, Copy, Debug)]
pub(super) enum Basic<'i> {
    Bool(bool),
    Complex(f64, f64),
    Int(i64),
    Float(f64),
    Str(&'i [u8]),
    Uint(u64),
    /// A value that is not basic: nil, a list, a map or a function.
    Other,
}

impl<'a> DotValue<'a> {
    /// Wraps an element of a core container.
    pub(super) fn element(value: &'a Value) -> Self {
        match value {
            Value::Null => DotValue::Nil,
            value => DotValue::Core(value, true),
        }
    }

    /// Wraps a core value that is not inside an interface.
    pub(super) fn core(value: &'a Value) -> Self {
        match value {
            Value::Null => DotValue::Missing,
            value => DotValue::Core(value, false),
        }
    }

    /// Wraps the result of a function. A nil result is always an interface.
    pub(super) fn own(value: GoValue) -> Self {
        match value {
            GoValue::Nil => DotValue::Nil,
            value => DotValue::Own(value, false),
        }
    }

    /// Wraps an element of a container with this element type.
    pub(super) fn own_element(value: GoValue, element: GoType) -> Self {
        match value {
            GoValue::Nil => DotValue::Nil,
            value => DotValue::Own(value, element == GoType::Any),
        }
    }

    /// Returns the value without its interface. Go unwraps interfaces at the end of each command.
    pub(super) fn unboxed(self) -> Self {
        match self {
            DotValue::Nil => DotValue::Missing,
            DotValue::Core(value, _) => DotValue::Core(value, false),
            DotValue::Own(value, _) => DotValue::Own(value, false),
            other => other,
        }
    }

    /// Whether the value replaces the result of a failed call.
    pub(super) fn is_fallback(&self) -> bool {
        matches!(self, DotValue::Own(value, _) if value.is_fallback())
    }

    /// Returns the inner value of a fallback value, or the value itself.
    pub(super) fn meant(self) -> Self {
        match self {
            DotValue::Own(value, boxed) => match value.meant() {
                GoValue::Nil => DotValue::Nil,
                value => DotValue::Own(value, boxed),
            },
            other => other,
        }
    }

    pub(super) fn is_nil(&self) -> bool {
        matches!(self, DotValue::Missing | DotValue::Nil)
    }

    /// Returns the value as an argument of a function.
    pub(super) fn to_value(&self) -> GoValue {
        match self {
            DotValue::Missing | DotValue::Nil | DotValue::Pending => GoValue::Nil,
            DotValue::Core(value, _) => GoValue::from(*value),
            DotValue::Own(value, _) => value.clone(),
        }
    }

    pub(super) fn into_value(self) -> GoValue {
        match self {
            DotValue::Own(value, _) => value,
            other => other.to_value(),
        }
    }

    pub(super) fn is_true(&self) -> bool {
        match self {
            DotValue::Missing | DotValue::Nil | DotValue::Pending => false,
            DotValue::Own(value, _) => value.is_true(),
            DotValue::Core(value, _) => match value {
                Value::Null => false,
                Value::Bool(value) => *value,
                Value::Int(value) => *value != 0,
                Value::Float(value) => *value != 0.0,
                Value::Str(text) => !text.is_empty(),
                Value::List(list) => !list.is_empty(),
                Value::Map(map) => !map.is_empty(),
            },
        }
    }

    /// Returns the type of the inner value, or `None` for nil.
    pub(super) fn go_type(&self) -> Option<GoType> {
        match self {
            DotValue::Missing | DotValue::Nil | DotValue::Pending => None,
            DotValue::Own(value, _) => value.go_type(),
            DotValue::Core(value, _) => match value {
                Value::Null => None,
                Value::Bool(_) => Some(GoType::Bool),
                Value::Int(_) => Some(GoType::Int),
                Value::Float(_) => Some(GoType::Float64),
                Value::Str(_) => Some(GoType::String),
                Value::List(_) => Some(GoType::LIST),
                Value::Map(_) => Some(GoType::MAP),
            },
        }
    }

    /// Returns the name of the inner value's type.
    pub(super) fn type_name(&self) -> String {
        self.go_type().unwrap_or(GoType::Any).to_string()
    }

    /// Returns the type that errors about field access report. It is `interface {}` if the value
    /// came through an interface.
    pub(super) fn receiver_type(&self) -> GoType {
        match self {
            DotValue::Core(_, true) | DotValue::Own(_, true) => GoType::Any,
            other => other.go_type().unwrap_or(GoType::Any),
        }
    }

    pub(super) fn basic(&self) -> Basic<'_> {
        match self {
            DotValue::Core(value, _) => match value {
                Value::Bool(value) => Basic::Bool(*value),
                Value::Int(value) => Basic::Int(*value),
                Value::Float(value) => Basic::Float(*value),
                Value::Str(text) => Basic::Str(text.as_bytes()),
                _ => Basic::Other,
            },
            DotValue::Own(value, _) => match value {
                GoValue::Bool(value) => Basic::Bool(*value),
                GoValue::Complex(real, imaginary) => Basic::Complex(*real, *imaginary),
                GoValue::Str(text) => Basic::Str(text.as_bytes()),
                value => match value.number() {
                    Some(GoNumber::Int(value)) => Basic::Int(value),
                    Some(GoNumber::Uint(value)) => Basic::Uint(value),
                    Some(GoNumber::Float(value)) => Basic::Float(value),
                    None => Basic::Other,
                },
            },
            _ => Basic::Other,
        }
    }

    pub(super) fn as_bytes(&self) -> Option<&[u8]> {
        match self.basic() {
            Basic::Str(text) => Some(text),
            _ => None,
        }
    }
}
