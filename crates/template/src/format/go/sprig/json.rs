//! Reads and writes JSON by the rules of Go's `encoding/json`. Keys are sorted, `<`, `>` and `&`
//! are escaped by default, and floats of ordinary size have no exponent.
//!
//! Unlike in Go, integers are not converted to floats, because a prompt must not contain `1e+06`.

use quillet_core::value::MAX_DEPTH;

use super::super::{FunctionContext, FunctionError, GoFunction, GoNumber, GoStr, GoType, GoValue};
use super::{args, cost, dates, json_error};
use crate::limits::LimitKind;

type FnResult = Result<GoValue, FunctionError>;

const ANY: GoType = GoType::Any;
const STRING: GoType = GoType::String;

pub(super) const FUNCTIONS: &[GoFunction] = &[
    GoFunction::new("fromJson", &[STRING], from_json),
    GoFunction::new("mustFromJson", &[STRING], must_from_json),
    GoFunction::new("toJson", &[ANY], to_json),
    GoFunction::new("mustToJson", &[ANY], must_to_json),
    GoFunction::new("toPrettyJson", &[ANY], to_pretty_json),
    GoFunction::new("mustToPrettyJson", &[ANY], must_to_pretty_json),
    GoFunction::new("toRawJson", &[ANY], to_raw_json),
    GoFunction::new("mustToRawJson", &[ANY], must_to_raw_json),
];

/// Maximum memory per byte of text. The worst case is `[0,0,0]`.
const BYTES_PER_BYTE: usize = size_of::<quillet_core::Value>() / 2;

fn from_json(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    or_else(must_from_json(cx, args), GoValue::Nil)
}

fn must_from_json(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let text = args::chars(args, 0);
    cost::build_many(cx, text.len(), BYTES_PER_BYTE)?;
    match quillet_core::json::parse(&text) {
        Ok(value) => Ok(value.into()),
        Err(error) => Err(json_error::explain(text.as_bytes())
            .unwrap_or_else(|| error.to_string())
            .into()),
    }
}

/// Replaces an error by a value, as Sprig's functions without `must` do. Exceeded limits are still
/// reported.
pub(super) fn or_else(outcome: FnResult, instead: GoValue) -> FnResult {
    match outcome {
        Err(FunctionError::Message(_)) => Ok(instead),
        other => other,
    }
}

fn to_json(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    or_else(must_to_json(cx, args), "".into())
}

fn must_to_json(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    write(cx, &args::value(args, 0), JsonOptions::default())
}

fn to_pretty_json(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    or_else(must_to_pretty_json(cx, args), "".into())
}

fn must_to_pretty_json(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let style = JsonOptions {
        pretty: true,
        ..JsonOptions::default()
    };
    write(cx, &args::value(args, 0), style)
}

fn to_raw_json(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    or_else(must_to_raw_json(cx, args), "".into())
}

fn must_to_raw_json(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let style = JsonOptions {
        raw: true,
        ..JsonOptions::default()
    };
    write(cx, &args::value(args, 0), style)
}

#[derive(Clone, Copy, Debug, Default)]
struct JsonOptions {
    /// Whether nested values are indented by two spaces.
    pretty: bool,
    /// Whether `<`, `>` and `&` are left unescaped.
    raw: bool,
}

struct JsonWriter<'c, 'a, 'p> {
    cx: &'c mut FunctionContext<'a, 'p>,
    style: JsonOptions,
    out: String,
    paid: usize,
}

fn write(cx: &mut FunctionContext<'_, '_>, value: &GoValue, style: JsonOptions) -> FnResult {
    let mut writer = JsonWriter {
        cx,
        style,
        out: String::new(),
        paid: 0,
    };
    writer.value(value, 0)?;
    writer.pay(0)?;
    Ok(writer.out.into())
}

