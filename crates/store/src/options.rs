//! Store options that an address does not contain.

use std::path::PathBuf;
use std::time::Duration;

/// Options of stores. Every limit has a default. Parameters of the address (`?prefix=`, `?ca=`,
/// `?insecure=`) override the corresponding options.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Prefix of Redis keys; `shenma:` by default.
    pub prefix: Option<String>,
    /// PEM file of certificate authorities that are trusted for `rediss://` instead of the public
    /// authorities.
    pub ca_file: Option<PathBuf>,
    /// Accepts any certificate. Use this only for tests and in networks that are secure without
    /// TLS.
    pub insecure: bool,
    /// Timeout of connecting to a Redis node, including the handshake; 1 s.
    pub connect_timeout: Duration,
    /// Timeout of a Redis command; 1 s.
    pub response_timeout: Duration,
    /// Maximum pause between two connection attempts; 500 ms.
    pub retry_pause: Duration,
    /// Polling interval for changes, if the store sends no notifications; 900 ms. The interval
    /// grows if polling is slow, so polling takes at most a tenth of the time.
    pub poll_interval: Duration,
    /// Maximum size of a file in a folder store, in bytes; 4 MiB.
    pub max_file_bytes: usize,
    /// Maximum size of a value in Redis, in bytes; 8 MiB.
    pub max_value_bytes: usize,
    /// Maximum number of versions of a definition; 10,000. Beyond this number, the oldest versions
    /// without labels are deleted.
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
