//! Evaluation of operands and conditions.

use std::cmp::Ordering;
use std::sync::Arc;

use quillet_core::Value as Data;

use super::ast::{
    Comparison, ConditionChain, Expr, ExprKind, Join, Key, Lookup, Name, Operator, Term,
};
use super::eval::{Evaluator, fail};
use super::number::{leading, strict};
use super::value::{ForLoop, TableRowLoop, Value, equal, length_of};
use crate::{LimitKind, StopReason};

/// An operand of a condition.
enum ConditionOperand {
    Value(Value),
    Empty,
    Blank,
}

impl<'t> Evaluator<'t, '_> {
    pub(super) fn eval(&mut self, expr: &'t Expr) -> Result<Value, StopReason> {
        let value = self.value(expr, false);
        value.map_err(|stop| self.place(stop, expr.span))
    }

    /// Evaluates an operand that may be missing.
    pub(super) fn optional(&mut self, expr: &'t Expr) -> Result<Value, StopReason> {
        let value = self.value(expr, true);
        value.map_err(|stop| self.place(stop, expr.span))
    }

    fn value(&mut self, expr: &'t Expr, optional: bool) -> Result<Value, StopReason> {
        match &expr.kind {
            ExprKind::Nil => Ok(Value::NIL),
            ExprKind::Bool(value) => Ok((*value).into()),
            ExprKind::Int(number) => Ok((*number).into()),
            ExprKind::Float(number) => Ok(Data::from(*number).into()),
            ExprKind::Text(text) => Ok(Data::Str(Arc::clone(text)).into()),
            ExprKind::Range(from, to) => {
                let (first, last) = (self.eval(from)?, self.eval(to)?);
                Ok(Value::Range(
                    self.end_of_range(&first)?,
                    self.end_of_range(&last)?,
                ))
            }
            ExprKind::Lookup(lookup) => self.level(|e| e.lookup(expr, lookup, optional)),
        }
    }

    fn end_of_range(&mut self, value: &Value) -> Result<i64, StopReason> {
        match value.meant() {
            Value::Data(Data::Null) => Ok(0),
            Value::Data(Data::Str(text)) => leading(&text).map_err(|fault| self.fault(fault)),
            other => self.whole(&other),
        }
    }

    /// Evaluates an operand that must be a whole number, or a text with one.
    pub(super) fn whole(&mut self, value: &Value) -> Result<i64, StopReason> {
        let value = value.meant();
        if let Value::Data(Data::Int(number)) = value {
            return Ok(number);
        }
        let text = self.text(&value)?;
        strict(&text).ok_or_else(|| {
            let shown: String = text.chars().take(40).collect();
            fail(format!("invalid integer {shown:?}"))
        })
    }

    fn lookup(
        &mut self,
        expr: &'t Expr,
        lookup: &'t Lookup,
        optional: bool,
    ) -> Result<Value, StopReason> {
        let name = match &lookup.name {
            Name::Known(name) => Arc::clone(name),
            Name::Computed(name) => match self.eval(name)? {
                Value::Data(value) => match value.represented_value() {
                    Data::Str(name) => Arc::clone(name),
                    _ => return self.absent(expr, optional),
                },
                _ => return self.absent(expr, optional),
            },
        };
        let mut found = match self.world.get(&name) {
            Some(Value::Hole) => return Err(StopReason::Suspended),
            Some(Value::Data(value)) => self.marked(&name, value)?,
            Some(value) => value,
            None => return self.absent(expr, optional),
        };
        for key in &lookup.keys {
            self.pass.step()?;
            let next = match key {
                Key::Name(name) => {
                    if let Value::Data(Data::Str(text)) = &found {
                        self.scan(text.len())?;
                    }
                    self.named(&found, name)
                }
                Key::Computed(key) => {
                    let key = self.eval(key)?;
                    keyed(&found, &key.meant())
                }
            };
            found = match next {
                Some(value) => value,
                None => return self.absent(expr, optional),
            };
        }
        Ok(found)
    }

    /// Converts a variable. The text of a trusted variable may contain messages, so it is marked.
    fn marked(&mut self, name: &str, value: Data) -> Result<Value, StopReason> {
        if value.depth() > quillet_core::value::MAX_DEPTH {
            return Err(self.pass.limit(LimitKind::ValueDepth));
        }
        match value {
            Data::Str(text) if self.compiled.trusts(name) => {
                Ok(Data::Str(self.compiled.with_tags(&text)).into())
            }
            value => Ok(value.into()),
        }
    }

    /// Returns nil for a missing value, or an error if it is required.
    fn absent(&self, expr: &Expr, optional: bool) -> Result<Value, StopReason> {
        if optional || !self.is_strict() {
            return Ok(Value::NIL);
        }
        let (_, text) = self.compiled.source(self.source);
        let written = text.get(expr.span.start..expr.span.end);
        Err(self.undefined(written.unwrap_or_default()))
    }

    /// Evaluates `owner.name`, which is a key or a property such as the size of a list.
    fn named(&self, owner: &Value, name: &Arc<str>) -> Option<Value> {
        let key = Value::Data(Data::Str(Arc::clone(name)));
        if let Value::Data(owner) = owner
            && owner.is_fallback()
        {
            let own = owner.as_map().is_some_and(|map| map.get(name).is_some());
            let meant = Value::Data(owner.represented_value().clone());
            let asked = property(&meant, name).filter(|_| !own && !meant.is_fallback());
            return asked.or_else(|| keyed(&Value::Data(owner.clone()), &key));
        }
        keyed(owner, &key).or_else(|| property(owner, name))
    }

    // Evaluation of conditions.

    pub(super) fn condition(&mut self, condition: &'t ConditionChain) -> Result<bool, StopReason> {
        let mut holds = false;
        for (comparison, join) in &condition.parts {
            holds = self.comparison(comparison)?;
            match join {
                Some(Join::Or) if holds => break,
                Some(Join::And) if !holds => break,
                _ => {}
            }
        }
        Ok(holds)
    }

    fn comparison(&mut self, comparison: &'t Comparison) -> Result<bool, StopReason> {
        let Some((operator, right)) = &comparison.right else {
            return Ok(match &comparison.left {
                // A condition on a single value tests for existence. The condition is false for an
                // empty fallback value.
                Term::Expr(expr) => {
                    let value = self.optional(expr)?;
                    let meant = value.meant();
                    meant.is_true() && !(value.is_fallback() && is_empty(&meant))
                }
                // Outside comparisons, `empty` and `blank` are empty strings, which are true.
                Term::Empty | Term::Blank => true,
            });
        };
        let equality = matches!(operator, Operator::Equal | Operator::NotEqual);
        let literal = |term: &Term| {
            let nil = |expr: &Expr| matches!(expr.kind, ExprKind::Nil);
            match term {
                Term::Empty | Term::Blank => true,
                Term::Expr(expr) => nil(expr),
            }
        };
        let (of_left, of_right) = (
            equality && literal(right),
            equality && literal(&comparison.left),
        );
        let (left, one_failed) = self.side(&comparison.left, of_left)?;
        let (right, other_failed) = self.side(right, of_right)?;
        match self.compare(*operator, &left, &right) {
            // A failed call has no order with other values.
            Err(stop) if stop.is_of_values() && (one_failed || other_failed) => Ok(false),
            compared => compared,
        }
    }

    /// Evaluates one side of a comparison. Returns whether it is a fallback value.
    fn side(
        &mut self,
        term: &'t Term,
        optional: bool,
    ) -> Result<(ConditionOperand, bool), StopReason> {
        Ok(match term {
            Term::Empty => (ConditionOperand::Empty, false),
            Term::Blank => (ConditionOperand::Blank, false),
            Term::Expr(expr) => {
                let value = if optional {
                    self.optional(expr)?
                } else {
                    self.eval(expr)?
                };
                let meant = self.unmarked(&value.meant()).into_owned();
                (ConditionOperand::Value(meant), value.is_fallback())
            }
        })
    }

    fn compare(
        &mut self,
        operator: Operator,
        left: &ConditionOperand,
        right: &ConditionOperand,
    ) -> Result<bool, StopReason> {
        if let Operator::Equal | Operator::NotEqual = operator {
            let same = self.same(left, right)?;
            return Ok(same == (operator == Operator::Equal));
        }
        let text = Value::from(String::new());
        let value = |side: &ConditionOperand| match side {
            ConditionOperand::Value(value) => value.clone(),
            ConditionOperand::Empty | ConditionOperand::Blank => text.clone(),
        };
        let literal = |side: &ConditionOperand| {
            matches!(side, ConditionOperand::Empty | ConditionOperand::Blank)
        };
        if operator != Operator::Contains && (literal(left) || literal(right)) {
            return Ok(false);
        }
        let (left, right) = (value(left), value(right));
        match operator {
            Operator::Contains => self.contains(&left, &right),
            _ => self.order(operator, &left, &right),
        }
    }

    fn same(
        &mut self,
        left: &ConditionOperand,
        right: &ConditionOperand,
    ) -> Result<bool, StopReason> {
        match (left, right) {
            (ConditionOperand::Value(value), ConditionOperand::Empty)
            | (ConditionOperand::Empty, ConditionOperand::Value(value)) => Ok(is_empty(value)),
            (ConditionOperand::Value(value), ConditionOperand::Blank)
            | (ConditionOperand::Blank, ConditionOperand::Value(value)) => Ok(is_blank(value)),
            (ConditionOperand::Value(left), ConditionOperand::Value(right)) => {
                self.equal(left, right)
            }
            _ => Ok(false),
        }
    }

    pub(super) fn equal(&mut self, left: &Value, right: &Value) -> Result<bool, StopReason> {
        Ok(match (left, right) {
            (Value::Data(left), Value::Data(right)) => {
                self.scan(left.weight().min(right.weight()))?;
                equal(left, right)
            }
            (Value::Range(a, b), Value::Range(c, d)) => (a, b) == (c, d),
            (Value::Loop(one), Value::Loop(other)) => std::rc::Rc::ptr_eq(one, other),
            _ => false,
        })
    }

    /// Evaluates a condition of `when`.
    pub(super) fn matches(&mut self, left: &Value, term: &'t Term) -> Result<bool, StopReason> {
        let (right, _) = self.side(term, true)?;
        let left = self.unmarked(&left.meant()).into_owned();
        self.same(&ConditionOperand::Value(left), &right)
    }

    fn contains(&mut self, left: &Value, right: &Value) -> Result<bool, StopReason> {
        if !left.is_true() || !right.is_true() {
            return Ok(false);
        }
        match left {
            Value::Data(Data::Str(text)) => {
                let part = self.text(right)?;
                self.scan(text.len())?;
                Ok(memchr::memmem::find(text.as_bytes(), part.as_bytes()).is_some())
            }
            Value::Data(Data::List(items)) => {
                let Value::Data(right) = right else {
                    return Ok(false);
                };
                self.pass.steps(items.len())?;
                self.scan(items.iter().map(Data::weight).sum())?;
                Ok(items.iter().any(|item| equal(item, right)))
            }
            Value::Data(Data::Map(map)) => Ok(match right {
                Value::Data(Data::Str(key)) => map.get(key).is_some(),
                _ => false,
            }),
            Value::Range(from, to) => Ok(match right {
                Value::Data(Data::Int(number)) => (*from..=*to).contains(number),
                Value::Data(Data::Float(number)) => {
                    *from as f64 <= *number && *number <= *to as f64
                }
                _ => false,
            }),
            _ => Ok(false),
        }
    }

    fn order(
        &mut self,
        operator: Operator,
        left: &Value,
        right: &Value,
    ) -> Result<bool, StopReason> {
        let comparable = |value: &Value| {
            matches!(
                value,
                Value::Data(Data::Int(_) | Data::Float(_) | Data::Str(_))
            )
        };
        let (Value::Data(one), Value::Data(other)) = (left, right) else {
            return Ok(false);
        };
        if !comparable(left) || !comparable(right) {
            return Ok(false);
        }
        self.scan(one.weight().min(other.weight()))?;
        let ordering = match (one, other) {
            (Data::Str(one), Data::Str(other)) => Some(one.as_bytes().cmp(other.as_bytes())),
            (Data::Str(_), _) | (_, Data::Str(_)) => {
                let (left, right) = (left.kind(), right.kind());
                return Err(fail(format!("cannot compare {left} with {right}")));
            }
            (one, other) => compare_numbers(one, other),
        };
        Ok(match (operator, ordering) {
            (_, None) => false,
            (Operator::Less, Some(ordering)) => ordering == Ordering::Less,
            (Operator::Greater, Some(ordering)) => ordering == Ordering::Greater,
            (Operator::LessOrEqual, Some(ordering)) => ordering != Ordering::Greater,
            (_, Some(ordering)) => ordering != Ordering::Less,
        })
    }
}

