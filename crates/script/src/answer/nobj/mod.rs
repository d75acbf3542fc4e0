//! NObj: objects written in nearly natural language.
//!
//! `name is John`, `age: 30`, `city = Paris`, `名字是张三`, `tags have a, b`. Inner objects are
//! indented. Bullets, numbers, bold names and backticks are ignored, because models add them.

mod line;
mod tree;

use quillet_core::{Value, ValueList};
use serde_json::Value as Json;

use self::line::{NobjLine, lines};
use super::coerce::{coerce, types};
use super::fence;
use super::parse_error::AnswerParseError;

/// Parses an answer. Names and types are taken from the schema; lines that match no field of it are
/// omitted.
pub(super) fn read(text: &str, schema: Option<&Json>) -> Result<Value, AnswerParseError> {
    let fenced = fence::find(text);
    let (start, piece) = fenced.map_or((0, text), |fenced| (fenced.start, fenced.text));
    // Error positions refer to the whole answer, so the lines before the fence count too.
    let before = text.get(..start).unwrap_or_default().matches('\n').count();
    let kinds = schema.map(types).unwrap_or_default();
    if !kinds.is_empty() && !kinds.contains(&"object") {
        return scalar_or_list(piece, schema.unwrap_or(&Json::Null), &kinds);
    }
    // For objects, models sometimes answer in JSON. Accepting JSON avoids another request.
    let looks_like_json = piece.trim_start().starts_with('{');
    if let Some(Ok(value)) = looks_like_json.then(|| super::json::read(piece)) {
        return Ok(match schema {
            Some(schema) => coerce(value, schema),
            None => value,
        });
    }
    let lines = lines(piece, before)?;
    let value = tree::object(&lines, schema)?;
    // Text without any field gives an empty object, which must be an error instead of an answer.
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
        // A single line contains the whole list, separated by commas.
        [one] => Ok(tree::fit(one.text, Some(schema))),
        several => {
            let items = several.iter().map(|line| tree::fit(line.text, items));
            Ok(Value::List(items.collect::<ValueList>()))
        }
    }
}
