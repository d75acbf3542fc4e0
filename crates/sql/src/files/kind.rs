//! Infers the common type of a column's texts, and whether SQLite can store a number exactly.

use jiff::civil::{Date, Time};

/// Maximum integer up to which a 64-bit float represents every integer exactly.
const MAX_EXACT: u64 = 1 << 53;
/// Maximum number of digits for which every decimal survives a round trip through a double.
const CERTAIN_DIGITS: usize = 15;
/// Maximum number of digits to check; longer decimals are always text.
const MOST_DIGITS: usize = 60;

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// 64-bit integers.
    Integer,
    /// Doubles.
    Real,
    /// Doubles written with a decimal comma.
    CommaReal,
    /// Booleans, stored as 1 and 0.
    Boolean,
    Date,
    Time,
    Timestamp,
    Instant,
    Json,
    Text,
    Blob,
}

impl Type {
    /// Returns the declared column type. Types of dates and times contain `TEXT` so that SQLite
    /// does not compare them with numbers. The affinity of a bare `DATE` is NUMERIC, under which
    /// `day < '2025'` is never true.
    pub(super) fn declared(self) -> &'static str {
        match self {
            Type::Integer => "INTEGER",
            Type::Real | Type::CommaReal => "REAL",
            Type::Boolean => "BOOLEAN",
            Type::Date => "DATE TEXT",
            Type::Time => "TIME TEXT",
            Type::Timestamp => "TIMESTAMP TEXT",
            Type::Instant => "TIMESTAMPTZ TEXT",
            Type::Json => "JSON TEXT",
            Type::Text => "TEXT",
            Type::Blob => "BLOB",
        }
    }
}

/// Kind of one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    /// Empty.
    Empty,
    /// Blanks only: NULL in a numeric column, text in a text column.
    Blank,
    /// An integer that a double represents exactly.
    Small,
    /// An integer that needs all 64 bits.
    Large,
    /// A decimal with a point, or an exponent with a sign.
    Decimal,
    /// `1e5`: a number among decimals, but otherwise just as likely a code.
    Exponent,
    /// `1,5`.
    Comma,
    /// `1,234`: either a decimal or thousands.
    Thousands,
    Boolean,
    Date,
    Time,
    Timestamp,
    Instant,
    Text,
}

impl ValueKind {
    /// Classifies a text.
    pub(super) fn of(text: &str) -> ValueKind {
        let bytes = text.as_bytes();
        let Some(first) = bytes.first() else {
            return ValueKind::Empty;
        };
        match first {
            b'0'..=b'9' | b'-' | b'.' => ValueKind::of_number(text.trim_end_matches(BLANKS))
                .or_else(|| ValueKind::of_time(text))
                .unwrap_or(ValueKind::Text),
            b' ' | b'\t' => match text.trim_matches(BLANKS) {
                "" => ValueKind::Blank,
                inner => ValueKind::of_number(inner).unwrap_or(ValueKind::Text),
            },
            b't' | b'T' | b'f' | b'F' if parse_bool(text).is_some() => ValueKind::Boolean,
            _ => ValueKind::Text,
        }
    }

