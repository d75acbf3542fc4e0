//! The latest events of a run.

use std::collections::VecDeque;

use quillet_core::runs::{LogPage, LoggedEvent};

use super::RunOptions;

/// Events in order, within limits.
#[derive(Debug, Default)]
pub(crate) struct EventLog {
    events: VecDeque<LoggedEvent>,
    bytes: usize,
    /// Number of the last event.
    last: u64,
}

impl EventLog {
    /// Adds events; existing ones are skipped, so a call can be repeated.
    pub(crate) fn add(&mut self, events: &[LoggedEvent], options: &RunOptions) {
        for event in events {
            if event.sequence <= self.last {
                continue;
            }
            self.last = event.sequence;
            self.bytes += size(event);
            self.events.push_back(event.clone());
        }
        while self.events.len() > options.max_log_events || self.bytes > options.max_log_bytes {
            let Some(event) = self.events.pop_front() else {
                return;
            };
            self.bytes -= size(&event);
        }
    }

    /// Returns the number of the last event, or 0 if there is none.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the events after a number.
    pub(crate) fn after(&self, after: u64, ended: bool) -> LogPage {
        let first = self.events.partition_point(|event| event.sequence <= after);
        LogPage {
            events: self.events.range(first..).cloned().collect(),
            ended,
            lost: false,
            gap: missing(after, self.events.get(first), self.last),
        }
    }
}

/// Whether events between number `after` and the first stored one were removed; `last` is the
/// number of the last event.
pub(crate) fn missing(after: u64, first: Option<&LoggedEvent>, last: u64) -> bool {
    match first {
        Some(event) => event.sequence - 1 > after,
        None => after < last,
    }
}

fn size(event: &LoggedEvent) -> usize {
    event.name.len() + event.data.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(numbers: std::ops::RangeInclusive<u64>) -> Vec<LoggedEvent> {
        let event = |sequence| LoggedEvent {
            sequence,
            name: "e".into(),
            data: "123456789".into(),
        };
        numbers.map(event).collect()
    }

    #[test]
    fn the_newest_events_stay_and_a_gap_is_told() {
        let options = RunOptions {
            max_log_events: 5,
            max_log_bytes: 30,
            ..RunOptions::default()
        };
        let mut log = EventLog::default();
        log.add(&events(1..=2), &options);
        assert!(!log.after(0, false).gap);
        log.add(&events(1..=10), &options);
        let numbers = |page: &LogPage| -> Vec<u64> {
            page.events.iter().map(|event| event.sequence).collect()
        };
        for (after, expected, gap) in [
            (0, vec![8, 9, 10], true),
            (6, vec![8, 9, 10], true),
            (7, vec![8, 9, 10], false),
            (9, vec![10], false),
            (10, vec![], false),
            (u64::MAX, vec![], false),
        ] {
            let page = log.after(after, true);
            assert_eq!((numbers(&page), page.gap), (expected, gap), "after {after}");
            assert!(page.ended);
        }
        assert_eq!(log.bytes(), 30);
    }

    #[test]
    fn an_event_larger_than_the_log_is_a_gap() {
        let options = RunOptions {
            max_log_bytes: 5,
            ..RunOptions::default()
        };
        let mut log = EventLog::default();
        log.add(&events(1..=1), &options);
        let page = log.after(0, false);
        assert_eq!((page.events.len(), page.gap, log.bytes()), (0, true, 0));
    }
}
