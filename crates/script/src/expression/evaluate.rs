//! Evaluates an expression tree without side effects.

use std::cmp::Ordering;
use std::sync::Arc;

use quillet_core::value::MAX_DEPTH;
use quillet_core::{Map, MapTable, Span, Value, ValueList};

use super::convert::truthy;
use super::convert::{self, EvalFault, Js};
use super::error::EvalError;
use super::limits::MAX_ITEMS;
use super::name::{NameResolver, NameValue};
use super::number::from_number;
use super::property;
use super::tree::{Binary, ChainStep, Element, ExprNode, ObjectProperty, StepKind, Unary};

type EvalResult = Result<Js, EvalError>;

/// Evaluates an expression.
pub(super) fn evaluate(node: &ExprNode, names: &dyn NameResolver) -> EvalResult {
    Walk { names }.node(node)
}

/// Global names of JavaScript. They are not declared in scripts, but the engine knows them.
const GLOBALS: [&str; 51] = [
    "AggregateError",
    "Array",
    "ArrayBuffer",
    "Atomics",
    "BigInt",
    "Boolean",
    "DataView",
    "Date",
    "Error",
    "EvalError",
    "Float32Array",
    "Float64Array",
    "Function",
    "Int16Array",
    "Int32Array",
    "Int8Array",
    "Intl",
    "Iterator",
    "JSON",
    "Map",
    "Math",
    "Number",
    "Object",
    "Promise",
    "Proxy",
    "RangeError",
    "ReferenceError",
    "Reflect",
    "RegExp",
    "Set",
    "String",
    "Symbol",
    "SyntaxError",
    "TypeError",
    "URIError",
    "Uint16Array",
    "Uint32Array",
    "Uint8Array",
    "WeakMap",
    "WeakRef",
    "WeakSet",
    "console",
    "decodeURI",
    "decodeURIComponent",
    "encodeURI",
    "encodeURIComponent",
    "globalThis",
    "isFinite",
    "isNaN",
    "parseFloat",
    "parseInt",
];

struct Walk<'a> {
    names: &'a dyn NameResolver,
}

