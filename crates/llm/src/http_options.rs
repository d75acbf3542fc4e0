//! Options of connections to providers.

use std::time::Duration;

/// Options of connections to providers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpOptions {
    /// Timeout of connecting. Default 10 s.
    pub connect: Duration,
    /// How long an idle connection stays open. Default 90 s.
    pub idle: Duration,
    /// Hosts and addresses that are allowed although they are link-local or a cloud metadata
    /// service. These hand out credentials and base URLs may come from requests, so none is allowed
    /// by default.
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
