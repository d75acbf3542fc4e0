//! Functions of the format.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::call::EvaluatedArguments;
use super::eval::{Evaluator, VALUE_SIZE, fail};
use super::semantic_kernel;
use super::syntax::JinjaPreset;
use super::value::{DictKey, List, Sort, Value};
use crate::StopReason;

/// Maximum length of a range, as in jinja2's sandbox.
const MAX_RANGE: usize = 100_000;

pub(super) struct FunctionEntry {
    pub(super) name: &'static str,
    /// Names of the parameters. `None` if the function accepts any arguments.
    pub(super) parameters: Option<&'static [&'static str]>,
    pub(super) run: FunctionFn,
}

type FunctionFn = fn(&mut Evaluator<'_, '_>, &EvaluatedArguments) -> Result<Value, StopReason>;

impl std::fmt::Debug for FunctionEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

pub(super) const fn function(
    name: &'static str,
    parameters: Option<&'static [&'static str]>,
    run: FunctionFn,
) -> FunctionEntry {
    FunctionEntry {
        name,
        parameters,
        run,
    }
}

static FUNCTIONS: &[FunctionEntry] = &[
    function("range", Some(&["start", "stop", "step"]), range),
    function("namespace", None, namespace),
    function("dict", None, dict),
    function("cycler", None, cycler),
    function("joiner", Some(&["sep"]), joiner),
];

/// Functions that exist only in the chat templates of transformers.
static HUGGING_FACE: &[FunctionEntry] = &[
    function("raise_exception", Some(&["message"]), raise_exception),
    function("strftime_now", Some(&["format"]), strftime_now),
];

/// Yields all functions of a preset.
fn of(preset: JinjaPreset) -> impl Iterator<Item = &'static FunctionEntry> {
    let own = match preset {
        JinjaPreset::HuggingFace | JinjaPreset::Script => HUGGING_FACE,
        JinjaPreset::Plain => &[],
        JinjaPreset::SemanticKernel => semantic_kernel::FUNCTIONS,
    };
    FUNCTIONS.iter().chain(own)
}

/// Yields the names of all functions of a preset.
pub(super) fn names(preset: JinjaPreset) -> impl Iterator<Item = &'static str> {
    of(preset).map(|function| function.name)
}

/// Returns the function with this name.
pub(super) fn find(name: &str, preset: JinjaPreset) -> Option<&'static FunctionEntry> {
    of(preset).find(|function| function.name == name)
}

fn range(e: &mut Evaluator<'_, '_>, given: &EvaluatedArguments) -> Result<Value, StopReason> {
    let first = given.int(0, "start", 0)?;
    let (start, stop) = match given.get(1, "stop") {
        Some(_) => (first, given.int(1, "stop", 0)?),
        None => (0, first),
    };
    let step = given.int(2, "step", 1)?;
    if step == 0 {
        return Err(fail("range() arg 3 must not be zero"));
    }
    let range = List::range(start, stop, step);
    if range.len() > MAX_RANGE {
        return Err(fail(format!(
            "range too big: the limit on items of one range is {MAX_RANGE}"
        )));
    }
    e.step()?;
    Ok(Value::List(range))
}

fn table(
    e: &mut Evaluator<'_, '_>,
    given: &EvaluatedArguments,
) -> Result<IndexMap<DictKey, Value>, StopReason> {
    let mut table = IndexMap::new();
    match given.positional.first() {
        None => {}
        Some(Value::Dict(dict)) => {
            e.pass.steps(dict.len())?;
            for (key, value) in dict.iter() {
                table.insert(e.key(&key)?, value);
            }
        }
        Some(Value::Undefined(path)) => return Err(e.undefined(path.as_deref())),
        Some(pairs) => {
            for pair in e.items(pairs)? {
                let pair = e.items(&pair)?;
                let [key, value] = <[Value; 2]>::try_from(pair)
                    .map_err(|_| fail("a dict is made of pairs of a key and a value"))?;
                table.insert(e.key(&key)?, value);
            }
        }
    }
    for (name, value) in &given.named {
        table.insert(DictKey::Str(Arc::clone(name)), value.clone());
    }
    Ok(table)
}

fn dict(e: &mut Evaluator<'_, '_>, given: &EvaluatedArguments) -> Result<Value, StopReason> {
    let table = table(e, given)?;
    e.dict(table)
}

fn namespace(e: &mut Evaluator<'_, '_>, given: &EvaluatedArguments) -> Result<Value, StopReason> {
    let table = table(e, given)?;
    e.charge((4 + 2 * table.len()) * VALUE_SIZE)?;
    let mut names = IndexMap::new();
    for (key, value) in table {
        names.insert(e.text(&key.value())?, value);
    }
    e.namespaces.push(names);
    Ok(Value::Namespace(e.namespaces.len() - 1))
}

fn cycler(e: &mut Evaluator<'_, '_>, given: &EvaluatedArguments) -> Result<Value, StopReason> {
    if given.positional.is_empty() {
        return Err(fail("at least one item has to be provided"));
    }
    e.charge(given.positional.len() * VALUE_SIZE)?;
    let items = List::new(Sort::List, given.positional.clone());
    let cycler = Value::Cycler(Rc::new((items, Cell::new(0))));
    e.check_depth(&cycler)?;
    Ok(cycler)
}

fn joiner(_: &mut Evaluator<'_, '_>, given: &EvaluatedArguments) -> Result<Value, StopReason> {
    let separator = given.str(0, "sep", ", ")?;
    Ok(Value::Joiner(Rc::new((separator.into(), Cell::new(false)))))
}

fn raise_exception(
    e: &mut Evaluator<'_, '_>,
    given: &EvaluatedArguments,
) -> Result<Value, StopReason> {
    let message = given.need(0, "message")?.clone();
    Err(fail(&*e.text(&message)?))
}

/// Returns the start time of the render in UTC, which is the same in every pass.
fn strftime_now(
    e: &mut Evaluator<'_, '_>,
    given: &EvaluatedArguments,
) -> Result<Value, StopReason> {
    let format = given.str(0, "format", "%Y-%m-%d")?;
    e.charge(format.len() * 8)?;
    let now = Timestamp::try_from(e.pass.now()).map_err(|error| fail(error.to_string()))?;
    let now = now.to_zoned(TimeZone::UTC);
    match jiff::fmt::strtime::format(format, &now) {
        Ok(text) => Ok(text.into()),
        Err(error) => Err(fail(error.to_string())),
    }
}