impl Walk<'_> {
    fn node(&self, node: &ExprNode) -> EvalResult {
        match node {
            ExprNode::Literal(value) => Ok(value.clone()),
            ExprNode::Name { name, span } => self.name(name, *span),
            ExprNode::This => Err(EvalError::JavaScript),
            ExprNode::Template(parts) => self.template(parts),
            ExprNode::List(elements) => self.list(elements),
            ExprNode::Object(properties) => self.object(properties),
            ExprNode::Unary { op, operand, span } => self.unary(*op, operand, *span),
            ExprNode::Chain { first, rest, span } => self.chain(first, rest, *span),
            ExprNode::Conditional(parts) => {
                let [test, then, other] = &**parts;
                if truthy(&self.node(test)?) {
                    self.node(then)
                } else {
                    self.node(other)
                }
            }
            ExprNode::Access { base, steps } => self.access(base, steps),
        }
    }

    fn name(&self, name: &Arc<str>, span: Span) -> EvalResult {
        match self.names.get(name) {
            NameValue::Value(value) => Ok(Some(value)),
            NameValue::Undefined => Ok(None),
            NameValue::Function => Err(EvalError::JavaScript),
            NameValue::Missing if GLOBALS.contains(&&**name) => Err(EvalError::JavaScript),
            NameValue::Missing => Err(EvalError::Unknown {
                name: Arc::clone(name),
                span,
            }),
        }
    }

    fn template(&self, parts: &[ExprNode]) -> EvalResult {
        let mut out = String::new();
        for part in parts {
            let text = convert::text(&self.node(part)?).map_err(nowhere)?;
            convert::push(&mut out, &text).map_err(nowhere)?;
        }
        Ok(Some(Value::from(out)))
    }

    fn list(&self, elements: &[Element]) -> EvalResult {
        let mut items = Vec::with_capacity(elements.len());
        for element in elements {
            // Quillet's lists cannot contain `undefined`, so such a list needs the engine.
            let value = self.node(&element.node)?;
            match (element.spread, value) {
                (None, Some(value)) => items.push(value),
                (None, None) => return Err(EvalError::JavaScript),
                (Some(span), value) => spread(&mut items, value).map_err(|f| f.into_error(span))?,
            }
        }
        shallow(Value::List(ValueList::new(items)))
    }

    fn object(&self, properties: &[ObjectProperty]) -> EvalResult {
        let mut table = MapTable::default();
        for property in properties {
            let (key, value) = match property {
                ObjectProperty::Field(key, node) => (Arc::clone(key), self.node(node)?),
                ObjectProperty::Computed(key, node, span) => {
                    (self.key(key, *span)?, self.node(node)?)
                }
                ObjectProperty::Spread(node) => {
                    // In `{a: 1, ...{a: undefined}}`, the field `a` is `undefined`, which a value
                    // of Quillet cannot represent.
                    holds_no_undefined(node)?;
                    spread_fields(&mut table, self.node(node)?)?;
                    continue;
                }
            };
            match value {
                Some(value) => table.insert(key, value),
                // A later `undefined` removes an earlier field. `shift_remove` preserves the order
                // of the other fields.
                None => table.shift_remove(&key),
            };
        }
        order_keys(&mut table);
        shallow(Value::Map(Map::new(table)))
    }

    fn key(&self, node: &ExprNode, span: Span) -> Result<Arc<str>, EvalError> {
        let key = convert::text(&self.node(node)?).map_err(|fault| fault.into_error(span))?;
        match &*key {
            "__proto__" => Err(EvalError::JavaScript),
            _ => Ok(key),
        }
    }

    fn unary(&self, op: Unary, operand: &ExprNode, span: Span) -> EvalResult {
        if op == Unary::TypeOf {
            return self.type_of(operand);
        }
        let value = self.node(operand)?;
        let number = || convert::number(&value).map_err(|fault| fault.into_error(span));
        Ok(Some(match op {
            Unary::Not => Value::Bool(!truthy(&value)),
            Unary::Minus => from_number(-number()?),
            Unary::Plus => from_number(number()?),
            Unary::BitNot => {
                let bits = convert::int32(&value).map_err(|fault| fault.into_error(span))?;
                Value::Int(i64::from(!bits))
            }
            Unary::TypeOf => return Err(EvalError::JavaScript),
        }))
    }

    /// Implements `typeof`, the only operator for which an unknown name is not an error.
    fn type_of(&self, operand: &ExprNode) -> EvalResult {
        if let ExprNode::Name { name, .. } = operand {
            match self.names.get(name) {
                NameValue::Missing if !GLOBALS.contains(&&**name) => {
                    return Ok(Some("undefined".into()));
                }
                NameValue::Function => return Ok(Some("function".into())),
                _ => {}
            }
        }
        Ok(Some(Value::from(match self.node(operand)? {
            None => "undefined",
            Some(Value::Bool(_)) => "boolean",
            Some(Value::Int(_) | Value::Float(_)) => "number",
            Some(Value::Str(_)) => "string",
            Some(Value::Null | Value::List(_) | Value::Map(_)) => "object",
        })))
    }

    fn chain(&self, first: &ExprNode, rest: &[(Binary, ExprNode)], span: Span) -> EvalResult {
        let mut left = self.node(first)?;
        for (op, right) in rest {
            // If the left side decides, the right side must not be evaluated, because it may
            // contain unknown names.
            let decided = match op {
                Binary::Coalesce => !matches!(left, None | Some(Value::Null)),
                Binary::Or => truthy(&left),
                Binary::And => !truthy(&left),
                _ => {
                    left = self.operate(*op, &left, right, span)?;
                    continue;
                }
            };
            if !decided {
                left = self.node(right)?;
            }
        }
        Ok(left)
    }

    fn operate(&self, op: Binary, left: &Js, right: &ExprNode, span: Span) -> EvalResult {
        if op == Binary::In {
            holds_no_undefined(right)?;
        }
        let right = self.node(right)?;
        binary(op, left, &right).map_err(|fault| fault.into_error(span))
    }

    fn access(&self, base: &ExprNode, steps: &[ChainStep]) -> EvalResult {
        let (mut value, steps) = match (base, steps.split_first()) {
            (ExprNode::This, Some((first, rest))) => (self.of_runtime(first)?, rest),
            _ => (self.node(base)?, steps),
        };
        for step in steps {
            // `a?.b.c` ends the whole chain, not only this step.
            if step.optional && matches!(value, None | Some(Value::Null)) {
                return Ok(None);
            }
            value = self.step(&value, step)?;
        }
        Ok(value)
    }

    fn of_runtime(&self, step: &ChainStep) -> EvalResult {
        let name = match &step.kind {
            StepKind::Field(name) => Arc::clone(name),
            StepKind::Index(node) => {
                convert::text(&self.node(node)?).map_err(|fault| fault.into_error(step.span))?
            }
            StepKind::Call(..) => return Err(EvalError::JavaScript),
        };
        match self.names.this(&name) {
            NameValue::Value(value) => Ok(Some(value)),
            NameValue::Function => Err(EvalError::JavaScript),
            // Every JavaScript object inherits this property.
            NameValue::Missing if property::is_inherited(&name) => Err(EvalError::JavaScript),
            NameValue::Missing | NameValue::Undefined => Ok(None),
        }
    }

    fn step(&self, value: &Js, step: &ChainStep) -> EvalResult {
        let result = match &step.kind {
            StepKind::Field(name) => property::field(value, name),
            StepKind::Index(node) => property::index(value, &self.node(node)?),
            StepKind::Call(name, method, arguments) => {
                let receiver =
                    property::receiver(value, name).map_err(|f| f.into_error(step.span))?;
                let arguments: Vec<Js> = arguments
                    .iter()
                    .map(|node| self.node(node))
                    .collect::<Result<_, _>>()?;
                method(receiver, &arguments)
            }
        };
        result.map_err(|fault| fault.into_error(step.span))
    }
}

