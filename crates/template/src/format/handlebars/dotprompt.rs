//! The preset `dotprompt`: Handlebars as in `.prompt` files. A name without arguments is a function
//! only if no variable has that name. The helpers write message structure, which data cannot forge.

use quillet_core::Value;

use super::helper::{HelperCall, HelperResult};
use super::json::{self, JsonLayout};
use super::{HandlebarsFormat, HandlebarsPreset};
use crate::{StopReason, structure};

/// Maximum indentation of JavaScript's `JSON.stringify`.
const MOST_INDENT: i64 = 10;

impl HandlebarsFormat {
    /// Creates the format `dotprompt`, which includes the helpers `role`, `history`, `media`,
    /// `section`, `json`, `ifEquals` and `unlessEquals` of the dotprompt specification. Outside
    /// loops, `@name` reads the variable named `@name`. Use such variables to pass `@state` and
    /// `@auth`.
    #[must_use]
    pub fn dotprompt() -> Self {
        HandlebarsFormat {
            preset: HandlebarsPreset::Dotprompt,
            ..Self::new()
        }
        .with_pure_helper("role", |call| {
            let name = call.text(0)?;
            Ok(HelperResult::Safe(structure::role(&name)))
        })
        .with_pure_helper("history", |_| Ok(HelperResult::Safe(structure::history())))
        .with_pure_helper("section", |call| {
            let name = call.text(0)?;
            Ok(HelperResult::Safe(structure::section(&name)))
        })
        .with_pure_helper("media", media)
        .with_pure_helper("json", |call| {
            let value = call.argument(0).unwrap_or(&Value::Null);
            let text = json::text(call, value, JsonLayout::javascript(indent(call)))?;
            Ok(HelperResult::Safe(text))
        })
        .with_pure_helper("ifEquals", |call| branch(call, true))
        .with_pure_helper("unlessEquals", |call| branch(call, false))
    }
}

/// Implements `{{media url=… contentType=…}}`.
fn media(call: &mut HelperCall<'_>) -> Result<HelperResult, StopReason> {
    let Some(url) = call.named("url") else {
        return Err(call.fail("missing url=…, the address of the media"));
    };
    let url = call.text_of(url)?;
    let kind = match call.named("contentType") {
        Some(kind) => Some(call.text_of(kind)?),
        None => None,
    };
    Ok(HelperResult::Safe(structure::media(&url, kind.as_deref())))
}

fn indent(call: &HelperCall<'_>) -> usize {
    match call.named("indent") {
        Some(Value::Int(indent)) => usize::try_from(*indent.min(&MOST_INDENT)).unwrap_or(0),
        Some(Value::Float(indent)) => indent.clamp(0.0, MOST_INDENT as f64) as usize,
        _ => 0,
    }
}

fn branch(call: &mut HelperCall<'_>, wanted: bool) -> Result<HelperResult, StopReason> {
    if equal(call.argument(0), call.argument(1)) == wanted {
        call.body()?
    } else {
        call.otherwise()?
    }
    Ok(HelperResult::Written)
}

/// Compares like JavaScript's `===`, except that lists and objects with equal content are equal.
fn equal(one: Option<&Value>, other: Option<&Value>) -> bool {
    match (one, other) {
        (Some(Value::Int(int)), Some(Value::Float(float)))
        | (Some(Value::Float(float)), Some(Value::Int(int))) => *int as f64 == *float,
        (one, other) => one == other,
    }
}
