//! Go's fmt: how values are printed.
//!
//! Text is appended to a buffer that may not grow past `limit` bytes; who calls
//! turns [`Full`] into the error of the bound that the buffer belongs to.

use super::value::GoValue;

/// The text would have passed the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// Appends one value as `%v` prints it, which is how an action prints it.
///
/// # Errors
/// The limit.
pub fn append_value(out: &mut Vec<u8>, limit: usize, value: &GoValue) -> Result<(), Full> {
    print(out, limit, std::slice::from_ref(value))
}

/// Go's `Sprint`: operands with spaces between those of which neither is a string.
///
/// # Errors
/// The limit.
pub fn print(out: &mut Vec<u8>, limit: usize, operands: &[GoValue]) -> Result<(), Full> {
    for operand in operands {
        match operand {
            GoValue::Str(text) => out.extend_from_slice(text.as_bytes()),
            other => out.extend_from_slice(format!("{other:?}").as_bytes()),
        }
    }
    if out.len() > limit { Err(Full) } else { Ok(()) }
}

/// Go's `Sprintln`: operands with spaces between all, and a newline.
///
/// # Errors
/// The limit.
pub fn println(out: &mut Vec<u8>, limit: usize, operands: &[GoValue]) -> Result<(), Full> {
    print(out, limit, operands)?;
    out.push(b'\n');
    Ok(())
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
    out.extend_from_slice(format);
    print(out, limit, operands)
}

/// Appends a string as Go's `strconv.Quote` writes it (`%q`).
pub fn append_quoted(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(format!("{:?}", String::from_utf8_lossy(text)).as_bytes());
}
