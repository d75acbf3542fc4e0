//! Calls: macros, methods, filters, the format's own functions, and late-bound functions.

use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;
use quillet_core as core;

use super::ast::{ArgumentExprs, Expr, ExprKind, FilterCall};
use super::eval::{Evaluator, VALUE_SIZE, fail};
use super::ops::or_nothing;
use super::value::{Dict, DictKey, List, MacroValue, Sort, Value};
use crate::{CallState, StopReason};

/// Evaluated arguments.
#[derive(Debug, Default)]
pub(super) struct EvaluatedArguments {
    pub(super) positional: Vec<Value>,
    pub(super) named: Vec<(Arc<str>, Value)>,
}

impl EvaluatedArguments {
    /// Returns an argument that may be positional or named.
    pub(super) fn get(&self, index: usize, name: &str) -> Option<&Value> {
        self.positional.get(index).or_else(|| self.named(name))
    }

    /// Returns an argument that must be named.
    pub(super) fn named(&self, name: &str) -> Option<&Value> {
        let found = self.named.iter().find(|(given, _)| **given == *name);
        found.map(|(_, value)| value)
    }

    /// Returns a required argument.
    pub(super) fn need(&self, index: usize, name: &str) -> Result<&Value, StopReason> {
        self.get(index, name)
            .ok_or_else(|| fail(format!("missing 1 required argument: '{name}'")))
    }

    /// Returns a text argument, or its default.
    pub(super) fn str<'a>(
        &'a self,
        index: usize,
        name: &str,
        default: &'a str,
    ) -> Result<&'a str, StopReason> {
        match self.get(index, name) {
            None => Ok(default),
            Some(Value::Str(text)) => Ok(text),
            Some(other) => Err(fail(format!("{name} must be str, not {}", other.kind()))),
        }
    }

    /// Returns an integer argument, or its default.
    pub(super) fn int(&self, index: usize, name: &str, default: i64) -> Result<i64, StopReason> {
        match self.get(index, name) {
            None => Ok(default),
            Some(value) => value
                .as_int()
                .ok_or_else(|| fail(format!("{name} must be int, not {}", value.kind()))),
        }
    }

    /// Returns a count. A negative count becomes 0.
    pub(super) fn size(
        &self,
        index: usize,
        name: &str,
        default: usize,
    ) -> Result<usize, StopReason> {
        let default = i64::try_from(default).unwrap_or(i64::MAX);
        Ok(usize::try_from(self.int(index, name, default)?).unwrap_or(0))
    }

    /// Returns a flag, which can be any value with a Python truth value.
    pub(super) fn flag(&self, index: usize, name: &str, default: bool) -> bool {
        self.get(index, name).map_or(default, Value::is_true)
    }

    /// Whether one of the arguments is a fallback value.
    fn has_fallback(&self) -> bool {
        let named = self.named.iter().map(|(_, value)| value);
        self.positional.iter().chain(named).any(Value::is_fallback)
    }

    /// Returns the arguments with fallback values replaced by their inner values.
    fn meant(&self) -> EvaluatedArguments {
        let named = self.named.iter();
        EvaluatedArguments {
            positional: self.positional.iter().map(Value::meant).collect(),
            named: named
                .map(|(name, value)| (Arc::clone(name), value.meant()))
                .collect(),
        }
    }

    /// Rejects arguments that the callee does not accept.
    pub(super) fn check(&self, callee: &str, parameters: &[&str]) -> Result<(), StopReason> {
        if self.positional.len() > parameters.len() {
            return Err(fail(format!(
                "{callee}() takes {} arguments but {} were given",
                parameters.len(),
                self.positional.len()
            )));
        }
        for (name, _) in &self.named {
            if !parameters.contains(&&**name) {
                return Err(unexpected(callee, name));
            }
        }
        Ok(())
    }
}

fn unexpected(callee: &str, name: &str) -> StopReason {
    fail(format!(
        "{callee}() got an unexpected keyword argument '{name}'"
    ))
}

impl Evaluator<'_, '_> {
    /// Evaluates a call. Returns `None` if a late-bound function is pending.
    pub(super) fn call(
        &mut self,
        callee: &Expr,
        arguments: &ArgumentExprs,
    ) -> Result<Option<Value>, StopReason> {
        let function = self.eval(callee)?;
        if let (ExprKind::Name(name), Value::Undefined(_)) = (&callee.kind, &function) {
            return self.call_late(name, arguments, callee.span.start);
        }
        let given = self.evaluate_arguments(arguments)?;
        let entered = self.pass.entered();
        self.pass.enter(callee.span.start);
        let value = self.call_value(&function, given);
        self.pass.leave(entered);
        value.map(Some)
    }

