//! Python's two ways to format: `'%s' % x` and `'{}'.format(x)`.

use super::call::Given;
use super::eval::{Evaluator, fail};
use super::methods::padded;
use super::print::float_text;
use super::value::{Sort, Value};
use crate::Stop;

/// Most digits after the point; no double has more than 1,074.
const MAX_PRECISION: usize = 1_100;

/// How one value is laid out.
#[derive(Debug, Default)]
struct Spec {
    fill: Option<char>,
    align: Option<char>,
    sign: Option<char>,
    alternate: bool,
    zero: bool,
    width: usize,
    group: Option<char>,
    precision: Option<usize>,
    kind: Option<char>,
}

impl Evaluator<'_, '_> {
    /// `format % values`.
    pub(super) fn percent(&mut self, format: &str, values: &Value) -> Result<Value, Stop> {
        let mut given = Given::default();
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

    /// The same with the values as arguments.
    pub(super) fn percent_given(&mut self, format: &str, given: &Given) -> Result<Value, Stop> {
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
            let text = self.percent_value(value, &spec)?;
            self.pad(&text, &spec, !matches!(spec.kind, Some('-')), &mut out)?;
        }
        out.push_str(rest);
        // Python lets what could be a mapping go unused.
        let ignored = matches!(
            given.positional[..],
            [Value::List(_) | Value::Dict(_) | Value::Undefined(_)]
        );
        if values.next().is_some() && !ignored {
            return Err(fail("not all arguments converted during string formatting"));
        }
        Ok(out.into())
    }

    fn percent_value(&mut self, value: &Value, spec: &Spec) -> Result<String, Stop> {
        let kind = spec.kind.unwrap_or('s');
        Ok(match kind {
            's' | 'r' | 'a' => {
                let text = match kind {
                    's' => self.text(value)?.to_string(),
                    _ => self.repr(value)?,
                };
                match spec.precision {
                    Some(precision) => text.chars().take(precision).collect(),
                    None => text,
                }
            }
            'c' => match value {
                Value::Str(text) if text.chars().count() == 1 => text.to_string(),
                other => {
                    let code = other.as_int().and_then(|code| u32::try_from(code).ok());
                    let c = code.and_then(char::from_u32);
                    c.map(String::from)
                        .ok_or_else(|| fail("%c requires int or char"))?
                }
            },
            'd' | 'i' | 'u' => {
                let int = match value {
                    Value::Float(float) if float.is_finite() => float.trunc() as i64,
                    other => other.as_int().ok_or_else(|| {
                        fail(format!(
                            "%d format: a real number is required, not {}",
                            other.kind()
                        ))
                    })?,
                };
                signed(spec, int < 0, int.unsigned_abs().to_string())
            }
            _ => self.number(value, spec)?,
        })
    }

    /// `format.format(...)`.
    pub(super) fn str_format(&mut self, format: &str, given: &Given) -> Result<Value, Stop> {
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
        given: &Given,
        next: &mut usize,
        out: &mut String,
    ) -> Result<(), Stop> {
        let (target, spec_text) = field.split_once(':').unwrap_or((field, ""));
        let (name, conversion) = target.split_once('!').unwrap_or((target, ""));
        if spec_text.contains('{') {
            return Err(fail("nested replacement fields are not supported"));
        }
        // Attributes and indices in fields are how such formats reach into a host.
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
        let spec = format_spec(spec_text)?;
        let value = match conversion {
            "" => value,
            "r" | "a" => self.repr(&value)?.into(),
            "s" => Value::Str(self.text(&value)?),
            other => return Err(fail(format!("unknown conversion '{other}'"))),
        };
        // A flag without a layout is a word, with one a number.
        let value = match value {
            Value::Bool(bool) if !spec_text.is_empty() => Value::Int(i64::from(bool)),
            other => other,
        };
        check_spec(&value, spec_text, &spec)?;
        let numeric = value.as_float().is_some() && !matches!(value, Value::Bool(_));
        let text = match (&spec.kind, numeric) {
            (None | Some('s'), false) => {
                let text = self.text(&value)?;
                match spec.precision {
                    Some(precision) => text.chars().take(precision).collect(),
                    None => text.to_string(),
                }
            }
            _ => self.number(&value, &spec)?,
        };
        self.pad(&text, &spec, numeric, out)
    }

