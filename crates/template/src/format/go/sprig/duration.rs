//! Go's `time.Duration`: nanoseconds, written as `1h15m30.5s`.

/// A duration in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Duration(pub(super) i64);

pub(super) const SECOND: i64 = 1_000_000_000;
pub(super) const MINUTE: i64 = 60 * SECOND;
pub(super) const HOUR: i64 = 60 * MINUTE;

impl Duration {
    pub(super) fn seconds(seconds: i64) -> Duration {
        // Go's multiplication also wraps.
        Duration(seconds.wrapping_mul(SECOND))
    }

    /// Rounds to a whole second, half away from zero.
    pub(super) fn rounded_to_seconds(self) -> Duration {
        let half = if self.0 < 0 { -SECOND / 2 } else { SECOND / 2 };
        Duration(self.0.saturating_add(half) / SECOND * SECOND)
    }

    /// Parses a duration like Go's `ParseDuration`.
    ///
    /// # Errors
    /// Returns Go's error.
    pub(super) fn parse(text: &str) -> Result<Duration, String> {
        let invalid = || format!("time: invalid duration {text:?}");
        let (negative, mut rest) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        if rest == "0" {
            return Ok(Duration(0));
        }
        if rest.is_empty() {
            return Err(invalid());
        }
        let mut total = 0_i128;
        while !rest.is_empty() {
            let (number, after) = split_number(rest);
            let (unit, after) = split_at_non(after, |c| c != '.' && !c.is_ascii_digit());
            if !number.contains(|c: char| c.is_ascii_digit()) {
                return Err(invalid());
            }
            if unit.is_empty() {
                return Err(format!("time: missing unit in duration {text:?}"));
            }
            let Some(size) = unit_size(unit) else {
                return Err(format!("time: unknown unit {unit:?} in duration {text:?}"));
            };
            total += amount(number, size).ok_or_else(invalid)?;
            if total > 1 << 63 {
                return Err(invalid());
            }
            rest = after;
        }
        let signed = if negative { -total } else { total };
        i64::try_from(signed).map(Duration).map_err(|_| invalid())
    }
}

/// Splits off digits with at most one point.
fn split_number(text: &str) -> (&str, &str) {
    let mut points = 0;
    split_at_non(text, |c| {
        points += usize::from(c == '.');
        c.is_ascii_digit() || (c == '.' && points == 1)
    })
}

fn split_at_non(text: &str, mut matches: impl FnMut(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !matches(c)).unwrap_or(text.len()))
}

fn unit_size(unit: &str) -> Option<i64> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => SECOND,
        "m" => MINUTE,
        "h" => HOUR,
        _ => return None,
    })
}

/// Converts an amount of a unit, such as `1.5`. Digits after the eighteenth decimal place are
/// ignored.
fn amount(number: &str, size: i64) -> Option<i128> {
    let (whole, places) = number.split_once('.').unwrap_or((number, ""));
    let whole: i128 = match whole {
        "" => 0,
        digits => i128::from(digits.parse::<u64>().ok()?),
    };
    let places = &places[..places.len().min(18)];
    let part: i128 = match places {
        "" => 0,
        digits => digits.parse().ok()?,
    };
    let size = i128::from(size);
    let power = 10_i128.pow(u32::try_from(places.len()).ok()?);
    Some(whole * size + part * size / power)
}

impl std::fmt::Display for Duration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let size = self.0.unsigned_abs();
        if self.0 < 0 {
            f.write_str("-")?;
        }
        let (second, minute, hour) = (SECOND as u64, MINUTE as u64, HOUR as u64);
        match size {
            0 => return f.write_str("0s"),
            1..1_000 => return write!(f, "{size}ns"),
            1_000..1_000_000 => return write!(f, "{}µs", places(size, 1_000)),
            _ if size < second => return write!(f, "{}ms", places(size, 1_000_000)),
            _ => {}
        }
        if size >= hour {
            write!(f, "{}h", size / hour)?;
        }
        if size >= minute {
            write!(f, "{}m", size % hour / minute)?;
        }
        write!(f, "{}s", places(size % minute, second))
    }
}

/// Returns a fraction without trailing zeros.
fn places(size: u64, unit: u64) -> String {
    let width = unit.ilog10() as usize;
    let part = format!("{:0width$}", size % unit);
    match part.trim_end_matches('0') {
        "" => (size / unit).to_string(),
        part => format!("{}.{part}", size / unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_go_writes_them() {
        let cases = [
            (0, "0s"),
            (1, "1ns"),
            (1_100, "1.1µs"),
            (2_200_000, "2.2ms"),
            (95 * SECOND, "1m35s"),
            (HOUR, "1h0m0s"),
            (-(HOUR + SECOND / 2), "-1h0m0.5s"),
            (i64::MIN, "-2562047h47m16.854775808s"),
        ];
        for (nanoseconds, text) in cases {
            assert_eq!(Duration(nanoseconds).to_string(), text);
            assert_eq!(Duration::parse(text), Ok(Duration(nanoseconds)), "{text}");
        }
    }

    #[test]
    fn durations_that_are_none_are_refused_in_the_words_of_go() {
        let cases = [
            ("", "time: invalid duration \"\""),
            ("x", "time: invalid duration \"x\""),
            ("1", "time: missing unit in duration \"1\""),
            ("1d", "time: unknown unit \"d\" in duration \"1d\""),
            ("9999999h", "time: invalid duration \"9999999h\""),
        ];
        for (text, wanted) in cases {
            assert_eq!(Duration::parse(text).unwrap_err(), wanted);
        }
        assert_eq!(Duration::parse("-1.5h"), Ok(Duration(-HOUR * 3 / 2)));
        assert_eq!(Duration::parse(".5s"), Ok(Duration(SECOND / 2)));
    }
}
