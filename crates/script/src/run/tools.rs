//! Tools that a script offers to its model, and the permissions for calling them.

use std::fmt;
use std::sync::Arc;

use quillet_agent::Permissions;
use quillet_core::tool::{Tool, ToolContext, ToolError, ToolErrorKind, ToolSpec};
use quillet_core::{BoxFuture, Map, Span, Value};

use super::failure::refuse;
use super::instance::Instance;
use super::params::CallParams;
use super::scope::NameScope;
use super::scripts::config_place;
use super::state::Callable;
use crate::answer::Inputs;
use crate::error::{ErrorKind, ScriptError};
use crate::host::{FETCH, Network};
use crate::library::permissions::{asks, permissions};
use crate::syntax::Script;

/// A tool as referenced in the front matter.
struct ToolReference {
    id: String,
    title: Option<String>,
}

impl Instance {
    /// Reads `ask` and `permissions.ai.call` of the script and its parents. Together with those of
    /// its callers, they determine which tools models may call here.
    pub(super) fn read_permissions(&mut self) -> Result<(), ScriptError> {
        let wrong = |diagnostics| ScriptError {
            diagnostics,
            ..ScriptError::plain(ErrorKind::Script, "", "")
        };
        for body in &self.resolved.bodies {
            permissions(body).map_err(wrong)?;
            let asks = asks(body).map_err(wrong)?;
            if !asks.is_empty() {
                self.asks.push(asks);
            }
        }
        let config = &self.resolved.config;
        let Some(merged) = config.get("permissions") else {
            return Ok(());
        };
        // Each list was validated above. If the merged list is still invalid, it allows nothing.
        let patterns = match merged.get_path(&["ai", "call"]) {
            Some(Value::List(list)) => list.as_slice().to_vec(),
            Some(one) => vec![one.clone()],
            None => Vec::new(),
        };
        let texts: Vec<&str> = patterns.iter().filter_map(Value::as_str).collect();
        self.permissions
            .push(Permissions::parse(&texts).unwrap_or_default());
        Ok(())
    }

    /// Returns a tool from outside the script, with this script's approval rules applied.
    pub(super) fn outer(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let tools = &self.world.engine.tools;
        let tool = tools.tool(name)?;
        if self.asks.is_empty() {
            return Some(tool);
        }
        let plain = name.trim_start_matches('$');
        let names: Vec<&str> = tool.spec().names().chain([plain]).collect();
        if self.asks.iter().any(|asks| asks.allows_one_of(&names)) {
            return tools.approved_tool(name);
        }
        Some(tool)
    }

    /// Returns the network access of `$fetch`, with this script's approval rules applied.
    pub(super) fn network(&self) -> Option<Arc<dyn Network>> {
        let tools = &self.world.engine.tools;
        if self.asks.iter().any(|asks| asks.allows(FETCH)) {
            return tools.approved_network();
        }
        tools.network()
    }

    /// Checks that models may call the declared tools (`MethodNotAllowed`), before the script runs.
    pub(super) fn check_permissions(&self, scope: &NameScope) -> Result<(), ScriptError> {
        let at = config_place(&self.resolved.script.config, "tools");
        let mut wanted = self.wanted_tools().into_iter();
        wanted.try_for_each(|wanted| self.allow(&wanted.id, scope, at))
    }

    /// Checks that the declared tools exist. Runs after the imports, which may add tools.
    pub(super) async fn check_tools(
        self: &Arc<Self>,
        scope: &NameScope,
    ) -> Result<(), ScriptError> {
        let at = config_place(&self.resolved.script.config, "tools");
        for wanted in self.wanted_tools() {
            if self.callable(&wanted.id).is_none()
                && self.world.engine.tools.tool(&wanted.id).is_none()
                && self.find(&wanted.id, scope, at).await?.is_none()
            {
                return Err(self.unknown_call(&wanted.id, scope, at));
            }
        }
        Ok(())
    }

    fn allow(&self, name: &str, scope: &NameScope, at: Span) -> Result<(), ScriptError> {
        if self.permissions.is_empty() {
            return Ok(());
        }
        let plain = name.trim_start_matches('$');
        let function = tool_name(name);
        // A function or script with this name hides the tool.
        let tool = match self.callable(plain) {
            Some(_) => None,
            None => self.world.engine.tools.tool(name),
        };
        let names = tool.iter().flat_map(|tool| tool.spec().names());
        let names: Vec<&str> = [plain, &function].into_iter().chain(names).collect();
        if self
            .permissions
            .iter()
            .all(|permissions| permissions.allows_one_of(&names))
        {
            return Ok(());
        }
        let message =
            format!("MethodNotAllowed: permission denied: models may not call `{name}` here");
        let finding = scope
            .source
            .error(ErrorKind::MethodNotAllowed.code(), message, at);
        let finding = finding.help(
            "allow it under `permissions.ai.call`, in this script and in the scripts that \
            call it",
        );
        Err(ScriptError::new(ErrorKind::MethodNotAllowed, finding))
    }

    fn wanted_tools(&self) -> Vec<ToolReference> {
        let title = |value: &Value| value.as_map()?.get("title")?.as_str().map(str::to_owned);
        match self.resolved.config.get("tools") {
            Some(Value::List(list)) => {
                let wanted = list.as_slice().iter().filter_map(|item| {
                    let id = item
                        .as_str()
                        .or_else(|| item.as_map()?.get("id")?.as_str())?;
                    Some(ToolReference {
                        id: id.to_owned(),
                        title: title(item),
                    })
                });
                wanted.collect()
            }
            Some(Value::Map(map)) => {
                let wanted = map.iter().map(|(id, item)| ToolReference {
                    id: id.to_string(),
                    title: title(item).or_else(|| item.as_str().map(str::to_owned)),
                });
                wanted.collect()
            }
            Some(Value::Str(one)) => vec![ToolReference {
                id: one.to_string(),
                title: None,
            }],
            _ => Vec::new(),
        }
    }

