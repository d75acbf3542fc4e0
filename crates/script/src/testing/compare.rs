//! Compares a value with an expectation and reports where they differ.

use std::sync::Arc;

use quillet_core::{Map, Span, Value};

use super::describe::{self, json, shown};
use super::expected_value::{
    ExpectedValue, FieldExpectation, FieldKey, Rule, ScalarComparison, SchemaExpectation, text_of,
};
use super::pattern::TextPattern;
use super::report::Mismatch;

/// Maximum number of differences that are reported for one value; any others are only counted.
const MOST_TOLD: usize = 20;
/// Maximum number of schema violations that are reported for one value.
const MOST_PROBLEMS: usize = 5;

/// Evaluates `$expr` with a value named `actual`.
pub(super) type Evaluate<'a> = &'a dyn Fn(&str, Option<&Value>) -> Result<bool, String>;

/// Options of a comparison.
#[derive(Clone, Copy)]
pub(super) struct Compare<'a> {
    /// Whether additional fields and white space around texts are differences.
    pub(super) strict: bool,
    pub(super) evaluate: Evaluate<'a>,
}

impl Compare<'_> {
    /// Returns all differences. `None` is a missing value.
    pub(super) fn check(
        self,
        wanted: &ExpectedValue,
        actual: Option<&Value>,
        path: &str,
    ) -> Vec<Mismatch> {
        let at = ComparedValue {
            actual,
            path,
            span: wanted.span,
        };
        match &wanted.rule {
            Rule::Equal(value) => at.unless(self.is_equal(value, actual), || json(value)),
            Rule::Pattern(pattern) => matched(pattern, at),
            Rule::Fields(fields) => self.fields(fields, at),
            Rule::All(rules) => {
                let found = rules.iter().flat_map(|rule| self.check(rule, actual, path));
                found.take(MOST_TOLD).collect()
            }
            Rule::Any(rules) => {
                let fits = rules.iter().any(|rule| self.fits(rule, actual));
                at.unless(fits, || describe::joined(rules, " or "))
            }
            Rule::Not(rule) => at.unless(!self.fits(rule, actual), || {
                format!("anything but {}", shown(rule))
            }),
            Rule::Contains(rules) => self.contained(rules, at),
            Rule::Length(rule) => match actual.and_then(length) {
                None => at.differs("something that has a length"),
                Some(length) => self.check(rule, Some(&length), &format!("{path}.length")),
            },
            Rule::Schema(schema) => schema_problems(schema, at),
            Rule::Expression(text) => self.expression(text, at),
            Rule::Exists { there, strict } => exists(*there, *strict, at),
            Rule::Compared(comparison, value) => {
                let holds = compared(*comparison, value, actual);
                at.unless(holds, || format!("{} {}", comparison.sign(), json(value)))
            }
            Rule::In(values) => {
                let is_there = actual.is_some_and(|value| is_among(values, value));
                at.unless(is_there, || format!("one of {}", describe::list(values)))
            }
            Rule::NotIn(values) => {
                let is_there = actual.is_some_and(|value| is_among(values, value));
                at.unless(!is_there, || format!("none of {}", describe::list(values)))
            }
            Rule::List(_)
            | Rule::Members(_)
            | Rule::Each(_)
            | Rule::Sequence(_)
            | Rule::Nth(..) => match actual {
                Some(Value::List(items)) => self.items(&wanted.rule, items, at),
                _ => at.differs("a list"),
            },
        }
    }

    /// Checks the rules that apply only to lists.
    fn items(self, rule: &Rule, items: &[Value], at: ComparedValue<'_>) -> Vec<Mismatch> {
        match rule {
            Rule::List(rules) => self.list(rules, items, at),
            Rule::Members(rules) => self.members(rules, items, at),
            Rule::Each(rule) => self.each(rule, items, at.path),
            Rule::Sequence(rules) => self.sequence(rules, items, at),
            Rule::Nth(index, rule) => {
                let place = nth(*index, items.len());
                let item = place.and_then(|place| items.get(place));
                let shown = place.map_or_else(|| index.to_string(), |place| place.to_string());
                self.check(rule, item, &format!("{}[{shown}]", at.path))
            }
            _ => Vec::new(),
        }
    }

    fn fits(self, wanted: &ExpectedValue, actual: Option<&Value>) -> bool {
        self.check(wanted, actual, "").is_empty()
    }

    fn is_equal(self, wanted: &Value, actual: Option<&Value>) -> bool {
        match (wanted, actual) {
            (Value::Str(wanted), Some(Value::Str(actual))) if !self.strict => {
                wanted.trim() == actual.trim()
            }
            // A fixture cannot express a missing value, so `null` also accepts one.
            (Value::Null, None) => !self.strict,
            (wanted, Some(actual)) => is_same(wanted, actual),
            (_, None) => false,
        }
    }

    fn expression(self, text: &str, at: ComparedValue<'_>) -> Vec<Mismatch> {
        match (self.evaluate)(text, at.actual) {
            Ok(holds) => at.unless(holds, || format!("that {text} is true")),
            Err(why) => at.differs(format!("that {text} is true, but {why}")),
        }
    }

    fn contained(self, rules: &[ExpectedValue], at: ComparedValue<'_>) -> Vec<Mismatch> {
        let missing = rules.iter().filter(|rule| !self.contains(rule, at.actual));
        let told = missing.map(|rule| {
            let expected = format!("something that contains {}", shown(rule));
            Mismatch::new(at.path, expected, at.actual, rule.span)
        });
        told.collect()
    }

    fn list(
        self,
        wanted: &[ExpectedValue],
        items: &[Value],
        at: ComparedValue<'_>,
    ) -> Vec<Mismatch> {
        let path = at.path;
        let mut found = at.unless(items.len() == wanted.len(), || {
            format!("a list of length {}, not {}", wanted.len(), items.len())
        });
        for (index, (wanted, item)) in wanted.iter().zip(items).enumerate() {
            found.extend(self.check(wanted, Some(item), &format!("{path}[{index}]")));
        }
        found.truncate(MOST_TOLD);
        found
    }

    fn fields(self, fields: &[FieldExpectation], at: ComparedValue<'_>) -> Vec<Mismatch> {
        let Some(map) = at.actual.and_then(Value::as_map) else {
            return at.differs("an object");
        };
        let mut found = Vec::new();
        let mut meant = Vec::new();
        for field in fields {
            match &field.key {
                FieldKey::Name(name) => {
                    let (value, key) = named(at.actual, name);
                    meant.extend(key.map(str::to_owned));
                    found.extend(self.check(&field.wanted, value, &joined(at.path, name)));
                }
                FieldKey::Pattern(pattern) => {
                    found.extend(self.some_field(pattern, &field.wanted, map, &mut meant, at));
                }
            }
        }
        if self.strict {
            found.extend(others(map, &meant, at));
        }
        found.truncate(MOST_TOLD);
        found
    }

    /// Checks that at least one field with a matching name meets the expectation.
    fn some_field(
        self,
        pattern: &TextPattern,
        wanted: &ExpectedValue,
        map: &Map,
        meant: &mut Vec<String>,
        at: ComparedValue<'_>,
    ) -> Vec<Mismatch> {
        let is_meant = |(key, _): &(&Arc<str>, &Value)| pattern.is_found(key) == Ok(true);
        // `$exists: false` is satisfied if no field has a matching name.
        let mut fits = self.fits(wanted, None);
        for (key, value) in map.iter().filter(is_meant) {
            meant.push(key.to_string());
            fits |= self.fits(wanted, Some(value));
        }
        let expected = || {
            let wanted = shown(wanted);
            format!("a field named like {} that is {wanted}", pattern.written)
        };
        let at = ComparedValue {
            span: wanted.span,
            ..at
        };
        at.unless(fits, expected)
    }

    fn contains(self, wanted: &ExpectedValue, actual: Option<&Value>) -> bool {
        match actual {
            Some(Value::List(items)) => items.iter().any(|item| self.fits(wanted, Some(item))),
            Some(Value::Str(text)) => match &wanted.rule {
                Rule::Equal(part) => text.contains(&text_of(part)),
                _ => self.fits(wanted, actual),
            },
            // `$contains` compares a part of an object, so other fields are allowed even in strict
            // mode.
            _ => Compare {
                strict: false,
                ..self
            }
            .fits(wanted, actual),
        }
    }

    fn members(
        self,
        rules: &[ExpectedValue],
        items: &[Value],
        at: ComparedValue<'_>,
    ) -> Vec<Mismatch> {
        let is_there = |rule: &&ExpectedValue| items.iter().any(|item| self.fits(rule, Some(item)));
        let missing = rules.iter().filter(|rule| !is_there(rule));
        let told = missing.take(MOST_TOLD).map(|rule| {
            let expected = format!("an item that is {}", shown(rule));
            Mismatch::new(at.path, expected, at.actual, rule.span)
        });
        told.collect()
    }

    fn each(self, rule: &ExpectedValue, items: &[Value], path: &str) -> Vec<Mismatch> {
        let items = items.iter().enumerate();
        items
            .flat_map(|(index, item)| self.check(rule, Some(item), &format!("{path}[{index}]")))
            .take(MOST_TOLD)
            .collect()
    }

    fn sequence(
        self,
        rules: &[ExpectedValue],
        items: &[Value],
        at: ComparedValue<'_>,
    ) -> Vec<Mismatch> {
        let mut rest = items.iter();
        // `any` consumes the items up to its match, so each rule starts after the previous match.
        let is_missing = |rule: &&ExpectedValue| !rest.any(|item| self.fits(rule, Some(item)));
        let Some(rule) = rules.iter().find(is_missing) else {
            return Vec::new();
        };
        let place = rules.iter().take_while(|known| !std::ptr::eq(*known, rule));
        let after = match place.count() {
            0 => String::new(),
            1 => ", after the one before it".to_owned(),
            count => format!(", after the {count} before it"),
        };
        let expected = format!("an item that is {}{after}", shown(rule));
        vec![Mismatch::new(at.path, expected, at.actual, rule.span)]
    }
}

