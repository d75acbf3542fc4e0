//! Filters that select the items of a list by a property.

use quillet_core::Value as Data;

use super::super::eval::{Evaluator, fail};
use super::super::value::{Value, equal};
use super::{FilterEntry, filter, items, made};
use crate::StopReason;

pub(super) static FILTERS: &[FilterEntry] = &[
    filter("find", 1, 2, |e, input, given| {
        Ok(match selected(e, input, given)? {
            Some(found) => {
                let first = found.into_iter().find(|(_, fits)| *fits);
                first.map_or(Value::NIL, |(item, _)| Value::Data(item))
            }
            None => Value::NIL,
        })
    }),
    filter("find_index", 1, 2, |e, input, given| {
        let found = selected(e, input, given)?.unwrap_or_default();
        let at = found.iter().position(|(_, fits)| *fits);
        Ok(at.map_or(Value::NIL, |at| {
            i64::try_from(at).unwrap_or(i64::MAX).into()
        }))
    }),
    filter("has", 1, 2, |e, input, given| {
        let found = selected(e, input, given)?.unwrap_or_default();
        Ok(found.iter().any(|(_, fits)| *fits).into())
    }),
    filter("reject", 1, 2, |e, input, given| {
        of_those(e, input, given, false)
    }),
    filter("where", 1, 2, |e, input, given| {
        of_those(e, input, given, true)
    }),
];

/// Returns a property of an item. Returns `None` if the item cannot have properties.
pub(super) fn property(item: &Data, key: &Value) -> Result<Option<Data>, StopReason> {
    let wrong = || {
        let shown = match key {
            Value::Data(Data::Str(key)) => key.to_string(),
            other => other.kind().to_owned(),
        };
        let kind = Value::Data(item.clone()).kind();
        Err(fail(format!(
            "cannot select the property {shown:?} of a {kind}"
        )))
    };
    if item.is_fallback() {
        let field = match (item.as_map(), key) {
            (Some(map), Value::Data(Data::Str(key))) => map.fallback_field(key),
            _ => Data::from("").into_fallback(),
        };
        return Ok(Some(field));
    }
    // As in Ruby, a number selects a character of a string or a bit of a whole number.
    let place = match key {
        Value::Data(Data::Int(at)) => Some(*at),
        Value::Data(Data::Float(at)) => Some(*at as i64),
        _ => None,
    };
    match (item, key) {
        (Data::Map(map), Value::Data(Data::Str(key))) => {
            Ok(Some(map.get(key).cloned().unwrap_or_default()))
        }
        (Data::Map(_), _) => Ok(Some(Data::Null)),
        (Data::Str(text), Value::Data(Data::Str(key))) => {
            let found = text.contains(&**key);
            Ok(Some(if found {
                Data::Str(key.clone())
            } else {
                Data::Null
            }))
        }
        (Data::Str(text), _) if place.is_some() => {
            let count = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
            let at = place.map_or(0, |at| if at < 0 { at + count } else { at });
            let found = usize::try_from(at).ok().and_then(|at| text.chars().nth(at));
            Ok(Some(found.map_or(Data::Null, |c| c.to_string().into())))
        }
        (Data::Int(number), _) if place.is_some() => {
            let at = place.map_or(0, |at| at.min(63));
            Ok(Some(Data::Int(if at < 0 { 0 } else { (number >> at) & 1 })))
        }
        (Data::Str(_) | Data::Int(_) | Data::List(_), _) => wrong(),
        (Data::Null | Data::Bool(_) | Data::Float(_), _) => Ok(None),
    }
}

/// Returns every item with a flag: whether its property is true, or equals the requested value.
/// Returns `None` if an item cannot have properties.
fn selected(
    e: &mut Evaluator<'_, '_>,
    input: &Value,
    given: &[Value],
) -> Result<Option<Vec<(Data, bool)>>, StopReason> {
    let Some(key) = given.first() else {
        return Ok(None);
    };
    let mut found = Vec::new();
    for item in items(e, input)? {
        e.scan(item.weight())?;
        let Some(value) = property(&item, key)? else {
            return Ok(None);
        };
        let fits = match given.get(1).filter(|target| !target.is_nil()) {
            Some(Value::Data(target)) => equal(&value, target),
            Some(_) => false,
            None => Value::Data(value).meant().is_true(),
        };
        found.push((item, fits));
    }
    Ok(Some(found))
}

fn of_those(
    e: &mut Evaluator<'_, '_>,
    input: &Value,
    given: &[Value],
    wanted: bool,
) -> Result<Value, StopReason> {
    match selected(e, input, given)? {
        Some(found) => {
            let kept = found.into_iter().filter(|(_, fits)| *fits == wanted);
            made(e, kept.map(|(item, _)| item).collect())
        }
        None => Ok(Value::NIL),
    }
}