    /// Calls a late-bound function. `place` is the location of the call in its source.
    fn call_late(
        &mut self,
        name: &str,
        arguments: &ArgumentExprs,
        place: usize,
    ) -> Result<Option<Value>, StopReason> {
        let meant = self.function_name(name);
        let name = meant.as_deref().unwrap_or(name);
        if let Some(unknown) = self.unknown_in_script(name) {
            return Err(unknown);
        }
        if !self.pass.has_function(name) {
            // Reports the missing function and suggests the most similar name.
            self.pass.call(name, crate::CallArguments::default())?;
        }
        let given = self.evaluate_arguments(arguments)?;
        let mut bound = crate::CallArguments::default();
        for value in &given.positional {
            bound.positional.push(self.argument(value)?);
        }
        let mut named = core::Map::default().to_table();
        for (name, value) in &given.named {
            named.insert(Arc::clone(name), self.argument(value)?);
        }
        self.implicit_arguments(name, bound.positional.len(), &mut named)?;
        bound.named = core::Map::new(named);
        let place = [self.names.source, place];
        match self.pass.call_at(&place, name, bound)? {
            CallState::Pending => Ok(None),
            CallState::Ready(value) if value.depth() > core::value::MAX_DEPTH => {
                Err(self.pass.limit(crate::LimitKind::ValueDepth))
            }
            CallState::Ready(value) if self.compiled.encoded => {
                self.encoded(&Value::from(&value)).map(Some)
            }
            CallState::Ready(core::Value::Str(text)) if self.compiled.trusted_results => {
                self.pass.charge(text.len())?;
                Ok(Some(Value::Str(self.compiled.with_tags(&text))))
            }
            CallState::Ready(value) => Ok(Some(Value::from(&value))),
        }
    }

    /// Calls a value of the template.
    pub(super) fn call_value(
        &mut self,
        function: &Value,
        given: EvaluatedArguments,
    ) -> Result<Value, StopReason> {
        match function {
            value if value.is_fallback() => Ok(Value::nothing()),
            Value::Function(function)
                if given.has_fallback() && function.name != "raise_exception" =>
            {
                or_nothing((function.run)(self, &given.meant()))
            }
            Value::Method(method) if given.has_fallback() => {
                or_nothing(self.method(&self.unmarked(&method.0), &method.1, &given.meant()))
            }
            Value::Macro(declared) => self.call_macro(declared, given, None),
            Value::Function(function) => {
                if let Some(parameters) = function.parameters {
                    given.check(function.name, parameters)?;
                }
                (function.run)(self, &given)
            }
            Value::Method(method) => self.method(&self.unmarked(&method.0), &method.1, &given),
            Value::Super(block) => self.captured(|e| e.block(&block.0, block.1)),
            Value::Joiner(joiner) => {
                let first = !joiner.1.replace(true);
                Ok(Value::Str(if first {
                    "".into()
                } else {
                    Arc::clone(&joiner.0)
                }))
            }
            Value::Loop(state) => {
                let Some(node) = state.repeats.clone() else {
                    return Err(fail(
                        "the loop must have the 'recursive' marker to be called",
                    ));
                };
                let items = given.need(0, "iterable")?.clone();
                let depth = state.depth + 1;
                self.captured(|e| e.template(|e| e.for_loop(&node, &items, depth)))
            }
            Value::Undefined(path) => Err(self.undefined(path.as_deref())),
            other => Err(fail(format!("'{}' object is not callable", other.kind()))),
        }
    }

    /// Evaluates `{% call m(x) %}…{% endcall %}`.
    pub(super) fn call_block(&mut self, call: &Expr, caller: Value) -> Result<(), StopReason> {
        let ExprKind::Call(callee, arguments) = &call.kind else {
            return Err(self.place(fail("a call block needs a call"), call.span));
        };
        let function = self.eval(callee)?;
        let given = self.evaluate_arguments(arguments)?;
        let entered = self.pass.entered();
        self.pass.enter(call.span.start);
        let printed = match &function {
            Value::Macro(declared) => self.call_macro(declared, given, Some(caller)),
            other => self.call_value(other, given),
        };
        let printed = printed.map_err(|stop| self.place(stop, call.span))?;
        self.pass.leave(entered);
        let text = self.text(&printed)?;
        self.write(&text)
    }

    fn call_macro(
        &mut self,
        declared: &Rc<MacroValue>,
        given: EvaluatedArguments,
        caller: Option<Value>,
    ) -> Result<Value, StopReason> {
        let scope = self.names.open_apart(declared.base, declared.source);
        self.charge(declared.captured.len() * VALUE_SIZE)?;
        for (name, value) in &declared.captured {
            self.names.push(Arc::clone(name), value.clone());
        }
        let node = Arc::clone(&declared.declared);
        let itself = Value::Macro(Rc::clone(declared));
        self.names.push(Arc::clone(&node.name), itself);
        if let Some(caller) = caller {
            self.names.push("caller".into(), caller);
        }
        let bound = self.bind(&node, given);
        let text = bound.and_then(|()| self.template(|e| e.captured(|e| e.body(&node.body))));
        // A body that prints a placeholder becomes a placeholder, and the evaluation continues.
        if matches!(text, Ok(_) | Err(StopReason::Suspended)) {
            self.names.close(&scope);
        }
        text
    }