    /// Classifies a number in the only form that SQLite would return unchanged.
    pub(super) fn of_number(text: &str) -> Option<ValueKind> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let is_whole = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.is_empty();
        if is_whole {
            let has_zeros = digits.len() > 1 && digits.starts_with('0');
            if has_zeros || text == "-0" {
                return None;
            }
            let number: i64 = text.parse().ok()?;
            return Some(if number.unsigned_abs() <= MAX_EXACT {
                ValueKind::Small
            } else {
                ValueKind::Large
            });
        }
        let parts = NumberParts::of(digits)?;
        if parts.separator == Some(',') {
            return Some(match parts.fraction.len() {
                3 if !parts.whole.is_empty() && parts.whole != "0" => ValueKind::Thousands,
                _ => ValueKind::Comma,
            })
            .filter(|_| parse_exact(&text.replacen(',', ".", 1)).is_some());
        }
        parse_exact(text)?;
        Some(match (parts.separator, parts.exponent) {
            (None, Some(exponent)) if !exponent.starts_with(['+', '-']) => ValueKind::Exponent,
            _ => ValueKind::Decimal,
        })
    }

    /// Classifies a date, a time or both, in the ISO 8601 forms that SQLite's functions accept.
    fn of_time(text: &str) -> Option<ValueKind> {
        let has = |part: &str, others: &str| {
            part.bytes()
                .all(|byte| byte.is_ascii_digit() || others.as_bytes().contains(&byte))
        };
        let is_time =
            |part: &str| part.len() >= 5 && has(part, ":.") && part.parse::<Time>().is_ok();
        let is_day =
            |part: &str| part.len() == 10 && has(part, "-") && part.parse::<Date>().is_ok();
        if text.len() <= 10 && is_day(text) {
            return Some(ValueKind::Date);
        }
        if is_time(text) {
            return Some(ValueKind::Time);
        }
        let (day, time) = text.split_at_checked(10)?;
        let time = time.strip_prefix(['T', ' '])?;
        if !is_day(day) {
            return None;
        }
        if is_time(time) {
            return Some(ValueKind::Timestamp);
        }
        let clock = match time.strip_suffix('Z') {
            Some(clock) => clock,
            // An offset such as `+02:00` is preserved as written instead of being converted to UTC.
            None => {
                let (clock, offset) = time.split_at_checked(time.len().checked_sub(6)?)?;
                let offset = offset.strip_prefix(['+', '-'])?;
                is_time(offset).then_some(clock)?
            }
        };
        is_time(clock).then_some(ValueKind::Instant)
    }
}

/// Blanks that are ignored around a number.
pub(super) const BLANKS: [char; 2] = [' ', '\t'];

/// Parses `true` or `false` in one of three common spellings.
pub(super) fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// Returns a decimal as a double if the double preserves all digits.
pub(super) fn parse_exact(text: &str) -> Option<f64> {
    let parts = NumberParts::of(text.strip_prefix('-').unwrap_or(text))?;
    let number: f64 = text
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite())?;
    let all = || parts.whole.bytes().chain(parts.fraction.bytes());
    let zeros = all().take_while(|digit| *digit == b'0').count();
    let digits = all().count() - zeros;
    if digits == 0 {
        return Some(number);
    }
    let is_normal = number.abs() >= 1e-290;
    if digits <= CERTAIN_DIGITS && is_normal {
        return Some(number);
    }
    if digits > MOST_DIGITS {
        return None;
    }
    // The decimal is printed with as many digits as the text has. The double is exact only if all
    // of these digits agree.
    let shown = format!("{:.*e}", digits - 1, number.abs());
    let shown = shown.split('e').next().unwrap_or_default();
    let shown = shown.bytes().filter(|byte| *byte != b'.');
    shown.eq(all().skip(zeros)).then_some(number)
}

/// The parts of a number without its sign.
struct NumberParts<'a> {
    whole: &'a str,
    separator: Option<char>,
    fraction: &'a str,
    exponent: Option<&'a str>,
}

impl<'a> NumberParts<'a> {
    /// Returns `None` for leading zeros, for a point without digits after it, and for a comma
    /// combined with an exponent.
    fn of(text: &'a str) -> Option<Self> {
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(at) => (text.get(..at)?, Some(text.get(at + 1..)?)),
            None => (text, None),
        };
        let (whole, separator, fraction) = match mantissa.find(['.', ',']) {
            Some(at) => {
                let separator = char::from(*mantissa.as_bytes().get(at)?);
                (
                    mantissa.get(..at)?,
                    Some(separator),
                    mantissa.get(at + 1..)?,
                )
            }
            None => (mantissa, None, ""),
        };
        let are_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let power = exponent.map(|power| power.strip_prefix(['+', '-']).unwrap_or(power));
        let good = are_digits(whole)
            && are_digits(fraction)
            && power.is_none_or(|power| !power.is_empty() && are_digits(power))
            && (separator.is_none() || !fraction.is_empty())
            && (separator != Some(',') || (exponent.is_none() && !whole.is_empty()))
            && !(whole.is_empty() && fraction.is_empty())
            && !(whole.len() > 1 && whole.starts_with('0'));
        good.then_some(NumberParts {
            whole,
            separator,
            fraction,
            exponent,
        })
    }
}

