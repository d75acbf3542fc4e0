//! Expressions: the native evaluator handles most of them, JavaScript the others.

use std::path::Path;
use std::sync::Arc;

use quillet_core::{Span, Value, nearest};

use super::budget::rounded;
use super::dialogue;
use super::failure::fail;
use super::instance::Instance;
use super::scope::NameScope;
use super::stack::boxed;
use crate::directive::Directive;
use crate::error::{ErrorKind, ScriptError};
use crate::expression::{EvalError, NameResolver, NameValue, ParsedExpression};
use crate::text::prefix::{self, FormatTime};
use crate::text::template::UNKNOWN_NAME;

/// Result of an expression in a message.
pub(crate) enum ComputedValue {
    /// A template that must be rendered immediately.
    Template(String),
    /// A value.
    Value(Option<Value>),
}

impl Instance {
    /// Evaluates an expression; `None` is JavaScript's `undefined`.
    pub(crate) async fn expression(
        self: &Arc<Self>,
        text: &str,
        scope: &NameScope,
        at: Span,
    ) -> Result<Option<Value>, ScriptError> {
        let parsed = self.world.expressions.parsed(text);
        self.parsed_expression(&parsed, text, scope, at).await
    }

    /// Evaluates an expression that is already parsed.
    pub(crate) async fn parsed_expression(
        self: &Arc<Self>,
        parsed: &ParsedExpression,
        text: &str,
        scope: &NameScope,
        at: Span,
    ) -> Result<Option<Value>, ScriptError> {
        let native = match parsed {
            ParsedExpression::Native(native) => native,
            ParsedExpression::JavaScript => {
                return boxed(|| self.javascript(text, scope, at)).await;
            }
            ParsedExpression::Invalid(problem) => {
                let message = format!("`{text}` is not an expression: {}", problem.message);
                let finding = scope.source.error("script.expression", message, at);
                return Err(ScriptError::new(ErrorKind::Script, finding));
            }
        };
        let latest = self.with_hidden(text, scope);
        let scope = latest.as_ref().unwrap_or(scope);
        let view = NameView::new(self, scope);
        match native.evaluate(&view) {
            Ok(value) => Ok(value),
            Err(EvalError::JavaScript) => boxed(|| self.javascript(text, scope, at)).await,
            Err(error) => Err(self.eval_error(error, text, scope, at)),
        }
    }

    /// Returns a scope in which `LatestResult` includes the hidden fields that an expression names.
    fn with_hidden(&self, text: &str, scope: &NameScope) -> Option<NameScope> {
        let state = self.state();
        if state.hidden.is_empty() || !text.contains("LatestResult") {
            return None;
        }
        Some(scope.with(vec![("LatestResult".into(), state.latest(text))]))
    }

    /// Converts an error of the native evaluator to a script error.
    pub(super) fn eval_error(
        &self,
        error: EvalError,
        text: &str,
        scope: &NameScope,
        at: Span,
    ) -> ScriptError {
        let (kind, message) = match error {
            EvalError::Unknown { name, .. } => return self.unknown_name(&name, scope, at),
            EvalError::Limit { message, .. } => (ErrorKind::Limit, message),
            EvalError::Throws { message, .. } => (ErrorKind::Thrown, message),
            EvalError::JavaScript => (ErrorKind::Script, "this needs JavaScript".to_owned()),
        };
        fail(scope, at, kind, format!("`{text}`: {message}"))
    }

    /// Evaluates the expression after `?=` and immediately renders a result that begins with `#`.
    pub(crate) async fn expression_text(
        self: &Arc<Self>,
        text: &str,
        scope: &NameScope,
        at: Span,
    ) -> Result<Option<Value>, ScriptError> {
        match self.expression_value(text, scope, at).await? {
            ComputedValue::Value(value) => Ok(value),
            ComputedValue::Template(text) => {
                Ok(Some(Value::from(self.render(&text, scope, at).await?)))
            }
        }
    }

    /// Evaluates the expression after `?=`. Only text that the author wrote in the expression
    /// counts as a template, because any other text may be data.
    pub(crate) async fn expression_value(
        self: &Arc<Self>,
        text: &str,
        scope: &NameScope,
        at: Span,
    ) -> Result<ComputedValue, ScriptError> {
        let code = text.trim_start();
        let code = code.strip_prefix("?=").unwrap_or(code).trim();
        let value = self.expression(code, scope, at).await?;
        let Some(text) = value.as_ref().and_then(Value::as_str) else {
            return Ok(ComputedValue::Value(value));
        };
        let (form, template) = prefix::expression_result(text);
        let written = code.contains(text) || template.contains("{{") && code.contains(template);
        if form == FormatTime::Immediate && written {
            Ok(ComputedValue::Template(template.to_owned()))
        } else {
            Ok(ComputedValue::Value(value))
        }
    }