impl JsonWriter<'_, '_, '_> {
    /// Charges for the written bytes and for the next `more` bytes.
    fn pay(&mut self, more: usize) -> Result<(), FunctionError> {
        let written = self.out.len() + more;
        let due = written.saturating_sub(self.paid);
        self.paid = self.paid.max(written);
        cost::build(self.cx, due)
    }

    fn value(&mut self, value: &GoValue, depth: u32) -> Result<(), FunctionError> {
        if depth > MAX_DEPTH {
            return Err(self.cx.pass.limit(LimitKind::ValueDepth).into());
        }
        self.cx.steps(1)?;
        self.pay(0)?;
        match value {
            GoValue::Nil => self.out.push_str("null"),
            GoValue::Bool(value) => self.out.push_str(if *value { "true" } else { "false" }),
            GoValue::Str(text) => self.string(text.as_bytes())?,
            GoValue::List(list) => {
                let items = list.iter().map(|item| (None, item));
                self.container('[', ']', items, depth)?;
            }
            GoValue::Map(map) => {
                self.cx.steps(map.len())?;
                let entries = map
                    .sorted()
                    .into_iter()
                    .map(|(key, value)| (Some(key), value));
                self.container('{', '}', entries, depth)?;
            }
            other => self.scalar(other)?,
        }
        Ok(())
    }

    fn scalar(&mut self, value: &GoValue) -> Result<(), FunctionError> {
        match (value, value.number()) {
            (_, Some(GoNumber::Int(number))) => self.out.push_str(&number.to_string()),
            (_, Some(GoNumber::Uint(number))) => self.out.push_str(&number.to_string()),
            (_, Some(GoNumber::Float(number))) => self.out.push_str(&float(number)?),
            (GoValue::Object(object), None) => {
                let text = dates::rfc3339(&**object).unwrap_or_else(|| object.text());
                self.string(text.as_bytes())?;
            }
            _ => return Err(format!("json: unsupported type: {}", value.type_name()).into()),
        }
        Ok(())
    }

    fn container(
        &mut self,
        open: char,
        close: char,
        entries: impl Iterator<Item = (Option<GoStr>, GoValue)>,
        depth: u32,
    ) -> Result<(), FunctionError> {
        self.out.push(open);
        let mut empty = true;
        for (key, value) in entries {
            if !std::mem::take(&mut empty) {
                self.out.push(',');
            }
            self.line(depth + 1);
            if let Some(key) = key {
                self.string(key.as_bytes())?;
                self.out
                    .push_str(if self.style.pretty { ": " } else { ":" });
            }
            self.value(&value, depth + 1)?;
        }
        if !empty {
            self.line(depth);
        }
        self.out.push(close);
        Ok(())
    }

    fn line(&mut self, depth: u32) {
        if !self.style.pretty {
            return;
        }
        self.out.push('\n');
        for _ in 0..depth {
            self.out.push_str("  ");
        }
    }

    fn string(&mut self, bytes: &[u8]) -> Result<(), FunctionError> {
        let plain = |byte: &&u8| byte.is_ascii_graphic() || **byte == b' ' || **byte >= 0x80;
        let escapes = bytes.len() - bytes.iter().filter(plain).count();
        self.pay(bytes.len() + 5 * escapes + 2)?;
        self.out.push('"');
        for chunk in bytes.utf8_chunks() {
            chunk.valid().chars().for_each(|c| self.character(c));
            // Go replaces each invalid UTF-8 byte by a U+FFFD character.
            chunk
                .invalid()
                .iter()
                .for_each(|_| self.out.push_str("\\ufffd"));
        }
        self.out.push('"');
        Ok(())
    }

    fn character(&mut self, c: char) {
        match c {
            '"' => self.out.push_str("\\\""),
            '\\' => self.out.push_str("\\\\"),
            '\n' => self.out.push_str("\\n"),
            '\r' => self.out.push_str("\\r"),
            '\t' => self.out.push_str("\\t"),
            '\u{8}' => self.out.push_str("\\b"),
            '\u{c}' => self.out.push_str("\\f"),
            '<' | '>' | '&' if !self.style.raw => self.escape(c),
            '\0'..'\u{20}' | '\u{2028}' | '\u{2029}' => self.escape(c),
            c => self.out.push(c),
        }
    }

    fn escape(&mut self, c: char) {
        self.out.push_str(&format!("\\u{:04x}", u32::from(c)));
    }
}

/// Formats a float like Go's JSON encoder, with an exponent below 1e-6 and from 1e21 on.
pub(super) fn float(number: f64) -> Result<String, FunctionError> {
    if number.is_nan() {
        return Err("json: unsupported value: NaN".into());
    }
    if number.is_infinite() {
        let sign = if number > 0.0 { '+' } else { '-' };
        return Err(format!("json: unsupported value: {sign}Inf").into());
    }
    let size = number.abs();
    if size == 0.0 || (1e-6..1e21).contains(&size) {
        return Ok(format!("{number}"));
    }
    let text = format!("{number:e}");
    // Rust writes `1e21` and Go writes `1e+21`. Neither Rust nor Go pads small exponents with
    // zeros.
    Ok(match text.split_once('e') {
        Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}e+{exponent}"),
        _ => text,
    })
}