    /// A number in one of the kinds `d b o x X e E f F g G n %`.
    fn number(&mut self, value: &Value, spec: &Spec) -> Result<String, Stop> {
        let precision = spec.precision.unwrap_or(6);
        if precision > MAX_PRECISION {
            return Err(fail(format!(
                "precision {precision} is more than {MAX_PRECISION}"
            )));
        }
        self.charge(precision + 400)?;
        let kind = match (spec.kind, value) {
            (Some(kind), _) => kind,
            (None, Value::Float(_)) => 'r',
            (None, _) => 'd',
        };
        if let ("d" | "n" | "b" | "o" | "x" | "X", Some(int)) = (&*kind.to_string(), value.as_int())
        {
            let digits = match kind {
                'b' => format!("{:b}", int.unsigned_abs()),
                'o' => format!("{:o}", int.unsigned_abs()),
                'x' => format!("{:x}", int.unsigned_abs()),
                'X' => format!("{:X}", int.unsigned_abs()),
                _ => grouped(&int.unsigned_abs().to_string(), spec.group),
            };
            let prefix = match (spec.alternate, kind) {
                (true, 'b' | 'o' | 'x' | 'X') => format!("0{kind}"),
                _ => String::new(),
            };
            return Ok(signed(spec, int < 0, prefix + &digits));
        }
        let Some(float) = value.as_float() else {
            let kind_name = value.kind();
            return Err(fail(format!(
                "unknown format code '{kind}' for object of type '{kind_name}'"
            )));
        };
        let size = float.abs();
        let text = match kind {
            'f' | 'F' => format!("{size:.precision$}"),
            'e' | 'E' => exponent(&format!("{size:.precision$e}")),
            '%' => format!("{:.precision$}%", size * 100.0),
            'g' | 'G' | 'n' => general(size, precision.max(1)),
            'r' if spec.precision.is_none() => float_text(size),
            'r' => general(size, precision.max(1)),
            other => {
                let kind_name = value.kind();
                return Err(fail(format!(
                    "unknown format code '{other}' for object of type '{kind_name}'"
                )));
            }
        };
        let text = grouped(&text, spec.group);
        let text = if kind.is_uppercase() {
            text.to_uppercase()
        } else {
            text
        };
        Ok(signed(
            spec,
            float.is_sign_negative() && !float.is_nan(),
            text,
        ))
    }

    fn pad(
        &mut self,
        text: &str,
        spec: &Spec,
        numeric: bool,
        out: &mut String,
    ) -> Result<(), Stop> {
        let fill = spec.fill.unwrap_or(if spec.zero { '0' } else { ' ' });
        self.charge(
            text.len()
                .saturating_add(spec.width.saturating_mul(fill.len_utf8())),
        )?;
        let missing = spec.width.saturating_sub(text.chars().count());
        let align = match (spec.align, numeric) {
            (Some(align), _) => align,
            (None, true) if spec.zero => '=',
            (None, true) => '>',
            (None, false) => '<',
        };
        if align == '=' {
            let digits = text.trim_start_matches(['+', '-', ' ']);
            out.push_str(&text[..text.len() - digits.len()]);
            out.push_str(&padded(digits, missing, 0, fill));
            return Ok(());
        }
        let left = match align {
            '<' => 0,
            '^' => missing / 2,
            _ => missing,
        };
        out.push_str(&padded(text, left, missing - left, fill));
        Ok(())
    }
}

/// `(name)` after a percent sign.
fn mapping_key<'a>(rest: &mut &'a str) -> Result<Option<&'a str>, Stop> {
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
) -> Result<Spec, Stop> {
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
) -> Result<Option<usize>, Stop> {
    if let Some(after) = rest.strip_prefix('*') {
        *rest = after;
        let width = values.next().and_then(Value::as_int);
        return match width.and_then(|width| usize::try_from(width).ok()) {
            Some(width) => Ok(Some(width)),
            None => Err(fail("* wants int")),
        };
    }
    digits(rest)
}

/// A number at the start of a text, if there is one.
fn digits(rest: &mut &str) -> Result<Option<usize>, Stop> {
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (number, after) = rest.split_at(end);
    *rest = after;
    match (number.is_empty(), number.parse()) {
        (true, _) => Ok(None),
        (false, Ok(number)) => Ok(Some(number)),
        (false, Err(_)) => Err(fail("too many decimal digits in format string")),
    }
}

