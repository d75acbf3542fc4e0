//! Quillet's template engine as a WebAssembly module without an operating system: for browsers and
//! edge workers. It forwards bytes between `lib/wasm.js` and `quillet-bridge`.
//!
//! JavaScript allocates memory ([`room`]), writes the arguments there, calls a function, and reads
//! the result ([`given`], [`given_length`]). A function returns a number from 0 on, or [`REFUSED`]
//! with the error as JSON.

#![expect(unsafe_code, reason = "exports and imports require unsafe code")]

use std::cell::RefCell;
use std::time::Duration;

use quillet_bridge::{BridgeError, EncodedValue, OutputKind, ThreadState};
use quillet_template::host::{HostFunctions, provide};

/// Return value of a function that fails.
const REFUSED: i32 = -1;
/// Return value of `step` when the render has ended.
const ENDED: i32 = 1;

#[link(wasm_import_module = "quillet")]
unsafe extern "C" {
    /// Milliseconds since 1970.
    safe fn now() -> f64;
    /// 32 random bits.
    safe fn random() -> u32;
}

/// Data that crosses the boundary.
#[derive(Default)]
struct Exchange {
    world: ThreadState,
    words: Vec<i32>,
    units: Vec<u16>,
    bytes: Vec<u8>,
    given: Vec<u8>,
}

thread_local! {
    static EXCHANGE: RefCell<Exchange> = RefCell::default();
}

/// Must be called first: passes the clock and random bits to the engine.
#[unsafe(no_mangle)]
pub extern "C" fn start() {
    provide(HostFunctions {
        since_epoch: Some(|| Duration::try_from_secs_f64(now() / 1000.0).unwrap_or_default()),
        random: || u64::from(random()) << 32 | u64::from(random()),
    });
}

/// Allocates memory for `length` words (`kind` 0), text units (1) or bytes (2), and returns its
/// address.
#[unsafe(no_mangle)]
pub extern "C" fn room(kind: u32, length: usize) -> usize {
    EXCHANGE.with_borrow_mut(|exchange| match kind {
        0 => {
            exchange.words.resize(length, 0);
            exchange.words.as_mut_ptr() as usize
        }
        1 => {
            exchange.units.resize(length, 0);
            exchange.units.as_mut_ptr() as usize
        }
        _ => {
            exchange.bytes.resize(length, 0);
            exchange.bytes.as_mut_ptr() as usize
        }
    })
}

/// Address of the last result.
#[unsafe(no_mangle)]
pub extern "C" fn given() -> usize {
    EXCHANGE.with_borrow(|exchange| exchange.given.as_ptr() as usize)
}

/// Length of the last result in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn given_length() -> usize {
    EXCHANGE.with_borrow(|exchange| exchange.given.len())
}

/// See [`ThreadState::add_encoder`].
#[unsafe(no_mangle)]
pub extern "C" fn encoder() -> i32 {
    with(|exchange| Ok(exchange.world.add_encoder()))
}

/// See [`ThreadState::add_shape`]; takes the keys.
#[unsafe(no_mangle)]
pub extern "C" fn shape(encoder: u32) -> i32 {
    with(|exchange| {
        let keys = exchange.texts();
        exchange.world.add_shape(encoder, keys)
    })
}

/// See [`ThreadState::forget_shapes`].
#[unsafe(no_mangle)]
pub extern "C" fn forget_shapes(encoder: u32) {
    EXCHANGE.with_borrow_mut(|exchange| exchange.world.forget_shapes(encoder));
}

/// See [`ThreadState::compile`]; takes format, text and options.
#[unsafe(no_mangle)]
pub extern "C" fn compile() -> i32 {
    with(|exchange| {
        let [format, text, options] = exchange.few();
        exchange.world.compile(&format, &text, &options)
    })
}

/// See [`ThreadState::release`].
#[unsafe(no_mangle)]
pub extern "C" fn release(template: u32) {
    EXCHANGE.with_borrow_mut(|exchange| {
        exchange.world.release(template);
    });
}

/// See [`ThreadState::variables`].
#[unsafe(no_mangle)]
pub extern "C" fn variables(template: u32) -> i32 {
    answered(|exchange| exchange.world.variables(template).map(String::into_bytes))
}

/// See [`ThreadState::functions`].
#[unsafe(no_mangle)]
pub extern "C" fn functions(template: u32) -> i32 {
    answered(|exchange| exchange.world.functions(template).map(String::into_bytes))
}

/// See [`ThreadState::render`]; takes a value.
#[unsafe(no_mangle)]
pub extern "C" fn render(template: u32, encoder: u32, memory: u32) -> i32 {
    answered(|exchange| {
        let Exchange {
            world,
            words,
            units,
            ..
        } = exchange;
        world.render(
            template,
            &EncodedValue {
                encoder,
                words,
                units,
                memory,
            },
            <[u8]>::to_vec,
        )
    })
}

/// See [`ThreadState::again`].
#[unsafe(no_mangle)]
pub extern "C" fn again(template: u32) -> i32 {
    answered(|exchange| exchange.world.again(template, <[u8]>::to_vec))
}

