//! Exceptions as the run sees them.

use rquickjs::{Coerced, Ctx, Exception, FromJs, Object, Value as Js};

use super::convert;
use super::shell::{TimeExceeded, WorkerShell};
use crate::js::error::{Code, CodePosition, JsError, JsErrorKind, StackFrame};
use crate::js::id::FunctionId;
use crate::js::signature;

/// The file name under which expressions are compiled.
pub(super) const EXPRESSION: &str = "quillet:expression";
/// What stands between a definition's file and its id in the name under which it is compiled.
pub(super) const DEFINITION: &str = "#!fn";
/// The file name of our own part.
pub(super) const PRELUDE: &str = "quillet:prelude";

/// Characters of `function `.
const KEYWORD: u32 = 9;

/// The properties of an exception that carry what the host knows of it.
const MARK: &str = "quilletMark";
const KIND: &str = "quilletKind";

/// What an error of the engine's interface means.
pub(super) fn caught(shell: &WorkerShell, ctx: &Ctx<'_>, error: &rquickjs::Error) -> JsError {
    match error {
        rquickjs::Error::Exception => thrown(shell, &ctx.catch()),
        rquickjs::Error::Allocation => memory(),
        other => JsError::new(JsErrorKind::Thrown, other.to_string()),
    }
}

/// Why JavaScript was stopped.
pub(super) fn over(why: TimeExceeded) -> JsError {
    match why {
        TimeExceeded::Time => JsError::new(
            JsErrorKind::Time,
            "JavaScript exceeded its time limit (js_time)",
        ),
        TimeExceeded::Memory => memory(),
        TimeExceeded::Ended => JsError::new(JsErrorKind::Killed, "JavaScript was stopped"),
    }
}

fn memory() -> JsError {
    JsError::new(
        JsErrorKind::Memory,
        "JavaScript exceeded its memory limit (js_memory)",
    )
}

/// What an exception is.
pub(super) fn thrown(shell: &WorkerShell, value: &Js<'_>) -> JsError {
    let error = match value
        .as_object()
        .and_then(|object| Exception::from_object(object.clone()))
    {
        Some(exception) => of_exception(shell, &exception),
        None if value.is_null() => nothing(),
        None => of_value(shell, value),
    };
    if error.kind == JsErrorKind::Memory {
        shell.clock.stop(TimeExceeded::Memory);
    }
    match shell.clock.over() {
        Some(why) if error.kind != JsErrorKind::Memory => over(why),
        _ => error,
    }
}

fn of_value(shell: &WorkerShell, value: &Js<'_>) -> JsError {
    let text = Coerced::<String>::from_js(value.ctx(), value.clone());
    let message = text.map_or_else(|_| value.type_name().to_owned(), |text| text.0);
    // What was raised by that is not of interest any more.
    let _ = value.ctx().catch();
    let mut error = JsError::thrown(message);
    error.value = convert::from_js(shell, value)
        .ok()
        .and_then(|passed| passed.value());
    error
}

/// What QuickJS throws when there is not even memory for an exception; a script hardly ever does.
fn nothing() -> JsError {
    JsError::new(
        JsErrorKind::Memory,
        "JavaScript exceeded its memory limit (js_memory), or it threw null",
    )
}

