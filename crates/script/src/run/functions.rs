//! Functions of a script: declaration, calls and scope.

use std::sync::Arc;

use quillet_core::{Span, Value};
use quillet_yaml::Node;

use super::code::{FunctionInfo, place_in};
use super::failure::{found, refuse};
use super::instance::Instance;
use super::params::CallParams;
use super::scope::NameScope;
use super::stack::boxed;
use super::state::Callable;
use crate::directive::Directive;
use crate::error::{ErrorKind, ScriptError};
use crate::expression::NameValue;
use crate::host::RunEvent;
use crate::js::{
    self, Code, ConsoleLevel, FunctionSource, HostCallResult, JsError, JsErrorKind, JsValueRef,
    Runtime,
};
use crate::library::called_on_this;
use crate::reader;
use crate::syntax::{CallTarget, FunctionDeclaration, ScriptSource, ScriptText};
use quillet_core::lock::lock;

/// Maximum depth of nested calls through the engine. Calls within JavaScript are limited by its own
/// stack.
const MOST_CALLS: u8 = 16;

/// Maximum number of script errors that pass through JavaScript at a time.
const MOST_RAISED: usize = 256;

impl Instance {
    /// Declares the functions of the script, before anything else in it runs.
    pub(super) fn declare(&self) -> Result<(), ScriptError> {
        for (script, index) in &self.resolved.functions {
            let Some(function) = script.functions.get(*index) else {
                continue;
            };
            let inner = NameScope::of(&script.source);
            let callable = self.define(function, &inner)?;
            let name: Arc<str> = match function.name.strip_prefix("template$") {
                Some(name) => name.into(),
                None => function.name.as_str().into(),
            };
            let mut state = self.state();
            // Front matter can define `$name` as a variable, which would silently hide the
            // function.
            let taken = state.variables.contains_key(&*format!("${name}"));
            if taken || (!function.template && state.functions.contains_key(&name)) {
                // Building the message needs no state. Doing it under the lock would block other
                // branches.
                drop(state);
                let message = format!("`${name}` is declared twice");
                let finding = script
                    .source
                    .error("script.declared_twice", message, function.span);
                return Err(ScriptError::new(
                    ErrorKind::Script,
                    finding.help("rename one of them"),
                ));
            }
            if function.template {
                state.template_functions.insert(name, callable)
            } else {
                state.functions.insert(name, callable)
            };
        }
        Ok(())
    }

    /// Makes a declared function callable.
    pub(super) fn define(
        &self,
        function: &FunctionDeclaration,
        scope: &NameScope,
    ) -> Result<Callable, ScriptError> {
        match &*function.language {
            "js" | "javascript" => self.define_javascript(&function.code, scope),
            "python" | "py" => self.define_python(&function.code, scope),
            other => {
                let message = format!("unsupported language of a function: {other}");
                let finding = scope
                    .source
                    .error("script.language", message, function.span);
                let finding =
                    finding.help("write it in JavaScript (`[js]`) or Python (`[python]`)");
                Err(ScriptError::new(ErrorKind::Script, finding))
            }
        }
    }

    fn define_javascript(
        &self,
        code: &ScriptText,
        scope: &NameScope,
    ) -> Result<Callable, ScriptError> {
        let path = scope.source.path.as_deref();
        let text = |path: Option<&std::path::Path>| {
            path.map(|path| path.display().to_string())
                .unwrap_or_default()
        };
        let definition = FunctionSource {
            code: code.value.to_string(),
            filename: text(path),
            dirname: text(path.and_then(std::path::Path::parent)),
        };
        let defined = self.world.js.define(definition).map_err(|error| {
            let at = error
                .place()
                .and_then(|frame| place_in(&scope.source, code, frame.place));
            let finding =
                scope
                    .source
                    .error("script.syntax", error.message, at.unwrap_or(code.span));
            ScriptError::new(ErrorKind::Script, finding)
        })?;
        let known = FunctionInfo {
            source: scope.source.clone(),
            code: code.clone(),
            parameters: defined.signature.parameters,
        };
        lock(&self.world.code).insert(defined.id, known);
        Ok(Callable::JavaScript(defined.id.into()))
    }

