//! Limits the number of logged rejections, so that the log shows attempts of each actor without
//! losing changes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use quillet_core::lock::lock;

/// Rejections of one actor that are logged individually within [`TIME`].
pub(super) const MOST: u64 = 60;
const TIME: Duration = Duration::from_secs(60);

/// Recent rejections by actor. The number of actors is limited by the number of tokens.
#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<HashMap<Arc<str>, RefusalCount>>);

#[derive(Debug)]
struct RefusalCount {
    since: Instant,
    count: u64,
}

/// Decision about logging a rejection.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RefusalDecision {
    /// Whether it is logged.
    pub(super) is_noted: bool,
    /// Earlier rejections of this actor that were neither logged nor summarized.
    pub(super) left_out: u64,
}

impl Refusals {
    pub(super) fn take(&self, who: &Arc<str>, now: Instant) -> RefusalDecision {
        let mut all = lock(&self.0);
        let counted = all.entry(who.clone()).or_insert(RefusalCount {
            since: now,
            count: 0,
        });
        let mut left_out = 0;
        if now.duration_since(counted.since) >= TIME {
            left_out = counted.count.saturating_sub(MOST);
            *counted = RefusalCount {
                since: now,
                count: 0,
            };
        }
        counted.count += 1;
        RefusalDecision {
            is_noted: counted.count <= MOST,
            left_out,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_a_few_lines_and_is_told() {
        let refusals = Refusals::default();
        let (ci, other): (Arc<str>, Arc<str>) = ("ci".into(), "other".into());
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let noted = |left_out| RefusalDecision {
            is_noted: true,
            left_out,
        };
        for _ in 0..MOST {
            assert_eq!(refusals.take(&ci, at(1)), noted(0));
        }
        for second in [1, 2, 60] {
            assert!(!refusals.take(&ci, at(second)).is_noted);
        }
        assert_eq!(refusals.take(&other, at(60)), noted(0));
        assert_eq!(refusals.take(&ci, at(61)), noted(3));
        assert_eq!(refusals.take(&ci, at(61)), noted(0));
        assert_eq!(refusals.take(&ci, at(1000)), noted(0));
    }
}
