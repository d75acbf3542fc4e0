//! Formats values as Markdown lists for prompts.

use quillet_core::{Map, Value, json};

/// Maximum depth of lists. Values below it are printed as JSON.
const DEPTH: usize = 32;

/// Formats a value as a Markdown list. Objects become lines of the form ``* `key`: value``, lists
/// become `- value`, and other values become JSON. `title` is the name of the field that is used as
/// the heading of each object in a list.
#[must_use]
pub fn to_markdown(value: &Value, title: Option<&str>) -> String {
    let mut out = String::new();
    MarkdownWriter {
        title,
        out: &mut out,
    }
    .value(value, 0);
    out
}

struct MarkdownWriter<'a> {
    title: Option<&'a str>,
    out: &'a mut String,
}

impl MarkdownWriter<'_> {
    fn value(&mut self, value: &Value, level: usize) {
        match nested(value, level) {
            MarkdownValue::Map(map) => self.map(map, level),
            MarkdownValue::List(items) => self.list(items, level),
            MarkdownValue::Plain(value) => self.out.push_str(&json::to_string(value)),
        }
    }

    fn map(&mut self, map: &Map, level: usize) {
        for (key, value) in map {
            self.entry(key, value, level);
        }
    }

    fn entry(&mut self, key: &str, value: &Value, level: usize) {
        self.line(level, "* `");
        self.out.push_str(key);
        self.out.push_str("`:");
        match nested(value, level + 1) {
            MarkdownValue::Plain(value) => {
                self.out.push(' ');
                self.out.push_str(&json::to_string(value));
            }
            _ => self.value(value, level + 1),
        }
    }

    fn list(&mut self, items: &[Value], level: usize) {
        for item in items {
            self.line(level, "-");
            match nested(item, level + 1) {
                MarkdownValue::Plain(value) => {
                    self.out.push(' ');
                    self.out.push_str(&json::to_string(value));
                }
                MarkdownValue::Map(map) => self.titled(map, level + 1),
                MarkdownValue::List(items) => self.list(items, level + 1),
            }
        }
    }

    /// Writes an object in a list, with its title on the line of the bullet.
    fn titled(&mut self, map: &Map, level: usize) {
        let title = self
            .title
            // A list or an object does not fit on that line.
            .filter(|title| map.get(title).is_some_and(|value| value.depth() == 0));
        if let Some(value) = title.and_then(|title| map.get(title)) {
            self.out.push(' ');
            match value {
                Value::Str(text) => self.out.push_str(text),
                other => self.out.push_str(&json::to_string(other)),
            }
        }
        for (key, value) in map.iter().filter(|(key, _)| Some(&***key) != title) {
            self.entry(key, value, level);
        }
    }

    fn line(&mut self, level: usize, mark: &str) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        (0..level).for_each(|_| self.out.push_str("  "));
        self.out.push_str(mark);
    }
}

enum MarkdownValue<'v> {
    Map(&'v Map),
    List(&'v [Value]),
    Plain(&'v Value),
}

/// Classifies a value for printing. A list of a single scalar is printed as that scalar.
fn nested(value: &Value, level: usize) -> MarkdownValue<'_> {
    match value {
        _ if level > DEPTH => MarkdownValue::Plain(value),
        Value::Map(map) if !map.is_empty() => MarkdownValue::Map(map),
        Value::List(items) => match items.as_slice() {
            [] => MarkdownValue::Plain(value),
            [only] if only.depth() == 0 => MarkdownValue::Plain(only),
            items => MarkdownValue::List(items),
        },
        _ => MarkdownValue::Plain(value),
    }
}
