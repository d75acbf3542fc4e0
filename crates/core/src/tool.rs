//! Tools. A tool does not depend on its caller: a template, an agent, a script or an MCP client.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::{BoxFuture, Diagnostic, ErrorCode, Map, MapTable, MediaUrl, Value};

/// The declaration of a tool: its name, description and parameters.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ToolSpec {
    /// The function name that templates and models use.
    pub name: String,
    /// Other names for permissions: `prompt/ID`, `script/ID`, `agent/ID`, `database/NAME`, or the
    /// id of a stored tool.
    #[serde(skip)]
    pub also: Vec<String>,
    /// Description for people and models.
    pub description: String,
    /// JSON Schema of the arguments object. The order of `properties` is the order of positional
    /// arguments.
    pub parameters: serde_json::Value,
    /// Parameter that receives all positional arguments as a list, for tools without declared
    /// parameters. It does not count as a declared parameter.
    #[serde(skip)]
    pub rest: Option<String>,
    /// JSON Schema of the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returns: Option<serde_json::Value>,
    /// Whether equal calls may share one result.
    pub idempotent: bool,
    /// Whether a call with an unknown outcome may be repeated.
    #[serde(skip)]
    pub repeat: Idempotency,
    /// Fallback value for the result of a failed call.
    pub default: Value,
}

/// Whether a call may be repeated after its process stopped during the call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Idempotency {
    /// Always: the call has no effects, or is idempotent.
    Freely,
    /// With [`ToolContext::call`] as the idempotency key of the remote side.
    WithKey,
    /// Never without a decision of a person.
    #[default]
    Never,
}

/// Context of a tool call: its deadline, and the request it belongs to.
#[derive(Clone, Debug, Default)]
pub struct ToolContext {
    /// Time at which the caller stops waiting.
    pub deadline: Option<Instant>,
    /// Id of the request, for logs.
    pub request_id: Arc<str>,
    /// Idempotency key: the same for each repetition of a call with an unknown outcome. Empty for
    /// calls that are never repeated.
    pub call: Arc<str>,
}

impl ToolContext {
    /// Returns the time until the deadline, at most `most`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use quillet_core::tool::ToolContext;
    ///
    /// let most = Duration::from_secs(5);
    /// // Without a deadline, the maximum applies.
    /// assert_eq!(ToolContext::default().remaining(most), most);
    /// ```
    #[must_use]
    pub fn remaining(&self, most: Duration) -> Duration {
        self.deadline.map_or(most, |deadline| {
            // After the deadline, no time remains.
            deadline.saturating_duration_since(Instant::now()).min(most)
        })
    }
}

/// A tool: a named function whose arguments are a JSON object.
///
/// # Examples
///
/// ```
/// use quillet_core::tool::{Tool, ToolContext, ToolError, ToolSpec};
/// use quillet_core::{BoxFuture, Map, Value};
///
/// #[derive(Debug)]
/// struct Upper(ToolSpec);
///
/// impl Tool for Upper {
///     fn spec(&self) -> &ToolSpec {
///         &self.0
///     }
///
///     fn call<'a>(
///         &'a self,
///         arguments: Map,
///         _context: &'a ToolContext,
///     ) -> BoxFuture<'a, Result<Value, ToolError>> {
///         Box::pin(async move {
///             let text = arguments.get("text").and_then(Value::as_str);
///             Ok(Value::from(text.unwrap_or_default().to_uppercase()))
///         })
///     }
/// }
/// # use std::future::Future;
/// # use std::task::{Context, Poll, Waker};
/// # let (tool, context) = (Upper(ToolSpec::default()), ToolContext::default());
/// # let mut call = tool.call(Map::from([("text", "hello")]), &context);
/// # let Poll::Ready(result) = call.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
/// #     panic!("the tool does not wait");
/// # };
/// # assert_eq!(result.unwrap(), Value::from("HELLO"));
/// ```
pub trait Tool: Send + Sync + fmt::Debug {
    /// Returns the declaration of the tool.
    fn spec(&self) -> &ToolSpec;

    /// Calls the tool. Dropping the future cancels the call.
    fn call<'a>(
        &'a self,
        arguments: Map,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Value, ToolError>>;

    /// Calls the tool for a model that can read images. By default, results have no images.
    fn call_for_model<'a>(
        &'a self,
        arguments: Map,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolAnswer, ToolError>> {
        Box::pin(async move {
            let value = self.call(arguments, context).await?;
            let images = Vec::new();
            Ok(ToolAnswer { value, images })
        })
    }
}

