//! Evaluation of expressions.

use std::sync::Arc;

use indexmap::IndexMap;

use super::ast::{ArgumentExprs, BinaryOperator, CompareOperator, Expr, ExprKind};
use super::eval::{Evaluator, VALUE_SIZE, fail};
use super::functions;
use super::methods;
use super::scope::ValueRef;
use super::value::{Dict, DictKey, List, LoopState, Sort, Value};
use crate::{LimitKind, StopReason};

impl Evaluator<'_, '_> {
    pub(super) fn eval(&mut self, expr: &Expr) -> Result<Value, StopReason> {
        let result = match &expr.kind {
            // Expressions without operands add no level of nesting.
            ExprKind::Constant(value) => Ok(Value::from(value)),
            ExprKind::Name(name) => self.name(name),
            _ => self.level(|e| {
                e.step()?;
                e.operation(expr)
            }),
        };
        result.map_err(|stop| self.place(stop, expr.span))
    }

    fn operation(&mut self, expr: &Expr) -> Result<Value, StopReason> {
        match &expr.kind {
            ExprKind::Constant(value) => Ok(Value::from(value)),
            ExprKind::Name(name) => self.name(name),
            ExprKind::Attribute(subject, name) => {
                let value = self.eval(subject)?;
                Ok(match self.attribute(&value, name)? {
                    Some(value) => value,
                    None => Value::Undefined(path(expr).map(Into::into)),
                })
            }
            ExprKind::Item(subject, key) => self.item_expr(expr, subject, key),
            ExprKind::Slice(subject, parts) => self.slice_expr(subject, parts),
            ExprKind::Call(callee, arguments) => {
                self.call(callee, arguments)?.ok_or(StopReason::Suspended)
            }
            ExprKind::Filter(subject, call) => {
                // The location is added here, so that the error reports the innermost expression.
                let value = self.operand(subject, call.arguments.all())?;
                let filtered = self.filter(&value, call);
                filtered.map_err(|stop| self.place(stop, call.span))
            }
            ExprKind::Test {
                subject,
                test,
                arguments,
                negated,
            } => {
                let value = self.operand(subject, arguments.all())?;
                let given = self.evaluate_arguments(arguments)?;
                // Tests treat a failed call specially.
                let holds = if value.is_fallback() {
                    self.test_standing_in(test, &value, &given)?
                } else {
                    (test.run)(self, &value, &given)?
                };
                Ok(Value::Bool(holds != *negated))
            }
            ExprKind::Not(operand) => Ok(Value::Bool(!self.condition(operand)?)),
            ExprKind::Negative(operand) => {
                let value = self.eval(operand)?;
                self.negative(&value)
            }
            ExprKind::Positive(operand) => self.eval(operand),
            ExprKind::Math(first, rest) => self.math_chain(first, rest),
            ExprKind::Compare(first, rest) => {
                // Chat templates mostly compare strings for equality, which needs no copies.
                if let Some(holds) = self.same_text(first, rest)? {
                    return Ok(Value::Bool(holds));
                }
                // Only the first comparison is evaluated in every case.
                let certain = rest.iter().take(1).map(|(_, right)| right);
                let mut left = self.operand(first, certain)?;
                for (comparison, right) in rest {
                    // A later operand is evaluated only if all comparisons before it are true.
                    let right = self.eval(right)?;
                    if !self.compare(*comparison, &left, &right)? {
                        return Ok(Value::Bool(false));
                    }
                    left = right;
                }
                Ok(Value::Bool(true))
            }
            ExprKind::Concat(parts) => self.concat(parts),
            ExprKind::And(operands) => self.logic(operands, false),
            ExprKind::Or(operands) => self.logic(operands, true),
            ExprKind::Choice {
                condition,
                then,
                otherwise,
            } => match (self.condition(condition)?, otherwise) {
                (true, _) => self.eval(then),
                (false, Some(otherwise)) => self.eval(otherwise),
                // As in jinja2, an inline `if` without `else` can be undefined.
                (false, None) => Ok(Value::UNDEFINED),
            },
            ExprKind::List(items) => self.list_expr(Sort::List, items),
            ExprKind::Tuple(items) => self.list_expr(Sort::Tuple, items),
            ExprKind::Dict(entries) => self.dict_expr(entries),
        }
    }

