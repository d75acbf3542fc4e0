//! Printed forms of values, by the rules of Python and JSON.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;

use super::eval::{Evaluator, fail};
use super::value::{Dict, List, Sort, Value};
use crate::StopReason;
use crate::format::python::{escaped_size, float_text, quote};
use crate::structure::unmarked;

/// Layout of `tojson`.
#[derive(Debug)]
pub(super) struct JsonStyle {
    pub(super) indent: Option<String>,
    pub(super) item: String,
    pub(super) colon: String,
    pub(super) sort_keys: bool,
    pub(super) ascii: bool,
}

impl Evaluator<'_, '_> {
    /// Returns the text of a value like Python's `str`.
    pub(super) fn text(&mut self, value: &Value) -> Result<Arc<str>, StopReason> {
        match value {
            Value::Str(text) => Ok(Arc::clone(text)),
            Value::Undefined(path) => {
                self.undefined_is_used(path.as_deref())?;
                Ok("".into())
            }
            Value::Dict(dict) => match dict.printed() {
                Some(printed) => self.text(&printed),
                None => self.shown(value),
            },
            _ => self.shown(value),
        }
    }

    fn shown(&mut self, value: &Value) -> Result<Arc<str>, StopReason> {
        match self.script_text(value)? {
            Some(text) => Ok(text),
            None => Ok(self.repr(value)?.into()),
        }
    }

