//! Filters for texts.

use std::sync::Arc;

use quillet_core::Value as Data;

use super::super::eval::{Evaluator, VALUE_SIZE, fail};
use super::super::parser::is_blank;
use super::super::value::Value;
use super::{FilterEntry, encoded, filter, made, text};
use crate::StopReason;

pub(super) static FILTERS: &[FilterEntry] = &[
    filter("append", 1, 1, |e, input, given| {
        let (one, more) = (e.text(input)?, text(e, given, 0)?);
        e.charge(one.len() + more.len())?;
        Ok([&*one, &*more].concat().into())
    }),
    filter("base64_decode", 0, 0, |e, input, _| {
        encoded::of_base64(e, input, false)
    }),
    filter("base64_encode", 0, 0, |e, input, _| {
        encoded::base64(e, input, false)
    }),
    filter("base64_url_safe_decode", 0, 0, |e, input, _| {
        encoded::of_base64(e, input, true)
    }),
    filter("base64_url_safe_encode", 0, 0, |e, input, _| {
        encoded::base64(e, input, true)
    }),
    filter("capitalize", 0, 0, |e, input, _| {
        changed(e, input, 3, |text| {
            let mut chars = text.chars();
            let first = chars.next().into_iter().flat_map(char::to_uppercase);
            first.collect::<String>() + &chars.as_str().to_lowercase()
        })
    }),
    filter("downcase", 0, 0, |e, input, _| {
        changed(e, input, 3, str::to_lowercase)
    }),
    filter("escape", 0, 0, |e, input, _| encoded::html(e, input, false)),
    filter("escape_once", 0, 0, |e, input, _| {
        encoded::html(e, input, true)
    }),
    filter("h", 0, 0, |e, input, _| encoded::html(e, input, false)),
    filter("lstrip", 0, 0, |e, input, _| {
        changed(e, input, 1, |text| {
            text.trim_start_matches(is_blank).to_owned()
        })
    }),
    filter("newline_to_br", 0, 0, |e, input, _| {
        changed(e, input, 7, |text| {
            text.replace("\r\n", "\n").replace('\n', "<br />\n")
        })
    }),
    filter("prepend", 1, 1, |e, input, given| {
        let (one, more) = (e.text(input)?, text(e, given, 0)?);
        e.charge(one.len() + more.len())?;
        Ok([&*more, &*one].concat().into())
    }),
    filter("remove", 1, 1, |e, input, given| {
        replace(e, input, given, usize::MAX)
    }),
    filter("remove_first", 1, 1, |e, input, given| {
        replace(e, input, given, 1)
    }),
    filter("remove_last", 1, 1, replace_last),
    filter("replace", 1, 2, |e, input, given| {
        replace(e, input, given, usize::MAX)
    }),
    filter("replace_first", 1, 2, |e, input, given| {
        replace(e, input, given, 1)
    }),
    filter("replace_last", 2, 2, replace_last),
    filter("rstrip", 0, 0, |e, input, _| {
        changed(e, input, 1, |text| {
            text.trim_end_matches(is_blank).to_owned()
        })
    }),
    filter("slice", 1, 2, slice),
    filter("split", 1, 1, split),
    filter("strip", 0, 0, |e, input, _| {
        changed(e, input, 1, |text| text.trim_matches(is_blank).to_owned())
    }),
    filter("strip_html", 0, 0, |e, input, _| {
        changed(e, input, 1, encoded::without_tags)
    }),
    filter("strip_newlines", 0, 0, |e, input, _| {
        changed(e, input, 1, |text| {
            text.replace("\r\n", "\n").replace('\n', "")
        })
    }),
    filter("truncate", 0, 2, truncate),
    filter("truncatewords", 0, 2, truncate_words),
    filter("upcase", 0, 0, |e, input, _| {
        changed(e, input, 3, str::to_uppercase)
    }),
    filter("url_decode", 0, 0, encoded::of_url),
    filter("url_encode", 0, 0, encoded::url),
];

/// Transforms the text of a value. The result has at most `times` times its size.
fn changed(
    e: &mut Evaluator<'_, '_>,
    input: &Value,
    times: usize,
    change: impl Fn(&str) -> String,
) -> Result<Value, StopReason> {
    let text = e.text(input)?;
    // For a long text the maximum size is charged in advance, and otherwise the actual size
    // afterwards.
    if text.len() > 1 << 16 {
        e.charge(text.len().saturating_mul(times))?;
        return Ok(change(&text).into());
    }
    let text = change(&text);
    e.charge(text.len())?;
    Ok(text.into())
}

/// Replaces text like Ruby's `gsub`. Backslashes in the replacement are special.
fn replace(
    e: &mut Evaluator<'_, '_>,
    input: &Value,
    given: &[Value],
    most: usize,
) -> Result<Value, StopReason> {
    let (whole, old, new) = (e.text(input)?, text(e, given, 0)?, text(e, given, 1)?);
    e.scan(whole.len())?;
    let mut out = String::new();
    let mut done = 0;
    let mut count = 0;
    for (at, found) in whole.match_indices(&*old) {
        if count == most {
            break;
        }
        count += 1;
        out.push_str(&whole[done..at]);
        done = at + found.len();
        if new.contains('\\') {
            expand(e, &new, [&whole[..at], found, &whole[done..]], &mut out)?;
        } else {
            e.pass.charge(new.len())?;
            out.push_str(&new);
        }
    }
    if count == 0 {
        return Ok(Value::Data(Data::Str(whole)));
    }
    out.push_str(&whole[done..]);
    e.charge(out.len())?;
    Ok(out.into())
}