    /// Evaluates an operand. If it is a placeholder, the other operands are evaluated too, so that
    /// calls in them are registered. `others` are the operands that are evaluated in every case.
    #[inline]
    pub(super) fn operand<'x>(
        &mut self,
        expr: &Expr,
        others: impl Iterator<Item = &'x Expr>,
    ) -> Result<Value, StopReason> {
        match self.eval(expr) {
            Err(StopReason::Suspended) => Err(self.after_hole(others)),
            value => value,
        }
    }

    #[cold]
    fn after_hole<'x>(&mut self, others: impl Iterator<Item = &'x Expr>) -> StopReason {
        for other in others {
            // After [`Pass::stop`] it is unknown whether the following operands are evaluated.
            if self.pass.is_stopped() {
                break;
            }
            // A sequential render would also fail with this error.
            if let Err(failed @ StopReason::Failed(_)) = self.eval(other) {
                return failed;
            }
        }
        StopReason::Suspended
    }

    /// Whether an expression is true. An undefined value is false, unless the template is strict.
    pub(super) fn condition(&mut self, expr: &Expr) -> Result<bool, StopReason> {
        // A borrowed value, such as a long list, is not copied.
        if let Some(truth) = self.names.borrow_expr(expr).and_then(ValueRef::is_true) {
            return Ok(truth);
        }
        let value = self.eval(expr)?;
        let truth = self.truth(&value);
        truth.map_err(|stop| self.place(stop, expr.span))
    }

    /// Compares two texts for equality or inequality. Returns `None` for other comparisons.
    fn same_text(
        &mut self,
        left: &Expr,
        rest: &[(CompareOperator, Expr)],
    ) -> Result<Option<bool>, StopReason> {
        let [(comparison @ (CompareOperator::Equal | CompareOperator::NotEqual), right)] = rest
        else {
            return Ok(None);
        };
        let text = |expr| self.names.borrow_expr(expr).and_then(ValueRef::as_str);
        let (Some(left), Some(right)) = (text(left), text(right)) else {
            return Ok(None);
        };
        // The time of a comparison is linear in the length of the shorter string.
        self.pass.steps(left.len().min(right.len()) / 256)?;
        Ok(Some(
            (left == right) == (*comparison == CompareOperator::Equal),
        ))
    }

    pub(super) fn truth(&mut self, value: &Value) -> Result<bool, StopReason> {
        if let Value::Undefined(path) = value
            && self.strict()
        {
            return Err(self.undefined(path.as_deref()));
        }
        Ok(value.is_true())
    }

    fn logic(&mut self, operands: &[Expr], ends: bool) -> Result<Value, StopReason> {
        let mut last = Value::None;
        for operand in operands {
            last = self.eval(operand)?;
            // Expressions are compared by address, because equal expressions may occur several
            // times.
            if operands
                .last()
                // The last operand is the result and may lack a truth value.
                .is_some_and(|end| std::ptr::eq(end, operand))
            {
                break;
            }
            if self.truth(&last)? == ends {
                break;
            }
        }
        Ok(last)
    }

    fn name(&mut self, name: &Arc<str>) -> Result<Value, StopReason> {
        // A name that the template sets hides the variable with that name.
        match self.names.own(name) {
            Some(Value::Hole) => return Err(StopReason::Suspended),
            Some(value) => return Ok(value.clone()),
            None => {}
        }
        if let Some(value) = self.names.variable(name) {
            // A caller's value may be too deep for the recursion of the evaluator.
            if value.depth() > quillet_core::value::MAX_DEPTH {
                return Err(self.pass.limit(LimitKind::ValueDepth));
            }
            if let quillet_core::Value::Str(text) = value {
                return Ok(Value::Str(if self.compiled.encodes(name) {
                    self.html(text)?
                } else {
                    self.compiled.marked(name, text)
                }));
            }
            return Ok(value.into());
        }
        // This name is checked after the variables, because a chat template may have a variable
        // `self`.
        if &**name == "self" {
            return Ok(Value::Blocks);
        }
        let function = functions::find(name, self.compiled.preset);
        Ok(match function {
            Some(function) => Value::Function(function),
            None => Value::Undefined(Some(Arc::clone(name))),
        })
    }

    /// Evaluates operators of equal precedence. Texts in a chain of additions are appended in
    /// place, so that a long chain is not copied at each operator.
    fn math_chain(
        &mut self,
        first: &Expr,
        rest: &[(BinaryOperator, Expr)],
    ) -> Result<Value, StopReason> {
        let after = |at: usize| rest.iter().skip(at).map(|(_, right)| right);
        let mut left = self.operand(first, after(0))?;
        // The strings are collected here, because `left` would be copied at every addition.
        let mut joined = String::new();
        for (at, (operator, right)) in rest.iter().enumerate() {
            let right = self.operand(right, after(at + 1))?;
            if let (BinaryOperator::Add, Value::Str(text), Value::Str(more)) =
                (operator, &left, &right)
            {
                if joined.is_empty() {
                    self.charge(text.len())?;
                    joined.push_str(text);
                }
                self.charge(more.len())?;
                joined.push_str(more);
                continue;
            }
            // The collected string is the left operand of the next operator.
            if !joined.is_empty() {
                left = std::mem::take(&mut joined).into();
            }
            left = self.math(*operator, &left, &right)?;
        }
        Ok(if joined.is_empty() {
            left
        } else {
            joined.into()
        })
    }

    fn concat(&mut self, parts: &[Expr]) -> Result<Value, StopReason> {
        let mut texts = Vec::with_capacity(parts.len());
        for (at, part) in parts.iter().enumerate() {
            let value = self.operand(part, parts.iter().skip(at + 1))?;
            let text = self.text(&value);
            texts.push(text.map_err(|stop| self.place(stop, part.span))?);
        }
        // All strings are charged before they are joined.
        self.charge(texts.iter().map(|text| text.len()).sum())?;
        Ok(texts.concat().into())
    }

    fn list_expr(&mut self, sort: Sort, items: &[Expr]) -> Result<Value, StopReason> {
        // The number of items is known, so they are charged before they are evaluated.
        self.pass.charge(items.len() * VALUE_SIZE)?;
        let mut values = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            values.push(self.operand(item, items.iter().skip(at + 1))?);
        }
        self.list(sort, values)
    }

    fn dict_expr(&mut self, entries: &[(Expr, Expr)]) -> Result<Value, StopReason> {
        let mut table = IndexMap::new();
        for (at, (key, value)) in entries.iter().enumerate() {
            let after = || {
                let entries = entries.iter().skip(at + 1);
                entries.flat_map(|(key, value)| [key, value])
            };
            let key = self.operand(key, std::iter::once(value).chain(after()))?;
            let value = self.operand(value, after())?;
            table.insert(self.key(&key)?, value);
        }
        self.dict(table)
    }

    pub(super) fn key(&mut self, value: &Value) -> Result<DictKey, StopReason> {
        let key = self.hashed(value)?;
        key.ok_or_else(|| fail(format!("unhashable type: '{}'", value.kind())))
    }

    /// Returns the key for a value, or `None` if the value is not hashable in Python.
    fn hashed(&mut self, value: &Value) -> Result<Option<DictKey>, StopReason> {
        let Value::List(list) = value else {
            return Ok(DictKey::of(value));
        };
        // In Python tuples are the only hashable sequences.
        if list.sort != Sort::Tuple {
            return Ok(None);
        }
        self.pass.steps(list.len())?;
        self.charge(list.len() * size_of::<DictKey>())?;
        let mut keys = Vec::with_capacity(list.len());
        for item in list.iter() {
            let Some(key) = self.hashed(&item)? else {
                return Ok(None);
            };
            keys.push(key);
        }
        Ok(Some(DictKey::Tuple(keys.into())))
    }

    pub(super) fn dict(&mut self, table: IndexMap<DictKey, Value>) -> Result<Value, StopReason> {
        // An entry needs the memory of about three values: the key, the value, and the hash table.
        self.pass.charge(table.len() * 3 * VALUE_SIZE)?;
        let dict = Value::Dict(Dict::new(table));
        self.check_depth(&dict)?;
        Ok(dict)
    }

    // Attributes and items.

    /// Evaluates `subject.name`, or returns `None` if the name does not exist. As in Python, a
    /// method hides a key with the same name.
    pub(super) fn attribute(
        &mut self,
        subject: &Value,
        name: &Arc<str>,
    ) -> Result<Option<Value>, StopReason> {
        // jinja2 allows one undefined level: `x` may be missing, but then `x.y` is an error.
        if let Value::Undefined(path) = subject {
            return Err(self.undefined(path.as_deref()));
        }
        if let Value::Dict(Dict::Core(map)) = subject
            && map.is_fallback()
        {
            return Ok(Some(standing_in(subject, map, name)));
        }
        // `.length` is available only in scripts.
        if let Some(length) = self.script_length(subject, name)? {
            return Ok(Some(length));
        }
        // Methods come before keys: `x.items` is the method even if the object has a key `items`.
        if methods::exists(subject, name) {
            let method = (subject.clone(), Arc::clone(name));
            return Ok(Some(Value::Method(method.into())));
        }
        let found = match subject {
            Value::Dict(dict) => dict.get_str(name),
            Value::Namespace(number) => {
                let namespace = self.namespaces.get(*number);
                namespace.and_then(|names| names.get(name)).cloned()
            }
            Value::Module(base) => self.names.module_name(*base, name),
            Value::Loop(state) => loop_attribute(state, name),
            Value::Cycler(cycler) if &**name == "current" => cycler.0.get(cycler.1.get()),
            Value::Blocks => Some(Value::Super((Arc::clone(name), 0).into())),
            Value::Macro(declared) if &**name == "name" => {
                Some(Value::Str(Arc::clone(&declared.declared.name)))
            }
            _ => None,
        };
        match found {
            Some(Value::Hole) => Err(StopReason::Suspended),
            found => Ok(found),
        }
    }

    fn item_expr(&mut self, expr: &Expr, subject: &Expr, key: &Expr) -> Result<Value, StopReason> {
        let subject = self.operand(subject, std::iter::once(key))?;
        let key = self.eval(key)?;
        Ok(match self.item(&subject, &key)? {
            Some(value) => value,
            None => Value::Undefined(path(expr).map(Into::into)),
        })
    }

    /// Evaluates `subject[key]`, or returns `None` if the key does not exist.
    pub(super) fn item(
        &mut self,
        subject: &Value,
        key: &Value,
    ) -> Result<Option<Value>, StopReason> {
        if let Value::Undefined(path) = subject {
            return Err(self.undefined(path.as_deref()));
        }
        // A fallback value has items only if its inner value has items.
        if subject.is_fallback() {
            let found = match (subject.meant(), key) {
                (_, Value::Str(name)) => return self.attribute(subject, name),
                (Value::Dict(_), _) => None,
                (meant, key) => self.item(&meant, &key.meant())?,
            };
            return Ok(Some(found.unwrap_or_else(Value::nothing)));
        }
        // An index into marked text could reveal a part of the secret.
        let subject = &*self.unmarked(subject);
        let found = match (subject, key) {
            (Value::Dict(dict), key) => {
                let key = self.hashed(key)?;
                key.and_then(|key| dict.get(&key))
            }
            (Value::List(list), key) if list.has_places() => {
                let index = key.as_int().and_then(|index| place_in(index, list.len()));
                index.and_then(|index| list.get(index))
            }
            (Value::Str(text), key) => {
                self.scan(text.len())?;
                key.as_int().and_then(|index| character(text, index))
            }
            _ => None,
        };
        match (found, key) {
            // As in jinja2, `x['name']` may also be an attribute.
            (None, Value::Str(name)) => self.attribute(subject, name),
            (found, _) => Ok(found),
        }
    }

    fn slice_expr(
        &mut self,
        subject: &Expr,
        parts: &[Option<Expr>; 3],
    ) -> Result<Value, StopReason> {
        let value = self.operand(subject, parts.iter().flatten())?;
        let mut numbers = [None; 3];
        for (at, number) in numbers.iter_mut().enumerate() {
            let Some(Some(part)) = parts.get(at) else {
                continue;
            };
            let given = self.operand(part, parts.iter().skip(at + 1).flatten())?;
            *number = match given {
                Value::None => None,
                given => Some(given.as_int().ok_or_else(|| {
                    self.place(fail("slice indices must be integers or None"), part.span)
                })?),
            };
        }
        self.slice(&value, numbers)
    }

    /// Evaluates a test of a failed call, which is undefined unless it has a fallback value.
    #[cold]
    fn test_standing_in(
        &mut self,
        test: &super::test::Test,
        value: &Value,
        given: &super::call::EvaluatedArguments,
    ) -> Result<bool, StopReason> {
        let meant = match value.meant() {
            Value::Str(text) if test.of_undefined && text.is_empty() => Value::UNDEFINED,
            meant => meant,
        };
        match (test.run)(self, &meant, given) {
            Err(stop) if stop.is_of_values() => Ok(false),
            holds => holds,
        }
    }

    fn slice(&mut self, value: &Value, parts: [Option<i64>; 3]) -> Result<Value, StopReason> {
        if value.is_meant_otherwise() {
            return match self.slice(&value.meant(), parts) {
                Err(stop) if stop.is_of_values() => Ok(Value::nothing()),
                sliced => sliced,
            };
        }
        match &*self.unmarked(value) {
            Value::List(list) if list.has_places() => {
                // A slice of a range is another range, so its items are not created.
                if let Some((first, _, step)) = list.as_range() {
                    let range = slice_of_range(first, step, list.len(), parts)?;
                    return Ok(Value::List(range));
                }
                let indices = slice_indices(list.len(), parts)?;
                self.charge(indices.len() * VALUE_SIZE)?;
                let sort = match list.sort {
                    Sort::Tuple => Sort::Tuple,
                    _ => Sort::List,
                };
                let items = indices
                    .iter()
                    .filter_map(|index| list.get(*index))
                    .collect();
                self.list(sort, items)
            }
            Value::Str(text) => {
                // The characters need four bytes each, in addition to the text.
                self.charge(text.len() * 5)?;
                let characters: Vec<char> = text.chars().collect();
                let indices = slice_indices(characters.len(), parts)?;
                let text: String = indices.iter().filter_map(|i| characters.get(*i)).collect();
                Ok(text.into())
            }
            Value::Undefined(path) => {
                self.undefined_is_used(path.as_deref())?;
                Err(self.undefined(path.as_deref()))
            }
            other => Err(fail(format!(
                "'{}' object is not subscriptable",
                other.kind()
            ))),
        }
    }

    /// Returns the items that a loop iterates over.
    pub(super) fn iterate(&mut self, value: &Value) -> Result<List, StopReason> {
        if let Value::Dict(dict) = value
            && let Some(meant) = dict.meant()
        {
            return match self.iterate(&meant) {
                Err(stop) if stop.is_of_values() => Ok(List::new(Sort::List, Vec::new())),
                items => items,
            };
        }
        match &*self.unmarked(value) {
            Value::List(list) => Ok(list.clone()),
            Value::Dict(dict) => {
                self.charge(dict.len() * VALUE_SIZE)?;
                let keys = dict.iter().map(|(key, _)| key).collect();
                Ok(List::new(Sort::List, keys))
            }
            Value::Str(text) => {
                // Each character becomes a separate string.
                self.charge(text.len().saturating_mul(2 * VALUE_SIZE))?;
                let characters = text
                    .chars()
                    .map(|c| Value::from(&*c.encode_utf8(&mut [0; 4])));
                Ok(List::new(Sort::List, characters.collect()))
            }
            Value::Undefined(path) => {
                // Unless the template is strict, a loop over an undefined value has no iterations.
                self.undefined_is_used(path.as_deref())?;
                Ok(List::new(Sort::List, Vec::new()))
            }
            other => Err(fail(format!("'{}' object is not iterable", other.kind()))),
        }
    }

    /// Returns the items for a filter that visits all of them. Each item is a step.
    pub(super) fn items(&mut self, value: &Value) -> Result<Vec<Value>, StopReason> {
        let list = self.iterate(value)?;
        // A range creates its items here, so they are charged.
        self.pass.steps(list.len())?;
        self.charge(list.len() * VALUE_SIZE)?;
        Ok(list.iter().collect())
    }

    /// Evaluates arguments.
    pub(super) fn evaluate_arguments(
        &mut self,
        arguments: &ArgumentExprs,
    ) -> Result<super::call::EvaluatedArguments, StopReason> {
        let mut given = super::call::EvaluatedArguments::default();
        let all = arguments.positional.len();
        let spread = usize::from(arguments.spread.is_some());
        for (at, argument) in arguments.positional.iter().enumerate() {
            let value = self.operand(argument, arguments.in_order().skip(at + 1))?;
            given.positional.push(value);
        }
        if let Some(list) = &arguments.spread {
            let list = self.operand(list, arguments.in_order().skip(all + 1))?;
            given.positional.extend(self.items(&list)?);
        }
        for (at, (name, value)) in arguments.named.iter().enumerate() {
            let after = arguments.in_order().skip(all + spread + at + 1);
            let value = self.operand(value, after)?;
            given.named.push((Arc::clone(name), value));
        }
        if let Some(spread) = &arguments.spread_named {
            let value = self.eval(spread)?;
            // As in Python, `**` requires a mapping.
            let Value::Dict(dict) = value else {
                return Err(fail("argument after ** must be a mapping"));
            };
            self.pass.steps(dict.len())?;
            for (key, value) in dict.iter() {
                given.named.push((self.text(&key)?, value));
            }
        }
        Ok(given)
    }
}