/// Statistics of a column's texts, for type inference.
#[derive(Clone, Debug, Default)]
pub(super) struct ColumnStats {
    kinds: u16,
    numbers: u64,
    others: u64,
    /// The first non-numeric text after numbers, and its line.
    odd: Option<(u64, String)>,
}

impl ColumnStats {
    /// Adds one text to the statistics.
    pub(super) fn observe(&mut self, kind: ValueKind, text: &str, line: u64) {
        self.kinds |= bit(kind);
        match kind {
            ValueKind::Empty | ValueKind::Blank => {}
            ValueKind::Small | ValueKind::Large | ValueKind::Decimal => self.numbers += 1,
            _ => {
                self.others += 1;
                if self.odd.is_none() {
                    let start: String = text.chars().take(20).collect();
                    self.odd = Some((line, start));
                }
            }
        }
    }

    fn only(&self, kinds: &[ValueKind]) -> bool {
        let allowed = kinds.iter().fold(0, |all, kind| all | bit(*kind));
        self.kinds & !allowed & !bit(ValueKind::Empty) == 0
    }

    fn has(&self, kind: ValueKind) -> bool {
        self.kinds & bit(kind) != 0
    }

    /// Returns the type that represents all texts exactly. `commas` allows numbers such as `1,5`.
    pub(super) fn infer_type(&self, commas: bool) -> Type {
        use ValueKind::{Blank, Comma, Decimal, Exponent, Large, Small, Thousands};
        if self.only(&[Blank]) {
            return Type::Text;
        }
        if self.only(&[Small, Large, Blank]) {
            return Type::Integer;
        }
        let is_decimal = !self.has(Exponent) || self.has(Decimal);
        if self.only(&[Small, Decimal, Exponent, Blank]) && is_decimal {
            return Type::Real;
        }
        if commas && self.only(&[Small, Comma, Thousands, Blank]) && self.has(Comma) {
            return Type::CommaReal;
        }
        let alone = [
            (ValueKind::Date, Type::Date),
            (ValueKind::Time, Type::Time),
            (ValueKind::Timestamp, Type::Timestamp),
            (ValueKind::Instant, Type::Instant),
        ];
        if self.only(&[ValueKind::Boolean, Blank]) {
            return Type::Boolean;
        }
        let alone = alone.iter().find(|(kind, _)| self.only(&[*kind]));
        alone.map_or(Type::Text, |(_, kind)| *kind)
    }

    /// Returns the first non-numeric text if nearly all others are numbers.
    pub(super) fn nearly_numbers(&self) -> Option<(u64, &str)> {
        let (line, text) = self.odd.as_ref()?;
        (self.numbers >= 9 * self.others).then_some((*line, text.as_str()))
    }
}

