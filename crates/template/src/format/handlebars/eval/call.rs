//! Names that are called: helpers, late-bound functions, and variables where
//! neither is meant.

use std::sync::Arc;

use quillet_core::{Value, nearest};

use super::scope::{Scope, Val};
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

/// What a call gives where it is printed.
pub(super) enum CallOutput<'s> {
    Value(Val<'s>),
    /// Text that is not escaped.
    Safe(String),
    /// It is pending, or has written what it had to.
    Nothing,
}

/// Arguments after their evaluation.
pub(super) struct EvaluatedArguments<'s> {
    pub(super) positional: Vec<Val<'s>>,
    pub(super) named: Vec<(Arc<str>, Val<'s>)>,
}

impl EvaluatedArguments<'_> {
    /// Puts what they stand in for in the place of stand-ins; says whether there were any.
    fn take_meant(&mut self) -> bool {
        let named = self.named.iter_mut().map(|(_, value)| value);
        let mut stood = false;
        for value in self.positional.iter_mut().chain(named) {
            if let Some(known) = value.get().filter(|value| value.is_fallback()) {
                stood = true;
                *value = Val::Made(known.meant().clone());
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
                .map(Val::without_marks)
                .collect(),
            named: named
                .map(|(name, value)| (name, value.without_marks()))
                .collect(),
        }
    }
}