/// A value, its path in the run, and the location of its expectation in the fixture.
#[derive(Clone, Copy)]
struct ComparedValue<'a> {
    actual: Option<&'a Value>,
    path: &'a str,
    span: Span,
}

impl ComparedValue<'_> {
    fn differs(self, expected: impl Into<String>) -> Vec<Mismatch> {
        vec![Mismatch::new(self.path, expected, self.actual, self.span)]
    }

    fn unless(self, holds: bool, expected: impl FnOnce() -> String) -> Vec<Mismatch> {
        if holds {
            Vec::new()
        } else {
            self.differs(expected())
        }
    }
}

fn matched(pattern: &TextPattern, at: ComparedValue<'_>) -> Vec<Mismatch> {
    // Only scalars are compared, because the JSON of a list or an object could match by accident.
    let text = at.actual.filter(|value| value.depth() == 0).map(text_of);
    match text.map(|text| pattern.is_found(&text)) {
        Some(Ok(true)) => Vec::new(),
        Some(Err(why)) => at.differs(why),
        _ => at.differs(format!("text that matches {}", pattern.written)),
    }
}

fn exists(there: bool, strict: bool, at: ComparedValue<'_>) -> Vec<Mismatch> {
    let is_there = if strict {
        at.actual.is_some()
    } else {
        at.actual.is_some_and(|value| *value != Value::Null)
    };
    let expected = if there { "any value" } else { "nothing" };
    at.unless(is_there == there, || expected.to_owned())
}

