//! Formatting and parsing of times by a Go layout.

use std::fmt::Write;

use jiff::Zoned;
use jiff::civil::{Date, DateTime};
use jiff::tz::{Offset, TimeZone};

use super::layout::{LayoutPart, NumberPadding, TimeField, pieces};
use crate::format::calendar::{MONTHS, WEEKDAYS};

/// Formats a time by a layout.
pub(super) fn format(time: &Zoned, layout: &str) -> String {
    let mut out = String::with_capacity(layout.len() + 10);
    for piece in pieces(layout) {
        match piece {
            LayoutPart::Text(text) => out.push_str(text),
            LayoutPart::Field(field, text) => write_field(&mut out, time, field, text),
        }
    }
    out
}

fn write_field(out: &mut String, time: &Zoned, field: TimeField, text: &str) {
    let hour12 = (time.hour() + 11) % 12 + 1;
    match field {
        TimeField::Year => number(out, time.year().into(), 4, NumberPadding::Zero),
        TimeField::ShortYear => number(
            out,
            i64::from(time.year()).rem_euclid(100),
            2,
            NumberPadding::Zero,
        ),
        TimeField::MonthName { short } => name(out, &MONTHS, time.month() - 1, short),
        TimeField::Month(pad) => number(out, time.month().into(), 2, pad),
        TimeField::Weekday { short } => {
            name(
                out,
                &WEEKDAYS,
                time.weekday().to_sunday_zero_offset(),
                short,
            );
        }
        TimeField::Day(pad) => number(out, time.day().into(), 2, pad),
        TimeField::YearDay(pad) => number(out, time.day_of_year().into(), 3, pad),
        TimeField::Hour => number(out, time.hour().into(), 2, NumberPadding::Zero),
        TimeField::Hour12(pad) => number(out, hour12.into(), 2, pad),
        TimeField::Minute(pad) => number(out, time.minute().into(), 2, pad),
        TimeField::Second(pad) => number(out, time.second().into(), 2, pad),
        TimeField::Fraction { digits, trimmed } => {
            let separator = &text[..1];
            fraction(out, time.subsec_nanosecond(), digits, trimmed, separator);
        }
        TimeField::HalfDay { lower } => out.push_str(match (time.hour() >= 12, lower) {
            (true, false) => "PM",
            (false, false) => "AM",
            (true, true) => "pm",
            (false, true) => "am",
        }),
        TimeField::ZoneName => out.push_str(&zone_name(time)),
        TimeField::Offset { .. } => write_offset(out, time.offset().seconds(), field),
    }
}

fn number(out: &mut String, number: i64, width: usize, pad: NumberPadding) {
    // Writing to a `String` cannot fail.
    let _ = match pad {
        NumberPadding::None => write!(out, "{number}"),
        NumberPadding::Space => write!(out, "{number:width$}"),
        NumberPadding::Zero => write!(out, "{number:0width$}"),
    };
}

fn name(out: &mut String, names: &[&str], index: i8, short: bool) {
    let name = usize::try_from(index).ok().and_then(|at| names.get(at));
    let name = name.copied().unwrap_or_default();
    out.push_str(if short { &name[..3] } else { name });
}

fn fraction(out: &mut String, nanoseconds: i32, digits: usize, trimmed: bool, separator: &str) {
    let all = format!("{nanoseconds:09}");
    let zeros = "0".repeat(digits.saturating_sub(9).min(64));
    let shown = format!("{}{zeros}", &all[..digits.min(9)]);
    let shown = if trimmed {
        shown.trim_end_matches('0')
    } else {
        &shown
    };
    if !shown.is_empty() {
        out.push_str(separator);
        out.push_str(shown);
    }
}

/// Returns `CEST`, or the offset if the zone has no name.
fn zone_name(time: &Zoned) -> String {
    let zone = time.time_zone().to_offset_info(time.timestamp());
    let name = zone.abbreviation();
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name.to_owned()
    } else {
        let mut out = String::new();
        let seconds = time.offset().seconds();
        let whole_hours = seconds % 3600 == 0;
        let field = TimeField::Offset {
            z: false,
            colon: false,
            minutes: !whole_hours,
            seconds: false,
        };
        write_offset(&mut out, seconds, field);
        out
    }
}

