//! Reads and writes YAML like Helm's functions. Keys are sorted, lists have the indentation of
//! their key, and multi-line text is written with `|`.
//!
//! The limits for reading are low, because nested aliases can expand a short text to a huge value.

use quillet_core::value::MAX_DEPTH;
use quillet_core::{Map, Value};
use quillet_yaml::{Node, Options};

use super::super::{
    FunctionContext, FunctionError, GoFunction, GoList, GoMap, GoNumber, GoType, GoValue,
};
use super::{args, cost, json};
use crate::limits::LimitKind;

type FnResult = Result<GoValue, FunctionError>;

const ANY: GoType = GoType::Any;
const STRING: GoType = GoType::String;

pub(super) const FUNCTIONS: &[GoFunction] = &[
    GoFunction::new("fromYaml", &[STRING], from_yaml),
    GoFunction::new("fromYamlArray", &[STRING], from_yaml_array),
    GoFunction::new("toYaml", &[ANY], to_yaml),
    GoFunction::new("mustToYaml", &[ANY], must_to_yaml),
];

/// Maximum number of values in a text. Each use of an alias counts.
const MAX_NODES: usize = 20_000;

/// Maximum memory per byte of text, without aliases.
const BYTES_PER_BYTE: usize = 16;

fn read(
    cx: &mut FunctionContext<'_, '_>,
    args: &[GoValue],
) -> Result<Result<Value, String>, FunctionError> {
    let text = args::chars(args, 0);
    cost::build_many(cx, text.len(), BYTES_PER_BYTE)?;
    cx.charge(MAX_NODES.min(text.len()) * (size_of::<Node>() + size_of::<Value>()))?;
    let options = Options {
        most_depth: MAX_DEPTH as usize / 2,
        most_nodes: MAX_NODES,
        ..Options::default()
    };
    let read = quillet_yaml::value(&text, &options);
    // Reading stopped at the first error. Later errors may only be consequences of the first.
    Ok(read.map_err(|found| match found.into_iter().next() {
        Some(first) => first.message,
        None => "not YAML".to_owned(),
    }))
}

/// Reads a map. On an error, the result is a map with the message under `Error`.
fn from_yaml(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let reason = match read(cx, args)? {
        Ok(Value::Map(map)) => return Ok(GoValue::Map(GoMap::core(map))),
        Ok(Value::Null) => return Ok(GoValue::Map(GoMap::new())),
        Ok(other) => format!("the text is not a map but {}", other.kind()),
        Err(reason) => reason,
    };
    let map: Map = [("Error", Value::from(reason))].into_iter().collect();
    Ok(GoValue::Map(GoMap::core(map)))
}

/// Reads a list. On an error, the result is a list with the message.
fn from_yaml_array(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let reason = match read(cx, args)? {
        Ok(Value::List(list)) => return Ok(GoValue::List(GoList::core(list))),
        Ok(Value::Null) => return Ok(GoValue::List(GoList::new(Vec::new()))),
        Ok(other) => format!("the text is not a list but {}", other.kind()),
        Err(reason) => reason,
    };
    Ok(GoValue::List(GoList::new(vec![reason.into()])))
}

fn to_yaml(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    json::or_else(must_to_yaml(cx, args), "".into())
}

fn must_to_yaml(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let mut writer = YamlWriter {
        cx,
        out: String::new(),
        paid: 0,
    };
    writer.value(&args::value(args, 0), 0, YamlPosition::Top)?;
    writer.pay(0)?;
    Ok(writer.out.into())
}

/// Position of a value, which determines the separator before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum YamlPosition {
    Top,
    /// After `key:`.
    Entry,
    /// After `-`.
    Item,
}

struct YamlWriter<'c, 'a, 'p> {
    cx: &'c mut FunctionContext<'a, 'p>,
    out: String,
    paid: usize,
}

