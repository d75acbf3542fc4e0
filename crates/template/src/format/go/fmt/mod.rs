//! Go's `fmt`: formatting of values.
//!
//! Text is appended to a buffer of at most `limit` bytes. The caller converts [`BufferFullError`]
//! into the error for the buffer's limit. Addresses are never printed. A verb for which Go prints
//! an address is rejected.

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
use sink::LimitedBuffer;

/// Error for text that exceeds the limit. The buffer may contain a part of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferFullError;

/// Appends one value in the format `%v`, which template actions use.
///
/// # Errors
/// Returns an error at the limit.
#[inline]
pub fn append_value(
    out: &mut Vec<u8>,
    limit: usize,
    value: &GoValue,
) -> Result<(), BufferFullError> {
    written(out, limit, |sink| {
        verb::plain(sink, &PrintShape::from(value))
    })
}

/// Appends a value that the caller passed as a variable, in the format `%v`.
///
/// # Errors
/// Returns an error at the limit.
#[inline]
pub fn append_core(
    out: &mut Vec<u8>,
    limit: usize,
    value: &quillet_core::Value,
) -> Result<(), BufferFullError> {
    written(out, limit, |sink| {
        verb::plain(sink, &PrintShape::from(value))
    })
}

/// Appends values like Go's `Sprint`, which adds a space between two operands if neither is a
/// string.
///
/// # Errors
/// Returns an error at the limit.
pub fn print(out: &mut Vec<u8>, limit: usize, operands: &[GoValue]) -> Result<(), BufferFullError> {
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

/// Appends values like Go's `Sprintln`, which adds spaces between all operands and a newline at the
/// end.
///
/// # Errors
/// Returns an error at the limit.
pub fn println(
    out: &mut Vec<u8>,
    limit: usize,
    operands: &[GoValue],
) -> Result<(), BufferFullError> {
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
/// Returns an error at the limit.
pub fn printf(
    out: &mut Vec<u8>,
    limit: usize,
    format: &[u8],
    operands: &[GoValue],
) -> Result<(), BufferFullError> {
    written(out, limit, |sink| printf::printf(sink, format, operands))
}

/// Formats a string like `%q`, for error messages.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = Vec::with_capacity(text.len() + 2);
    append_quoted(&mut quoted, text.as_bytes());
    String::from_utf8_lossy(&quoted).into_owned()
}

/// Appends a string like Go's `strconv.Quote` (`%q`).
pub fn append_quoted(out: &mut Vec<u8>, text: &[u8]) {
    quote::quote(out, text, false);
}

#[inline]
fn written(
    out: &mut Vec<u8>,
    limit: usize,
    write: impl FnOnce(&mut LimitedBuffer<'_>),
) -> Result<(), BufferFullError> {
    let mut sink = LimitedBuffer::new(out, limit);
    write(&mut sink);
    if sink.is_full() {
        Err(BufferFullError)
    } else {
        Ok(())
    }
}
