//! What goes back to JavaScript.

use napi::bindgen_prelude::*;
use napi::{Env, JsValue};
use quillet::core::{Diagnostic, Message, Severity, json};
use quillet::template::Segment;
use quillet::template::convert::Converted;
use quillet::{FunctionCall, Map, TemplateError, Value};

pub(crate) fn string<'e>(env: &'e Env, text: &str) -> Result<Unknown<'e>> {
    // Where each byte is a character, Node has only to copy them.
    if text.is_ascii() {
        return Ok(env.create_string_latin1(text)?.to_unknown());
    }
    Ok(env.create_string(text)?.to_unknown())
}

/// The text of a render, or what is wrong.
pub(crate) fn rendered(
    env: &Env,
    rendered: std::result::Result<Vec<u8>, TemplateError>,
) -> Result<Unknown<'_>> {
    match rendered {
        Ok(bytes) if bytes.is_ascii() => Ok(env.create_string_latin1(bytes)?.to_unknown()),
        Ok(bytes) => string(env, &String::from_utf8_lossy(&bytes)),
        Err(failed) => error(env, &failed),
    }
}

pub(crate) fn number(env: &Env, number: u32) -> Result<Unknown<'_>> {
    number.into_unknown(env)
}

pub(crate) fn nothing(env: &Env) -> Result<Unknown<'_>> {
    Null.into_unknown(env)
}

/// `{code, reason, message, source, line, column, hint, findings}`.
pub(crate) fn error<'e>(env: &'e Env, error: &TemplateError) -> Result<Unknown<'e>> {
    let mut object = Object::new(env)?;
    object.set("code", error.code())?;
    object.set("reason", error.reason())?;
    object.set("message", error.to_string())?;
    object.set("source", error.source_name())?;
    if let Some(position) = error.position() {
        object.set("line", position.line as u32)?;
        object.set("column", position.column as u32)?;
    }
    object.set("hint", error.hint())?;
    object.set("findings", findings(env, error.diagnostics())?)?;
    Ok(object.to_unknown())
}

pub(crate) fn findings<'e>(env: &'e Env, findings: &[Diagnostic]) -> Result<Unknown<'e>> {
    let mut array = env.create_array(0)?;
    for finding in findings {
        let mut object = Object::new(env)?;
        object.set("code", finding.code)?;
        object.set("severity", severity(finding.severity))?;
        object.set("message", finding.message.as_str())?;
        object.set("source", finding.source.as_str())?;
        if let Some(position) = finding.position {
            object.set("line", position.line as u32)?;
            object.set("column", position.column as u32)?;
        }
        if let Some(help) = &finding.help {
            object.set("hint", help.as_str())?;
        }
        array.insert(object)?;
    }
    Ok(array.to_unknown())
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// Their JSON, or what is wrong.
pub(crate) fn messages(
    env: &Env,
    messages: std::result::Result<Vec<Message>, TemplateError>,
) -> Result<Unknown<'_>> {
    match messages {
        Ok(messages) => {
            let json = serde_json::to_string(&messages);
            let json = json.map_err(|error| Error::from_reason(error.to_string()))?;
            string(env, &json)
        }
        Err(failed) => error(env, &failed),
    }
}

/// An array of `{kind, text, source}`.
pub(crate) fn segments<'e>(env: &'e Env, segments: &[Segment]) -> Result<Unknown<'e>> {
    let mut array = env.create_array(0)?;
    for segment in segments {
        let mut object = Object::new(env)?;
        object.set("kind", segment.kind.name())?;
        object.set("text", segment.text.as_str())?;
        object.set("source", segment.source.as_deref())?;
        array.insert(object)?;
    }
    Ok(array.to_unknown())
}

/// `{text, notes}`.
pub(crate) fn converted<'e>(env: &'e Env, converted: &Converted) -> Result<Unknown<'e>> {
    let mut object = Object::new(env)?;
    object.set("text", converted.text.as_str())?;
    object.set("notes", findings(env, &converted.notes)?)?;
    Ok(object.to_unknown())
}

/// An array of `{id, name, arguments}`, of which the last is the JSON of `{positional, named}`: so
/// every key is only a key to JavaScript.
pub(crate) fn calls<'e>(env: &'e Env, calls: &[FunctionCall]) -> Result<Unknown<'e>> {
    let mut array = env.create_array(0)?;
    for call in calls {
        let arguments = call.arguments.clone();
        let arguments = Value::from(Map::from([
            ("positional", Value::from(arguments.positional)),
            ("named", arguments.named.into()),
        ]));
        let mut object = Object::new(env)?;
        object.set("id", call.id as u32)?;
        object.set("name", call.function.as_str())?;
        object.set("arguments", json::to_string(&arguments))?;
        array.insert(object)?;
    }
    Ok(array.to_unknown())
}