    /// Returns the function of an inline value such as `callback: !fn …`.
    pub(super) fn function_node(
        &self,
        node: &Node,
        scope: &NameScope,
    ) -> Result<Callable, ScriptError> {
        let function =
            reader::function(node, &scope.source).map_err(|findings| found(findings, scope))?;
        match function {
            Some(function) => self.define(&function, scope),
            None => Err(refuse(scope, node.span, "expected a function")),
        }
    }

    /// Rejects a function where only data is allowed.
    pub(super) fn anonymous(&self, node: &Node, scope: &NameScope) -> Result<Value, ScriptError> {
        Err(refuse(
            scope,
            node.span,
            "use a function as a value of `$set` or as a listener",
        ))
    }

    /// Resolves a function by name, which may be a path: `path.basename`.
    pub(super) fn callable(&self, name: &str) -> Option<Callable> {
        let name = name.trim_start_matches('$');
        let state = self.state();
        if let Some(callable) = state.functions.get(name) {
            return Some(callable.clone());
        }
        let (first, rest) = name.split_once('.')?;
        match state.functions.get(first)? {
            Callable::JavaScript(js::JsTarget::Export(module, path)) => {
                let mut path = path.clone();
                path.extend(rest.split('.').map(str::to_owned));
                Some(Callable::JavaScript(js::JsTarget::Export(*module, path)))
            }
            Callable::WasmModule(module) => Some(Callable::Wasm(module.clone(), rest.to_owned())),
            Callable::Script(script) if rest == "interact" => {
                Some(Callable::Interact(script.clone()))
            }
            _ => None,
        }
    }

    /// Returns the parameters of a script function, if known.
    pub(super) fn parameters(&self, callable: &Callable) -> Option<Vec<js::Parameter>> {
        match callable {
            Callable::JavaScript(js::JsTarget::Function(id)) => {
                let code = lock(&self.world.code);
                Some(code.get(id)?.parameters.clone())
            }
            Callable::Python(python) => Some(python.function.parameters.clone()),
            Callable::Foreign(instance, inner) => instance.parameters(inner),
            _ => None,
        }
    }

    /// Calls a function. Returns its result and the arguments, which it may have changed.
    pub(super) async fn call_function(
        self: &Arc<Self>,
        callable: &Callable,
        arguments: Vec<Option<Value>>,
        scope: &NameScope,
        at: Span,
    ) -> Result<(Option<Value>, Vec<Option<Value>>), ScriptError> {
        let scope = &deeper(scope, at)?;
        match callable {
            Callable::JavaScript(target) => {
                let runtime = self.runtime(scope, at);
                let passed = arguments.into_iter().map(JsValueRef::from).collect();
                let result = boxed(|| self.world.js.call(target, passed, &runtime)).await;
                let result = result.map_err(|error| self.js_error(error, scope, at))?;
                let after = result
                    .arguments
                    .into_iter()
                    .map(JsValueRef::value)
                    .collect();
                Ok((result.value.value(), after))
            }
            Callable::Python(python) => {
                let given = arguments.clone();
                let value = boxed(|| self.call_python(python, given, scope, at)).await?;
                Ok((value, arguments))
            }
            Callable::Wasm(module, name) => {
                let value = boxed(|| self.call_wasm(module, name, &arguments, scope, at)).await?;
                Ok((value, arguments))
            }
            Callable::WasmModule(module) => Err(self.no_function(module, scope, at)),
            Callable::Foreign(instance, inner) => {
                let root = instance.root().after(scope.calls);
                boxed(|| instance.call_function(inner, arguments, &root, at)).await
            }
            Callable::Script(script) => {
                let params = CallParams::list(arguments.clone());
                let value = self
                    .run_script(script.clone(), params.for_script(), scope, at)
                    .await?;
                Ok((value, arguments))
            }
            Callable::Interact(script) => {
                let name = crate::library::id(script).to_owned();
                let mut params = CallParams::default();
                arguments.iter().cloned().for_each(|it| params.add(it));
                let talk = boxed(|| self.talk(&name, script.clone(), params, scope, at));
                Ok((talk.await?, arguments))
            }
        }
    }

    /// Evaluates an expression that needs JavaScript.
    pub(super) async fn javascript(
        self: &Arc<Self>,
        text: &str,
        scope: &NameScope,
        at: Span,
    ) -> Result<Option<Value>, ScriptError> {
        let runtime = self.runtime(scope, at);
        let value = boxed(|| self.world.js.evaluate(text, &runtime)).await;
        value
            .map(JsValueRef::value)
            .map_err(|error| self.js_error(error, scope, at))
    }