    /// Removes marks of message structure, because escaping would break them.
    fn plain<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let plain = self.compiled.has_marks().then(|| unmarked(text));
        plain.flatten().map_or(Cow::Borrowed(text), Cow::Owned)
    }

    /// Returns the text of a value like Python's `repr`.
    pub(super) fn repr(&mut self, value: &Value) -> Result<String, StopReason> {
        let mut out = String::new();
        self.write_repr(value, &mut out)?;
        Ok(out)
    }

    fn write_repr(&mut self, value: &Value, out: &mut String) -> Result<(), StopReason> {
        let before = out.len();
        match value {
            Value::None => out.push_str("None"),
            Value::Bool(true) => out.push_str("True"),
            Value::Bool(false) => out.push_str("False"),
            Value::Int(int) => push(out, int),
            Value::Float(float) => out.push_str(&float_text(*float)),
            Value::Str(text) => {
                let text = self.plain(text);
                self.charge(escaped_size(&text))?;
                quote(&text, out);
                return Ok(());
            }
            Value::Undefined(_) => out.push_str("Undefined"),
            Value::List(list) => return self.write_list(list, out),
            Value::Dict(dict) => match dict.meant() {
                Some(meant) => return self.write_repr(&meant, out),
                None => return self.write_dict(dict, out),
            },
            Value::Macro(declared) => {
                push(out, format_args!("<Macro '{}'>", declared.declared.name))
            }
            Value::Function(function) => push(out, format_args!("<function {}>", function.name)),
            Value::Method(method) => push(out, format_args!("<method {}>", method.1)),
            other => push(out, format_args!("<{}>", other.kind())),
        }
        self.charge(out.len() - before)
    }

    fn write_list(&mut self, list: &List, out: &mut String) -> Result<(), StopReason> {
        if let Some((start, stop, step)) = list.as_range() {
            match step {
                1 => push(out, format_args!("range({start}, {stop})")),
                _ => push(out, format_args!("range({start}, {stop}, {step})")),
            }
            return self.charge(40);
        }
        let (open, close) = match list.sort {
            Sort::List | Sort::Iterator | Sort::Range => ("[", "]"),
            Sort::Tuple if list.len() == 1 => ("(", ",)"),
            Sort::Tuple => ("(", ")"),
            Sort::View(view) => {
                out.push_str(view.name());
                ("([", "])")
            }
        };
        out.push_str(open);
        for (index, item) in list.iter().enumerate() {
            self.step()?;
            if index > 0 {
                out.push_str(", ");
            }
            self.write_repr(&item, out)?;
        }
        out.push_str(close);
        self.charge(4)
    }

    fn write_dict(&mut self, dict: &Dict, out: &mut String) -> Result<(), StopReason> {
        out.push('{');
        for (index, (key, value)) in dict.iter().enumerate() {
            self.step()?;
            if index > 0 {
                out.push_str(", ");
            }
            self.write_repr(&key, out)?;
            out.push_str(": ");
            self.write_repr(&value, out)?;
        }
        out.push('}');
        self.charge(4)
    }

    /// Returns the JSON text of a value like Python's `json.dumps`.
    pub(super) fn json(&mut self, value: &Value, style: &JsonStyle) -> Result<String, StopReason> {
        let mut out = String::new();
        self.write_json(value, style, 0, &mut out)?;
        Ok(out)
    }

    fn write_json(
        &mut self,
        value: &Value,
        style: &JsonStyle,
        level: usize,
        out: &mut String,
    ) -> Result<(), StopReason> {
        self.step()?;
        let before = out.len();
        match value {
            Value::None => out.push_str("null"),
            Value::Bool(bool) => push(out, bool),
            Value::Int(int) => push(out, int),
            Value::Float(float) if float.is_nan() => out.push_str("NaN"),
            Value::Float(float) if float.is_infinite() => {
                out.push_str(if *float > 0.0 {
                    "Infinity"
                } else {
                    "-Infinity"
                });
            }
            Value::Float(float) => out.push_str(&float_text(*float)),
            Value::Str(text) => {
                let plain = self.compiled.has_marks().then(|| unmarked(text));
                let text = plain
                    .flatten()
                    .map_or_else(|| Cow::Borrowed(&**text), Cow::Owned);
                self.charge(escaped_size(&text))?;
                json_string(&text, style.ascii, out);
                return Ok(());
            }
            Value::List(list) if matches!(list.sort, Sort::List | Sort::Tuple) => {
                return self.json_list(list, style, level, out);
            }
            Value::Dict(dict) => match dict.meant() {
                Some(meant) => return self.write_json(&meant, style, level, out),
                None => return self.json_dict(dict, style, level, out),
            },
            other => {
                let kind = other.kind();
                return Err(fail(format!(
                    "Object of type {kind} is not JSON serializable"
                )));
            }
        }
        self.charge(out.len() - before)
    }

    fn json_list(
        &mut self,
        list: &List,
        style: &JsonStyle,
        level: usize,
        out: &mut String,
    ) -> Result<(), StopReason> {
        out.push('[');
        for (index, item) in list.iter().enumerate() {
            self.json_separator(index, style, level + 1, out)?;
            self.write_json(&item, style, level + 1, out)?;
        }
        self.json_close(list.len(), style, level, out)?;
        out.push(']');
        self.charge(2)
    }

    fn json_dict(
        &mut self,
        dict: &Dict,
        style: &JsonStyle,
        level: usize,
        out: &mut String,
    ) -> Result<(), StopReason> {
        let mut entries = Vec::with_capacity(dict.len());
        self.charge(dict.len() * 64)?;
        for (key, value) in dict.iter() {
            if style.sort_keys && !matches!(key, Value::Str(_)) && dict.len() > 1 {
                return Err(fail("only string keys can be sorted"));
            }
            entries.push((self.json_key(&key)?, value));
        }
        if style.sort_keys {
            entries.sort_by(|a, b| a.0.cmp(&b.0));
        }
        out.push('{');
        for (index, (key, value)) in entries.iter().enumerate() {
            self.json_separator(index, style, level + 1, out)?;
            self.charge(escaped_size(key))?;
            json_string(key, style.ascii, out);
            out.push_str(&style.colon);
            self.write_json(value, style, level + 1, out)?;
        }
        self.json_close(entries.len(), style, level, out)?;
        out.push('}');
        self.charge(2)
    }

    /// Returns a key as a string, because all keys in JSON are strings.
    fn json_key(&mut self, key: &Value) -> Result<Arc<str>, StopReason> {
        Ok(match key {
            Value::Str(text) => Arc::clone(text),
            Value::None => "null".into(),
            Value::Bool(true) => "true".into(),
            Value::Bool(false) => "false".into(),
            Value::Int(_) | Value::Float(_) => self.repr(key)?.into(),
            other => {
                let kind = other.kind();
                return Err(fail(format!(
                    "keys must be str, int, float, bool or None, not {kind}"
                )));
            }
        })
    }

    fn json_separator(
        &mut self,
        index: usize,
        style: &JsonStyle,
        level: usize,
        out: &mut String,
    ) -> Result<(), StopReason> {
        if index > 0 {
            out.push_str(&style.item);
        }
        self.charge(style.item.len() + style.colon.len())?;
        self.json_line(style, level, out)
    }

    fn json_close(
        &mut self,
        items: usize,
        style: &JsonStyle,
        level: usize,
        out: &mut String,
    ) -> Result<(), StopReason> {
        match items {
            0 => Ok(()),
            _ => self.json_line(style, level, out),
        }
    }

    fn json_line(
        &mut self,
        style: &JsonStyle,
        level: usize,
        out: &mut String,
    ) -> Result<(), StopReason> {
        let Some(indent) = &style.indent else {
            return Ok(());
        };
        self.charge(1 + indent.len() * level)?;
        out.push('\n');
        (0..level).for_each(|_| out.push_str(indent));
        Ok(())
    }
}

fn push(out: &mut String, value: impl std::fmt::Display) {
    // Writing to a string cannot fail.
    let _ = write!(out, "{value}");
}

fn json_string(text: &str, ascii: bool, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            c if (c as u32) < 0x20 => push(out, format_args!("\\u{:04x}", c as u32)),
            c if ascii && !c.is_ascii() => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    push(out, format_args!("\\u{unit:04x}"));
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
