//! Filters of Liquid.

mod encoded;
mod list;
mod math;
mod select;
mod text;

use std::sync::Arc;

use quillet_core::{Map, Value as Data};

use super::dates::Time;
use super::eval::{Evaluator, VALUE_SIZE, fail};
use super::operand;
use super::value::Value;
use crate::StopReason;

/// Code of a filter.
type FilterFn = fn(&mut Evaluator<'_, '_>, &Value, &[Value]) -> Result<Value, StopReason>;

/// A filter of Liquid.
#[derive(Debug)]
pub(super) struct FilterEntry {
    pub(super) name: &'static str,
    /// Minimum number of arguments.
    least: usize,
    most: usize,
    run: FilterFn,
}

const fn filter(name: &'static str, least: usize, most: usize, run: FilterFn) -> FilterEntry {
    FilterEntry {
        name,
        least,
        most,
        run,
    }
}

static ANY: &[FilterEntry] = &[
    filter("date", 1, 1, date),
    filter("default", 0, 2, default),
    filter("first", 0, 0, |_, input, _| Ok(operand::first(input))),
    filter("last", 0, 0, |_, input, _| Ok(operand::last(input))),
    filter("size", 0, 0, list::size),
];

static ALL: [&[FilterEntry]; 5] = [
    ANY,
    text::FILTERS,
    math::FILTERS,
    list::FILTERS,
    select::FILTERS,
];

/// Returns the filter with this name.
pub(super) fn find(name: &str) -> Option<&'static FilterEntry> {
    let mut all = ALL.into_iter().flatten();
    all.find(|filter| filter.name == name)
}

/// Returns the names of all filters.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    ALL.into_iter().flatten().map(|filter| filter.name)
}

/// Applies a filter. Named arguments are passed as an object in one additional argument.
pub(super) fn apply(
    e: &mut Evaluator<'_, '_>,
    filter: &FilterEntry,
    input: &Value,
    mut arguments: Vec<Value>,
    named: Vec<(Arc<str>, Value)>,
) -> Result<Value, StopReason> {
    if !named.is_empty() {
        let data = |(name, value)| match value {
            Value::Data(value) => Ok((name, value)),
            other => Err(fail(format!("a {} cannot be an argument", other.kind()))),
        };
        let named = named.into_iter().map(data).collect::<Result<Vec<_>, _>>()?;
        let named: Map = named.into_iter().collect();
        arguments.push(Value::Data(Data::Map(named)));
    }
    let FilterEntry {
        name, least, most, ..
    } = filter;
    if !(*least..=*most).contains(&arguments.len()) {
        let takes = match (least, most) {
            (least, most) if least == most => least.to_string(),
            _ => format!("{least} to {most}"),
        };
        let given = arguments.len();
        return Err(fail(format!(
            "{name} takes {takes} argument(s), not {given}"
        )));
    }
    for argument in &mut arguments {
        let clean = e.unmarked(argument).into_owned();
        *argument = clean;
    }
    if let Value::Data(Data::Str(text)) = input {
        e.scan(text.len())?;
    }
    let failed = input.is_fallback() || arguments.iter().any(Value::is_fallback);
    if failed {
        return standing_in(e, filter, input, &arguments);
    }
    // `default` returns the value unchanged, so its message structure is kept.
    if *name == "default" {
        return (filter.run)(e, input, &arguments);
    }
    let input = e.unmarked(input).into_owned();
    (filter.run)(e, &input, &arguments)
}

/// Applies a filter to a fallback value, or with one as an argument. The result is empty if the
/// filter rejects the type of the value.
#[cold]
fn standing_in(
    e: &mut Evaluator<'_, '_>,
    filter: &FilterEntry,
    input: &Value,
    arguments: &[Value],
) -> Result<Value, StopReason> {
    let meant: Vec<Value> = arguments.iter().map(Value::meant).collect();
    let nothing = || Value::Data(Data::from("").into_fallback());
    match (filter.run)(e, &input.meant(), &meant) {
        Ok(value) if value.is_nil() => Ok(nothing()),
        Err(stop) if stop.is_of_values() => Ok(nothing()),
        result => result,
    }
}

