//! `printf`: text with verbs, and Go's messages for verbs and operands that do not match.

use super::super::value::{GoNumber, GoValue};
use super::shape::PrintShape;
use super::sink::LimitedBuffer;
use super::spec::Spec;
use super::verb::{operand, plain};

/// Go's limit on widths, precisions and operand numbers. Go checks it before each digit, so an
/// accepted number may be ten times as large.
const TOO_LARGE: i64 = 1_000_000;

/// State of a format string while it is processed.
struct FormatState<'f, 's, 'o> {
    text: &'f [u8],
    at: usize,
    operands: &'f [GoValue],
    next: usize,
    /// Whether any operand was selected by number. If so, unused operands are not reported.
    numbered: bool,
    /// Whether the operand numbers of this verb are valid.
    sound: bool,
    sink: &'s mut LimitedBuffer<'o>,
}

/// Formats operands by a format string.
pub(super) fn printf(sink: &mut LimitedBuffer<'_>, text: &[u8], operands: &[GoValue]) {
    let mut format = FormatState {
        text,
        at: 0,
        operands,
        next: 0,
        numbered: false,
        sound: true,
        sink,
    };
    while format.at < text.len() && !format.sink.is_full() {
        format.literal();
        if format.at < text.len() {
            format.directive();
        }
    }
    if !format.numbered && format.next < operands.len() {
        format.left_over();
    }
}

impl FormatState<'_, '_, '_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Consumes this byte, if it is next.
    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn literal(&mut self) {
        let rest = &self.text[self.at..];
        let length = rest.iter().position(|&byte| byte == b'%');
        let length = length.unwrap_or(rest.len());
        self.sink.write(&rest[..length]);
        self.at += length;
    }

    /// Processes a percent sign and its verb.
    fn directive(&mut self) {
        self.at += 1;
        self.sound = true;
        let mut spec = self.flags();
        let numbered = self.operand_number();
        let numbered = self.width(&mut spec, numbered);
        let numbered = self.precision(&mut spec, numbered);
        if !numbered {
            self.operand_number();
        }
        match self.verb() {
            Some(verb) => self.apply(verb, &spec),
            None => self.sink.write(b"%!(NOVERB)"),
        }
    }

    fn flags(&mut self) -> Spec {
        let mut spec = Spec::default();
        while let Some(byte) = self.peek() {
            match byte {
                b'#' => spec.sharp = true,
                b'0' => spec.zero = true,
                b'+' => spec.plus = true,
                b'-' => spec.minus = true,
                b' ' => spec.space = true,
                _ => break,
            }
            self.at += 1;
        }
        spec
    }

    /// Reads an operand number such as `[3]`. Returns whether one was read.
    fn operand_number(&mut self) -> bool {
        if self.peek() != Some(b'[') {
            return false;
        }
        self.numbered = true;
        let rest = &self.text[self.at..];
        let end = rest.iter().skip(1).position(|&byte| byte == b']');
        let Some(end) = end.map(|end| end + 1).filter(|_| rest.len() >= 3) else {
            self.at += 1;
            self.sound = false;
            return false;
        };
        let number = whole_number(&rest[1..end]);
        self.at += end + 1;
        match number.and_then(|number| number.checked_sub(1)) {
            Some(index) if index < self.operands.len() => self.next = index,
            _ => self.sound = false,
        }
        number.is_some()
    }

    /// Reads a width. Returns whether the operand number before it is still unused.
    fn width(&mut self, spec: &mut Spec, numbered: bool) -> bool {
        if self.take(b'*') {
            let width = self.integer_operand();
            if width.is_none() {
                self.sink.write(b"%!(BADWIDTH)");
            }
            if width.is_some_and(|width| width < 0) {
                spec.minus = true;
                spec.zero = false;
            }
            spec.width = width.and_then(|width| usize::try_from(width.unsigned_abs()).ok());
            return false;
        }
        spec.width = self.number();
        self.sound &= !(numbered && spec.width.is_some());
        numbered
    }

    /// Reads a precision. Returns whether the last operand number is still unused.
    fn precision(&mut self, spec: &mut Spec, numbered: bool) -> bool {
        if self.at + 1 >= self.text.len() || !self.take(b'.') {
            return numbered;
        }
        self.sound &= !numbered;
        let numbered = self.operand_number();
        if self.take(b'*') {
            let precision = self.integer_operand();
            spec.precision = precision.and_then(|precision| usize::try_from(precision).ok());
            if spec.precision.is_none() {
                self.sink.write(b"%!(BADPREC)");
            }
            return false;
        }
        spec.precision = Some(self.number().unwrap_or(0));
        numbered
    }

    /// Reads a number. One that is too large consumes the rest of the format.
    fn number(&mut self) -> Option<usize> {
        let mut number = None;
        while let Some(digit) = self.peek().filter(u8::is_ascii_digit) {
            if number.is_some_and(|number| number > TOO_LARGE as usize) {
                self.at = self.text.len();
                return None;
            }
            number = Some(number.unwrap_or(0) * 10 + usize::from(digit - b'0'));
            self.at += 1;
        }
        number
    }

    /// Consumes the operand of a `*`.
    fn integer_operand(&mut self) -> Option<i64> {
        let operand = self.operands.get(self.next)?;
        self.next += 1;
        let number = match operand.number()? {
            GoNumber::Int(number) => number,
            GoNumber::Uint(number) => i64::try_from(number).ok()?,
            GoNumber::Float(_) => return None,
        };
        Some(number).filter(|number| (-TOO_LARGE..=TOO_LARGE).contains(number))
    }

    /// Consumes the verb. An invalid UTF-8 byte counts as U+FFFD.
    fn verb(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        let head = &rest[..rest.len().min(4)];
        let chunk = head.utf8_chunks().next()?;
        let verb = chunk.valid().chars().next();
        self.at += verb.map_or(1, char::len_utf8);
        Some(verb.unwrap_or('\u{fffd}'))
    }

    fn apply(&mut self, verb: char, spec: &Spec) {
        if verb == '%' {
            return self.sink.byte(b'%');
        }
        if !self.sound {
            return self.remark(verb, b"(BADINDEX)");
        }
        let Some(value) = self.operands.get(self.next) else {
            return self.remark(verb, b"(MISSING)");
        };
        self.next += 1;
        let spec = match verb {
            'v' | 'w' => spec.for_value(),
            _ => *spec,
        };
        operand(self.sink, &PrintShape::from(value), verb, &spec);
    }

    fn remark(&mut self, verb: char, remark: &[u8]) {
        self.sink.write(b"%!");
        self.sink.char(verb);
        self.sink.write(remark);
    }

    fn left_over(&mut self) {
        self.sink.write(b"%!(EXTRA ");
        for (index, value) in self.operands[self.next..].iter().enumerate() {
            if index > 0 {
                self.sink.write(b", ");
            }
            let shape = PrintShape::from(value);
            if let Some(go_type) = shape.go_type() {
                self.sink.write(go_type.to_string().as_bytes());
                self.sink.byte(b'=');
            }
            plain(self.sink, &shape);
        }
        self.sink.byte(b')');
    }
}

/// Parses a number that consists only of digits.
fn whole_number(digits: &[u8]) -> Option<usize> {
    let text = std::str::from_utf8(digits).ok()?;
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| plain)
}
