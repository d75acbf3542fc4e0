//! Renders a format string with variables.

use std::borrow::Cow;

use quillet_core::{LineColumn, Map, Span, Value, nearest};

use super::super::python::{Operand, Spec, ascii};
use super::ast::{Conversion, Field, FormatSpec, Index, Node, SpecPart};
use super::compilation::Compilation;
use super::print::{self, kind};
use crate::{CallState, ErrorKind, Missing, Pass, RenderError, StopReason};

pub(super) struct Evaluator<'t, 'p, 'v> {
    pub(super) source: &'t Compilation,
    pub(super) missing: Missing,
    pub(super) pass: &'p mut Pass<'v>,
}

/// Result of resolving a name.
enum NameLookup<'v> {
    Value(Cow<'v, Value>),
    /// The result of a call that starts after this pass.
    Pending,
    /// A missing value for which the template prints nothing.
    Nothing,
}

fn fail(reason: impl Into<String>) -> StopReason {
    RenderError::new(ErrorKind::Execution, reason).into()
}

impl<'v> Evaluator<'_, '_, 'v> {
    pub(super) fn run(&mut self) -> Result<(), StopReason> {
        let program = &self.source.program;
        for node in &program.nodes {
            self.pass.step()?;
            match node {
                Node::Text(range) => {
                    let text = program.literals.get(range.clone());
                    self.pass.literal(text.unwrap_or_default())?;
                }
                Node::Field(field) => {
                    let start = self.pass.begin_value();
                    let holes = self.pass.holes();
                    let printed = match self.print(field) {
                        // No other part of the template depends on this field, so the pass skips it.
                        Err(StopReason::Suspended) => {
                            self.pass.skip_since(holes);
                            Ok(())
                        }
                        printed => printed,
                    };
                    printed.map_err(|stop| self.located(stop, field.whole))?;
                    let Span { start: from, end } = field.span;
                    // The source of the segment is the name with its path, as written in the
                    // template.
                    let name = || self.source.text.get(from..end).map(str::to_owned);
                    self.pass.end_value(start, name)?;
                }
                // LangChain accepts the template and fails only here.
                Node::Refused(problem) => {
                    let mut error =
                        RenderError::new(ErrorKind::Execution, problem.message.as_str());
                    error.help.clone_from(&problem.help);
                    return Err(self.located(error.into(), problem.span));
                }
            }
        }
        Ok(())
    }

    /// Adds the location, unless the error already has one.
    fn located(&self, stop: StopReason, span: Span) -> StopReason {
        let StopReason::Failed(mut error) = stop else {
            return stop;
        };
        if error.position.is_none() {
            let (name, text) = (&self.source.name, &self.source.text);
            let at = LineColumn::of(text, span.start);
            error.message = format!("{name}:{}:{}: {}", at.line, at.column, error.reason);
            error.source_name.clone_from(name);
            error.span = Some(span);
            error.position = Some(at);
        }
        StopReason::Failed(error)
    }

    fn print(&mut self, field: &Field) -> Result<(), StopReason> {
        let value = match self.find(field)? {
            NameLookup::Value(value) => value,
            NameLookup::Pending => {
                // Calls in the specifier must still be registered.
                return match &field.layout {
                    FormatSpec::Nested(pieces) => self.spec(pieces).map(drop),
                    FormatSpec::Plain | FormatSpec::Fixed(_) => Ok(()),
                };
            }
            NameLookup::Nothing => return Ok(()),
        };
        let stood = value.is_fallback();
        let value = printed(value);
        match field.is_plain() {
            true => print::write(&value, self.pass),
            // A fallback value prints nothing if formatting rejects it.
            false if stood => match self.laid_out(field, &value) {
                Err(stop) if stop.is_of_values() => Ok(()),
                text => self.pass.write(&text?),
            },
            false => {
                let text = self.laid_out(field, &value)?;
                self.pass.write(&text)
            }
        }
    }