/// Compares two numbers.
pub(super) fn compare_numbers(one: &Data, other: &Data) -> Option<Ordering> {
    let float = |value: &Data| match value {
        Data::Int(number) => Some(*number as f64),
        Data::Float(number) => Some(*number),
        _ => None,
    };
    match (one, other) {
        (Data::Int(one), Data::Int(other)) => Some(one.cmp(other)),
        _ => float(one)?.partial_cmp(&float(other)?),
    }
}

/// Looks up a key. Returns `None` if it does not exist.
fn keyed(owner: &Value, key: &Value) -> Option<Value> {
    match owner {
        Value::Data(owner) if owner.is_fallback() => Some(fallback_field(owner, key)),
        Value::Data(Data::Map(map)) => match key {
            Value::Data(Data::Str(key)) => map.get(key).cloned().map(Value::Data),
            Value::Data(Data::Int(_)) => Some(Value::NIL),
            _ => None,
        },
        Value::Data(Data::List(list)) => match key {
            Value::Data(Data::Int(at)) => Some(item(list, *at)),
            _ => None,
        },
        Value::Loop(state) => match key {
            Value::Data(Data::Str(name)) => of_loop(state, name),
            _ => None,
        },
        Value::Rows(state) => match key {
            Value::Data(Data::Str(name)) => of_rows(state, name),
            _ => None,
        },
        _ => None,
    }
}

