//! Functions of a script, as its templates call them.

use std::sync::Arc;

use quillet_core::{BoxFuture, Span, Value};
use quillet_template::{Arguments, CallError, Functions};

use super::instance::Instance;
use super::scope::Scope;
use super::state::Callable;
use crate::error::{ErrorKind, ScriptError};
use crate::library::Spot;
use crate::syntax::Text;
use crate::text::template::TemplateError;

/// What a template can call: functions declared with `!fn#`, and those imported for templates.
#[derive(Debug)]
pub(crate) struct TemplateFunctions {
    instance: Arc<Instance>,
    scope: Scope,
    at: Span,
    names: Vec<Arc<str>>,
}

impl TemplateFunctions {
    pub(crate) fn new(instance: Arc<Instance>, scope: Scope, at: Span) -> Self {
        let names = instance
            .state()
            .template_functions
            .keys()
            .cloned()
            .collect();
        TemplateFunctions {
            instance,
            scope,
            at,
            names,
        }
    }

    fn function(&self, name: &str) -> Option<Callable> {
        self.instance.state().template_functions.get(name).cloned()
    }
}

impl Functions for TemplateFunctions {
    fn contains(&self, name: &str) -> bool {
        self.names.iter().any(|known| &**known == name)
    }

    fn names(&self) -> Vec<&str> {
        self.names.iter().map(|name| &**name).collect()
    }

    fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: Arguments,
    ) -> BoxFuture<'a, Result<Value, CallError>> {
        Box::pin(async move {
            let Some(callable) = self.function(name) else {
                return Err(CallError::new(format!(
                    "there is no template function `{name}`"
                )));
            };
            let mut given: Vec<Option<Value>> =
                arguments.positional.into_iter().map(Some).collect();
            if !arguments.named.is_empty() {
                given.push(Some(Value::Map(arguments.named)));
            }
            let called = self
                .instance
                .call_function(&callable, given, &self.scope, self.at)
                .await;
            match called {
                Ok((value, _)) => Ok(value.unwrap_or_default()),
                Err(error) => Err(CallError::new(error.message())),
            }
        })
    }
}

impl Instance {
    /// A failed template with its place in the script: in the text where that stands in the file as
    /// it is, or else the text itself.
    pub(super) fn template_error(
        &self,
        problem: TemplateError,
        text: &str,
        scope: &Scope,
        at: Span,
    ) -> ScriptError {
        let message = match &problem.variable {
            Some(variable) => format!("in the template of `{variable}`: {}", problem.message),
            None => problem.message.clone(),
        };
        let inner = problem.span.filter(|_| problem.variable.is_none());
        let place = inner
            .and_then(|span| {
                part_of(scope, text, at, span).or_else(|| within(scope, text, at, span))
            })
            .unwrap_or(at);
        let finding = scope.source.error(problem.code, message, place);
        let finding = match problem.help {
            Some(help) => finding.help(help),
            None => finding,
        };
        ScriptError::new(ErrorKind::Template, finding)
    }
}

/// The place of a part of a text that stands in the file in another way, such as indented. A text
/// in which holes were marked is none of the file's.
fn within(scope: &Scope, text: &str, at: Span, part: Span) -> Option<Span> {
    if text.contains('\u{f8ff}') {
        return None;
    }
    let text = Text {
        span: at,
        value: text.into(),
    };
    Some(Spot::new(&text, part.start..part.end).span(&scope.source))
}

/// The place of a part of a text, where the text stands in the file as it is.
fn part_of(scope: &Scope, text: &str, at: Span, part: Span) -> Option<Span> {
    let written = scope.source.text.get(at.start..at.end)?;
    let start = at.start + written.find(text)?;
    Some(Span {
        start: start + part.start,
        end: start + part.end,
    })
}