    fn find(&mut self, field: &Field) -> Result<NameLookup<'v>, StopReason> {
        let variables: &'v Map = self.pass.variables();
        // Variables win over functions, so adding a tool never changes an existing prompt.
        if let Some(value) = variables.get(&field.name) {
            let value = self.at(Cow::Borrowed(value), field)?;
            return Ok(NameLookup::Value(value));
        }
        if self.pass.has_function(&field.name) {
            // Both offsets identify the call, because a specifier may call the same function.
            let place = [field.whole.start, field.span.start];
            return Ok(match self.pass.call_bound_at(&place, &field.name)? {
                CallState::Pending => NameLookup::Pending,
                CallState::Ready(value) => {
                    let value = self.at(Cow::Owned(value), field)?;
                    NameLookup::Value(value)
                }
            });
        }
        match self.missing {
            Missing::Zero | Missing::Empty => Ok(NameLookup::Nothing),
            Missing::Strict | Missing::Default => Err(self.key_error(&field.name)),
        }
    }

    fn key_error(&self, name: &str) -> StopReason {
        let reason = format!("variable '{name}' is not set (KeyError)");
        let mut error = RenderError::new(ErrorKind::MissingVariable, reason);
        let variables = self.pass.variables().table().keys().map(AsRef::as_ref);
        // A missing name may also be a misspelled function name.
        let known = variables.chain(self.pass.function_names());
        error.help = match nearest(name, known) {
            Some(near) => Some(format!("did you mean {near}?")),
            // A plain name was probably meant as a variable.
            None if is_a_name(name) => None,
            None => Some("write {{ and }} for literal braces".to_owned()),
        };
        error.into()
    }

    /// Returns the value that an access selects.
    fn at<'a>(
        &mut self,
        mut value: Cow<'a, Value>,
        field: &Field,
    ) -> Result<Cow<'a, Value>, StopReason> {
        for index in &field.path {
            self.pass.step()?;
            value = match value {
                Cow::Borrowed(value) => self.item(value, index)?,
                Cow::Owned(value) => Cow::Owned(self.item(&value, index)?.into_owned()),
            };
        }
        Ok(value)
    }

    fn item<'a>(&mut self, value: &'a Value, index: &Index) -> Result<Cow<'a, Value>, StopReason> {
        if let Value::Map(map) = value
            && map.is_fallback()
        {
            let found = match (map.represented_value(), index) {
                (None, Index::Key(key)) => return Ok(Cow::Owned(map.fallback_field(key))),
                (None, Index::Number(_)) => None,
                (Some(meant), index) => self.item(meant, index).ok().map(Cow::into_owned),
            };
            return Ok(Cow::Owned(found.unwrap_or_default().into_fallback()));
        }
        match (value, index) {
            (Value::List(list), Index::Number(number)) => list
                .get(*number)
                .map(Cow::Borrowed)
                .ok_or_else(|| fail("list index out of range")),
            (Value::Map(map), Index::Key(key)) => match map.get(key) {
                Some(value) => Ok(Cow::Borrowed(value)),
                None => Err(no_key(map, key)),
            },
            (Value::Map(map), Index::Number(number)) => Err(no_key(map, &number.to_string())),
            (Value::Str(text), Index::Number(number)) => {
                self.pass.steps(number.min(&text.len()) / 256)?;
                let character = text.chars().nth(*number);
                let character = character.ok_or_else(|| fail("string index out of range"))?;
                Ok(Cow::Owned(character.to_string().into()))
            }
            (Value::List(_) | Value::Str(_), Index::Key(key)) => Err(fail(format!(
                "{} indices must be numbers, not '{key}'",
                kind(value)
            ))),
            _ => Err(fail(format!(
                "'{}' object is not subscriptable",
                kind(value)
            ))),
        }
    }

    fn laid_out(&mut self, field: &Field, value: &Value) -> Result<String, StopReason> {
        let converted = match field.conversion {
            None => None,
            Some(Conversion::Str) => Some(print::text(value, self.pass)?),
            Some(Conversion::Repr) => Some(print::repr(value, self.pass)?),
            Some(Conversion::Ascii) => {
                let repr = print::repr(value, self.pass)?;
                self.pass.charge(repr.len().saturating_mul(6))?;
                Some(ascii(&repr))
            }
        };
        let nested;
        let spec = match &field.layout {
            FormatSpec::Plain => None,
            FormatSpec::Fixed(spec) => Some(spec),
            FormatSpec::Nested(pieces) => {
                nested = self.spec(pieces)?;
                nested.as_ref()
            }
        };
        let Some(spec) = spec else {
            return match converted {
                Some(text) => Ok(text),
                None => print::text(value, self.pass),
            };
        };
        let operand = match &converted {
            Some(text) => Operand::Text(text),
            None => operand(value)?,
        };
        self.pass.charge(spec.bytes(operand))?;
        let mut out = String::new();
        spec.write(operand, &mut out)?;
        Ok(out)
    }

    /// Joins the segments of a specifier. Returns `None` if the result is empty.
    fn spec(&mut self, pieces: &[SpecPart]) -> Result<Option<Spec>, StopReason> {
        let (mut text, mut hole) = (String::new(), false);
        for piece in pieces {
            self.pass.step()?;
            match piece {
                SpecPart::Text(piece) => text.push_str(piece),
                SpecPart::Field(field) => match self.find(field)? {
                    NameLookup::Value(value) => {
                        let stood = value.is_fallback();
                        match self.laid_out(field, &printed(value)) {
                            Err(stop) if stood && stop.is_of_values() => {}
                            piece => text.push_str(&piece?),
                        }
                    }
                    NameLookup::Pending => hole = true,
                    NameLookup::Nothing => {}
                },
            }
        }
        if hole {
            return Err(StopReason::Suspended);
        }
        if text.is_empty() {
            Ok(None)
        } else {
            Ok(Some(Spec::parse(&text)?))
        }
    }
}

