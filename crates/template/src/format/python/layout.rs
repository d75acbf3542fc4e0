//! Padding, signs and group separators of formatted values.

use std::iter::repeat_n;

use super::number::{self, NumberParts};
use super::spec::{Operand, Spec, SpecError};

impl Spec {
    /// Appends the result of Python's `format(operand, spec)`.
    pub(crate) fn write(&self, operand: Operand<'_>, out: &mut String) -> Result<(), SpecError> {
        let number = match operand {
            Operand::Text(text) => {
                self.check_text()?;
                self.pad_text(text, out);
                return Ok(());
            }
            Operand::Int(int, name) => number::of_int(int, name, self)?,
            Operand::Float(float) => number::of_float(float, "float", self)?,
        };
        self.pad_number(&number, out);
        Ok(())
    }

    /// Appends a text that is truncated to the precision and padded to the width.
    pub(crate) fn pad_text(&self, text: &str, out: &mut String) {
        let end = self
            .precision
            .and_then(|most| text.char_indices().nth(most))
            .map_or(text.len(), |(end, _)| end);
        let text = text.get(..end).unwrap_or(text);
        let missing = match self.width {
            0 => 0,
            width => width.saturating_sub(text.chars().count()),
        };
        let (left, right) = sides(self.align.unwrap_or('<'), missing);
        out.extend(repeat_n(self.filler(), left));
        out.push_str(text);
        out.extend(repeat_n(self.filler(), right));
    }

    pub(super) fn pad_number(&self, number: &NumberParts, out: &mut String) {
        let fill = self.filler();
        let align = self.align.unwrap_or(if self.zero { '=' } else { '>' });
        let sign = match (number.negative, self.sign) {
            (true, _) => "-",
            (false, Some('+')) => "+",
            (false, Some(' ')) => " ",
            (false, _) => "",
        };
        let around = sign.len() + number.prefix.len() + number.rest.chars().count();
        // Zeros between the sign and the digits are grouped like digits.
        let least = match (fill, align) {
            ('0', '=') => self.width.saturating_sub(around),
            _ => 0,
        };
        let digits = self.grouped(&number.digits, least);
        let missing = self.width.saturating_sub(around + digits.len());
        let (left, right) = sides(align, missing);
        if align != '=' {
            out.extend(repeat_n(fill, left));
        }
        out.push_str(sign);
        out.push_str(number.prefix);
        if align == '=' {
            out.extend(repeat_n(fill, missing));
        }
        out.push_str(&digits);
        out.push_str(&number.rest);
        if align != '=' {
            out.extend(repeat_n(fill, right));
        }
    }

    /// Groups digits with leading zeros up to a width. A number cannot begin with a separator, so
    /// the result may be one character wider.
    fn grouped(&self, digits: &str, least: usize) -> String {
        if digits.is_empty() {
            return String::new();
        }
        let Some(group) = self.group else {
            return format!("{digits:0>least$}");
        };
        let size = match self.kind {
            Some('b' | 'o' | 'x' | 'X') => 4,
            _ => 3,
        };
        // Minimum number of digits that fill the width together with the separators.
        let wanted = least - least.saturating_sub(1) / (size + 1);
        let count = digits.len().max(wanted);
        let zeros = repeat_n('0', count - digits.len());
        let mut out = String::with_capacity(count + count / size);
        for (index, digit) in zeros.chain(digits.chars()).enumerate() {
            if index > 0 && (count - index).is_multiple_of(size) {
                out.push(group);
            }
            out.push(digit);
        }
        out
    }
}

/// Returns the padding on the left and on the right.
fn sides(align: char, missing: usize) -> (usize, usize) {
    match align {
        '<' => (0, missing),
        '^' => (missing / 2, missing - missing / 2),
        _ => (missing, 0),
    }
}
