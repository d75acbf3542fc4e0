//! What a node or a text of a script means where it is used as a value.

use std::sync::Arc;

use quillet_core::{BoxFuture, Map, Span, Table, Value};
use quillet_yaml::{Data, Node, Style};

use super::expressions::fail;
use super::instance::Instance;
use super::params::Params;
use super::scope::Scope;
use crate::argument::{self, ArgumentValue};
use crate::error::ScriptError;
use crate::syntax::Text;
use crate::text::prefix::{self, Form, Position};

impl Instance {
    /// The value of a node: expressions are evaluated and templates rendered, at every depth
    /// (notes 50, 92).
    pub(crate) fn node<'a>(
        self: &'a Arc<Self>,
        node: &'a Node,
        scope: &'a Scope,
    ) -> BoxFuture<'a, Result<Option<Value>, ScriptError>> {
        Box::pin(async move {
            match &node.data {
                Data::Scalar(_) if is_function(node) => self.anonymous(node, scope).map(Some),
                Data::Scalar(scalar) => match scalar.value.as_str() {
                    Some(text) if scalar.style == Style::Plain || !text.is_empty() => {
                        self.text_value(text, node.span, scope).await
                    }
                    _ => Ok(Some(scalar.value.clone())),
                },
                Data::List(items) => {
                    let mut list = Vec::with_capacity(items.len());
                    for item in items {
                        list.push(self.node(item, scope).await?.unwrap_or_default());
                    }
                    Ok(Some(Value::from(list)))
                }
                Data::Map(entries) => {
                    let mut table = Table::default();
                    for entry in entries {
                        if let Some(value) = self.node(&entry.value, scope).await? {
                            table.insert(entry.name().into(), value);
                        }
                    }
                    Ok(Some(Value::Map(Map::new(table))))
                }
            }
        })
    }

    /// The value of a text where a value stands: by its prefix, with templates and calls in it.
    pub(crate) async fn text_value(
        self: &Arc<Self>,
        text: &str,
        at: Span,
        scope: &Scope,
    ) -> Result<Option<Value>, ScriptError> {
        let read = prefix::read(text, Position::Argument);
        if let Some(instead) = read.deprecated {
            self.deprecated(text, instead, at, scope);
        }
        match read.form {
            Form::Raw => Ok(Some(Value::from(read.text))),
            Form::Expression => self.expression_text(read.text, scope, at).await,
            Form::Default if self.formats_nothing() => Ok(Some(Value::from(read.text))),
            Form::Immediate | Form::Default => self.filled(read.text, at, scope).await,
        }
    }

    /// The value of an argument string: `f(…)`. `piped` is `content` and `result` inside of it
    /// (note 68).
    pub(crate) async fn arguments(
        self: &Arc<Self>,
        text: &Text,
        scope: &Scope,
        piped: Option<&Value>,
    ) -> Result<Params, ScriptError> {
        let inner = match piped {
            Some(value) => scope.with(vec![
                (Arc::from("content"), Some(content_of(value))),
                (Arc::from("result"), Some(value.clone())),
            ]),
            None => scope.clone(),
        };
        let read = argument::parse(&text.value, text.span).map_err(|problem| {
            let finding = scope.source.error("script.arguments", problem.message, problem.span);
            let finding = match problem.help {
                Some(help) => finding.help(help),
                None => finding,
            };
            ScriptError::new(crate::error::ErrorKind::Script, finding)
        })?;
        let mut values = Vec::with_capacity(read.items.len());
        for item in &read.items {
            values.push(self.argument(&item.value, item.span, &inner).await?);
        }
        let bound = argument::bind(&read, values);
        Ok(Params {
            positional: bound.positional,
            named: bound.named,
            given: !read.items.is_empty(),
            ..Params::default()
        })
    }

    async fn argument(
        self: &Arc<Self>,
        value: &ArgumentValue,
        at: Span,
        scope: &Scope,
    ) -> Result<Option<Value>, ScriptError> {
        match value {
            ArgumentValue::Literal(value) => match value.as_str() {
                Some(text) => self.text_value(text, at, scope).await,
                None => Ok(Some(value.clone())),
            },
            ArgumentValue::Template(text) => self.filled(text, at, scope).await,
            ArgumentValue::Expression { text, parsed } => {
                self.parsed_expression(parsed, text, scope, at).await
            }
            ArgumentValue::Text(text) => Ok(Some(Value::from(text.as_str()))),
            ArgumentValue::Choice(choice) => Ok(Some(choice.value())),
            ArgumentValue::Skipped => Ok(None),
        }
    }

    /// A text with its templates rendered and its calls made. A text that is one call alone is
    /// that call's value, not its text.
    pub(crate) async fn filled(
        self: &Arc<Self>,
        text: &str,
        at: Span,
        scope: &Scope,
    ) -> Result<Option<Value>, ScriptError> {
        if !text.contains("[[") {
            return Ok(Some(Value::from(self.render(text, scope, at).await?)));
        }
        self.fill_text(text, at, scope).await.map(Some)
    }

    fn formats_nothing(&self) -> bool {
        let strategy = self.setting("formatStringStrategy");
        matches!(&strategy, Some(Value::Str(name)) if name.eq_ignore_ascii_case("raw"))
    }

    pub(crate) fn deprecated(&self, text: &str, instead: &str, at: Span, scope: &Scope) {
        let first: String = text.chars().take(1).collect();
        let message = format!("`{first}` here is an old mark of the language");
        let finding = scope.source.warning("script.deprecated", message, at);
        self.world.warn(finding.help(format!("since v0.9.0 it is written `{instead}`")));
    }
}

/// Whether a node declares a function.
pub(crate) fn is_function(node: &Node) -> bool {
    matches!(node.tag.as_deref(), Some("fn" | "fn#"))
}

/// What `content` means in the arguments of a link.
fn content_of(value: &Value) -> Value {
    match value.as_map().and_then(|map| map.get("content")) {
        Some(content) => content.clone(),
        None => value.clone(),
    }
}

/// That a node is not what a directive takes.
pub(crate) fn refuse(scope: &Scope, at: Span, message: impl Into<String>) -> ScriptError {
    fail(scope, at, "script.invalid", message.into())
}
