//! Converts exceptions to errors of the run.

use rquickjs::{Coerced, Ctx, Exception, FromJs, Object, Value as Js};

use super::convert;
use super::shell::{TimeExceeded, WorkerShell};
use crate::js::error::{Code, CodePosition, JsError, JsErrorKind, StackFrame};
use crate::js::id::FunctionId;
use crate::js::signature;

/// File name for compiled expressions.
pub(super) const EXPRESSION: &str = "quillet:expression";
/// Separates file and id in the file name of a compiled definition.
pub(super) const DEFINITION: &str = "#!fn";
/// File name of the prelude.
pub(super) const PRELUDE: &str = "quillet:prelude";

/// Length of `function `.
const KEYWORD: u32 = 9;

/// Properties of an exception that store the host's error details.
const MARK: &str = "quilletMark";
const KIND: &str = "quilletKind";

/// Converts an error of rquickjs.
pub(super) fn caught(shell: &WorkerShell, ctx: &Ctx<'_>, error: &rquickjs::Error) -> JsError {
    match error {
        rquickjs::Error::Exception => thrown(shell, &ctx.catch()),
        rquickjs::Error::Allocation => memory(),
        other => JsError::new(JsErrorKind::Thrown, other.to_string()),
    }
}

/// Returns the error for a stopped run.
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

/// Converts an exception.
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
    // Exceptions that the conversion itself raised are discarded.
    let _ = value.ctx().catch();
    let mut error = JsError::thrown(message);
    error.value = convert::from_js(shell, value)
        .ok()
        .and_then(|passed| passed.value());
    error
}

/// Returns the error for an exception without a value, which QuickJS throws if it has no memory
/// left for one.
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

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // A small number set by the host.
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

/// Throws an error of the run as a JavaScript exception.
pub(super) fn throw(ctx: &Ctx<'_>, error: &JsError) -> rquickjs::Error {
    match exception(ctx, error) {
        Ok(exception) => exception.throw(),
        Err(error) => error,
    }
}

/// Converts an error to an exception object, for rejecting a promise.
pub(super) fn exception<'js>(ctx: &Ctx<'js>, error: &JsError) -> rquickjs::Result<Exception<'js>> {
    let exception = Exception::from_message(ctx.clone(), &error.message)?;
    let object = exception.as_object();
    if let Some(mark) = error.mark {
        #[allow(clippy::cast_precision_loss)] // A small counter of the run.
        object.set(MARK, mark as f64)?;
    }
    if error.kind != JsErrorKind::Thrown
        && let Ok(kind) = serde_json::to_string(&error.kind)
    {
        object.set(KIND, kind)?;
    }
    Ok(exception)
}

/// Parses a line of a stack trace: `    at name (file:line:column)`. Returns `None` for lines of
/// the prelude.
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

/// Maps a position in a definition to the original code, before the keyword was inserted.
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

/// Maps an engine file name to its code, and subtracts the line of the wrapper.
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

/// Marks an exception as a syntax error in the given code.
pub(super) fn mark_syntax(object: &Object<'_>) {
    // If the mark cannot be set, the name of the exception still identifies its kind.
    let _ = object.set(KIND, "\"Syntax\"");
}

/// Returns whether an exception is marked as a syntax error.
pub(super) fn is_syntax(object: &Object<'_>) -> bool {
    known(object) == Some(JsErrorKind::Syntax)
}
