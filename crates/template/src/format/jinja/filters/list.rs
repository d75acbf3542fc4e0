//! Filters for lists and objects.

use std::cmp::Ordering;
use std::sync::Arc;

use super::super::call::EvaluatedArguments;
use super::super::eval::{Evaluator, VALUE_SIZE, fail};
use super::super::value::{Sort, Value};
use super::super::{ast::BinaryOperator, test};
use crate::StopReason;

type FilterResult<T> = std::result::Result<T, StopReason>;

pub(super) fn length(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    _: &EvaluatedArguments,
) -> FilterResult<Value> {
    Ok(Value::int(match value {
        Value::List(list) if list.sort != Sort::Iterator => list.len(),
        Value::Dict(dict) => dict.len(),
        Value::Str(text) => {
            e.scan(text.len())?;
            text.chars().count()
        }
        Value::Undefined(path) => {
            e.undefined_is_used(path.as_deref())?;
            0
        }
        other => {
            let kind = other.kind();
            return Err(fail(format!("object of type '{kind}' has no len()")));
        }
    }))
}

pub(super) fn first(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    _: &EvaluatedArguments,
) -> FilterResult<Value> {
    Ok(e.iterate(value)?.get(0).unwrap_or(Value::UNDEFINED))
}

pub(super) fn last(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    _: &EvaluatedArguments,
) -> FilterResult<Value> {
    let list = e.iterate(value)?;
    if list.sort == Sort::Iterator {
        return Err(fail("'generator' object is not reversible"));
    }
    let last = list.len().checked_sub(1).and_then(|last| list.get(last));
    Ok(last.unwrap_or(Value::UNDEFINED))
}

/// Returns a random item. It is the same item in every pass of a render.
pub(super) fn random(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    _: &EvaluatedArguments,
) -> FilterResult<Value> {
    let list = e.iterate(value)?;
    if !matches!(value, Value::Str(_)) && !list.has_places() || matches!(value, Value::Dict(_)) {
        return Err(fail(format!("'{}' object has no order", value.kind())));
    }
    let seed = usize::try_from(e.pass.seed() >> 32).unwrap_or(0);
    let index = seed.checked_rem(list.len());
    Ok(index
        .and_then(|index| list.get(index))
        .unwrap_or(Value::UNDEFINED))
}

pub(super) fn list(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    _: &EvaluatedArguments,
) -> FilterResult<Value> {
    let items = e.items(value)?;
    e.list(Sort::List, items)
}

pub(super) fn reverse(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    _: &EvaluatedArguments,
) -> FilterResult<Value> {
    if let Value::Str(text) = value {
        e.charge(text.len())?;
        return Ok(text.chars().rev().collect::<String>().into());
    }
    let mut items = e.items(value)?;
    items.reverse();
    e.list(Sort::Iterator, items)
}

pub(super) fn items(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    _: &EvaluatedArguments,
) -> FilterResult<Value> {
    match value {
        Value::Undefined(path) => {
            e.undefined_is_used(path.as_deref())?;
            e.list(Sort::Iterator, Vec::new())
        }
        Value::Dict(_) => {
            let pairs = pairs(e, value)?;
            let pairs = pairs
                .into_iter()
                .map(|(key, value)| e.list(Sort::Tuple, vec![key, value]));
            let pairs = pairs.collect::<FilterResult<Vec<_>>>()?;
            e.list(Sort::Iterator, pairs)
        }
        _ => Err(fail("can only get item pairs from a mapping")),
    }
}

pub(super) fn join(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
) -> FilterResult<Value> {
    let separator = match given.get(0, "d") {
        None => "".into(),
        Some(separator) => e.text(&separator.clone())?,
    };
    let attribute = given.get(1, "attribute").cloned();
    let mut texts: Vec<Arc<str>> = Vec::new();
    let mut bytes = 0;
    for item in e.items(value)? {
        let item = lookup(e, &item, attribute.as_ref())?;
        let text = e.text(&item)?;
        bytes += text.len() + separator.len();
        texts.push(text);
    }
    e.charge(bytes)?;
    Ok(texts.join(&*separator).into())
}