    pub(super) fn runtime(self: &Arc<Self>, scope: &NameScope, at: Span) -> JsBinding {
        JsBinding {
            instance: self.clone(),
            scope: scope.clone(),
            at,
        }
    }

    /// Converts a JavaScript error to a script error: the original one if the script raised it,
    /// otherwise a new one with the location in the code.
    pub(super) fn js_error(&self, error: JsError, scope: &NameScope, at: Span) -> ScriptError {
        if let Some(own) = error
            .mark
            .and_then(|mark| lock(&self.world.raised).remove(&mark))
        {
            return own;
        }
        let place = self.thrown_at(&error);
        self.js_failure(error, place, scope, at)
    }

    /// Converts an error of a function to a script error, with its script location if known.
    pub(super) fn js_failure(
        &self,
        error: JsError,
        place: Option<(Arc<ScriptSource>, Span)>,
        scope: &NameScope,
        at: Span,
    ) -> ScriptError {
        let kind = match &error.kind {
            JsErrorKind::Unknown { name } => return self.unknown_name(name, scope, at),
            JsErrorKind::Time
            | JsErrorKind::Memory
            | JsErrorKind::Stack
            | JsErrorKind::Stuck
            | JsErrorKind::Killed => ErrorKind::Limit,
            JsErrorKind::Syntax | JsErrorKind::Data => ErrorKind::Script,
            JsErrorKind::Module => ErrorKind::NotFound,
            JsErrorKind::Denied => ErrorKind::Denied,
            JsErrorKind::Missing => ErrorKind::Missing,
            JsErrorKind::Thrown => ErrorKind::Thrown,
        };
        // QuickJS does not report the name of the missing function, so it is taken from the source
        // line.
        if error.message.contains("not a function")
            && let Some(unknown) = self.called_in_vain(place.as_ref(), scope, at)
        {
            return unknown;
        }
        let finding = match place {
            Some((source, span)) => source.error(kind.code(), &error.message, span),
            None => scope.source.error(kind.code(), &error.message, at),
        };
        let mut failure = ScriptError::new(kind, finding);
        failure.partial = error.value;
        failure
    }

    /// Returns the error for a missing function at an error location, because JavaScript does not
    /// name it. Also covers `fetch` without permission.
    fn called_in_vain(
        &self,
        place: Option<&(Arc<ScriptSource>, Span)>,
        scope: &NameScope,
        at: Span,
    ) -> Option<ScriptError> {
        let (source, code) = match place {
            Some((source, span)) => {
                let rest = source.text.get(span.start..)?;
                let before = source.text.get(..span.start)?;
                let start = before.rfind('\n').map_or(0, |end| end + 1);
                let end = span.start + rest.find('\n').unwrap_or(rest.len());
                (source, Span { start, end })
            }
            None => (&scope.source, at),
        };
        let text = source.text.get(code.start..code.end)?;
        if text.contains("fetch(") && !self.world.grants.net {
            let why = "permission denied: this script may not use fetch";
            let finding = source.error(ErrorKind::Denied.code(), why, code);
            let finding = finding.help("allow it with `--allow-net` (scripts.allow_net)");
            return Some(ScriptError::new(ErrorKind::Denied, finding));
        }
        let mut calls = called_on_this(text);
        let (range, name) = calls.find(|(_, name)| !self.can_call(name))?;
        let span = Span {
            start: code.start + range.start,
            end: code.start + range.end,
        };
        Some(self.unknown_call(&format!("${name}"), &NameScope::of(source), span))
    }

    /// Returns the script location of a JavaScript error that was thrown in one of the script's
    /// functions.
    fn thrown_at(&self, error: &JsError) -> Option<(Arc<ScriptSource>, Span)> {
        let frame = error.place()?;
        let Code::Function(id) = &frame.code else {
            return None;
        };
        let code = lock(&self.world.code);
        let known = code.get(id)?;
        let place = place_in(&known.source, &known.code, frame.place)?;
        Some((known.source.clone(), place))
    }
}

