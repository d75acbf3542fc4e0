//! Parsing and formatting of times for the filter `date`. A text without a time zone is UTC, not
//! local time.

use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use regex::{Captures, Regex};

use crate::format::calendar::{MONTHS, WEEKDAYS};

/// Names of time zones, with their offsets in hours.
const ZONES: [(&str, i32); 11] = [
    ("z", 0),
    ("utc", 0),
    ("gmt", 0),
    ("est", -5),
    ("edt", -4),
    ("cst", -6),
    ("cdt", -5),
    ("mst", -7),
    ("mdt", -6),
    ("pst", -8),
    ("pdt", -7),
];

/// A local time and its offset from UTC.
#[derive(Clone, Copy, Debug)]
pub(super) struct Time {
    civil: DateTime,
    /// Number of seconds east of UTC.
    offset: i32,
    utc: bool,
}

type LazyRegex = LazyLock<Option<Regex>>;

static CLOCK: LazyRegex = LazyLock::new(|| {
    Regex::new(
        r"(?:^|[^\d:.])(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?\s*([ap])?(?:\.?m\b\.?)?\s*(z\b|utc\b|gmt\b|[a-z]{3}\b|[-+]\d{1,2}:?\d{2}\b|[-+]\d{1,2}\b)?",
    )
    .ok()
});
static HOUR: LazyRegex = LazyLock::new(|| Regex::new(r"\b(\d{1,2})\s*([ap])\.?m\b").ok());
static COMPACT: LazyRegex = LazyLock::new(|| {
    Regex::new(r"\b(\d{4})(\d{2})(\d{2})t(\d{2})(\d{2})(\d{2})?\s*(z\b|[-+]\d{2}:?\d{2}\b)?").ok()
});
static ISO: LazyRegex = LazyLock::new(|| Regex::new(r"\b(\d{4})[-/](\d{1,2})[-/](\d{1,2})").ok());
static DAY_OF_YEAR: LazyRegex = LazyLock::new(|| Regex::new(r"\b(\d{4})-(\d{3})\b").ok());
static DAY_FIRST: LazyRegex =
    LazyLock::new(|| Regex::new(r"\b(\d{1,2})[./](\d{1,2})[./](\d{4})\b").ok());
static SHORT: LazyRegex = LazyLock::new(|| Regex::new(r"\b(\d{2})/(\d{1,2})/(\d{1,2})\b").ok());
static DAY_MONTH: LazyRegex = LazyLock::new(|| {
    Regex::new(r"\b(\d{1,2})(?:st|nd|rd|th)?[\s-]*(?:of\s+)?(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?,?[\s-]*(\d{4})?").ok()
});
static MONTH_DAY: LazyRegex = LazyLock::new(|| {
    Regex::new(r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s*(\d{1,2})(?:st|nd|rd|th)?\b(?:,?\s*(\d{4}))?").ok()
});
static MONTH_YEAR: LazyRegex = LazyLock::new(|| {
    Regex::new(r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?,?\s+(\d{4})\b").ok()
});

fn captured<'t>(pattern: &LazyRegex, text: &'t str) -> Option<Captures<'t>> {
    pattern.as_ref()?.captures(text)
}

fn group<T: std::str::FromStr>(found: &Captures<'_>, index: usize) -> Option<T> {
    found.get(index)?.as_str().parse().ok()
}

impl Time {
    /// Creates the time that is `seconds` after the start of 1970.
    pub(super) fn of_seconds(seconds: i64) -> Option<Self> {
        let time = Timestamp::from_second(seconds).ok()?;
        Some(Time::of(time))
    }

    fn of(time: Timestamp) -> Self {
        Time {
            civil: time.to_zoned(TimeZone::UTC).datetime(),
            offset: 0,
            utc: true,
        }
    }

    pub(super) fn of_clock(now: SystemTime) -> Option<Self> {
        let since = now.duration_since(UNIX_EPOCH).ok()?;
        let nanoseconds = i32::try_from(since.subsec_nanos()).ok()?;
        let seconds = i64::try_from(since.as_secs()).ok()?;
        Timestamp::new(seconds, nanoseconds).ok().map(Time::of)
    }

