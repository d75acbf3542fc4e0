//! A call as text: `name(arguments)`.

use quillet_core::Span;

use super::{ArgumentError, ArgumentReader, Arguments, BareWordPolicy, parse_with, split};

/// A call in text form, such as `test($参数="值")`.
#[derive(Clone, Debug)]
pub struct TextCommand {
    /// The name of the call, including any mark before the name.
    pub name: String,
    /// Span of the name in the file.
    pub name_span: Span,
    /// The arguments in the parentheses; empty if there are no parentheses.
    pub arguments: Arguments,
}

/// Parses a call. `base` is the span of `text` in the file, and `words` specifies the meaning of
/// values without quotes.
///
/// # Errors
/// A missing name, unclosed parentheses, text after them, or invalid arguments.
pub fn parse_command(
    text: &str,
    base: Span,
    words: BareWordPolicy,
) -> Result<TextCommand, ArgumentError> {
    let reader = ArgumentReader { text, base, words };
    let open = text.find(['(', '（']).unwrap_or(text.len());
    let name = text[..open].trim();
    let start = text.find(name).unwrap_or(0);
    let name_span = reader.span(start, start + name.len());
    if name.is_empty() || name.contains(char::is_whitespace) {
        return Err(no_call(
            "expected one name at the start of the call",
            name_span,
        ));
    }
    Ok(TextCommand {
        name: name.to_owned(),
        name_span,
        arguments: inside(&reader, open)?,
    })
}

/// Parses the arguments in the parentheses that open at a byte offset.
fn inside(reader: &ArgumentReader<'_>, open: usize) -> Result<Arguments, ArgumentError> {
    let bracketed = &reader.text[open..];
    let Some(first) = bracketed.chars().next() else {
        return Ok(Arguments::default());
    };
    let inner = open + first.len_utf8();
    let Some(close) = split::closing(bracketed).map(|at| open + at) else {
        let span = reader.span(open, inner);
        return Err(no_call("the parenthesis of the call is not closed", span));
    };
    let mut behind = reader.text[close..].chars().skip(1);
    if !behind.all(char::is_whitespace) {
        let span = reader.span(close, reader.text.len());
        return Err(no_call("unexpected text after the call", span));
    }
    let text = &reader.text[inner..close];
    parse_with(text, reader.span(inner, close), reader.words)
}

fn no_call(message: &str, span: Span) -> ArgumentError {
    ArgumentError {
        message: message.to_owned(),
        span,
        help: Some("write `name(value, key=value)`".to_owned()),
    }
}
