//! Converts text and values between Node and the engine. The addon with stores shares this file.

use std::cell::RefCell;

use napi::bindgen_prelude::*;
use napi::{Env, JsString, JsValue, check_status, sys};
use quillet_bridge::EncodedValue;

/// Largest text buffer that is kept between calls, in UTF-16 units.
const KEPT_UNITS: usize = 128 << 10;

thread_local! {
    static UNITS: RefCell<Vec<u16>> = const { RefCell::new(Vec::new()) };
}

/// Passes an encoded value to `work`.
pub(crate) fn encoded<T>(
    encoder: u32,
    words: &[i32],
    count: u32,
    string: JsString<'_>,
    units: u32,
    work: impl FnOnce(EncodedValue<'_>) -> T,
) -> Result<T> {
    UNITS.with_borrow_mut(|buffer| {
        copy(string, units as usize, buffer)?;
        Ok(work(EncodedValue {
            encoder,
            words: words.get(..count as usize).unwrap_or_default(),
            units: buffer,
            memory: 0,
        }))
    })
}

/// Copies a string from Node.
fn copy(string: JsString<'_>, units: usize, buffer: &mut Vec<u16>) -> Result<()> {
    if units < KEPT_UNITS && buffer.capacity() > KEPT_UNITS {
        *buffer = Vec::new();
    }
    // Node also writes a terminating zero.
    buffer.resize(units + 1, 0);
    if units > 0 {
        let value = string.value();
        // SAFETY: the string is an argument of the current call, so the environment and the value
        // are alive; the buffer has the stated length.
        check_status!(unsafe {
            sys::napi_get_value_string_utf16(
                value.env,
                value.value,
                buffer.as_mut_ptr(),
                units + 1,
                std::ptr::null_mut(),
            )
        })?;
    }
    buffer.truncate(units);
    Ok(())
}

/// Converts text to a Node string, with U+FFFD for invalid UTF-8.
pub(crate) fn string_of<'e>(env: &'e Env, bytes: &[u8]) -> Result<Unknown<'e>> {
    // Latin-1 strings are faster to create, and ASCII text is valid Latin-1.
    if bytes.is_ascii() {
        return Ok(env.create_string_latin1(bytes)?.to_unknown());
    }
    let text = String::from_utf8_lossy(bytes);
    Ok(env.create_string(text)?.to_unknown())
}