/// Returns the field that replaces an object in print, see [`Map::display_value`].
fn printed(value: Cow<'_, Value>) -> Cow<'_, Value> {
    match value {
        Cow::Borrowed(Value::Map(map)) => match map.display_value() {
            Some(printed) => Cow::Borrowed(printed),
            None => value,
        },
        Cow::Owned(Value::Map(ref map)) => match map.display_value() {
            Some(printed) => Cow::Owned(printed.clone()),
            None => value,
        },
        other => other,
    }
}

fn operand(value: &Value) -> Result<Operand<'_>, StopReason> {
    match value {
        Value::Str(text) => Ok(Operand::Text(text)),
        Value::Int(int) => Ok(Operand::Int(*int, "int")),
        Value::Bool(bool) => Ok(Operand::Int(i64::from(*bool), "bool")),
        Value::Float(float) => Ok(Operand::Float(*float)),
        other => {
            let reason = format!(
                "unsupported format string passed to {}.__format__",
                kind(other)
            );
            let mut error = RenderError::new(ErrorKind::Execution, reason);
            error.help = Some("write !s before the colon to format the value as text".to_owned());
            Err(error.into())
        }
    }
}

fn no_key(map: &Map, key: &str) -> StopReason {
    let reason = format!("the object has no key '{key}' (KeyError)");
    let mut error = RenderError::new(ErrorKind::MissingVariable, reason);
    error.help = match map.get(key) {
        Some(_) => Some(
            "in Python, digits in brackets are an index, but the keys of an object are strings"
                .to_owned(),
        ),
        None => nearest(key, map.table().keys().map(AsRef::as_ref))
            .map(|near| format!("did you mean {near}?")),
    };
    error.into()
}

fn is_a_name(name: &str) -> bool {
    let letter = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    name.chars().all(letter)
}
