//! Paths to values.

use quillet_core::Value;

use super::Evaluator;
use super::scope::{DataFrame, FrameData, Scope, Val};
use crate::StopReason;
use crate::format::handlebars::ast::{Path, Root};
use crate::format::javascript::{PropertyValue, property};

/// How much of a text its length is counted in one step.
const TEXT_PER_STEP: usize = 256;

impl Evaluator<'_, '_> {
    /// The value that a path leads to. In a strict template it is an error to
    /// look into nothing.
    pub(super) fn path<'s>(
        &mut self,
        path: &Path,
        scope: &Scope<'s>,
    ) -> Result<Val<'s>, StopReason> {
        let (value, parts) = self.begin(path, scope)?;
        self.walk(path, value, parts)
    }

    /// The same for a name that is printed or called: in a strict template it has
    /// to be there.
    pub(super) fn head<'s>(
        &mut self,
        path: &Path,
        scope: &Scope<'s>,
    ) -> Result<Val<'s>, StopReason> {
        let (value, parts) = self.begin(path, scope)?;
        let value = self.walk(path, value, parts)?;
        let needed = self.compiled.strict && !path.parts.is_empty();
        match value {
            Val::Undefined if needed => Err(self.missing(path)),
            value => Ok(value),
        }
    }

    fn walk<'s, 't>(
        &mut self,
        path: &'t Path,
        mut value: Val<'s>,
        parts: &'t [Box<str>],
    ) -> Result<Val<'s>, StopReason> {
        for part in parts {
            value = match value {
                Val::Held(held) => self.property(held, part)?,
                Val::Made(made) => match self.property(&made, part)? {
                    Val::Held(value) => Val::Made(value.clone()),
                    Val::Made(value) => Val::Made(value),
                    Val::Undefined => Val::Undefined,
                },
                Val::Undefined if self.compiled.strict => return Err(self.missing(path)),
                Val::Undefined => return Ok(Val::Undefined),
            };
        }
        Ok(value)
    }

    /// Where a path begins, and the parts that are left to go.
    fn begin<'s, 't>(
        &self,
        path: &'t Path,
        scope: &Scope<'s>,
    ) -> Result<(Val<'s>, &'t [Box<str>]), StopReason> {
        Ok(match path.root {
            Root::Context(levels) => {
                let context = scope.context.up(levels).and_then(|context| context.value);
                if let Some(first) = path.parts.first()
                    && let Some(value) = self.assigned(context, first)
                {
                    let value = value.clone().ok_or(StopReason::Suspended)?;
                    return Ok((Val::Made(value), path.parts.get(1..).unwrap_or_default()));
                }
                (context.into(), &path.parts)
            }
            Root::Param(block, index) => {
                let mut params = scope.params;
                for _ in 0..block {
                    params = params.and_then(|params| params.parent);
                }
                let value = params.and_then(|params| *params.values.get(index)?);
                (value.into(), &path.parts)
            }
            Root::Data(levels) => match path.parts.split_first() {
                Some((name, rest)) => (self.data(name, levels, scope), rest),
                None => (Val::Undefined, &[]),
            },
        })
    }

    /// A variable that a helper has set, where the context is the root.
    fn assigned(&self, context: Option<&Value>, name: &str) -> Option<&Option<Value>> {
        if self.assigned.is_empty() || !context.is_some_and(|value| std::ptr::eq(value, self.root))
        {
            return None;
        }
        self.set_value(name)
    }

    /// A variable that a helper has set; nothing in it if it hangs on a pending call.
    pub(super) fn set_value(&self, name: &str) -> Option<&Option<Value>> {
        let (_, value) = self.assigned.iter().find(|(known, _)| **known == *name)?;
        Some(value)
    }

    pub(super) fn property<'v>(
        &mut self,
        value: &'v Value,
        name: &str,
    ) -> Result<Val<'v>, StopReason> {
        if let Value::Str(text) = value {
            self.pass.steps(text.len() / TEXT_PER_STEP)?;
        }
        Ok(match property(value, name) {
            Some(PropertyValue::Held(value)) => Val::Held(value),
            Some(PropertyValue::Made(value)) => Val::Made(value),
            None => Val::Undefined,
        })
    }

    /// `@name`, given with its `@`.
    fn data<'s>(&self, name: &str, levels: usize, scope: &Scope<'s>) -> Val<'s> {
        let mut frame = scope.frame;
        for _ in 0..levels {
            match frame {
                Some(inner) => frame = inner.parent,
                None => return Val::Undefined,
            }
        }
        match name {
            "@root" => return Val::Held(scope.root),
            "@partial-block" => {
                return scope
                    .block
                    .map_or(Val::Undefined, |_| Val::Made(true.into()));
            }
            _ => {}
        }
        while let Some(inner) = frame {
            if let Some(value) = in_frame(inner, name) {
                return value;
            }
            frame = inner.parent;
        }
        // A variable whose name begins with `@` is how a program gives data.
        scope.root.as_map().and_then(|root| root.get(name)).into()
    }
}

/// A name that one frame has.
fn in_frame<'s>(frame: &DataFrame<'s>, name: &str) -> Option<Val<'s>> {
    match &frame.data {
        FrameData::Turn { key, index, last } => Some(Val::Made(match name {
            "@index" => Value::Int(i64::try_from(*index).unwrap_or(i64::MAX)),
            "@key" => key.value(),
            "@first" => Value::Bool(*index == 0),
            "@last" => Value::Bool(*last),
            _ => return None,
        })),
        FrameData::Named(data) => {
            let (_, value) = data
                .iter()
                .find(|(known, _)| name.strip_prefix('@') == Some(known))?;
            Some(Val::Held(value))
        }
    }
}
