//! Host functions for the JavaScript prelude.

use std::rc::Rc;

use rquickjs::{Array, Ctx, Exception, Function, IntoJs, Object, Value as Js};

use super::failure;
use super::shell::{TimeExceeded, WorkerShell};
use super::{convert, engine, loader};
use crate::js::error::JsErrorKind;
use crate::js::id::FunctionId;
use crate::js::protocol::{FileCall, FromWorker, HostReply, HostRequest, JobResult};
use crate::js::runtime::{ConsoleLevel, JsTarget, JsValueRef, LookupResult};

/// Creates an object with all host functions.
pub(super) fn install<'js>(
    ctx: &Ctx<'js>,
    shell: &Rc<WorkerShell>,
) -> rquickjs::Result<Object<'js>> {
    let host = Object::new(ctx.clone())?;
    names(ctx, shell, &host)?;
    pieces(ctx, shell, &host)?;
    files(ctx, shell, &host)?;
    timers(ctx, shell, &host)?;
    loader::install(ctx, shell, &host)?;
    Ok(host)
}

/// Adds the functions that read, set and call names of the run.
fn names<'js>(ctx: &Ctx<'js>, shell: &Rc<WorkerShell>, host: &Object<'js>) -> rquickjs::Result<()> {
    let of = Rc::clone(shell);
    let get = move |ctx: Ctx<'js>, piece: u64, name: String| get(&of, &ctx, piece, name);
    host.set("get", Function::new(ctx.clone(), get)?)?;
    let of = Rc::clone(shell);
    let set = move |ctx: Ctx<'js>, piece: u64, name: String, value: Js<'js>| {
        set(&of, &ctx, piece, name, &value)
    };
    host.set("set", Function::new(ctx.clone(), set)?)?;
    let of = Rc::clone(shell);
    let names = move |ctx: Ctx<'js>, piece: u64| match of.ask(piece, HostRequest::Names) {
        HostReply::Names(names) => Ok(names),
        _ => Err(gone(&ctx)),
    };
    host.set("names", Function::new(ctx.clone(), names)?)?;
    let of = Rc::clone(shell);
    let call = move |ctx: Ctx<'js>, piece: u64, name: String, arguments: Array<'js>| {
        call(&of, &ctx, piece, name, &arguments)
    };
    host.set("call", Function::new(ctx.clone(), call)?)?;
    let of = Rc::clone(shell);
    let save = move |ctx: Ctx<'js>, piece: u64, name: String, value: Js<'js>| {
        save(&of, &ctx, piece, name, &value)
    };
    host.set("save", Function::new(ctx.clone(), save)?)
}

/// Adds the functions for file access.
fn files<'js>(ctx: &Ctx<'js>, shell: &Rc<WorkerShell>, host: &Object<'js>) -> rquickjs::Result<()> {
    let of = Rc::clone(shell);
    let file =
        move |ctx: Ctx<'js>, name: String, arguments: Array<'js>| file(&of, &ctx, name, &arguments);
    host.set("file", Function::new(ctx.clone(), file)?)
}

/// Adds the functions that start and end jobs.
fn pieces<'js>(
    ctx: &Ctx<'js>,
    shell: &Rc<WorkerShell>,
    host: &Object<'js>,
) -> rquickjs::Result<()> {
    let of = Rc::clone(shell);
    host.set("current", Function::new(ctx.clone(), move || of.current())?)?;
    let of = Rc::clone(shell);
    let compile = move |ctx: Ctx<'js>, id: u64| engine::define(&of, &ctx, FunctionId(id));
    host.set("compile", Function::new(ctx.clone(), compile)?)?;
    let of = Rc::clone(shell);
    let done = move |piece: u64, ok: bool, value: Js<'js>, arguments: Array<'js>| {
        done(&of, piece, ok, &value, &arguments)
    };
    host.set("done", Function::new(ctx.clone(), done)?)?;
    let of = Rc::clone(shell);
    let imported = move |piece: u64, found: Array<'js>| -> rquickjs::Result<()> {
        let exports = engine::exports(&of, &found)?;
        of.done(piece, Ok(JobResult::Exports(exports)));
        Ok(())
    };
    host.set("imported", Function::new(ctx.clone(), imported)?)?;
    let of = Rc::clone(shell);
    let log = move |level: u8, line: String| {
        let level = [
            ConsoleLevel::Info,
            ConsoleLevel::Warning,
            ConsoleLevel::Error,
        ]
        .get(usize::from(level))
        .copied();
        of.send(FromWorker::Log {
            piece: of.current(),
            level: level.unwrap_or(ConsoleLevel::Info),
            line,
        });
    };
    host.set("log", Function::new(ctx.clone(), log)?)
}