/// Converts an error inside a template literal, whose location is the whole literal.
fn nowhere(fault: EvalFault) -> EvalError {
    fault.into_error(Span::default())
}

fn shallow(value: Value) -> EvalResult {
    if value.depth() <= MAX_DEPTH {
        Ok(Some(value))
    } else {
        Err(EvalError::Limit {
            message: format!("the expression's value is nested deeper than {MAX_DEPTH} levels"),
            span: Span::default(),
        })
    }
}

fn spread(items: &mut Vec<Value>, value: Js) -> Result<(), EvalFault> {
    match value {
        Some(Value::List(list)) => items.extend_from_slice(&list),
        Some(Value::Str(text)) => {
            items.extend(
                text.chars()
                    .map(|c| Value::from(&*c.encode_utf8(&mut [0; 4]))),
            );
        }
        other => {
            let kind = property::describe(&other);
            return Err(EvalFault::Throws(format!("{kind} is not iterable")));
        }
    }
    few(items.len())
}

fn few(count: usize) -> Result<(), EvalFault> {
    if count <= MAX_ITEMS {
        Ok(())
    } else {
        Err(EvalFault::Limit(format!(
            "the expression's list or object exceeds {MAX_ITEMS} entries"
        )))
    }
}

fn spread_fields(table: &mut MapTable, value: Js) -> Result<(), EvalError> {
    match value {
        Some(Value::Map(map)) => {
            for (key, value) in &map {
                table.insert(Arc::clone(key), value.clone());
            }
        }
        Some(Value::List(list)) => {
            for (index, value) in list.iter().enumerate() {
                table.insert(index.to_string().into(), value.clone());
            }
        }
        // QuickJS deviates from the standard here.
        Some(Value::Str(_)) => return Err(EvalError::JavaScript),
        _ => {}
    }
    few(table.len()).map_err(nowhere)
}