/// Returns an expression as a dotted path, if it is one.
fn path(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Name(name) => Some(name.to_string()),
        ExprKind::Attribute(subject, name) => Some(format!("{}.{name}", path(subject)?)),
        ExprKind::Item(subject, key) => match &key.kind {
            ExprKind::Constant(quillet_core::Value::Str(key)) => {
                Some(format!("{}.{key}", path(subject)?))
            }
            ExprKind::Constant(quillet_core::Value::Int(key)) => {
                Some(format!("{}[{key}]", path(subject)?))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Returns a field of a fallback value. It is empty, unless the fallback has content.
#[cold]
fn standing_in(subject: &Value, map: &quillet_core::Map, name: &Arc<str>) -> Value {
    let meant = subject.meant();
    // A method of the inner value wins, so that `x.items()` works on a fallback value.
    if methods::exists(&meant, name) {
        Value::Method((meant, Arc::clone(name)).into())
    } else {
        Value::from(&map.fallback_field(name))
    }
}

fn loop_attribute(state: &LoopState, name: &str) -> Option<Value> {
    let index = state.index.get();
    let length = state.items.len();
    Some(match name {
        "index" => Value::int(index + 1),
        "index0" => Value::int(index),
        "revindex" => Value::int(length - index),
        "revindex0" => Value::int(length - index - 1),
        "first" => Value::Bool(index == 0),
        "last" => Value::Bool(index + 1 == length),
        "length" => Value::int(length),
        "depth" => Value::int(state.depth + 1),
        "depth0" => Value::int(state.depth),
        "previtem" => match index.checked_sub(1) {
            Some(before) => state.items.get(before)?,
            None => Value::UNDEFINED,
        },
        "nextitem" => state.items.get(index + 1).unwrap_or(Value::UNDEFINED),
        _ => return None,
    })
}

/// Resolves an index, which counts from the end if it is negative.
pub(super) fn place_in(index: i64, len: usize) -> Option<usize> {
    match usize::try_from(index) {
        Ok(index) => Some(index),
        Err(_) => len.checked_sub(usize::try_from(index.unsigned_abs()).ok()?),
    }
}

fn character(text: &str, index: i64) -> Option<Value> {
    let index = if index < 0 {
        place_in(index, text.chars().count())?
    } else {
        usize::try_from(index).ok()?
    };
    let c = text.chars().nth(index)?;
    Some(Value::from(&*c.encode_utf8(&mut [0; 4])))
}

/// Returns a slice of a range as a range.
fn slice_of_range(
    first: i64,
    step: i64,
    len: usize,
    parts: [Option<i64>; 3],
) -> Result<List, StopReason> {
    let [start, stop, by] = slice_bounds(len, parts)?;
    // Saturating arithmetic, because the bounds may be far outside the range.
    let place = |index: i64| first.saturating_add(index.saturating_mul(step));
    let step = step.saturating_mul(by);
    Ok(List::range(place(start), place(stop), step))
}

/// Returns the indexes of a Python slice.
fn slice_indices(len: usize, parts: [Option<i64>; 3]) -> Result<Vec<usize>, StopReason> {
    let [start, stop, step] = slice_bounds(len, parts)?;
    let mut indices = Vec::new();
    let mut at = start;
    while (step > 0 && at < stop) || (step < 0 && at > stop) {
        indices.extend(usize::try_from(at));
        at = at.saturating_add(step);
    }
    Ok(indices)
}

/// Returns the start, end and step of a Python slice.
fn slice_bounds(len: usize, parts: [Option<i64>; 3]) -> Result<[i64; 3], StopReason> {
    let [start, stop, step] = parts;
    let step = step.unwrap_or(1);
    let len = i64::try_from(len).unwrap_or(i64::MAX);
    // With a negative step, -1 is the position before the first item.
    let (low, high) = if step < 0 { (-1, len - 1) } else { (0, len) };
    let clamp = |index: i64| {
        let from_start = if index < 0 {
            index.saturating_add(len)
        } else {
            index
        };
        from_start.clamp(low, high)
    };
    let start = start.map_or(if step < 0 { high } else { low }, clamp);
    let stop = stop.map_or(if step < 0 { low } else { high }, clamp);
    if step == 0 {
        return Err(fail("slice step cannot be zero"));
    }
    Ok([start, stop, step])
}