/// Returns a value inside an item, by name, dotted path or index. Without a path, returns the item.
fn lookup(e: &mut Evaluator<'_, '_>, item: &Value, path: Option<&Value>) -> FilterResult<Value> {
    let path = match path {
        None | Some(Value::None) => return Ok(item.clone()),
        Some(Value::Int(index)) => {
            let found = e.item(item, &Value::Int(*index))?;
            return Ok(found.unwrap_or(Value::UNDEFINED));
        }
        Some(path) => e.text(path)?,
    };
    let mut value = item.clone();
    for part in path.split('.') {
        let key = match part.parse::<i64>() {
            Ok(index) => Value::Int(index),
            Err(_) => part.into(),
        };
        value = e
            .item(&value, &key)?
            .unwrap_or_else(|| Value::Undefined(Some(part.into())));
    }
    Ok(value)
}

pub(super) fn attr(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
) -> FilterResult<Value> {
    let name = given.need(0, "name")?.clone();
    let name = e.text(&name)?;
    // Unlike the dot operator, this filter does not look up keys.
    let found = match value {
        Value::Dict(_) => match e.attribute(value, &name)? {
            Some(method @ Value::Method(_)) => Some(method),
            _ => None,
        },
        other => e.attribute(other, &name)?,
    };
    Ok(found.unwrap_or_else(|| Value::Undefined(Some((&*name).into()))))
}

pub(super) fn map(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
) -> FilterResult<Value> {
    if !e.truth(value)? {
        return e.list(Sort::Iterator, Vec::new());
    }
    let mut mapped = Vec::new();
    if let Some(attribute) = given.named("attribute") {
        let default = given.named("default");
        for item in e.items(value)? {
            let found = lookup(e, &item, Some(attribute))?;
            mapped.push(match (found.is_undefined(), default) {
                (true, Some(default)) => default.clone(),
                _ => found,
            });
        }
        return e.list(Sort::Iterator, mapped);
    }
    let name = given.need(0, "filter")?.clone();
    let name = e.text(&name)?;
    let filter = super::find(&name).ok_or_else(|| fail(format!("filter {name} is unknown")))?;
    let rest = rest(given, 1);
    if let Some(parameters) = filter.parameters {
        rest.check(filter.name, parameters)?;
    }
    for item in e.items(value)? {
        mapped.push((filter.run)(e, &e.unmarked(&item), &rest)?);
    }
    e.list(Sort::Iterator, mapped)
}

fn rest(given: &EvaluatedArguments, from: usize) -> EvaluatedArguments {
    EvaluatedArguments {
        positional: given.positional.iter().skip(from).cloned().collect(),
        named: given.named.clone(),
    }
}

/// Implements the four filters that select items by a test.
fn keep(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
    by_attribute: bool,
    wanted: bool,
) -> FilterResult<Value> {
    if !e.truth(value)? {
        return e.list(Sort::Iterator, Vec::new());
    }
    let skip = usize::from(by_attribute);
    let attribute = if by_attribute {
        Some(given.need(0, "attribute")?.clone())
    } else {
        None
    };
    let test = match given.positional.get(skip) {
        None => None,
        Some(name) => {
            let name = e.text(&name.clone())?;
            let test = test::find(&name);
            Some(test.ok_or_else(|| fail(format!("test {name} is unknown")))?)
        }
    };
    let rest = rest(given, skip + 1);
    let mut kept = Vec::new();
    for item in e.items(value)? {
        let subject = lookup(e, &item, attribute.as_ref())?;
        let holds = match test {
            Some(test) => (test.run)(e, &subject, &rest)?,
            None => e.truth(&subject)?,
        };
        if holds == wanted {
            kept.push(item);
        }
    }
    e.list(Sort::Iterator, kept)
}

pub(super) fn select(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
) -> FilterResult<Value> {
    keep(e, value, given, false, true)
}

pub(super) fn reject(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
) -> FilterResult<Value> {
    keep(e, value, given, false, false)
}

pub(super) fn selectattr(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
) -> FilterResult<Value> {
    keep(e, value, given, true, true)
}

pub(super) fn rejectattr(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
) -> FilterResult<Value> {
    keep(e, value, given, true, false)
}

/// Converts a text to lower case, unless the comparison is case-sensitive.
fn folded(e: &mut Evaluator<'_, '_>, value: Value, sensitive: bool) -> FilterResult<Value> {
    match value {
        Value::Str(text) if !sensitive => {
            e.charge(text.len())?;
            Ok(text.to_lowercase().into())
        }
        other => Ok(other),
    }
}

