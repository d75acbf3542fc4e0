//! Ranges: `1..5`, `1>..<5`, `1.5..5.5`.

use quillet_core::{Map, Value};

use crate::expression::{from_number, parse_number};

/// A range of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NumberRange {
    /// The start. Finite.
    pub start: f64,
    /// The end. Finite.
    pub end: f64,
    /// `>..`: whether the start is excluded.
    pub excludes_start: bool,
    /// `..<`: whether the end is excluded.
    pub excludes_end: bool,
}

/// Error for a step that is zero or not finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the step of a range must be a number other than 0")]
pub struct StepError;

/// Iterator over the numbers of a range. The n-th number is start + n·step, so that rounding errors
/// of steps such as 0.1 do not accumulate.
#[derive(Clone, Debug)]
pub struct Values {
    range: NumberRange,
    step: f64,
    next: u64,
    last: Option<u64>,
}

impl NumberRange {
    /// Parses a range or a count. The count `3` is the range `1..3`.
    ///
    /// ```
    /// use quillet_script::pattern::NumberRange;
    ///
    /// let range = NumberRange::parse("1..5").unwrap();
    /// assert!(range.contains(5.0));
    /// assert_eq!(NumberRange::parse("3"), Some(NumberRange::count(3.0)));
    /// assert_eq!(NumberRange::parse("three"), None);
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<NumberRange> {
        NumberRange::between(text).or_else(|| {
            let count = finite(text)?;
            (count.fract() == 0.0).then_some(NumberRange::count(count))
        })
    }

    /// Parses a range that has both a start and an end.
    ///
    /// ```
    /// use quillet_script::pattern::NumberRange;
    ///
    /// let range = NumberRange::between("1>..<5").unwrap();
    /// assert!(range.contains(2.5));
    /// assert!(!range.contains(1.0) && !range.contains(5.0));
    /// assert_eq!(NumberRange::between("3"), None);
    /// ```
    #[must_use]
    pub fn between(text: &str) -> Option<NumberRange> {
        let (start, end) = text.split_once("..")?;
        let (start, excludes_start) = cut(start.trim_end(), str::strip_suffix, '>');
        let (end, excludes_end) = cut(end.trim_start(), str::strip_prefix, '<');
        Some(NumberRange {
            start: finite(start)?,
            end: finite(end)?,
            excludes_start,
            excludes_end,
        })
    }

    /// Creates the range from 1 to `count`.
    #[must_use]
    pub fn count(count: f64) -> NumberRange {
        NumberRange {
            start: 1.0,
            end: count,
            excludes_start: false,
            excludes_end: false,
        }
    }

    /// Returns whether the range contains a number. Either end may be the lower one.
    #[must_use]
    pub fn contains(&self, number: f64) -> bool {
        let (low, high) = (self.start.min(self.end), self.start.max(self.end));
        let excluded = (self.excludes_start && number == self.start)
            || (self.excludes_end && number == self.end);
        low <= number && number <= high && !excluded
    }

    /// Iterates over the numbers of the range with a step. The iterator is empty if the step leads
    /// away from the end.
    ///
    /// # Errors
    /// A step of zero, or one that is not finite.
    ///
    /// # Examples
    /// ```
    /// use quillet_core::Value;
    /// use quillet_script::pattern::NumberRange;
    ///
    /// let range = NumberRange::parse("1..5").unwrap();
    /// let numbers: Vec<Value> = range.values(2.0)?.collect();
    /// assert_eq!(numbers, [Value::Int(1), Value::Int(3), Value::Int(5)]);
    /// assert!(range.values(0.0).is_err());
    /// # Ok::<(), quillet_script::pattern::StepError>(())
    /// ```
    pub fn values(&self, step: f64) -> Result<Values, StepError> {
        if step == 0.0 || !step.is_finite() {
            return Err(StepError);
        }
        // The tolerance makes 0..0.3 by 0.1 include its end, because 0.3/0.1 is 2.9999999999999996.
        let steps = ((self.end - self.start) / step + 1e-9).floor();
        let reaches_end = self.excludes_end && close(self.start + steps * step, self.end);
        let last = steps - f64::from(u8::from(reaches_end));
        Ok(Values {
            range: *self,
            step,
            next: u64::from(self.excludes_start),
            last: (last >= 0.0).then_some(last as u64),
        })
    }