fn item(list: &[Data], at: i64) -> Value {
    let from_end = i64::try_from(list.len()).unwrap_or(i64::MAX);
    let at = if at < 0 { at + from_end } else { at };
    let found = usize::try_from(at).ok().and_then(|at| list.get(at));
    found.cloned().map_or(Value::NIL, Value::Data)
}

/// Returns a field of a fallback value: the represented field, or nil.
fn fallback_field(owner: &Data, key: &Value) -> Value {
    let found = match (owner.represented_value(), key) {
        (Data::List(list), Value::Data(Data::Int(at))) => match item(list, *at) {
            value if value.is_nil() => None,
            Value::Data(value) => Some(value.into_fallback()),
            _ => None,
        },
        (_, Value::Data(Data::Str(key))) => owner.as_map().map(|map| map.fallback_field(key)),
        _ => None,
    };
    Value::Data(found.unwrap_or_else(|| Data::from("").into_fallback()))
}

/// Returns the property `size`, `first` or `last`.
fn property(owner: &Value, name: &str) -> Option<Value> {
    let count = |count: usize| Value::from(i64::try_from(count).unwrap_or(i64::MAX));
    match (owner, name) {
        (Value::Data(Data::Str(text)), "size") => Some(count(text.chars().count())),
        (Value::Data(Data::List(list)), "size") => Some(count(list.len())),
        (Value::Data(Data::Map(map)), "size") => Some(count(map.len())),
        (Value::Data(Data::Int(_)), "size") => Some(8.into()),
        (Value::Range(from, to), "size") => Some(count(length_of(*from, *to))),
        (Value::Data(Data::List(_) | Data::Map(_)) | Value::Range(..), "first") => {
            Some(first(owner))
        }
        (Value::Data(Data::List(_)) | Value::Range(..), "last") => Some(last(owner)),
        _ => None,
    }
}