fn of_exception(shell: &WorkerShell, exception: &Exception<'_>) -> JsError {
    let object = exception.as_object();
    let name = text(object, "name");
    let message = exception.message().unwrap_or_default();
    let kind = known(object).unwrap_or_else(|| kind(&name, &message));
    let mut error = JsError::new(kind, message);
    if !name.is_empty() && name != "Error" {
        error.message.insert_str(0, &format!("{name}: "));
    }
    error.stack = exception
        .stack()
        .unwrap_or_default()
        .lines()
        .filter_map(|line| frame(shell, line))
        .collect();
    error.mark = object.get::<_, Option<f64>>(MARK).ok().flatten().map(mark);
    error
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // The host set it; small.
fn mark(value: f64) -> u64 {
    value as u64
}

fn text(object: &Object<'_>, key: &str) -> String {
    object
        .get::<_, Option<Coerced<String>>>(key)
        .ok()
        .flatten()
        .map_or_else(String::new, |text| text.0)
}

fn known(object: &Object<'_>) -> Option<JsErrorKind> {
    let kind = object.get::<_, Option<String>>(KIND).ok().flatten()?;
    serde_json::from_str(&kind).ok()
}

fn kind(name: &str, message: &str) -> JsErrorKind {
    let unknown = message.strip_suffix(" is not defined");
    match (name, message) {
        ("ReferenceError", _) if unknown.is_some() => JsErrorKind::Unknown {
            name: unknown.unwrap_or_default().trim_matches('\'').to_owned(),
        },
        ("InternalError", "out of memory") => JsErrorKind::Memory,
        ("InternalError", "interrupted") => JsErrorKind::Time,
        ("RangeError" | "InternalError", message)
            if message.contains("call stack") || message.contains("stack overflow") =>
        {
            JsErrorKind::Stack
        }
        ("RangeError" | "TypeError", message) if message.ends_with(" from JavaScript") => {
            JsErrorKind::Data
        }
        _ => JsErrorKind::Thrown,
    }
}

/// Puts what the run says into JavaScript as an exception.
pub(super) fn throw(ctx: &Ctx<'_>, error: &JsError) -> rquickjs::Error {
    match exception(ctx, error) {
        Ok(exception) => exception.throw(),
        Err(error) => error,
    }
}

/// The same as a value, to reject a promise with.
pub(super) fn exception<'js>(ctx: &Ctx<'js>, error: &JsError) -> rquickjs::Result<Exception<'js>> {
    let exception = Exception::from_message(ctx.clone(), &error.message)?;
    let object = exception.as_object();
    if let Some(mark) = error.mark {
        #[allow(clippy::cast_precision_loss)] // Marks count failures of one run.
        object.set(MARK, mark as f64)?;
    }
    if error.kind != JsErrorKind::Thrown
        && let Ok(kind) = serde_json::to_string(&error.kind)
    {
        object.set(KIND, kind)?;
    }
    Ok(exception)
}

/// One line of a stack trace: `    at name (file:line:column)`. Lines of our own part are omitted.
fn frame(shell: &WorkerShell, line: &str) -> Option<StackFrame> {
    let line = line.trim().strip_prefix("at ")?;
    let (function, place) = match line.rsplit_once(" (") {
        Some((function, place)) => (function, place.strip_suffix(')')?),
        None => ("", line),
    };
    let (rest, column) = place.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    let place = CodePosition {
        line: line.parse().ok()?,
        column: column.parse().ok()?,
    };
    let (code, place) = origin(shell, file, place)?;
    let function = if function.starts_with('<') {
        ""
    } else {
        function
    }
    .to_owned();
    Some(StackFrame {
        function,
        code,
        place,
    })
}

/// The place in a definition as it was written: without the keyword that was put in.
fn written(shell: &WorkerShell, id: u64, place: CodePosition) -> CodePosition {
    let definitions = shell.definitions.borrow();
    let source = definitions.get(&id);
    let start =
        source.and_then(|source| Some(signature::place(&source.definition.code, source.keyword?)));
    match start {
        Some(start) if start.line == place.line && place.column > start.column => CodePosition {
            column: place.column.saturating_sub(KEYWORD).max(start.column),
            ..place
        },
        _ => place,
    }
}

/// Which code a file name of the engine stands for; the wrapper's line in front is taken off.
fn origin(shell: &WorkerShell, file: &str, place: CodePosition) -> Option<(Code, CodePosition)> {
    let inner = |place: CodePosition| CodePosition {
        line: place.line.saturating_sub(1).max(1),
        ..place
    };
    if file == EXPRESSION {
        return Some((Code::Expression, inner(place)));
    }
    if let Some((_, id)) = file.rsplit_once(DEFINITION) {
        let id = id.parse().ok()?;
        return Some((
            Code::Function(FunctionId(id)),
            written(shell, id, inner(place)),
        ));
    }
    let is_ours = file.starts_with("quillet:") || file.starts_with("node:") || file == "native";
    (!is_ours).then(|| (Code::File(file.to_owned()), place))
}

/// Says of an exception that the code that was given does not parse.
pub(super) fn mark_syntax(object: &Object<'_>) {
    // Nothing is lost if it cannot be written: the name stays.
    let _ = object.set(KIND, "\"Syntax\"");
}

/// Whether an exception says so.
pub(super) fn is_syntax(object: &Object<'_>) -> bool {
    known(object) == Some(JsErrorKind::Syntax)
}