    /// Returns the error for an unknown name.
    pub(crate) fn unknown_name(&self, name: &str, scope: &NameScope, at: Span) -> ScriptError {
        let known = self.names(scope);
        let message = format!("unknown variable `{name}`");
        let finding = scope.source.error(UNKNOWN_NAME, message, at);
        let help = match nearest(name, known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("set it with `$set`, or write `this.{name}` if it is optional"),
        };
        ScriptError::new(ErrorKind::Script, finding.help(help))
    }

    /// Returns all names that an expression can use.
    pub(crate) fn names(&self, scope: &NameScope) -> Vec<String> {
        let state = self.state();
        let mut names: Vec<String> = scope
            .bound()
            .into_iter()
            .map(|(name, _)| name.to_string())
            .collect();
        names.extend(state.prompt.keys().map(ToString::to_string));
        names.extend(state.variables.keys().map(ToString::to_string));
        names.extend(state.functions.keys().map(|name| format!("${name}")));
        names.extend(["LatestResult", "prompt", "parameters", "ENV", "id"].map(str::to_owned));
        names
    }

    /// Looks up a name in this order: enclosing scopes, `prompt`, variables, built-in names.
    pub(crate) fn lookup(&self, name: &str, scope: &NameScope) -> NameValue {
        if let Some(bound) = scope.get(name) {
            return bound
                .cloned()
                .map_or(NameValue::Undefined, NameValue::Value);
        }
        let state = self.state();
        if let Some(value) = state.prompt.get(name).or_else(|| state.variables.get(name)) {
            return NameValue::Value(value.clone());
        }
        let own = match name {
            "LatestResult" => state.last.clone(),
            "prompt" => Some(state.prompt_value(dialogue::values(self.dialogue().messages()))),
            "parameters" => Some(Value::Map(quillet_core::Map::new(state.parameters.clone()))),
            "id" => Some(Value::from(self.id.as_str())),
            "ENV" => Some(self.environment()),
            "stats" => Some(self.statistics()),
            "__filename" => scope.source.path.as_deref().map(path_text),
            "__dirname" => scope
                .source
                .path
                .as_deref()
                .and_then(Path::parent)
                .map(path_text),
            _ if state.undefined.contains(name) => None,
            _ if state.functions.contains_key(name.trim_start_matches('$')) => {
                return NameValue::Function;
            }
            _ if name.starts_with('$') && Directive::named(name).is_some() => {
                return NameValue::Function;
            }
            _ => match self.world.environment.get(name) {
                Some(value) => Some(value.clone()),
                None => return NameValue::Missing,
            },
        };
        own.map_or(NameValue::Undefined, NameValue::Value)
    }

    /// Returns the environment variables that the script may read.
    fn environment(&self) -> Value {
        Value::Map(self.world.environment.clone())
    }

    fn statistics(&self) -> Value {
        let budget = &self.world.budget;
        let (spent, limits) = (budget.spent(), budget.limits());
        let number = |number: u64| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
        let tokens = spent.tokens.total_tokens();
        let tokens_left = limits.tokens.map(|most| most.saturating_sub(tokens));
        let cost_left = limits
            .cost
            .map(|most| rounded((most - spent.cost).max(0.0)));
        Value::Map(quillet_core::Map::from_iter([
            ("modelCalls", number(budget.model_calls())),
            ("inputTokens", number(spent.tokens.input_tokens)),
            ("outputTokens", number(spent.tokens.output_tokens)),
            ("totalTokens", number(tokens)),
            ("cost", Value::from(rounded(spent.cost))),
            ("tokensLeft", tokens_left.map_or(Value::Null, number)),
            ("costLeft", cost_left.map_or(Value::Null, Value::from)),
        ]))
    }
}

fn path_text(path: &Path) -> Value {
    Value::from(path.display().to_string())
}

/// Resolves the names of a script from one position in it.
pub(super) struct NameView<'a> {
    instance: &'a Instance,
    scope: &'a NameScope,
}

impl<'a> NameView<'a> {
    pub(super) fn new(instance: &'a Instance, scope: &'a NameScope) -> Self {
        NameView { instance, scope }
    }
}

impl NameResolver for NameView<'_> {
    fn get(&self, name: &str) -> NameValue {
        self.instance.lookup(name, self.scope)
    }

    fn this(&self, name: &str) -> NameValue {
        self.instance.lookup(name, self.scope)
    }
}
