//! Parses a model's table selection from its answer in phase 1.

use serde_json::Value;

use super::Fallback;
use super::answer::without_thinking;
use super::untrusted_text::sanitize_line;
use crate::Catalogue;

/// Parses a table selection. Returns indexes into [`Catalogue::tables`] in the order of the answer,
/// without duplicates, at most `most`.
///
/// A name may be qualified or bare, quoted, in different case, prefixed with the database, or given
/// as the table's whole line of the list. A bare name that exists in several schemas selects all of
/// them. Names missing from the catalogue are ignored.
///
/// # Errors
/// Fails if the answer is not JSON, not an array, or empty, or does not name a known table.
pub fn read_selection(
    answer: &str,
    catalogue: &Catalogue,
    most: usize,
) -> Result<Vec<usize>, Fallback> {
    let names = names(answer)?;
    if names.is_empty() {
        return Err(fallback("empty", "phase 1 chose no table"));
    }
    let mut chosen = Vec::new();
    for i in names.iter().flat_map(|name| named(catalogue, name)) {
        if !chosen.contains(&i) && chosen.len() < most {
            chosen.push(i);
        }
    }
    if chosen.is_empty() {
        Err(unknown(&names))
    } else {
        Ok(chosen)
    }
}

fn unknown(names: &[String]) -> Fallback {
    let shown: Vec<String> = names
        .iter()
        .take(3)
        .map(|name| format!("{:?}", sanitize_line(name)))
        .collect();
    fallback(
        "all_unknown",
        format!("phase 1 chose only unknown tables: {}", shown.join(", ")),
    )
}

pub(super) fn fallback(code: &'static str, message: impl Into<String>) -> Fallback {
    Fallback {
        code,
        message: message.into(),
    }
}

/// Returns the strings of the array in an answer. Items of other types are ignored.
fn names(answer: &str) -> Result<Vec<String>, Fallback> {
    let not_json = || fallback("not_json", "phase 1 did not answer with JSON");
    let text = without_thinking(answer).ok_or_else(not_json)?;
    let value = whole(text)
        .or_else(|| first_array(text))
        .ok_or_else(not_json)?;
    let items = match value {
        Value::Array(items) => items,
        // An object whose only field is the array, such as {"tables": […]}, is also accepted,
        // because it has one plausible meaning.
        Value::Object(fields) => match fields
            .into_iter()
            .map(|(_, value)| value)
            .collect::<Vec<_>>()
            .as_mut_slice()
        {
            [Value::Array(items)] => std::mem::take(items),
            _ => {
                return Err(fallback(
                    "not_an_array",
                    "phase 1 answered with an object without a list of tables",
                ));
            }
        },
        _ => {
            return Err(fallback(
                "not_an_array",
                "phase 1 answered with JSON that is not an array",
            ));
        }
    };
    let texts = items.into_iter().filter_map(|item| match item {
        Value::String(text) => Some(text),
        _ => None,
    });
    Ok(texts.collect())
}

/// Parses the whole text, or the content of its code fence, as JSON.
fn whole(text: &str) -> Option<Value> {
    let inside = super::answer::unfenced(text);
    serde_json::from_str(inside.unwrap_or(text).trim()).ok()
}

/// Finds the first array of strings inside other text. Of a truncated array, it returns the
/// complete items.
fn first_array(text: &str) -> Option<Value> {
    let starts = text.match_indices('[').map(|(i, _)| i);
    starts.take(64).find_map(|start| {
        let rest = &text[start..];
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match values.next() {
            Some(Ok(value @ Value::Array(_))) => Some(value),
            // If the answer is truncated at `max_tokens`, the complete names before that are still
            // a valid selection.
            Some(Err(error)) if error.is_eof() => cut(rest),
            _ => None,
        }
    })
}

/// Returns the complete strings at the start of a truncated array; `None` if there are none.
fn cut(text: &str) -> Option<Value> {
    let mut items = Vec::new();
    let mut rest = text.strip_prefix('[')?.trim_start();
    loop {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<String>();
        let Some(Ok(item)) = values.next() else { break };
        rest = rest.get(values.byte_offset()..)?.trim_start();
        items.push(Value::String(item));
        match rest.strip_prefix(',') {
            Some(after) => rest = after.trim_start(),
            None => break,
        }
    }
    (!items.is_empty()).then_some(Value::Array(items))
}

/// Returns the indexes of the tables that match a name.
pub(super) fn named(catalogue: &Catalogue, name: &str) -> Vec<usize> {
    let name = bare_of_line(name.trim());
    let parts = parts(name);
    let last = parts.last().map_or("", String::as_str);
    let whole = catalogue.find(None, name);
    if !whole.is_empty() {
        return whole;
    }
    // A name may itself contain dots, so every dot is tried as the separator.
    for split in name.match_indices('.').map(|(i, _)| i) {
        let found = catalogue.find(Some(&name[..split]), &name[split + 1..]);
        if !found.is_empty() {
            return found;
        }
    }
    if let [.., schema, table] = parts.as_slice() {
        let found = catalogue.find(Some(schema), table);
        if !found.is_empty() {
            return found;
        }
        // If the schema is wrong, the table is accepted only if its name is unique.
        let found = catalogue.find(None, last);
        return if found.len() == 1 { found } else { Vec::new() };
    }
    catalogue.find(None, last)
}

/// Extracts the name from a line of the list, because models sometimes repeat the whole line.
fn bare_of_line(name: &str) -> &str {
    let Some(rest) = name.strip_prefix("Table:") else {
        return name;
    };
    let rest = rest.trim_start();
    rest.find(" (").map_or(rest, |end| &rest[..end])
}

/// Splits a name at its dots and removes the quotes of any dialect.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quote = None;
    for c in name.chars() {
        match (quote, c) {
            (None, '"' | '`' | '[') => quote = Some(if c == '[' { ']' } else { c }),
            (Some(end), _) if c == end => quote = None,
            (None, '.') => parts.push(String::new()),
            _ => parts.last_mut().into_iter().for_each(|part| part.push(c)),
        }
    }
    parts
}
