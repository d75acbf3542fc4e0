//! Sets of version numbers.

use std::fmt;

/// Numbers in ascending order, stored and encoded as ranges: `1-4,7`. Ten thousand consecutive
/// versions are seven bytes, so the text can be read and compared with every write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct VersionRanges(Vec<(u64, u64)>);

impl VersionRanges {
    /// Parses the encoded form; `None` if it is invalid.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for part in text.split(',').filter(|_| !text.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (first.parse().ok()?, last.parse().ok()?);
            let before = ranges.last().map_or(0, |(_, last)| *last);
            if first <= before || last < first {
                return None;
            }
            ranges.push((first, last));
        }
        Some(VersionRanges(ranges))
    }

    /// Returns the highest number.
    pub(crate) fn last(&self) -> Option<u64> {
        self.0.last().map(|(_, last)| *last)
    }

    pub(crate) fn contains(&self, number: u64) -> bool {
        let at = self.0.partition_point(|(_, last)| *last < number);
        self.0.get(at).is_some_and(|(first, _)| *first <= number)
    }

    /// Adds a number that is higher than all others.
    pub(crate) fn push(&mut self, number: u64) {
        match self.0.last_mut() {
            Some((_, last)) if *last >= number => {}
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => self.0.push((number, number)),
        }
    }

    /// Removes a number.
    pub(crate) fn remove(&mut self, number: u64) {
        let at = self.0.partition_point(|(_, last)| *last < number);
        let Some((first, last)) = self
            .0
            .get(at)
            .copied()
            .filter(|(first, _)| *first <= number)
        else {
            return;
        };
        let left = (first < number).then(|| (first, number - 1));
        let right = (number < last).then(|| (number + 1, last));
        self.0.splice(at..=at, left.into_iter().chain(right));
    }

    /// Returns the numbers below a limit in descending order; all without a limit.
    pub(crate) fn below(&self, before: Option<u64>) -> impl Iterator<Item = u64> {
        let highest = before.map_or(u64::MAX, |before| before.saturating_sub(1));
        let ranges = self.0.iter().rev();
        ranges.flat_map(move |(first, last)| (*first..=(*last).min(highest)).rev())
    }
}

impl fmt::Display for VersionRanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (first, last)) in self.0.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(f, "{comma}{first}")?;
            if last > first {
                write!(f, "-{last}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_and_written() {
        for (text, numbers) in [
            ("", vec![]),
            ("3", vec![3]),
            ("1-4,7", vec![7, 4, 3, 2, 1]),
            ("2,4,9-10", vec![10, 9, 4, 2]),
        ] {
            let parsed = VersionRanges::parse(text).unwrap();
            assert_eq!(parsed.to_string(), text);
            assert_eq!(parsed.below(None).collect::<Vec<_>>(), numbers);
            assert_eq!(parsed.last(), numbers.first().copied());
            for number in 0..12 {
                assert_eq!(parsed.contains(number), numbers.contains(&number));
            }
        }
        for text in [
            "a", "0", "4-1", "1,1", "3,2", "1-3,3", "1,", "-1", "1-2-3", " 1",
        ] {
            assert_eq!(VersionRanges::parse(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_come_and_go() {
        let mut numbers = VersionRanges::default();
        for number in [1, 2, 3, 7, 8, 7] {
            numbers.push(number);
        }
        assert_eq!(numbers.to_string(), "1-3,7-8");
        assert_eq!(numbers.below(Some(8)).collect::<Vec<_>>(), [7, 3, 2, 1]);
        assert_eq!(numbers.below(Some(1)).count(), 0);
        for (number, rest) in [(2, "1,3,7-8"), (5, "1,3,7-8"), (8, "1,3,7"), (1, "3,7")] {
            numbers.remove(number);
            assert_eq!(numbers.to_string(), rest);
        }
        numbers.push(u64::MAX);
        assert_eq!(numbers.below(None).next(), Some(u64::MAX));
    }
}