fn timers<'js>(
    ctx: &Ctx<'js>,
    shell: &Rc<WorkerShell>,
    host: &Object<'js>,
) -> rquickjs::Result<()> {
    let of = Rc::clone(shell);
    let timer = move |ctx: Ctx<'js>, delay: f64, again: bool| {
        if of.bounds.fixed.is_some() {
            let message = "timers are not available in a durable run: their order relative to \
            answers could differ when another process resumes the run";
            return Err(Exception::throw_message(&ctx, message));
        }
        of.timer(delay, again)
            .ok_or_else(|| Exception::throw_range(&ctx, "too many timers (limit 1,000)"))
    };
    host.set("timer", Function::new(ctx.clone(), timer)?)?;
    let of = Rc::clone(shell);
    host.set(
        "untimer",
        Function::new(ctx.clone(), move |id: u64| of.untimer(id))?,
    )
}

fn gone(ctx: &Ctx<'_>) -> rquickjs::Error {
    Exception::throw_message(ctx, "the caller of this JavaScript has gone")
}

/// Performs a call of `fs`.
fn file<'js>(
    shell: &WorkerShell,
    ctx: &Ctx<'js>,
    name: String,
    arguments: &Array<'js>,
) -> rquickjs::Result<Js<'js>> {
    let arguments = passed(shell, arguments)?;
    match shell.ask(
        shell.current(),
        HostRequest::File(FileCall { name, arguments }),
    ) {
        HostReply::Now(Ok(value)) => convert::passed_to_js(shell, ctx, &value),
        HostReply::Now(Err(error)) => Err(failure::throw(ctx, &error)),
        _ => Err(gone(ctx)),
    }
}

/// Returns `[kind, payload]`. The prelude defines the kinds.
fn get<'js>(
    shell: &WorkerShell,
    ctx: &Ctx<'js>,
    piece: u64,
    name: String,
) -> rquickjs::Result<Array<'js>> {
    let found = match shell.ask(piece, HostRequest::Get(name.clone())) {
        HostReply::Found(found) => found,
        HostReply::Now(Err(error)) => return Err(failure::throw(ctx, &error)),
        _ => return Err(gone(ctx)),
    };
    let payload = |kind: u8, payload: Js<'js>| pair(ctx, kind, payload);
    let nothing = Js::new_undefined(ctx.clone());
    match found {
        LookupResult::Missing => payload(0, nothing),
        LookupResult::Undefined => payload(1, nothing),
        LookupResult::Host => payload(4, nothing),
        LookupResult::Value(value) if value.depth() > 0 => {
            let mut pieces = shell.pieces.borrow_mut();
            let Some(owner) = pieces.get_mut(&piece) else {
                return payload(2, convert::to_js(shell, ctx, &value)?);
            };
            if owner.got.get(&name) == Some(&value) {
                return payload(6, nothing);
            }
            owner.got.insert(name, value.clone());
            drop(pieces);
            payload(2, convert::to_js(shell, ctx, &value)?)
        }
        LookupResult::Value(value) => payload(2, convert::to_js(shell, ctx, &value)?),
        LookupResult::Js(JsTarget::Function(FunctionId(id))) => payload(3, id.into_js(ctx)?),
        LookupResult::Js(JsTarget::Export(module, path)) => {
            let target = Array::new(ctx.clone())?;
            target.set(0, module.0)?;
            target.set(1, path)?;
            payload(5, target.into_value())
        }
    }
}

fn pair<'js>(ctx: &Ctx<'js>, kind: u8, payload: Js<'js>) -> rquickjs::Result<Array<'js>> {
    let pair = Array::new(ctx.clone())?;
    pair.set(0, kind)?;
    pair.set(1, payload)?;
    Ok(pair)
}

