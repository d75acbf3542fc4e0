//! Reads the expectations of a test: `output:` and `expect:`.

use quillet_core::{Diagnostic, Span, Value, nearest};
use quillet_yaml::{MapEntry, Node, NodeData};

use super::expected_value::{
    ExpectationReader, ExpectedValue, FieldExpectation, FieldKey, Rule, ScalarComparison, node_of,
};
use super::fixture::{Expectation, RunAspect};
use super::pattern::TextPattern;
use crate::syntax::ScriptSource;

/// Keys of `expect:`. A key may use `-` instead of `_`.
pub(super) const KEYS: [&str; 17] = [
    "contains",
    "equals",
    "error",
    "judge",
    "messages",
    "model_graded",
    "not_contains",
    "output",
    "printed",
    "regex",
    "requests",
    "schema",
    "snapshot",
    "tokens",
    "tokens_below",
    "tool_called",
    "tools",
];

/// Collects the expectations of one test.
#[derive(Debug)]
pub(super) struct Expectations<'a> {
    source: &'a ScriptSource,
    /// The number of the test, which is part of its snapshot's name.
    number: usize,
    pub(super) expectations: Vec<Expectation>,
    pub(super) found: Vec<Diagnostic>,
}

impl<'a> Expectations<'a> {
    pub(super) fn new(source: &'a ScriptSource, number: usize) -> Self {
        Expectations {
            source,
            number,
            expectations: Vec::new(),
            found: Vec::new(),
        }
    }

    /// Reads `output:`. With `not: true`, the output must not match it.
    pub(super) fn output(&mut self, node: &Node, is_negated: bool) {
        let wanted = self.wanted(node);
        let wanted = if is_negated {
            ExpectedValue {
                span: wanted.span,
                rule: Rule::Not(Box::new(wanted)),
            }
        } else {
            wanted
        };
        self.aspect(RunAspect::Output, wanted);
    }

    /// Reads `outputSchema:`.
    pub(super) fn schema(&mut self, node: &Node) {
        let mut reader = ExpectationReader::new(self.source);
        let schema = reader.schema(node);
        self.found.append(&mut reader.found);
        let expectation = schema.map(|schema| Expectation::Schema(schema, node.span));
        self.expectations.extend(expectation);
    }

    /// Reads `expect:`.
    pub(super) fn all(&mut self, node: &Node) {
        let Some(entries) = node.entries() else {
            let message = format!("expect must be an object, not {}", node.kind());
            self.error(message, node.span);
            return;
        };
        entries.iter().for_each(|entry| self.one(entry));
    }

    fn one(&mut self, entry: &MapEntry) {
        let node = &entry.value;
        match entry.name().replace('-', "_").as_str() {
            "output" => self.plain(RunAspect::Output, node),
            "messages" => self.plain(RunAspect::Messages, node),
            "requests" => self.plain(RunAspect::Requests, node),
            "printed" => self.plain(RunAspect::Printed, node),
            "tools" => self.tools(node),
            "tool_called" => self.tool_called(node),
            "tokens" | "tokens_below" => self.tokens(node),
            "error" => self.failure(node),
            "equals" => {
                let rule = Rule::Compared(ScalarComparison::Equal, node.value());
                self.output_rule(node, rule);
            }
            "contains" => {
                let rules = self.one_or_more(node);
                self.output_rule(node, Rule::Contains(rules));
            }
            "not_contains" => {
                let rules = self.one_or_more(node);
                let none = rules.into_iter().map(not_contained).collect();
                self.output_rule(node, Rule::All(none));
            }
            "regex" => match TextPattern::tagged(node.text().unwrap_or_default()) {
                Ok(pattern) => self.output_rule(node, Rule::Pattern(pattern)),
                Err(why) => self.error(why, node.span),
            },
            "schema" => self.schema(node),
            "snapshot" => self.snapshot(node),
            "judge" | "model_graded" => self.judged(node),
            _ => self.unknown(entry),
        }
    }

    fn error(&mut self, message: impl Into<String>, at: Span) {
        let found = self.source.error("test.expected", message, at);
        self.found.push(found);
    }

