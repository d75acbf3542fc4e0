//! Formatting of a value with a verb. Containers apply the verb to their elements.

use super::super::types::GoType;
use super::super::value::GoObject;
use super::float::{float, shortest};
use super::integer::{Integer, decimal, integer};
use super::quote::{can_backquote, escape_text};
use super::shape::{Elements, FormattedMap, PrintShape};
use super::sink::{LimitedBuffer, first_runes};
use super::spec::Spec;

/// Long text is quoted in parts of this size, so the limit is checked between the parts.
const PIECE: usize = 1024;

/// Maximum depth of a printed container. Values cannot be nested more deeply, but the limit makes
/// the recursion safe in any case.
const MAX_DEPTH: u32 = quillet_core::value::MAX_DEPTH + 1;

/// Writes an operand as `print` does, which equals `%v` without flags.
pub(super) fn plain(sink: &mut LimitedBuffer<'_>, value: &PrintShape<'_>) {
    match value {
        PrintShape::Str(text) => sink.write(text),
        PrintShape::Signed(value, _) => decimal(sink, Integer::from(*value)),
        PrintShape::Float(value) => shortest(sink, *value),
        _ => operand(sink, value, 'v', &Spec::default()),
    }
}

/// Writes an operand of a format string with its verb.
pub(super) fn operand(
    sink: &mut LimitedBuffer<'_>,
    value: &PrintShape<'_>,
    verb: char,
    spec: &Spec,
) {
    match (verb, value.go_type()) {
        ('v' | 'T', None) => padded(sink, b"<nil>", spec),
        ('T', Some(go_type)) => string(sink, go_type.to_string().as_bytes(), spec),
        // `%w` is only for errors, which cannot be operands.
        (_, None) | ('w', _) => bad_verb(sink, value, verb, spec),
        _ => Printer { verb, spec: *spec }.value(sink, value, 0),
    }
}

/// Writes the message for a verb that does not support the value's type: `%!d(string=hi)`.
fn bad_verb(sink: &mut LimitedBuffer<'_>, value: &PrintShape<'_>, verb: char, spec: &Spec) {
    sink.write(b"%!");
    sink.char(verb);
    sink.byte(b'(');
    match value.go_type() {
        None => sink.write(b"<nil>"),
        Some(go_type) => {
            sink.write(go_type.to_string().as_bytes());
            sink.byte(b'=');
            bare(sink, value, spec);
        }
    }
    sink.byte(b')');
}

/// Writes the operand of an invalid verb. `String` methods are ignored here, so a duration is
/// written as a number.
fn bare(sink: &mut LimitedBuffer<'_>, value: &PrintShape<'_>, spec: &Spec) {
    let number = match value {
        PrintShape::Object(object) => object.integer(),
        _ => None,
    };
    match (number, value) {
        (Some(number), _) => {
            integer(sink, Integer::from(number), 'v', spec);
        }
        // Addresses are never printed, so a function is printed as a question mark.
        (None, PrintShape::Func(_)) => sink.write(b"?"),
        _ => operand(sink, value, 'v', spec),
    }
}

fn padded(sink: &mut LimitedBuffer<'_>, text: &[u8], spec: &Spec) {
    let start = sink.position();
    sink.write(text);
    sink.pad(start, spec);
}

fn string(sink: &mut LimitedBuffer<'_>, text: &[u8], spec: &Spec) {
    padded(sink, truncated(text, spec), spec);
}

fn truncated<'t>(text: &'t [u8], spec: &Spec) -> &'t [u8] {
    match spec.precision {
        Some(most) => first_runes(text, most),
        None => text,
    }
}

fn quoted(sink: &mut LimitedBuffer<'_>, text: &[u8], spec: &Spec) {
    let text = truncated(text, spec);
    let start = sink.position();
    if spec.sharp && can_backquote(text) {
        sink.byte(b'`');
        sink.write(text);
        sink.byte(b'`');
    } else {
        sink.byte(b'"');
        escaped(sink, text, spec.plus);
        sink.byte(b'"');
    }
    sink.pad(start, spec);
}

fn escaped(sink: &mut LimitedBuffer<'_>, mut text: &[u8], ascii: bool) {
    while !text.is_empty() && !sink.is_full() {
        let (piece, rest) = text.split_at(piece_end(text));
        sink.append(piece.len(), |out| escape_text(out, piece, ascii));
        text = rest;
    }
}