    /// Returns the range as the value that `$for` uses: `{start, end, step}`.
    #[must_use]
    pub fn to_value(&self, step: f64) -> Value {
        let entries = [("start", self.start), ("end", self.end), ("step", step)];
        let entries = entries.map(|(key, number)| (key, from_number(number)));
        Value::Map(entries.into_iter().collect::<Map>())
    }
}

impl Iterator for Values {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        if self.next > self.last? {
            return None;
        }
        let number = self.range.start + self.next as f64 * self.step;
        self.next += 1;
        // The tolerance may have moved the last number past the end.
        let beyond = (number - self.range.end) * self.step > 0.0;
        Some(from_number(if beyond { self.range.end } else { number }))
    }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs().max(1.0)
}

fn finite(text: &str) -> Option<f64> {
    let text = text.trim();
    let number = parse_number(text);
    (!text.is_empty() && number.is_finite()).then_some(number)
}

type StripSides = for<'a> fn(&'a str, char) -> Option<&'a str>;

fn cut(text: &str, strip: StripSides, mark: char) -> (&str, bool) {
    match strip(text, mark) {
        Some(rest) => (rest, true),
        None => (text, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str, step: f64) -> String {
        let values = NumberRange::parse(text).unwrap().values(step).unwrap();
        let values: Vec<Value> = values.take(12).collect();
        quillet_core::json::to_string(&Value::from(values))
    }

    #[test]
    fn ranges_go_from_start_to_end() {
        for (text, step, expected) in [
            ("3", 1.0, "[1,2,3]"),
            ("0", 1.0, "[]"),
            ("1.5..5.5", 1.0, "[1.5,2.5,3.5,4.5,5.5]"),
            ("1.5..3", 0.5, "[1.5,2,2.5,3]"),
            ("1>..<4", 1.0, "[2,3]"),
            ("1 .. <4", 1.0, "[1,2,3]"),
            ("-1..1", 1.0, "[-1,0,1]"),
            ("5..1", -2.0, "[5,3,1]"),
            ("5..1", 1.0, "[]"),
            ("5>..<1", -2.0, "[3]"),
            ("0..0.3", 0.1, "[0,0.1,0.2,0.3]"),
            ("0..<0.3", 0.1, "[0,0.1,0.2]"),
            ("2>..2", 1.0, "[]"),
            ("0..9e18", 1.0, "[0,1,2,3,4,5,6,7,8,9,10,11]"),
        ] {
            assert_eq!(listed(text, step), expected, "{text} by {step}");
        }
        assert_eq!(NumberRange::count(3.0).values(0.0).unwrap_err(), StepError);
        for text in [
            "",
            "a..b",
            "1..",
            "..2",
            "1.5",
            "[1,2]",
            "1..Infinity",
            "1<..2",
        ] {
            assert_eq!(NumberRange::parse(text), None, "{text}");
        }
    }

    #[test]
    fn ranges_contain_their_ends_unless_told() {
        for (text, number, inside) in [
            ("1..5", 1.0, true),
            ("1..5", 5.0, true),
            ("1..<5", 5.0, false),
            ("1>..5", 1.0, false),
            ("1>..5", 1.5, true),
            ("5..1", 3.0, true),
            ("-2.5..-1", -2.0, true),
        ] {
            assert_eq!(
                NumberRange::parse(text).unwrap().contains(number),
                inside,
                "{text}"
            );
        }
        assert!(!NumberRange::count(3.0).contains(f64::NAN));
    }
}
