//! Vectors of Handlebars, with the helpers that they declare.

use quillet_core::{Map, Value, ValueList, json};
use quillet_template::format::handlebars::{HandlebarsFormat, HelperCall, HelperResult};
use quillet_template::{NoFunctions, StopReason, TemplateSource};

use super::file::{self, Vector};
use super::report::Outcome;

pub(super) fn run(text: &str) -> Result<Vec<Outcome>, String> {
    file::run(text, evaluate)
}

fn evaluate(vector: &Vector<'_>) -> Result<String, String> {
    let option = |name: &str| vector.get(&["options", name]) == Some(&Value::Bool(true));
    let mut format = HandlebarsFormat::new()
        .escape_html(!option("noEscape"))
        .strict(option("strict"));
    for (name, declared) in &vector.shared("helpers") {
        let declared = declared.clone();
        format = format.with_helper(&**name, move |call| declared_helper(&declared, call));
    }
    let partials = vector.shared("partials");
    let partials = partials.iter().filter_map(|(name, text)| {
        let text = text.as_str()?;
        Some(TemplateSource::library(name, text))
    });
    let mut sources = vec![TemplateSource::new("main", vector.text("template"))];
    sources.extend(partials);
    let variables = vector.data().as_map().cloned().unwrap_or_default();
    Ok(file::rendered(&format, &sources, &variables, &NoFunctions)?.text(0))
}

/// Creates a helper of one of the kinds listed in the README of the files.
fn declared_helper(
    declared: &Value,
    call: &mut HelperCall<'_>,
) -> Result<HelperResult, StopReason> {
    let field = |key: &str| declared.get_path(&[key]).cloned().unwrap_or_default();
    let text = |key: &str| field(key).as_str().unwrap_or_default().to_owned();
    match text("op").as_str() {
        "upper" => Ok(call.text(0)?.to_uppercase().into()),
        "concat" => Ok(all_text(call)?.into()),
        "eq" => Ok(equal(call).into()),
        "json" => Ok(json::to_string(call.argument(0).unwrap_or(&Value::Null)).into()),
        "hash" => hash(call),
        "list" => Ok(arguments(call).into()),
        "safe" => Ok(HelperResult::Safe(call.text(0)?.into_owned())),
        "const" => Ok(field("value").into()),
        "add" => Ok(sum(call).into()),
        "ctx" => Ok(this(call, &text("key")).into()),
        "block_wrap" => {
            call.write(&text("before"))?;
            call.body()?;
            call.write(&text("after"))?;
            Ok(HelperResult::Written)
        }
        "block_repeat" => repeat(call),
        "block_if_eq" => {
            if equal(call) {
                call.body()?
            } else {
                call.otherwise()?
            }
            Ok(HelperResult::Written)
        }
        "block_with_value" => {
            call.body_with(call.argument(0), &[])?;
            Ok(HelperResult::Written)
        }
        _ => Err(call.fail(text("message"))),
    }
}

fn all_text(call: &mut HelperCall<'_>) -> Result<String, StopReason> {
    let mut all = String::new();
    for index in 0..call.count() {
        all.push_str(&call.text(index)?);
    }
    Ok(all)
}

fn arguments(call: &HelperCall<'_>) -> Value {
    let one = |index| call.argument(index).cloned().unwrap_or_default();
    Value::List((0..call.count()).map(one).collect::<ValueList>())
}

fn equal(call: &HelperCall<'_>) -> bool {
    match (call.argument(0), call.argument(1)) {
        (Some(Value::Int(a)), Some(Value::Float(b))) => *a as f64 == *b,
        (Some(Value::Float(a)), Some(Value::Int(b))) => *a == *b as f64,
        (a, b) => a == b,
    }
}

fn hash(call: &mut HelperCall<'_>) -> Result<HelperResult, StopReason> {
    let named: Map = call.all_named();
    let mut pairs = Vec::new();
    for (name, value) in &named {
        pairs.push(format!("{name}={}", call.text_of(value)?));
    }
    pairs.sort();
    Ok(pairs.join(",").into())
}

fn sum(call: &HelperCall<'_>) -> Value {
    let number = |index| match call.argument(index) {
        Some(Value::Int(number)) => *number as f64,
        Some(Value::Float(number)) => *number,
        _ => f64::NAN,
    };
    (0..call.count()).map(number).sum::<f64>().into()
}

fn this(call: &HelperCall<'_>, key: &str) -> Value {
    let value = call.this().and_then(|this| this.get_path(&[key]));
    value.cloned().unwrap_or_default()
}

fn repeat(call: &mut HelperCall<'_>) -> Result<HelperResult, StopReason> {
    let Some(Value::Int(count @ 1..)) = call.argument(0) else {
        call.otherwise()?;
        return Ok(HelperResult::Written);
    };
    for index in 0..*count {
        call.body_with(call.this(), &[("index", Value::Int(index))])?;
    }
    Ok(HelperResult::Written)
}