    /// Binds arguments in the scope of a macro.
    fn bind(
        &mut self,
        node: &super::ast::Macro,
        given: EvaluatedArguments,
    ) -> Result<(), StopReason> {
        let EvaluatedArguments {
            positional,
            mut named,
        } = given;
        let mut positional = positional.into_iter();
        for (name, default) in &node.parameters {
            let by_name = named.iter().position(|(given, _)| given == name);
            let value = match (positional.next(), by_name, default) {
                (Some(_), Some(_), _) => {
                    return Err(fail(format!(
                        "macro '{}' got multiple values for argument '{name}'",
                        node.name
                    )));
                }
                (Some(value), None, _) => value,
                (None, Some(at), _) => named.swap_remove(at).1,
                (None, None, Some(default)) => self.eval(default)?,
                (None, None, None) => Value::Undefined(Some(Arc::clone(name))),
            };
            self.names.push(Arc::clone(name), value);
        }
        let rest: Vec<Value> = positional.collect();
        if !rest.is_empty() && !node.varargs {
            return Err(fail(format!(
                "macro '{}' takes not more than {} argument(s)",
                node.name,
                node.parameters.len()
            )));
        }
        if let (false, Some((name, _))) = (node.kwargs, named.first()) {
            return Err(fail(format!(
                "macro '{}' takes no keyword argument '{name}'",
                node.name
            )));
        }
        if node.varargs {
            let rest = self.list(Sort::Tuple, rest)?;
            self.names.push("varargs".into(), rest);
        }
        if node.kwargs {
            let table = named
                .into_iter()
                .map(|(name, value)| (DictKey::Str(name), value));
            let rest = self.dict(table.collect())?;
            self.names.push("kwargs".into(), rest);
        }
        Ok(())
    }

    /// Applies a filter.
    pub(super) fn filter(&mut self, value: &Value, call: &FilterCall) -> Result<Value, StopReason> {
        let given = self.evaluate_arguments(&call.arguments)?;
        if let Some(parameters) = call.filter.parameters {
            given.check(call.filter.name, parameters)?;
        }
        if value.is_fallback() || given.has_fallback() {
            return self.filter_standing_in(value, call, &given.meant());
        }
        (call.filter.run)(self, &self.unmarked(value), &given)
    }

    /// Applies a filter to a fallback value, or with one as an argument. `default` replaces an
    /// empty fallback value like an undefined value.
    #[cold]
    fn filter_standing_in(
        &mut self,
        value: &Value,
        call: &FilterCall,
        given: &EvaluatedArguments,
    ) -> Result<Value, StopReason> {
        let meant = match value.meant() {
            Value::Str(text)
                if value.is_fallback()
                    && text.is_empty()
                    && matches!(call.filter.name, "default" | "d") =>
            {
                Value::UNDEFINED
            }
            meant => meant,
        };
        let filtered = (call.filter.run)(self, &self.unmarked(&meant), given);
        or_nothing(filtered.map(|value| match value {
            Value::Undefined(_) => Value::nothing(),
            value => value,
        }))
    }

    /// Converts an argument of a late-bound function.
    fn argument(&mut self, value: &Value) -> Result<core::Value, StopReason> {
        self.step()?;
        self.pass.charge(size_of::<core::Value>())?;
        Ok(match value {
            Value::Undefined(path) => {
                self.undefined_is_used(path.as_deref())?;
                core::Value::Null
            }
            Value::None => core::Value::Null,
            Value::Bool(bool) => core::Value::Bool(*bool),
            Value::Int(int) => core::Value::Int(*int),
            Value::Float(float) => core::Value::Float(*float),
            Value::Str(text) => core::Value::Str(Arc::clone(text)),
            Value::List(list) => self.list_argument(list)?,
            Value::Dict(Dict::Core(map)) => core::Value::Map(map.clone()),
            Value::Dict(dict) => self.dict_argument(dict)?,
            other => {
                let kind = other.kind();
                return Err(fail(format!(
                    "a value of type {kind} cannot be an argument"
                )));
            }
        })
    }

    fn list_argument(&mut self, list: &List) -> Result<core::Value, StopReason> {
        let mut items = Vec::with_capacity(list.len());
        for item in list.iter() {
            items.push(self.argument(&item)?);
        }
        Ok(core::Value::from(items))
    }

    fn dict_argument(&mut self, dict: &Dict) -> Result<core::Value, StopReason> {
        let mut entries: IndexMap<Arc<str>, core::Value> = IndexMap::new();
        for (key, value) in dict.iter() {
            let key = self.text(&key)?;
            entries.insert(key, self.argument(&value)?);
        }
        Ok(core::Value::Map(entries.into_iter().collect()))
    }
}