/// Returns the scope of a function call. Rejects endless recursion before the stack overflows.
fn deeper(scope: &NameScope, at: Span) -> Result<NameScope, ScriptError> {
    if scope.calls < MOST_CALLS {
        return Ok(scope.clone().after(scope.calls + 1));
    }
    let message = format!("too many nested function calls (limit {MOST_CALLS})");
    let finding = scope.source.error(ErrorKind::Limit.code(), message, at);
    let help = "check for a function that calls itself without end";
    Err(ScriptError::new(ErrorKind::Limit, finding.help(help)))
}

/// The JavaScript runtime's access to a script, from one position in it.
#[derive(Debug)]
pub(crate) struct JsBinding {
    instance: Arc<Instance>,
    scope: NameScope,
    at: Span,
}

impl JsBinding {
    /// Stores a script error, so that it is restored unchanged if JavaScript does not catch it.
    fn raise(&self, error: ScriptError) -> JsError {
        let mark = self.instance.world.next_number();
        let thrown = JsError::thrown(error.message()).marked(mark);
        let mut raised = lock(&self.instance.world.raised);
        if raised.len() >= MOST_RAISED {
            // JavaScript has caught the errors that are still stored, so they are discarded.
            raised.clear();
        }
        raised.insert(mark, error);
        thrown
    }
}

impl Runtime for JsBinding {
    fn get(&self, name: &str) -> js::LookupResult {
        if let Some(plain) = name.strip_prefix('$') {
            if let Some(callable) = self.instance.callable(plain) {
                return match callable {
                    Callable::JavaScript(target) => js::LookupResult::Js(target),
                    _ => js::LookupResult::Host,
                };
            }
            if Directive::named(plain).is_some() {
                return js::LookupResult::Host;
            }
        }
        match self.instance.lookup(name, &self.scope) {
            NameValue::Value(value) => js::LookupResult::Value(value),
            NameValue::Undefined => js::LookupResult::Undefined,
            NameValue::Missing => match self.instance.callable(name) {
                Some(Callable::JavaScript(target)) => js::LookupResult::Js(target),
                _ => js::LookupResult::Missing,
            },
            NameValue::Function => js::LookupResult::Host,
        }
    }

    fn set(&self, name: &str, value: JsValueRef) -> Result<(), JsError> {
        match value {
            JsValueRef::Function(id) => {
                let name = name.trim_start_matches('$');
                let callable = Callable::JavaScript(id.into());
                self.instance
                    .state()
                    .functions
                    .insert(name.into(), callable);
                Ok(())
            }
            value => {
                let set = self
                    .instance
                    .assign(name, value.value(), &self.scope, self.at);
                let room = || self.instance.world.room(&self.scope, self.at);
                set.and_then(|()| room()).map_err(|error| self.raise(error))
            }
        }
    }

    fn names(&self) -> Vec<String> {
        self.instance.names(&self.scope)
    }

    fn call<'a>(&'a self, name: &str, arguments: Vec<JsValueRef>) -> HostCallResult<'a> {
        let plain = name.trim_start_matches('$').to_owned();
        let params = from_javascript(arguments);
        let target = CallTarget::of(&plain);
        if let CallTarget::Directive(directive) = target
            && let Some(done) =
                self.instance
                    .run_immediately(directive, &params, &self.scope, self.at)
        {
            let room = self.instance.world.room(&self.scope, self.at);
            let done = done.and_then(|value| room.map(|()| JsValueRef::from(value)));
            return HostCallResult::Now(done.map_err(|error| self.raise(error)));
        }
        HostCallResult::Later(Box::pin(async move {
            let value = self
                .instance
                .invoke(target, &plain, params, &self.scope, self.at)
                .await;
            value
                .map(JsValueRef::from)
                .map_err(|error| self.raise(error))
        }))
    }

    fn log(&self, level: ConsoleLevel, line: &str) {
        let world = &self.instance.world;
        match level {
            ConsoleLevel::Info => world.observer.event(RunEvent::Printed(line.to_owned())),
            ConsoleLevel::Warning | ConsoleLevel::Error => {
                world.warn(self.scope.source.warning("script.console", line, self.at));
            }
        }
    }
}

/// `this.$f({a: 1})` passes arguments by name, `this.$f(1, 2)` by position.
fn from_javascript(arguments: Vec<JsValueRef>) -> CallParams {
    let mut values: Vec<Option<Value>> = arguments.into_iter().map(JsValueRef::value).collect();
    match values.as_slice() {
        [Some(Value::Map(_))] => CallParams::one(values.remove(0)),
        _ => CallParams::list(values),
    }
}
