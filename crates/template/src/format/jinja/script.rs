//! The preset for scripts (`.ai.yaml`). Values print as in JavaScript, because the expressions
//! around these templates are JavaScript. Filters may be late-bound functions.

use std::fmt::Write;
use std::sync::Arc;

use super::ast::BinaryOperator;
use super::eval::Evaluator;
use super::filters;
use super::functions;
use super::print::JsonStyle;
use super::syntax::JinjaPreset;
use super::value::{Sort, Value};
use crate::{ErrorKind, RenderError, StopReason};

/// Integers up to this value are exact as floats and print without a fraction.
const WHOLE: f64 = 9_007_199_254_740_992.0;

impl Evaluator<'_, '_> {
    fn is_script(&self) -> bool {
        self.compiled.preset == JinjaPreset::Script
    }

    /// Returns the text of a value whose printed form in scripts differs from Python: `true`,
    /// `null`, `2` for `2.0`, and compact JSON for lists and objects.
    pub(super) fn script_text(&mut self, value: &Value) -> Result<Option<Arc<str>>, StopReason> {
        if !self.is_script() {
            return Ok(None);
        }
        Ok(match value {
            Value::None => Some("null".into()),
            Value::Bool(true) => Some("true".into()),
            Value::Bool(false) => Some("false".into()),
            Value::Float(float) if float.fract() == 0.0 && float.abs() < WHOLE => {
                Some(format!("{float:.0}").into())
            }
            Value::Dict(_) => Some(self.compact(value)?),
            Value::List(list) if matches!(list.sort, Sort::List | Sort::Tuple) => {
                Some(self.compact(value)?)
            }
            _ => None,
        })
    }

    fn compact(&mut self, value: &Value) -> Result<Arc<str>, StopReason> {
        let style = JsonStyle {
            indent: None,
            item: ",".to_owned(),
            colon: ":".to_owned(),
            sort_keys: false,
            ascii: false,
        };
        Ok(self.json(value, &style)?.into())
    }

    /// Formats an object of plain values at the beginning of a line as a list: `* key: value`.
    /// Objects in the middle of a line, and objects that contain lists or objects, are printed as
    /// JSON.
    pub(super) fn bulleted(&mut self, value: &Value) -> Result<Option<String>, StopReason> {
        let Value::Dict(dict) = value else {
            return Ok(None);
        };
        if !self.is_script() || dict.len() == 0 || dict.printed().is_some() || !self.at_line() {
            return Ok(None);
        }
        let mut out = String::new();
        for (key, value) in dict.iter() {
            if matches!(value, Value::Dict(_) | Value::List(_)) {
                return Ok(None);
            }
            self.step()?;
            let (key, value) = (self.text(&key)?, self.text(&value)?);
            self.charge(key.len() + value.len() + 5)?;
            let end = if out.is_empty() { "" } else { "\n" };
            // Writing to a string cannot fail.
            let _ = write!(out, "{end}* {key}: {value}");
        }
        Ok(Some(out))
    }

    /// Whether the next printed text starts a line.
    fn at_line(&mut self) -> bool {
        match self.captures.last() {
            Some(captured) => captured.is_empty() || captured.ends_with('\n'),
            None => matches!(self.pass.out().last(), None | Some(b'\n')),
        }
    }

    /// Returns the `.length` of a list, or of a text in UTF-16 units, as in the surrounding
    /// expressions. An object has no `.length`, unless it has a field with that name.
    pub(super) fn script_length(
        &mut self,
        subject: &Value,
        name: &str,
    ) -> Result<Option<Value>, StopReason> {
        if !self.is_script() || name != "length" {
            return Ok(None);
        }
        Ok(match &*self.unmarked(subject) {
            Value::Str(text) => {
                self.scan(text.len())?;
                Some(Value::int(text.encode_utf16().count()))
            }
            Value::List(list) => Some(Value::int(list.len())),
            _ => None,
        })
    }

    /// Replaces the result of a lazy filter by a list, which has a length and can be printed.
    pub(super) fn script_sort(&self, sort: Sort) -> Sort {
        match sort {
            Sort::Iterator if self.is_script() => Sort::List,
            sort => sort,
        }
    }

    /// Whether values that are equal in Python count as equal in a script, where `1` and `true`
    /// differ.
    pub(super) fn script_alike(&self, left: &Value, right: &Value) -> bool {
        !self.is_script() || matches!(left, Value::Bool(_)) == matches!(right, Value::Bool(_))
    }

    /// Concatenates a text with any value: `'a' + 1` is `'a1'`.
    pub(super) fn script_sum(
        &mut self,
        operator: BinaryOperator,
        left: &Value,
        right: &Value,
    ) -> Result<Option<Value>, StopReason> {
        let text = matches!(left, Value::Str(_)) || matches!(right, Value::Str(_));
        if !self.is_script() || operator != BinaryOperator::Add || !text {
            return Ok(None);
        }
        let (left, right) = (self.text(left)?, self.text(right)?);
        self.charge(left.len() + right.len())?;
        Ok(Some([&*left, &*right].concat().into()))
    }

    /// Returns the error for an unknown filter or function in a script.
    pub(super) fn unknown_in_script(&self, name: &str) -> Option<StopReason> {
        if !self.is_script() || self.pass.has_function(name) {
            return None;
        }
        let reason = format!("unknown function or filter {name:?}");
        let mut error = RenderError::new(ErrorKind::UnknownFunction, reason);
        let mut known = self.pass.function_names();
        filters::names().for_each(|own| known.push(own));
        functions::names(JinjaPreset::Script).for_each(|own| known.push(own));
        let near = quillet_core::nearest(name, known);
        error.help = near.map(|near| format!("did you mean {near}?"));
        Some(error.into())
    }
}
