//! `$match`: which of its patterns a value fits, and what is done then.

use std::sync::Arc;

use futures_util::future::try_join_all;
use quillet_core::{Map, Value};
use quillet_yaml::Node;

use super::exec::Flow;
use super::expressions::View;
use super::failure::limit;
use super::instance::Instance;
use super::scope::Scope;
use super::stack::boxed;
use crate::error::{ErrorKind, ScriptError};
use crate::expression::{EvalError, truthy};
use crate::pattern::{Bindings, CONDITION, MatchError, Pattern, equal};
use crate::syntax::{Branch, Call};

impl Instance {
    pub(crate) async fn match_directive(
        self: &Arc<Self>,
        call: &Call,
        scope: &Scope,
    ) -> Result<Flow, ScriptError> {
        self.fill_holes().await?;
        let Matched {
            condition,
            all,
            parallel,
        } = boxed(|| self.matched(call, scope)).await?;
        let mut chosen: Vec<(&Branch, Scope)> = Vec::new();
        let mut otherwise = None;
        for branch in &call.branches {
            let pattern = pattern(branch, scope)?;
            if pattern.is_else() {
                otherwise = otherwise.or(Some(branch));
                continue;
            }
            let Some(found) = boxed(|| self.fits(&pattern, &condition, branch, scope)).await?
            else {
                continue;
            };
            chosen.push((branch, scope.with(bind(&condition, found))));
            if !all {
                break;
            }
        }
        if let (true, Some(branch)) = (chosen.is_empty(), otherwise) {
            chosen.push((branch, scope.with(bind(&condition, Bindings::default()))));
        }
        self.branches(&chosen, parallel).await
    }

    /// Whether a value fits a pattern, and the names that the pattern gives to its parts.
    async fn fits(
        self: &Arc<Self>,
        pattern: &Pattern,
        condition: &Option<Value>,
        branch: &Branch,
        scope: &Scope,
    ) -> Result<Option<Bindings>, ScriptError> {
        let inner = scope.with(bind(condition, Bindings::default()));
        let mut found = Bindings::default();
        let view = View::new(self, &inner);
        let at = branch.key.span;
        match pattern.matches(condition, &mut found, &view) {
            Ok(fits) => Ok(fits.then_some(found)),
            Err(MatchError::Regex(problem)) => Err(limit(
                scope,
                at,
                problem.to_string(),
                "the pattern's simplicity",
            )),
            Err(MatchError::Expression { error, span }) => match pattern.code() {
                Some(code) if error == EvalError::JavaScript => {
                    let value = self.javascript(&code.text, &inner, code.span).await?;
                    let fits = if code.test {
                        truthy(&value)
                    } else {
                        equal(&value, condition)
                    };
                    Ok(fits.then_some(found))
                }
                _ => Err(self.eval_error(error, &branch.key.value, scope, span)),
            },
        }
    }

    async fn branches(
        self: &Arc<Self>,
        chosen: &[(&Branch, Scope)],
        parallel: bool,
    ) -> Result<Flow, ScriptError> {
        if parallel {
            let runs = chosen
                .iter()
                .map(|(branch, scope)| self.block(&branch.block, scope));
            let flows = try_join_all(runs).await?;
            let leaves = flows.into_iter().find(|flow| *flow != Flow::Next);
            return Ok(leaves.unwrap_or(Flow::Next));
        }
        for (branch, scope) in chosen {
            match self.block(&branch.block, scope).await? {
                Flow::Next => {}
                leave => return Ok(leave),
            }
        }
        Ok(Flow::Next)
    }

    /// What `$match` looks at, and how.
    async fn matched(self: &Arc<Self>, call: &Call, scope: &Scope) -> Result<Matched, ScriptError> {
        let mut named = Map::default();
        let mut condition = self.state().last.clone();
        if let Some(arguments) = &call.arguments {
            let bound = self.arguments(arguments, scope, None).await?;
            if let Some(first) = bound.positional.first() {
                condition = first.clone();
            } else if let Some(given) = bound.named.get("condition") {
                condition = Some(given.clone());
            }
            named = bound.named;
        }
        // Among the patterns: `condition` is an expression, as in the parentheses.
        if let Some(node) = call.field("condition") {
            condition = match node.as_str() {
                Some(text) => self.expression_text(text, scope, node.span).await?,
                None => self.node(node, scope).await?,
            };
        }
        let flag = |name: &str| matches!(named.get(name), Some(Value::Bool(true)));
        let field_flag = |name: &str| {
            let value = call.field(name).map(Node::value);
            matches!(value, Some(Value::Bool(true)))
        };
        Ok(Matched {
            condition,
            all: flag("allMatches") || field_flag("allMatches"),
            parallel: flag("parallel") || field_flag("parallel"),
        })
    }
}

fn pattern(branch: &Branch, scope: &Scope) -> Result<Pattern, ScriptError> {
    Pattern::parse(&branch.key.value, branch.key.span).map_err(|problem| {
        let finding = scope
            .source
            .error("script.match", problem.message, problem.span);
        let finding = match problem.help {
            Some(help) => finding.help(help),
            None => finding,
        };
        ScriptError::new(ErrorKind::Script, finding)
    })
}

/// What `$match` looks at, and how.
struct Matched {
    condition: Option<Value>,
    all: bool,
    parallel: bool,
}

/// The condition as `COND__`, and what the pattern bound.
fn bind(condition: &Option<Value>, found: Bindings) -> Vec<(Arc<str>, Option<Value>)> {
    let own = (Arc::from(CONDITION), condition.clone());
    let found = found.into_iter().map(|(name, value)| (name, Some(value)));
    std::iter::once(own).chain(found).collect()
}