fn write_offset(out: &mut String, offset: i32, field: TimeField) {
    let TimeField::Offset {
        z,
        colon,
        minutes,
        seconds,
    } = field
    else {
        return;
    };
    if z && offset == 0 {
        out.push('Z');
        return;
    }
    let size = offset.unsigned_abs();
    let colon = if colon { ":" } else { "" };
    out.push(if offset < 0 { '-' } else { '+' });
    let _ = write!(out, "{:02}", size / 3600);
    if minutes {
        let _ = write!(out, "{colon}{:02}", size / 60 % 60);
    }
    if seconds {
        let _ = write!(out, "{colon}{:02}", size % 60);
    }
}

/// Parses a time by a layout. A time without a zone is in `zone`.
///
/// # Errors
/// Returns the message of Go's `time.Parse`.
pub(super) fn parse(layout: &str, text: &str, zone: &TimeZone) -> Result<Zoned, String> {
    let mut reader = TimeReader {
        rest: text,
        parts: TimeParts::default(),
    };
    let complain = |wrong: TimeParseError<'_>| match wrong {
        TimeParseError::Mismatch(rest, wanted) => {
            let [rest, wanted, layout] = [rest, wanted, layout].map(quoted);
            let text = quoted(text);
            format!("parsing time {text} as {layout}: cannot parse {rest} as {wanted}")
        }
        TimeParseError::Invalid(what) => format!("parsing time {}: {what}", quoted(text)),
        TimeParseError::Extra(rest) => {
            format!(
                "parsing time {}: extra text: {}",
                quoted(text),
                quoted(rest)
            )
        }
    };
    let pieces = pieces(layout);
    for (at, piece) in pieces.iter().enumerate() {
        let then = pieces.get(at + 1);
        reader.piece(*piece, then).map_err(complain)?;
    }
    if !reader.rest.is_empty() {
        return Err(complain(TimeParseError::Extra(reader.rest)));
    }
    reader.parts.zoned(zone).map_err(complain)
}

/// Quotes a text like Go's time package, which escapes each byte outside ASCII.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..0x80 => out.push(char::from(byte)),
            byte => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}

enum TimeParseError<'a> {
    /// The remaining text, and the part of the layout that does not match.
    Mismatch(&'a str, &'a str),
    /// A number is out of range.
    Invalid(&'static str),
    Extra(&'a str),
}

struct TimeReader<'a> {
    rest: &'a str,
    parts: TimeParts,
}

#[derive(Default)]
struct TimeParts {
    year: i64,
    month: Option<i64>,
    day: Option<i64>,
    year_day: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    nanosecond: i64,
    afternoon: Option<bool>,
    offset: Option<i32>,
    utc: bool,
}

