//! Limits on one query.

use std::time::Duration;

/// Bounds on one query. All of them hold whatever the query says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryLimits {
    /// Rows that are read; the next one is looked at only to know that it is there.
    pub rows: usize,
    /// Bytes of values that are read.
    pub bytes: usize,
    /// Time for the whole query, connecting apart.
    pub timeout: Duration,
}

impl Default for QueryLimits {
    /// 1,000 rows and 30 s, as table-chat, and 16 MiB.
    fn default() -> Self {
        QueryLimits {
            rows: 1_000,
            bytes: 16 << 20,
            timeout: Duration::from_secs(30),
        }
    }
}
