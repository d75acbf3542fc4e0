//! Structured system messages.
//!
//! All system messages of a dialogue are combined: they are added in order and rendered once.

use quillet_core::{Map, Value, nearest};

/// Default title of the notes, if `SystemNotesTitle` is not set.
pub const NOTES_TITLE: &str = "Notes:";

/// Default title of the output, if `SystemOutputTitle` is not set or does not contain `{{type}}`.
pub const OUTPUT_TITLE: &str = "Output ({{type}}):";

const FIELDS: [&str; 4] = ["background", "content", "output", "notes"];

/// Titles in a system message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Titles<'a> {
    /// `SystemNotesTitle`.
    pub notes: Option<&'a str>,
    /// `SystemOutputTitle`. This title is ignored if it does not contain `{{type}}`.
    pub output: Option<&'a str>,
    /// Value of `{{type}}`, which is the type of `response_format`. The default is `text`.
    pub output_type: Option<&'a str>,
}

/// The combined system messages of a dialogue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct System {
    background: Vec<FieldText>,
    content: Vec<FieldText>,
    output: Vec<FieldText>,
    notes: Vec<FieldText>,
}

/// A text of a field.
#[derive(Clone, Debug, PartialEq)]
struct FieldText {
    text: String,
    /// Whether it was an item of a list.
    item: bool,
    /// Texts of a field are sorted by this value, and by insertion order if it is equal.
    order: f64,
}

impl System {
    /// Adds a system message. A string is added to `content`. An object has the four fields. Each
    /// field is a string, a list of strings, or `{value, order}` where `value` is a string or a
    /// list of strings.
    ///
    /// # Errors
    /// Returns a message if the value cannot be a system message.
    pub fn add(&mut self, message: &Value) -> Result<(), String> {
        match message {
            Value::Map(fields) => self.add_fields(fields),
            Value::Null => Ok(()),
            text => add_value(&mut self.content, "content", text, 0.0),
        }
    }

    /// Returns whether all fields are empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let fields = [&self.background, &self.content, &self.output, &self.notes];
        fields.iter().all(|parts| parts.is_empty())
    }

    /// Returns whether a field contains any text.
    #[must_use]
    pub fn has(&self, field: &str) -> bool {
        match field {
            "background" => !self.background.is_empty(),
            "content" => !self.content.is_empty(),
            "output" => !self.output.is_empty(),
            "notes" => !self.notes.is_empty(),
            _ => false,
        }
    }

    /// Renders the system message. It consists of background, content, output and notes, separated
    /// by blank lines.
    #[must_use]
    pub fn render(&self, titles: &Titles<'_>) -> String {
        let blocks = [
            joined(&self.background),
            joined(&self.content),
            listed(&output_title(titles), &self.output, false),
            listed(titles.notes.unwrap_or(NOTES_TITLE), &self.notes, true),
        ];
        let blocks: Vec<String> = blocks
            .into_iter()
            .filter(|block| !block.is_empty())
            .collect();
        blocks.join("\n\n")
    }

    fn add_fields(&mut self, fields: &Map) -> Result<(), String> {
        for (name, value) in fields {
            let parts = match &**name {
                "background" => &mut self.background,
                "content" => &mut self.content,
                "output" => &mut self.output,
                "notes" => &mut self.notes,
                other => return Err(unknown(other)),
            };
            add_value(parts, name, value, 0.0)?;
        }
        Ok(())
    }
}

fn unknown(field: &str) -> String {
    let known = FIELDS.join(", ");
    match nearest(field, FIELDS) {
        Some(near) => format!("unknown field {field:?} of a system message; did you mean {near}?"),
        None => format!("unknown field {field:?} of a system message; known fields: {known}"),
    }
}

fn add_value(
    parts: &mut Vec<FieldText>,
    field: &str,
    value: &Value,
    order: f64,
) -> Result<(), String> {
    match value {
        Value::Map(fields) if fields.get("value").is_some() => {
            let order = order_of(field, fields.get("order"))?;
            match fields.get("value") {
                Some(Value::Map(_)) | None => Err(wrong(field)),
                Some(value) => add_value(parts, field, value, order),
            }
        }
        Value::Map(_) => Err(wrong(field)),
        Value::List(items) => items.iter().try_for_each(|item| match item {
            Value::List(_) => Err(wrong(field)),
            Value::Map(_) => add_item(parts, field, item),
            item => {
                parts.extend(part(item, true, order));
                Ok(())
            }
        }),
        text => {
            parts.extend(part(text, false, order));
            Ok(())
        }
    }
}

/// Adds a list item, which may be `{value, order}`.
fn add_item(parts: &mut Vec<FieldText>, field: &str, item: &Value) -> Result<(), String> {
    // `add_value` cannot know that it handles a list item, so the new texts are marked below.
    let before = parts.len();
    add_value(parts, field, item, 0.0)?;
    parts
        .iter_mut()
        .skip(before)
        .for_each(|part| part.item = true);
    Ok(())
}

fn wrong(field: &str) -> String {
    format!("{field} of a system message must be a string, a list of strings, or {{value, order}}")
}

fn order_of(field: &str, order: Option<&Value>) -> Result<f64, String> {
    match order {
        None | Some(Value::Null) => Ok(0.0),
        Some(Value::Int(order)) => Ok(*order as f64),
        Some(Value::Float(order)) => Ok(*order),
        Some(_) => Err(format!("order of {field} must be a number")),
    }
}

fn part(value: &Value, item: bool, order: f64) -> Option<FieldText> {
    let text = match value {
        Value::Null => return None,
        Value::Str(text) => text.to_string(),
        other => quillet_core::json::to_string(other),
    };
    // An empty text would render a title without content.
    (!text.is_empty()).then_some(FieldText { text, item, order })
}

fn in_order(parts: &[FieldText]) -> Vec<&FieldText> {
    let mut parts: Vec<&FieldText> = parts.iter().collect();
    // A stable sort preserves the sequence of texts with equal order. `total_cmp` accepts NaN.
    parts.sort_by(|a, b| a.order.total_cmp(&b.order));
    parts
}

fn joined(parts: &[FieldText]) -> String {
    let texts: Vec<&str> = in_order(parts)
        .into_iter()
        // A block scalar of YAML ends with a line feed, which would add a blank line.
        .map(|part| part.text.trim_end_matches('\n'))
        .collect();
    texts.join("\n")
}

/// Renders a title and its texts. `all` adds bullets to single texts too.
fn listed(title: &str, parts: &[FieldText], all: bool) -> String {
    if parts.is_empty() {
        return String::new();
    }
    let mut out = title.to_owned();
    for part in in_order(parts) {
        let mark = if part.item || all { "\n* " } else { "\n" };
        out.push_str(mark);
        out.push_str(part.text.trim_end_matches('\n'));
    }
    out
}

fn output_title(titles: &Titles<'_>) -> String {
    let place = "{{type}}";
    let title = titles.output.filter(|title| title.contains(place));
    title
        .unwrap_or(OUTPUT_TITLE)
        .replace(place, titles.output_type.unwrap_or("text"))
}
