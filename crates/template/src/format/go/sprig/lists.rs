//! Functions for lists.

use std::collections::BTreeSet;

use super::super::{FunctionContext, FunctionError, GoFunction, GoList, GoType, GoValue};
use super::{args, cast, cost, flow, strings, types};

type FnResult = Result<GoValue, FunctionError>;

const ANY: GoType = GoType::Any;
const INT: GoType = GoType::Int;

pub(super) const FUNCTIONS: &[GoFunction] = &[
    GoFunction::variadic("list", &[ANY], list),
    GoFunction::variadic("tuple", &[ANY], list),
    GoFunction::new("first", &[ANY], first),
    GoFunction::new("mustFirst", &[ANY], first),
    GoFunction::new("last", &[ANY], last),
    GoFunction::new("mustLast", &[ANY], last),
    GoFunction::new("rest", &[ANY], rest),
    GoFunction::new("mustRest", &[ANY], rest),
    GoFunction::new("initial", &[ANY], initial),
    GoFunction::new("mustInitial", &[ANY], initial),
    GoFunction::new("append", &[ANY, ANY], append),
    GoFunction::new("push", &[ANY, ANY], append),
    GoFunction::new("mustAppend", &[ANY, ANY], append),
    GoFunction::new("mustPush", &[ANY, ANY], append),
    GoFunction::new("prepend", &[ANY, ANY], prepend),
    GoFunction::new("mustPrepend", &[ANY, ANY], prepend),
    GoFunction::variadic("concat", &[ANY], concat),
    GoFunction::new("reverse", &[ANY], reverse),
    GoFunction::new("mustReverse", &[ANY], reverse),
    GoFunction::new("uniq", &[ANY], uniq),
    GoFunction::new("mustUniq", &[ANY], uniq),
    GoFunction::new("compact", &[ANY], compact),
    GoFunction::new("mustCompact", &[ANY], compact),
    GoFunction::variadic("without", &[ANY, ANY], without),
    GoFunction::variadic("mustWithout", &[ANY, ANY], without),
    GoFunction::new("has", &[ANY, ANY], has),
    GoFunction::new("mustHas", &[ANY, ANY], has),
    GoFunction::variadic("slice", &[ANY, ANY], slice),
    GoFunction::variadic("mustSlice", &[ANY, ANY], slice),
    GoFunction::new("chunk", &[INT, ANY], chunk),
    GoFunction::new("mustChunk", &[INT, ANY], chunk),
    GoFunction::new("sortAlpha", &[ANY], sort_alpha),
    GoFunction::new("until", &[INT], until),
    GoFunction::new("untilStep", &[INT, INT, INT], until_step),
    GoFunction::variadic("seq", &[INT], seq),
];

/// Charges for a list of these items and builds it.
fn make(cx: &mut FunctionContext<'_, '_>, items: Vec<GoValue>) -> FnResult {
    cost::list(cx, items)
}

/// Charges for a copy of a list and returns its items.
fn items(
    cx: &mut FunctionContext<'_, '_>,
    value: &GoValue,
    refusal: &str,
) -> Result<Vec<GoValue>, FunctionError> {
    let list = args::list_of(value, refusal)?;
    cost::items(cx, list.len() + 1)?;
    Ok(list.iter().collect())
}

fn list(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    cost::items(cx, args.len())?;
    make(cx, args.to_vec())
}

fn first(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let list = args::list_of(&args::value(args, 0), "Cannot find first on type")?;
    Ok(list.get(0).unwrap_or_default())
}

fn last(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let list = args::list_of(&args::value(args, 0), "Cannot find last on type")?;
    let last = list.len().checked_sub(1).and_then(|at| list.get(at));
    Ok(last.unwrap_or_default())
}

fn rest(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let items = items(cx, &args::value(args, 0), "Cannot find rest on type")?;
    make(cx, items.into_iter().skip(1).collect())
}

fn initial(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let mut items = items(cx, &args::value(args, 0), "Cannot find initial on type")?;
    items.pop();
    make(cx, items)
}

fn append(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let mut items = items(cx, &args::value(args, 0), "Cannot push on type")?;
    items.push(args::value(args, 1));
    make(cx, items)
}

fn prepend(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let mut items = items(cx, &args::value(args, 0), "Cannot prepend on type")?;
    items.insert(0, args::value(args, 1));
    make(cx, items)
}

fn concat(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let mut all = Vec::new();
    for arg in args {
        let GoValue::List(list) = arg else {
            return Err(not_a_list(arg));
        };
        cost::items(cx, list.len())?;
        all.extend(list.iter());
    }
    make(cx, all)
}

fn not_a_list(value: &GoValue) -> FunctionError {
    match value {
        GoValue::Nil => args::NIL.into(),
        other => format!("Cannot concat type {} as list", types::kind(other)).into(),
    }
}

fn reverse(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let mut items = items(cx, &args::value(args, 0), "Cannot find reverse on type")?;
    items.reverse();
    make(cx, items)
}

fn uniq(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let items = items(cx, &args::value(args, 0), "Cannot find uniq on type")?;
    // A set finds equal strings, because comparing all pairs would take quadratic time.
    let mut texts = BTreeSet::new();
    let mut others: Vec<GoValue> = Vec::new();
    let mut kept = Vec::new();
    for item in items {
        let new = match &item {
            GoValue::Str(text) => texts.insert(text.clone()),
            other => !contains(cx, &others, other)?,
        };
        if !new {
            continue;
        }
        if !matches!(item, GoValue::Str(_)) {
            others.push(item.clone());
        }
        kept.push(item);
    }
    make(cx, kept)
}

