//! Calls of names. A name is a helper, a late-bound function or a variable.

use std::sync::Arc;

use quillet_core::{Value, nearest};

use super::scope::{Scope, ScopedValue};
use super::{Evaluator, fail};
use crate::format::handlebars::ast::{CallExpr, CallKind, Expr};
use crate::format::handlebars::helper::{
    BUILTIN, Branches, Callee, Helper, HelperCall, HelperResult,
};
use crate::format::handlebars::input::encoded;
use crate::format::javascript;
use crate::structure::Elements;
use crate::{
    CallArguments, CallState, ErrorKind, LimitKind, RenderError, StopReason, plugin_function,
};

/// Result of a call for printing.
pub(super) enum CallOutput<'s> {
    Value(ScopedValue<'s>),
    /// Text that must not be escaped.
    Safe(String),
    /// Nothing to print, because the call is pending or has already written its output.
    Nothing,
}

/// Evaluated arguments.
pub(super) struct EvaluatedArguments<'s> {
    pub(super) positional: Vec<ScopedValue<'s>>,
    pub(super) named: Vec<(Arc<str>, ScopedValue<'s>)>,
}

impl EvaluatedArguments<'_> {
    /// Replaces fallback values by their inner values. Returns whether there were any.
    fn take_meant(&mut self) -> bool {
        let named = self.named.iter_mut().map(|(_, value)| value);
        let mut stood = false;
        for value in self.positional.iter_mut().chain(named) {
            if let Some(known) = value.get().filter(|value| value.is_fallback()) {
                stood = true;
                *value = ScopedValue::Made(known.represented_value().clone());
            }
        }
        stood
    }

    fn without_marks(self) -> Self {
        let named = self.named.into_iter();
        EvaluatedArguments {
            positional: self
                .positional
                .into_iter()
                .map(ScopedValue::without_marks)
                .collect(),
            named: named
                .map(|(name, value)| (name, value.without_marks()))
                .collect(),
        }
    }
}

