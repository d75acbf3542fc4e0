//! Expectations for values. They are parsed from YAML once, before any test runs.
//!
//! Scalars must be equal, `/re/flags` and `!re` must match a part of a text, lists must match item
//! by item, and objects must be a part of the actual object. Keys that begin with `$` are
//! operators.

use quillet_core::{Diagnostic, Map, Span, Value, nearest};
use quillet_schema::{Rules, Validator};
use quillet_yaml::{MapEntry, Node, NodeData};

use super::pattern::TextPattern;
use crate::syntax::ScriptSource;

/// A rule and its location in the fixture.
#[derive(Clone, Debug)]
pub(super) struct ExpectedValue {
    pub(super) span: Span,
    pub(super) rule: Rule,
}

/// A rule for a value.
#[derive(Clone, Debug)]
pub(super) enum Rule {
    /// Equal to this scalar.
    Equal(Value),
    /// A text that contains a match.
    Pattern(TextPattern),
    /// A list of the same length whose items match.
    List(Vec<ExpectedValue>),
    /// An object with matching fields.
    Fields(Vec<FieldExpectation>),
    /// `$and`, or an object with both operators and fields.
    All(Vec<ExpectedValue>),
    /// `$or`.
    Any(Vec<ExpectedValue>),
    /// `$not`.
    Not(Box<ExpectedValue>),
    /// `$contains`: contains each of these.
    Contains(Vec<ExpectedValue>),
    /// `$all`: a list that contains each of these, in any order.
    Members(Vec<ExpectedValue>),
    /// `$each`: a list whose items all match.
    Each(Box<ExpectedValue>),
    /// `$sequence`: a list that contains these in this order, possibly with others in between.
    Sequence(Vec<ExpectedValue>),
    /// `$exists`. With `strict`, a field that is `null` counts as existing.
    Exists { there: bool, strict: bool },
    /// `$eq`, `$gt` and other comparisons.
    Compared(ScalarComparison, Value),
    /// `$in`.
    In(Vec<Value>),
    /// `$nin`.
    NotIn(Vec<Value>),
    /// `$length`.
    Length(Box<ExpectedValue>),
    /// `$first`, `$last`, `$nth`: the item at this index, counted from the end if negative.
    Nth(i64, Box<ExpectedValue>),
    /// `$schema`.
    Schema(SchemaExpectation),
    /// `$expr`: an expression over `actual` and the variables that must be true.
    Expression(String),
}

/// An expected field of an object.
#[derive(Clone, Debug)]
pub(super) struct FieldExpectation {
    pub(super) key: FieldKey,
    pub(super) wanted: ExpectedValue,
}

/// Selects a field.
#[derive(Clone, Debug)]
pub(super) enum FieldKey {
    /// By name, or else by a path such as `a.b[0]`.
    Name(String),
    /// Any field whose name contains a match.
    Pattern(TextPattern),
}

/// A comparison of two scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScalarComparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl ScalarComparison {
    /// Returns its operator.
    pub(super) fn sign(self) -> &'static str {
        match self {
            ScalarComparison::Equal => "equal to",
            ScalarComparison::NotEqual => "not equal to",
            ScalarComparison::Less => "less than",
            ScalarComparison::LessOrEqual => "at most",
            ScalarComparison::Greater => "greater than",
            ScalarComparison::GreaterOrEqual => "at least",
        }
    }
}

/// A compiled JSON Schema.
#[derive(Clone, Debug)]
pub(super) struct SchemaExpectation(pub(super) std::sync::Arc<Validator>);

/// Parses expectations and collects all errors.
#[derive(Debug)]
pub(super) struct ExpectationReader<'a> {
    source: &'a ScriptSource,
    pub(super) found: Vec<Diagnostic>,
}

const OPERATORS: [&str; 26] = [
    "$all",
    "$and",
    "$contains",
    "$each",
    "$eq",
    "$exists",
    "$expect",
    "$expr",
    "$first",
    "$gt",
    "$gte",
    "$in",
    "$last",
    "$length",
    "$lt",
    "$lte",
    "$ne",
    "$nin",
    "$not",
    "$nth",
    "$or",
    "$schema",
    "$sequence",
    "$title",
    "$description",
    "$regex",
];

/// Keys for weighted scores, which are not supported.
const SCORING: [&str; 9] = [
    "$by",
    "$critical",
    "$diff",
    "$dimension",
    "$meta",
    "$score",
    "$sort",
    "$strategy",
    "$threshold",
];

impl<'a> ExpectationReader<'a> {
    pub(super) fn new(source: &'a ScriptSource) -> Self {
        ExpectationReader {
            source,
            found: Vec::new(),
        }
    }

    fn error(&mut self, message: impl Into<String>, at: Span) {
        let found = self.source.error("test.expected", message, at);
        self.found.push(found);
    }

