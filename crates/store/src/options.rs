//! Settings that an address does not carry.

use std::path::PathBuf;
use std::time::Duration;

/// Options of stores. Every limit has a default; an address may override the ones that belong to it
/// (`?prefix=`, `?ca=`, `?insecure=`).
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// What Redis keys begin with, `shenma:` unless set.
    pub prefix: Option<String>,
    /// Certificate authorities (PEM) to trust for `rediss://` in place of the public ones.
    pub ca_file: Option<PathBuf>,
    /// Accept any certificate. Only for tests and for networks that are safe without TLS.
    pub insecure: bool,
    /// How long connecting to a Redis node may take, greeting included; 1 s.
    pub connect_timeout: Duration,
    /// How long a Redis command may take; 1 s.
    pub response_timeout: Duration,
    /// Longest pause between two attempts to connect; 500 ms.
    pub retry_pause: Duration,
    /// How often a store looks for changes where it gets no notice of them; 900 ms.
    /// A look that is slow makes the pauses longer: looking takes a tenth of the time at most.
    pub poll_interval: Duration,
    /// Largest file that a folder store reads, in bytes; 4 MiB.
    pub max_file_bytes: usize,
    /// Largest value that is read from Redis, in bytes; 8 MiB.
    pub max_value_bytes: usize,
    /// Versions that are kept of one definition; 10,000. The oldest go first, never one that a
    /// label names.
    pub max_versions: usize,
}

impl Default for StoreOptions {
    fn default() -> Self {
        StoreOptions {
            prefix: None,
            ca_file: None,
            insecure: false,
            connect_timeout: Duration::from_secs(1),
            response_timeout: Duration::from_secs(1),
            retry_pause: Duration::from_millis(500),
            poll_interval: Duration::from_millis(900),
            max_file_bytes: 4 << 20,
            max_value_bytes: 8 << 20,
            max_versions: 10_000,
        }
    }
}