impl<'a> TimeReader<'a> {
    fn piece(
        &mut self,
        piece: LayoutPart<'a>,
        then: Option<&LayoutPart<'a>>,
    ) -> Result<(), TimeParseError<'a>> {
        match piece {
            LayoutPart::Text(text) => self.literal(text),
            LayoutPart::Field(field, text) => {
                let before = self.rest;
                let read = self.field(field)?;
                if read.is_none() {
                    return Err(TimeParseError::Mismatch(before, text));
                }
                if matches!(field, TimeField::Second(_)) {
                    self.unannounced_fraction(then);
                }
                Ok(())
            }
        }
    }

    /// Matches literal text. A space in the layout matches any number of spaces.
    fn literal(&mut self, text: &'a str) -> Result<(), TimeParseError<'a>> {
        let mut wanted = text;
        while let Some(first) = wanted.chars().next() {
            if first == ' ' {
                if !self.rest.is_empty() && !self.rest.starts_with(' ') {
                    return Err(TimeParseError::Mismatch(self.rest, text));
                }
                wanted = wanted.trim_start_matches(' ');
                self.rest = self.rest.trim_start_matches(' ');
                continue;
            }
            let Some(rest) = self.rest.strip_prefix(first) else {
                return Err(TimeParseError::Mismatch(self.rest, text));
            };
            self.rest = rest;
            wanted = &wanted[first.len_utf8()..];
        }
        Ok(())
    }

    /// Reads one field. Returns `None` if the text does not match.
    fn field(&mut self, field: TimeField) -> Result<Option<()>, TimeParseError<'a>> {
        let read = match field {
            TimeField::Year => self.digits(4, 4).map(|year| self.parts.year = year),
            TimeField::ShortYear => self.digits(2, 2).map(|year| {
                self.parts.year = if year >= 69 { 1900 } else { 2000 } + year;
            }),
            TimeField::MonthName { short } => self
                .named(&MONTHS, short)
                .map(|index| self.parts.month = Some(index + 1)),
            TimeField::Weekday { short } => self.named(&WEEKDAYS, short).map(|_| ()),
            TimeField::Month(pad) => {
                let month = self.padded(pad, 2);
                check(month, 1..=12, "month out of range")?
                    .map(|month| self.parts.month = Some(month))
            }
            // The day is checked later, when the length of the month is known.
            TimeField::Day(pad) => self.padded(pad, 2).map(|day| self.parts.day = Some(day)),
            TimeField::YearDay(pad) => self
                .padded(pad, 3)
                .map(|day| self.parts.year_day = Some(day)),
            TimeField::Hour => {
                let hour = self.padded(NumberPadding::None, 2);
                check(hour, 0..=23, "hour out of range")?.map(|hour| self.parts.hour = hour)
            }
            TimeField::Hour12(pad) => {
                let hour = self.padded(pad, 2);
                check(hour, 0..=12, "hour out of range")?.map(|hour| self.parts.hour = hour)
            }
            TimeField::Minute(pad) => {
                let minute = self.padded(pad, 2);
                check(minute, 0..=59, "minute out of range")?
                    .map(|minute| self.parts.minute = minute)
            }
            TimeField::Second(pad) => {
                let second = self.padded(pad, 2);
                check(second, 0..=59, "second out of range")?
                    .map(|second| self.parts.second = second)
            }
            TimeField::Fraction { digits, trimmed } => self.fraction(digits, trimmed),
            TimeField::HalfDay { lower } => self.half_day(lower),
            TimeField::ZoneName => self.zone_name(),
            TimeField::Offset { .. } => self.offset(field),
        };
        Ok(read)
    }

    /// Reads a number with between `least` and `most` digits.
    fn digits(&mut self, least: usize, most: usize) -> Option<i64> {
        let count = self
            .rest
            .bytes()
            .take(most)
            .take_while(u8::is_ascii_digit)
            .count();
        if count < least {
            return None;
        }
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        digits.parse().ok()
    }

    fn padded(&mut self, pad: NumberPadding, width: usize) -> Option<i64> {
        match pad {
            NumberPadding::Zero => self.digits(width, width),
            NumberPadding::None => self.digits(1, width),
            NumberPadding::Space => {
                let spaces = self.rest.len() - self.rest.trim_start_matches(' ').len();
                self.rest = &self.rest[spaces.min(width - 1)..];
                self.digits(1, width)
            }
        }
    }

    fn named(&mut self, names: &[&str], short: bool) -> Option<i64> {
        for (index, name) in names.iter().enumerate() {
            let name = if short { &name[..3] } else { name };
            let start = self.rest.get(..name.len());
            if start.is_some_and(|start| start.eq_ignore_ascii_case(name)) {
                self.rest = &self.rest[name.len()..];
                return i64::try_from(index).ok();
            }
        }
        None
    }

    fn fraction(&mut self, digits: usize, trimmed: bool) -> Option<()> {
        if !self.rest.starts_with(['.', ',']) {
            // A fraction such as `.999` is optional.
            return trimmed.then_some(());
        }
        let found = self.rest[1..].bytes().take_while(u8::is_ascii_digit);
        let count = if trimmed {
            found.count()
        } else {
            found.take(digits).count()
        };
        if !trimmed && count < digits {
            return None;
        }
        self.parts.nanosecond = nanoseconds(&self.rest[1..=count]);
        self.rest = &self.rest[1 + count..];
        Some(())
    }

    /// Reads a fraction after the seconds. Go accepts one even if the layout has none.
    fn unannounced_fraction(&mut self, then: Option<&LayoutPart<'_>>) {
        let announced = matches!(then, Some(LayoutPart::Field(TimeField::Fraction { .. }, _)));
        let digits = self.rest.strip_prefix(['.', ',']).unwrap_or_default();
        if !announced && digits.starts_with(|c: char| c.is_ascii_digit()) {
            self.fraction(0, true);
        }
    }

    fn half_day(&mut self, lower: bool) -> Option<()> {
        let names = if lower { ["am", "pm"] } else { ["AM", "PM"] };
        let afternoon = names.iter().position(|name| self.rest.starts_with(name))?;
        self.parts.afternoon = Some(afternoon == 1);
        self.rest = &self.rest[2..];
        Some(())
    }

    /// Reads `UTC` or another abbreviation. As in Go, an unknown one has no offset.
    fn zone_name(&mut self) -> Option<()> {
        let length = self.rest.bytes().take_while(u8::is_ascii_uppercase).count();
        if !(3..=5).contains(&length) {
            return None;
        }
        self.parts.utc = true;
        self.rest = &self.rest[length..];
        Some(())
    }

    fn offset(&mut self, field: TimeField) -> Option<()> {
        let TimeField::Offset {
            z,
            colon,
            minutes,
            seconds,
        } = field
        else {
            return None;
        };
        if z && let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            self.parts.utc = true;
            return Some(());
        }
        let sign = match self.rest.as_bytes().first()? {
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        self.rest = &self.rest[1..];
        let mut total = self.digits(2, 2)? * 3600;
        for (wanted, size) in [(minutes, 60), (seconds, 1)] {
            if wanted && colon {
                self.rest = self.rest.strip_prefix(':')?;
            }
            if wanted {
                total += self.digits(2, 2)? * size;
            }
        }
        self.parts.offset = i32::try_from(sign * total).ok();
        Some(())
    }
}