    /// Parses a node.
    pub(super) fn read(&mut self, node: &Node) -> ExpectedValue {
        let rule = match &node.data {
            NodeData::Scalar(_) => self.scalar(node),
            NodeData::List(items) => Rule::List(self.all(items)),
            NodeData::Map(entries) => self.object(entries),
        };
        ExpectedValue {
            span: node.span,
            rule,
        }
    }

    fn all(&mut self, items: &[Node]) -> Vec<ExpectedValue> {
        items.iter().map(|item| self.read(item)).collect()
    }

    fn scalar(&mut self, node: &Node) -> Rule {
        let text = node.text().unwrap_or_default();
        let is_tagged = matches!(node.tag.as_deref(), Some("re" | "regexp"));
        let pattern = if is_tagged {
            Some(TextPattern::tagged(text))
        } else {
            node.as_str().and_then(TextPattern::literal)
        };
        match pattern {
            None => Rule::Equal(node.value()),
            Some(Ok(pattern)) => Rule::Pattern(pattern),
            Some(Err(why)) => {
                self.error(why, node.span);
                // Parsing continues, so that one run reports all errors in the fixture.
                Rule::Equal(node.value())
            }
        }
    }

    fn object(&mut self, entries: &[MapEntry]) -> Rule {
        let mut rules = Vec::new();
        let mut fields = Vec::new();
        for entry in entries {
            if entry.name().starts_with('$') {
                rules.extend(self.operator(entry))
            } else {
                fields.extend(self.field(entry))
            }
        }
        if rules.is_empty() {
            return Rule::Fields(fields);
        }
        if let Some(first) = fields.first() {
            let span = first.wanted.span;
            let rule = Rule::Fields(fields);
            rules.push(ExpectedValue { span, rule });
        }
        Rule::All(rules)
    }

    fn field(&mut self, entry: &MapEntry) -> Option<FieldExpectation> {
        let name = entry.name();
        let key = match TextPattern::literal(name) {
            None => FieldKey::Name(name.to_owned()),
            Some(Ok(pattern)) => FieldKey::Pattern(pattern),
            Some(Err(why)) => {
                self.error(why, entry.key.span);
                return None;
            }
        };
        let wanted = self.read(&entry.value);
        Some(FieldExpectation { key, wanted })
    }

    fn operator(&mut self, entry: &MapEntry) -> Option<ExpectedValue> {
        let name = entry.name();
        let node = &entry.value;
        let boxed = |reader: &mut Self| Box::new(reader.read(node));
        let rule = match name {
            "$and" => Rule::All(self.list(entry)),
            "$or" => Rule::Any(self.list(entry)),
            "$all" => Rule::Members(self.list(entry)),
            "$sequence" => Rule::Sequence(self.list(entry)),
            "$contains" => Rule::Contains(self.one_or_more(node)),
            "$not" => Rule::Not(boxed(self)),
            "$each" => Rule::Each(boxed(self)),
            "$length" => Rule::Length(boxed(self)),
            "$expect" => self.read(node).rule,
            "$first" => Rule::Nth(0, boxed(self)),
            "$last" => Rule::Nth(-1, boxed(self)),
            "$nth" => self.nth(entry)?,
            "$eq" => Rule::Compared(ScalarComparison::Equal, node.value()),
            "$ne" => Rule::Compared(ScalarComparison::NotEqual, node.value()),
            "$gt" => self.compared(ScalarComparison::Greater, entry)?,
            "$gte" => self.compared(ScalarComparison::GreaterOrEqual, entry)?,
            "$lt" => self.compared(ScalarComparison::Less, entry)?,
            "$lte" => self.compared(ScalarComparison::LessOrEqual, entry)?,
            "$in" => Rule::In(self.values(entry)),
            "$nin" => Rule::NotIn(self.values(entry)),
            "$regex" => self.regex(node)?,
            "$exists" => self.exists(node)?,
            "$schema" => Rule::Schema(self.schema(node)?),
            "$expr" => Rule::Expression(self.text(entry)?),
            "$title" | "$description" => return None,
            _ => return self.unknown(entry),
        };
        let span = node.span;
        Some(ExpectedValue { span, rule })
    }

    fn unknown(&mut self, entry: &MapEntry) -> Option<ExpectedValue> {
        let name = entry.name();
        let at = entry.key.span;
        if SCORING.contains(&name) {
            let message = format!(
                "{name} is not supported yet and has no effect: all expectations have the same \
                weight"
            );
            self.found
                .push(self.source.warning("test.unsupported", message, at));
            return None;
        }
        let near = nearest(name, OPERATORS);
        let help = match near {
            Some(near) => {
                format!("did you mean {near}? Write a field of this name as /^\\{name}$/")
            }
            None => format!("known operators: {}", OPERATORS.join(", ")),
        };
        let found = self
            .source
            .error("test.expected", format!("unknown operator {name}"), at);
        self.found.push(found.help(help));
        None
    }

    fn list(&mut self, entry: &MapEntry) -> Vec<ExpectedValue> {
        match entry.value.items() {
            Some(items) => self.all(items),
            None => {
                let message = format!(
                    "{} must be a list, not {}",
                    entry.name(),
                    entry.value.kind()
                );
                self.error(message, entry.value.span);
                Vec::new()
            }
        }
    }

