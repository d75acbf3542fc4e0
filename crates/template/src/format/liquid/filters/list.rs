//! Filters for lists.

use std::cmp::Ordering;
use std::collections::HashSet;

use quillet_core::Value as Data;

use super::super::eval::{Evaluator, fail};
use super::super::operand::compare_numbers;
use super::super::value::{Value, equal, length_of, write};
use super::select::property;
use super::{FilterEntry, filter, items, made, text};
use crate::StopReason;

pub(super) static FILTERS: &[FilterEntry] = &[
    filter("compact", 0, 1, compact),
    filter("concat", 1, 1, concat),
    filter("join", 0, 1, join),
    filter("map", 1, 1, map),
    filter("reverse", 0, 0, |e, input, _| {
        let mut items = items(e, input)?;
        items.reverse();
        made(e, items)
    }),
    filter("sort", 0, 1, |e, input, given| sort(e, input, given, false)),
    filter("sort_natural", 0, 1, |e, input, given| {
        sort(e, input, given, true)
    }),
    filter("uniq", 0, 1, uniq),
];

/// Returns the number of characters in a text, or of items in a list or object.
pub(super) fn size(
    e: &mut Evaluator<'_, '_>,
    input: &Value,
    _: &[Value],
) -> Result<Value, StopReason> {
    let size = match input {
        Value::Data(Data::Str(text)) => {
            e.scan(text.len())?;
            text.chars().count()
        }
        Value::Data(Data::List(list)) => list.len(),
        Value::Data(Data::Map(map)) => map.len(),
        // As in Ruby, the size of a whole number is its number of bytes.
        Value::Data(Data::Int(_)) => 8,
        Value::Range(from, to) => length_of(*from, *to),
        _ => 0,
    };
    Ok(i64::try_from(size).unwrap_or(i64::MAX).into())
}

fn join(e: &mut Evaluator<'_, '_>, input: &Value, given: &[Value]) -> Result<Value, StopReason> {
    let items = items(e, input)?;
    let between = if given.is_empty() {
        " ".into()
    } else {
        text(e, given, 0)?
    };
    let weight: usize = items.iter().map(Data::weight).sum();
    e.charge(weight.saturating_add(between.len().saturating_mul(items.len())))?;
    let mut out = String::new();
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push_str(&between);
        }
        write(item, &mut out);
    }
    Ok(out.into())
}

fn concat(e: &mut Evaluator<'_, '_>, input: &Value, given: &[Value]) -> Result<Value, StopReason> {
    let Some(Value::Data(Data::List(more))) = given.first() else {
        return Err(fail("concat requires a list to add"));
    };
    let mut items = items(e, input)?;
    e.pass.steps(more.len())?;
    items.extend(more.iter().cloned());
    made(e, items)
}

fn map(e: &mut Evaluator<'_, '_>, input: &Value, given: &[Value]) -> Result<Value, StopReason> {
    let Some(key) = given.first() else {
        return Ok(Value::NIL);
    };
    let items = items(e, input)?;
    let found = items.iter().map(|item| property(item, key));
    let found = found.map(|found| found.map(Option::unwrap_or_default));
    let found = found.collect::<Result<Vec<Data>, StopReason>>()?;
    made(e, found)
}

fn compact(e: &mut Evaluator<'_, '_>, input: &Value, given: &[Value]) -> Result<Value, StopReason> {
    let mut kept = Vec::new();
    for item in items(e, input)? {
        let value = match given.first().filter(|key| !key.is_nil()) {
            None => item.clone(),
            Some(key) => match property(&item, key)? {
                Some(value) => value,
                None => return Ok(Value::NIL),
            },
        };
        if !matches!(value, Data::Null) {
            kept.push(item);
        }
    }
    made(e, kept)
}

fn uniq(e: &mut Evaluator<'_, '_>, input: &Value, given: &[Value]) -> Result<Value, StopReason> {
    let items = items(e, input)?;
    if items.len() < 2 {
        return made(e, items);
    }
    let mut seen = HashSet::new();
    let mut kept = Vec::new();
    for item in items {
        let value = match given.first().filter(|key| !key.is_nil()) {
            None => item.clone(),
            Some(key) => match property(&item, key)? {
                Some(value) => value,
                None => return Ok(Value::NIL),
            },
        };
        e.charge(value.weight())?;
        // A string in a list is written in quotes, and characters in it may be escaped.
        let key = format!("{}{:?}", value.kind(), value);
        if seen.insert(key) {
            kept.push(item);
        }
    }
    made(e, kept)
}

/// Types of values that have an order among each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SortKind {
    Number,
    Text,
    Other,
}

fn kind(value: &Data) -> SortKind {
    match value.represented_value() {
        Data::Int(_) => SortKind::Number,
        Data::Float(number) if !number.is_nan() => SortKind::Number,
        Data::Str(_) => SortKind::Text,
        _ => SortKind::Other,
    }
}

fn sort(
    e: &mut Evaluator<'_, '_>,
    input: &Value,
    given: &[Value],
    natural: bool,
) -> Result<Value, StopReason> {
    let items = items(e, input)?;
    let key = given.first().filter(|key| !key.is_nil());
    if items.len() < 2 {
        // A single value is returned without a comparison.
        let has_none = |item: &Data| matches!(item, Data::Null | Data::Bool(_) | Data::Float(_));
        return if key.is_some() && items.first().is_some_and(has_none) {
            Ok(Value::NIL)
        } else {
            made(e, items)
        };
    }
    let mut keyed = Vec::with_capacity(items.len());
    for item in items {
        let key = match key {
            None => item.clone(),
            Some(key) => match property(&item, key)? {
                Some(key) => key,
                None => return Ok(Value::NIL),
            },
        };
        let key = if natural && !matches!(key, Data::Null) {
            let text = e.text(&Value::Data(key))?;
            e.charge(text.len())?;
            Data::from(text.to_ascii_lowercase())
        } else {
            key
        };
        keyed.push((key, item));
    }
    let rounds = usize::try_from(keyed.len().checked_ilog2().unwrap_or(0)).unwrap_or(0) + 1;
    e.pass.steps(keyed.len().saturating_mul(rounds))?;
    let mut keys = keyed
        .iter()
        .map(|(key, _)| key)
        .filter(|key| !matches!(key, Data::Null));
    if let Some(first) = keys.next() {
        let sort = kind(first);
        let fits = |key: &Data| match sort {
            SortKind::Other => equal(first, key),
            sort => kind(key) == sort,
        };
        if !keys.all(fits) {
            return Err(fail("values of different types cannot be compared"));
        }
    }
    // Nil is sorted last.
    keyed.sort_by(|(one, _), (other, _)| match (one, other) {
        (Data::Null, Data::Null) => Ordering::Equal,
        (Data::Null, _) => Ordering::Greater,
        (_, Data::Null) => Ordering::Less,
        (Data::Str(one), Data::Str(other)) => one.as_bytes().cmp(other.as_bytes()),
        (one, other) => compare_numbers(one, other).unwrap_or(Ordering::Equal),
    });
    let items = keyed.into_iter().map(|(_, item)| item).collect();
    made(e, items)
}
