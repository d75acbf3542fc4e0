//! Describes expectations in reports.

use quillet_core::Value;

use super::expected_value::{ExpectedValue, FieldExpectation, FieldKey, Rule};

/// Formats a value as JSON.
pub(super) fn json(value: &Value) -> String {
    quillet_core::json::to_string(value)
}

/// Formats values as JSON, separated by commas.
pub(super) fn list(values: &[Value]) -> String {
    let shown: Vec<String> = values.iter().map(json).collect();
    shown.join(", ")
}

/// Joins the descriptions of several expectations with a word.
pub(super) fn joined(rules: &[ExpectedValue], between: &str) -> String {
    let shown: Vec<String> = rules.iter().map(shown).collect();
    shown.join(between)
}

/// Describes an expectation in a few words.
pub(super) fn shown(wanted: &ExpectedValue) -> String {
    match &wanted.rule {
        Rule::Equal(value) => json(value),
        Rule::Pattern(pattern) => pattern.written.clone(),
        Rule::List(rules) => format!("[{}]", joined(rules, ", ")),
        Rule::Fields(fields) => {
            let field = |field: &FieldExpectation| match &field.key {
                FieldKey::Name(name) => format!("{name}: {}", shown(&field.wanted)),
                FieldKey::Pattern(key) => format!("{}: {}", key.written, shown(&field.wanted)),
            };
            let fields: Vec<String> = fields.iter().map(field).collect();
            format!("{{{}}}", fields.join(", "))
        }
        Rule::All(rules) => joined(rules, " and "),
        Rule::Any(rules) => joined(rules, " or "),
        Rule::Not(rule) => format!("not {}", shown(rule)),
        Rule::Contains(rules) => format!("something that contains {}", joined(rules, " and ")),
        Rule::Members(rules) => format!("a list with {}", joined(rules, " and ")),
        Rule::Each(rule) => format!("a list of only {}", shown(rule)),
        Rule::Sequence(rules) => format!("a list with {}", joined(rules, ", then ")),
        Rule::Exists { there: true, .. } => "any value".to_owned(),
        Rule::Exists { there: false, .. } => "nothing".to_owned(),
        Rule::Compared(comparison, value) => format!("{} {}", comparison.sign(), json(value)),
        Rule::In(values) => format!("one of {}", list(values)),
        Rule::NotIn(values) => format!("none of {}", list(values)),
        Rule::Length(rule) => format!("of a length {}", shown(rule)),
        Rule::Nth(index, rule) => format!("a list whose item {index} is {}", shown(rule)),
        Rule::Schema(_) => "that matches the schema".to_owned(),
        Rule::Expression(text) => format!("such that {text}"),
    }
}