/// Returns the first item of a list, or nil.
pub(super) fn first(value: &Value) -> Value {
    match value {
        Value::Data(Data::List(list)) => list.first().cloned().map_or(Value::NIL, Value::Data),
        Value::Data(Data::Map(map)) => map.iter().next().map_or(Value::NIL, |(key, value)| {
            vec![Data::Str(Arc::clone(key)), value.clone()].into()
        }),
        Value::Range(from, _) => (*from).into(),
        _ => Value::NIL,
    }
}

/// Returns the last item of a list, or nil.
pub(super) fn last(value: &Value) -> Value {
    match value {
        Value::Data(Data::List(list)) => list.last().cloned().map_or(Value::NIL, Value::Data),
        Value::Range(_, to) => (*to).into(),
        _ => Value::NIL,
    }
}

pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Data(Data::Str(text)) => text.is_empty(),
        Value::Data(Data::List(list)) => list.is_empty(),
        Value::Data(Data::Map(map)) => map.is_empty(),
        _ => false,
    }
}

/// Whether a value is `blank`: nil, `false`, an empty list, or a text of white space.
fn is_blank(value: &Value) -> bool {
    match value {
        Value::Data(Data::Str(text)) => text.trim().is_empty(),
        other => !other.is_true() || is_empty(other),
    }
}

fn number(number: usize) -> Value {
    i64::try_from(number).unwrap_or(i64::MAX).into()
}

fn of_loop(state: &ForLoop, name: &str) -> Option<Value> {
    let index = state.index.get();
    Some(match name {
        "index" => number(index + 1),
        "index0" => number(index),
        "rindex" => number(state.length.saturating_sub(index)),
        "rindex0" => number(state.length.saturating_sub(index + 1)),
        "first" => (index == 0).into(),
        "last" => (index + 1 == state.length).into(),
        "length" => number(state.length),
        "name" => Data::Str(Arc::clone(&state.name)).into(),
        "parentloop" => match &state.parent {
            Some(parent) => Value::Loop(std::rc::Rc::clone(parent)),
            None => Value::NIL,
        },
        _ => return None,
    })
}

fn of_rows(state: &TableRowLoop, name: &str) -> Option<Value> {
    let (index, column) = (state.index.get(), state.column.get());
    Some(match name {
        "index" => number(index + 1),
        "index0" => number(index),
        "rindex" => number(state.length.saturating_sub(index)),
        "rindex0" => number(state.length.saturating_sub(index + 1)),
        "first" => (index == 0).into(),
        "last" => (index + 1 == state.length).into(),
        "length" => number(state.length),
        "col" => column.into(),
        "col0" => (column - 1).into(),
        "row" => state.row.get().into(),
        "col_first" => (column == 1).into(),
        "col_last" => (column == state.columns).into(),
        _ => return None,
    })
}