/// Returns the end of a part that does not split a character.
fn piece_end(text: &[u8]) -> usize {
    let continues = |at: &usize| text.get(*at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let end = text.len().min(PIECE);
    let ends = (0..4).map(|back| end.saturating_sub(back));
    ends.into_iter()
        .find(|at| *at > 0 && !continues(at))
        .unwrap_or(end)
}

/// Writes bytes in hexadecimal for `%x`. The flag `#` adds `0x`, and the space flag separates the
/// bytes.
fn hexadecimal(sink: &mut LimitedBuffer<'_>, bytes: &[u8], verb: char, spec: &Spec) {
    let most = spec.precision.unwrap_or(usize::MAX);
    let bytes = &bytes[..bytes.len().min(most)];
    let start = sink.position();
    let digits: &[u8; 16] = match verb {
        'X' => b"0123456789ABCDEF",
        _ => b"0123456789abcdef",
    };
    for (index, byte) in bytes.iter().enumerate() {
        if spec.space && index > 0 {
            sink.byte(b' ');
        }
        if spec.sharp && (spec.space || index == 0) {
            sink.write(&[b'0', verb as u8]);
        }
        sink.write(&[
            digits[usize::from(byte >> 4)],
            digits[usize::from(byte & 15)],
        ]);
        if sink.is_full() {
            return;
        }
    }
    sink.pad(start, spec);
}

/// A verb with its flags, which is applied recursively to a value.
#[derive(Clone, Copy)]
struct Printer {
    verb: char,
    spec: Spec,
}

impl Printer {
    fn value(&self, sink: &mut LimitedBuffer<'_>, value: &PrintShape<'_>, depth: u32) {
        let known = match value {
            PrintShape::Nil => return self.nil(sink),
            PrintShape::Bool(value) => self.boolean(sink, *value),
            PrintShape::Signed(value, _) => integer(sink, (*value).into(), self.verb, &self.spec),
            PrintShape::Unsigned(value, _) => self.unsigned(sink, *value),
            PrintShape::Float(value) => float(sink, *value, self.verb, &self.spec),
            PrintShape::Complex(real, imaginary) => self.complex(sink, *real, *imaginary),
            PrintShape::Str(text) => self.text(sink, text),
            PrintShape::List(_) | PrintShape::Map(_) if depth > MAX_DEPTH || self.verb == 'p' => {
                false
            }
            PrintShape::List(elements) => return self.list(sink, elements, depth),
            PrintShape::Map(entries) => return self.map(sink, entries, depth),
            PrintShape::Func(_) => false,
            PrintShape::Object(object) => self.object(sink, *object),
        };
        if !known {
            bad_verb(sink, value, self.verb, &self.spec);
        }
    }

    /// Writes a nil in a container, for which the verb does not matter.
    fn nil(&self, sink: &mut LimitedBuffer<'_>) {
        sink.write(if self.spec.go_syntax {
            b"interface {}(nil)"
        } else {
            b"<nil>"
        });
    }

    fn boolean(&self, sink: &mut LimitedBuffer<'_>, value: bool) -> bool {
        let known = matches!(self.verb, 'v' | 't');
        if known {
            padded(sink, if value { b"true" } else { b"false" }, &self.spec);
        }
        known
    }

    fn unsigned(&self, sink: &mut LimitedBuffer<'_>, value: u64) -> bool {
        if self.verb == 'v' && self.spec.go_syntax {
            let spec = Spec {
                sharp: true,
                ..self.spec
            };
            return integer(sink, value.into(), 'x', &spec);
        }
        integer(sink, value.into(), self.verb, &self.spec)
    }

    /// Writes `(1+2i)`: both parts with the verb, the second always with a sign.
    fn complex(&self, sink: &mut LimitedBuffer<'_>, real: f64, imaginary: f64) -> bool {
        let known = matches!(
            self.verb,
            'v' | 'b' | 'g' | 'G' | 'x' | 'X' | 'f' | 'F' | 'e' | 'E'
        );
        if known {
            let signed = Spec {
                plus: true,
                ..self.spec
            };
            sink.byte(b'(');
            float(sink, real, self.verb, &self.spec);
            float(sink, imaginary, self.verb, &signed);
            sink.write(b"i)");
        }
        known
    }

    fn text(&self, sink: &mut LimitedBuffer<'_>, text: &[u8]) -> bool {
        match self.verb {
            'v' if self.spec.go_syntax => quoted(sink, text, &self.spec),
            'v' | 's' => string(sink, text, &self.spec),
            'q' => quoted(sink, text, &self.spec),
            'x' | 'X' => hexadecimal(sink, text, self.verb, &self.spec),
            _ => return false,
        }
        true
    }

    /// Writes a value with a `String` method: its text for string verbs, and the underlying number
    /// for other verbs.
    fn object(&self, sink: &mut LimitedBuffer<'_>, object: &dyn GoObject) -> bool {
        match (self.verb, object.integer()) {
            ('v' | 's' | 'q' | 'x' | 'X', _) => self.text(sink, object.text().as_bytes()),
            (_, Some(number)) => integer(sink, number.into(), self.verb, &self.spec),
            _ => false,
        }
    }

    fn list(&self, sink: &mut LimitedBuffer<'_>, elements: &Elements<'_>, depth: u32) {
        if matches!(self.verb, 's' | 'q' | 'x' | 'X')
            && let Some(bytes) = elements.bytes()
        {
            self.text(sink, &bytes);
            return;
        }
        let go_type = match elements.go_type() {
            // Go uses a short type name for a value that is not inside another value.
            GoType::Slice(GoType::Uint8) if depth == 0 => "[]byte".to_owned(),
            go_type if self.spec.go_syntax => go_type.to_string(),
            _ => String::new(),
        };
        self.open(sink, &go_type, b"[");
        elements.each(|index, element| {
            if index > 0 {
                self.separator(sink);
            }
            self.value(sink, &element, depth + 1);
            !sink.is_full()
        });
        self.close(sink);
    }

    fn map(&self, sink: &mut LimitedBuffer<'_>, entries: &FormattedMap<'_>, depth: u32) {
        let go_type = if self.spec.go_syntax {
            entries.go_type().to_string()
        } else {
            String::new()
        };
        self.open(sink, &go_type, b"map[");
        entries.each(|index, key, value| {
            if index > 0 {
                self.separator(sink);
            }
            self.value(sink, &PrintShape::Str(key), depth + 1);
            sink.byte(b':');
            self.value(sink, &value, depth + 1);
            !sink.is_full()
        });
        self.close(sink);
    }

    fn open(&self, sink: &mut LimitedBuffer<'_>, go_type: &str, bracket: &[u8]) {
        if self.spec.go_syntax {
            sink.write(go_type.as_bytes());
            sink.byte(b'{');
        } else {
            sink.write(bracket);
        }
    }

    fn separator(&self, sink: &mut LimitedBuffer<'_>) {
        sink.write(if self.spec.go_syntax { b", " } else { b" " });
    }

    fn close(&self, sink: &mut LimitedBuffer<'_>) {
        sink.byte(if self.spec.go_syntax { b'}' } else { b']' });
    }
}
