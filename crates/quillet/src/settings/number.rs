//! Parsing of non-negative numbers.

use toml::de::DeValue;

/// Parses text; `_` may separate digits.
pub(super) fn of_text(text: &str) -> Option<f64> {
    let number = text.replace('_', "").parse::<f64>().ok();
    // Rust also parses `nan` and `inf`, which are not usable as limits.
    number.filter(|number| number.is_finite() && *number >= 0.0)
}

/// Parses a value of a file.
pub(super) fn of_file(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Float(number) => of_text(number.as_str()),
        other => of_text(other.as_integer()?.as_str()),
    }
}
