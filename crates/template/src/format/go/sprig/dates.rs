//! Times and date functions. The clock is fixed during a render: every pass sees the start time of
//! the render.

use std::any::Any;
use std::rc::Rc;

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan, Zoned};

use super::super::{FunctionContext, FunctionError, GoFunction, GoObject, GoType, GoValue};
use super::duration::{Duration, HOUR, MINUTE, SECOND};
use super::{args, cost, timetext};
use crate::format::calendar::{MONTHS, WEEKDAYS};

type FnResult = Result<GoValue, FunctionError>;

const ANY: GoType = GoType::Any;
const STRING: GoType = GoType::String;
const TIME: GoType = GoType::Named("time.Time");

pub(super) const FUNCTIONS: &[GoFunction] = &[
    GoFunction::new("now", &[], now),
    GoFunction::new("date", &[STRING, ANY], date),
    GoFunction::new("dateInZone", &[STRING, ANY, STRING], date_in_zone),
    GoFunction::new("date_in_zone", &[STRING, ANY, STRING], date_in_zone),
    GoFunction::new("htmlDate", &[ANY], html_date),
    GoFunction::new("htmlDateInZone", &[ANY, STRING], html_date_in_zone),
    GoFunction::new("toDate", &[STRING, STRING], to_date),
    GoFunction::new("mustToDate", &[STRING, STRING], must_to_date),
    GoFunction::new("dateModify", &[STRING, TIME], date_modify),
    GoFunction::new("date_modify", &[STRING, TIME], date_modify),
    GoFunction::new("mustDateModify", &[STRING, TIME], must_date_modify),
    GoFunction::new("must_date_modify", &[STRING, TIME], must_date_modify),
    GoFunction::new("unixEpoch", &[TIME], unix_epoch),
    GoFunction::new("ago", &[ANY], ago),
    GoFunction::new("duration", &[ANY], duration),
    GoFunction::new("durationRound", &[ANY], duration_round),
];

/// A `time.Time`.
#[derive(Clone, Debug)]
struct Time(Zoned);

/// A number that prints as a word, such as a `time.Month`.
#[derive(Debug)]
struct NamedNumber {
    go_type: &'static str,
    number: i64,
    text: String,
}

