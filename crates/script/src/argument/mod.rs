//! Parses the text in the parentheses of a call: `a, k=v, |x|y:2`.
//!
//! Parsing does not evaluate anything. The caller evaluates the values and passes them to
//! [`EvaluatedArguments::new`], which binds them to positions and names.
//!
//! For Chinese input, `，` `：` `＝` `（）` `“”` are equivalent to their ASCII forms outside of quotes.

mod bind;
mod choice;
mod command;
pub(crate) mod split;

use std::sync::Arc;

use quillet_core::{Span, Value};

use crate::expression::{Expression, ParsedExpression, SyntaxError};

pub use bind::{ArgumentSlot, EvaluatedArguments};
pub use choice::ArgumentChoice;
pub use command::{TextCommand, parse_command};

/// The arguments of a call, in order.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    /// The arguments.
    pub items: Vec<Argument>,
}

/// One argument.
#[derive(Clone, Debug)]
pub struct Argument {
    /// The name in `name=value`.
    pub name: Option<Arc<str>>,
    /// Its value.
    pub value: ArgumentValue,
    /// The value as written, without the name.
    pub text: Arc<str>,
    /// Span of the whole argument in the file, including the name.
    pub span: Span,
    /// Span of the value in the file.
    pub value_span: Span,
}

/// The unevaluated value of an argument.
#[derive(Clone, Debug)]
pub enum ArgumentValue {
    /// A number, string, `true`, `null` or other constant. `TRUE` and `False` are accepted.
    Literal(Value),
    /// An expression for the native evaluator or an engine ([`ParsedExpression::JavaScript`]).
    /// Never invalid.
    Expression(ParsedExpression),
    /// Text with `{{…}}`, without its quotes.
    Template(Arc<str>),
    /// `|a|b:2`.
    Choice(ArgumentChoice),
    /// Text that is not evaluated: `@calls`, and bare words where they are allowed.
    Text(Arc<str>),
    /// A missing value: `a, , b`, or `k=`. It is `undefined`.
    Skipped,
}

/// Error for invalid arguments.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ArgumentError {
    /// The problem in one sentence, without a full stop.
    pub message: String,
    /// Span in the file.
    pub span: Span,
    /// How to fix the problem.
    pub help: Option<String>,
}

/// How a value that is not an expression is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BareWordPolicy {
    /// An error: `$print(hello world)` needs quotes.
    Refused,
    /// Text, as in `[[@file(my notes.txt)]]`.
    Text,
}

/// Parses arguments. `base` is the span of `text` in the file.
///
/// # Errors
/// A value that is not an expression, an unclosed string, or an invalid choice.
pub fn parse(text: &str, base: Span) -> Result<Arguments, ArgumentError> {
    parse_with(text, base, BareWordPolicy::Refused)
}

/// Parses arguments and handles bare words by the given policy.
///
/// # Errors
/// Returns the same errors as [`parse`].
pub fn parse_with(
    text: &str,
    base: Span,
    words: BareWordPolicy,
) -> Result<Arguments, ArgumentError> {
    let reader = ArgumentReader { text, base, words };
    let mut pieces = split::pieces(text, is_comma);
    // An empty text, or an empty part after a trailing comma, is not an argument.
    if pieces
        .last()
        .is_some_and(|last| last.text.trim().is_empty())
    {
        pieces.pop();
    }
    let items = pieces
        .into_iter()
        .map(|piece| reader.argument(piece))
        .collect::<Result<_, _>>()?;
    Ok(Arguments { items })
}

fn is_comma(c: char, piece: &str) -> bool {
    // In the text of a choice, `，` is ordinary punctuation.
    c == ',' || (c == '，' && !piece.trim_start().starts_with('|'))
}

impl Argument {
    /// Returns the position or name to which the argument's value is bound. A bare name or a path
    /// such as `a.b` is bound both by position and by that name.
    #[must_use]
    pub fn slot(&self) -> ArgumentSlot {
        if let Some(name) = &self.name {
            return ArgumentSlot::Name(Arc::clone(name));
        }
        match &self.value {
            ArgumentValue::Choice(_) => ArgumentSlot::Name("choice".into()),
            ArgumentValue::Expression(ParsedExpression::Native(expression)) => {
                match expression.as_path() {
                    Some(path) => ArgumentSlot::PlaceAndName(path.into()),
                    None => ArgumentSlot::Place,
                }
            }
            _ => ArgumentSlot::Place,
        }
    }

