//! Printed forms of values.

use std::borrow::Cow;

use quillet_core::{Value, json};

use super::encoding::HostLanguage;

/// Returns the text of a value, such as `True` or `1.5`. As in Semantic Kernel, a list of texts is
/// printed on separate lines. Objects and other lists are printed as JSON, for which Semantic
/// Kernel prints the name of their type.
pub(super) fn text(value: &Value, dialect: HostLanguage) -> Cow<'_, str> {
    match value {
        Value::Null => Cow::Borrowed(""),
        Value::Str(text) => Cow::Borrowed(text),
        Value::Bool(true) => Cow::Borrowed("True"),
        Value::Bool(false) => Cow::Borrowed("False"),
        Value::Int(int) => Cow::Owned(int.to_string()),
        Value::Float(float) => Cow::Owned(match dialect {
            HostLanguage::DotNet => float_of_dot_net(*float),
            HostLanguage::Python => float_of_python(*float),
        }),
        Value::List(list) => match list.iter().map(Value::as_str).collect::<Option<Vec<_>>>() {
            Some(texts) => Cow::Owned(texts.join("\n")),
            None => Cow::Owned(json::to_string(value)),
        },
        Value::Map(map) => match map.display_value() {
            Some(printed) => text(printed, dialect),
            None => Cow::Owned(json::to_string(value)),
        },
    }
}

/// Returns the fewest digits that parse to the number, and its decimal exponent.
fn digits(float: f64) -> (String, i32) {
    let text = format!("{:e}", float.abs());
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (digits.to_owned(), exponent.parse().unwrap_or(0))
}

/// Formats a float like .NET: `1.5`, `3`, `1E+15`, `1E-05`.
fn float_of_dot_net(float: f64) -> String {
    let (digits, exponent) = digits(float);
    let minus = if float < 0.0 { "-" } else { "" };
    match exponent {
        -4..=14 => float.to_string(),
        _ if exponent < 0 => format!("{minus}{digits}E-{:02}", -exponent),
        _ => format!("{minus}{digits}E+{exponent:02}"),
    }
}

/// Formats a float like Python: `1.5`, `3.0`, `1e+16`, `1e-05`.
fn float_of_python(float: f64) -> String {
    let (digits, exponent) = digits(float);
    let minus = if float < 0.0 { "-" } else { "" };
    match exponent {
        -4..=15 => format!("{float:?}"),
        _ if exponent < 0 => format!("{minus}{digits}e-{:02}", -exponent),
        _ => format!("{minus}{digits}e+{exponent:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_as_in_each_language() {
        let cases = [
            (1.5, "1.5", "1.5"),
            (3.0, "3", "3.0"),
            (-0.25, "-0.25", "-0.25"),
            (0.0001, "0.0001", "0.0001"),
            (0.00001, "1E-05", "1e-05"),
            (1e15, "1E+15", "1000000000000000.0"),
            (
                123_456_789_012_345.0,
                "123456789012345",
                "123456789012345.0",
            ),
            (-1.5e20, "-1.5E+20", "-1.5e+20"),
        ];
        for (float, dot_net, python) in cases {
            assert_eq!(text(&Value::Float(float), HostLanguage::DotNet), dot_net);
            assert_eq!(text(&Value::Float(float), HostLanguage::Python), python);
        }
    }
}