    /// Parses a time in one of the common notations. A time of day without a date is on the current
    /// day.
    pub(super) fn read(text: &str, now: SystemTime) -> Option<Self> {
        let text = &*text.to_lowercase();
        let today = Time::of_clock(now)?.civil.date();
        if let Some(found) = captured(&COMPACT, text) {
            let date = day(group(&found, 1)?, group(&found, 2)?, group(&found, 3)?)?;
            let (hour, minute) = (group(&found, 4)?, group(&found, 5)?);
            let second = group(&found, 6).unwrap_or(0);
            let zone = found.get(7).map(|zone| zone.as_str());
            return Time::at(date, hour, minute, second, 0, zone);
        }
        let Some(found) = captured(&CLOCK, text) else {
            let hour = captured(&HOUR, text);
            let date = read_date(text, today);
            return match (date, hour) {
                (None, None) => None,
                (date, None) => Time::at(date?, 0, 0, 0, 0, None),
                (date, Some(found)) => {
                    let half = found.get(2).map(|half| half.as_str());
                    let hour = of_half(group(&found, 1)?, half)?;
                    Time::at(date.unwrap_or(today), hour, 0, 0, 0, None)
                }
            };
        };
        let half = found.get(5).map(|half| half.as_str());
        let hour = of_half(group(&found, 1)?, half)?;
        let minute = group(&found, 2)?;
        let second = group(&found, 3).unwrap_or(0);
        let fraction = found.get(4).map_or("", |digits| digits.as_str());
        let fraction = format!("{fraction:0<9}")[..9].parse().unwrap_or(0);
        // The date is in the text around the time of day.
        let whole = found.get(0)?;
        let lead = whole
            .as_str()
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(0);
        let rest = format!("{} {}", &text[..whole.start() + lead], &text[whole.end()..]);
        let date = read_date(&rest, today).unwrap_or(today);
        let zone = found.get(6).map(|zone| zone.as_str());
        Time::at(date, hour, minute, second, fraction, zone)
    }

    fn at(
        date: Date,
        hour: i8,
        minute: i8,
        second: i8,
        fraction: i32,
        zone: Option<&str>,
    ) -> Option<Self> {
        if !(0..=24).contains(&hour) || minute > 59 || second > 60 {
            return None;
        }
        let midnight = date.at(0, 0, 0, fraction);
        let clock = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
        let civil = midnight.checked_add(clock.seconds()).ok()?;
        let zone = zone.and_then(offset_of);
        Some(Time {
            civil,
            offset: zone.map_or(0, |(offset, _)| offset),
            utc: zone.is_none_or(|(_, utc)| utc),
        })
    }

    fn seconds(&self) -> i64 {
        let utc = self.civil.to_zoned(TimeZone::UTC);
        utc.map_or(0, |utc| utc.timestamp().as_second()) - i64::from(self.offset)
    }
}

/// Parses a time zone. Returns the seconds east of UTC, and whether the zone is UTC by name.
fn offset_of(zone: &str) -> Option<(i32, bool)> {
    if let Some((_, hours)) = ZONES.iter().find(|(name, _)| *name == zone) {
        return Some((hours * 3600, *hours == 0));
    }
    let sign = match zone.as_bytes().first()? {
        b'-' => -1,
        b'+' => 1,
        _ => return None,
    };
    let digits = zone[1..].replace(':', "");
    let (hours, minutes) = match digits.len() {
        1 | 2 => (digits.as_str(), "0"),
        3 => digits.split_at(1),
        _ => digits.split_at(2),
    };
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    Some((sign * (hours * 3600 + minutes * 60), false))
}

/// Converts an hour to the 24-hour clock.
fn of_half(hour: i8, half: Option<&str>) -> Option<i8> {
    match half {
        None => Some(hour),
        Some(_) if !(1..=12).contains(&hour) => None,
        Some("p") => Some(hour % 12 + 12),
        Some(_) => Some(hour % 12),
    }
}

fn read_date(text: &str, today: Date) -> Option<Date> {
    if let Some(found) = captured(&ISO, text) {
        return day(group(&found, 1)?, group(&found, 2)?, group(&found, 3)?);
    }
    if let Some(found) = captured(&DAY_OF_YEAR, text) {
        let first = day(group(&found, 1)?, 1, 1)?;
        let later: i64 = group(&found, 2)?;
        return first.checked_add((later - 1).days()).ok();
    }
    if let Some(found) = captured(&DAY_FIRST, text) {
        return day(group(&found, 3)?, group(&found, 2)?, group(&found, 1)?);
    }
    if let Some(found) = captured(&SHORT, text) {
        return day(
            century(group(&found, 1)?),
            group(&found, 2)?,
            group(&found, 3)?,
        );
    }
    if let Some(found) = captured(&DAY_MONTH, text) {
        let year = group(&found, 3).unwrap_or_else(|| year_of(text, today));
        return day(year, month(&found, 2)?, group(&found, 1)?);
    }
    if let Some(found) = captured(&MONTH_YEAR, text) {
        return day(group(&found, 2)?, month(&found, 1)?, 1);
    }
    let found = captured(&MONTH_DAY, text)?;
    let year = group(&found, 3).unwrap_or_else(|| year_of(text, today));
    day(year, month(&found, 1)?, group(&found, 2)?)
}