/// See [`ThreadState::messages`]; takes a value.
#[unsafe(no_mangle)]
pub extern "C" fn messages(template: u32, encoder: u32) -> i32 {
    answered(|exchange| {
        let Exchange {
            world,
            words,
            units,
            ..
        } = exchange;
        let encoded = EncodedValue {
            encoder,
            words,
            units,
            memory: 0,
        };
        world.messages(template, &encoded).map(String::into_bytes)
    })
}

/// See [`ThreadState::segments`]; takes a value.
#[unsafe(no_mangle)]
pub extern "C" fn segments(template: u32, encoder: u32) -> i32 {
    answered(|exchange| {
        let Exchange {
            world,
            words,
            units,
            ..
        } = exchange;
        let encoded = EncodedValue {
            encoder,
            words,
            units,
            memory: 0,
        };
        world.segments(template, &encoded).map(String::into_bytes)
    })
}

/// See [`ThreadState::begin`]; takes a value, functions and the kind of output.
#[unsafe(no_mangle)]
pub extern "C" fn begin(template: u32, encoder: u32) -> i32 {
    with(|exchange| {
        let [functions, wanted] = exchange.few();
        let Exchange {
            world,
            words,
            units,
            ..
        } = exchange;
        let encoded = EncodedValue {
            encoder,
            words,
            units,
            memory: 0,
        };
        world.begin(template, &encoded, &functions, OutputKind::of_name(&wanted))
    })
}

/// See [`ThreadState::step`]; [`ENDED`] once it has ended.
#[unsafe(no_mangle)]
pub extern "C" fn step(rendering: u32) -> i32 {
    with(|exchange| match exchange.world.step(rendering)? {
        None => Ok(ENDED.cast_unsigned()),
        Some(calls) => {
            exchange.given = calls.into_bytes();
            Ok(0)
        }
    })
}

/// See [`ThreadState::give`]; takes a value.
#[unsafe(no_mangle)]
pub extern "C" fn give(rendering: u32, call: u32, encoder: u32) -> i32 {
    with(|exchange| {
        let Exchange {
            world,
            words,
            units,
            ..
        } = exchange;
        let encoded = EncodedValue {
            encoder,
            words,
            units,
            memory: 0,
        };
        world.give(rendering, call, &encoded).map(|()| 0)
    })
}

/// See [`ThreadState::fail`]; takes the message.
#[unsafe(no_mangle)]
pub extern "C" fn fail(rendering: u32, call: u32) -> i32 {
    with(|exchange| {
        let [message] = exchange.few();
        exchange.world.fail(rendering, call, message).map(|()| 0)
    })
}

/// See [`ThreadState::time_left`].
#[unsafe(no_mangle)]
pub extern "C" fn time_left(rendering: u32) -> f64 {
    EXCHANGE.with_borrow_mut(|exchange| exchange.world.time_left(rendering))
}

/// See [`ThreadState::result`]; takes the kind of output.
#[unsafe(no_mangle)]
pub extern "C" fn result(rendering: u32) -> i32 {
    answered(|exchange| {
        let [wanted] = exchange.few();
        exchange
            .world
            .result(rendering, OutputKind::of_name(&wanted))
    })
}

/// See [`ThreadState::abandon`].
#[unsafe(no_mangle)]
pub extern "C" fn abandon(rendering: u32) {
    EXCHANGE.with_borrow_mut(|exchange| exchange.world.abandon(rendering));
}

/// See [`quillet_bridge::check`]; takes format, text and options.
#[unsafe(no_mangle)]
pub extern "C" fn check() -> i32 {
    answered(|exchange| {
        let [format, text, options] = exchange.few();
        quillet_bridge::check(&format, &text, &options).map(String::into_bytes)
    })
}

/// See [`quillet_bridge::convert`]; takes text, format and new format.
#[unsafe(no_mangle)]
pub extern "C" fn convert(assume_text: u32, strict: u32) -> i32 {
    answered(|exchange| {
        let [text, from, to] = exchange.few();
        let converted = quillet_bridge::convert(&text, &from, &to, assume_text > 0, strict > 0);
        converted.map(String::into_bytes)
    })
}

/// See [`quillet_bridge::formats`].
#[unsafe(no_mangle)]
pub extern "C" fn formats() -> i32 {
    answered(|_| Ok(quillet_bridge::formats().into_bytes()))
}

impl Exchange {
    /// Reads the texts from JavaScript, a JSON list.
    fn texts(&self) -> Vec<String> {
        serde_json::from_slice(&self.bytes).unwrap_or_default()
    }

    /// Reads a fixed number of texts.
    fn few<const N: usize>(&self) -> [String; N] {
        let mut texts = self.texts().into_iter();
        std::array::from_fn(|_| texts.next().unwrap_or_default())
    }
}

fn with(work: impl FnOnce(&mut Exchange) -> Result<u32, BridgeError>) -> i32 {
    EXCHANGE.with_borrow_mut(|exchange| match work(exchange) {
        Ok(number) => number.cast_signed(),
        Err(refusal) => {
            exchange.given = refusal.json().into_bytes();
            REFUSED
        }
    })
}

fn answered(work: impl FnOnce(&mut Exchange) -> Result<Vec<u8>, BridgeError>) -> i32 {
    with(|exchange| {
        exchange.given = work(exchange)?;
        Ok(0)
    })
}