/// Rejects an object literal, whose fields may be `undefined`. These count for `in` and for a
/// spread, but Quillet's values cannot represent them.
fn holds_no_undefined(node: &ExprNode) -> Result<(), EvalError> {
    match node {
        ExprNode::Object(_) | ExprNode::Conditional(_) | ExprNode::Chain { .. } => {
            Err(EvalError::JavaScript)
        }
        _ => Ok(()),
    }
}

/// Orders keys as JavaScript does: array indices first, ascending.
fn order_keys(table: &mut MapTable) {
    if !table.keys().any(|key| property::array_index(key).is_some()) {
        return;
    }
    table.sort_by(
        |a, _, b, _| match (property::array_index(a), property::array_index(b)) {
            (Some(a), Some(b)) => a.cmp(&b),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => Ordering::Equal,
        },
    );
}

fn binary(op: Binary, a: &Js, b: &Js) -> Result<Js, EvalFault> {
    if let (Some(Value::Int(a)), Some(Value::Int(b))) = (a, b)
        && let Some(value) = integers(op, *a, *b)
    {
        return Ok(Some(value));
    }
    let truth = |value: bool| Ok(Some(Value::Bool(value)));
    let numbers = |f: fn(f64, f64) -> f64| -> Result<Js, EvalFault> {
        let (a, b) = (convert::number(a)?, convert::number(b)?);
        Ok(Some(from_number(f(a, b))))
    };
    let order = |test: fn(Ordering) -> bool| -> Result<Js, EvalFault> {
        Ok(Some(Value::Bool(convert::compare(a, b)?.is_some_and(test))))
    };
    match op {
        Binary::Add => convert::add(a, b),
        Binary::Subtract => numbers(|a, b| a - b),
        Binary::Multiply => numbers(|a, b| a * b),
        Binary::Divide => numbers(|a, b| a / b),
        Binary::Remainder => numbers(|a, b| a % b),
        Binary::Equal => truth(convert::loose(a, b)?),
        Binary::NotEqual => truth(!convert::loose(a, b)?),
        Binary::Same => truth(convert::strict(a, b)?),
        Binary::NotSame => truth(!convert::strict(a, b)?),
        Binary::Less => order(Ordering::is_lt),
        Binary::LessEqual => order(Ordering::is_le),
        Binary::More => order(Ordering::is_gt),
        Binary::MoreEqual => order(Ordering::is_ge),
        Binary::In => truth(property::contains(b, a)?),
        _ => bits(op, a, b),
    }
}

/// A fast path without conversion to doubles, if the result is exact.
fn integers(op: Binary, a: i64, b: i64) -> Option<Value> {
    // Beyond 2^53 JavaScript computes with rounded doubles, so larger operands are not handled
    // here.
    convert::small(Some(a)).and(convert::small(Some(b)))?;
    Some(match op {
        Binary::Add => Value::Int(convert::small(a.checked_add(b))?),
        Binary::Subtract => Value::Int(convert::small(a.checked_sub(b))?),
        Binary::Equal | Binary::Same => Value::Bool(a == b),
        Binary::NotEqual | Binary::NotSame => Value::Bool(a != b),
        Binary::Less => Value::Bool(a < b),
        Binary::LessEqual => Value::Bool(a <= b),
        Binary::More => Value::Bool(a > b),
        Binary::MoreEqual => Value::Bool(a >= b),
        _ => return None,
    })
}

fn bits(op: Binary, a: &Js, b: &Js) -> Result<Js, EvalFault> {
    let left = convert::int32(a)?;
    let right = convert::int32(b)?;
    // JavaScript uses only the lowest five bits of the shift count. A larger shift would overflow
    // in Rust.
    let shift = (right as u32) & 31;
    let number = match op {
        Binary::BitOr => i64::from(left | right),
        Binary::BitXor => i64::from(left ^ right),
        Binary::BitAnd => i64::from(left & right),
        Binary::ShiftLeft => i64::from(left << shift),
        Binary::ShiftRight => i64::from(left >> shift),
        Binary::ShiftZero => i64::from((left as u32) >> shift),
        _ => return Err(EvalFault::JavaScript),
    };
    Ok(Some(Value::Int(number)))
}
