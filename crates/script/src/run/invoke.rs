//! Calls by name: directives, functions, scripts, tools.

use std::sync::Arc;

use quillet_core::tool::ToolContext;
use quillet_core::{BoxFuture, Span, Value, nearest};

use super::instance::Instance;
use super::params::CallParams;
use super::scope::NameScope;
use super::stack::boxed;
use super::state::Callable;
use crate::directive::Directive;
use crate::error::{ErrorKind, ScriptError};
use crate::host::RunEvent;
use crate::syntax::CallTarget;

/// Name of the tool that stands for the model; every script has it.
pub(super) const MODEL: &str = "llm";

impl Instance {
    /// Calls a directive, function, script or tool by name. Listeners of `beforeCall` may change
    /// the arguments, and those of `afterCall` the result.
    pub(crate) fn invoke<'a>(
        self: &'a Arc<Self>,
        target: CallTarget,
        name: &'a str,
        params: CallParams,
        scope: &'a NameScope,
        at: Span,
    ) -> BoxFuture<'a, Result<Option<Value>, ScriptError>> {
        Box::pin(async move {
            // Building the event copies all arguments, so it is skipped without listeners.
            let params = if self.listens("beforeCall") {
                boxed(|| self.before_call(name, params, scope, at)).await?
            } else {
                params
            };
            let told = self.listens("afterCall").then(|| params.as_value());
            let value = match target {
                CallTarget::Directive(directive) => {
                    boxed(|| self.directive(directive, params, scope, at)).await?
                }
                CallTarget::Function => {
                    boxed(|| self.function_or_tool(name, params, scope, at)).await?
                }
                CallTarget::Script => {
                    boxed(|| self.script_or_function(name, params, scope, at)).await?
                }
                CallTarget::Tool => boxed(|| self.tool(name, params, scope, at)).await?,
            };
            match told {
                Some(given) => boxed(|| self.after_call(name, given, value, scope, at)).await,
                None => Ok(value),
            }
        })
    }

    async fn before_call(
        self: &Arc<Self>,
        name: &str,
        mut params: CallParams,
        scope: &NameScope,
        at: Span,
    ) -> Result<CallParams, ScriptError> {
        let given = params.as_value();
        let told = self
            .emit(
                "beforeCall",
                vec![Some(Value::from(name)), given.clone()],
                scope,
                at,
            )
            .await?;
        // A listener can return new arguments or change the given object in place.
        let in_place = told.arguments.into_iter().nth(1).flatten();
        let changed = told
            .result
            .or_else(|| in_place.filter(|after| Some(after) != given.as_ref()));
        if let Some(changed) = changed {
            let piped = params.piped.take();
            params = CallParams::one(Some(changed));
            params.piped = piped;
        }
        Ok(params)
    }

    async fn after_call(
        self: &Arc<Self>,
        name: &str,
        given: Option<Value>,
        value: Option<Value>,
        scope: &NameScope,
        at: Span,
    ) -> Result<Option<Value>, ScriptError> {
        let arguments = vec![Some(Value::from(name)), given, value.clone()];
        let told = self.emit("afterCall", arguments, scope, at).await?;
        Ok(told.result.or(value))
    }

    /// Calls `$name` if it is not a directive: a function of the script, or a tool.
    async fn function_or_tool(
        self: &Arc<Self>,
        name: &str,
        params: CallParams,
        scope: &NameScope,
        at: Span,
    ) -> Result<Option<Value>, ScriptError> {
        if let Some(callable) = self.callable(name) {
            return boxed(|| self.call_callable(&callable, params, scope, at)).await;
        }
        if self.world.engine.tools.tool(name).is_some() {
            return boxed(|| self.tool(name, params, scope, at)).await;
        }
        Err(self.unknown_call(&format!("${name}"), scope, at))
    }

    /// Calls a bare name in a chain or a hole: a script, function or tool, or a directive without
    /// its `$`.
    async fn script_or_function(
        self: &Arc<Self>,
        name: &str,
        params: CallParams,
        scope: &NameScope,
        at: Span,
    ) -> Result<Option<Value>, ScriptError> {
        // Roles are looked up first, because in a group chat a role takes precedence over a
        // function of the same name.
        if let Some(id) = self.role_script(name)
            && let Some(script) = self.find(&id, scope, at).await?
        {
            return boxed(|| self.talk(name, script, params, scope, at)).await;
        }
        if let Some(callable) = self.callable(name) {
            return boxed(|| self.call_callable(&callable, params, scope, at)).await;
        }
        if let Some(script) = self.find(name, scope, at).await? {
            if params.named.get("message").is_some() {
                return boxed(|| self.talk(name, script, params, scope, at)).await;
            }
            return self.call_script(script, &params, scope, at).await;
        }
        if self.world.engine.tools.tool(name).is_some() {
            return boxed(|| self.tool(name, params, scope, at)).await;
        }
        if let Some(directive) = Directive::named(name) {
            return boxed(|| self.directive(directive, params, scope, at)).await;
        }
        Err(self.unknown_call(name, scope, at))
    }

    /// Calls a function with the arguments as written.
    async fn call_callable(
        self: &Arc<Self>,
        callable: &Callable,
        params: CallParams,
        scope: &NameScope,
        at: Span,
    ) -> Result<Option<Value>, ScriptError> {
        match callable {
            Callable::Script(script) => self.call_script(script.clone(), &params, scope, at).await,
            Callable::Interact(script) => {
                let name = crate::library::id(script).to_owned();
                boxed(|| self.talk(&name, script.clone(), params, scope, at)).await
            }
            _ => {
                let given = params.for_function(self.parameters(callable).as_deref());
                let (value, _) = boxed(|| self.call_function(callable, given, scope, at)).await?;
                Ok(value)
            }
        }
    }

    /// Calls a tool that is registered outside of scripts.
    pub(super) async fn tool(
        self: &Arc<Self>,
        name: &str,
        params: CallParams,
        scope: &NameScope,
        at: Span,
    ) -> Result<Option<Value>, ScriptError> {
        if name == MODEL {
            return self.ai(&params, scope, at).await;
        }
        let Some(tool) = self.outer(name) else {
            return Err(self.unknown_call(name, scope, at));
        };
        let failed = |message: String| {
            ScriptError::new(
                ErrorKind::Tool,
                scope.source.error(ErrorKind::Tool.code(), message, at),
            )
        };
        let positional = params
            .positional
            .iter()
            .map(|value| value.clone().unwrap_or_default());
        let named = match (
            &params.piped,
            params.positional.is_empty() && params.named.is_empty(),
        ) {
            (Some(Value::Map(piped)), true) => piped.clone(),
            _ => params.named.clone(),
        };
        let mut positional: Vec<Value> = positional.collect();
        if let (Some(piped), true, true) = (&params.piped, positional.is_empty(), named.is_empty())
        {
            positional.push(piped.clone());
        }
        let bound = tool.spec().bind(positional, &named);
        let bound =
            bound.map_err(|error| failed(format!("the tool `{name}`: {}", error.message)))?;
        let observer = &self.world.observer;
        observer.event(RunEvent::ToolCall {
            name: name.to_owned(),
            arguments: Value::Map(bound.clone()),
        });
        let context = ToolContext::default();
        // Time spent in a tool does not count as time of the script.
        let waiting = self.world.budget.waiting();
        let result = tool.call(bound, &context).await;
        drop(waiting);
        observer.event(RunEvent::ToolResult {
            name: name.to_owned(),
            result: result.clone().map_err(|error| error.message),
        });
        result
            .map(Some)
            .map_err(|error| failed(format!("the tool `{name}`: {}", error.message)))
    }

    /// Returns whether `$name` can be called.
    pub(super) fn can_call(&self, name: &str) -> bool {
        Directive::named(name).is_some()
            || self.callable(name).is_some()
            || self.world.engine.tools.tool(name).is_some()
    }

    /// Returns the error for an unknown name, with the most similar known one.
    pub(super) fn unknown_call(&self, name: &str, scope: &NameScope, at: Span) -> ScriptError {
        let mut known: Vec<String> = Directive::ALL
            .iter()
            .map(|known| format!("${}", known.name()))
            .collect();
        // The names are collected only after an error, where the cost does not matter.
        known.extend(self.state().functions.keys().map(|name| format!("${name}")));
        known.extend(self.world.engine.tools.names());
        known.extend(self.world.engine.library.ids());
        let message = format!(
            "unknown name `{name}`: no directive, function, script or tool has \
        it"
        );
        let finding = scope.source.error("script.unknown_call", message, at);
        let dollar = format!("${}", name.trim_start_matches('$'));
        let near = nearest(&dollar, known.iter().map(String::as_str))
            .or_else(|| nearest(name, known.iter().map(String::as_str)));
        let finding = match near {
            Some(near) => finding.help(format!("did you mean `{near}`?")),
            None => finding.help(
                "scripts are searched for in the script's own folder, then in the search path",
            ),
        };
        ScriptError::new(ErrorKind::NotFound, finding)
    }
}