    /// Converts a span in the argument's expression to a span in the file.
    #[must_use]
    pub fn place(&self, inner: Span) -> Span {
        let start = self.value_span.start + inner.start;
        let end = self.value_span.start + inner.end;
        if end > self.value_span.end {
            return self.value_span;
        }
        Span { start, end }
    }
}

#[derive(Clone, Copy)]
struct ArgumentReader<'a> {
    text: &'a str,
    base: Span,
    words: BareWordPolicy,
}

impl ArgumentReader<'_> {
    /// Returns a span in the file. If YAML escapes made the text differ from the file, individual
    /// bytes cannot be located.
    fn span(&self, start: usize, end: usize) -> Span {
        if self.base.end.saturating_sub(self.base.start) != self.text.len() {
            return self.base;
        }
        Span {
            start: self.base.start + start,
            end: self.base.start + end,
        }
    }

    fn argument(&self, piece: split::ArgumentText<'_>) -> Result<Argument, ArgumentError> {
        let piece = piece.trimmed();
        let (name, value) = split::named(piece);
        let value = value.trimmed();
        let value_span = self.span(value.start, value.end());
        Ok(Argument {
            name: name.map(Into::into),
            value: self.value(value)?,
            text: value.text.into(),
            span: self.span(piece.start, piece.end()),
            value_span,
        })
    }

    fn value(&self, piece: split::ArgumentText<'_>) -> Result<ArgumentValue, ArgumentError> {
        let text = piece.text;
        match text.chars().next() {
            None => return Ok(ArgumentValue::Skipped),
            Some('|') => return choice::read(self, piece).map(ArgumentValue::Choice),
            Some('@') => return Ok(ArgumentValue::Text(text.into())),
            _ => {}
        }
        if text.starts_with("{{") {
            return Ok(ArgumentValue::Template(text.into()));
        }
        if let Some(value) = constant(text) {
            return Ok(ArgumentValue::Literal(value));
        }
        match Expression::parse(text) {
            ParsedExpression::Invalid(error) => self.without_grammar(piece, &error),
            parsed => Ok(simplest(parsed)),
        }
    }

    /// Handles common input that is not valid JavaScript.
    fn without_grammar(
        &self,
        piece: split::ArgumentText<'_>,
        error: &SyntaxError,
    ) -> Result<ArgumentValue, ArgumentError> {
        if let Some(inner) = split::unquote(piece.text) {
            return Ok(text_value(inner));
        }
        if piece.text.contains("{{") && piece.text.contains("}}") {
            return Ok(ArgumentValue::Template(piece.text.into()));
        }
        if self.words == BareWordPolicy::Text {
            return Ok(ArgumentValue::Text(piece.text.into()));
        }
        let start = piece.start + error.span.start;
        Err(ArgumentError {
            message: format!("invalid value `{}`: {}", brief(piece.text), error.message),
            span: self.span(start, piece.start + error.span.end),
            help: Some("put text in quotes".to_owned()),
        })
    }
}

fn simplest(parsed: ParsedExpression) -> ArgumentValue {
    let literal = match &parsed {
        ParsedExpression::Native(expression) => expression.as_literal().cloned().flatten(),
        _ => None,
    };
    match literal {
        Some(Value::Str(text)) => text_value(text.to_string()),
        Some(value) => ArgumentValue::Literal(value),
        None => ArgumentValue::Expression(parsed),
    }
}

fn text_value(text: String) -> ArgumentValue {
    if text.contains("{{") {
        ArgumentValue::Template(text.into())
    } else {
        ArgumentValue::Literal(Value::from(text))
    }
}

/// Parses constants, which may be in any case.
fn constant(text: &str) -> Option<Value> {
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    match () {
        () if is("true") => Some(Value::Bool(true)),
        () if is("false") => Some(Value::Bool(false)),
        () if is("null") => Some(Value::Null),
        () if is("nan") => Some(Value::Float(f64::NAN)),
        () => None,
    }
}

/// Returns the beginning of a text for a message.
fn brief(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
