//! Numbers from 0 that need not be whole.

use toml::de::DeValue;

/// As a text has it; `_` may stand between digits.
pub(super) fn of_text(text: &str) -> Option<f64> {
    let number = text.replace('_', "").parse::<f64>().ok();
    number.filter(|number| number.is_finite() && *number >= 0.0)
}

/// As a file has it.
pub(super) fn of_file(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Float(number) => of_text(number.as_str()),
        other => of_text(other.as_integer()?.as_str()),
    }
}
