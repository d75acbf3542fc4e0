//! `$if`, `$while`, `$for` and `$match`, and how control moves between instructions.

use std::sync::Arc;

use futures_util::future::try_join_all;
use quillet_core::{BoxFuture, Map, Span, Value};
use quillet_yaml::{Data, Node};

use super::budget;
use super::expressions::View;
use super::instance::Instance;
use super::scope::Scope;
use super::stack::boxed;
use crate::error::{ErrorKind, ScriptError};
use crate::expression::{EvalError, truthy};
use crate::pattern::{Bindings, CONDITION, MatchError, Pattern, Range, Values, equal};
use crate::syntax::{Block, Branch, Call};

/// Where control goes after an instruction. Its result is the script's latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// To the next instruction.
    Next,
    /// Out of the innermost loop: from that place, for where there is none.
    Break(Span),
    /// To the next turn of the innermost loop.
    Continue(Span),
    /// To the end of the script.
    Return,
}

impl Instance {
    /// Does a block's instructions in order.
    pub(crate) fn block<'a>(
        self: &'a Arc<Self>,
        block: &'a Block,
        scope: &'a Scope,
    ) -> BoxFuture<'a, Result<Flow, ScriptError>> {
        Box::pin(async move {
            for item in &block.items {
                self.world.step(scope, item.span).await?;
                match self.item(item, scope).await? {
                    Flow::Next if self.world.exits() => return Ok(Flow::Return),
                    Flow::Next => {}
                    leave => return Ok(leave),
                }
            }
            Ok(Flow::Next)
        })
    }

    pub(crate) async fn if_directive(
        self: &Arc<Self>,
        call: &Call,
        scope: &Scope,
    ) -> Result<Flow, ScriptError> {
        let condition = boxed(|| self.condition(call, scope)).await?;
        let name = if condition { "then" } else { "else" };
        match branch(call, name) {
            Some(branch) => self.block(&branch.block, scope).await,
            None => Ok(Flow::Next),
        }
    }

    pub(crate) async fn while_directive(
        self: &Arc<Self>,
        call: &Call,
        scope: &Scope,
    ) -> Result<Flow, ScriptError> {
        let body = loop_body(call, scope)?;
        while boxed(|| self.condition(call, scope)).await? {
            self.world.step(scope, call.span).await?;
            match self.block(&body.block, scope).await? {
                Flow::Next | Flow::Continue(_) => {}
                Flow::Break(_) => break,
                Flow::Return => return Ok(Flow::Return),
            }
        }
        Ok(Flow::Next)
    }

    pub(crate) async fn for_directive(
        self: &Arc<Self>,
        call: &Call,
        scope: &Scope,
    ) -> Result<Flow, ScriptError> {
        let body = loop_body(call, scope)?;
        let names = LoopNames::of(call);
        let mut series = boxed(|| self.series(call, scope)).await?;
        let mut at = 0;
        while let Some((index, value)) = series.turn(at) {
            at += 1;
            self.world.step(scope, call.span).await?;
            let inner = scope.with(vec![
                (names.index.clone(), Some(index)),
                (names.value.clone(), Some(value)),
                (names.items.clone(), Some(series.items())),
            ]);
            match self.block(&body.block, &inner).await? {
                Flow::Next | Flow::Continue(_) => {}
                Flow::Break(_) => break,
                Flow::Return => return Ok(Flow::Return),
            }
        }
        Ok(Flow::Next)
    }

    /// What `$for` goes through: its value is a count, a range, data, or an expression that gives
    /// one.
    async fn series(self: &Arc<Self>, call: &Call, scope: &Scope) -> Result<Series, ScriptError> {
        let step = match field(call, "step") {
            Some(node) => self.node(node, scope).await?,
            None => None,
        };
        let (text, given) = match (&call.value, &call.arguments) {
            (Some(node), _) if !node.is_null() => match node.as_str() {
                Some(text) => (text.to_owned(), None),
                None => (String::new(), self.node(node, scope).await?),
            },
            (_, Some(arguments)) => (arguments.value.to_string(), None),
            _ => {
                return Err(missing(
                    call,
                    scope,
                    "what it goes through, such as `$for: 3`",
                ));
            }
        };
        let value = match (given, Range::parse(&text)) {
            (Some(value), _) => Some(value),
            (None, Some(range)) => return Series::range(range, step.as_ref(), call, scope),
            (None, None) => self.loop_value(&text, call, scope).await?,
        };
        Series::over(value, step.as_ref(), call, scope)
    }

    /// A text of `$for` that is no range: a template or an expression.
    async fn loop_value(
        self: &Arc<Self>,
        text: &str,
        call: &Call,
        scope: &Scope,
    ) -> Result<Option<Value>, ScriptError> {
        let at = place(call);
        let text = text.strip_prefix("?=").unwrap_or(text);
        if !text.contains("{{") && !text.contains("{%") {
            return self.expression(text, scope, at).await;
        }
        let rendered = self.render(text, scope, at).await?;
        match crate::expression::data(&rendered, &Map::default()) {
            Ok(Some(value)) => Ok(Some(value)),
            _ => Ok(Some(Value::from(rendered))),
        }
    }

    pub(crate) async fn match_directive(
        self: &Arc<Self>,
        call: &Call,
        scope: &Scope,
    ) -> Result<Flow, ScriptError> {
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
            Err(MatchError::Regex(problem)) => Err(budget::limit(
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
        if let Some(node) = field(call, "condition") {
            condition = match node.as_str() {
                Some(text) => self.expression_text(text, scope, node.span).await?,
                None => self.node(node, scope).await?,
            };
        }
        let flag = |name: &str| matches!(named.get(name), Some(Value::Bool(true)));
        let field_flag = |name: &str| {
            let value = field(call, name).map(Node::value);
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

/// The names that a loop binds.
struct LoopNames {
    value: Arc<str>,
    index: Arc<str>,
    items: Arc<str>,
}

impl LoopNames {
    fn of(call: &Call) -> Self {
        let renamed = field(call, "as");
        // `as: item` names the value alone.
        let value = renamed.and_then(Node::as_str);
        let name = |key: &str| {
            let given = renamed.and_then(|node| node.get(key)).and_then(Node::text);
            Arc::from(given.unwrap_or(key))
        };
        LoopNames {
            value: value.map_or_else(|| name("value"), Arc::from),
            index: name("index"),
            items: name("items"),
        }
    }
}

/// What a loop goes through.
enum Series {
    Range {
        values: Values,
        items: Value,
    },
    List {
        list: Value,
        length: usize,
        step: i64,
    },
    Object {
        map: Map,
    },
}

impl Series {
    fn range(
        range: Range,
        step: Option<&Value>,
        call: &Call,
        scope: &Scope,
    ) -> Result<Self, ScriptError> {
        let step = match step {
            None => 1.0,
            Some(Value::Int(step)) => *step as f64,
            Some(Value::Float(step)) => *step,
            Some(other) => {
                let message = format!("the step of a loop is a number, not {}", other.kind());
                return Err(wrong(call, scope, message));
            }
        };
        let values = range
            .values(step)
            .map_err(|problem| wrong(call, scope, problem.to_string()))?;
        let items = range.to_value(step);
        Ok(Series::Range { values, items })
    }

    fn over(
        value: Option<Value>,
        step: Option<&Value>,
        call: &Call,
        scope: &Scope,
    ) -> Result<Self, ScriptError> {
        let list = match value {
            Some(Value::Int(count)) => {
                return Series::range(Range::count(count as f64), step, call, scope);
            }
            Some(Value::Float(count)) => {
                return Series::range(Range::count(count.floor()), step, call, scope);
            }
            Some(Value::Map(map)) => return Ok(Series::Object { map }),
            Some(Value::List(list)) => list,
            Some(Value::Str(text)) => text
                .chars()
                .map(|letter| Value::from(letter.to_string()))
                .collect(),
            Some(other) => {
                return Err(wrong(
                    call,
                    scope,
                    format!("a loop cannot go through a {}", other.kind()),
                ));
            }
            None => {
                return Err(wrong(
                    call,
                    scope,
                    "a loop cannot go through undefined".to_owned(),
                ));
            }
        };
        let length = list.as_slice().len();
        let step = match step {
            None => 1,
            Some(Value::Int(step)) if *step != 0 => *step,
            Some(_) => {
                let message = "the step through a list is a whole number, not 0".to_owned();
                return Err(wrong(call, scope, message));
            }
        };
        Ok(Series::List {
            list: Value::List(list),
            length,
            step,
        })
    }

    /// The index and the value of a turn, or `None` after the last.
    fn turn(&mut self, at: usize) -> Option<(Value, Value)> {
        match self {
            Series::Range { values, .. } => Some((Value::Int(at as i64), values.next()?)),
            Series::List {
                list: Value::List(list),
                length,
                step,
            } => {
                let index = nth(at, *length, *step)?;
                Some((
                    Value::Int(index as i64),
                    list.as_slice().get(index)?.clone(),
                ))
            }
            Series::List { .. } => None,
            Series::Object { map } => {
                let (key, value) = map.table().get_index(at)?;
                Some((Value::Str(key.clone()), value.clone()))
            }
        }
    }

    fn items(&self) -> Value {
        match self {
            Series::Range { items, .. } => items.clone(),
            Series::List { list, .. } => list.clone(),
            Series::Object { map } => Value::Map(map.clone()),
        }
    }
}

/// The index of a list's turn; a negative step goes from the end.
fn nth(at: usize, length: usize, step: i64) -> Option<usize> {
    let far = at.checked_mul(usize::try_from(step.unsigned_abs()).ok()?)?;
    match step > 0 {
        true => (far < length).then_some(far),
        false => length.checked_sub(1)?.checked_sub(far),
    }
}

/// A block of a call.
pub(crate) fn branch<'a>(call: &'a Call, name: &str) -> Option<&'a Branch> {
    call.branches
        .iter()
        .find(|branch| &*branch.key.value == name)
}

/// A key beside a call.
pub(crate) fn field<'a>(call: &'a Call, name: &str) -> Option<&'a Node> {
    let found = call.fields.iter().find(|entry| entry.name() == name);
    Some(&found?.value)
}

fn loop_body<'a>(call: &'a Call, scope: &Scope) -> Result<&'a Branch, ScriptError> {
    branch(call, "do").ok_or_else(|| missing(call, scope, "`do`, the instructions of a turn"))
}

fn missing(call: &Call, scope: &Scope, what: &str) -> ScriptError {
    wrong(call, scope, format!("`${}` lacks {what}", call.name.value))
}

fn wrong(call: &Call, scope: &Scope, message: String) -> ScriptError {
    let finding = scope.source.error("script.loop", message, place(call));
    ScriptError::new(ErrorKind::Script, finding)
}

/// Where the value of a call stands, or its name.
pub(crate) fn place(call: &Call) -> Span {
    match (&call.value, &call.arguments) {
        (
            Some(Node {
                span,
                data: Data::Scalar(_),
                ..
            }),
            _,
        ) => *span,
        (_, Some(arguments)) => arguments.span,
        _ => call.name.span,
    }
}

/// Whether a value counts as true, as JavaScript has it.
pub(crate) fn holds(value: &Option<Value>) -> bool {
    truthy(value)
}