fn bit(kind: ValueKind) -> u16 {
    1 << kind as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_what_they_are_exactly() {
        for (text, kind) in [
            ("", ValueKind::Empty),
            ("  ", ValueKind::Blank),
            ("0", ValueKind::Small),
            ("-17", ValueKind::Small),
            (" 17 ", ValueKind::Small),
            ("9007199254740992", ValueKind::Small),
            ("9007199254740993", ValueKind::Large),
            ("-9223372036854775808", ValueKind::Large),
            ("9223372036854775808", ValueKind::Text),
            ("007", ValueKind::Text),
            ("00", ValueKind::Text),
            ("-0", ValueKind::Text),
            ("+5", ValueKind::Text),
            ("+49 170 1234", ValueKind::Text),
            ("0170-1234", ValueKind::Text),
            ("12 345", ValueKind::Text),
            ("0.5", ValueKind::Decimal),
            ("-.5", ValueKind::Decimal),
            ("5.", ValueKind::Text),
            ("00.5", ValueKind::Text),
            ("1.2.3", ValueKind::Text),
            ("1_000", ValueKind::Text),
            ("1e5", ValueKind::Exponent),
            ("12E05", ValueKind::Exponent),
            ("1e+5", ValueKind::Decimal),
            ("1.5e5", ValueKind::Decimal),
            ("1e", ValueKind::Text),
            ("e5", ValueKind::Text),
            ("1e400", ValueKind::Text),
            ("1,5", ValueKind::Comma),
            ("0,125", ValueKind::Comma),
            ("1,234", ValueKind::Thousands),
            ("1,234,567", ValueKind::Text),
            ("1,234.5", ValueKind::Text),
            ("0.1234567890123456789", ValueKind::Text),
            ("0.1000000000000000055511151231257827", ValueKind::Decimal),
            ("0.30000000000000004", ValueKind::Decimal),
            ("9007199254740993.0", ValueKind::Text),
            ("NaN", ValueKind::Text),
            ("inf", ValueKind::Text),
            ("0x1F", ValueKind::Text),
            ("١٢", ValueKind::Text),
            ("true", ValueKind::Boolean),
            ("FALSE", ValueKind::Boolean),
            ("tRue", ValueKind::Text),
            ("t", ValueKind::Text),
            ("2026-11-22", ValueKind::Date),
            ("2026-02-30", ValueKind::Text),
            ("22.11.2026", ValueKind::Text),
            ("11/22/2026", ValueKind::Text),
            ("20261122", ValueKind::Small),
            ("13:45", ValueKind::Time),
            ("13:45:00.5", ValueKind::Time),
            ("25:00", ValueKind::Text),
            ("2026-11-22 13:45", ValueKind::Timestamp),
            ("2026-11-22T13:45:00", ValueKind::Timestamp),
            ("2026-11-22T13:45:00Z", ValueKind::Instant),
            ("2026-11-22 13:45:00+02:00", ValueKind::Instant),
            ("2026-11-22T13:45:00 Europe/Berlin", ValueKind::Text),
        ] {
            assert_eq!(ValueKind::of(text), kind, "{text:?}");
        }
    }

    #[test]
    fn columns_have_the_type_of_all_their_texts() {
        for (texts, kind) in [
            (&["1", "2", ""][..], Type::Integer),
            (&["1", " ", "2"], Type::Integer),
            (&["1", "9223372036854775807"], Type::Integer),
            (&["1", "9223372036854775808"], Type::Text),
            (&["1", "2.5"], Type::Real),
            (&["2.5", "9007199254740993"], Type::Text),
            (&["007", "8"], Type::Text),
            (&["1e5", "2e6"], Type::Text),
            (&["1e5", "2.5"], Type::Real),
            (&["1,5", "2"], Type::CommaReal),
            (&["1,234", "2"], Type::Text),
            (&["1,234", "1,5"], Type::CommaReal),
            (&["1,5", "2.5"], Type::Text),
            (&["true", "false", ""], Type::Boolean),
            (&["true", "yes"], Type::Text),
            (&["true", "1"], Type::Text),
            (&["2026-11-22", ""], Type::Date),
            (&["2026-11-22", " "], Type::Text),
            (&["2026-11-22", "2026-11-22 10:00"], Type::Text),
            (&["2026-11-22", "20261122"], Type::Text),
            (&["", ""], Type::Text),
            (&[], Type::Text),
            (&["1", "NA"], Type::Text),
        ] {
            let mut seen = ColumnStats::default();
            for text in texts {
                seen.observe(ValueKind::of(text), text, 1);
            }
            assert_eq!(seen.infer_type(true), kind, "{texts:?}");
        }
    }

    #[test]
    fn a_comma_is_a_point_only_where_it_may_be() {
        let mut seen = ColumnStats::default();
        seen.observe(ValueKind::of("1,5"), "1,5", 1);
        assert_eq!(seen.infer_type(false), Type::Text);
    }
}