fn contains(
    cx: &mut FunctionContext<'_, '_>,
    items: &[GoValue],
    wanted: &GoValue,
) -> Result<bool, FunctionError> {
    for item in items {
        if types::deep_equal(cx, item, wanted)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn compact(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let mut items = items(cx, &args::value(args, 0), "Cannot compact on type")?;
    items.retain(|item| !flow::is_empty(item));
    make(cx, items)
}

fn without(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let items = items(cx, &args::value(args, 0), "Cannot find without on type")?;
    let mut kept = Vec::new();
    for item in items {
        if !contains(cx, args::rest(args, 1), &item)? {
            kept.push(item);
        }
    }
    make(cx, kept)
}

fn has(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let (needle, haystack) = (args::value(args, 0), args::value(args, 1));
    if matches!(haystack, GoValue::Nil) {
        return Ok(false.into());
    }
    let list = args::list_of(&haystack, "Cannot find has on type")?;
    for item in list.iter() {
        if types::deep_equal(cx, &needle, &item)? {
            return Ok(true.into());
        }
    }
    Ok(false.into())
}

fn slice(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let refusal = "list should be type of slice or array but";
    let list = args::list_of(&args::value(args, 0), refusal)?;
    if list.is_empty() {
        return Ok(GoValue::Nil);
    }
    let start = args.get(1).map_or(0, cast::to_int);
    let end = args.get(2).map_or(list.len() as i64, cast::to_int);
    let range = match (usize::try_from(start), usize::try_from(end)) {
        (Ok(start), Ok(end)) if start <= end && end <= list.len() => start..end,
        _ => return Err("reflect.Value.Slice: slice index out of bounds".into()),
    };
    cost::items(cx, range.len())?;
    let part = range.filter_map(|at| list.get(at)).collect();
    Ok(GoValue::List(GoList::typed(list.element(), part)))
}

fn chunk(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let items = items(cx, &args::value(args, 1), "Cannot chunk type")?;
    let Some(size) = usize::try_from(args::int(args, 0)).ok().filter(|&n| n > 0) else {
        return Err("runtime error: makeslice: len out of range".into());
    };
    cost::items(cx, items.len().div_ceil(size))?;
    let mut chunks = Vec::new();
    for chunk in items.chunks(size) {
        chunks.push(make(cx, chunk.to_vec())?);
    }
    Ok(GoValue::List(GoList::typed(GoType::LIST, chunks)))
}

fn sort_alpha(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let value = args::value(args, 0);
    let mut texts = match value {
        GoValue::Nil => vec!["<nil>".into()],
        value => strings::texts(cx, &value)?,
    };
    cx.steps(texts.len())?;
    texts.sort_unstable();
    cost::strings(cx, texts)
}

/// The numbers `start`, `start + step`, ... before `stop`. Empty if the step leads away from
/// `stop`.
#[derive(Clone, Copy, Debug)]
struct Progression {
    start: i64,
    stop: i64,
    step: i64,
}

impl Progression {
    fn len(self) -> usize {
        let (way, step) = (
            i128::from(self.stop) - i128::from(self.start),
            i128::from(self.step),
        );
        if way == 0 || step == 0 || (way < 0) != (step < 0) {
            return 0;
        }
        let length = (way.abs() + step.abs() - 1) / step.abs();
        usize::try_from(length).unwrap_or(usize::MAX)
    }

    fn numbers(self) -> impl Iterator<Item = i64> {
        (0..self.len())
            .map(move |turn| self.start.wrapping_add(self.step.wrapping_mul(turn as i64)))
    }
}

fn until(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let stop = args::int(args, 0);
    let step = if stop < 0 { -1 } else { 1 };
    integers(
        cx,
        Progression {
            start: 0,
            stop,
            step,
        },
    )
}

fn until_step(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let (start, stop, step) = (args::int(args, 0), args::int(args, 1), args::int(args, 2));
    integers(cx, Progression { start, stop, step })
}

fn integers(cx: &mut FunctionContext<'_, '_>, numbers: Progression) -> FnResult {
    cost::items(cx, numbers.len())?;
    let list = numbers.numbers().map(GoValue::Int).collect();
    Ok(GoValue::List(GoList::typed(GoType::Int, list)))
}

/// Formats a range of numbers like the command `seq`.
fn seq(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let numbers: Vec<i64> = (0..args.len()).map(|at| args::int(args, at)).collect();
    let toward = |start: i64, end: i64| if end < start { -1 } else { 1 };
    let (start, step, end) = match *numbers {
        [end] => (1, toward(1, end), end),
        [start, end] => (start, toward(start, end), end),
        [start, step, end] if step <= 0 || end >= start => (start, step, end),
        _ => return Ok("".into()),
    };
    let stop = end.saturating_add(toward(start, end));
    let numbers = Progression { start, stop, step };
    cx.steps(numbers.len())?;
    cost::build_many(cx, numbers.len(), "-9223372036854775808 ".len())?;
    let texts: Vec<String> = numbers.numbers().map(|number| number.to_string()).collect();
    Ok(texts.join(" ").into())
}