fn format_spec(text: &str) -> Result<Spec, Stop> {
    let mut spec = Spec::default();
    let mut rest = text;
    let mut characters = rest.chars();
    match (characters.next(), characters.next()) {
        (Some(fill), Some(align)) if "<>=^".contains(align) => {
            (spec.fill, spec.align) = (Some(fill), Some(align));
            rest = characters.as_str();
        }
        (Some(align), _) if "<>=^".contains(align) => {
            spec.align = Some(align);
            rest = &rest[1..];
        }
        _ => {}
    }
    let mut flag = |accepted: &str| {
        let found = rest.chars().next().filter(|c| accepted.contains(*c));
        rest = &rest[usize::from(found.is_some())..];
        found
    };
    spec.sign = flag("+- ");
    spec.alternate = flag("#").is_some();
    spec.zero = flag("0").is_some();
    spec.width = digits(&mut rest)?.unwrap_or(0);
    if let Some(group) = rest.chars().next().filter(|c| ",_".contains(*c)) {
        spec.group = Some(group);
        rest = &rest[1..];
    }
    if let Some(after) = rest.strip_prefix('.') {
        rest = after;
        spec.precision = digits(&mut rest)?;
    }
    let mut characters = rest.chars();
    spec.kind = characters.next();
    match characters.next() {
        None => Ok(spec),
        Some(_) => Err(fail(format!("invalid format specifier '{text}'"))),
    }
}

/// Refuses layouts that are not for this type of value.
fn check_spec(value: &Value, text: &str, spec: &Spec) -> Result<(), Stop> {
    match value {
        _ if text.is_empty() => Ok(()),
        Value::Str(_) => {
            if spec.group.is_some() || spec.sign.is_some() || spec.alternate {
                return Err(fail(format!("'{text}' is not for text")));
            }
            match (spec.kind, spec.align) {
                (None | Some('s'), Some('=')) => Err(fail("'=' alignment is not for text")),
                _ => Ok(()),
            }
        }
        Value::Float(_) => Ok(()),
        Value::Int(_) => {
            let whole = spec.kind.is_none_or(|kind| "dnboxXc".contains(kind));
            match spec.precision {
                Some(_) if whole => Err(fail("a precision is not for integers")),
                _ => Ok(()),
            }
        }
        other => Err(fail(format!(
            "unsupported format string passed to {}.__format__",
            other.kind()
        ))),
    }
}

fn signed(spec: &Spec, negative: bool, digits: String) -> String {
    match (negative, spec.sign) {
        (true, _) => format!("-{digits}"),
        (false, Some(sign)) if sign != '-' => format!("{sign}{digits}"),
        _ => digits,
    }
}

/// Groups of three in the whole part.
fn grouped(number: &str, group: Option<char>) -> String {
    let Some(group) = group else {
        return number.to_owned();
    };
    let whole = number
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(number.len());
    let mut out = String::new();
    for (index, digit) in number[..whole].chars().enumerate() {
        if index > 0 && (whole - index).is_multiple_of(3) {
            out.push(group);
        }
        out.push(digit);
    }
    out + &number[whole..]
}

/// Rust's exponent as Python writes it: at least two digits and a sign.
fn exponent(text: &str) -> String {
    let Some((digits, exponent)) = text.split_once('e') else {
        return text.to_owned();
    };
    let (sign, size) = match exponent.strip_prefix('-') {
        Some(size) => ('-', size),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{size:0>2}")
}

/// The shorter of the plain and the scientific form, without trailing zeros.
fn general(number: f64, precision: usize) -> String {
    let scientific = format!("{number:.*e}", precision - 1);
    let power: i64 = match scientific.split_once('e').map(|(_, power)| power.parse()) {
        Some(Ok(power)) => power,
        _ => return float_text(number),
    };
    let limit = i64::try_from(precision).unwrap_or(i64::MAX);
    if power < -4 || power >= limit {
        let (digits, _) = scientific.split_once('e').unwrap_or((&scientific, ""));
        return exponent(&format!("{}e{power}", without_zeros(digits)));
    }
    let decimals = usize::try_from(limit - 1 - power).unwrap_or(0);
    without_zeros(&format!("{number:.decimals$}")).to_owned()
}

fn without_zeros(digits: &str) -> &str {
    match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => digits,
    }
}