fn set<'js>(
    shell: &WorkerShell,
    ctx: &Ctx<'js>,
    piece: u64,
    name: String,
    value: &Js<'js>,
) -> rquickjs::Result<()> {
    let value = convert::from_js(shell, value)?;
    if let Some(piece) = shell.pieces.borrow_mut().get_mut(&piece) {
        piece.got.remove(&name);
    }
    assign(shell, ctx, piece, name, value)
}

fn assign(
    shell: &WorkerShell,
    ctx: &Ctx<'_>,
    piece: u64,
    name: String,
    value: JsValueRef,
) -> rquickjs::Result<()> {
    match shell.ask(piece, HostRequest::Set(name, value)) {
        HostReply::Set(Ok(())) => Ok(()),
        HostReply::Set(Err(error)) => Err(failure::throw(ctx, &error)),
        _ => Err(gone(ctx)),
    }
}

/// Sends an object back to the run if it has changed since it was read.
fn save<'js>(
    shell: &WorkerShell,
    ctx: &Ctx<'js>,
    piece: u64,
    name: String,
    value: &Js<'js>,
) -> rquickjs::Result<()> {
    let known = shell
        .pieces
        .borrow()
        .get(&piece)
        .and_then(|piece| piece.got.get(&name).cloned());
    let Some(known) = known else {
        return Ok(());
    };
    let passed = convert::from_js(shell, value)?;
    if passed == JsValueRef::Value(known) {
        return Ok(());
    }
    if let (Some(piece), JsValueRef::Value(value)) =
        (shell.pieces.borrow_mut().get_mut(&piece), &passed)
    {
        piece.got.insert(name.clone(), value.clone());
    }
    assign(shell, ctx, piece, name, passed)
}

/// Returns `[later, result]`, or the number of the request instead of the result.
fn call<'js>(
    shell: &WorkerShell,
    ctx: &Ctx<'js>,
    piece: u64,
    name: String,
    arguments: &Array<'js>,
) -> rquickjs::Result<Array<'js>> {
    let arguments = passed(shell, arguments)?;
    match shell.ask(piece, HostRequest::Call { name, arguments }) {
        HostReply::Now(Ok(value)) => pair(ctx, 0, convert::passed_to_js(shell, ctx, &value)?),
        HostReply::Now(Err(error)) => Err(failure::throw(ctx, &error)),
        HostReply::Later => pair(ctx, 1, shell.last_question().into_js(ctx)?),
        _ => Err(gone(ctx)),
    }
}

fn passed<'js>(shell: &WorkerShell, values: &Array<'js>) -> rquickjs::Result<Vec<JsValueRef>> {
    values
        .iter::<Js>()
        .map(|value| convert::from_js(shell, &value?))
        .collect()
}

/// Reports the end of a job.
fn done<'js>(shell: &WorkerShell, piece: u64, ok: bool, value: &Js<'js>, arguments: &Array<'js>) {
    let result = if ok {
        result(shell, piece, value, arguments)
            .map_err(|error| failure::caught(shell, value.ctx(), &error))
    } else {
        Err(failure::thrown(shell, value))
    };
    if result
        .as_ref()
        .is_err_and(|error| error.kind == JsErrorKind::Memory)
    {
        shell.clock.stop(TimeExceeded::Memory);
    }
    shell.done(piece, result);
}

fn result<'js>(
    shell: &WorkerShell,
    piece: u64,
    value: &Js<'js>,
    arguments: &Array<'js>,
) -> rquickjs::Result<JobResult> {
    let value = convert::from_js(shell, value)?;
    let before = shell
        .pieces
        .borrow_mut()
        .get_mut(&piece)
        .and_then(|piece| piece.arguments.take());
    let Some(before) = before else {
        return Ok(JobResult::Value(value));
    };
    let after = passed(shell, arguments)?;
    let changed = after
        .into_iter()
        .enumerate()
        .filter(|(index, after)| before.get(*index) != Some(after));
    Ok(JobResult::Called(value, changed.collect()))
}