/// Returns the default for nil, `false` or an empty value.
fn default(
    _: &mut Evaluator<'_, '_>,
    input: &Value,
    arguments: &[Value],
) -> Result<Value, StopReason> {
    let options = arguments.last().and_then(|last| match last {
        Value::Data(Data::Map(map)) => Some(map),
        _ => None,
    });
    let allows_false = options
        .and_then(|options| options.get("allow_false"))
        .is_some_and(|value| Value::Data(value.clone()).is_true());
    let absent = if allows_false {
        input.is_nil()
    } else {
        !input.is_true()
    };
    if !absent && !operand::is_empty(input) {
        return Ok(input.clone());
    }
    let positional = arguments.len() - usize::from(options.is_some() && arguments.len() != 1);
    match arguments.first().filter(|_| positional > 0) {
        Some(Value::Data(Data::Map(map))) if map.get("allow_false").is_some() => {
            Ok(String::new().into())
        }
        Some(value) => Ok(value.clone()),
        None => Ok(String::new().into()),
    }
}

/// Formats a time. A value that is not a time is returned unchanged.
fn date(
    e: &mut Evaluator<'_, '_>,
    input: &Value,
    arguments: &[Value],
) -> Result<Value, StopReason> {
    let format = text(e, arguments, 0)?;
    if format.is_empty() {
        return Ok(input.clone());
    }
    let now = e.pass.now();
    let time = match input {
        Value::Data(Data::Int(seconds)) => Time::of_seconds(*seconds),
        Value::Data(Data::Str(text)) => {
            e.scan(text.len().saturating_mul(16))?;
            let all_digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            match &*text.to_lowercase() {
                "now" | "today" => Time::of_clock(now),
                digits if all_digits => digits.parse().ok().and_then(Time::of_seconds),
                text => Time::read(text, now),
            }
        }
        _ => None,
    };
    let Some(time) = time else {
        return Ok(input.clone());
    };
    e.charge(format.len().saturating_mul(8))?;
    let written = time.written(&format).map_err(fail)?;
    e.charge(written.len())?;
    Ok(written.into())
}

// Functions that several filters use.

/// Returns an argument as text. A missing argument gives an empty text.
fn text(
    e: &mut Evaluator<'_, '_>,
    arguments: &[Value],
    index: usize,
) -> Result<Arc<str>, StopReason> {
    match arguments.get(index) {
        Some(value) => e.text(value),
        None => Ok("".into()),
    }
}

/// Returns the items of a flattened list. Another value is returned as the only item.
fn items(e: &mut Evaluator<'_, '_>, input: &Value) -> Result<Vec<Data>, StopReason> {
    match input {
        Value::Data(Data::Null) => Ok(Vec::new()),
        Value::Data(Data::List(list)) => {
            let mut flat = Vec::new();
            flatten(e, list, &mut flat)?;
            Ok(flat)
        }
        Value::Data(value) => Ok(vec![value.clone()]),
        Value::Range(from, to) => e.numbers(*from, *to),
        other => Err(fail(format!("a {} has no items", other.kind()))),
    }
}

/// Flattens nested lists. The depth of lists is limited, so the recursion is safe.
fn flatten(
    e: &mut Evaluator<'_, '_>,
    list: &[Data],
    flat: &mut Vec<Data>,
) -> Result<(), StopReason> {
    e.pass.steps(list.len())?;
    e.charge(list.len() * VALUE_SIZE)?;
    for item in list {
        match item {
            Data::List(list) => flatten(e, list, flat)?,
            item => flat.push(item.clone()),
        }
    }
    Ok(())
}

/// Charges for a list created by a filter.
fn made(e: &mut Evaluator<'_, '_>, items: Vec<Data>) -> Result<Value, StopReason> {
    e.charge(items.len() * VALUE_SIZE)?;
    let list = Data::from(items);
    if list.depth() > quillet_core::value::MAX_DEPTH {
        Err(e.pass.limit(crate::LimitKind::ValueDepth))
    } else {
        Ok(Value::Data(list))
    }
}
