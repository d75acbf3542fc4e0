//! NObj: objects in nearly natural language.
//!
//! `name is John`, `age: 30`, `city = Paris`, `名字是张三`, `tags have a, b`; inner objects are
//! indented. Models dress it up, so bullets, numbers, bold names and back ticks do not count.

mod line;
mod tree;

use quillet_core::{Value, ValueList};
use serde_json::Value as Json;

use self::line::{NobjLine, lines};
use super::coerce::{coerce, types};
use super::fence;
use super::parse_error::AnswerParseError;

/// Reads an answer. Names are brought to those of the schema, and values to its types; lines
/// that are no field of it are omitted.
pub(super) fn read(text: &str, schema: Option<&Json>) -> Result<Value, AnswerParseError> {
    let fenced = fence::find(text);
    let (start, piece) = fenced.map_or((0, text), |fenced| (fenced.start, fenced.text));
    // Errors give lines of the whole answer, so the lines before the fence count.
    let before = text.get(..start).unwrap_or_default().matches('\n').count();
    let kinds = schema.map(types).unwrap_or_default();
    if !kinds.is_empty() && !kinds.contains(&"object") {
        return scalar_or_list(piece, schema.unwrap_or(&Json::Null), &kinds);
    }
    // Models fall back to JSON for objects. Accepting it saves another request.
    let looks_like_json = piece.trim_start().starts_with('{');
    if let Some(Ok(value)) = looks_like_json.then(|| super::json::read(piece)) {
        return Ok(match schema {
            Some(schema) => coerce(value, schema),
            None => value,
        });
    }
    let lines = lines(piece, before)?;
    let value = tree::object(&lines, schema)?;
    // Prose without a field gives an empty object. It must fail here, not pass as an answer.
    if value.as_map().is_some_and(|map| !map.is_empty()) {
        Ok(value)
    } else {
        Err(AnswerParseError::new("no line of the form `name: value`").with_position(before + 1, 1))
    }
}

fn scalar_or_list(text: &str, schema: &Json, kinds: &[&str]) -> Result<Value, AnswerParseError> {
    if !kinds.contains(&"array") {
        return Ok(tree::fit(text.trim(), Some(schema)));
    }
    let items = schema.get("items");
    let lines: Vec<NobjLine<'_>> = lines(text, 0)?;
    match lines.as_slice() {
        // A single line holds the whole list, separated by commas.
        [one] => Ok(tree::fit(one.text, Some(schema))),
        several => {
            let items = several.iter().map(|line| tree::fit(line.text, items));
            Ok(Value::List(items.collect::<ValueList>()))
        }
    }
}
