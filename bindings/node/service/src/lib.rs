//! Stores, scripts and the SQL guard of Quillet as a Node addon. `lib/` is the JavaScript
//! interface. Only it calls these functions, with validated arguments. On failure they return
//! `{error}` as JSON.
//!
//! Work that may wait is a background task with a number. A callback reports new events;
//! `lib/drive.js` takes them, makes the calls in the event loop and returns their results.

#![expect(
    clippy::too_many_arguments,
    reason = "passing an object would take longer than the call"
)]

#[path = "../../src/convert.rs"]
mod convert;
mod input;
mod output;
mod thread_state;

use std::time::Duration;

use napi::Env;
use napi::JsString;
use napi::bindgen_prelude::*;
use napi::threadsafe_function::ThreadsafeFunctionCallMode;
use napi_derive::napi;
use quillet_bindings::{BackgroundTask, BindingError, BoundCatalogue, CallQueue, TaskOutput};
use quillet_bridge::ThreadState;
use quillet_core::{Map, Value};
use serde_json::json;

use convert::{encoded, string_of};
use thread_state::{catalogues, works, world};

/// Called when there are events.
type NotifyCallback<'a> = Function<'a, (), ()>;
type JsResult<T> = std::result::Result<T, BindingError>;

/// See [`World::add_encoder`].
#[napi(catch_unwind)]
pub fn encoder() -> u32 {
    world(ThreadState::add_encoder)
}

/// See [`World::add_shape`].
#[napi(catch_unwind)]
pub fn shape(encoder: u32, keys: Vec<String>) -> Result<u32> {
    let added = world(|world| world.add_shape(encoder, keys));
    added.map_err(|refusal| Error::from_reason(refusal.json()))
}

/// See [`World::forget_shapes`].
#[napi(catch_unwind)]
pub fn forget_shapes(encoder: u32) {
    world(|world| world.forget_shapes(encoder));
}

/// Opens a store; the task returns its number.
#[napi(catch_unwind)]
pub fn open<'e>(
    env: &'e Env,
    store: String,
    milliseconds: f64,
    bell: NotifyCallback<'_>,
) -> Result<Unknown<'e>> {
    let time = input::time(milliseconds);
    let opened = thread_state::opened();
    let work = BackgroundTask::begin(|_| async move {
        let catalogue = BoundCatalogue::open(&store, time).await?;
        Ok(TaskOutput::from(Value::Int(opened.keep(catalogue))))
    });
    begun(env, work, bell)
}

/// Closes a store.
#[napi(catch_unwind)]
pub fn close(catalogue: u32) {
    let closed = catalogues(|catalogues| catalogues.take(catalogue));
    thread_state::close_store(closed);
}

/// Sorted ids of all prompts, as JSON.
#[napi(catch_unwind)]
pub fn ids(env: &Env, catalogue: u32) -> Result<Unknown<'_>> {
    text(env, of(catalogue).map(|open| json!(open.ids()).to_string()))
}

/// Diagnostics of all prompts in a store, as JSON.
#[napi(catch_unwind)]
pub fn findings(env: &Env, catalogue: u32) -> Result<Unknown<'_>> {
    let found = of(catalogue).map(|open| output::findings(&open.findings()).to_string());
    text(env, found)
}

/// Starts a render. `request` is JSON; the value contains the variables.
#[napi(catch_unwind)]
pub fn render<'e>(
    env: &'e Env,
    catalogue: u32,
    request: String,
    encoder: u32,
    words: &[i32],
    count: u32,
    string: JsString<'_>,
    units: u32,
    bell: NotifyCallback<'_>,
) -> Result<Unknown<'e>> {
    let variables = value(encoder, words, count, string, units)?;
    let wanted = of(catalogue).and_then(|open| Ok((open, input::request(&request, variables?)?)));
    let (open, request) = match wanted {
        Ok(wanted) => wanted,
        Err(refusal) => return error(env, &refusal),
    };
    let work = BackgroundTask::begin(|board| async move { open.render(request, &board).await });
    begun(env, work, bell)
}

/// Starts a store operation other than a render. `what` is its name, and `arguments` is JSON.
#[napi(catch_unwind)]
pub fn ask<'e>(
    env: &'e Env,
    catalogue: u32,
    what: String,
    arguments: String,
    bell: NotifyCallback<'_>,
) -> Result<Unknown<'e>> {
    let open = match of(catalogue) {
        Ok(open) => open,
        Err(refusal) => return error(env, &refusal),
    };
    let work = BackgroundTask::begin(|_| async move { input::ask(&open, &what, &arguments).await });
    begun(env, work, bell)
}

