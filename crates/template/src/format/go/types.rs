//! Types of Go values, as they appear in error messages and in the output of `%T`.

use std::fmt;

/// Go type of a value, parameter or element.
///
/// # Examples
///
/// ```
/// use quillet_template::format::go::GoType;
///
/// assert_eq!(GoType::MAP.to_string(), "map[string]interface {}");
/// assert_eq!(GoType::Slice(&GoType::Int).to_string(), "[]int");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoType {
    /// `interface {}`.
    Any,
    /// `bool`.
    Bool,
    /// `int`, 64 bits.
    Int,
    /// `int32`.
    Int32,
    /// `int64`.
    Int64,
    /// `uint8`.
    Uint8,
    /// `uint64`.
    Uint64,
    /// `float64`.
    Float64,
    /// `complex128`.
    Complex128,
    /// `string`.
    String,
    /// A slice with elements of this type.
    Slice(&'static GoType),
    /// A map from `string` to this type.
    Map(&'static GoType),
    /// Any other type, with its full name: `func(string) string`, `time.Time`.
    Named(&'static str),
}

impl GoType {
    /// `[]interface {}`.
    pub const LIST: GoType = GoType::Slice(&GoType::Any);
    /// `[]string`.
    pub const STRINGS: GoType = GoType::Slice(&GoType::String);
    /// `map[string]interface {}`.
    pub const MAP: GoType = GoType::Map(&GoType::Any);

    /// Returns whether nil can be assigned to the type.
    #[must_use]
    pub fn can_be_nil(self) -> bool {
        match self {
            GoType::Any | GoType::Slice(_) | GoType::Map(_) => true,
            GoType::Named(name) => name.starts_with("func(") || name.starts_with('*'),
            _ => false,
        }
    }

    /// Returns whether the type is an integer type.
    #[must_use]
    pub fn is_integer(self) -> bool {
        matches!(
            self,
            GoType::Int | GoType::Int32 | GoType::Int64 | GoType::Uint8 | GoType::Uint64
        )
    }
}

impl fmt::Display for GoType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GoType::Any => f.write_str("interface {}"),
            GoType::Bool => f.write_str("bool"),
            GoType::Int => f.write_str("int"),
            GoType::Int32 => f.write_str("int32"),
            GoType::Int64 => f.write_str("int64"),
            GoType::Uint8 => f.write_str("uint8"),
            GoType::Uint64 => f.write_str("uint64"),
            GoType::Float64 => f.write_str("float64"),
            GoType::Complex128 => f.write_str("complex128"),
            GoType::String => f.write_str("string"),
            GoType::Slice(element) => write!(f, "[]{element}"),
            GoType::Map(element) => write!(f, "map[string]{element}"),
            GoType::Named(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_written_as_go_writes_them() {
        let cases = [
            (GoType::LIST, "[]interface {}"),
            (GoType::Map(&GoType::STRINGS), "map[string][]string"),
            (GoType::Named("time.Time"), "time.Time"),
        ];
        for (go_type, name) in cases {
            assert_eq!(go_type.to_string(), name);
        }
    }
}