/// Sorts values by their keys. The sort is stable, and it returns an error if two keys cannot be
/// compared. The standard sort may panic with NaN, which has no total order.
fn sort_by_key(
    e: &mut Evaluator<'_, '_>,
    keyed: Vec<(Value, Value)>,
    reverse: bool,
) -> FilterResult<Vec<Value>> {
    let sorted = merge_sort(e, keyed, reverse)?;
    Ok(sorted.into_iter().map(|(_, value)| value).collect())
}

fn merge_sort(
    e: &mut Evaluator<'_, '_>,
    mut left: Vec<(Value, Value)>,
    reverse: bool,
) -> FilterResult<Vec<(Value, Value)>> {
    if left.len() < 2 {
        return Ok(left);
    }
    let right = left.split_off(left.len() / 2);
    let left = merge_sort(e, left, reverse)?;
    let right = merge_sort(e, right, reverse)?;
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let mut left = left.into_iter().peekable();
    for right in right {
        while let Some((key, _)) = left.peek() {
            let (a, b) = if reverse {
                (key, &right.0)
            } else {
                (&right.0, key)
            };
            if e.order("<", a, b)? == Some(Ordering::Less) {
                break;
            }
            merged.extend(left.next());
        }
        merged.push(right);
    }
    merged.extend(left);
    Ok(merged)
}

/// Returns the sort key of an item: a tuple of its value, or of several values for
/// `attribute="a,b"`. Within a tuple, undefined values compare as equal instead of failing the
/// comparison.
fn sort_key(
    e: &mut Evaluator<'_, '_>,
    item: &Value,
    attribute: Option<&Value>,
    sensitive: bool,
) -> FilterResult<Value> {
    match attribute {
        Some(Value::Str(paths)) if paths.contains(',') => {
            let mut keys = Vec::new();
            for path in paths.split(',') {
                let key = lookup(e, item, Some(&path.trim().into()))?;
                keys.push(folded(e, key, sensitive)?);
            }
            e.list(Sort::Tuple, keys)
        }
        attribute => {
            let key = lookup(e, item, attribute)?;
            let key = folded(e, key, sensitive)?;
            e.list(Sort::Tuple, vec![key])
        }
    }
}

pub(super) fn sort(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
) -> FilterResult<Value> {
    let sensitive = given.flag(1, "case_sensitive", false);
    let mut keyed = Vec::new();
    for item in e.items(value)? {
        let key = sort_key(e, &item, given.get(2, "attribute"), sensitive)?;
        keyed.push((key, item));
    }
    let sorted = sort_by_key(e, keyed, given.flag(0, "reverse", false))?;
    e.list(Sort::List, sorted)
}

fn pairs(e: &mut Evaluator<'_, '_>, value: &Value) -> FilterResult<Vec<(Value, Value)>> {
    let Value::Dict(dict) = value else {
        return Err(fail(format!(
            "'{}' object has no attribute 'items'",
            value.kind()
        )));
    };
    e.pass.steps(dict.len())?;
    e.charge(dict.len() * 4 * VALUE_SIZE)?;
    Ok(dict.iter().collect())
}

pub(super) fn dictsort(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
) -> FilterResult<Value> {
    let sensitive = given.flag(0, "case_sensitive", false);
    let by_value = match given.str(1, "by", "key")? {
        "key" => false,
        "value" => true,
        _ => return Err(fail("You can only sort by either \"key\" or \"value\"")),
    };
    let mut keyed = Vec::new();
    for (key, value) in pairs(e, value)? {
        let by = if by_value { value.clone() } else { key.clone() };
        let by = folded(e, by, sensitive)?;
        keyed.push((by, e.list(Sort::Tuple, vec![key, value])?));
    }
    let sorted = sort_by_key(e, keyed, given.flag(2, "reverse", false))?;
    e.list(Sort::List, sorted)
}