fn schema_problems(schema: &SchemaExpectation, at: ComparedValue<'_>) -> Vec<Mismatch> {
    let instance = serde_json::to_value(at.actual).unwrap_or_default();
    let findings = schema.0.findings(&instance, MOST_PROBLEMS).into_iter();
    let told = findings.map(|finding| Mismatch {
        path: format!("{}{}", at.path, dotted(&finding.pointer)),
        expected: format!("a value that matches the schema: {}", finding.message),
        actual: instance.pointer(&finding.pointer).map(ToString::to_string),
        span: at.span,
    });
    told.collect()
}

/// Reports fields without an expectation.
fn others(map: &Map, meant: &[String], at: ComparedValue<'_>) -> Vec<Mismatch> {
    let is_other = |(key, _): &(&Arc<str>, &Value)| !meant.iter().any(|name| **name == ***key);
    let told = map.iter().filter(is_other).map(|(key, value)| {
        let path = joined(at.path, key);
        Mismatch::new(&path, "no such field (strict)", Some(value), at.span)
    });
    told.collect()
}

/// Returns the value of a field, or else the value at a path, together with the first key of the
/// path.
fn named<'v, 'n>(actual: Option<&'v Value>, name: &'n str) -> (Option<&'v Value>, Option<&'n str>) {
    let map = actual.and_then(Value::as_map);
    // A field whose own name contains a dot takes precedence over a path.
    if let Some(value) = map.and_then(|map| map.get(name)) {
        return (Some(value), Some(name));
    }
    let first = name.split(['.', '[']).next();
    (value_at_path(actual, name), first)
}

