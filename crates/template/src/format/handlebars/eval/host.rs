//! Access of helpers to the evaluation.

use std::borrow::Cow;

use quillet_core::Value;

use super::Evaluator;
use super::scope::{DataFrame, FrameData, Scope};
use crate::StopReason;
use crate::format::handlebars::helper::{Branches, Host};
use crate::format::javascript;
use crate::format::python::float_text;

impl Host for Evaluator<'_, '_> {
    fn write(&mut self, text: &str) -> Result<(), StopReason> {
        self.pass.write(text)
    }

    fn steps(&mut self, count: usize) -> Result<(), StopReason> {
        self.pass.steps(count)
    }

    fn charge(&mut self, bytes: usize) -> Result<(), StopReason> {
        self.pass.charge(bytes)
    }

    fn text<'v>(&mut self, value: &'v Value) -> Result<Cow<'v, str>, StopReason> {
        match value {
            Value::Float(number) if self.compiled.python => Ok(float_text(*number).into()),
            value => javascript::text(self.pass, value),
        }
    }

    fn body_text(
        &mut self,
        branches: &Branches<'_>,
        scope: &Scope<'_>,
    ) -> Result<String, StopReason> {
        let held = self.pass.capture();
        let result = self.optional(branches.body, scope);
        let (text, _) = self.pass.release(held);
        result?;
        self.pass.charge(text.len())?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn body(
        &mut self,
        branches: &Branches<'_>,
        scope: &Scope<'_>,
        context: Option<&Value>,
        data: &[(&str, Value)],
    ) -> Result<(), StopReason> {
        self.pass.step()?;
        let frame = DataFrame {
            data: FrameData::Named(data),
            parent: scope.frame,
        };
        let frame = Some(&frame).filter(|_| !data.is_empty());
        self.inner(branches.body, context, frame, [None, None], scope)
    }

    fn otherwise(&mut self, branches: &Branches<'_>, scope: &Scope<'_>) -> Result<(), StopReason> {
        self.levels += 1;
        let result = self.arms(branches.rest, branches.otherwise, scope);
        self.levels -= 1;
        result
    }

    fn assign(&mut self, name: &str, value: Value) -> Result<(), StopReason> {
        self.pass.charge(name.len())?;
        self.pass.steps(self.assigned.len())?;
        match self.assigned.iter_mut().find(|(known, _)| **known == *name) {
            Some((_, known)) => *known = Some(value),
            None => self.assigned.push((name.into(), Some(value))),
        }
        Ok(())
    }

    fn variable(&self, name: &str) -> Option<Value> {
        match self.set_value(name) {
            Some(Some(value)) => Some(value.clone()),
            Some(None) => {
                self.read_hole.set(true);
                None
            }
            None => self.pass.variables().get(name).cloned(),
        }
    }
}