fn check(
    number: Option<i64>,
    range: std::ops::RangeInclusive<i64>,
    what: &'static str,
) -> Result<Option<i64>, TimeParseError<'static>> {
    match number {
        Some(number) if !range.contains(&number) => Err(TimeParseError::Invalid(what)),
        number => Ok(number),
    }
}

fn nanoseconds(digits: &str) -> i64 {
    let digits = format!("{:0<9}", &digits[..digits.len().min(9)]);
    digits.parse().unwrap_or(0)
}

impl TimeParts {
    fn zoned(self, zone: &TimeZone) -> Result<Zoned, TimeParseError<'static>> {
        let hour = match (self.afternoon, self.hour) {
            (Some(true), hour) if hour < 12 => hour + 12,
            (Some(false), 12) => 0,
            (_, hour) => hour,
        };
        let time = jiff::civil::Time::new(
            hour as i8,
            self.minute as i8,
            self.second as i8,
            self.nanosecond as i32,
        )
        .map_err(|_| TimeParseError::Invalid("hour out of range"))?;
        let zone = match (self.offset, self.utc) {
            (Some(offset), _) => Offset::from_seconds(offset)
                .map(TimeZone::fixed)
                .map_err(|_| TimeParseError::Invalid("time zone offset hour out of range"))?,
            (None, true) => TimeZone::UTC,
            (None, false) => zone.clone(),
        };
        DateTime::from_parts(self.date()?, time)
            .to_zoned(zone)
            .map_err(|_| TimeParseError::Invalid("year out of range"))
    }

    fn date(&self) -> Result<Date, TimeParseError<'static>> {
        let year =
            i16::try_from(self.year).map_err(|_| TimeParseError::Invalid("year out of range"))?;
        if let Some(day) = self.year_day {
            return self.date_of_year(year, day);
        }
        let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
        Date::new(year, month as i8, day as i8)
            .map_err(|_| TimeParseError::Invalid("day out of range"))
    }

    /// Checks the day of the year. It must match the month and the day, if these are given.
    fn date_of_year(&self, year: i16, day: i64) -> Result<Date, TimeParseError<'static>> {
        let date = Date::new(year, 1, 1)
            .and_then(|first| first.checked_add(jiff::Span::new().try_days(day - 1)?))
            .ok()
            .filter(|date| day > 0 && date.year() == year)
            .ok_or(TimeParseError::Invalid("day-of-year out of range"))?;
        let differs = |given: Option<i64>, found: i8| given.is_some_and(|n| n != i64::from(found));
        if differs(self.month, date.month()) {
            return Err(TimeParseError::Invalid("day-of-year does not match month"));
        }
        if differs(self.day, date.day()) {
            return Err(TimeParseError::Invalid("day-of-year does not match day"));
        }
        Ok(date)
    }
}
