//! `$match`: selects the patterns that fit a value and runs their instructions.

use std::sync::Arc;

use futures_util::future::try_join_all;
use quillet_core::{Map, Value};
use quillet_yaml::Node;

use super::{Flow, ScriptFrame};
use crate::error::{ErrorKind, ScriptError};
use crate::expression::{EvalError, truthy};
use crate::pattern::{Bindings, BranchPattern, CONDITION, MatchError, equal};
use crate::run::call_sequence;
use crate::run::failure::limit;
use crate::run::scope::NameScope;
use crate::run::stack::boxed;
use crate::syntax::{Branch, CallExpr};

impl ScriptFrame<'_> {
    pub(super) async fn match_directive(self, call: &CallExpr) -> Result<Flow, ScriptError> {
        self.fill_holes().await?;
        let MatchSubject {
            condition,
            all,
            parallel,
        } = boxed(|| self.matched(call)).await?;
        let mut chosen: Vec<(&Branch, NameScope)> = Vec::new();
        let mut otherwise = None;
        for branch in &call.branches {
            let pattern = self.pattern(branch)?;
            if pattern.is_else() {
                otherwise = otherwise.or(Some(branch));
                continue;
            }
            let Some(found) = boxed(|| self.fits(&pattern, &condition, branch)).await? else {
                continue;
            };
            chosen.push((branch, self.scope().with(bind(&condition, found))));
            if !all {
                break;
            }
        }
        if let (true, Some(branch)) = (chosen.is_empty(), otherwise) {
            chosen.push((
                branch,
                self.scope().with(bind(&condition, Bindings::default())),
            ));
        }
        self.branches(&chosen, parallel).await
    }

    /// Matches a value against a pattern. Returns the names that the pattern binds.
    async fn fits(
        self,
        pattern: &BranchPattern,
        condition: &Option<Value>,
        branch: &Branch,
    ) -> Result<Option<Bindings>, ScriptError> {
        let inner = self.scope().with(bind(condition, Bindings::default()));
        let mut found = Bindings::default();
        let inner = self.inside(&inner);
        let at = branch.key.span;
        let names = inner.names();
        match pattern.matches(condition, &mut found, &names) {
            Ok(fits) => Ok(fits.then_some(found)),
            Err(MatchError::Regex(problem)) => Err(limit(
                self.scope(),
                at,
                problem.to_string(),
                "the pattern's simplicity",
            )),
            Err(MatchError::Expression { error, span }) => match pattern.code() {
                Some(code) if error == EvalError::JavaScript => {
                    let value = inner.javascript(&code.text, code.span).await?;
                    let fits = if code.test {
                        truthy(&value)
                    } else {
                        equal(&value, condition)
                    };
                    Ok(fits.then_some(found))
                }
                _ => Err(self.eval_error(error, &branch.key.value, span)),
            },
        }
    }

    async fn branches(
        self,
        chosen: &[(&Branch, NameScope)],
        parallel: bool,
    ) -> Result<Flow, ScriptError> {
        if parallel {
            let runs = chosen.iter().map(|(branch, scope)| {
                let run = self.inside(scope).block(&branch.block);
                call_sequence::within(call_sequence::child(), run)
            });
            let flows = try_join_all(runs).await?;
            let leaves = flows.into_iter().find(|flow| *flow != Flow::Next);
            return Ok(leaves.unwrap_or(Flow::Next));
        }
        for (branch, scope) in chosen {
            match self.inside(scope).block(&branch.block).await? {
                Flow::Next => {}
                leave => return Ok(leave),
            }
        }
        Ok(Flow::Next)
    }

    /// Evaluates the arguments of `$match`.
    async fn matched(self, call: &CallExpr) -> Result<MatchSubject, ScriptError> {
        let mut named = Map::default();
        let mut condition = self.last();
        if let Some(arguments) = &call.arguments {
            let bound = self.arguments(arguments, None).await?;
            if let Some(first) = bound.positional.first() {
                condition = first.clone();
            } else if let Some(given) = bound.named.get("condition") {
                condition = Some(given.clone());
            }
            named = bound.named;
        }
        // `condition` among the patterns is an expression, like the one in parentheses.
        if let Some(node) = call.field("condition") {
            condition = match node.as_str() {
                Some(text) => self.expression_text(text, node.span).await?,
                None => self.node(node).await?,
            };
        }
        let flag = |name: &str| matches!(named.get(name), Some(Value::Bool(true)));
        let field_flag = |name: &str| {
            let value = call.field(name).map(Node::value);
            matches!(value, Some(Value::Bool(true)))
        };
        Ok(MatchSubject {
            condition,
            all: flag("allMatches") || field_flag("allMatches"),
            parallel: flag("parallel") || field_flag("parallel"),
        })
    }

    fn pattern(self, branch: &Branch) -> Result<BranchPattern, ScriptError> {
        BranchPattern::parse(&branch.key.value, branch.key.span).map_err(|problem| {
            let source = self.source();
            let finding = source.error("script.match", problem.message, problem.span);
            let finding = match problem.help {
                Some(help) => finding.help(help),
                None => finding,
            };
            ScriptError::new(ErrorKind::Script, finding)
        })
    }
}

/// The value and options of a `$match`.
struct MatchSubject {
    condition: Option<Value>,
    all: bool,
    parallel: bool,
}

/// Binds the condition as `COND__`, together with the names of the pattern.
fn bind(condition: &Option<Value>, found: Bindings) -> Vec<(Arc<str>, Option<Value>)> {
    let own = (Arc::from(CONDITION), condition.clone());
    let found = found.into_iter().map(|(name, value)| (name, Some(value)));
    std::iter::once(own).chain(found).collect()
}
