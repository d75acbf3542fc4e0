//! Python's two kinds of formatting: `'%s' % x` and `'{}'.format(x)`.

use super::call::EvaluatedArguments;
use super::eval::{Evaluator, fail};
use super::value::{Sort, Value};
use crate::StopReason;
use crate::format::python::{Operand, Spec, ascii, digits};

impl Evaluator<'_, '_> {
    /// Evaluates `format % values`.
    pub(super) fn percent(&mut self, format: &str, values: &Value) -> Result<Value, StopReason> {
        let mut given = EvaluatedArguments::default();
        match values {
            Value::List(list) if list.sort == Sort::Tuple => {
                given.positional = self.items(values)?;
            }
            Value::Dict(dict) => {
                self.pass.steps(dict.len())?;
                for (key, value) in dict.iter() {
                    given.named.push((self.text(&key)?, value));
                }
                given.positional.push(values.clone());
            }
            other => given.positional.push(other.clone()),
        }
        self.percent_given(format, &given)
    }

    /// Like [`Evaluator::percent`], with a list of arguments.
    pub(super) fn percent_given(
        &mut self,
        format: &str,
        given: &EvaluatedArguments,
    ) -> Result<Value, StopReason> {
        let mut out = String::new();
        let mut values = given.positional.iter();
        let mut rest = format;
        self.charge(format.len())?;
        while let Some((before, after)) = rest.split_once('%') {
            out.push_str(before);
            rest = after;
            if let Some(after) = rest.strip_prefix('%') {
                out.push('%');
                rest = after;
                continue;
            }
            let name = mapping_key(&mut rest)?;
            let spec = percent_spec(&mut rest, &mut values)?;
            let value = match name {
                Some(name) => given.named(name).ok_or_else(|| fail(format!("'{name}'")))?,
                None => values
                    .next()
                    .ok_or_else(|| fail("not enough arguments for format string"))?,
            };
            self.percent_value(value, spec, &mut out)?;
        }
        out.push_str(rest);
        // Python does not report an unused value that could be a mapping.
        let ignored = matches!(
            given.positional[..],
            [Value::List(_) | Value::Dict(_) | Value::Undefined(_)]
        );
        if values.next().is_some() && !ignored {
            return Err(fail("not all arguments converted during string formatting"));
        }
        Ok(out.into())
    }

    fn percent_value(
        &mut self,
        value: &Value,
        mut spec: Spec,
        out: &mut String,
    ) -> Result<(), StopReason> {
        match spec.kind {
            Some('s') => {
                let text = self.text(&self.unmarked(value))?;
                self.pad_text(&text, &spec, out)
            }
            Some('r') => {
                let text = self.repr(value)?;
                self.pad_text(&text, &spec, out)
            }
            Some('a') => {
                let text = ascii(&self.repr(value)?);
                self.pad_text(&text, &spec, out)
            }
            Some('c') => {
                let text = percent_character(value)?;
                spec.precision = None;
                self.pad_text(&text, &spec, out)
            }
            Some('d') => {
                let int = percent_int(value)?;
                spec.precision = None;
                self.lay_out(Operand::Int(int, "int"), &spec, out)
            }
            kind => match operand(value) {
                Some(operand @ Operand::Int(..)) if matches!(kind, Some('x' | 'X' | 'o')) => {
                    spec.precision = None;
                    self.lay_out(operand, &spec, out)
                }
                Some(operand @ (Operand::Int(..) | Operand::Float(_))) => {
                    self.lay_out(operand, &spec, out)
                }
                _ => {
                    let kind = value.kind();
                    Err(fail(format!("must be real number, not {kind}")))
                }
            },
        }
    }

