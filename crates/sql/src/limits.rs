//! Limits on one query.

use std::time::Duration;

/// Limits on one query, enforced independently of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryLimits {
    /// Maximum number of rows. The reader requests one more row, only to detect whether rows are
    /// missing.
    pub rows: usize,
    /// Maximum total size of the values in bytes.
    pub bytes: usize,
    /// Timeout of the query, excluding the time to connect.
    pub timeout: Duration,
}

impl Default for QueryLimits {
    /// 1,000 rows and 30 s, as in table-chat, and 16 MiB.
    fn default() -> Self {
        QueryLimits {
            rows: 1_000,
            bytes: 16 << 20,
            timeout: Duration::from_secs(30),
        }
    }
}
