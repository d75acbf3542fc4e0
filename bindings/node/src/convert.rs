//! Texts and values on their way between Node and the engine. The addon with stores has this file, too.

use std::cell::RefCell;

use napi::bindgen_prelude::*;
use napi::{Env, JsString, JsValue, check_status, sys};
use quillet_bridge::EncodedValue;

/// Units of text for which the buffer is kept between calls.
const KEPT_UNITS: usize = 128 << 10;

thread_local! {
    static UNITS: RefCell<Vec<u16>> = const { RefCell::new(Vec::new()) };
}

/// Has `work` read a value.
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

/// Copies a string out of Node.
fn copy(string: JsString<'_>, units: usize, buffer: &mut Vec<u16>) -> Result<()> {
    if units < KEPT_UNITS && buffer.capacity() > KEPT_UNITS {
        *buffer = Vec::new();
    }
    // One more, for the zero that Node writes behind.
    buffer.resize(units + 1, 0);
    if units > 0 {
        let value = string.value();
        // SAFETY: the string is an argument of the call at hand, so the environment and the value live;
        // the buffer is as long as is said.
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

/// Converts a text to a string of Node's, with U+FFFD for invalid UTF-8.
pub(crate) fn string_of<'e>(env: &'e Env, bytes: &[u8]) -> Result<Unknown<'e>> {
    // Where each byte is a character, Node has only to copy them.
    if bytes.is_ascii() {
        return Ok(env.create_string_latin1(bytes)?.to_unknown());
    }
    let text = String::from_utf8_lossy(bytes);
    Ok(env.create_string(text)?.to_unknown())
}
