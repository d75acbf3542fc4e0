//! Filters for text.

use std::sync::Arc;

use super::super::call::EvaluatedArguments;
use super::super::eval::{Evaluator, fail};
use super::super::methods::{cased_words, padded, trimmed};
use super::super::value::Value;
use crate::StopReason;

type FilterResult<T> = std::result::Result<T, StopReason>;

pub(super) fn upper(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    _: &EvaluatedArguments,
) -> FilterResult<Value> {
    let text = e.text(value)?;
    e.charge(text.len() * 2)?;
    Ok(text.to_uppercase().into())
}

pub(super) fn lower(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    _: &EvaluatedArguments,
) -> FilterResult<Value> {
    let text = e.text(value)?;
    e.charge(text.len() * 2)?;
    Ok(text.to_lowercase().into())
}

pub(super) fn capitalize(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    _: &EvaluatedArguments,
) -> FilterResult<Value> {
    let text = e.text(value)?;
    e.charge(text.len() * 2)?;
    let mut characters = text.chars();
    let first = characters.next().into_iter().flat_map(char::to_uppercase);
    let rest = characters.as_str().to_lowercase();
    Ok((first.collect::<String>() + &rest).into())
}

pub(super) fn title(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    _: &EvaluatedArguments,
) -> FilterResult<Value> {
    let text = e.text(value)?;
    e.charge(text.len() * 2)?;
    // In jinja2 a word starts after a blank or an opening bracket. In Python, a word starts after
    // any character that is not a letter.
    let starts = |c: char| c.is_whitespace() || "-({[<".contains(c);
    Ok(cased_words(&text, starts).into())
}

pub(super) fn trim(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
) -> FilterResult<Value> {
    let text = e.text(value)?;
    let chars = match given.get(0, "chars") {
        None | Some(Value::None) => None,
        Some(chars) => Some(e.text(chars)?),
    };
    e.charge(text.len())?;
    Ok(trimmed(&text, chars.as_deref(), true, true).into())
}

pub(super) fn center(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
) -> FilterResult<Value> {
    let text = e.text(value)?;
    let width = given.size(0, "width", 80)?;
    e.charge(text.len().saturating_add(width))?;
    let missing = width.saturating_sub(text.chars().count());
    // As in Python, the width determines which side gets the extra blank if the number of blanks is
    // odd.
    let left = missing / 2 + (missing & width & 1);
    Ok(padded(&text, left, missing - left, ' ').into())
}

pub(super) fn escape(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    _: &EvaluatedArguments,
) -> FilterResult<Value> {
    let text = e.text(value)?;
    let special = text.bytes().filter(|b| b"&<>'\"".contains(b)).count();
    e.charge(text.len() + special * 5)?;
    let mut out = String::with_capacity(text.len() + special * 5);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\'' => out.push_str("&#39;"),
            '"' => out.push_str("&#34;"),
            c => out.push(c),
        }
    }
    Ok(out.into())
}

pub(super) fn replace(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
) -> FilterResult<Value> {
    let text = e.text(value)?;
    let old = given.need(0, "old")?.clone();
    let new = given.need(1, "new")?.clone();
    let (old, new) = (e.text(&old)?, e.text(&new)?);
    let count = match given.get(2, "count") {
        None | Some(Value::None) => -1,
        Some(_) => given.int(2, "count", -1)?,
    };
    e.replace(&text, &old, &new, count)
}

/// Returns the text of a value, for filters without other arguments.
fn only_text(e: &Evaluator<'_, '_>, value: &Value) -> FilterResult<Arc<str>> {
    match value {
        Value::Str(text) => Ok(Arc::clone(text)),
        Value::Undefined(path) => Err(e.undefined(path.as_deref())),
        other => Err(fail(format!("a str is expected, not {}", other.kind()))),
    }
}

pub(super) fn indent(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
) -> FilterResult<Value> {
    let text = only_text(e, value)?;
    let (first, blank) = (given.flag(1, "first", false), given.flag(2, "blank", false));
    let width = match given.get(0, "width") {
        Some(Value::Str(text)) => text.len(),
        _ => given.size(0, "width", 4)?,
    };
    let lines = text.matches('\n').count() + 1;
    e.charge(text.len().saturating_add(lines.saturating_mul(width)))?;
    e.charge(width)?;
    let margin = match given.get(0, "width") {
        Some(Value::Str(text)) => text.to_string(),
        _ => " ".repeat(width),
    };
    let mut out = String::new();
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let wanted = if index == 0 {
            first
        } else {
            blank || !line.is_empty()
        };
        if wanted {
            out.push_str(&margin);
        }
        out.push_str(line);
    }
    Ok(out.into())
}

pub(super) fn truncate(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
) -> FilterResult<Value> {
    let length = given.size(0, "length", 255)?;
    let end = given.str(2, "end", "...")?;
    let leeway = given.size(3, "leeway", 5)?;
    let end_length = end.chars().count();
    if length < end_length {
        return Err(fail(format!(
            "expected length >= {end_length}, got {length}"
        )));
    }
    if let Value::List(_) | Value::Dict(_) = value {
        // A value that has a length and is short enough stays unchanged.
        let Value::Int(items) = super::list::length(e, value, &EvaluatedArguments::default())?
        else {
            return Err(fail("truncate needs a string"));
        };
        if usize::try_from(items).is_ok_and(|items| items <= length.saturating_add(leeway)) {
            return Ok(value.clone());
        }
    }
    let text = match value {
        Value::Undefined(_) => e.text(value)?,
        _ => only_text(e, value)?,
    };
    e.charge(text.len() * 2 + end.len())?;
    if text.chars().count() <= length.saturating_add(leeway) {
        return Ok(Value::Str(text));
    }
    let kept: String = text.chars().take(length - end_length).collect();
    let kept = if given.flag(1, "killwords", false) {
        &*kept
    } else {
        kept.rsplit_once(' ').map_or(&*kept, |(words, _)| words)
    };
    Ok((kept.to_owned() + end).into())
}