/// Finds the year elsewhere in a text such as `Jan 5 10:11:12 2024`. If there is none, it is the
/// current year.
fn year_of(text: &str, today: Date) -> i16 {
    let words = text.split(|c: char| !c.is_ascii_digit());
    let mut years = words.filter(|word| word.len() == 4);
    years
        .next()
        .and_then(|word| word.parse().ok())
        .unwrap_or(today.year())
}

fn century(year: i16) -> i16 {
    if year >= 69 { 1900 + year } else { 2000 + year }
}

fn month(found: &Captures<'_>, index: usize) -> Option<i8> {
    let name = found.get(index)?.as_str();
    let same = |month: &&str| month.to_lowercase().starts_with(name);
    let at = MONTHS.iter().position(same)?;
    i8::try_from(at + 1).ok()
}

/// Creates a date. As in Ruby, the 30th of February is the first or second of March.
fn day(year: i16, month: i8, day: i8) -> Option<Date> {
    if !(1..=31).contains(&day) {
        return None;
    }
    let first = Date::new(year, month, 1).ok()?;
    first.checked_add(i64::from(day - 1).days()).ok()
}

/// Flags of a directive: `%-d`, `%^a`, `%10Y`.
#[derive(Clone, Copy, Debug, Default)]
struct Flags {
    /// Padding character. `Some(None)` disables padding.
    pad: Option<Option<char>>,
    upper: bool,
    swap: bool,
    colons: usize,
    width: Option<usize>,
}

/// Maximum width of a field.
const WIDEST: usize = 1024;

impl Time {
    /// Formats the time.
    ///
    /// # Errors
    /// Returns the error in `format`.
    pub(super) fn written(&self, format: &str) -> Result<String, &'static str> {
        let mut out = String::with_capacity(format.len() + 16);
        let mut rest = format;
        while let Some(at) = rest.find('%') {
            out.push_str(&rest[..at]);
            let directive = &rest[at + 1..];
            let (flags, length) = flags(directive);
            if flags.width.is_some_and(|width| width > WIDEST) {
                return Err("a field of the date is too wide");
            }
            let letter = directive[length..].chars().next();
            let Some(letter) = letter else {
                return Err("the format of the date ends in the middle of a directive");
            };
            match self.field(letter, flags) {
                Some(text) => {
                    out.push_str(&text);
                    rest = &directive[length + letter.len_utf8()..];
                }
                // A percent sign without a directive is literal text.
                None => {
                    out.push('%');
                    rest = directive;
                }
            }
        }
        out.push_str(rest);
        Ok(out)
    }

    fn field(&self, letter: char, flags: Flags) -> Option<String> {
        let date = self.civil.date();
        let number = |number: i64, width, pad| Some(filled(&number.to_string(), flags, width, pad));
        let (hour, week) = (i64::from(self.civil.hour()), date.iso_week_date());
        let half_day = match hour % 12 {
            0 => 12,
            hour => hour,
        };
        let weekday = i64::from(date.weekday().to_sunday_zero_offset());
        let day_name = WEEKDAYS.get(usize::try_from(weekday).ok()?)?;
        let month_name = MONTHS.get(usize::try_from(date.month() - 1).ok()?)?;
        let year = i64::from(date.year());
        let of_year = i64::from(date.day_of_year());
        match letter {
            'Y' => number(year, 4, '0'),
            'C' => number(year.div_euclid(100), 2, '0'),
            'y' => number(year.rem_euclid(100), 2, '0'),
            'm' => number(date.month().into(), 2, '0'),
            'd' => number(date.day().into(), 2, '0'),
            'e' => number(date.day().into(), 2, ' '),
            'j' => number(of_year, 3, '0'),
            'H' => number(hour, 2, '0'),
            'k' => number(hour, 2, ' '),
            'I' => number(half_day, 2, '0'),
            'l' => number(half_day, 2, ' '),
            'M' => number(self.civil.minute().into(), 2, '0'),
            'S' => number(self.civil.second().into(), 2, '0'),
            's' => number(self.seconds(), 1, '0'),
            'u' => number(if weekday == 0 { 7 } else { weekday }, 1, '0'),
            'w' => number(weekday, 1, '0'),
            'G' => number(week.year().into(), 4, '0'),
            'g' => number(i64::from(week.year()).rem_euclid(100), 2, '0'),
            'V' => number(week.week().into(), 2, '0'),
            'U' => number((of_year + 6 - weekday) / 7, 2, '0'),
            'W' => number((of_year + 6 - (weekday + 6) % 7) / 7, 2, '0'),
            'L' => Some(self.fraction(flags.width.unwrap_or(3))),
            'N' => Some(self.fraction(flags.width.unwrap_or(9))),
            'A' => Some(name(day_name, flags)),
            'a' => Some(name(&day_name[..3], flags)),
            'B' => Some(name(month_name, flags)),
            'b' | 'h' => Some(name(&month_name[..3], flags)),
            'p' if flags.swap => Some(name(
                half(hour, false),
                Flags {
                    swap: false,
                    ..flags
                },
            )),
            'p' => Some(name(half(hour, true), flags)),
            'P' => Some(name(half(hour, false), flags)),
            'z' => Some(self.zone(flags)),
            'Z' => Some(name(if self.utc { "UTC" } else { "" }, flags)),
            'n' => Some(name("\n", flags)),
            't' => Some(name("\t", flags)),
            '%' => Some(name("%", flags)),
            'c' => self.composed("%a %b %e %H:%M:%S %Y", flags),
            'D' | 'x' => self.composed("%m/%d/%y", flags),
            'F' => self.composed("%Y-%m-%d", flags),
            'v' => self.composed("%e-%^b-%Y", flags),
            'T' | 'X' => self.composed("%H:%M:%S", flags),
            'R' => self.composed("%H:%M", flags),
            'r' => self.composed("%I:%M:%S %p", flags),
            _ => None,
        }
    }

    fn composed(&self, format: &str, flags: Flags) -> Option<String> {
        self.written(format).ok().map(|text| name(&text, flags))
    }

    fn fraction(&self, digits: usize) -> String {
        let nanoseconds = format!("{:09}", self.civil.subsec_nanosecond());
        let known = &nanoseconds[..digits.min(9)];
        format!("{known:0<digits$}")
    }

    fn zone(&self, flags: Flags) -> String {
        let sign = if self.offset < 0 { '-' } else { '+' };
        let seconds = self.offset.abs();
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        match flags.colons {
            0 => format!("{sign}{hours:02}{minutes:02}"),
            1 => format!("{sign}{hours:02}:{minutes:02}"),
            _ => format!("{sign}{hours:02}:{minutes:02}:{:02}", seconds % 60),
        }
    }
}