/// The result of a tool call, for a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolAnswer {
    /// The result.
    pub value: Value,
    /// Images of the result as `data:` URLs. The text of the result mentions each image at its
    /// position.
    pub images: Vec<MediaUrl>,
}

/// Builds tools from stored definitions. The crate of the tool protocols implements this trait, and
/// the catalogue of definitions uses it.
pub trait ToolBuilder: Send + Sync + fmt::Debug {
    /// Builds the tool of a definition. `name` is its function name, `id` its id for users and
    /// routes, and `source` its key, for messages.
    ///
    /// # Errors
    /// All problems of the definition, with their locations in `text`.
    fn build(
        &self,
        name: &str,
        id: &str,
        source: &str,
        text: &str,
    ) -> Result<BuiltTool, Vec<Diagnostic>>;

    /// Announces that tools will be called, so that slow preparations can start in the background.
    /// Must be called inside a runtime; repeated calls are allowed.
    fn prepare(&self) {}
}

/// A tool, and the warnings about its definition.
#[derive(Clone, Debug)]
pub struct BuiltTool {
    /// The tool.
    pub tool: Arc<dyn Tool>,
    /// Warnings, which do not prevent its use.
    pub warnings: Vec<Diagnostic>,
}

/// The kind of a [`ToolError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolErrorKind {
    /// The tool does not exist.
    Unknown,
    /// The arguments do not match the schema.
    Arguments,
    /// The call timed out.
    Timeout,
    /// The address or the tool is not permitted.
    Refused,
    /// The connection failed.
    Transport,
    /// The remote side answered with an error.
    Remote,
    /// The answer exceeds the size limit.
    TooLarge,
    /// The answer is invalid.
    Protocol,
}

impl ToolErrorKind {
    /// Stable code, as in warnings and error bodies.
    #[must_use]
    pub fn code(self) -> ErrorCode {
        match self {
            ToolErrorKind::Unknown => ErrorCode::ToolUnknown,
            ToolErrorKind::Arguments => ErrorCode::ToolArguments,
            ToolErrorKind::Timeout => ErrorCode::ToolTimeout,
            ToolErrorKind::Refused => ErrorCode::ToolRefused,
            ToolErrorKind::Transport => ErrorCode::ToolTransport,
            ToolErrorKind::Remote => ErrorCode::ToolRemote,
            ToolErrorKind::TooLarge => ErrorCode::ToolTooLarge,
            ToolErrorKind::Protocol => ErrorCode::ToolProtocol,
        }
    }

    /// Whether the same call may succeed when it is repeated.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::tool::ToolErrorKind;
    ///
    /// assert!(ToolErrorKind::Timeout.retryable());
    /// assert!(!ToolErrorKind::Arguments.retryable());
    /// ```
    #[must_use]
    pub fn retryable(self) -> bool {
        self.code().retryable()
    }
}

/// The error of a tool call.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// Kind of the failure.
    pub kind: ToolErrorKind,
    /// The cause, for the operator. It may contain addresses.
    pub message: String,
    /// Message for a model.
    pub for_model: String,
}

impl ToolError {
    /// Creates an error with the same message for operators and models.
    pub fn new(kind: ToolErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        ToolError {
            kind,
            for_model: message.clone(),
            message,
        }
    }
}