    fn one_or_more(&mut self, node: &Node) -> Vec<ExpectedValue> {
        match node.items() {
            Some(items) => self.all(items),
            None => vec![self.read(node)],
        }
    }

    fn values(&mut self, entry: &MapEntry) -> Vec<Value> {
        match entry.value.items() {
            Some(items) => items.iter().map(Node::value).collect(),
            None => {
                let message = format!(
                    "{} must be a list of values, not {}",
                    entry.name(),
                    entry.value.kind()
                );
                self.error(message, entry.value.span);
                Vec::new()
            }
        }
    }

    fn text(&mut self, entry: &MapEntry) -> Option<String> {
        let text = entry.value.text().map(str::to_owned);
        if text.is_none() {
            let message = format!("{} must be text, not {}", entry.name(), entry.value.kind());
            self.error(message, entry.value.span);
        }
        text
    }

    fn regex(&mut self, node: &Node) -> Option<Rule> {
        match TextPattern::tagged(node.text().unwrap_or_default()) {
            Ok(pattern) => Some(Rule::Pattern(pattern)),
            Err(why) => {
                self.error(why, node.span);
                None
            }
        }
    }

    fn compared(&mut self, comparison: ScalarComparison, entry: &MapEntry) -> Option<Rule> {
        match entry.value.value() {
            value @ (Value::Int(_) | Value::Float(_) | Value::Str(_)) => {
                Some(Rule::Compared(comparison, value))
            }
            other => {
                let message = format!(
                    "{} must be a number or text, not {}",
                    entry.name(),
                    other.kind()
                );
                self.error(message, entry.value.span);
                None
            }
        }
    }

    /// Parses `true`, `false`, or `{$value: …, strict: …}`.
    fn exists(&mut self, node: &Node) -> Option<Rule> {
        let flag = |node: Option<&Node>| match node.map(Node::value) {
            Some(Value::Bool(flag)) => Some(flag),
            _ => None,
        };
        let there = flag(Some(node)).or_else(|| flag(node.get("$value")));
        let strict = flag(node.get("strict")).unwrap_or(false);
        if there.is_none() {
            self.error("$exists must be true or false", node.span);
        }
        Some(Rule::Exists {
            there: there?,
            strict,
        })
    }

    /// Parses `{$index: 1, …}`. The other keys are the expectation for the item.
    fn nth(&mut self, entry: &MapEntry) -> Option<Rule> {
        let node = &entry.value;
        let Some(Value::Int(index)) = node.get("$index").map(Node::value) else {
            self.error(
                "$nth must have $index, a whole number, and the expected item next to it",
                node.span,
            );
            return None;
        };
        let mut rest: Vec<MapEntry> = node.entries().unwrap_or_default().to_vec();
        rest.retain(|entry| entry.name() != "$index");
        let value = rest.iter().position(|entry| entry.name() == "$value");
        let wanted = match value {
            // The order of `rest` does not matter, because the other entries are dropped.
            Some(place) => rest.swap_remove(place).value,
            None => Node::new(node.span, NodeData::Map(rest)),
        };
        Some(Rule::Nth(index, Box::new(self.read(&wanted))))
    }

    /// Compiles a JSON Schema without resolving remote references.
    pub(super) fn schema(&mut self, node: &Node) -> Option<SchemaExpectation> {
        let written = serde_json::to_value(node.value()).unwrap_or_default();
        let rules = Rules {
            formats: true,
            masked: true,
            ..Rules::default()
        };
        match Validator::new(&written, rules) {
            Ok(validator) => Some(SchemaExpectation(std::sync::Arc::new(validator))),
            Err(error) => {
                self.error(format!("invalid JSON Schema: {error}"), node.span);
                None
            }
        }
    }
}

/// Creates a node from a value, such as that of a variable. All its parts have the same span.
pub(super) fn node_of(value: &Value, span: Span) -> Node {
    use quillet_yaml::{Scalar, ScalarFormat};
    let data = match value {
        Value::List(items) => {
            NodeData::List(items.iter().map(|item| node_of(item, span)).collect())
        }
        Value::Map(map) => NodeData::Map(entries_of(map, span)),
        scalar => NodeData::Scalar(Scalar {
            text: text_of(scalar).into(),
            value: scalar.clone(),
            style: ScalarFormat::DoubleQuoted,
        }),
    };
    Node::new(span, data)
}

fn entries_of(map: &Map, span: Span) -> Vec<MapEntry> {
    let entry = |(key, value): (&std::sync::Arc<str>, &Value)| MapEntry {
        key: node_of(&Value::Str(key.clone()), span),
        value: node_of(value, span),
    };
    map.iter().map(entry).collect()
}

/// Returns a text unchanged, any other value as JSON.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::Str(text) => text.to_string(),
        other => quillet_core::json::to_string(other),
    }
}
