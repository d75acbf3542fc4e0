//! Formats versions and labels for terminals.

use quillet_core::history::{LATEST, LabelTarget, Labels, TrafficSplit, Version};

use crate::command::trace;

/// Number of digest digits to show. `@sha256:` accepts them as a prefix.
const DIGITS: usize = 8;

/// Formats a time in UTC.
pub(super) fn moment(ms: u64) -> String {
    trace::moment(ms.saturating_mul(1000))
}

/// Returns the first digits of a version's digest.
pub(super) fn digest(version: &Version) -> String {
    version.digest.to_string().chars().take(DIGITS).collect()
}

/// Returns the labels of a version: `production`, `next 10%`.
pub(super) fn labels_of(labels: &Labels, number: u64, is_latest: bool) -> Vec<String> {
    let latest = is_latest.then(|| LATEST.to_owned());
    let others = labels.0.iter().filter_map(|(name, target)| match target {
        LabelTarget::Version(at) => (*at == number).then(|| name.clone()),
        LabelTarget::Split(split) => {
            let weight = split.versions.get(&number).filter(|weight| **weight > 0)?;
            Some(format!("{name} {}", share(*weight, split)))
        }
    });
    latest.into_iter().chain(others).collect()
}

/// Formats the target of a label: `4`, `3 90%, 4 10% by user`.
pub(super) fn target(target: &LabelTarget) -> String {
    let split = match target {
        LabelTarget::Version(number) => return number.to_string(),
        LabelTarget::Split(split) => split,
    };
    let parts = split.versions.iter();
    let parts = parts.map(|(number, weight)| format!("{number} {}", share(*weight, split)));
    let parts: Vec<String> = parts.collect();
    let by = split.by.as_deref();
    let by = by.map_or_else(String::new, |by| format!(" by {by}"));
    format!("{}{by}", parts.join(", "))
}

/// Formats a weight as a percentage of the total, with as few digits as needed.
fn share(weight: u32, split: &TrafficSplit) -> String {
    let total: u64 = split
        .versions
        .values()
        .map(|weight| u64::from(*weight))
        .sum();
    // An invalid label may have a total weight of zero; `max` avoids a division by zero.
    let percent = 100.0 * f64::from(weight) / (total.max(1) as f64);
    let rounded = (percent * 100.0).round() / 100.0;
    format!("{rounded}%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_shown_with_their_shares() {
        let labels = r#"{"a": 3, "next": {"versions": {"3": 2, "4": 1, "5": 0}, "by": "user"}}"#;
        let labels = Labels::parse(labels).unwrap();
        for (number, is_latest, expected) in [
            (3, false, &["a", "next 66.67%"][..]),
            (4, true, &["latest", "next 33.33%"]),
            (5, false, &[]),
        ] {
            assert_eq!(labels_of(&labels, number, is_latest), expected, "{number}");
        }
        let shown: Vec<String> = labels.0.values().map(target).collect();
        assert_eq!(shown, ["3", "3 66.67%, 4 33.33%, 5 0% by user"]);
    }
}
