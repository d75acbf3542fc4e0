//! `$for` and `$while`, with `$break` and `$continue` in their `do`.

use std::sync::Arc;

use quillet_core::{Map, Value};
use quillet_yaml::Node;

use super::{Flow, ScriptFrame};
use crate::error::ScriptError;
use crate::pattern::{NumberRange, Values};
use crate::run::stack::boxed;
use crate::syntax::{Branch, CallExpr};

impl ScriptFrame<'_> {
    pub(super) async fn while_directive(self, call: &CallExpr) -> Result<Flow, ScriptError> {
        let body = self.loop_body(call)?;
        while boxed(|| self.condition(call)).await? {
            // Counted per iteration, so that a loop with an empty body reaches the step limit.
            self.step(call.span).await?;
            match self.block(&body.block).await? {
                Flow::Next | Flow::Continue(_) => {}
                Flow::Break(_) => break,
                Flow::Return => return Ok(Flow::Return),
            }
        }
        Ok(Flow::Next)
    }

    pub(super) async fn for_directive(self, call: &CallExpr) -> Result<Flow, ScriptError> {
        // The list may be an answer whose hole is not filled yet.
        self.fill_holes().await?;
        let body = self.loop_body(call)?;
        let names = LoopNames::of(call);
        let mut series = boxed(|| self.series(call)).await?;
        let mut at = 0;
        while let Some((index, value)) = series.turn(at) {
            at += 1;
            self.step(call.span).await?;
            let inner = self.scope().with(vec![
                (names.index.clone(), Some(index)),
                (names.value.clone(), Some(value)),
                (names.items.clone(), Some(series.items())),
            ]);
            match self.inside(&inner).block(&body.block).await? {
                Flow::Next | Flow::Continue(_) => {}
                Flow::Break(_) => break,
                Flow::Return => return Ok(Flow::Return),
            }
        }
        Ok(Flow::Next)
    }

    /// Returns the sequence that `$for` iterates over: a count, a range, data, or an expression
    /// that evaluates to one of them.
    async fn series(self, call: &CallExpr) -> Result<LoopSequence, ScriptError> {
        let step = match call.field("step") {
            Some(node) => self.node(node).await?,
            None => None,
        };
        let (text, given) = match (&call.value, &call.arguments) {
            (Some(node), _) if !node.is_null() => match node.as_str() {
                Some(text) => (text.to_owned(), None),
                None => (String::new(), self.node(node).await?),
            },
            (_, Some(arguments)) => (arguments.value.to_string(), None),
            _ => {
                return Err(self.missing(call, "what to loop over, such as `$for: 3`"));
            }
        };
        let value = match (given, NumberRange::parse(&text)) {
            (Some(value), _) => Some(value),
            (None, Some(range)) => {
                return LoopSequence::range(range, step.as_ref())
                    .map_err(|message| self.wrong(call, message));
            }
            (None, None) => self.loop_value(&text, call).await?,
        };
        LoopSequence::over(value, step.as_ref()).map_err(|message| self.wrong(call, message))
    }

    /// Evaluates a `$for` value that is not a range: a template or an expression.
    async fn loop_value(self, text: &str, call: &CallExpr) -> Result<Option<Value>, ScriptError> {
        let at = call.place();
        // `$for` always takes an expression, so the prefix is optional.
        let text = text.strip_prefix("?=").unwrap_or(text);
        if !text.contains("{{") && !text.contains("{%") {
            return self.expression(text, at).await;
        }
        let rendered = self.render(text, at).await?;
        match crate::expression::data(&rendered, &Map::default()) {
            Ok(Some(value)) => Ok(Some(value)),
            _ => Ok(Some(Value::from(rendered))),
        }
    }

    fn loop_body(self, call: &CallExpr) -> Result<&Branch, ScriptError> {
        let body = call.branch("do");
        body.ok_or_else(|| self.missing(call, "`do`, the instructions of the loop"))
    }

    fn missing(self, call: &CallExpr, what: &str) -> ScriptError {
        self.wrong(call, format!("`${}` is missing {what}", call.name.value))
    }

    fn wrong(self, call: &CallExpr, message: String) -> ScriptError {
        self.fail("script.loop", message, call.place())
    }
}

/// The names that a loop binds.
struct LoopNames {
    value: Arc<str>,
    index: Arc<str>,
    items: Arc<str>,
}

impl LoopNames {
    fn of(call: &CallExpr) -> Self {
        let renamed = call.field("as");
        // `as: item` names only the value and not the index.
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

/// The sequence that a loop iterates over.
enum LoopSequence {
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

impl LoopSequence {
    fn range(range: NumberRange, step: Option<&Value>) -> Result<Self, String> {
        let step = match step {
            None => 1.0,
            Some(Value::Int(step)) => *step as f64,
            Some(Value::Float(step)) => *step,
            Some(other) => {
                return Err(format!(
                    "the step of a loop must be a number, not {}",
                    other.kind()
                ));
            }
        };
        let values = range.values(step).map_err(|problem| problem.to_string())?;
        let items = range.to_value(step);
        Ok(LoopSequence::Range { values, items })
    }

    fn over(value: Option<Value>, step: Option<&Value>) -> Result<Self, String> {
        let list = match value {
            Some(Value::Int(count)) => {
                return LoopSequence::range(NumberRange::count(count as f64), step);
            }
            Some(Value::Float(count)) => {
                return LoopSequence::range(NumberRange::count(count.floor()), step);
            }
            Some(Value::Map(map)) => return Ok(LoopSequence::Object { map }),
            Some(Value::List(list)) => list,
            Some(Value::Str(text)) => text
                .chars()
                .map(|letter| Value::from(letter.to_string()))
                .collect(),
            Some(other) => return Err(format!("cannot loop over a {}", other.kind())),
            None => return Err("cannot loop over undefined".to_owned()),
        };
        let length = list.as_slice().len();
        let step = match step {
            None => 1,
            Some(Value::Int(step)) if *step != 0 => *step,
            Some(_) => {
                return Err("the step through a list must be a whole number other than \
            0"
                .to_owned());
            }
        };
        Ok(LoopSequence::List {
            list: Value::List(list),
            length,
            step,
        })
    }

    /// Returns the index and the value of an iteration, or `None` after the last one.
    fn turn(&mut self, at: usize) -> Option<(Value, Value)> {
        match self {
            LoopSequence::Range { values, .. } => Some((Value::Int(at as i64), values.next()?)),
            LoopSequence::List {
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
            LoopSequence::List { .. } => None,
            LoopSequence::Object { map } => {
                let (key, value) = map.table().get_index(at)?;
                Some((Value::Str(key.clone()), value.clone()))
            }
        }
    }

    fn items(&self) -> Value {
        match self {
            LoopSequence::Range { items, .. } => items.clone(),
            LoopSequence::List { list, .. } => list.clone(),
            LoopSequence::Object { map } => Value::Map(map.clone()),
        }
    }
}

/// Returns the list index of an iteration. A negative step counts from the end.
fn nth(at: usize, length: usize, step: i64) -> Option<usize> {
    // An overflow means that the index is far past the end, so the loop ends.
    let far = at.checked_mul(usize::try_from(step.unsigned_abs()).ok()?)?;
    if step > 0 {
        (far < length).then_some(far)
    } else {
        length.checked_sub(1)?.checked_sub(far)
    }
}
