//! The preset `semantic-kernel-handlebars`: Handlebars with Semantic Kernel's helpers. It follows
//! the Python version where that differs from .NET. Every helper has both spellings (`less_than`,
//! `lessThan`).

use std::borrow::Cow;

use quillet_core::{Value, ValueList};

use super::helper::{Effect, Helper, HelperCall, HelperResult};
use super::json::{self, JsonLayout};
use super::{HandlebarsFormat, HandlebarsPreset};
use crate::structure::Elements;
use crate::{StopReason, structure};

/// Maximum length of a range.
const MOST_NUMBERS: i64 = 100_000;

type HelperFn = fn(&mut HelperCall<'_>) -> Result<HelperResult, StopReason>;

/// Helpers, each with all of its names.
const HELPERS: &[(&[&str], HelperFn)] = &[
    (&["set"], set),
    (&["get"], get),
    (&["array"], array),
    (&["range"], range),
    (&["concat"], concat),
    (&["or"], or),
    (&["add"], add),
    (&["subtract"], subtract),
    (&["equals"], equals),
    (&["less_than", "lessThan"], |call| {
        compare(call, |a, b| a < b)
    }),
    (&["greater_than", "greaterThan"], |call| {
        compare(call, |a, b| a > b)
    }),
    (&["less_than_or_equal", "lessThanOrEqual"], |call| {
        compare(call, |a, b| a <= b)
    }),
    (&["greater_than_or_equal", "greaterThanOrEqual"], |call| {
        compare(call, |a, b| a >= b)
    }),
    (&["json"], to_json),
    (&["double_open", "doubleOpen"], |_| Ok("{{".into())),
    (&["double_close", "doubleClose"], |_| Ok("}}".into())),
    (&["raw"], raw),
    (&["camel_case", "camelCase"], camel_case),
    (&["snake_case", "snakeCase"], snake_case),
    (&["message"], message),
];

impl HandlebarsFormat {
    /// Creates the format `semantic-kernel-handlebars`. `<message>` tags in the template's own text
    /// and `{{#message}}` blocks define messages. Data cannot define messages, so it needs no
    /// encoding.
    #[must_use]
    pub fn semantic_kernel() -> Self {
        let format = HandlebarsFormat {
            preset: HandlebarsPreset::SemanticKernel,
            ..Self::new()
        };
        let names = HELPERS
            .iter()
            .flat_map(|(names, run)| names.iter().map(|name| (*name, *run)));
        names.fold(format, |format, (name, run)| match name {
            "set" => format.with(name.into(), Helper::new(Effect::Sets, run)),
            name => format.with_pure_helper(name, run),
        })
    }

    /// Sets whether the output equals that of Semantic Kernel for Python, which HTML-encodes
    /// untrusted variables and function results. The encoding is not needed to separate messages
    /// from data. Use it for programs that parse the text themselves.
    #[must_use]
    pub fn encoded(self) -> Self {
        HandlebarsFormat {
            encoded: true,
            ..self
        }
    }
}

/// Returns the replacement of a character, as in Python's `html.escape`.
pub(super) fn encode(byte: u8) -> Option<&'static str> {
    Some(match byte {
        b'&' => "&amp;",
        b'<' => "&lt;",
        b'>' => "&gt;",
        b'"' => "&quot;",
        b'\'' => "&#x27;",
        _ => return None,
    })
}

fn set(call: &mut HelperCall<'_>) -> Result<HelperResult, StopReason> {
    let (name, value) = match (call.named("name"), call.named("value")) {
        (Some(name), value) => (Some(name), value),
        _ => (call.argument(0), call.argument(1)),
    };
    let Some(name) = name else {
        return Err(call.fail("it needs a name and a value"));
    };
    let name = call.text_of(name)?;
    call.assign(&name, value.cloned().unwrap_or_default())?;
    Ok(HelperResult::Written)
}

fn get(call: &mut HelperCall<'_>) -> Result<HelperResult, StopReason> {
    let name = match call.named("name") {
        Some(name) => call.text_of(name)?,
        None => call.text(0)?,
    };
    Ok(call.variable(&name).unwrap_or_default().into())
}

fn array(call: &mut HelperCall<'_>) -> Result<HelperResult, StopReason> {
    let one = |index| call.argument(index).cloned().unwrap_or_default();
    Ok(Value::List((0..call.count()).map(one).collect::<ValueList>()).into())
}

/// Implements `range end`, `range start end` and `range start end step`, as in Python.
fn range(call: &mut HelperCall<'_>) -> Result<HelperResult, StopReason> {
    let mut numbers = [0; 3];
    for (index, number) in numbers.iter_mut().enumerate().take(call.count()) {
        *number = integer(call, index)?;
    }
    let [start, end, step] = match (call.count(), numbers) {
        (1, [end, ..]) => [0, end, 1],
        (2, [start, end, _]) => [start, end, 1],
        (3, numbers) => numbers,
        _ => {
            return Err(call
                .fail("it requires an end, or a start and an end, or a start, an end and a step"));
        }
    };
    if step == 0 {
        return Err(call.fail("the step cannot be 0"));
    }
    let span = i128::from(end) - i128::from(start);
    let count = (span + i128::from(step) - i128::from(step.signum())) / i128::from(step);
    let Some(count) = i64::try_from(count.max(0))
        .ok()
        .filter(|it| *it <= MOST_NUMBERS)
    else {
        return Err(call.fail(format!("more than {MOST_NUMBERS} numbers")));
    };
    let size = usize::try_from(count).unwrap_or(0);
    call.charge(size.saturating_mul(size_of::<Value>()))?;
    call.steps(size)?;
    let number = |index| Value::Int(start + index * step);
    Ok(Value::List((0..count).map(number).collect::<ValueList>()).into())
}

