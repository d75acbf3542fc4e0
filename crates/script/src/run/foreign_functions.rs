//! Functions outside JavaScript: Python functions and exports of wasm modules.

use std::sync::Arc;

use quillet_core::{Span, Value};

use super::code::InPython;
use super::failure::refuse;
use super::instance::Instance;
use super::scope::NameScope;
use super::state::Callable;
use crate::error::{ErrorKind, ScriptError};
use crate::host::RunEvent;
use crate::js::{JsError, JsErrorKind, Wasm, WasmBounds};
use crate::library::import::ImportItem;
use crate::syntax::ScriptText;

/// Wasm instructions per millisecond of the JavaScript time limit.
const FUEL: u64 = 100_000;

impl Instance {
    pub(super) fn define_python(
        &self,
        code: &ScriptText,
        scope: &NameScope,
    ) -> Result<Callable, ScriptError> {
        if self.world.keeps.is_some() {
            let message = "functions in Python are not available in a durable run, because their \
            effects are not recorded";
            let finding = scope
                .source
                .error(ErrorKind::Denied.code(), message, code.span);
            let finding = finding.help("turn it into a tool, or write it in JavaScript");
            return Err(ScriptError::new(ErrorKind::Denied, finding));
        }
        let defined = self.world.python.define(&code.value, &scope.source.name);
        let function = defined.map_err(|error| self.js_error(error, scope, code.span))?;
        Ok(Callable::Python(Arc::new(InPython {
            function,
            source: scope.source.clone(),
            code: code.clone(),
        })))
    }

    pub(super) async fn call_python(
        &self,
        python: &InPython,
        mut arguments: Vec<Option<Value>>,
        scope: &NameScope,
        at: Span,
    ) -> Result<Option<Value>, ScriptError> {
        // Missing trailing arguments use the defaults of the function.
        while arguments.last().is_some_and(Option::is_none) {
            arguments.pop();
        }
        if let Some(withheld) = &self.world.withheld {
            let what = format!(
                "Python function `{}` was not executed",
                python.function.name
            );
            withheld.note(&what, "--allow-run (scripts.allow_run)");
            return Ok(None);
        }
        let called = self.world.python.call(python.function.id, &arguments).await;
        let result = called.map_err(|error| {
            let place = python.place(&error);
            self.js_failure(error, place, scope, at)
        })?;
        for line in result.printed.lines() {
            let event = RunEvent::Printed(line.to_owned());
            self.world.observer.event(event);
        }
        Ok(Some(result.value))
    }

    pub(super) async fn import_wasm(
        self: &Arc<Self>,
        path: &str,
        import: &ImportItem,
        scope: &NameScope,
    ) -> Result<(), ScriptError> {
        let library = &self.world.engine.library;
        let Some(bytes) = library.file(path, Some(&scope.source)).await? else {
            let message = format!("file `{path}` not found");
            let code = ErrorKind::NotFound.code();
            let finding = scope.source.error(code, message, import.span);
            return Err(ScriptError::new(ErrorKind::NotFound, finding));
        };
        let limits = &self.world.engine.limits;
        let time = u64::try_from(limits.js_time.as_millis()).unwrap_or(u64::MAX);
        let bounds = WasmBounds {
            memory: limits.js_memory,
            fuel: time.saturating_mul(FUEL),
            ..WasmBounds::default()
        };
        // The start function may run for a while, so it must not block the runtime.
        let load = tokio::task::spawn_blocking(move || Wasm::load(&bytes, &bounds));
        let loaded = load.await.unwrap_or_else(|_| {
            let message = "wasm module not loaded";
            Err(JsError::new(JsErrorKind::Killed, message))
        });
        let module = loaded.map_err(|error| {
            let error = JsError::new(error.kind, format!("{path}: {}", error.message));
            self.js_error(error, scope, import.span)
        })?;
        let module = Arc::new(module);
        let names: Vec<String> = module.exports().iter().map(|it| it.name.clone()).collect();
        let target = |name: &str| Callable::Wasm(module.clone(), name.to_owned());
        let whole = Callable::WasmModule(module.clone());
        self.bind_exports(import, &names, &names, whole, target, scope)
    }

    pub(super) async fn call_wasm(
        &self,
        module: &Arc<Wasm>,
        name: &str,
        arguments: &[Option<Value>],
        scope: &NameScope,
        at: Span,
    ) -> Result<Option<Value>, ScriptError> {
        let called = module.call(name, arguments).await;
        called.map_err(|error| self.js_error(error, scope, at))
    }

    /// Returns the error for calling a wasm module itself as a function.
    pub(super) fn no_function(&self, module: &Wasm, scope: &NameScope, at: Span) -> ScriptError {
        let names: Vec<&str> = module.exports().iter().map(|it| it.name.as_str()).collect();
        let message = format!(
            "a module cannot be called: call one of {}",
            names.join(", ")
        );
        refuse(scope, at, message)
    }
}