pub(super) fn striptags(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    _: &EvaluatedArguments,
) -> FilterResult<Value> {
    let text = e.text(value)?;
    e.charge(text.len() * 2)?;
    let mut out = String::new();
    let mut rest = &*text;
    while let Some((before, after)) = rest.split_once('<') {
        let Some(end) = after.find('>') else { break };
        out.push_str(before);
        rest = &after[end + 1..];
    }
    out.push_str(rest);
    let words: Vec<&str> = out.split_whitespace().collect();
    Ok(words.join(" ").into())
}

pub(super) fn urlencode(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    _: &EvaluatedArguments,
) -> FilterResult<Value> {
    let pairs = match value {
        Value::Dict(dict) => dict.iter().collect(),
        Value::List(list) => {
            let mut pairs = Vec::new();
            for pair in list.iter() {
                let pair = <[Value; 2]>::try_from(e.items(&pair)?);
                let [key, value] = pair.map_err(|_| fail("urlencode needs pairs"))?;
                pairs.push((key, value));
            }
            pairs
        }
        other => {
            let text = e.text(other)?;
            e.charge(text.len() * 3)?;
            return Ok(quoted(&text, b"/").into());
        }
    };
    let mut parts = Vec::new();
    for (key, value) in pairs {
        let (key, value) = (e.text(&key)?, e.text(&value)?);
        e.charge((key.len() + value.len()) * 3 + 2)?;
        parts.push(format!("{}={}", plus(&key), plus(&value)));
    }
    Ok(parts.join("&").into())
}

/// Encodes a blank as a plus sign, as in HTML forms.
fn plus(text: &str) -> String {
    quoted(text, b" ").replace(' ', "+")
}

fn quoted(text: &str, safe: &[u8]) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || safe.contains(&byte);
        if plain {
            out.push(char::from(byte))
        } else {
            out.push_str(&format!("%{byte:02X}"))
        }
    }
    out
}

pub(super) fn wordcount(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    _: &EvaluatedArguments,
) -> FilterResult<Value> {
    let text = e.text(value)?;
    e.scan(text.len() * 4)?;
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    Ok(Value::int(words.filter(|word| !word.is_empty()).count()))
}

pub(super) fn wordwrap(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
) -> FilterResult<Value> {
    let text = only_text(e, value)?;
    let width = given.size(0, "width", 79)?.max(1);
    let breaks = given.flag(1, "break_long_words", true);
    let newline = match given.get(2, "wrapstring") {
        None | Some(Value::None) => "\n",
        Some(_) => given.str(2, "wrapstring", "\n")?,
    };
    let lines = text.len() / width + text.split_whitespace().count() + text.matches('\n').count();
    e.charge(text.len() * 4 + lines.saturating_add(1).saturating_mul(newline.len()))?;
    let wrapped = text
        .lines()
        .map(|line| wrap_line(line, width, breaks).join(newline));
    Ok(wrapped.collect::<Vec<_>>().join(newline).into())
}

/// Wraps a line greedily. Blanks between words are kept inside a line and dropped at its end.
fn wrap_line(line: &str, width: usize, breaks: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let mut current = String::new();
    let mut used = 0;
    for word in chunks(line) {
        let mut word = word;
        let mut length = word.chars().count();
        if used + length > width && !current.trim_end().is_empty() {
            lines.push(current.trim_end().to_owned());
            current.clear();
            used = 0;
            if word.trim().is_empty() {
                continue;
            }
        }
        while breaks && length > width {
            let cut = word
                .char_indices()
                .nth(width)
                .map_or(word.len(), |(at, _)| at);
            lines.push(word[..cut].to_owned());
            word = &word[cut..];
            length -= width;
        }
        current.push_str(word);
        used += length;
    }
    let last = current.trim_end();
    if !last.is_empty() {
        lines.push(last.to_owned());
    }
    lines
}

/// Splits a line into words and the blanks between them.
fn chunks(line: &str) -> Vec<&str> {
    let mut chunks = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let blank = first.is_whitespace();
        let end = rest.find(|c: char| c.is_whitespace() != blank);
        let (chunk, after) = rest.split_at(end.unwrap_or(rest.len()));
        chunks.push(chunk);
        rest = after;
    }
    chunks
}

pub(super) fn xmlattr(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
) -> FilterResult<Value> {
    let Value::Dict(dict) = value else {
        return Err(fail(format!(
            "'{}' object has no attribute 'items'",
            value.kind()
        )));
    };
    let mut parts = Vec::new();
    for (key, value) in dict.iter() {
        if matches!(value, Value::None | Value::Undefined(_)) {
            continue;
        }
        let key = only_text(e, &key)?;
        if key.contains(|c: char| c.is_whitespace() || "/>=".contains(c)) {
            return Err(fail(format!(
                "invalid character in attribute name: {key:?}"
            )));
        }
        let value = escape(e, &value, &EvaluatedArguments::default())?;
        let value = e.text(&value)?;
        e.charge(key.len() + value.len() + 4)?;
        parts.push(format!("{key}=\"{value}\""));
    }
    let joined = parts.join(" ");
    Ok(if given.flag(0, "autospace", true) && !joined.is_empty() {
        format!(" {joined}").into()
    } else {
        joined.into()
    })
}
