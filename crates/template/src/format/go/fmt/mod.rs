//! Go's fmt: how values are printed.
//!
//! Text is appended to a buffer that may not grow past `limit` bytes; the caller turns [`Full`]
//! into the error of the bound that the buffer belongs to. Addresses are not printed: where Go
//! would show one, the verb is refused.

mod float;
mod integer;
pub(super) mod printable;
mod printf;
pub(super) mod quote;
mod shape;
mod sink;
mod spec;
#[cfg(test)]
mod tests;
mod verb;

use super::value::GoValue;
use shape::PrintShape;
use sink::Sink;

/// The text would have passed the limit. What fitted may be in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Appends one value as `%v` prints it, which is how an action prints it.
///
/// # Errors
/// The limit.
#[inline]
pub fn append_value(out: &mut Vec<u8>, limit: usize, value: &GoValue) -> Result<(), Full> {
    written(out, limit, |sink| {
        verb::plain(sink, &PrintShape::from(value))
    })
}

/// Appends a variable of the caller as `%v` prints it.
///
/// # Errors
/// The limit.
#[inline]
pub fn append_core(
    out: &mut Vec<u8>,
    limit: usize,
    value: &quillet_core::Value,
) -> Result<(), Full> {
    written(out, limit, |sink| {
        verb::plain(sink, &PrintShape::from(value))
    })
}

/// Go's `Sprint`: operands with spaces between those of which neither is a string.
///
/// # Errors
/// The limit.
pub fn print(out: &mut Vec<u8>, limit: usize, operands: &[GoValue]) -> Result<(), Full> {
    written(out, limit, |sink| {
        let mut after_string = true;
        for operand in operands {
            let is_string = matches!(operand, GoValue::Str(_));
            if !is_string && !after_string {
                sink.byte(b' ');
            }
            verb::plain(sink, &PrintShape::from(operand));
            after_string = is_string;
        }
    })
}

/// Go's `Sprintln`: operands with spaces between all, and a newline.
///
/// # Errors
/// The limit.
pub fn println(out: &mut Vec<u8>, limit: usize, operands: &[GoValue]) -> Result<(), Full> {
    written(out, limit, |sink| {
        for (index, operand) in operands.iter().enumerate() {
            if index > 0 {
                sink.byte(b' ');
            }
            verb::plain(sink, &PrintShape::from(operand));
        }
        sink.byte(b'\n');
    })
}

/// Go's `Sprintf`.
///
/// # Errors
/// The limit.
pub fn printf(
    out: &mut Vec<u8>,
    limit: usize,
    format: &[u8],
    operands: &[GoValue],
) -> Result<(), Full> {
    written(out, limit, |sink| printf::printf(sink, format, operands))
}

/// A string as `%q` prints it, for error texts.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = Vec::with_capacity(text.len() + 2);
    append_quoted(&mut quoted, text.as_bytes());
    String::from_utf8_lossy(&quoted).into_owned()
}

/// Appends a string as Go's `strconv.Quote` writes it (`%q`).
pub fn append_quoted(out: &mut Vec<u8>, text: &[u8]) {
    quote::quote(out, text, false);
}

#[inline]
fn written(out: &mut Vec<u8>, limit: usize, write: impl FnOnce(&mut Sink<'_>)) -> Result<(), Full> {
    let mut sink = Sink::new(out, limit);
    write(&mut sink);
    if sink.is_full() { Err(Full) } else { Ok(()) }
}