impl ToolSpec {
    /// Returns all names that permissions use for the tool, its function name first.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::tool::ToolSpec;
    ///
    /// let spec = ToolSpec {
    ///     name: "greet_hello".into(),
    ///     also: vec!["prompt/greet.hello".into()],
    ///     ..ToolSpec::default()
    /// };
    /// assert_eq!(spec.names().collect::<Vec<_>>(), ["greet_hello", "prompt/greet.hello"]);
    /// ```
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.name.as_str()).chain(self.also.iter().map(String::as_str))
    }

    /// Returns the parameter names in their declared order.
    pub fn parameter_names(&self) -> impl Iterator<Item = &str> {
        self.parameters
            .get("properties")
            .and_then(serde_json::Value::as_object)
            .into_iter()
            .flat_map(|properties| properties.keys().map(String::as_str))
            .filter(|name| self.rest.as_deref() != Some(*name))
    }

    /// Assigns positional arguments to the properties of the schema, in their declared order. A
    /// single object whose keys are all property names counts as named arguments. `named` arguments
    /// are added in both cases. If no parameters are declared, [`ToolSpec::rest`] receives the
    /// positional arguments as a list.
    ///
    /// # Errors
    /// There are more arguments than properties, a property is given twice, or a tool without
    /// declared parameters receives both kinds of arguments.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::tool::ToolSpec;
    /// use quillet_core::{Map, Value, json};
    ///
    /// let spec = ToolSpec {
    ///     name: "weather".into(),
    ///     parameters: serde_json::json!({"properties": {"city": {}, "days": {}}}),
    ///     ..ToolSpec::default()
    /// };
    /// let named = Map::from([("days", Value::Int(2))]);
    /// let arguments = spec.bind(vec!["Oslo".into()], &named)?;
    /// assert_eq!(json::to_string(&arguments.into()), r#"{"city":"Oslo","days":2}"#);
    /// # Ok::<(), quillet_core::tool::ToolError>(())
    /// ```
    pub fn bind(&self, positional: Vec<Value>, named: &Map) -> Result<Map, ToolError> {
        let refuse = |message| Err(ToolError::new(ToolErrorKind::Arguments, message));
        if let (Some(rest), false) = (&self.rest, positional.is_empty()) {
            if !named.is_empty() {
                return refuse(format!(
                    "{} takes positional or named arguments, not both: its definition declares no parameters",
                    self.name
                ));
            }
            let list = [(rest.as_str(), Value::from(positional))];
            return Ok(list.into_iter().collect());
        }
        let names: Vec<&str> = self.parameter_names().collect();
        if let ([Value::Map(only)], true) = (positional.as_slice(), named.is_empty()) {
            // If the object has other keys, it is the value of the first parameter.
            let all_known = !only.is_empty() && only.table().keys().all(|k| names.contains(&&**k));
            if all_known {
                return Ok(only.clone());
            }
        }
        if positional.len() > names.len() {
            return refuse(format!(
                "{} takes at most {} arguments ({}), got {}",
                self.name,
                names.len(),
                names.join(", "),
                positional.len()
            ));
        }
        let mut table: MapTable = names
            .iter()
            .zip(positional)
            .map(|(name, value)| (Arc::from(*name), value))
            .collect();
        for (name, value) in named {
            // Neither value may be dropped silently, because the author's intention is unknown.
            if table.insert(name.clone(), value.clone()).is_some() {
                return refuse(format!("{}: argument {name} is given twice", self.name));
            }
        }
        Ok(Map::new(table))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> ToolSpec {
        ToolSpec {
            name: "t".into(),
            parameters: serde_json::json!({"properties": {"z": {}, "a": {}}}),
            ..ToolSpec::default()
        }
    }

    #[test]
    fn positional_arguments_follow_the_declared_order() {
        let bound = spec()
            .bind(vec![1.into(), 2.into()], &Map::default())
            .unwrap();
        assert_eq!(crate::json::to_string(&bound.into()), r#"{"z":1,"a":2}"#);
    }

    #[test]
    fn one_object_of_known_names_is_named_arguments() {
        let object: Map = [("a", Value::Int(1))].into_iter().collect();
        let bound = spec().bind(vec![object.clone().into()], &Map::default());
        assert_eq!(bound.unwrap(), object);
        let other: Map = [("b", Value::Int(1))].into_iter().collect();
        let bound = spec().bind(vec![other.clone().into()], &Map::default());
        assert_eq!(bound.unwrap().get("z"), Some(&other.into()));
    }

    #[test]
    fn undeclared_arguments_are_a_list() {
        let spec = ToolSpec {
            parameters: serde_json::json!({"properties": {"arguments": {"type": "array"}}}),
            rest: Some("arguments".into()),
            ..spec()
        };
        let named: Map = [("a", Value::Int(1))].into_iter().collect();
        let bound = |positional, named: &Map| {
            let bound = spec.bind(positional, named);
            bound
                .map(|bound| crate::json::to_string(&bound.into()))
                .ok()
        };
        let none = Map::default();
        let object = vec![named.clone().into()];
        for (positional, named, expected) in [
            (
                vec!["x".into(), 2.into()],
                &none,
                Some(r#"{"arguments":["x",2]}"#),
            ),
            (object, &none, Some(r#"{"arguments":[{"a":1}]}"#)),
            (vec![], &named, Some(r#"{"a":1}"#)),
            (vec![], &none, Some("{}")),
            (vec![1.into()], &named, None),
        ] {
            assert_eq!(bound(positional, named).as_deref(), expected);
        }
        assert_eq!(spec.parameter_names().count(), 0);
    }

    #[test]
    fn too_many_and_doubled_arguments_are_refused() {
        let three = vec![Value::Null, Value::Null, Value::Null];
        assert!(spec().bind(three, &Map::default()).is_err());
        let named = [("z", Value::Null)].into_iter().collect();
        assert!(spec().bind(vec![Value::Null], &named).is_err());
    }
}