impl Evaluator<'_, '_> {
    /// The value of an argument. A pending call ends the pass.
    pub(super) fn value<'s>(
        &mut self,
        expr: &'s Expr,
        scope: &Scope<'s>,
    ) -> Result<Val<'s>, StopReason> {
        match expr {
            Expr::Literal(value) => Ok(Val::Held(value)),
            Expr::Undefined => Ok(Val::Undefined),
            Expr::Path(path) => self.path(path, scope),
            Expr::Call(call) => {
                let value = self.used(call, scope);
                value.map_err(|stop| self.place(stop, call.path.span, scope))
            }
        }
    }

    /// The value of a call in parentheses.
    fn used<'s>(&mut self, call: &'s CallExpr, scope: &Scope<'s>) -> Result<Val<'s>, StopReason> {
        self.pass.step()?;
        self.levels += 1;
        if self.levels > super::MAX_LEVELS {
            return Err(self.pass.limit(LimitKind::Nesting));
        }
        let value = match &call.kind {
            CallKind::Variable | CallKind::Ambiguous => self.head(&call.path, scope),
            CallKind::Function => self.late(call, scope).and_then(|called| match called {
                CallState::Ready(value) => Ok(Val::Made(value)),
                CallState::Pending => Err(StopReason::Suspended),
            }),
            CallKind::Helper(Callee::Native(helper)) => self.captured(helper, call, scope),
            CallKind::Helper(callee) => self.builtin_value(callee, call, scope),
        };
        self.levels -= 1;
        value
    }

    /// An argument, or nothing in place of a hole: those after it are evaluated
    /// too, for the calls in them.
    fn argument<'s>(
        &mut self,
        expr: &'s Expr,
        scope: &Scope<'s>,
        hole: &mut bool,
    ) -> Result<Val<'s>, StopReason> {
        match self.value(expr, scope) {
            Err(StopReason::Suspended) if !self.pass.is_stopped() => {
                *hole = true;
                Ok(Val::Undefined)
            }
            value => value,
        }
    }

    /// What a call gives that is printed.
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
                    HelperResult::Value(value) => CallOutput::Value(Val::Made(value)),
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

    /// A name without arguments: the function of exactly that name, else the
    /// variable, else a function that is named in another way. In dotprompt,
    /// whose names are variables unless they are known helpers, first the variable.
    pub(super) fn ambiguous<'s>(
        &mut self,
        call: &'s CallExpr,
        scope: &Scope<'s>,
    ) -> Result<CallOutput<'s>, StopReason> {
        let name = call.path.parts.first().map_or("", |name| &**name);
        if !self.compiled.variables_first && self.pass.has_function(name) {
            return Ok(printed(self.call_bound(name, call, scope)?));
        }
        let value = self.path(&call.path, scope)?;
        if !matches!(value, Val::Undefined) {
            return Ok(CallOutput::Value(value));
        }
        if let Some(function) = self.function(name)? {
            return Ok(printed(self.call_bound(&function, call, scope)?));
        }
        if self.compiled.strict {
            Err(self.missing(&call.path))
        } else {
            Ok(CallOutput::Value(Val::Undefined))
        }
    }

    /// The late-bound function that a name means.
    fn function(&mut self, name: &str) -> Result<Option<String>, StopReason> {
        let names = self.pass.function_names();
        let found = plugin_function(name, &names).map(str::to_owned);
        let visited = names.len();
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
        let function = if self.pass.has_function(&name) {
            name
        } else {
            match self.function(&name)? {
                Some(function) => function,
                None => return Err(self.unknown(&name)),
            }
        };
        if call.positional.is_empty() && call.named.is_empty() {
            return self.call_bound(&function, call, scope);
        }
        let given = self.given(call, scope)?;
        let positional = given.positional.iter().map(owned);
        let positional: Vec<Value> = positional.collect();
        // What is not there is not given, so that a default can take its place.
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

    /// A result as the template sees it.
    fn answered(&mut self, called: CallState) -> Result<CallState, StopReason> {
        match called {
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

    pub(super) fn given<'s>(
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
        if hole {
            Err(StopReason::Suspended)
        } else {
            Ok(given)
        }
    }

    /// Calls a helper of the program or of a preset.
    pub(super) fn native(
        &mut self,
        helper: &Helper,
        call: &CallExpr,
        branches: Option<Branches<'_>>,
        scope: &Scope<'_>,
    ) -> Result<HelperResult, StopReason> {
        let mut given = self.given(call, scope)?.without_marks();
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
            // Nothing is in what is not there.
            Err(stop) if stood && stop.is_of_values() => {
                HelperResult::Value(Value::Null.into_fallback())
            }
            answer => answer?,
        };
        if self.read_hole.take() {
            return Err(StopReason::Suspended);
        }
        match &answer {
            HelperResult::Value(value) if value.depth() > quillet_core::value::MAX_DEPTH => {
                Err(self.pass.limit(LimitKind::ValueDepth))
            }
            _ => Ok(answer),
        }
    }

    /// The value of such a helper; what it writes is its value.
    fn captured<'s>(
        &mut self,
        helper: &Helper,
        call: &CallExpr,
        scope: &Scope<'_>,
    ) -> Result<Val<'s>, StopReason> {
        let held = self.pass.capture();
        let answer = self.native(helper, call, None, scope);
        let (written, pending) = self.pass.release(held);
        match answer? {
            HelperResult::Value(value) => Ok(Val::Made(value)),
            HelperResult::Safe(text) => Ok(Val::Made(text.into())),
            HelperResult::Written if pending => Err(StopReason::Suspended),
            HelperResult::Written => {
                self.pass.charge(written.len())?;
                let text = String::from_utf8_lossy(&written);
                Ok(Val::Made(Value::from(&*text)))
            }
        }
    }

    /// The value of a helper of handlebars.js that is no block.
    fn builtin_value<'s>(
        &mut self,
        callee: &Callee,
        call: &'s CallExpr,
        scope: &Scope<'s>,
    ) -> Result<Val<'s>, StopReason> {
        match callee {
            Callee::Lookup => self.lookup(call, scope),
            Callee::Log => {
                self.given(call, scope)?;
                Ok(Val::Undefined)
            }
            _ => {
                let name = call.path.parts.first().map_or("", |name| &**name);
                Err(fail(format!(
                    "{name} needs a block: {{{{#{name} …}}}}…{{{{/{name}}}}}"
                )))
            }
        }
    }

    /// `lookup object key`.
    fn lookup<'s>(&mut self, call: &'s CallExpr, scope: &Scope<'s>) -> Result<Val<'s>, StopReason> {
        let [object, key] = call.positional.as_slice() else {
            return Err(fail("lookup needs an object and a key"));
        };
        let mut hole = false;
        let object = self.argument(object, scope, &mut hole)?;
        let key = self.argument(key, scope, &mut hole)?;
        if hole {
            return Err(StopReason::Suspended);
        }
        if !object.get().is_some_and(javascript::is_true) {
            return Ok(object);
        }
        let name = match key.get() {
            None => "undefined".into(),
            Some(Value::Null) => "null".into(),
            Some(key) => javascript::text(self.pass, key)?,
        };
        match object {
            Val::Held(object) => self.property(object, &name),
            Val::Made(object) => Ok(match self.property(&object, &name)? {
                Val::Held(value) => Val::Made(value.clone()),
                Val::Made(value) => Val::Made(value),
                Val::Undefined => Val::Undefined,
            }),
            Val::Undefined => Ok(Val::Undefined),
        }
    }
}

fn printed<'s>(called: CallState) -> CallOutput<'s> {
    match called {
        CallState::Ready(value) => CallOutput::Value(Val::Made(value)),
        CallState::Pending => CallOutput::Nothing,
    }
}

/// An argument of a function: what is not there is null.
fn owned(value: &Val<'_>) -> Value {
    value.get().cloned().unwrap_or_default()
}