/// Returns the value at a path such as `a.b[0].c`. The empty path is the value itself.
pub(super) fn value_at_path<'v>(value: Option<&'v Value>, path: &str) -> Option<&'v Value> {
    let steps = path
        .split(['.', '['])
        .map(|step| step.trim_end_matches(']'));
    steps
        .filter(|step| !step.is_empty())
        .try_fold(value?, |value, step| match value {
            Value::Map(map) => map.get(step),
            Value::List(items) => {
                let index: i64 = step.parse().ok()?;
                items.get(nth(index, items.len())?)
            }
            _ => None,
        })
}

fn nth(index: i64, length: usize) -> Option<usize> {
    match usize::try_from(index) {
        Ok(index) => Some(index),
        // A negative index counts from the end. `None` if it is before the first item.
        Err(_) => length.checked_sub(usize::try_from(index.unsigned_abs()).ok()?),
    }
}

fn length(value: &Value) -> Option<Value> {
    let length = match value {
        Value::Str(text) => text.chars().count(),
        Value::List(items) => items.len(),
        Value::Map(map) => map.len(),
        _ => return None,
    };
    i64::try_from(length).ok().map(Value::Int)
}

/// Returns whether two values are equal as data: `1` and `1.0` are the same number.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::List(one), Value::List(other)) => {
            one.len() == other.len() && one.iter().zip(other.iter()).all(|(a, b)| is_same(a, b))
        }
        (Value::Map(one), Value::Map(other)) => {
            let same = |(key, value): (_, &Value)| {
                let key: &Arc<str> = key;
                other.get(key).is_some_and(|found| is_same(value, found))
            };
            one.len() == other.len() && one.iter().all(same)
        }
        _ => match (number(one), number(other)) {
            (Some(a), Some(b)) => a == b,
            _ => one == other,
        },
    }
}

fn is_among(values: &[Value], value: &Value) -> bool {
    values.iter().any(|known| is_same(known, value))
}

#[expect(clippy::cast_precision_loss, reason = "as JavaScript compares")]
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    }
}

fn compared(comparison: ScalarComparison, wanted: &Value, actual: Option<&Value>) -> bool {
    let same = || actual.is_some_and(|actual| is_same(wanted, actual));
    let order = match (wanted, actual) {
        (Value::Str(wanted), Some(Value::Str(actual))) => Some(actual.cmp(wanted)),
        (wanted, Some(actual)) => number(actual)
            .zip(number(wanted))
            .and_then(|(actual, wanted)| actual.partial_cmp(&wanted)),
        (_, None) => None,
    };
    match comparison {
        ScalarComparison::Equal => same(),
        ScalarComparison::NotEqual => !same(),
        ScalarComparison::Less => order.is_some_and(std::cmp::Ordering::is_lt),
        ScalarComparison::LessOrEqual => order.is_some_and(std::cmp::Ordering::is_le),
        ScalarComparison::Greater => order.is_some_and(std::cmp::Ordering::is_gt),
        ScalarComparison::GreaterOrEqual => order.is_some_and(std::cmp::Ordering::is_ge),
    }
}

fn joined(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

/// Converts a JSON pointer to a path of this module.
fn dotted(pointer: &str) -> String {
    let steps = pointer.split('/').skip(1);
    let step = |step: &str| match step.parse::<usize>() {
        Ok(index) => format!("[{index}]"),
        Err(_) => format!(".{step}"),
    };
    steps.map(step).collect()
}
