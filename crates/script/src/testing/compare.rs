//! Whether a value is as wanted, and if not, where the two part.

use quillet_core::{Span, Value};

use super::report::Mismatch;
use super::wanted::{Comparison, Field, FieldKey, Rule, Wanted, text_of};

/// Differences that are told of one value; the others are counted.
const MOST_TOLD: usize = 20;
/// Problems that are told of one value that breaks its schema.
const MOST_PROBLEMS: usize = 5;

/// Decides about `$expr`: the expression, and the value that it calls `actual`.
pub(super) type Evaluate<'a> = &'a dyn Fn(&str, Option<&Value>) -> Result<bool, String>;

/// How values are compared.
#[derive(Clone, Copy)]
pub(super) struct Compare<'a> {
    /// Whether objects have no other fields, and white space around texts counts.
    pub(super) strict: bool,
    pub(super) evaluate: Evaluate<'a>,
}

impl Compare<'_> {
    /// Everything in which a value is not as wanted; `None` is a value that is not there.
    pub(super) fn check(
        self,
        wanted: &Wanted,
        actual: Option<&Value>,
        path: &str,
    ) -> Vec<Mismatch> {
        let span = wanted.span;
        let differs = |expected: String| vec![Mismatch::new(path, expected, actual, span)];
        match &wanted.rule {
            Rule::Equal(value) => self.equal(value, actual, path, span),
            Rule::Pattern(pattern) => {
                let text = actual.filter(|value| value.depth() == 0).map(text_of);
                match text.map(|text| pattern.is_found(&text)) {
                    Some(Ok(true)) => Vec::new(),
                    Some(Err(why)) => vec![Mismatch::new(path, why, actual, span)],
                    _ => differs(format!("a text with {}", pattern.written)),
                }
            }
            Rule::List(items) => self.list(items, actual, path, span),
            Rule::Fields(fields) => self.fields(fields, actual, path, span),
            Rule::All(rules) => {
                let found = rules.iter().flat_map(|rule| self.check(rule, actual, path));
                found.take(MOST_TOLD).collect()
            }
            Rule::Any(rules) => self.any(rules, actual, path, span),
            Rule::Not(rule) => match self.fits(rule, actual) {
                true => differs(format!("anything but {}", shown(rule))),
                false => Vec::new(),
            },
            Rule::Contains(rules) => {
                let missing = rules.iter().filter(|rule| !self.contains(rule, actual));
                missing
                    .map(|rule| {
                        let expected = format!("something that contains {}", shown(rule));
                        Mismatch::new(path, expected, actual, rule.span)
                    })
                    .collect()
            }
            Rule::Members(rules) => match items_of(actual) {
                None => differs("a list".into()),
                Some(items) => self.members(rules, items, actual, path),
            },
            Rule::Each(rule) => match items_of(actual) {
                None => differs("a list".into()),
                Some(items) => self.each(rule, items, path),
            },
            Rule::Sequence(rules) => match items_of(actual) {
                None => differs("a list".into()),
                Some(items) => self.sequence(rules, items, actual, path),
            },
            Rule::Exists { there, strict } => {
                let is_there = match strict {
                    true => actual.is_some(),
                    false => actual.is_some_and(|value| *value != Value::Null),
                };
                match (is_there == *there, there) {
                    (true, _) => Vec::new(),
                    (false, true) => differs("any value".into()),
                    (false, false) => differs("nothing".into()),
                }
            }
            Rule::Compared(comparison, value) => match compared(*comparison, value, actual) {
                true => Vec::new(),
                false => differs(format!("{} {}", comparison.sign(), json(value))),
            },
            Rule::In(values) => match actual.is_some_and(|value| is_among(values, value)) {
                true => Vec::new(),
                false => differs(format!("one of {}", list_of(values))),
            },
            Rule::NotIn(values) => match actual.is_some_and(|value| is_among(values, value)) {
                true => differs(format!("none of {}", list_of(values))),
                false => Vec::new(),
            },
            Rule::Length(rule) => match actual.and_then(length) {
                None => differs("something that has a length".into()),
                Some(length) => self.check(rule, Some(&length), &format!("{path}.length")),
            },
            Rule::Nth(index, rule) => match items_of(actual) {
                None => differs("a list".into()),
                Some(items) => {
                    let place = nth(*index, items.len());
                    let item = place.and_then(|place| items.get(place));
                    let at = format!("{path}[{}]", place.map_or(*index, |place| place as i64));
                    self.check(rule, item, &at)
                }
            },
            Rule::Schema(schema) => {
                let instance = serde_json::to_value(actual).unwrap_or_default();
                let problems = schema.0.iter_errors(&instance).take(MOST_PROBLEMS);
                problems
                    .map(|problem| {
                        let at = format!("{path}{}", dotted(problem.instance_path().as_str()));
                        let found = instance.pointer(problem.instance_path().as_str());
                        Mismatch {
                            path: at,
                            expected: format!("what the schema says: {}", problem.masked()),
                            actual: found.map(ToString::to_string),
                            span,
                        }
                    })
                    .collect()
            }
            Rule::Expression(text) => match (self.evaluate)(text, actual) {
                Ok(true) => Vec::new(),
                Ok(false) => differs(format!("that {text} is true")),
                Err(why) => differs(format!("that {text} is true, but {why}")),
            },
        }
    }

    fn fits(self, wanted: &Wanted, actual: Option<&Value>) -> bool {
        self.check(wanted, actual, "").is_empty()
    }

    fn equal(
        self,
        wanted: &Value,
        actual: Option<&Value>,
        path: &str,
        span: Span,
    ) -> Vec<Mismatch> {
        let same = match (wanted, actual) {
            (Value::Str(wanted), Some(Value::Str(actual))) if !self.strict => {
                wanted.trim() == actual.trim()
            }
            (Value::Null, None) => !self.strict,
            (wanted, Some(actual)) => is_same(wanted, actual),
            (_, None) => false,
        };
        match same {
            true => Vec::new(),
            false => vec![Mismatch::new(path, json(wanted), actual, span)],
        }
    }

    fn list(
        self,
        wanted: &[Wanted],
        actual: Option<&Value>,
        path: &str,
        span: Span,
    ) -> Vec<Mismatch> {
        let Some(items) = items_of(actual) else {
            return vec![Mismatch::new(path, "a list", actual, span)];
        };
        let mut found = Vec::new();
        if items.len() != wanted.len() {
            let expected = format!("a list of length {}, not {}", wanted.len(), items.len());
            found.push(Mismatch::new(path, expected, actual, span));
        }
        for (index, (wanted, item)) in wanted.iter().zip(items).enumerate() {
            found.extend(self.check(wanted, Some(item), &format!("{path}[{index}]")));
        }
        found.truncate(MOST_TOLD);
        found
    }

    fn fields(
        self,
        fields: &[Field],
        actual: Option<&Value>,
        path: &str,
        span: Span,
    ) -> Vec<Mismatch> {
        let Some(map) = actual.and_then(Value::as_map) else {
            return vec![Mismatch::new(path, "an object", actual, span)];
        };
        let mut found = Vec::new();
        let mut meant = Vec::new();
        for field in fields {
            match &field.key {
                FieldKey::Name(name) => {
                    let (value, key) = named(actual, name);
                    meant.extend(key.map(str::to_owned));
                    found.extend(self.check(&field.wanted, value, &joined(path, name)));
                }
                FieldKey::Pattern(pattern) => {
                    let keys = map
                        .iter()
                        .filter(|(key, _)| pattern.is_found(key) == Ok(true));
                    let keys: Vec<_> = keys.collect();
                    meant.extend(keys.iter().map(|(key, _)| key.to_string()));
                    let fits = |(_, value): &(_, &Value)| self.fits(&field.wanted, Some(value));
                    if !keys.iter().any(fits) && !self.fits(&field.wanted, None) {
                        let expected = format!(
                            "a field named like {} that is {}",
                            pattern.written,
                            shown(&field.wanted)
                        );
                        found.push(Mismatch::new(path, expected, actual, field.wanted.span));
                    }
                }
            }
        }
        if self.strict {
            let is_other = |key: &&std::sync::Arc<str>| !meant.iter().any(|name| **name == ***key);
            let others = map.iter().map(|(key, _)| key).filter(is_other);
            found.extend(others.map(|key| {
                Mismatch::new(
                    &joined(path, key),
                    "no such field (strict)",
                    map.get(key),
                    span,
                )
            }));
        }
        found.truncate(MOST_TOLD);
        found
    }

    fn any(
        self,
        rules: &[Wanted],
        actual: Option<&Value>,
        path: &str,
        span: Span,
    ) -> Vec<Mismatch> {
        if rules.iter().any(|rule| self.fits(rule, actual)) {
            return Vec::new();
        }
        let shown: Vec<String> = rules.iter().map(shown).collect();
        vec![Mismatch::new(path, shown.join(" or "), actual, span)]
    }

    fn contains(self, wanted: &Wanted, actual: Option<&Value>) -> bool {
        match actual {
            Some(Value::List(items)) => items.iter().any(|item| self.fits(wanted, Some(item))),
            Some(Value::Str(text)) => match &wanted.rule {
                Rule::Equal(part) => text.contains(&text_of(part)),
                _ => self.fits(wanted, actual),
            },
            _ => Compare {
                strict: false,
                ..self
            }
            .fits(wanted, actual),
        }
    }

    fn members(
        self,
        rules: &[Wanted],
        items: &[Value],
        actual: Option<&Value>,
        path: &str,
    ) -> Vec<Mismatch> {
        let is_there = |rule: &&Wanted| items.iter().any(|item| self.fits(rule, Some(item)));
        let missing = rules.iter().filter(|rule| !is_there(rule));
        missing
            .take(MOST_TOLD)
            .map(|rule| {
                let expected = format!("an item that is {}", shown(rule));
                Mismatch::new(path, expected, actual, rule.span)
            })
            .collect()
    }

    fn each(self, rule: &Wanted, items: &[Value], path: &str) -> Vec<Mismatch> {
        let items = items.iter().enumerate();
        items
            .flat_map(|(index, item)| self.check(rule, Some(item), &format!("{path}[{index}]")))
            .take(MOST_TOLD)
            .collect()
    }

    fn sequence(
        self,
        rules: &[Wanted],
        items: &[Value],
        actual: Option<&Value>,
        path: &str,
    ) -> Vec<Mismatch> {
        let mut rest = items.iter();
        for (index, rule) in rules.iter().enumerate() {
            if !rest.any(|item| self.fits(rule, Some(item))) {
                let before = match index {
                    0 => String::new(),
                    1 => ", after the one before it".to_owned(),
                    count => format!(", after the {count} before it"),
                };
                let expected = format!("an item that is {}{before}", shown(rule));
                return vec![Mismatch::new(path, expected, actual, rule.span)];
            }
        }
        Vec::new()
    }
}

