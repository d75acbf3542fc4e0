//! Parses decimals, dates and times from text.
//!
//! Parsing is strict: a text in any other form, or with more precision than microseconds, is
//! rejected and remains text.

use jiff::civil::{Date, DateTime, Time};
use jiff::{SignedDuration, Timestamp};

const DAY_SECONDS: i64 = 86_400;

/// The parts of a decimal: sign, digits before the point without leading zeros, and digits after
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::export) struct Digits<'a> {
    negative: bool,
    pub(in crate::export) whole: &'a str,
    pub(in crate::export) fraction: &'a str,
}

impl<'a> Digits<'a> {
    /// Parses a text such as `-12.50`. Exponents and `NaN` are rejected.
    pub(in crate::export) fn of(text: &'a str) -> Option<Self> {
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (whole, fraction) = rest.split_once('.').unwrap_or((rest, ""));
        let are_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let is_number = !(whole.is_empty() && fraction.is_empty());
        (is_number && are_digits(whole) && are_digits(fraction)).then(|| Digits {
            negative,
            whole: whole.trim_start_matches('0'),
            fraction,
        })
    }

    /// Returns the number without its point, scaled to this number of decimal places.
    pub(in crate::export) fn unscaled(&self, scale: usize) -> String {
        let sign = if self.negative { "-" } else { "" };
        let zeros = "0".repeat(scale.saturating_sub(self.fraction.len()));
        format!("{sign}0{}{}{zeros}", self.whole, self.fraction)
    }
}

/// Returns the days since 1970-01-01.
pub(in crate::export) fn days(text: &str) -> Option<i32> {
    let date: Date = has_only(text, "-")?.parse().ok()?;
    let since = date.duration_since(Date::constant(1970, 1, 1));
    i32::try_from(since.as_secs() / DAY_SECONDS).ok()
}

/// Returns the microseconds since midnight.
pub(in crate::export) fn time_of_day(text: &str) -> Option<i64> {
    let time: Time = has_only(text, ":.")?.parse().ok()?;
    micros(time.duration_since(Time::midnight()))
}

/// Returns the microseconds since 1970-01-01T00:00:00, without a time zone.
pub(in crate::export) fn timestamp(text: &str) -> Option<i64> {
    let time: DateTime = without_zone(text)?.parse().ok()?;
    micros(time.duration_since(DateTime::constant(1970, 1, 1, 0, 0, 0, 0)))
}

/// Returns the microseconds since 1970-01-01T00:00:00Z.
pub(in crate::export) fn instant(text: &str) -> Option<i64> {
    without_zone(text.strip_suffix('Z')?)?;
    micros(text.parse::<Timestamp>().ok()?.as_duration())
}

/// Returns the text if it is only a date and a time.
fn without_zone(text: &str) -> Option<&str> {
    let (day, time) = text.split_once('T')?;
    has_only(day, "-")?;
    has_only(time, ":.")?;
    Some(text)
}

/// Returns the text if it consists of digits and these characters only. Date parsers accept much
/// more, such as offsets, which would be lost.
fn has_only<'a>(text: &'a str, others: &str) -> Option<&'a str> {
    let known = |c: char| c.is_ascii_digit() || others.contains(c);
    text.chars().all(known).then_some(text)
}

/// Returns `None` if the time is more precise than a microsecond.
fn micros(time: SignedDuration) -> Option<i64> {
    let is_whole = time.subsec_nanos() % 1000 == 0;
    is_whole.then(|| i64::try_from(time.as_micros()).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_taken_apart() {
        let cases = [
            ("12.50", Some(("12", "50", "0125000"))),
            ("-0.05", Some(("", "05", "-00500"))),
            ("007", Some(("7", "", "070000"))),
            (".5", Some(("", "5", "05000"))),
            ("5.", Some(("5", "", "050000"))),
            ("0", Some(("", "", "00000"))),
            ("1e5", None),
            ("NaN", None),
            ("Infinity", None),
            (".", None),
            ("-", None),
            ("", None),
            ("+1", None),
            ("١", None),
            ("1.2.3", None),
        ];
        for (text, expected) in cases {
            let found = Digits::of(text);
            let found = found.map(|it| (it.whole, it.fraction, it.unscaled(4)));
            let expected = expected.map(|(whole, fraction, all)| (whole, fraction, all.to_owned()));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn times_become_numbers() {
        type Reader = fn(&str) -> Option<i64>;
        let days: Reader = |text| days(text).map(i64::from);
        let cases: [(Reader, &str, Option<i64>); 24] = [
            (days, "1970-01-01", Some(0)),
            (days, "1969-12-31", Some(-1)),
            (days, "2026-11-22", Some(20_779)),
            (days, "9999-12-31", Some(2_932_896)),
            (days, "infinity", None),
            (days, "10000-01-01", None),
            (days, "2026-02-30", None),
            (time_of_day, "00:00:00", Some(0)),
            (time_of_day, "13:45:00.5", Some(49_500_500_000)),
            (time_of_day, "23:59:59.999999", Some(86_399_999_999)),
            (time_of_day, "24:00:00", None),
            (time_of_day, "838:59:59", None),
            (time_of_day, "13:45:00+02", None),
            (time_of_day, "00:00:00.0000001", None),
            (timestamp, "1970-01-01T00:00:01", Some(1_000_000)),
            (timestamp, "1969-12-31T23:59:59.999999", Some(-1)),
            (timestamp, "2026-11-22T13:45:00Z", None),
            (timestamp, "2026-11-22T13:45:00+02", None),
            (timestamp, "2026-11-22T13:45:00-05", None),
            (timestamp, "2026-11-22", None),
            (instant, "1970-01-01T00:00:00.000001Z", Some(1)),
            (instant, "1970-01-01T00:00:00", None),
            (instant, "1970-01-01T02:00:00+02:00", None),
            (instant, "-infinity", None),
        ];
        for (read, text, expected) in cases {
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