impl YamlWriter<'_, '_, '_> {
    /// Charges for the written bytes and for the next `more` bytes.
    fn pay(&mut self, more: usize) -> Result<(), FunctionError> {
        let written = self.out.len() + more;
        let due = written.saturating_sub(self.paid);
        self.paid = self.paid.max(written);
        cost::build(self.cx, due)
    }

    fn value(
        &mut self,
        value: &GoValue,
        indent: usize,
        place: YamlPosition,
    ) -> Result<(), FunctionError> {
        if indent > 2 * MAX_DEPTH as usize {
            return Err(self.cx.pass.limit(LimitKind::ValueDepth).into());
        }
        self.cx.steps(1)?;
        self.pay(indent + 2)?;
        match value {
            GoValue::List(list) if !list.is_empty() => self.list(list, indent, place),
            GoValue::Map(map) if !map.is_empty() => self.map(map, indent, place),
            scalar => {
                if place != YamlPosition::Top {
                    self.out.push(' ');
                }
                self.scalar(scalar, indent)?;
                if place != YamlPosition::Top {
                    self.out.push('\n');
                }
                Ok(())
            }
        }?;
        if place == YamlPosition::Top && self.out.ends_with('\n') {
            self.out.pop();
        }
        Ok(())
    }

    fn list(
        &mut self,
        list: &GoList,
        indent: usize,
        place: YamlPosition,
    ) -> Result<(), FunctionError> {
        // A list has the indentation of its key, but a list in another list is indented by one more
        // step.
        let indent = match place {
            YamlPosition::Entry => indent.saturating_sub(2),
            _ => indent,
        };
        let mut beside = self.begin(place);
        for item in list.iter() {
            self.line(indent, &mut beside);
            self.out.push('-');
            self.value(&item, indent + 2, YamlPosition::Item)?;
        }
        Ok(())
    }

    fn map(
        &mut self,
        map: &GoMap,
        indent: usize,
        place: YamlPosition,
    ) -> Result<(), FunctionError> {
        let mut beside = self.begin(place);
        self.cx.steps(map.len())?;
        for (key, value) in map.sorted() {
            self.line(indent, &mut beside);
            self.text(&key.to_text(), None)?;
            self.out.push(':');
            self.value(&value, indent + 2, YamlPosition::Entry)?;
        }
        Ok(())
    }

    /// Begins a list or a map. Returns whether its first line is on the line of a list's dash.
    fn begin(&mut self, place: YamlPosition) -> bool {
        match place {
            YamlPosition::Top => false,
            YamlPosition::Entry => {
                self.out.push('\n');
                false
            }
            YamlPosition::Item => {
                self.out.push(' ');
                true
            }
        }
    }

    fn line(&mut self, indent: usize, beside: &mut bool) {
        if !std::mem::take(beside) {
            self.out.extend(std::iter::repeat_n(' ', indent));
        }
    }

    fn scalar(&mut self, value: &GoValue, indent: usize) -> Result<(), FunctionError> {
        match (value, value.number()) {
            (GoValue::Nil, _) => self.out.push_str("null"),
            (GoValue::Bool(value), _) => self.out.push_str(if *value { "true" } else { "false" }),
            (GoValue::List(_), _) => self.out.push_str("[]"),
            (GoValue::Map(_), _) => self.out.push_str("{}"),
            (GoValue::Str(text), _) => self.text(&text.to_text(), Some(indent))?,
            (_, Some(GoNumber::Int(number))) => self.out.push_str(&number.to_string()),
            (_, Some(GoNumber::Uint(number))) => self.out.push_str(&number.to_string()),
            (_, Some(GoNumber::Float(number))) => self.out.push_str(&json::float(number)?),
            (GoValue::Object(object), None) => self.text(&object.text(), Some(indent))?,
            _ => return Err(format!("json: unsupported type: {}", value.type_name()).into()),
        }
        Ok(())
    }

    /// Writes a text in the first form that preserves it: plain, block, single-quoted or
    /// double-quoted. A key is never a block.
    fn text(&mut self, text: &str, block: Option<usize>) -> Result<(), FunctionError> {
        let lines = text.matches('\n').count();
        let indent = block.unwrap_or(0).max(2);
        self.pay(text.len() * 2 + lines.saturating_mul(indent) + 16)?;
        let printable = |c: char| c == '\n' || c == '\t' || !c.is_control();
        if !text.chars().all(printable) || means_something_else(text) {
            self.double_quoted(text);
        } else if lines > 0 && block.is_some() && !text.starts_with([' ', '\n']) {
            self.lines(text, indent);
        } else if lines > 0 || text.contains('\t') {
            self.double_quoted(text);
        } else if is_plain(text) {
            self.out.push_str(text);
        } else {
            self.out.push('\'');
            self.out.push_str(&text.replace('\'', "''"));
            self.out.push('\'');
        }
        Ok(())
    }

    fn lines(&mut self, text: &str, indent: usize) {
        let body = text.trim_end_matches('\n');
        self.out.push_str(match text.len() - body.len() {
            0 => "|-",
            1 => "|",
            _ => "|+",
        });
        let text = text.strip_suffix('\n').unwrap_or(text);
        for line in text.split('\n') {
            self.out.push('\n');
            if !line.is_empty() {
                self.out.extend(std::iter::repeat_n(' ', indent));
                self.out.push_str(line);
            }
        }
    }

    fn double_quoted(&mut self, text: &str) {
        self.out.push('"');
        for c in text.chars() {
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                c if c.is_control() => self.out.push_str(&format!("\\x{:02X}", u32::from(c))),
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }
}

/// Whether a reader would not parse the plain text as a text.
fn means_something_else(text: &str) -> bool {
    let word = matches!(
        text.to_ascii_lowercase().as_str(),
        "" | "~"
            | "null"
            | "true"
            | "false"
            | "yes"
            | "no"
            | "on"
            | "off"
            | "y"
            | "n"
            | ".nan"
            | ".inf"
            | "-.inf"
            | "+.inf"
    );
    word || looks_like_a_number(text) || looks_like_a_date(text)
}

fn looks_like_a_number(text: &str) -> bool {
    let digits = text.replace('_', "");
    let body = digits.trim_start_matches(['+', '-']);
    let based = |prefix: &str, radix: u32| {
        let digits = body.strip_prefix(prefix);
        digits.is_some_and(|digits| u64::from_str_radix(digits, radix).is_ok())
    };
    let begins = body.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    (begins && body.parse::<f64>().is_ok()) || based("0x", 16) || based("0o", 8) || based("0b", 2)
}

/// Whether a text is a date such as `2025-06-18`, alone or followed by a time.
fn looks_like_a_date(text: &str) -> bool {
    let shape = text.bytes().take(5).enumerate();
    text.len() >= 8
        && shape.fold(true, |fits, (at, byte)| {
            fits && if at == 4 {
                byte == b'-'
            } else {
                byte.is_ascii_digit()
            }
        })
        && text
            .bytes()
            .all(|b| b.is_ascii_digit() || b"-:.TtZz +".contains(&b))
}

/// Whether a text needs no quotes.
fn is_plain(text: &str) -> bool {
    let first = text.chars().next().unwrap_or(' ');
    let second = text[first.len_utf8().min(text.len())..].chars().next();
    let begins = match first {
        '-' | '?' | ':' => second.is_some_and(|c| c != ' '),
        c => !",[]{}#&*!|>'\"%@` ".contains(c),
    };
    begins
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.starts_with("---")
        && !text.starts_with("...")
}
