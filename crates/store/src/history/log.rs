//! In-memory audit log.

use std::collections::VecDeque;

use quillet_core::history::{LogEntry, LogFilter};

/// Maximum number of entries in memory; the oldest are removed.
pub(crate) const MOST_LINES: usize = 100_000;

/// Entries in chronological order.
#[derive(Debug, Default)]
pub(crate) struct MemoryLog {
    lines: VecDeque<LogEntry>,
    last: u64,
}

impl MemoryLog {
    /// Appends an entry and assigns its number.
    pub(crate) fn append(&mut self, entry: &LogEntry) {
        self.last += 1;
        self.lines.push_back(LogEntry {
            number: self.last,
            ..entry.clone()
        });
        if self.lines.len() > MOST_LINES {
            self.lines.pop_front();
        }
    }

    /// Returns the entries below a number, newest first.
    pub(crate) fn below(
        &self,
        filter: &LogFilter,
        before: Option<u64>,
        limit: usize,
    ) -> Vec<LogEntry> {
        let older = |line: &&LogEntry| before.is_none_or(|before| line.number < before);
        let lines = self.lines.iter().rev().filter(older);
        let lines = lines.filter(|line| filter.matches(line));
        lines.take(limit).cloned().collect()
    }
}
