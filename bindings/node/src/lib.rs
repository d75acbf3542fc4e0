//! Quillet's template engine as an addon of Node. `lib/` is its face in JavaScript; nobody else calls
//! these functions, which take what `lib/` has checked and answer with plain data.
//!
//! Templates and renders are known by number: an object of Node's own for each would be looked up and
//! checked on every call, which costs more than a small render.

mod answer;
mod decode;
mod options;
mod world;

use napi::bindgen_prelude::*;
use napi::{Env, JsString};
use napi_derive::napi;
use quillet::Step;
use quillet::template::convert::ConvertOptions;

use crate::decode::Shape;
use crate::options::{CompileOptions, FunctionOptions};
use crate::world::{Encoded, Memory, World};

/// Begins with the kinds of objects of one copy of `lib/`, and gives its number.
#[napi(catch_unwind)]
pub fn encoder() -> u32 {
    World::with(World::add_encoder)
}

/// A kind of object, by its keys: gives its number.
#[napi(catch_unwind)]
pub fn shape(encoder: u32, keys: Vec<String>) -> Result<u32> {
    World::with(|world| Ok(world.encoder(encoder)?.add(Shape::new(keys))))
}

/// Forgets all kinds of objects; their numbers begin at 0 again.
#[napi(catch_unwind)]
pub fn forget_shapes(encoder: u32) -> Result<()> {
    World::with(|world| {
        world.encoder(encoder)?.forget();
        Ok(())
    })
}

/// Compiles a template: its number, or what is wrong.
#[napi(catch_unwind)]
pub fn compile<'e>(
    env: &'e Env,
    format: String,
    text: String,
    options: CompileOptions,
) -> Result<Unknown<'e>> {
    let patience = options.patience();
    let options = options.read()?;
    match quillet::Template::compile(&format, &text, &options) {
        Ok(template) => {
            let number = World::with(|world| world.add_template(template, patience));
            answer::number(env, number)
        }
        Err(error) => answer::error(env, &error),
    }
}

/// Lets a template go.
#[napi(catch_unwind)]
pub fn release(template: u32) {
    World::with(|world| world.remove_template(template));
}

/// Names of the variables that a template reads.
#[napi(catch_unwind)]
pub fn variables(template: u32) -> Result<Vec<String>> {
    World::with(|world| {
        let template = world.template(template)?;
        Ok(template
            .variables()
            .into_iter()
            .map(str::to_owned)
            .collect())
    })
}

/// Names of the functions that a template calls.
#[napi(catch_unwind)]
pub fn functions(template: u32) -> Result<Vec<String>> {
    World::with(|world| {
        let template = world.template(template)?;
        Ok(template
            .functions()
            .into_iter()
            .map(str::to_owned)
            .collect())
    })
}

/// The text of a template without functions, or what is wrong.
///
/// `words` are `count` words of `lib/encode.js`, and `text` of `units` units is what their strings are
/// parts of; `memory` says what becomes of the parts that the template remembers.
#[napi(catch_unwind)]
pub fn render<'e>(
    env: &'e Env,
    template: u32,
    encoder: u32,
    words: &[i32],
    count: u32,
    text: JsString<'e>,
    units: u32,
    memory: u32,
) -> Result<Unknown<'e>> {
    let encoded = Encoded {
        memory: Memory::of(memory),
        ..Encoded::new(encoder, words, count, text, units)
    };
    let rendered = World::with(|world| {
        let variables = world.variables(template, &encoded)?;
        Ok::<_, Error>(world.template(template)?.render_bytes(variables))
    })?;
    answer::rendered(env, rendered)
}

/// The same with the variables that the template remembers.
#[napi(catch_unwind)]
pub fn again(env: &Env, template: u32) -> Result<Unknown<'_>> {
    let rendered = World::with(|world| {
        let variables = world.remembered(template)?;
        Ok::<_, Error>(world.template(template)?.render_bytes(variables))
    })?;
    answer::rendered(env, rendered)
}

/// The messages of a template without functions as JSON, or what is wrong.
#[napi(catch_unwind)]
pub fn messages<'e>(
    env: &'e Env,
    template: u32,
    encoder: u32,
    words: &[i32],
    count: u32,
    text: JsString<'e>,
    units: u32,
) -> Result<Unknown<'e>> {
    let encoded = Encoded::new(encoder, words, count, text, units);
    let messages = World::with(|world| {
        let variables = world.variables(template, &encoded)?;
        Ok::<_, Error>(world.template(template)?.messages(variables))
    })?;
    answer::messages(env, messages)
}

/// The pieces of a template's text without functions, or what is wrong.
#[napi(catch_unwind)]
pub fn segments<'e>(
    env: &'e Env,
    template: u32,
    encoder: u32,
    words: &[i32],
    count: u32,
    text: JsString<'e>,
    units: u32,
) -> Result<Unknown<'e>> {
    let encoded = Encoded::new(encoder, words, count, text, units);
    let segments = World::with(|world| {
        let variables = world.variables(template, &encoded)?;
        Ok::<_, Error>(world.template(template)?.segments(variables))
    })?;
    match segments {
        Ok(segments) => answer::segments(env, &segments),
        Err(error) => answer::error(env, &error),
    }
}

