//! The log in memory.

use std::collections::VecDeque;

use quillet_core::history::{LogEntry, LogFilter};

/// Lines that are kept where they take memory; the oldest go first.
pub(crate) const MOST_LINES: usize = 100_000;

/// Lines in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct MemoryLog {
    lines: VecDeque<LogEntry>,
    last: u64,
}

impl MemoryLog {
    /// Appends a line and numbers it.
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

    /// Lines below a number, newest first.
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
