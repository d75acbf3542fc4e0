//! Limits on one query.

use std::time::Duration;

/// Limits on one query, enforced whatever its text says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryLimits {
    /// Maximum number of rows; the next row is only read to detect that it exists.
    pub rows: usize,
    /// Maximum number of bytes of values.
    pub bytes: usize,
    /// Timeout of the query, without connecting.
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
