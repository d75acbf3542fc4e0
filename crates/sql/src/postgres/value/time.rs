//! Decodes dates, times and intervals. They count days and microseconds from 2000-01-01. Their
//! range, 4713 BC to the year 294276, exceeds that of date libraries.

use std::fmt::Write;

use super::bytes::Bytes;

const DAY: i64 = 86_400_000_000;

/// Formats `2026-11-22`, `0044-03-15 BC` or `infinity`.
pub(super) fn date(bytes: &[u8]) -> Option<String> {
    let days = Bytes(bytes).i32()?;
    Some(match days {
        i32::MAX => "infinity".to_owned(),
        i32::MIN => "-infinity".to_owned(),
        _ => {
            let (day, suffix) = day(days.into());
            day + suffix
        }
    })
}

/// Formats `13:45:00.5`.
pub(super) fn time(bytes: &[u8]) -> Option<String> {
    Some(clock(Bytes(bytes).i64()?))
}

/// Formats `2026-11-22T13:45:00`, followed by the zone and, for years before 1, by ` BC`.
pub(super) fn timestamp(bytes: &[u8], zone: &str) -> Option<String> {
    let microseconds = Bytes(bytes).i64()?;
    Some(match microseconds {
        i64::MAX => "infinity".to_owned(),
        i64::MIN => "-infinity".to_owned(),
        _ => {
            let (day, suffix) = day(microseconds.div_euclid(DAY));
            let clock = clock(microseconds.rem_euclid(DAY));
            format!("{day}T{clock}{zone}{suffix}")
        }
    })
}

/// Formats `1 year 2 mons -3 days 04:05:06.5`, in PostgreSQL's own style.
pub(super) fn interval(bytes: &[u8]) -> Option<String> {
    let mut bytes = Bytes(bytes);
    let (microseconds, days, months) = (bytes.i64()?, bytes.i32()?, bytes.i32()?);
    // PostgreSQL 17 supports infinite intervals.
    match (microseconds, days, months) {
        (i64::MAX, i32::MAX, i32::MAX) => return Some("infinity".to_owned()),
        (i64::MIN, i32::MIN, i32::MIN) => return Some("-infinity".to_owned()),
        _ => {}
    }
    let mut parts: Vec<String> = Vec::new();
    let mut is_before = false;
    for (count, unit) in [(months / 12, "year"), (months % 12, "mon"), (days, "day")] {
        if count != 0 {
            // A field after a negative one shows its sign, and any count except 1 is plural.
            let sign = if is_before && count > 0 { "+" } else { "" };
            let plural = if count == 1 { "" } else { "s" };
            parts.push(format!("{sign}{count} {unit}{plural}"));
            is_before = count < 0;
        }
    }
    if microseconds != 0 || parts.is_empty() {
        let sign = match microseconds {
            ..0 => "-",
            _ if is_before => "+",
            _ => "",
        };
        let size = i64::try_from(microseconds.unsigned_abs()).unwrap_or(i64::MAX);
        parts.push(format!("{sign}{}", clock(size)));
    }
    Some(parts.join(" "))
}

/// Formats nonnegative microseconds as `13:45:00.5`; hours may exceed 24.
fn clock(microseconds: i64) -> String {
    let seconds = microseconds / 1_000_000;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let mut text = format!("{hours:02}:{minutes:02}:{:02}", seconds % 60);
    let fraction = microseconds % 1_000_000;
    if fraction != 0 {
        let _ = write!(text, ".{fraction:06}");
        text.truncate(text.trim_end_matches('0').len());
    }
    text
}

/// Converts a count of days to year, month and day, and ` BC` for years before 1.
///
/// Counts in eras of 400 years that start in March, so that leap days come last (H. Hinnant's
/// algorithm `civil_from_days`).
fn day(days_from_2000: i64) -> (String, &'static str) {
    // This is the number of days from 0000-03-01 to 2000-01-01.
    let days = days_from_2000 + 730_425;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    // There is no year 0: 1 BC comes before 1.
    let (year, suffix) = if year > 0 {
        (year, "")
    } else {
        (1 - year, " BC")
    };
    (format!("{year:04}-{month:02}-{day:02}"), suffix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_from_2000() {
        for (days, text) in [
            (0, "2000-01-01"),
            (59, "2000-02-29"),
            (60, "2000-03-01"),
            (-1, "1999-12-31"),
            (9_822, "2026-11-22"),
            (-730_119, "0001-01-01"),
            (-730_120, "0001-12-31 BC"),
            (i32::MAX, "infinity"),
            (i32::MIN, "-infinity"),
        ] {
            assert_eq!(date(&i32::to_be_bytes(days)).as_deref(), Some(text));
        }
    }

    #[test]
    fn spans_are_written_as_postgresql_does() {
        let hour = 3_600_000_000_i64;
        for (microseconds, days, months, text) in [
            (0, 0, 0, "00:00:00"),
            (
                hour * 4 + 5_500_000,
                3,
                14,
                "1 year 2 mons 3 days 04:00:05.5",
            ),
            (-hour, 1, -1, "-1 mons +1 day -01:00:00"),
            (hour, -1, 0, "-1 days +01:00:00"),
            (hour * 100, 0, 0, "100:00:00"),
        ] {
            let mut bytes = i64::to_be_bytes(microseconds).to_vec();
            bytes.extend(i32::to_be_bytes(days));
            bytes.extend(i32::to_be_bytes(months));
            assert_eq!(interval(&bytes).as_deref(), Some(text));
        }
    }
}