/// The value under a name, or else at the end of a path, and the key that it begins with.
fn named<'v, 'n>(actual: Option<&'v Value>, name: &'n str) -> (Option<&'v Value>, Option<&'n str>) {
    let map = actual.and_then(Value::as_map);
    if let Some(value) = map.and_then(|map| map.get(name)) {
        return (Some(value), Some(name));
    }
    let first = name.split(['.', '[']).next();
    (at(actual, name), first)
}

/// The value at the end of a path as `a.b[0].c`; the empty path is the value itself.
pub(super) fn at<'v>(value: Option<&'v Value>, path: &str) -> Option<&'v Value> {
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
        Err(_) => length.checked_sub(usize::try_from(index.unsigned_abs()).ok()?),
    }
}

fn items_of(actual: Option<&Value>) -> Option<&[Value]> {
    match actual {
        Some(Value::List(items)) => Some(items.as_slice()),
        _ => None,
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

/// Equal as data: `1` and `1.0` are the same number.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::List(one), Value::List(other)) => {
            one.len() == other.len() && one.iter().zip(other.iter()).all(|(a, b)| is_same(a, b))
        }
        (Value::Map(one), Value::Map(other)) => {
            let same = |(key, value): (_, &Value)| {
                let key: &std::sync::Arc<str> = key;
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

fn compared(comparison: Comparison, wanted: &Value, actual: Option<&Value>) -> bool {
    let same = || actual.is_some_and(|actual| is_same(wanted, actual));
    let order = match (wanted, actual) {
        (Value::Str(wanted), Some(Value::Str(actual))) => Some(actual.cmp(wanted)),
        (wanted, Some(actual)) => number(actual)
            .zip(number(wanted))
            .and_then(|(actual, wanted)| actual.partial_cmp(&wanted)),
        (_, None) => None,
    };
    match comparison {
        Comparison::Equal => same(),
        Comparison::NotEqual => !same(),
        Comparison::Less => order.is_some_and(std::cmp::Ordering::is_lt),
        Comparison::LessOrEqual => order.is_some_and(std::cmp::Ordering::is_le),
        Comparison::Greater => order.is_some_and(std::cmp::Ordering::is_gt),
        Comparison::GreaterOrEqual => order.is_some_and(std::cmp::Ordering::is_ge),
    }
}

fn joined(path: &str, name: &str) -> String {
    match path.is_empty() {
        true => name.to_owned(),
        false => format!("{path}.{name}"),
    }
}

/// A JSON pointer as a path of this module.
fn dotted(pointer: &str) -> String {
    let steps = pointer.split('/').skip(1);
    let step = |step: &str| match step.parse::<usize>() {
        Ok(index) => format!("[{index}]"),
        Err(_) => format!(".{step}"),
    };
    steps.map(step).collect()
}

fn json(value: &Value) -> String {
    quillet_core::json::to_string(value)
}

fn list_of(values: &[Value]) -> String {
    let shown: Vec<String> = values.iter().map(json).collect();
    shown.join(", ")
}

/// What is wanted, in a few words.
fn shown(wanted: &Wanted) -> String {
    let all = |rules: &[Wanted], between: &str| {
        let shown: Vec<String> = rules.iter().map(shown).collect();
        shown.join(between)
    };
    match &wanted.rule {
        Rule::Equal(value) => json(value),
        Rule::Pattern(pattern) => pattern.written.clone(),
        Rule::List(rules) => format!("[{}]", all(rules, ", ")),
        Rule::Fields(fields) => {
            let field = |field: &Field| match &field.key {
                FieldKey::Name(name) => format!("{name}: {}", shown(&field.wanted)),
                FieldKey::Pattern(key) => format!("{}: {}", key.written, shown(&field.wanted)),
            };
            let fields: Vec<String> = fields.iter().map(field).collect();
            format!("{{{}}}", fields.join(", "))
        }
        Rule::All(rules) => all(rules, " and "),
        Rule::Any(rules) => all(rules, " or "),
        Rule::Not(rule) => format!("not {}", shown(rule)),
        Rule::Contains(rules) => format!("something that contains {}", all(rules, " and ")),
        Rule::Members(rules) => format!("a list with {}", all(rules, " and ")),
        Rule::Each(rule) => format!("a list of only {}", shown(rule)),
        Rule::Sequence(rules) => format!("a list with {}", all(rules, ", then ")),
        Rule::Exists { there: true, .. } => "any value".to_owned(),
        Rule::Exists { there: false, .. } => "nothing".to_owned(),
        Rule::Compared(comparison, value) => format!("{} {}", comparison.sign(), json(value)),
        Rule::In(values) => format!("one of {}", list_of(values)),
        Rule::NotIn(values) => format!("none of {}", list_of(values)),
        Rule::Length(rule) => format!("of a length {}", shown(rule)),
        Rule::Nth(index, rule) => format!("a list whose item {index} is {}", shown(rule)),
        Rule::Schema(_) => "as the schema says".to_owned(),
        Rule::Expression(text) => format!("such that {text}"),
    }
}