/// Starts a script. `options` is JSON; the value is a list of the inputs and the model parameters.
#[napi(catch_unwind)]
pub fn run<'e>(
    env: &'e Env,
    options: String,
    encoder: u32,
    words: &[i32],
    count: u32,
    string: JsString<'_>,
    units: u32,
    bell: NotifyCallback<'_>,
) -> Result<Unknown<'e>> {
    let values = value(encoder, words, count, string, units)?;
    let wanted = match values.and_then(|values| input::run(&options, values)) {
        Ok(wanted) => wanted,
        Err(refusal) => return error(env, &refusal),
    };
    let work = BackgroundTask::begin(|board: CallQueue| quillet_bindings::run(wanted, board));
    begun(env, work, bell)
}

/// Returns the events of a background task as JSON, or `null` once the task has ended.
#[napi(catch_unwind)]
pub fn news(env: &Env, work: u32) -> Result<Unknown<'_>> {
    let news = works(|works| works.get(work).and_then(|work| work.news(Duration::ZERO)));
    match news {
        Some(news) => text(env, Ok(output::news(news))),
        None => Null.into_unknown(env),
    }
}

/// Passes the result of a requested call to the background task.
#[napi(catch_unwind)]
pub fn answer<'e>(
    env: &'e Env,
    work: u32,
    call: u32,
    encoder: u32,
    words: &[i32],
    count: u32,
    string: JsString<'_>,
    units: u32,
) -> Result<Unknown<'e>> {
    match value(encoder, words, count, string, units)? {
        Ok(value) => {
            works(|works| {
                works
                    .get(work)
                    .map(|work| work.answer(call.into(), Ok(value)))
            });
            0.into_unknown(env)
        }
        Err(refusal) => error(env, &refusal),
    }
}

/// Reports a failed call and the reason.
#[napi(catch_unwind)]
pub fn fail(work: u32, call: u32, message: String) {
    works(|works| {
        works
            .get(work)
            .map(|work| work.answer(call.into(), Err(message)))
    });
}

/// Cancels and removes a background task.
#[napi(catch_unwind)]
pub fn cancel(work: u32) {
    drop(works(|works| works.take(work)));
}

/// Returns the result of a background task as JSON of `{value, failures}`, and removes the task.
#[napi(catch_unwind)]
pub fn result(env: &Env, work: u32) -> Result<Unknown<'_>> {
    let ended = works(|works| works.take(work));
    let done = ended.map_or_else(|| Err(thread_state::gone()), |work| work.outcome());
    text(env, done.map(output::done))
}

/// Checks a query, and returns the accepted query as JSON.
#[napi(catch_unwind)]
pub fn check_query(env: &Env, query: String) -> Result<Unknown<'_>> {
    let checked = input::query(&query).and_then(|query| quillet_bindings::check(&query));
    text(env, checked.map(|checked| output::checked(&checked)))
}

/// Stores a task, sets its callback and returns its number.
fn begun<'e>(
    env: &'e Env,
    work: std::io::Result<BackgroundTask>,
    bell: NotifyCallback<'_>,
) -> Result<Unknown<'e>> {
    let work = work.map_err(|error| Error::from_reason(error.to_string()))?;
    // The callback keeps the process alive until the task ends.
    let bell = bell.build_threadsafe_function().build()?;
    work.listen(move || {
        bell.call((), ThreadsafeFunctionCallMode::NonBlocking);
    });
    works(|works| works.add(work)).into_unknown(env)
}

fn of(catalogue: u32) -> JsResult<BoundCatalogue> {
    let open = catalogues(|catalogues| catalogues.get(catalogue).cloned());
    open.ok_or_else(thread_state::closed)
}

fn value(
    encoder: u32,
    words: &[i32],
    count: u32,
    string: JsString<'_>,
    units: u32,
) -> Result<JsResult<Value>> {
    let read = encoded(encoder, words, count, string, units, |encoded| {
        world(|world| world.read(&encoded))
    })?;
    Ok(read.map_err(|_| thread_state::gone()))
}

fn text(env: &Env, outcome: JsResult<String>) -> Result<Unknown<'_>> {
    match outcome {
        Ok(text) => string_of(env, text.as_bytes()),
        Err(refusal) => error(env, &refusal),
    }
}

fn error<'e>(env: &'e Env, refusal: &BindingError) -> Result<Unknown<'e>> {
    let mut object = Object::new(env)?;
    object.set("error", output::refusal(refusal))?;
    Ok(object.to_unknown())
}

/// Returns the object, or nothing.
fn map(value: &Value) -> Map {
    value.as_map().cloned().unwrap_or_default()
}