    fn unknown(&mut self, entry: &MapEntry) {
        let name = entry.name();
        let message = format!("unknown key {name} in expect");
        let found = self.source.error("test.expected", message, entry.key.span);
        let help = match nearest(&name.replace('-', "_"), KEYS) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("known names: {}", KEYS.join(", ")),
        };
        self.found.push(found.help(help));
    }

    fn wanted(&mut self, node: &Node) -> ExpectedValue {
        let mut reader = ExpectationReader::new(self.source);
        let wanted = reader.read(node);
        self.found.append(&mut reader.found);
        wanted
    }

    fn one_or_more(&mut self, node: &Node) -> Vec<ExpectedValue> {
        match node.items() {
            Some(items) => items.iter().map(|item| self.wanted(item)).collect(),
            None => vec![self.wanted(node)],
        }
    }

    fn aspect(&mut self, aspect: RunAspect, wanted: ExpectedValue) {
        self.expectations.push(Expectation::Aspect(aspect, wanted));
    }

    fn plain(&mut self, aspect: RunAspect, node: &Node) {
        let wanted = self.wanted(node);
        self.aspect(aspect, wanted);
    }

    fn output_rule(&mut self, node: &Node, rule: Rule) {
        let span = node.span;
        self.aspect(RunAspect::Output, ExpectedValue { span, rule });
    }

    /// Reads a tool name, a call, or a list of both: each must have been called, in any order. An
    /// operator instead applies to the list of calls.
    fn tools(&mut self, node: &Node) {
        let calls = calls(node);
        let entries = calls.entries().unwrap_or_default();
        let is_operator = entries.iter().any(|entry| entry.name().starts_with('$'));
        let rule = match &calls.data {
            NodeData::List(items) if items.is_empty() => self.wanted(&calls).rule,
            NodeData::List(_) => Rule::Members(self.one_or_more(&calls)),
            _ if is_operator => self.wanted(&calls).rule,
            _ => Rule::Members(vec![self.wanted(&calls)]),
        };
        let span = node.span;
        self.aspect(RunAspect::Tools, ExpectedValue { span, rule });
    }

    /// Reads `name`, `[name, …]`, or `{name: arguments}`.
    fn tool_called(&mut self, node: &Node) {
        let Some(entries) = node.entries().filter(|_| node.get("name").is_none()) else {
            return self.tools(node);
        };
        let calls = entries.iter().map(|entry| {
            let mut fields = vec![named("name", &entry.key)];
            if !entry.value.is_null() {
                fields.push(named("args", &entry.value));
            }
            Node::new(entry.key.span, NodeData::Map(fields))
        });
        let calls = Node::new(node.span, NodeData::List(calls.collect()));
        self.tools(&calls);
    }

    /// Reads a limit on tokens: a number for the total, or an object for details.
    fn tokens(&mut self, node: &Node) {
        let wanted = match node.value() {
            most @ (Value::Int(_) | Value::Float(_)) => {
                let span = node.span;
                let below = Rule::Compared(ScalarComparison::Less, most);
                let field = FieldExpectation {
                    key: FieldKey::Name("total".into()),
                    wanted: ExpectedValue { span, rule: below },
                };
                let rule = Rule::Fields(vec![field]);
                ExpectedValue { span, rule }
            }
            _ => self.wanted(node),
        };
        self.aspect(RunAspect::Tokens, wanted);
    }

    /// Reads `true`, a text that is the code or a part of the message, or an object.
    fn failure(&mut self, node: &Node) {
        let span = node.span;
        let field = |name: &str, rule: Rule| {
            let wanted = ExpectedValue { span, rule };
            let key = FieldKey::Name(name.into());
            ExpectedValue {
                span,
                rule: Rule::Fields(vec![FieldExpectation { key, wanted }]),
            }
        };
        let wanted = self.wanted(node);
        let rule = match wanted.rule {
            Rule::Equal(Value::Bool(there)) => Rule::Exists {
                there,
                strict: false,
            },
            Rule::Equal(text @ Value::Str(_)) => {
                let part = Rule::Equal(text.clone());
                let part = Rule::Contains(vec![ExpectedValue { span, rule: part }]);
                let code = Rule::Compared(ScalarComparison::Equal, text);
                Rule::Any(vec![field("code", code), field("message", part)])
            }
            pattern @ Rule::Pattern(_) => field("message", pattern).rule,
            other => other,
        };
        self.aspect(RunAspect::Error, ExpectedValue { span, rule });
    }

    /// Reads `true`, or a snapshot name.
    fn snapshot(&mut self, node: &Node) {
        let name = match node.value() {
            Value::Bool(false) | Value::Null => return,
            Value::Bool(true) => self.number.to_string(),
            _ => node.text().unwrap_or_default().to_owned(),
        };
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
        if name.is_empty() || !name.chars().all(is_plain) {
            let message =
                "snapshot must be true, or a name that consists of letters, digits, - and _";
            return self.error(message, node.span);
        }
        let expectation = Expectation::Snapshot(name, node.span);
        self.expectations.push(expectation);
    }

    /// Reads a rubric, or a list of them.
    fn judged(&mut self, node: &Node) {
        let rubrics = match node.items() {
            Some(items) => items,
            None => std::slice::from_ref(node),
        };
        for rubric in rubrics {
            let text = rubric.text().or_else(|| rubric.get("rubric")?.text());
            match text {
                Some(text) => {
                    let expectation = Expectation::Judged(text.to_owned(), rubric.span);
                    self.expectations.push(expectation);
                }
                None => self.error("judge must be text that states the criterion", rubric.span),
            }
        }
    }
}

fn not_contained(rule: ExpectedValue) -> ExpectedValue {
    let span = rule.span;
    let contains = ExpectedValue {
        span,
        rule: Rule::Contains(vec![rule]),
    };
    ExpectedValue {
        span,
        rule: Rule::Not(Box::new(contains)),
    }
}

fn named(name: &str, value: &Node) -> MapEntry {
    MapEntry {
        key: node_of(&Value::from(name), value.span),
        value: value.clone(),
    }
}

/// Expands tool names: `weather` becomes `{name: weather}`, also in lists and operators.
fn calls(node: &Node) -> Node {
    let data = match &node.data {
        NodeData::Scalar(_) => NodeData::Map(vec![named("name", node)]),
        NodeData::List(items) => NodeData::List(items.iter().map(calls).collect()),
        NodeData::Map(entries) => {
            let entry = |entry: &MapEntry| match entry.name() {
                "$all" | "$and" | "$contains" | "$each" | "$first" | "$last" | "$not" | "$or"
                | "$sequence" => MapEntry {
                    key: entry.key.clone(),
                    value: calls(&entry.value),
                },
                _ => entry.clone(),
            };
            NodeData::Map(entries.iter().map(entry).collect())
        }
    };
    Node::new(node.span, data)
}