/// Expands references in a replacement: `\0` and `\&` to the match, `` \` `` and `\'` to the text
/// before and after it.
fn expand(
    e: &mut Evaluator<'_, '_>,
    new: &str,
    [before, found, behind]: [&str; 3],
    out: &mut String,
) -> Result<(), StopReason> {
    let mut add = |part: &str| {
        e.pass.charge(part.len())?;
        out.push_str(part);
        Ok::<(), StopReason>(())
    };
    let mut rest = new;
    while let Some(at) = rest.find('\\') {
        add(&rest[..at])?;
        let behind_it = &rest[at + 1..];
        let length = match behind_it.chars().next() {
            Some('0' | '&') => add(found).map(|()| 1)?,
            Some('1'..='9') => 1,
            Some('`') => add(before).map(|()| 1)?,
            Some('\'') => add(behind).map(|()| 1)?,
            Some('\\') => add("\\").map(|()| 1)?,
            _ => add("\\").map(|()| 0)?,
        };
        rest = &behind_it[length..];
    }
    add(rest)
}

fn replace_last(
    e: &mut Evaluator<'_, '_>,
    input: &Value,
    given: &[Value],
) -> Result<Value, StopReason> {
    let (whole, old, new) = (e.text(input)?, text(e, given, 0)?, text(e, given, 1)?);
    e.scan(whole.len())?;
    let Some(at) = whole.rfind(&*old) else {
        return Ok(Value::Data(Data::Str(whole)));
    };
    e.charge(whole.len() + new.len())?;
    Ok([&whole[..at], &*new, &whole[at + old.len()..]]
        .concat()
        .into())
}

fn slice(e: &mut Evaluator<'_, '_>, input: &Value, given: &[Value]) -> Result<Value, StopReason> {
    let offset = match given.first() {
        Some(offset) => e.whole(offset)?,
        None => 0,
    };
    let length = match given.get(1).filter(|length| length.is_true()) {
        Some(length) => e.whole(length)?,
        None => 1,
    };
    if let Value::Data(Data::List(list)) = input {
        let range = part(list.len(), offset, length);
        let items = range.and_then(|range| list.get(range)).unwrap_or_default();
        return made(e, items.to_vec());
    }
    let text = e.text(input)?;
    e.charge(text.len())?;
    let range = part(text.chars().count(), offset, length).unwrap_or(0..0);
    let part: String = text.chars().skip(range.start).take(range.len()).collect();
    Ok(part.into())
}

/// Returns the range of items that `offset` and `length` select, if it is valid.
fn part(count: usize, offset: i64, length: i64) -> Option<std::ops::Range<usize>> {
    let all = i64::try_from(count).ok()?;
    let start = if offset < 0 {
        offset.checked_add(all)?
    } else {
        offset
    };
    if !(0..=all).contains(&start) || length < 0 {
        return None;
    }
    let end = start.saturating_add(length).min(all);
    Some(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
}

fn split(e: &mut Evaluator<'_, '_>, input: &Value, given: &[Value]) -> Result<Value, StopReason> {
    let (whole, pattern) = (e.text(input)?, text(e, given, 0)?);
    e.charge(whole.len())?;
    let mut parts: Vec<&str> = match &*pattern {
        "" => whole.split("").skip(1).collect(),
        " " => whole
            .split(is_blank)
            .filter(|word| !word.is_empty())
            .collect(),
        pattern => whole.split(pattern).collect(),
    };
    while parts.last().is_some_and(|part| part.is_empty()) {
        parts.pop();
    }
    e.charge(parts.len().saturating_mul(VALUE_SIZE))?;
    made(e, parts.into_iter().map(Data::from).collect())
}

/// Returns the arguments of `truncate` filters: the length of the text, and the ellipsis.
fn length(
    e: &mut Evaluator<'_, '_>,
    given: &[Value],
    default: i64,
) -> Result<(i64, Arc<str>), StopReason> {
    let length = match given.first() {
        Some(length) => e.whole(length)?,
        None => default,
    };
    let rest = match given.len() {
        2 => text(e, given, 1)?,
        _ => "...".into(),
    };
    Ok((length, rest))
}

fn truncate(
    e: &mut Evaluator<'_, '_>,
    input: &Value,
    given: &[Value],
) -> Result<Value, StopReason> {
    if input.is_nil() {
        return Ok(Value::NIL);
    }
    let whole = e.text(input)?;
    let (most, rest) = length(e, given, 50)?;
    e.charge(whole.len() + rest.len())?;
    let count = i64::try_from(whole.chars().count()).unwrap_or(i64::MAX);
    if count <= most {
        return Ok(Value::Data(Data::Str(whole)));
    }
    let own = i64::try_from(rest.chars().count()).unwrap_or(i64::MAX);
    let kept = usize::try_from(most.saturating_sub(own)).unwrap_or(0);
    let kept: String = whole.chars().take(kept).collect();
    Ok((kept + &rest).into())
}

fn truncate_words(
    e: &mut Evaluator<'_, '_>,
    input: &Value,
    given: &[Value],
) -> Result<Value, StopReason> {
    if input.is_nil() {
        return Ok(Value::NIL);
    }
    let whole = e.text(input)?;
    let (most, rest) = length(e, given, 15)?;
    if most >= i64::from(i32::MAX) {
        return Err(fail(format!("{most} words are too many to count")));
    }
    e.charge(whole.len() + rest.len())?;
    let most = usize::try_from(most.max(1)).unwrap_or(1);
    let words = || whole.split(is_blank).filter(|word| !word.is_empty());
    if words().nth(most).is_none() {
        // An empty string after the last blank counts as another word.
        let ends_in_blank = whole.ends_with(is_blank) && words().count() == most;
        if !ends_in_blank {
            return Ok(Value::Data(Data::Str(whole)));
        }
    }
    let kept: Vec<&str> = words().take(most).collect();
    Ok((kept.join(" ") + &rest).into())
}