fn half(hour: i64, upper: bool) -> &'static str {
    match (hour < 12, upper) {
        (true, true) => "AM",
        (true, false) => "am",
        (false, true) => "PM",
        (false, false) => "pm",
    }
}

/// Parses the flags and the width of a directive. Returns their length in bytes.
fn flags(text: &str) -> (Flags, usize) {
    let mut flags = Flags::default();
    let mut length = 0;
    for c in text.chars() {
        match c {
            '-' => flags.pad = Some(None),
            '0' => flags.pad = Some(Some('0')),
            '_' => flags.pad = Some(Some(' ')),
            '^' => flags.upper = true,
            '#' => flags.swap = true,
            ':' => flags.colons += 1,
            _ => break,
        }
        length += 1;
    }
    let rest = &text[length..];
    let digits = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    if digits > 0 {
        flags.width = Some(rest[..digits].parse().unwrap_or(usize::MAX));
    }
    (flags, length + digits)
}

/// Pads a number on the left.
fn filled(number: &str, flags: Flags, width: usize, pad: char) -> String {
    let pad = match flags.pad {
        Some(None) => return number.to_owned(),
        Some(Some(pad)) => pad,
        None => pad,
    };
    let width = flags.width.unwrap_or(width);
    let (sign, digits) = match number.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", number),
    };
    let fill: String = std::iter::repeat_n(pad, width.saturating_sub(number.len())).collect();
    match pad {
        '0' => format!("{sign}{fill}{digits}"),
        _ => format!("{fill}{number}"),
    }
}

/// Pads a word on the left.
fn name(word: &str, flags: Flags) -> String {
    let word = if flags.upper || flags.swap {
        word.to_uppercase()
    } else {
        word.to_owned()
    };
    let pad = flags.pad.flatten().unwrap_or(' ');
    let missing = flags
        .width
        .unwrap_or(0)
        .saturating_sub(word.chars().count());
    std::iter::repeat_n(pad, missing).collect::<String>() + &word
}
