//! `$on`, `$once`, `$off`, `$emit`, and the events that the engine emits itself.

use std::sync::Arc;

use quillet_core::{BoxFuture, Map, Severity, Span, Value, nearest};
use quillet_yaml::Node;

use super::failure::{limit, refuse};
use super::instance::Instance;
use super::params::CallParams;
use super::scope::NameScope;
use super::stack::boxed;
use super::state::{Callable, Callback, Listener};
use super::values::is_function;
use crate::error::{ErrorKind, ScriptError};
use crate::syntax::CallExpr;

/// Maximum depth of nested events in one script.
const MOST_NESTED: usize = 16;

/// An event that is being delivered. Leaves its nesting level on drop.
struct ActiveEvent(Arc<Instance>);

impl Drop for ActiveEvent {
    fn drop(&mut self) {
        // The level is decremented on drop, so that errors and cancelled listeners decrement it
        // too.
        self.0.state().events -= 1;
    }
}

/// Result of calling the listeners of an event.
#[derive(Debug, Default)]
pub(crate) struct ListenerResult {
    /// The last value that a listener returned.
    pub(crate) result: Option<Value>,
    /// The arguments after the calls, because listeners may change them in place.
    pub(crate) arguments: Vec<Option<Value>>,
}

impl Instance {
    /// Returns whether an event has listeners. Most events have none, and checking first avoids
    /// their cost.
    pub(crate) fn listens(&self, event: &str) -> bool {
        let state = self.state();
        !state.listeners.is_empty()
            && state
                .listeners
                .get(event)
                .is_some_and(|list| !list.is_empty())
    }