impl Evaluator<'_, '_> {
    /// Evaluates an argument. A pending call ends the pass.
    pub(super) fn value<'s>(
        &mut self,
        expr: &'s Expr,
        scope: &Scope<'s>,
    ) -> Result<ScopedValue<'s>, StopReason> {
        match expr {
            Expr::Literal(value) => Ok(ScopedValue::Held(value)),
            Expr::Undefined => Ok(ScopedValue::Undefined),
            Expr::Path(path) => self.path(path, scope),
            Expr::Call(call) => {
                let value = self.used(call, scope);
                value.map_err(|stop| self.place(stop, call.path.span, scope))
            }
        }
    }

    /// Evaluates a call in parentheses.
    fn used<'s>(
        &mut self,
        call: &'s CallExpr,
        scope: &Scope<'s>,
    ) -> Result<ScopedValue<'s>, StopReason> {
        self.pass.step()?;
        self.levels += 1;
        // The level is not restored after an error, because the error ends the render.
        if self.levels > super::MAX_LEVELS {
            return Err(self.pass.limit(LimitKind::Nesting));
        }
        let value = match &call.kind {
            CallKind::Variable | CallKind::Ambiguous => self.head(&call.path, scope),
            CallKind::Function => self.late(call, scope).and_then(|called| match called {
                CallState::Ready(value) => Ok(ScopedValue::Made(value)),
                CallState::Pending => Err(StopReason::Suspended),
            }),
            CallKind::Helper(Callee::Native(helper)) => self.captured(helper, call, scope),
            CallKind::Helper(callee) => self.builtin_value(callee, call, scope),
        };
        self.levels -= 1;
        value
    }

    /// Evaluates an argument, or returns `None` for a placeholder. The caller continues with the
    /// following arguments, so that calls in them are registered.
    fn argument<'s>(
        &mut self,
        expr: &'s Expr,
        scope: &Scope<'s>,
        hole: &mut bool,
    ) -> Result<ScopedValue<'s>, StopReason> {
        match self.value(expr, scope) {
            // A stopped pass must not evaluate the remaining arguments.
            Err(StopReason::Suspended) if !self.pass.is_stopped() => {
                *hole = true;
                Ok(ScopedValue::Undefined)
            }
            value => value,
        }
    }

    /// Evaluates a call that is printed.
    pub(super) fn printed<'s>(
        &mut self,
        call: &'s CallExpr,
        scope: &Scope<'s>,
    ) -> Result<CallOutput<'s>, StopReason> {
        let called = match &call.kind {
            CallKind::Variable => return Ok(CallOutput::Value(self.head(&call.path, scope)?)),
            CallKind::Ambiguous => return self.ambiguous(call, scope),
            CallKind::Function => self.late(call, scope)?,
            CallKind::Helper(Callee::Native(helper)) => {
                return Ok(match self.native(helper, call, None, scope)? {
                    HelperResult::Value(value) => CallOutput::Value(ScopedValue::Made(value)),
                    HelperResult::Safe(text) => CallOutput::Safe(text),
                    HelperResult::Written => CallOutput::Nothing,
                });
            }
            CallKind::Helper(callee) => {
                return Ok(CallOutput::Value(self.builtin_value(callee, call, scope)?));
            }
        };
        Ok(printed(called))
    }

    /// Evaluates a name without arguments. A function with exactly this name wins over the
    /// variable, and the variable wins over a function with another spelling. In dotprompt the
    /// variable wins over both, unless the name is a helper.
    pub(super) fn ambiguous<'s>(
        &mut self,
        call: &'s CallExpr,
        scope: &Scope<'s>,
    ) -> Result<CallOutput<'s>, StopReason> {
        let name = call.path.parts.first().map_or("", |name| &**name);
        // A function with the exact name wins over a variable, so that data cannot hide a tool.
        if !self.compiled.variables_first && self.pass.has_function(name) {
            return Ok(printed(self.call_bound(name, call, scope)?));
        }
        let value = self.path(&call.path, scope)?;
        if !matches!(value, ScopedValue::Undefined) {
            return Ok(CallOutput::Value(value));
        }
        if let Some(function) = self.function(name)? {
            return Ok(printed(self.call_bound(&function, call, scope)?));
        }
        if self.compiled.strict {
            Err(self.missing(&call.path))
        } else {
            Ok(CallOutput::Value(ScopedValue::Undefined))
        }
    }

    /// Resolves a name to a late-bound function.
    fn function(&mut self, name: &str) -> Result<Option<String>, StopReason> {
        let names = self.pass.function_names();
        let found = plugin_function(name, &names).map(str::to_owned);
        let visited = names.len();
        // The lookup compares the name with those of all functions.
        self.pass.steps(visited)?;
        Ok(found)
    }

    /// Calls a late-bound function.
    pub(super) fn late(
        &mut self,
        call: &CallExpr,
        scope: &Scope<'_>,
    ) -> Result<CallState, StopReason> {
        let name = call.path.parts.join(".");
        // The exact name is tried first, because a search for other spellings visits all functions.
        let function = if self.pass.has_function(&name) {
            name
        } else {
            match self.function(&name)? {
                Some(function) => function,
                None => return Err(self.unknown(&name)),
            }
        };
        // If there are no arguments, the variables with the names of the parameters are passed.
        if call.positional.is_empty() && call.named.is_empty() {
            return self.call_bound(&function, call, scope);
        }
        let given = self.evaluate_arguments(call, scope)?;
        let positional = given.positional.iter().map(owned);
        let positional: Vec<Value> = positional.collect();
        // A missing argument is omitted, so that the function's default applies.
        let named = given.named.iter();
        let named = named.filter_map(|(name, value)| Some((name.clone(), value.get()?.clone())));
        let arguments = CallArguments {
            positional,
            named: named.collect(),
        };
        let place = [scope.source, call.path.span.start];
        let called = self.pass.call_at(&place, &function, arguments)?;
        self.answered(called)
    }

    fn call_bound(
        &mut self,
        function: &str,
        call: &CallExpr,
        scope: &Scope<'_>,
    ) -> Result<CallState, StopReason> {
        let place = [scope.source, call.path.span.start];
        let called = self.pass.call_bound_at(&place, function)?;
        self.answered(called)
    }

    /// Returns a result in the form that the template sees.
    fn answered(&mut self, called: CallState) -> Result<CallState, StopReason> {
        match called {
            // In encoding mode the results of functions are untrusted data.
            CallState::Ready(value) if self.compiled.encoded => {
                Ok(CallState::Ready(encoded(&value, self.pass)?))
            }
            CallState::Ready(Value::Str(text)) if self.compiled.trusted_results => {
                self.pass.charge(text.len())?;
                let marked = Elements::default().mark(&text).into_owned();
                Ok(CallState::Ready(marked.into()))
            }
            called => Ok(called),
        }
    }

    #[cold]
    fn unknown(&self, name: &str) -> StopReason {
        let mut error = RenderError::new(
            ErrorKind::UnknownFunction,
            format!("Missing helper: {name:?}"),
        );
        let helpers = self.compiled.helpers.keys().map(String::as_str);
        let known = BUILTIN.into_iter().chain(helpers);
        let known = known.chain(self.pass.function_names());
        error.help = nearest(name, known).map(|near| format!("did you mean {near}?"));
        error.into()
    }

    pub(super) fn evaluate_arguments<'s>(
        &mut self,
        call: &'s CallExpr,
        scope: &Scope<'s>,
    ) -> Result<EvaluatedArguments<'s>, StopReason> {
        let mut given = EvaluatedArguments {
            positional: Vec::with_capacity(call.positional.len()),
            named: Vec::with_capacity(call.named.len()),
        };
        let mut hole = false;
        for expr in &call.positional {
            let value = self.argument(expr, scope, &mut hole)?;
            given.positional.push(value);
        }
        for (name, expr) in &call.named {
            let value = self.argument(expr, scope, &mut hole)?;
            given.named.push((name.clone(), value));
        }
        // This is checked last, so that the calls in all arguments are registered in this pass.
        if hole {
            Err(StopReason::Suspended)
        } else {
            Ok(given)
        }
    }

    /// Calls a helper of the host or of a preset.
    pub(super) fn native(
        &mut self,
        helper: &Helper,
        call: &CallExpr,
        branches: Option<Branches<'_>>,
        scope: &Scope<'_>,
    ) -> Result<HelperResult, StopReason> {
        // The marks are removed, because a helper that transforms text could break them or reveal
        // their secret.
        let mut given = self.evaluate_arguments(call, scope)?.without_marks();
        let stood = given.take_meant();
        let answer = helper.call(&mut HelperCall {
            host: self,
            name: call.path.parts.first().map_or("", |name| &**name),
            positional: &given.positional,
            named: &given.named,
            branches,
            scope,
        });
        let answer = match answer {
            // A rejected fallback value gives an empty result.
            Err(stop) if stood && stop.is_of_values() => {
                HelperResult::Value(Value::Null.into_fallback())
            }
            answer => answer?,
        };
        // The helper has read a variable that depends on a pending call, so its result is invalid.
        if self.read_hole.take() {
            return Err(StopReason::Suspended);
        }
        match &answer {
            // A helper may put an argument into a container.
            HelperResult::Value(value) if value.depth() > quillet_core::value::MAX_DEPTH => {
                Err(self.pass.limit(LimitKind::ValueDepth))
            }
            _ => Ok(answer),
        }
    }

    /// Evaluates a helper as an argument. Its output becomes the value.
    fn captured<'s>(
        &mut self,
        helper: &Helper,
        call: &CallExpr,
        scope: &Scope<'_>,
    ) -> Result<ScopedValue<'s>, StopReason> {
        // The output of the helper is captured, because it is a value here.
        let held = self.pass.capture();
        let answer = self.native(helper, call, None, scope);
        let (written, pending) = self.pass.release(held);
        match answer? {
            HelperResult::Value(value) => Ok(ScopedValue::Made(value)),
            HelperResult::Safe(text) => Ok(ScopedValue::Made(text.into())),
            // Text with a missing part must not become a value.
            HelperResult::Written if pending => Err(StopReason::Suspended),
            HelperResult::Written => {
                self.pass.charge(written.len())?;
                let text = String::from_utf8_lossy(&written);
                Ok(ScopedValue::Made(Value::from(&*text)))
            }
        }
    }

    /// Evaluates an inline helper of handlebars.js.
    fn builtin_value<'s>(
        &mut self,
        callee: &Callee,
        call: &'s CallExpr,
        scope: &Scope<'s>,
    ) -> Result<ScopedValue<'s>, StopReason> {
        match callee {
            Callee::Lookup => self.lookup(call, scope),
            Callee::Log => {
                // `log` prints nothing, but the calls in its arguments are made.
                self.evaluate_arguments(call, scope)?;
                Ok(ScopedValue::Undefined)
            }
            _ => {
                let name = call.path.parts.first().map_or("", |name| &**name);
                Err(fail(format!(
                    "{name} needs a block: {{{{#{name} …}}}}…{{{{/{name}}}}}"
                )))
            }
        }
    }

    /// Evaluates `lookup object key`.
    fn lookup<'s>(
        &mut self,
        call: &'s CallExpr,
        scope: &Scope<'s>,
    ) -> Result<ScopedValue<'s>, StopReason> {
        let [object, key] = call.positional.as_slice() else {
            return Err(fail("lookup needs an object and a key"));
        };
        let mut hole = false;
        let object = self.argument(object, scope, &mut hole)?;
        let key = self.argument(key, scope, &mut hole)?;
        if hole {
            return Err(StopReason::Suspended);
        }
        // handlebars.js returns a false object unchanged.
        if !object.get().is_some_and(javascript::is_true) {
            return Ok(object);
        }
        // JavaScript converts a missing key to one of these property names.
        let name = match key.get() {
            None => "undefined".into(),
            Some(Value::Null) => "null".into(),
            Some(key) => javascript::text(self.pass, key)?,
        };
        match object {
            ScopedValue::Held(object) => self.property(object, &name),
            ScopedValue::Made(object) => Ok(match self.property(&object, &name)? {
                ScopedValue::Held(value) => ScopedValue::Made(value.clone()),
                ScopedValue::Made(value) => ScopedValue::Made(value),
                ScopedValue::Undefined => ScopedValue::Undefined,
            }),
            ScopedValue::Undefined => Ok(ScopedValue::Undefined),
        }
    }
}

fn printed<'s>(called: CallState) -> CallOutput<'s> {
    match called {
        CallState::Ready(value) => CallOutput::Value(ScopedValue::Made(value)),
        CallState::Pending => CallOutput::Nothing,
    }
}

/// Converts an argument of a function. A missing value becomes null.
fn owned(value: &ScopedValue<'_>) -> Value {
    value.get().cloned().unwrap_or_default()
}