    /// Evaluates `format.format(...)`.
    pub(super) fn str_format(
        &mut self,
        format: &str,
        given: &EvaluatedArguments,
    ) -> Result<Value, StopReason> {
        let mut out = String::new();
        let mut next = 0;
        let mut rest = format;
        self.charge(format.len())?;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, after) = rest.split_at(at);
            out.push_str(before);
            let (brace, after) = after.split_at(1);
            if let Some(after) = after.strip_prefix(brace) {
                out.push_str(brace);
                rest = after;
                continue;
            }
            let field = match (brace, after.find('}')) {
                ("{", Some(end)) => &after[..end],
                ("{", None) => return Err(fail("expected '}' before end of string")),
                _ => return Err(fail("Single '}' encountered in format string")),
            };
            rest = &after[field.len() + 1..];
            self.field(field, given, &mut next, &mut out)?;
        }
        out.push_str(rest);
        Ok(out.into())
    }

    fn field(
        &mut self,
        field: &str,
        given: &EvaluatedArguments,
        next: &mut usize,
        out: &mut String,
    ) -> Result<(), StopReason> {
        let (target, spec_text) = field.split_once(':').unwrap_or((field, ""));
        let (name, conversion) = target.split_once('!').unwrap_or((target, ""));
        if spec_text.contains('{') {
            return Err(fail("nested replacement fields are not supported"));
        }
        // Attributes and indexes are rejected, because they could access internals of the host.
        if name.contains(['.', '[']) {
            return Err(fail("fields of a format can only be names and numbers"));
        }
        let value = match name.parse::<usize>() {
            Ok(index) => given.positional.get(index),
            Err(_) if name.is_empty() => {
                *next += 1;
                given.positional.get(*next - 1)
            }
            Err(_) => given.named(name),
        };
        let Some(value) = value.cloned() else {
            return Err(fail(format!("the format has no value for '{{{name}}}'")));
        };
        let value = match conversion {
            "" => value,
            "r" => self.repr(&value)?.into(),
            "a" => ascii(&self.repr(&value)?).into(),
            "s" => Value::Str(self.text(&value)?),
            other => return Err(fail(format!("unknown conversion '{other}'"))),
        };
        if spec_text.is_empty() {
            let text = self.text(&value)?;
            self.charge(text.len())?;
            out.push_str(&text);
            return Ok(());
        }
        let spec = Spec::parse(spec_text)?;
        match operand(&self.unmarked(&value)) {
            Some(operand) => self.lay_out(operand, &spec, out),
            None => {
                let kind = value.kind();
                let reason = format!("unsupported format string passed to {kind}.__format__");
                Err(fail(reason))
            }
        }
    }

    fn lay_out(
        &mut self,
        operand: Operand<'_>,
        spec: &Spec,
        out: &mut String,
    ) -> Result<(), StopReason> {
        self.charge(spec.bytes(operand))?;
        Ok(spec.write(operand, out)?)
    }

    fn pad_text(&mut self, text: &str, spec: &Spec, out: &mut String) -> Result<(), StopReason> {
        self.charge(spec.bytes(Operand::Text(text)))?;
        spec.pad_text(text, out);
        Ok(())
    }
}

/// Returns a value as an operand of formatting, if its type is supported.
fn operand(value: &Value) -> Option<Operand<'_>> {
    Some(match value {
        Value::Str(text) => Operand::Text(text),
        Value::Float(float) => Operand::Float(*float),
        Value::Bool(bool) => Operand::Int(i64::from(*bool), "bool"),
        other => Operand::Int(other.as_int()?, "int"),
    })
}

fn percent_character(value: &Value) -> Result<String, StopReason> {
    if let Value::Str(text) = value
        && text.chars().count() == 1
    {
        return Ok(text.to_string());
    }
    let code = value.as_int().and_then(|code| u32::try_from(code).ok());
    let c = code.and_then(char::from_u32);
    c.map(String::from)
        .ok_or_else(|| fail("%c requires int or char"))
}

fn percent_int(value: &Value) -> Result<i64, StopReason> {
    match value {
        Value::Float(float) if float.is_finite() => Ok(float.trunc() as i64),
        other => other.as_int().ok_or_else(|| {
            let kind = other.kind();
            fail(format!("%d format: a real number is required, not {kind}"))
        }),
    }
}

/// Parses `(name)` after a percent sign.
fn mapping_key<'a>(rest: &mut &'a str) -> Result<Option<&'a str>, StopReason> {
    let Some(after) = rest.strip_prefix('(') else {
        return Ok(None);
    };
    let Some((name, after)) = after.split_once(')') else {
        return Err(fail("incomplete format key"));
    };
    *rest = after;
    Ok(Some(name))
}

fn percent_spec<'a>(
    rest: &mut &str,
    values: &mut impl Iterator<Item = &'a Value>,
) -> Result<Spec, StopReason> {
    let mut spec = Spec {
        align: Some('>'),
        ..Spec::default()
    };
    while let Some(flag) = rest.chars().next().filter(|c| "#0- +".contains(*c)) {
        match flag {
            '#' => spec.alternate = true,
            '0' => spec.zero = true,
            '-' => spec.align = Some('<'),
            sign => spec.sign = Some(sign),
        }
        *rest = &rest[1..];
    }
    spec.width = star_or_number(rest, values)?.unwrap_or(0);
    if let Some(after) = rest.strip_prefix('.') {
        *rest = after;
        spec.precision = Some(star_or_number(rest, values)?.unwrap_or(0));
    }
    *rest = rest.trim_start_matches(['h', 'l', 'L']);
    let Some(kind) = rest.chars().next() else {
        return Err(fail("incomplete format"));
    };
    if !"diouxXeEfFgGcrsa".contains(kind) {
        return Err(fail(format!("unsupported format character '{kind}'")));
    }
    *rest = &rest[kind.len_utf8()..];
    if spec.zero && spec.align == Some('>') && !"csra".contains(kind) {
        spec.align = Some('=');
    } else {
        spec.zero = false;
    }
    spec.kind = Some(if matches!(kind, 'i' | 'u') { 'd' } else { kind });
    Ok(spec)
}

fn star_or_number<'a>(
    rest: &mut &str,
    values: &mut impl Iterator<Item = &'a Value>,
) -> Result<Option<usize>, StopReason> {
    if let Some(after) = rest.strip_prefix('*') {
        *rest = after;
        let width = values.next().and_then(Value::as_int);
        return match width.and_then(|width| usize::try_from(width).ok()) {
            Some(width) => Ok(Some(width)),
            None => Err(fail("* wants int")),
        };
    }
    Ok(digits(rest)?)
}
