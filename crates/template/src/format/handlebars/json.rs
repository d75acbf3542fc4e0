//! JSON output of the presets' helpers. It is compact or indented, with or without blanks after
//! separators.

use std::fmt::Write;

use quillet_core::{Value, json};

use super::helper::HelperCall;
use crate::StopReason;
use crate::format::javascript;

/// Layout of JSON.
#[derive(Clone, Copy, Debug)]
pub(super) struct JsonLayout {
    /// Separator between the items on a line.
    pub(super) item: &'static str,
    /// Separator between a key and its value.
    pub(super) colon: &'static str,
    /// Number of blanks per level. `None` writes everything on one line.
    pub(super) indent: Option<usize>,
}

impl JsonLayout {
    /// Layout of JavaScript's `JSON.stringify(value, null, indent)`.
    pub(super) fn javascript(indent: usize) -> Self {
        JsonLayout {
            item: ",",
            colon: if indent == 0 { ":" } else { ": " },
            indent: (indent > 0).then_some(indent),
        }
    }

    /// Layout of Python's `json.dumps(value, ensure_ascii=False)`.
    pub(super) const PYTHON: JsonLayout = JsonLayout {
        item: ", ",
        colon: ": ",
        indent: None,
    };
}

/// Returns the JSON text of a value.
pub(super) fn text(
    call: &mut HelperCall<'_>,
    value: &Value,
    layout: JsonLayout,
) -> Result<String, StopReason> {
    let mut writer = JsonWriter {
        call,
        layout,
        out: String::new(),
        charged: 0,
    };
    writer.value(value, 0)?;
    Ok(writer.out)
}

struct JsonWriter<'w, 'c> {
    call: &'w mut HelperCall<'c>,
    layout: JsonLayout,
    out: String,
    /// Number of bytes of the text that have been charged.
    charged: usize,
}

impl JsonWriter<'_, '_> {
    fn value(&mut self, value: &Value, level: usize) -> Result<(), StopReason> {
        self.count()?;
        match value {
            Value::Float(number) if number.is_finite() => {
                let mut digits = Vec::new();
                javascript::number(&mut digits, *number);
                self.out.push_str(&String::from_utf8_lossy(&digits));
            }
            Value::List(list) => {
                let items = list.iter().map(|item| (None, item));
                self.container(['[', ']'], items, level)?;
            }
            Value::Map(map) => {
                let entries = map.iter().map(|(key, value)| (Some(&**key), value));
                self.container(['{', '}'], entries, level)?;
            }
            Value::Str(text) => {
                self.call.charge(text.len())?;
                self.out.push_str(&json::to_string(value));
            }
            // JSON has neither NaN nor infinities, so they become null.
            scalar => self.out.push_str(&json::to_string(scalar)),
        }
        Ok(())
    }

    fn container<'v>(
        &mut self,
        [open, close]: [char; 2],
        items: impl Iterator<Item = (Option<&'v str>, &'v Value)>,
        level: usize,
    ) -> Result<(), StopReason> {
        self.out.push(open);
        let mut any = false;
        for (key, value) in items {
            self.separate(any, level + 1);
            any = true;
            if let Some(key) = key {
                self.out.push_str(&json::to_string(&key.into()));
                self.out.push_str(self.layout.colon);
            }
            self.value(value, level + 1)?;
        }
        if any {
            self.line(level);
        }
        self.out.push(close);
        Ok(())
    }

    fn separate(&mut self, any: bool, level: usize) {
        if any {
            self.out.push_str(self.layout.item);
        }
        self.line(level);
    }

    /// Begins a new line, if the layout has several.
    fn line(&mut self, level: usize) {
        if let Some(indent) = self.layout.indent {
            // Writing to memory cannot fail.
            let _ = write!(self.out, "\n{:1$}", "", indent * level);
        }
    }

    /// Charges a step and the bytes written since the previous one.
    fn count(&mut self) -> Result<(), StopReason> {
        self.call.steps(1)?;
        let more = self.out.len() - self.charged;
        self.charged = self.out.len();
        self.call.charge(more)
    }
}
