//! Quillet's template engine as a Node addon; forwards bytes between JavaScript and
//! `quillet-bridge`. `lib/` is the JavaScript interface. Only it calls these functions, with
//! validated arguments. On failure they return `{error}` as JSON.
//!
//! Templates and renders are identified by number. A Node object for each would be looked up and
//! checked on every call, which takes longer than a small render.

#![expect(
    clippy::too_many_arguments,
    reason = "passing an object would take longer than the call"
)]

mod convert;

use std::cell::RefCell;

use napi::bindgen_prelude::*;
use napi::{Env, JsString, JsValue};
use napi_derive::napi;
use quillet_bridge::{BridgeError, EncodedValue, OutputKind, ThreadState};

use convert::{encoded, string_of};

thread_local! {
    /// Each Node worker has its own thread. No JavaScript runs while this state is borrowed, so it
    /// is never borrowed twice.
    static WORLD: RefCell<ThreadState> = RefCell::default();
}

fn world<T>(work: impl FnOnce(&mut ThreadState) -> T) -> T {
    WORLD.with_borrow_mut(work)
}

/// See [`ThreadState::add_encoder`].
#[napi(catch_unwind)]
pub fn encoder() -> u32 {
    world(ThreadState::add_encoder)
}

/// See [`ThreadState::add_shape`].
#[napi(catch_unwind)]
pub fn shape(env: &Env, encoder: u32, keys: Vec<String>) -> Result<Unknown<'_>> {
    number(env, world(|world| world.add_shape(encoder, keys)))
}

/// See [`ThreadState::forget_shapes`].
#[napi(catch_unwind)]
pub fn forget_shapes(encoder: u32) {
    world(|world| world.forget_shapes(encoder));
}

/// See [`ThreadState::compile`].
#[napi(catch_unwind)]
pub fn compile(env: &Env, format: String, text: String, options: String) -> Result<Unknown<'_>> {
    let compiled = world(|world| world.compile(&format, &text, &options));
    if let Ok(template) = compiled {
        weigh(env, world(|world| world.weight(template)) as i64)?;
    }
    number(env, compiled)
}

/// See [`ThreadState::release`].
#[napi(catch_unwind)]
pub fn release(env: &Env, template: u32) -> Result<()> {
    weigh(env, -(world(|world| world.release(template)) as i64))
}

/// See [`ThreadState::variables`].
#[napi(catch_unwind)]
pub fn variables(env: &Env, template: u32) -> Result<Unknown<'_>> {
    text(env, world(|world| world.variables(template)))
}

/// See [`ThreadState::functions`].
#[napi(catch_unwind)]
pub fn functions(env: &Env, template: u32) -> Result<Unknown<'_>> {
    text(env, world(|world| world.functions(template)))
}

/// See [`ThreadState::render`]. `count` is the number of words and `units` the length of the
/// string.
#[napi(catch_unwind)]
pub fn render<'e>(
    env: &'e Env,
    template: u32,
    encoder: u32,
    words: &[i32],
    count: u32,
    string: JsString<'_>,
    units: u32,
    memory: u32,
) -> Result<Unknown<'e>> {
    let rendered = encoded(encoder, words, count, string, units, |encoded| {
        let encoded = EncodedValue { memory, ..encoded };
        world(|world| world.render(template, &encoded, |text| string_of(env, text)))
    })?;
    rendered.unwrap_or_else(|refusal| error(env, &refusal))
}

/// See [`ThreadState::again`].
#[napi(catch_unwind)]
pub fn again(env: &Env, template: u32) -> Result<Unknown<'_>> {
    let rendered = world(|world| world.again(template, |text| string_of(env, text)));
    rendered.unwrap_or_else(|refusal| error(env, &refusal))
}

/// See [`ThreadState::messages`].
#[napi(catch_unwind)]
pub fn messages<'e>(
    env: &'e Env,
    template: u32,
    encoder: u32,
    words: &[i32],
    count: u32,
    string: JsString<'_>,
    units: u32,
) -> Result<Unknown<'e>> {
    let messages = encoded(encoder, words, count, string, units, |encoded| {
        world(|world| world.messages(template, &encoded))
    })?;
    text(env, messages)
}

/// See [`ThreadState::segments`].
#[napi(catch_unwind)]
pub fn segments<'e>(
    env: &'e Env,
    template: u32,
    encoder: u32,
    words: &[i32],
    count: u32,
    string: JsString<'_>,
    units: u32,
) -> Result<Unknown<'e>> {
    let segments = encoded(encoder, words, count, string, units, |encoded| {
        world(|world| world.segments(template, &encoded))
    })?;
    text(env, segments)
}

