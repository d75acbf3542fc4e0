//! Settings of the HTTP server with their defaults.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use quillet_host::definitions::PermissionSet;
use secrecy::SecretString;

/// Configuration of the HTTP server.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Address and port. Port 0 selects a free port. Default `127.0.0.1:8080`.
    pub listen: SocketAddr,
    /// Path prefix of every route, such as `/ai-prompt-shell` for clients of that service. Default
    /// empty. `/healthz`, `/readyz` and `/metrics` stay at the root, where probes expect them.
    pub prefix: String,
    /// Tokens for `Authorization: Bearer TOKEN` or as the password of Basic authentication. They
    /// have all permissions and the names `token-1`, `token-2` and so on. Default none: without any
    /// tokens, named or not, every client that reaches the address may call.
    pub tokens: Vec<SecretString>,
    /// Tokens with their own names and permissions. Default none.
    pub named_tokens: Vec<NamedToken>,
    /// Whether `/healthz` and `/readyz` answer without a token. Default `true`.
    pub open_health: bool,
    /// Whether `/metrics` answers without a token. Default `false`.
    pub open_metrics: bool,
    /// Whether to permit a non-loopback address without a token. Default `false`.
    pub insecure: bool,
    /// Host names of this server, such as `prompts.example` or `*.example`, for every port or one
    /// port (`prompts.example:8443`), or `*`. Loopback names and IP addresses are always accepted.
    /// Default none.
    pub hosts: Vec<String>,
    /// Origins (`https://host`, or `*`) whose web pages may call. Default none: only pages of this
    /// server may call.
    pub origins: Vec<String>,
    /// Whether `POST /api/render` accepts templates in the request. Default: only on a loopback
    /// address.
    pub inline_templates: Option<bool>,
    /// Whether clients may write, remove and test database connections. Such a client can make this
    /// server open any address and any SQLite file. Default: on a loopback address, or if tokens
    /// are set.
    pub change_databases: Option<bool>,
    /// Whether `/readyz` returns 503 while the store is unavailable and prompts come from the
    /// cache. Default `false`: an outage hits all replicas together, and 503 would take all of them
    /// out of rotation although their caches can serve.
    pub unready_when_stale: bool,
    /// Whether every request is logged at `info` with id, method, path, status and time. Default
    /// `false`: requests are logged at `debug`.
    pub access_log: bool,
    /// Maximum size of a request body in bytes. Larger bodies get 413. Default 1 MiB.
    pub body_bytes: usize,
    /// Maximum number of open connections. Further ones wait to be accepted. Default 10,000.
    pub connections: usize,
    /// Rate limit of one client (token or address). Default none.
    pub rate: Option<Rate>,
    /// Timeout from the first byte of a request to the end of its headers. The connection is then
    /// closed. Default 10 s.
    pub header_time: Duration,
    /// Timeout for the body of a request, which then gets 408. Default 30 s.
    pub body_time: Duration,
    /// Time after which an idle connection is closed. Default 75 s.
    pub idle_time: Duration,
    /// Time after which a client that does not read its response is disconnected. Default 60 s.
    pub write_time: Duration,
    /// Timeout of a chat that is not streamed, which then gets 503. Default 300 s.
    pub chat_time: Duration,
    /// Timeout of a request with `min_revision` for that revision. The request then gets 409.
    /// Default 1 s.
    pub revision_time: Duration,
    /// Interval of the comments that keep a silent stream alive through proxies. Default 15 s.
    pub ping_time: Duration,
    /// Time that open responses have to finish at shutdown. Default 25 s.
    pub drain_time: Duration,
}

impl Default for ServerConfig {
    fn default() -> Self {
        ServerConfig {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            prefix: String::new(),
            tokens: Vec::new(),
            named_tokens: Vec::new(),
            open_health: true,
            open_metrics: false,
            insecure: false,
            hosts: Vec::new(),
            origins: Vec::new(),
            inline_templates: None,
            change_databases: None,
            unready_when_stale: false,
            access_log: false,
            body_bytes: 1 << 20,
            connections: 10_000,
            rate: None,
            // Headers fit into a few packets, so only slow or hostile clients need more time.
            header_time: Duration::from_secs(10),
            body_time: Duration::from_secs(30),
            // This is longer than the usual 60 s idle timeout of proxies, so that the proxy closes
            // idle connections first. The proxy then never reuses a connection that this server is
            // closing.
            idle_time: Duration::from_secs(75),
            write_time: Duration::from_secs(60),
            chat_time: Duration::from_secs(300),
            revision_time: Duration::from_secs(1),
            // This is well below the usual 60 s read timeout of proxies.
            ping_time: Duration::from_secs(15),
            drain_time: Duration::from_secs(25),
        }
    }
}

impl ServerConfig {
    /// Returns whether clients must send a token.
    #[must_use]
    pub fn has_tokens(&self) -> bool {
        !self.tokens.is_empty() || !self.named_tokens.is_empty()
    }
}

/// A token with the name and the permissions of its owner.
#[derive(Clone, Debug)]
pub struct NamedToken {
    /// The name in logs, as the author of versions, and as the user of Basic authentication. It
    /// cannot contain a colon.
    pub name: String,
    /// The secret that clients send.
    pub secret: SecretString,
    /// The permissions of the token.
    pub rights: PermissionSet,
}

/// A rate limit for each client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Sustained requests per second.
    pub per_second: f64,
    /// Burst of requests permitted after a pause.
    pub burst: u32,
}
