//! Matches a value against a pattern.

use std::cmp::Ordering;
use std::sync::Arc;

use quillet_core::{Map, Value, ValueList};

use super::equal::{as_number, equal};
use super::regex::Regex;
use super::tree::{
    Bindings, CONDITION, Code, CompareOp, ListPattern, MatchError, ObjectPattern, PatternNode,
};
use crate::expression::{
    EvalError, NameResolver, NameValue, ParsedExpression, to_js_string, truthy,
};

type MatchResult = Result<bool, MatchError>;

/// Returns whether `value` matches. Adds its names to `bindings` only in that case.
pub(super) fn matches(
    node: &PatternNode,
    value: &Option<Value>,
    bindings: &mut Bindings,
    names: &dyn NameResolver,
) -> MatchResult {
    let mut walk = MatchWalk {
        condition: value,
        names,
        bound: Vec::new(),
    };
    let matched = walk.node(node, value)?;
    if matched {
        bindings.extend(walk.bound);
    }
    Ok(matched)
}

struct MatchWalk<'a> {
    condition: &'a Option<Value>,
    names: &'a dyn NameResolver,
    bound: Vec<(Arc<str>, Value)>,
}

/// The names that an expression inside a pattern can use.
impl NameResolver for MatchWalk<'_> {
    fn get(&self, name: &str) -> NameValue {
        if name == CONDITION {
            return self
                .condition
                .clone()
                .map_or(NameValue::Undefined, NameValue::Value);
        }
        let bound = self.bound.iter().rev().find(|(known, _)| &**known == name);
        match bound {
            Some((_, value)) => NameValue::Value(value.clone()),
            None => self.names.get(name),
        }
    }
    fn this(&self, name: &str) -> NameValue {
        self.names.this(name)
    }
}

impl MatchWalk<'_> {
    fn node(&mut self, node: &PatternNode, value: &Option<Value>) -> MatchResult {
        match node {
            PatternNode::Any => Ok(true),
            PatternNode::Bind(name) => {
                self.bind(name, value);
                Ok(value.is_some())
            }
            PatternNode::Literal(literal) => Ok(equal(value, literal)),
            PatternNode::Regex(regex) => self.regex(regex, value),
            PatternNode::Compare(comparison, code) => {
                let operand = self.evaluate(code)?;
                Ok(compares(*comparison, value, &operand))
            }
            PatternNode::Range(range) => {
                let number = value.as_ref().and_then(as_number);
                Ok(number.is_some_and(|number| range.contains(number)))
            }
            PatternNode::Code(code) => {
                let result = self.evaluate(code)?;
                Ok(if code.test {
                    truthy(&result)
                } else {
                    equal(value, &result)
                })
            }
            PatternNode::List(pattern) => self.list(pattern, value),
            PatternNode::Object(pattern) => self.object(pattern, value),
            PatternNode::Either(nodes) => self.either(nodes, value),
            PatternNode::All(nodes) => self.all(nodes.iter().map(|node| (node, value))),
        }
    }

    fn bind(&mut self, name: &Arc<str>, value: &Option<Value>) {
        if let Some(value) = value {
            self.bound.push((Arc::clone(name), value.clone()));
        }
    }

    fn regex(&mut self, regex: &Regex, value: &Option<Value>) -> MatchResult {
        let text = match value {
            Some(Value::Str(text)) => Arc::clone(text),
            Some(number @ (Value::Int(_) | Value::Float(_))) => to_js_string(number).into(),
            _ => return Ok(false),
        };
        let Some(found) = regex.captures(&text)? else {
            return Ok(false);
        };
        for (name, group) in found.named() {
            self.bound.push((name.into(), Value::from(group)));
        }
        Ok(true)
    }

    fn evaluate(&self, code: &Code) -> Result<Option<Value>, MatchError> {
        let result = match &code.parsed {
            ParsedExpression::Native(expression) => expression.evaluate(self),
            _ => Err(EvalError::JavaScript),
        };
        result.map_err(|error| MatchError::Expression {
            error,
            span: code.span,
        })
    }

    /// Tries alternatives, and discards the bindings of those that fail.
    fn either(&mut self, nodes: &[PatternNode], value: &Option<Value>) -> MatchResult {
        let before = self.bound.len();
        for node in nodes {
            if self.node(node, value)? {
                return Ok(true);
            }
            self.bound.truncate(before);
        }
        Ok(false)
    }

    fn all<'n, 'v>(
        &mut self,
        pairs: impl IntoIterator<Item = (&'n PatternNode, &'v Option<Value>)>,
    ) -> MatchResult {
        for (node, value) in pairs {
            if !self.node(node, value)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn list(&mut self, pattern: &ListPattern, value: &Option<Value>) -> MatchResult {
        let Some(Value::List(list)) = value else {
            return Ok(false);
        };
        let Some((before, after)) = parts(pattern, list) else {
            return Ok(false);
        };
        if pattern.names_first {
            self.bind(&"first".into(), &list.first().cloned());
        }
        let nodes = pattern.before.iter().chain(pattern.after.iter().flatten());
        for (node, item) in nodes.zip(before.iter().chain(after)) {
            if !self.node(node, &Some(item.clone()))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn object(&mut self, pattern: &ObjectPattern, value: &Option<Value>) -> MatchResult {
        let Some(Value::Map(map)) = value else {
            return Ok(false);
        };
        if !pattern.partial && !has_no_other(pattern, map) {
            return Ok(false);
        }
        for (key, node) in &pattern.fields {
            let Some(field) = map.get(key) else {
                return Ok(false);
            };
            if !self.node(node, &Some(field.clone()))? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Returns the items for the patterns before and after `..`, if the list is long enough.
fn parts<'l>(pattern: &ListPattern, list: &'l ValueList) -> Option<(&'l [Value], &'l [Value])> {
    let least = pattern.before.len() + pattern.after.as_ref().map_or(0, Vec::len);
    let fits = match pattern.after {
        Some(_) => list.len() >= least,
        None => list.len() == least,
    };
    if !fits {
        return None;
    }
    let (before, rest) = list.split_at_checked(pattern.before.len())?;
    let skipped = list.len() - least;
    Some((before, rest.get(skipped..)?))
}

fn has_no_other(pattern: &ObjectPattern, map: &Map) -> bool {
    let known = |key: &str| pattern.fields.iter().any(|(name, _)| &**name == key);
    map.iter().all(|(key, _)| known(key))
}

/// Compares two numbers, or two texts that are not both numbers.
fn compares(comparison: CompareOp, value: &Option<Value>, operand: &Option<Value>) -> bool {
    let order = match (value, operand) {
        (Some(a), Some(b)) => order(a, b),
        _ => None,
    };
    match comparison {
        CompareOp::Equal => equal(value, operand),
        CompareOp::NotEqual => !equal(value, operand),
        CompareOp::Less => order.is_some_and(Ordering::is_lt),
        CompareOp::LessEqual => order.is_some_and(Ordering::is_le),
        CompareOp::More => order.is_some_and(Ordering::is_gt),
        CompareOp::MoreEqual => order.is_some_and(Ordering::is_ge),
    }
}

fn order(a: &Value, b: &Value) -> Option<Ordering> {
    if let (Some(a), Some(b)) = (as_number(a), as_number(b)) {
        return a.partial_cmp(&b);
    }
    match (a, b) {
        (Value::Str(a), Value::Str(b)) => Some(a.encode_utf16().cmp(b.encode_utf16())),
        _ => None,
    }
}