/// See [`ThreadState::begin`].
#[napi(catch_unwind)]
pub fn begin<'e>(
    env: &'e Env,
    template: u32,
    encoder: u32,
    words: &[i32],
    count: u32,
    string: JsString<'_>,
    units: u32,
    functions: String,
    wanted: String,
) -> Result<Unknown<'e>> {
    let wanted = OutputKind::of_name(&wanted);
    let begun = encoded(encoder, words, count, string, units, |encoded| {
        world(|world| world.begin(template, &encoded, &functions, wanted))
    })?;
    number(env, begun)
}

/// See [`ThreadState::step`]; `null` once it has ended.
#[napi(catch_unwind)]
pub fn step(env: &Env, rendering: u32) -> Result<Unknown<'_>> {
    match world(|world| world.step(rendering)) {
        Ok(Some(calls)) => text(env, Ok(calls)),
        Ok(None) => Null.into_unknown(env),
        Err(refusal) => text(env, Err(refusal)),
    }
}

/// See [`ThreadState::give`].
#[napi(catch_unwind)]
pub fn give<'e>(
    env: &'e Env,
    rendering: u32,
    call: u32,
    encoder: u32,
    words: &[i32],
    count: u32,
    string: JsString<'_>,
    units: u32,
) -> Result<Unknown<'e>> {
    let given = encoded(encoder, words, count, string, units, |encoded| {
        world(|world| world.give(rendering, call, &encoded))
    })?;
    number(env, given.map(|()| 0))
}

/// See [`ThreadState::fail`].
#[napi(catch_unwind)]
pub fn fail(env: &Env, rendering: u32, call: u32, message: String) -> Result<Unknown<'_>> {
    let failed = world(|world| world.fail(rendering, call, message));
    number(env, failed.map(|()| 0))
}

/// See [`ThreadState::time_left`].
#[napi(catch_unwind)]
pub fn time_left(rendering: u32) -> f64 {
    world(|world| world.time_left(rendering))
}

/// See [`ThreadState::result`].
#[napi(catch_unwind)]
pub fn result(env: &Env, rendering: u32, wanted: String) -> Result<Unknown<'_>> {
    let wanted = OutputKind::of_name(&wanted);
    bytes(env, world(|world| world.result(rendering, wanted)))
}

/// See [`ThreadState::abandon`].
#[napi(catch_unwind)]
pub fn abandon(rendering: u32) {
    world(|world| world.abandon(rendering));
}

/// See [`quillet_bridge::check`].
#[napi(catch_unwind)]
pub fn check(env: &Env, format: String, template: String, options: String) -> Result<Unknown<'_>> {
    text(env, quillet_bridge::check(&format, &template, &options))
}

/// See [`quillet_bridge::convert`].
#[napi(catch_unwind)]
pub fn convert(
    env: &Env,
    template: String,
    from: String,
    to: String,
    assume_text: bool,
    strict: bool,
) -> Result<Unknown<'_>> {
    let converted = quillet_bridge::convert(&template, &from, &to, assume_text, strict);
    text(env, converted)
}

/// See [`quillet_bridge::formats`].
#[napi(catch_unwind)]
pub fn formats() -> String {
    quillet_bridge::formats()
}

/// Reports the memory of templates to the garbage collector. Otherwise it would not free templates
/// until its own memory is full.
fn weigh(env: &Env, bytes: i64) -> Result<()> {
    env.adjust_external_memory(bytes).map(|_| ())
}

type JsResult<T> = std::result::Result<T, BridgeError>;

fn bytes(env: &Env, outcome: JsResult<Vec<u8>>) -> Result<Unknown<'_>> {
    match outcome {
        Ok(bytes) => string_of(env, &bytes),
        Err(refusal) => error(env, &refusal),
    }
}

fn text(env: &Env, outcome: JsResult<String>) -> Result<Unknown<'_>> {
    bytes(env, outcome.map(String::into_bytes))
}

fn number(env: &Env, outcome: JsResult<u32>) -> Result<Unknown<'_>> {
    match outcome {
        Ok(number) => number.into_unknown(env),
        Err(refusal) => error(env, &refusal),
    }
}

fn error<'e>(env: &'e Env, refusal: &BridgeError) -> Result<Unknown<'e>> {
    let mut object = Object::new(env)?;
    object.set("error", refusal.json())?;
    Ok(object.to_unknown())
}