/// Begins a render whose calls JavaScript makes, and gives its number. The words are a list: the
/// variables, then what a failed call of each function leaves. `noted` is whether its pieces will be
/// asked for.
#[napi(catch_unwind)]
pub fn begin(
    template: u32,
    encoder: u32,
    words: &[i32],
    count: u32,
    text: JsString<'_>,
    units: u32,
    functions: Vec<FunctionOptions>,
    noted: bool,
) -> Result<u32> {
    let encoded = Encoded::new(encoder, words, count, text, units);
    World::with(|world| {
        let mut values = world.list(template, &encoded)?.into_iter();
        let variables = match values.next() {
            Some(quillet::Value::Map(variables)) => variables,
            _ => return Err(Error::from_reason("the variables are no object")),
        };
        let functions = functions.into_iter().zip(values);
        let functions = functions
            .map(|(function, default)| function.read(default))
            .collect();
        let template = world.template_with_tools(template)?;
        let rendering = if noted {
            template.begin_segments(variables, functions)
        } else {
            template.begin(variables, functions)
        };
        Ok(world.add_rendering(rendering))
    })
}

/// Goes on with a render: `null` once it has ended, the calls that it newly waits for, or what is wrong.
#[napi(catch_unwind)]
pub fn step<'e>(env: &'e Env, rendering: u32) -> Result<Unknown<'e>> {
    let step = World::with(|world| Ok::<_, Error>(world.rendering(rendering)?.step()))?;
    match step {
        Ok(Step::Waiting(calls)) => answer::calls(env, &calls),
        Ok(Step::Done(rendered)) => {
            World::with(|world| world.end_rendering(rendering, rendered));
            answer::nothing(env)
        }
        Err(error) => {
            World::with(|world| world.remove_rendering(rendering));
            answer::error(env, &error)
        }
    }
}

/// What a call gave. Says whether the words could be read.
#[napi(catch_unwind)]
pub fn give(
    rendering: u32,
    call: u32,
    encoder: u32,
    words: &[i32],
    count: u32,
    text: JsString<'_>,
    units: u32,
) -> Result<()> {
    let encoded = Encoded::new(encoder, words, count, text, units);
    World::with(|world| {
        let value = world.value(&encoded)?;
        world.rendering(rendering)?.answer(call as usize, Ok(value));
        Ok(())
    })
}

/// Says that a call failed, and why.
#[napi(catch_unwind)]
pub fn fail(rendering: u32, call: u32, message: String) -> Result<()> {
    World::with(|world| {
        world
            .rendering(rendering)?
            .answer(call as usize, Err(message));
        Ok(())
    })
}

/// Milliseconds that a render has left.
#[napi(catch_unwind)]
pub fn time_left(rendering: u32) -> Result<f64> {
    World::with(|world| Ok(world.rendering(rendering)?.time_left().as_secs_f64() * 1000.0))
}

/// The text of a render that has ended, its messages as JSON, or its pieces; or what is wrong. It is
/// gone afterwards.
#[napi(catch_unwind)]
pub fn result<'e>(env: &'e Env, rendering: u32, what: String) -> Result<Unknown<'e>> {
    let rendered = World::with(|world| world.take_rendered(rendering))?;
    match what.as_str() {
        "messages" => answer::messages(env, rendered.messages()),
        "segments" => answer::segments(env, &rendered.segments()),
        _ => answer::string(env, &rendered.into_text()),
    }
}

/// Lets a render go that has not ended.
#[napi(catch_unwind)]
pub fn abandon(rendering: u32) {
    World::with(|world| world.remove_rendering(rendering));
}

/// Everything that is wrong with a template.
#[napi(catch_unwind)]
pub fn check<'e>(
    env: &'e Env,
    format: String,
    text: String,
    options: CompileOptions,
) -> Result<Unknown<'e>> {
    answer::findings(env, &quillet::check(&format, &text, &options.read()?))
}

/// A template in another format with notes, or what is wrong.
#[napi(catch_unwind)]
pub fn convert<'e>(
    env: &'e Env,
    text: String,
    from: String,
    to: String,
    assume_text: bool,
    strict: bool,
) -> Result<Unknown<'e>> {
    let options = ConvertOptions {
        assume_text,
        strict,
        ..ConvertOptions::default()
    };
    match quillet::convert(&text, &from, &to, &options) {
        Ok(converted) => answer::converted(env, &converted),
        Err(error) => answer::error(env, &error),
    }
}

/// The formats: `[name, alias, …]` for each.
#[napi(catch_unwind)]
pub fn formats() -> Vec<Vec<&'static str>> {
    let names = quillet::formats().into_iter();
    names
        .map(|format| [&[format.name], format.aliases].concat())
        .collect()
}