impl GoObject for NamedNumber {
    fn go_type(&self) -> GoType {
        GoType::Named(self.go_type)
    }
    fn text(&self) -> String {
        self.text.clone()
    }
    fn member(&self, name: &str, _: &[GoValue]) -> Option<FnResult> {
        let fraction = |unit: i64| Some(Ok(GoValue::Float(self.number as f64 / unit as f64)));
        match (name, self.go_type) {
            ("String", _) => Some(Ok(self.text().into())),
            ("Hours", "time.Duration") => fraction(HOUR),
            ("Minutes", "time.Duration") => fraction(MINUTE),
            ("Seconds", "time.Duration") => fraction(SECOND),
            ("Milliseconds", "time.Duration") => Some(Ok(GoValue::Int64(self.number / 1_000_000))),
            _ => None,
        }
    }
    fn integer(&self) -> Option<i64> {
        Some(self.number)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl GoObject for Time {
    fn go_type(&self) -> GoType {
        TIME
    }
    fn text(&self) -> String {
        timetext::format(&self.0, "2006-01-02 15:04:05.999999999 -0700 MST")
    }
    fn member(&self, name: &str, args: &[GoValue]) -> Option<FnResult> {
        let int = |number: i64| Some(Ok(GoValue::Int(number)));
        let int64 = |number: i64| Some(Ok(GoValue::Int64(number)));
        let time = &self.0;
        match name {
            "Year" => int(time.year().into()),
            "Day" => int(time.day().into()),
            "Hour" => int(time.hour().into()),
            "Minute" => int(time.minute().into()),
            "Second" => int(time.second().into()),
            "Nanosecond" => int(time.subsec_nanosecond().into()),
            "YearDay" => int(time.day_of_year().into()),
            "Unix" => int64(time.timestamp().as_second()),
            "UnixMilli" => int64(time.timestamp().as_millisecond()),
            "Month" => Some(Ok(named("time.Month", time.month().into(), &MONTHS, 1))),
            "Weekday" => {
                let day = time.weekday().to_sunday_zero_offset();
                Some(Ok(named("time.Weekday", day.into(), &WEEKDAYS, 0)))
            }
            "IsZero" => Some(Ok((time.timestamp() == zero().timestamp()).into())),
            "String" => Some(Ok(self.text().into())),
            "Format" => Some(Ok(timetext::format(time, &args::chars(args, 0)).into())),
            "UTC" => Some(Ok(value(time.with_time_zone(TimeZone::UTC)))),
            "Local" => Some(Ok(value(time.with_time_zone(TimeZone::system())))),
            "AddDate" => Some(self.add_date(args)),
            "Before" => self.compare(args, |a, b| a < b),
            "After" => self.compare(args, |a, b| a > b),
            "Equal" => self.compare(args, |a, b| a == b),
            "Sub" => self.since(args),
            _ => None,
        }
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Time {
    fn compare(
        &self,
        args: &[GoValue],
        test: fn(Timestamp, Timestamp) -> bool,
    ) -> Option<FnResult> {
        let other = args.first().and_then(time_of)?;
        Some(Ok(test(self.0.timestamp(), other.timestamp()).into()))
    }

    fn since(&self, args: &[GoValue]) -> Option<FnResult> {
        let other = args.first().and_then(time_of)?;
        Some(Ok(elapsed(&other, &self.0).into()))
    }

    /// Adds years, months and days. As in Go, a day after the end of a month overflows into the
    /// next month.
    fn add_date(&self, args: &[GoValue]) -> FnResult {
        let [years, months, days] = [0, 1, 2].map(|at| args::int(args, at).clamp(-99_999, 99_999));
        let out_of_range = |_| FunctionError::from("year out of range");
        let first = self.0.first_of_month().map_err(out_of_range)?;
        let month = first
            .checked_add(years.years().months(months))
            .map_err(out_of_range)?;
        let days = days + i64::from(self.0.day()) - 1;
        Ok(value(month.checked_add(days.days()).map_err(out_of_range)?))
    }
}

fn named(go_type: &'static str, number: i64, names: &[&str], first: i64) -> GoValue {
    let name = usize::try_from(number - first)
        .ok()
        .and_then(|at| names.get(at));
    GoValue::Object(Rc::new(NamedNumber {
        go_type,
        number,
        text: name.copied().unwrap_or_default().to_owned(),
    }))
}

impl From<Duration> for GoValue {
    fn from(duration: Duration) -> Self {
        GoValue::Object(Rc::new(NamedNumber {
            go_type: "time.Duration",
            number: duration.0,
            text: duration.to_string(),
        }))
    }
}

fn value(time: Zoned) -> GoValue {
    GoValue::Object(Rc::new(Time(time)))
}

fn time_of(value: &GoValue) -> Option<Zoned> {
    match value {
        GoValue::Object(object) => Some(object.as_any().downcast_ref::<Time>()?.0.clone()),
        _ => None,
    }
}

/// Formats a time as JSON does.
pub(super) fn rfc3339(object: &dyn GoObject) -> Option<String> {
    let time = object.as_any().downcast_ref::<Time>()?;
    Some(timetext::format(
        &time.0,
        "2006-01-02T15:04:05.999999999Z07:00",
    ))
}

/// Returns Go's zero time, which is the result for an invalid date.
fn zero() -> Zoned {
    jiff::civil::date(1, 1, 1)
        .to_zoned(TimeZone::UTC)
        .unwrap_or_default()
}

fn current(cx: &FunctionContext<'_, '_>) -> Zoned {
    let now = Timestamp::try_from(cx.now()).unwrap_or_default();
    now.to_zoned(TimeZone::system())
}

/// Converts a value to a time like Sprig. A value that is neither a time nor a number of seconds
/// since 1970 gives the current time.
fn moment(cx: &FunctionContext<'_, '_>, value: &GoValue) -> Zoned {
    let seconds = match value {
        GoValue::Int(seconds) | GoValue::Int64(seconds) => *seconds,
        GoValue::Int32(seconds) => i64::from(*seconds),
        other => return time_of(other).unwrap_or_else(|| current(cx)),
    };
    let bound = |limit: Timestamp| limit.as_second();
    let seconds = seconds.clamp(bound(Timestamp::MIN), bound(Timestamp::MAX));
    let timestamp = Timestamp::from_second(seconds).unwrap_or_default();
    timestamp.to_zoned(TimeZone::system())
}

/// Finds a time zone by its name. An unknown name gives UTC.
fn zone(name: &str) -> TimeZone {
    match name {
        "" | "UTC" => TimeZone::UTC,
        "Local" => TimeZone::system(),
        name => TimeZone::get(name).unwrap_or(TimeZone::UTC),
    }
}

fn now(cx: &mut FunctionContext<'_, '_>, _: &[GoValue]) -> FnResult {
    Ok(value(current(cx)))
}

fn written(
    cx: &mut FunctionContext<'_, '_>,
    layout: &str,
    time: &GoValue,
    zone: TimeZone,
) -> FnResult {
    // No field of a layout expands to more than ten times its length.
    cost::build_many(cx, layout.len(), 10)?;
    let time = moment(cx, time).with_time_zone(zone);
    Ok(timetext::format(&time, layout).into())
}

fn date(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let zone = TimeZone::system();
    written(cx, &args::chars(args, 0), &args::value(args, 1), zone)
}

fn date_in_zone(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let zone = zone(&args::chars(args, 2));
    written(cx, &args::chars(args, 0), &args::value(args, 1), zone)
}

fn html_date(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    written(cx, "2006-01-02", &args::value(args, 0), TimeZone::system())
}

fn html_date_in_zone(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let zone = zone(&args::chars(args, 1));
    written(cx, "2006-01-02", &args::value(args, 0), zone)
}

fn read(
    cx: &mut FunctionContext<'_, '_>,
    args: &[GoValue],
) -> Result<Result<Zoned, String>, FunctionError> {
    let (layout, text) = (args::chars(args, 0), args::chars(args, 1));
    cost::build_many(cx, layout.len() + text.len(), 32)?;
    Ok(timetext::parse(&layout, &text, &TimeZone::system()))
}

fn to_date(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    Ok(value(read(cx, args)?.unwrap_or_else(|_| zero())))
}

fn must_to_date(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    Ok(value(read(cx, args)??))
}

fn date_modify(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    super::json::or_else(must_date_modify(cx, args), args::value(args, 1))
}

fn must_date_modify(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let text = args::chars(args, 0);
    cost::scan(cx, text.len())?;
    let change = Duration::parse(&text)?;
    let time = args.get(1).and_then(time_of).unwrap_or_else(zero);
    let changed = time.checked_add(jiff::SignedDuration::from_nanos(change.0));
    Ok(value(changed.map_err(|_| "year out of range")?))
}

fn unix_epoch(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let time = args.first().and_then(time_of).unwrap_or_else(zero);
    Ok(time.timestamp().as_second().to_string().into())
}

/// Returns the difference of two times, limited to the range of a duration.
fn elapsed(from: &Zoned, to: &Zoned) -> Duration {
    let nanoseconds = to.timestamp().as_nanosecond() - from.timestamp().as_nanosecond();
    let bounds = (i128::from(i64::MIN), i128::from(i64::MAX));
    Duration(nanoseconds.clamp(bounds.0, bounds.1) as i64)
}

fn ago(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let passed = elapsed(&moment(cx, &args::value(args, 0)), &current(cx));
    Ok(passed.rounded_to_seconds().to_string().into())
}

/// Converts seconds to a duration. Sprig accepts only a text or an `int64`.
fn duration(_: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let seconds = match args.first() {
        Some(GoValue::Int64(seconds)) => *seconds,
        Some(GoValue::Str(text)) => text.to_text().parse().unwrap_or(0),
        _ => 0,
    };
    Ok(Duration::seconds(seconds).to_string().into())
}

/// Formats a duration by its largest unit: `2h`, `3d`, `1mo`.
fn duration_round(cx: &mut FunctionContext<'_, '_>, args: &[GoValue]) -> FnResult {
    let length = match args.first() {
        Some(GoValue::Int64(nanoseconds)) => Duration(*nanoseconds),
        Some(GoValue::Str(text)) => Duration::parse(&text.to_text()).unwrap_or(Duration(0)),
        Some(other) => match time_of(other) {
            Some(time) => elapsed(&time, &current(cx)),
            None => Duration(0),
        },
        None => Duration(0),
    };
    let units = [
        (365 * 24 * HOUR, "y"),
        (30 * 24 * HOUR, "mo"),
        (24 * HOUR, "d"),
        (HOUR, "h"),
        (MINUTE, "m"),
        (SECOND, "s"),
    ];
    let size = length.0.unsigned_abs();
    let unit = units.iter().find(|(unit, _)| size > *unit as u64);
    Ok(match unit {
        Some((unit, name)) => format!("{}{name}", size / *unit as u64).into(),
        None => "0s".into(),
    })
}