fn integer(call: &mut HelperCall<'_>, index: usize) -> Result<i64, StopReason> {
    match call.argument(index) {
        Some(Value::Int(number)) => Ok(*number),
        _ => Ok(number(call, index)? as i64),
    }
}

/// Converts an argument to a float like Python.
fn number(call: &mut HelperCall<'_>, index: usize) -> Result<f64, StopReason> {
    match call.argument(index) {
        Some(Value::Int(number)) => Ok(*number as f64),
        Some(Value::Float(number)) => Ok(*number),
        Some(Value::Bool(value)) => Ok(f64::from(u8::from(*value))),
        _ => {
            let text = call.text(index)?;
            let number = text.trim().parse();
            number.map_err(|_| call.fail(format!("{text:?} is not a number")))
        }
    }
}

fn concat(call: &mut HelperCall<'_>) -> Result<HelperResult, StopReason> {
    let mut all = String::new();
    for index in 0..call.count() {
        let text = call.text(index)?;
        call.charge(text.len())?;
        all.push_str(&text);
    }
    Ok(all.into())
}

fn or(call: &mut HelperCall<'_>) -> Result<HelperResult, StopReason> {
    let holds = |index| call.argument(index).is_some_and(is_true);
    Ok((0..call.count()).any(holds).into())
}

/// Whether a value is true in Python.
fn is_true(value: &Value) -> bool {
    match value {
        Value::List(list) => !list.is_empty(),
        Value::Map(map) => !map.is_empty(),
        other => crate::format::javascript::is_true(other),
    }
}

fn add(call: &mut HelperCall<'_>) -> Result<HelperResult, StopReason> {
    let mut sum = 0.0;
    for index in 0..call.count() {
        sum += number(call, index)?;
    }
    Ok(Value::Float(sum).into())
}

fn subtract(call: &mut HelperCall<'_>) -> Result<HelperResult, StopReason> {
    let mut rest = number(call, 0)?;
    for index in 1..call.count() {
        rest -= number(call, index)?;
    }
    Ok(Value::Float(rest).into())
}

fn equals(call: &mut HelperCall<'_>) -> Result<HelperResult, StopReason> {
    let equal = match (call.argument(0), call.argument(1)) {
        (Some(Value::Int(int)), Some(Value::Float(float)))
        | (Some(Value::Float(float)), Some(Value::Int(int))) => *int as f64 == *float,
        (one, other) => one == other,
    };
    Ok(equal.into())
}

fn compare(
    call: &mut HelperCall<'_>,
    holds: fn(f64, f64) -> bool,
) -> Result<HelperResult, StopReason> {
    let (one, other) = (number(call, 0)?, number(call, 1)?);
    Ok(holds(one, other).into())
}

fn to_json(call: &mut HelperCall<'_>) -> Result<HelperResult, StopReason> {
    let Some(value) = call.argument(0) else {
        return Err(call.fail("it needs a value"));
    };
    let value = value.clone();
    Ok(json::text(call, &value, JsonLayout::PYTHON)?.into())
}

fn raw(call: &mut HelperCall<'_>) -> Result<HelperResult, StopReason> {
    call.body()?;
    Ok(HelperResult::Written)
}

/// Converts `hello_world` to `HelloWorld`.
fn camel_case(call: &mut HelperCall<'_>) -> Result<HelperResult, StopReason> {
    let text = call.text(0)?;
    call.charge(text.len().saturating_mul(3))?;
    let word = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next().into_iter().flat_map(char::to_uppercase);
        first.collect::<String>() + &letters.as_str().to_lowercase()
    };
    Ok(text.split('_').map(word).collect::<String>().into())
}

/// Converts `HelloWorld` to `hello_world`.
fn snake_case(call: &mut HelperCall<'_>) -> Result<HelperResult, StopReason> {
    let text = call.text(0)?;
    call.charge(text.len().saturating_mul(3))?;
    let mut out = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        if letter.is_uppercase() {
            out.push('_');
        }
        if letter.is_uppercase() {
            out.extend(letter.to_lowercase())
        } else {
            out.push(letter)
        }
    }
    Ok(out.trim_start_matches('_').into())
}

/// Implements `{{#message role="user"}}…{{/message}}`. Every named argument is an attribute of the
/// message. A body without parts becomes a text part.
fn message(call: &mut HelperCall<'_>) -> Result<HelperResult, StopReason> {
    let attributes = call.all_named();
    let mut elements = Elements::default();
    let mut write = |call: &mut HelperCall<'_>, literal: &str| {
        let marked: Cow<'_, str> = elements.mark(literal);
        call.write(&marked)
    };
    let mut literal = "<message".to_owned();
    for (name, value) in &attributes {
        let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        if !name.chars().all(fits) {
            return Err(call.fail(format!("{name:?} cannot be the name of an attribute")));
        }
        let value = call.text_of(value)?;
        write(call, &format!("{literal} {name}=\""))?;
        call.write(&value)?;
        "\"".clone_into(&mut literal);
    }
    write(call, &(literal + ">"))?;
    let body = call.marked_body()?;
    if structure::is_marked(&body) {
        call.write(&body)?
    } else {
        write(call, "<text>")?;
        call.write(&body)?;
        write(call, "</text>")?;
    }
    write(call, "</message>")?;
    Ok(HelperResult::Written)
}
