//! Evaluates nodes and texts that are used as values.

use std::sync::Arc;

use quillet_core::{BoxFuture, Map, MapTable, Span, Value};
use quillet_yaml::{Node, NodeData, ScalarFormat};

use super::instance::Instance;
use super::params::CallParams;
use super::print::print;
use super::scope::NameScope;
use crate::answer::ChoiceConstraint;
use crate::argument::{self, Argument, ArgumentSlot, ArgumentValue, Arguments, BareWordPolicy};
use crate::error::{ErrorKind, ScriptError};
use crate::syntax::ScriptText;
use crate::text::prefix::{self, FormatTime, TextPosition};
use crate::text::template::UNKNOWN_NAME;

impl Instance {
    /// Evaluates a node: its expressions and templates are evaluated at every depth.
    pub(crate) fn node<'a>(
        self: &'a Arc<Self>,
        node: &'a Node,
        scope: &'a NameScope,
    ) -> BoxFuture<'a, Result<Option<Value>, ScriptError>> {
        Box::pin(async move {
            match &node.data {
                NodeData::Scalar(_) if is_function(node) => self.anonymous(node, scope).map(Some),
                NodeData::Scalar(scalar) => match scalar.value.as_str() {
                    Some(text) if scalar.style == ScalarFormat::Plain || !text.is_empty() => {
                        self.text_value(text, node.span, scope).await
                    }
                    _ => Ok(Some(scalar.value.clone())),
                },
                // Values are evaluated one after the other, in the author's order, because they may
                // call functions with side effects.
                NodeData::List(items) => {
                    let mut list = Vec::with_capacity(items.len());
                    for item in items {
                        list.push(self.node(item, scope).await?.unwrap_or_default());
                    }
                    Ok(Some(Value::from(list)))
                }
                NodeData::Map(entries) => {
                    let mut table = MapTable::default();
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

    /// Evaluates a text by its prefix, including its templates and calls.
    pub(crate) fn text_value<'a>(
        self: &'a Arc<Self>,
        text: &'a str,
        at: Span,
        scope: &'a NameScope,
    ) -> BoxFuture<'a, Result<Option<Value>, ScriptError>> {
        Box::pin(async move {
            let read = prefix::read(text, TextPosition::Argument);
            if let Some(instead) = read.deprecated {
                self.deprecated(text, instead, at, scope);
            }
            if read.form == FormatTime::Default {
                self.check_call_in_text(read.text, at, scope)?;
            }
            match read.form {
                FormatTime::Raw => Ok(Some(Value::from(read.text))),
                FormatTime::Expression => self.expression_text(read.text, scope, at).await,
                FormatTime::Default if self.formats_nothing() => Ok(Some(Value::from(read.text))),
                FormatTime::Immediate | FormatTime::Default => {
                    self.filled(read.text, at, scope).await
                }
            }
        })
    }

    /// Evaluates an argument string: `f(…)`. The arguments can read `piped` as `content` and
    /// `result`.
    pub(crate) async fn arguments(
        self: &Arc<Self>,
        text: &ScriptText,
        scope: &NameScope,
        piped: Option<&Value>,
    ) -> Result<CallParams, ScriptError> {
        let inner = match piped {
            Some(value) => scope.with(vec![
                (Arc::from("content"), Some(content_of(value))),
                (Arc::from("result"), Some(value.clone())),
            ]),
            None => scope.clone(),
        };
        let read = self.read_arguments(text, scope, BareWordPolicy::Refused)?;
        self.bound(&read, BareWordPolicy::Refused, &inner).await
    }

    /// Reads an argument string.
    pub(super) fn read_arguments(
        &self,
        text: &ScriptText,
        scope: &NameScope,
        words: BareWordPolicy,
    ) -> Result<Arguments, ScriptError> {
        argument::parse_with(&text.value, text.span, words).map_err(|problem| {
            let finding = scope
                .source
                .error("script.arguments", problem.message, problem.span);
            let finding = match problem.help {
                Some(help) => finding.help(help),
                None => finding,
            };
            ScriptError::new(ErrorKind::Script, finding)
        })
    }

    /// Evaluates arguments.
    pub(super) async fn bound(
        self: &Arc<Self>,
        read: &Arguments,
        words: BareWordPolicy,
        scope: &NameScope,
    ) -> Result<CallParams, ScriptError> {
        let mut params = CallParams {
            given: !read.items.is_empty(),
            ..CallParams::default()
        };
        for item in &read.items {
            let value = match self.argument(item, scope).await {
                // An unknown name is used as text, as in `[[@file(notes.txt)]]`.
                Err(error) if words == BareWordPolicy::Text && is_word(item, &error) => {
                    Some(Value::from(&*item.text))
                }
                value => value?,
            };
            match item.slot() {
                ArgumentSlot::Name(name) => params.set(&name, value),
                ArgumentSlot::Place | ArgumentSlot::PlaceAndName(_) => {
                    params.positional.push(value)
                }
            }
        }
        Ok(params)
    }

    async fn argument(
        self: &Arc<Self>,
        item: &Argument,
        scope: &NameScope,
    ) -> Result<Option<Value>, ScriptError> {
        let at = item.value_span;
        match &item.value {
            ArgumentValue::Literal(value) => match value.as_str() {
                Some(text) => self.text_value(text, at, scope).await,
                None => Ok(Some(value.clone())),
            },
            ArgumentValue::Template(text) => self.text_value(text, at, scope).await,
            ArgumentValue::Expression(parsed) => {
                self.parsed_expression(parsed, &item.text, scope, at).await
            }
            ArgumentValue::Text(text) => Ok(Some(Value::from(&**text))),
            ArgumentValue::Choice(choice) => {
                let options = self.options(choice, scope, at).await?;
                Ok(Some(choice.to_value(options)))
            }
            ArgumentValue::Skipped => Ok(None),
        }
    }

    /// Evaluates the options of a choice.
    fn options<'a>(
        self: &'a Arc<Self>,
        choice: &'a argument::ArgumentChoice,
        scope: &'a NameScope,
        at: Span,
    ) -> BoxFuture<'a, Result<Vec<Value>, ScriptError>> {
        Box::pin(async move {
            let mut options = Vec::with_capacity(choice.items.len());
            for value in &choice.items {
                let item = Argument {
                    name: None,
                    value: value.clone(),
                    text: Arc::from(""),
                    span: at,
                    value_span: at,
                };
                options.push(self.argument(&item, scope).await?.unwrap_or_default());
            }
            Ok(options)
        })
    }

    /// Evaluates a choice for a model.
    pub(super) async fn choice(
        self: &Arc<Self>,
        choice: &argument::ArgumentChoice,
        scope: &NameScope,
        at: Span,
    ) -> Result<ChoiceConstraint, ScriptError> {
        let options = self.options(choice, scope, at).await?;
        let mut made =
            ChoiceConstraint::one_of(options.iter().map(|option| print(Some(option))).collect());
        let count = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
        made.max_pick = choice.max_pick.map_or(made.max_pick, count);
        made.min_pick = choice.min_pick.map_or(made.min_pick, count);
        for (own, given) in [
            (&mut made.separator, &choice.separator),
            (&mut made.prefix, &choice.prefix),
            (&mut made.suffix, &choice.suffix),
        ] {
            if let Some(given) = given {
                *own = given.to_string();
            }
        }
        made.random = choice.random;
        Ok(made)
    }

    /// Renders the templates of a text and makes its calls. A text that is a single call evaluates
    /// to the value of that call.
    async fn filled(
        self: &Arc<Self>,
        text: &str,
        at: Span,
        scope: &NameScope,
    ) -> Result<Option<Value>, ScriptError> {
        if !text.contains("[[") {
            return Ok(Some(Value::from(self.render(text, scope, at).await?)));
        }
        self.fill_text(text, at, scope).await.map(Some)
    }

    /// Warns about a text that looks like a call, because it was probably meant as one.
    fn check_call_in_text(
        &self,
        text: &str,
        at: Span,
        scope: &NameScope,
    ) -> Result<(), ScriptError> {
        let Some(name) = prefix::looks_like_call(text) else {
            return Ok(());
        };
        let root = name.split('.').next().unwrap_or(name);
        // A call of an unknown name is always an error. A known name may be intended as text.
        if !self.can_call(root) {
            return Err(self.unknown_call(&format!("${name}"), scope, at));
        }
        let why = "this call is plain text: calls in values must be expressions";
        let finding = scope.source.warning("script.text", why, at);
        let help = format!("write `?=this.{text}`, or `~{text}` for plain text");
        self.world.warn(finding.help(help));
        Ok(())
    }

    fn formats_nothing(&self) -> bool {
        let strategy = self.setting("formatStringStrategy");
        matches!(&strategy, Some(Value::Str(name)) if name.eq_ignore_ascii_case("raw"))
    }

    pub(crate) fn deprecated(&self, text: &str, instead: &str, at: Span, scope: &NameScope) {
        let first: String = text.chars().take(1).collect();
        let message = format!("`{first}` is a prefix from an older version of the language");
        let finding = scope.source.warning("script.deprecated", message, at);
        self.world
            .warn(finding.help(format!("since version 0.9.0, write {instead} instead")));
    }
}

/// Returns whether an argument is a bare word that failed as an unknown name.
fn is_word(item: &Argument, error: &ScriptError) -> bool {
    let unknown = error
        .diagnostics
        .first()
        .is_some_and(|first| first.code == UNKNOWN_NAME);
    unknown && matches!(item.slot(), ArgumentSlot::PlaceAndName(_))
}

/// Returns whether a node declares a function.
pub(crate) fn is_function(node: &Node) -> bool {
    matches!(node.tag.as_deref(), Some("fn" | "fn#"))
}

/// Returns the value of `content` in the arguments of a chained call.
fn content_of(value: &Value) -> Value {
    match value.as_map().and_then(|map| map.get("content")) {
        Some(content) => content.clone(),
        None => value.clone(),
    }
}
