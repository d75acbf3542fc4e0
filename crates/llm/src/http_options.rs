//! Options of connections to providers.

use std::time::Duration;

/// Options of connections to providers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpOptions {
    /// Connection timeout. Default 10 s.
    pub connect: Duration,
    /// How long an idle connection stays open. Default 90 s.
    pub idle: Duration,
    /// Link-local hosts and addresses, and cloud metadata services, that are allowed. By default
    /// none are allowed, because such services provide credentials and base URLs may come from
    /// requests.
    pub allow: Vec<String>,
}

impl Default for HttpOptions {
    fn default() -> Self {
        HttpOptions {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(90),
            allow: Vec::new(),
        }
    }
}