    /// Returns the tools that are offered to the model.
    pub(super) async fn tools(
        self: &Arc<Self>,
        scope: &NameScope,
        at: Span,
    ) -> Result<Vec<Arc<dyn Tool>>, ScriptError> {
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        for wanted in self.wanted_tools() {
            self.allow(&wanted.id, scope, at)?;
            let name = wanted.id.trim_start_matches('$');
            let callable = self.callable(name);
            if let Some(Callable::Script(script)) = callable {
                tools.push(self.offered_script(script, wanted, scope, at)?);
            } else if let Some(function) = callable {
                let spec = self.function_spec(&function, wanted);
                tools.push(self.offered(spec, function, at));
            } else if let Some(script) = self.find(&wanted.id, scope, at).await? {
                tools.push(self.offered_script(script, wanted, scope, at)?);
            } else if let Some(tool) = self.outer(&wanted.id) {
                tools.push(tool);
            } else {
                return Err(self.unknown_call(&wanted.id, scope, at));
            }
        }
        Ok(tools)
    }

    fn offered_script(
        self: &Arc<Self>,
        script: Arc<Script>,
        wanted: ToolReference,
        scope: &NameScope,
        at: Span,
    ) -> Result<Arc<dyn Tool>, ScriptError> {
        let mut spec =
            script_spec(&script, &wanted.id).map_err(|message| refuse(scope, at, message))?;
        if let Some(title) = wanted.title {
            spec.description = title;
        }
        Ok(self.offered(spec, Callable::Script(script), at))
    }

    fn offered(self: &Arc<Self>, spec: ToolSpec, callable: Callable, at: Span) -> Arc<dyn Tool> {
        let instance = self.clone();
        Arc::new(CallableTool {
            spec,
            instance,
            callable,
            at,
        })
    }

    /// Describes a function as a tool, with its parameters by name if they are known.
    fn function_spec(&self, function: &Callable, wanted: ToolReference) -> ToolSpec {
        let mut properties = serde_json::Map::new();
        let mut required = Vec::new();
        for parameter in self.parameters(function).unwrap_or_default() {
            if !parameter.name.is_empty() && !parameter.optional && !parameter.rest {
                required.push(parameter.name.clone());
            }
            let names = if parameter.name.is_empty() {
                parameter.keys
            } else {
                vec![parameter.name]
            };
            properties.extend(names.into_iter().map(|name| (name, serde_json::json!({}))));
        }
        let mut parameters = serde_json::json!({"type": "object"});
        if !properties.is_empty() {
            parameters["properties"] = properties.into();
            parameters["required"] = required.into();
        }
        ToolSpec {
            name: tool_name(&wanted.id),
            description: wanted.title.unwrap_or_default(),
            parameters,
            ..ToolSpec::default()
        }
    }
}

/// Describes a script as a tool, with the script's `input` and its `title`, or its `description` if
/// there is no `title`.
///
/// # Errors
/// The declaration in `input` is invalid.
pub fn script_spec(script: &Script, id: &str) -> Result<ToolSpec, String> {
    let text = |key: &str| {
        script
            .config
            .get(key)
            .and_then(|node| node.text())
            .map(str::to_owned)
    };
    let config = script.config.value();
    let config = config.as_map().cloned().unwrap_or_default();
    let declared = config.get("input").cloned().unwrap_or_default();
    let inputs = Inputs::read(&declared).map_err(|problems| {
        let messages: Vec<String> = problems
            .into_iter()
            .map(|problem| problem.message)
            .collect();
        messages.join("; ")
    })?;
    Ok(ToolSpec {
        name: tool_name(id),
        description: text("title")
            .or_else(|| text("description"))
            .unwrap_or_default(),
        parameters: inputs.to_parameters_schema(),
        returns: config.get("output").map(serde_json::Value::from),
        ..ToolSpec::default()
    })
}

/// Converts an id to a tool name that providers accept: letters, digits, `_` and `-`.
fn tool_name(id: &str) -> String {
    let plain = id.trim_start_matches('$');
    let letter = |c: char| {
        if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') {
            c
        } else {
            '_'
        }
    };
    plain.chars().map(letter).collect()
}

/// A script or a function as a tool for the model.
struct CallableTool {
    spec: ToolSpec,
    instance: Arc<Instance>,
    callable: Callable,
    at: Span,
}

impl fmt::Debug for CallableTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Offered")
            .field("name", &self.spec.name)
            .finish_non_exhaustive()
    }
}

impl Tool for CallableTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        arguments: Map,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async move {
            let scope = self.instance.root();
            let parameters = self.instance.parameters(&self.callable);
            let given =
                CallParams::one(Some(Value::Map(arguments))).for_function(parameters.as_deref());
            let called = self
                .instance
                .call_function(&self.callable, given, &scope, self.at)
                .await;
            called
                .map(|(value, _)| value.unwrap_or_default())
                .map_err(|error| for_model(&error))
        })
    }
}

/// Converts a script error to a tool error for the calling model.
fn for_model(error: &ScriptError) -> ToolError {
    let kind = match error.kind {
        ErrorKind::Input => ToolErrorKind::Arguments,
        ErrorKind::NotFound => ToolErrorKind::Unknown,
        ErrorKind::MethodNotAllowed | ErrorKind::Denied | ErrorKind::Missing => {
            ToolErrorKind::Refused
        }
        ErrorKind::Limit => ToolErrorKind::Timeout,
        _ => ToolErrorKind::Remote,
    };
    ToolError::new(kind, error.message())
}