pub(super) fn groupby(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
) -> FilterResult<Value> {
    let attribute = given.need(0, "attribute")?.clone();
    let default = given.get(1, "default").cloned();
    let sensitive = given.flag(2, "case_sensitive", false);
    let mut keyed = Vec::new();
    for item in e.items(value)? {
        let found = lookup(e, &item, Some(&attribute))?;
        let shown = match (found.is_undefined(), &default) {
            (true, Some(default)) => default.clone(),
            _ => found,
        };
        let key = folded(e, shown.clone(), sensitive)?;
        keyed.push((key.clone(), e.list(Sort::Tuple, vec![key, shown, item])?));
    }
    let mut groups: Vec<(Value, Value, Vec<Value>)> = Vec::new();
    for entry in sort_by_key(e, keyed, false)? {
        let [key, shown, item] = <[Value; 3]>::try_from(e.items(&entry)?)
            .map_err(|_| fail("groupby received an invalid item"))?;
        match groups.last_mut() {
            Some((last, _, items)) if e.equal(last, &key)? => items.push(item),
            _ => groups.push((key, shown, vec![item])),
        }
    }
    let mut out = Vec::new();
    for (_, shown, items) in groups {
        let items = e.list(Sort::List, items)?;
        out.push(e.list(Sort::Tuple, vec![shown, items])?);
    }
    e.list(Sort::List, out)
}

pub(super) fn unique(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
) -> FilterResult<Value> {
    let sensitive = given.flag(0, "case_sensitive", false);
    let mut seen = std::collections::HashSet::new();
    let mut kept = Vec::new();
    for item in e.items(value)? {
        let key = lookup(e, &item, given.get(1, "attribute"))?;
        let key = folded(e, key, sensitive)?;
        if seen.insert(e.key(&key)?) {
            kept.push(item);
        }
    }
    e.list(Sort::Iterator, kept)
}

pub(super) fn max(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
) -> FilterResult<Value> {
    extreme(e, value, given, Ordering::Greater)
}

pub(super) fn min(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
) -> FilterResult<Value> {
    extreme(e, value, given, Ordering::Less)
}

fn extreme(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
    wanted: Ordering,
) -> FilterResult<Value> {
    let sensitive = given.flag(0, "case_sensitive", false);
    let mut best: Option<(Value, Value)> = None;
    for item in e.items(value)? {
        let key = lookup(e, &item, given.get(1, "attribute"))?;
        let key = folded(e, key, sensitive)?;
        let better = match &best {
            None => true,
            Some((best, _)) => e.order("<", &key, best)? == Some(wanted),
        };
        if better {
            best = Some((key, item));
        }
    }
    Ok(best.map_or(Value::UNDEFINED, |(_, item)| item))
}

pub(super) fn sum(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
) -> FilterResult<Value> {
    let mut total = given.get(1, "start").cloned().unwrap_or(Value::Int(0));
    for item in e.items(value)? {
        let item = lookup(e, &item, given.get(0, "attribute"))?;
        total = e.math(BinaryOperator::Add, &total, &item)?;
    }
    Ok(total)
}

pub(super) fn batch(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
) -> FilterResult<Value> {
    let size = given.size(0, "linecount", 0)?.max(1);
    let items = e.items(value)?;
    let mut rows = Vec::new();
    for chunk in items.chunks(size) {
        let mut row = chunk.to_vec();
        fill(e, &mut row, size, given)?;
        rows.push(e.list(Sort::List, row)?);
    }
    e.list(Sort::Iterator, rows)
}

fn fill(
    e: &mut Evaluator<'_, '_>,
    row: &mut Vec<Value>,
    size: usize,
    given: &EvaluatedArguments,
) -> FilterResult<()> {
    if let (Some(filler), true) = (given.get(1, "fill_with"), row.len() < size) {
        e.charge((size - row.len()).saturating_mul(VALUE_SIZE))?;
        row.resize(size, filler.clone());
    }
    Ok(())
}

pub(super) fn slice(
    e: &mut Evaluator<'_, '_>,
    value: &Value,
    given: &EvaluatedArguments,
) -> FilterResult<Value> {
    let slices = given.size(0, "slices", 0)?;
    let items = e.items(value)?;
    if slices == 0 {
        return Err(fail("division by zero"));
    }
    e.pass.steps(slices)?;
    e.charge(slices.saturating_mul(2 * VALUE_SIZE))?;
    let (each, longer) = (items.len() / slices, items.len() % slices);
    let mut rest = items.as_slice();
    let mut rows = Vec::new();
    for index in 0..slices {
        let len = each + usize::from(index < longer);
        let (row, after) = rest.split_at(len.min(rest.len()));
        rest = after;
        let mut row = row.to_vec();
        if index >= longer {
            fill(e, &mut row, each + 1, given)?;
        }
        rows.push(e.list(Sort::List, row)?);
    }
    e.list(Sort::Iterator, rows)
}