    /// Calls the listeners of an event in the order of their registration.
    pub(crate) fn emit<'a>(
        self: &'a Arc<Self>,
        event: &'a str,
        arguments: Vec<Option<Value>>,
        scope: &'a NameScope,
        at: Span,
    ) -> BoxFuture<'a, Result<ListenerResult, ScriptError>> {
        Box::pin(async move {
            let listeners = self
                .state()
                .listeners
                .get(event)
                // The listeners are copied, because they may add and remove listeners while they
                // run.
                .cloned()
                .unwrap_or_default();
            let mut told = ListenerResult {
                result: None,
                arguments,
            };
            let _depth = self.deeper(event, scope, at)?;
            for listener in listeners {
                // Removed before the call, because a `$once` listener that emits its own event
                // would run again.
                if listener.once && !self.take(event, listener.number) {
                    continue;
                }
                self.world.step(scope, at).await?;
                match boxed(|| self.notify_listener(&listener, event, &mut told, scope, at)).await {
                    Ok(true) => break,
                    Ok(false) => {}
                    Err(error) if listener.lenient => self.ignored(&error),
                    Err(error) => return Err(error),
                }
            }
            Ok(told)
        })
    }

    /// Warns about a failed listener that is allowed to fail.
    fn ignored(&self, error: &ScriptError) {
        if let Some(first) = error.diagnostics.first() {
            let mut finding = first.clone();
            finding.severity = Severity::Warning;
            self.world.warn(finding);
        }
    }

    /// Removes a listener. Returns whether it was still registered.
    fn take(&self, event: &str, number: u64) -> bool {
        let mut state = self.state();
        let Some(list) = state.listeners.get_mut(event) else {
            return false;
        };
        let before = list.len();
        list.retain(|listener| listener.number != number);
        list.len() < before
    }

    /// Limits the depth of nested events: a listener that emits its own event would recurse
    /// forever.
    fn deeper(
        self: &Arc<Self>,
        event: &str,
        scope: &NameScope,
        at: Span,
    ) -> Result<ActiveEvent, ScriptError> {
        let mut state = self.state();
        if state.events >= MOST_NESTED {
            drop(state);
            let message = format!(
                "listeners emit events in each other: `{event}` is nested {MOST_NESTED} levels deep"
            );
            return Err(limit(scope, at, message, ""));
        }
        state.events += 1;
        drop(state);
        Ok(ActiveEvent(self.clone()))
    }

    /// Calls one listener. Returns whether it stopped the event.
    async fn notify_listener(
        self: &Arc<Self>,
        listener: &Listener,
        event: &str,
        told: &mut ListenerResult,
        scope: &NameScope,
        at: Span,
    ) -> Result<bool, ScriptError> {
        let object = Value::Map(event_object(event, told.result.as_ref(), &self.id));
        let (value, object) = match &listener.callback {
            Callback::Expression(text, around, at) => {
                let args: Vec<Value> = told
                    .arguments
                    .iter()
                    .skip(1)
                    .map(|value| value.clone().unwrap_or_default())
                    .collect();
                let mut bound = vec![
                    (Arc::from("event"), Some(object.clone())),
                    (Arc::from("arg1"), told.arguments.first().cloned().flatten()),
                    (Arc::from("args"), Some(Value::from(args))),
                ];
                let names = argument_names(event).iter();
                let named = names.zip(told.arguments.iter().cloned());
                bound.extend(named.map(|(name, value)| (Arc::from(*name), value)));
                let inner = around.with(bound);
                (self.expression_text(text, &inner, *at).await?, object)
            }
            Callback::Named(name) => {
                let Some(callable) = self.callable(name) else {
                    return Err(refuse(
                        scope,
                        at,
                        format!("invalid listener `{name}` of `{event}`: expected a function"),
                    ));
                };
                boxed(|| self.notify_function(&callable, object, told, scope, at)).await?
            }
            Callback::Function(callable) => {
                boxed(|| self.notify_function(callable, object, told, scope, at)).await?
            }
        };
        if value.is_some() {
            told.result = value;
        }
        let stopped = object.as_map().and_then(|map| map.get("stopped"));
        Ok(stopped == Some(&Value::Bool(true)))
    }

    async fn notify_function(
        self: &Arc<Self>,
        callable: &Callable,
        object: Value,
        told: &mut ListenerResult,
        scope: &NameScope,
        at: Span,
    ) -> Result<(Option<Value>, Value), ScriptError> {
        let mut arguments = vec![Some(object.clone())];
        arguments.append(&mut told.arguments);
        let (value, mut after) =
            boxed(|| self.call_function(callable, arguments, scope, at)).await?;
        let object = if after.is_empty() {
            object
        } else {
            after.remove(0).unwrap_or(object)
        };
        told.arguments = after;
        Ok((value, object))
    }

    /// `$on` and `$once`.
    pub(super) async fn on(
        self: &Arc<Self>,
        params: &CallParams,
        once: bool,
        scope: &NameScope,
        at: Span,
    ) -> Result<Option<Value>, ScriptError> {
        let event = self.event_name(params, scope, at)?;
        let callback = self.callback(params, scope, at).await?;
        let lenient = params.named.get("onError").and_then(Value::as_str) == Some("ignore");
        self.add_listener(event, callback, once, lenient);
        Ok(None)
    }

    fn add_listener(&self, event: String, callback: Callback, once: bool, lenient: bool) {
        let number = self.world.next_number();
        let listener = Listener {
            callback,
            once,
            lenient,
            number,
        };
        self.state()
            .listeners
            .entry(event)
            .or_default()
            .push(listener);
    }

    /// The `on:` list of the front matter.
    pub(super) fn on_list(
        self: &Arc<Self>,
        node: &Node,
        scope: &NameScope,
    ) -> Result<(), ScriptError> {
        let items = node.items().unwrap_or(std::slice::from_ref(node));
        for item in items {
            let Some(event) = item.get("event").and_then(Node::text) else {
                return Err(refuse(
                    scope,
                    item.span,
                    "a listener needs `event` and `callback`",
                ));
            };
            let Some(callback) = item.get("callback") else {
                return Err(refuse(
                    scope,
                    item.span,
                    format!("missing `callback` of the listener of `{event}`"),
                ));
            };
            let callback = self.callback_node(callback, scope)?;
            let once = item.get("once").map(Node::value) == Some(Value::Bool(true));
            let lenient = item.get("onError").and_then(Node::text) == Some("ignore");
            self.add_listener(event.to_owned(), callback, once, lenient);
        }
        Ok(())
    }

    fn event_name(
        &self,
        params: &CallParams,
        scope: &NameScope,
        at: Span,
    ) -> Result<String, ScriptError> {
        match params.text("event", 0) {
            Some(event) => Ok(event.to_owned()),
            None => Err(refuse(scope, at, "missing `event`, the name of an event")),
        }
    }

    async fn callback(
        self: &Arc<Self>,
        params: &CallParams,
        scope: &NameScope,
        at: Span,
    ) -> Result<Callback, ScriptError> {
        if let Some(node) = params.call.as_deref().and_then(callback_node) {
            return self.callback_node(node, scope);
        }
        match params.text("callback", 1) {
            Some(name) => self.named(name, scope, at),
            None => Err(refuse(
                scope,
                at,
                "missing `callback`: a function's name, `!fn`, or `?=…`",
            )),
        }
    }

    fn callback_node(
        self: &Arc<Self>,
        node: &Node,
        scope: &NameScope,
    ) -> Result<Callback, ScriptError> {
        if is_function(node) {
            let callable = self.function_node(node, scope)?;
            return Ok(Callback::Function(callable));
        }
        match node.text() {
            Some(text) => self.named(text, scope, node.span),
            None => Err(refuse(
                scope,
                node.span,
                "a listener must be a function's name, `!fn`, or `?=…`",
            )),
        }
    }

    /// Resolves a function name (with or without `$`) or an expression.
    fn named(&self, text: &str, scope: &NameScope, at: Span) -> Result<Callback, ScriptError> {
        if let Some(code) = text.trim().strip_prefix("?=") {
            return Ok(Callback::Expression(Arc::from(code), scope.clone(), at));
        }
        let name = text.trim().trim_start_matches('$');
        if self.callable(name).is_some() {
            return Ok(Callback::Named(name.to_owned()));
        }
        let finding =
            scope
                .source
                .error("script.listener", format!("unknown function `{name}`"), at);
        let state = self.state();
        let known = state.functions.keys().map(|known| &**known);
        let finding = match nearest(name, known) {
            Some(near) => finding.help(format!("did you mean `{near}`?")),
            None => finding.help("declare it with `!fn`, or write an expression: `?=…`"),
        };
        Err(ScriptError::new(ErrorKind::NotFound, finding))
    }

    /// `$off`: removes a named listener, or all listeners of an event.
    pub(super) fn off(
        &self,
        params: &CallParams,
        scope: &NameScope,
        at: Span,
    ) -> Result<Option<Value>, ScriptError> {
        let event = self.event_name(params, scope, at)?;
        let callback = params
            .text("callback", 1)
            .map(|name| name.trim_start_matches('$').to_owned());
        let mut state = self.state();
        match callback {
            None => {
                state.listeners.remove(&event);
            }
            Some(name) => {
                if let Some(list) = state.listeners.get_mut(&event) {
                    list.retain(|listener| !matches!(&listener.callback, Callback::Named(known) if *known == name));
                }
            }
        }
        Ok(None)
    }

    /// `$emit`: a list is passed as separate arguments, any other value as one.
    pub(super) async fn emit_directive(
        self: &Arc<Self>,
        params: &CallParams,
        scope: &NameScope,
        at: Span,
    ) -> Result<Option<Value>, ScriptError> {
        let event = self.event_name(params, scope, at)?;
        let arguments = match params.get("args", 1) {
            Some(Value::List(list)) => list.as_slice().iter().cloned().map(Some).collect(),
            Some(one) => vec![Some(one.clone())],
            None => params.positional.iter().skip(1).cloned().collect(),
        };
        Ok(self.emit(&event, arguments, scope, at).await?.result)
    }
}

/// Returns the callback node as written.
fn callback_node(call: &CallExpr) -> Option<&Node> {
    call.field("callback")
        .or_else(|| call.value.as_ref()?.get("callback"))
}

/// Names of the arguments of built-in events in a listener expression.
fn argument_names(event: &str) -> &'static [&'static str] {
    match event {
        "beforeCall" => &["name", "params"],
        "afterCall" => &["name", "params", "result"],
        "llmParams" | "llmBefore" => &["params"],
        "llm" => &["result"],
        "llmStream" => &["chunk", "content", "retry"],
        "llmMessagePushed" => &["message"],
        "llmRequest" => &["messages", "options"],
        "ready" => &["isReady"],
        "load-chats" => &["filename"],
        "save-chats" => &["messages", "filename"],
        "beforeGenerateChats" | "afterGenerateChats" => &["data"],
        _ => &[],
    }
}

/// Builds the `event` object that listeners receive.
fn event_object(event: &str, result: Option<&Value>, target: &str) -> Map {
    let mut fields = vec![
        ("type", Value::from(event)),
        ("target", Value::from(target)),
        ("stopped", Value::Bool(false)),
    ];
    if let Some(result) = result {
        fields.push(("result", result.clone()));
    }
    Map::from_iter(fields)
}
