//! Evaluation of paths.

use quillet_core::Value;

use super::Evaluator;
use super::scope::{DataFrame, FrameData, Scope, ScopedValue};
use crate::StopReason;
use crate::format::handlebars::ast::{Path, Root};
use crate::format::javascript::{PropertyValue, property};

/// Number of bytes of text that are scanned per step.
const TEXT_PER_STEP: usize = 256;

impl Evaluator<'_, '_> {
    /// Evaluates a path. In a strict template, access inside a missing value is an error.
    pub(super) fn path<'s>(
        &mut self,
        path: &Path,
        scope: &Scope<'s>,
    ) -> Result<ScopedValue<'s>, StopReason> {
        let (value, parts) = self.begin(path, scope)?;
        self.walk(path, value, parts)
    }

    /// Evaluates a printed or called name. In a strict template the value must exist.
    pub(super) fn head<'s>(
        &mut self,
        path: &Path,
        scope: &Scope<'s>,
    ) -> Result<ScopedValue<'s>, StopReason> {
        let (value, parts) = self.begin(path, scope)?;
        let value = self.walk(path, value, parts)?;
        // `this` and `..` always exist.
        let needed = self.compiled.strict && !path.parts.is_empty();
        match value {
            ScopedValue::Undefined if needed => Err(self.missing(path)),
            value => Ok(value),
        }
    }

    fn walk<'s, 't>(
        &mut self,
        path: &'t Path,
        mut value: ScopedValue<'s>,
        parts: &'t [Box<str>],
    ) -> Result<ScopedValue<'s>, StopReason> {
        for part in parts {
            value = match value {
                ScopedValue::Held(held) => self.property(held, part)?,
                ScopedValue::Made(made) => match self.property(&made, part)? {
                    // A property of a computed value is cloned, because the value does not live
                    // long enough to be borrowed.
                    ScopedValue::Held(value) => ScopedValue::Made(value.clone()),
                    ScopedValue::Made(value) => ScopedValue::Made(value),
                    ScopedValue::Undefined => ScopedValue::Undefined,
                },
                // handlebars.js reports access inside a missing value only in strict mode.
                ScopedValue::Undefined if self.compiled.strict => return Err(self.missing(path)),
                ScopedValue::Undefined => return Ok(ScopedValue::Undefined),
            };
        }
        Ok(value)
    }

    /// Returns the start of a path, and the remaining parts.
    fn begin<'s, 't>(
        &self,
        path: &'t Path,
        scope: &Scope<'s>,
    ) -> Result<(ScopedValue<'s>, &'t [Box<str>]), StopReason> {
        Ok(match path.root {
            Root::Context(levels) => {
                let context = scope.context.up(levels).and_then(|context| context.value);
                if let Some(first) = path.parts.first()
                    && let Some(value) = self.assigned(context, first)
                {
                    let value = value.clone().ok_or(StopReason::Suspended)?;
                    return Ok((
                        ScopedValue::Made(value),
                        path.parts.get(1..).unwrap_or_default(),
                    ));
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
                None => (ScopedValue::Undefined, &[]),
            },
        })
    }

    /// Returns a variable that a helper has set, if the context is the root.
    fn assigned(&self, context: Option<&Value>, name: &str) -> Option<&Option<Value>> {
        // Contexts are compared by address, because only the root itself has variables set by
        // helpers.
        if self.assigned.is_empty() || !context.is_some_and(|value| std::ptr::eq(value, self.root))
        {
            return None;
        }
        self.set_value(name)
    }

    /// Returns a variable that a helper has set. The value is `None` if it depends on a pending
    /// call.
    pub(super) fn set_value(&self, name: &str) -> Option<&Option<Value>> {
        let (_, value) = self.assigned.iter().find(|(known, _)| **known == *name)?;
        Some(value)
    }

    pub(super) fn property<'v>(
        &mut self,
        value: &'v Value,
        name: &str,
    ) -> Result<ScopedValue<'v>, StopReason> {
        // Indexes and `length` are in UTF-16 units, so the text is scanned.
        if let Value::Str(text) = value {
            self.pass.steps(text.len() / TEXT_PER_STEP)?;
        }
        Ok(match property(value, name) {
            Some(PropertyValue::Held(value)) => ScopedValue::Held(value),
            Some(PropertyValue::Made(value)) => ScopedValue::Made(value),
            None => ScopedValue::Undefined,
        })
    }

    /// Looks up the data `@name`. The name includes the `@`.
    fn data<'s>(&self, name: &str, levels: usize, scope: &Scope<'s>) -> ScopedValue<'s> {
        let mut frame = scope.frame;
        // In data paths `../` counts frames, not contexts.
        for _ in 0..levels {
            match frame {
                Some(inner) => frame = inner.parent,
                None => return ScopedValue::Undefined,
            }
        }
        match name {
            "@root" => return ScopedValue::Held(scope.root),
            "@partial-block" => {
                return scope
                    .block
                    .map_or(ScopedValue::Undefined, |_| ScopedValue::Made(true.into()));
            }
            _ => {}
        }
        while let Some(inner) = frame {
            if let Some(value) = in_frame(inner, name) {
                return value;
            }
            frame = inner.parent;
        }
        // Hosts pass such data as variables whose names begin with `@`.
        scope.root.as_map().and_then(|root| root.get(name)).into()
    }
}

/// Looks up a name in one frame.
fn in_frame<'s>(frame: &DataFrame<'s>, name: &str) -> Option<ScopedValue<'s>> {
    match &frame.data {
        FrameData::Turn { key, index, last } => Some(ScopedValue::Made(match name {
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
            Some(ScopedValue::Held(value))
        }
    }
}
