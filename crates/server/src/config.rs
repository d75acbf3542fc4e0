//! Settings of the HTTP server with their defaults.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use quillet_host::definitions::PermissionSet;
use secrecy::SecretString;

/// Configuration of the HTTP server.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Address and port to listen on. Port 0 selects a free port. Default `127.0.0.1:8080`.
    pub listen: SocketAddr,
    /// Path prefix of every route, such as `/ai-prompt-shell` for clients written for
    /// ai-prompt-shell. Default empty. `/healthz`, `/readyz` and `/metrics` stay at the root, where
    /// probes expect them.
    pub prefix: String,
    /// Tokens that clients send as `Authorization: Bearer TOKEN` or as the password of Basic
    /// authentication. These tokens have all permissions and are named `token-1`, `token-2` and so
    /// on. There are none by default. If neither `tokens` nor `named_tokens` is set, the server
    /// accepts requests from every client that can reach the address.
    pub tokens: Vec<SecretString>,
    /// Tokens that have their own names and permissions. Default none.
    pub named_tokens: Vec<NamedToken>,
    /// Whether `/healthz` and `/readyz` answer without a token. Default `true`.
    pub open_health: bool,
    /// Whether `/metrics` answers without a token. Default `false`.
    pub open_metrics: bool,
    /// Whether the server may listen on a non-loopback address although no token is set. Default
    /// `false`.
    pub insecure: bool,
    /// Accepted host names of this server, such as `prompts.example` or `*.example`. A name is
    /// valid for every port unless it includes one (`prompts.example:8443`). `*` accepts every
    /// name. Loopback names and IP addresses are always accepted. Default none.
    pub hosts: Vec<String>,
    /// Origins (`https://host`, or `*`) whose web pages may send requests. By default, only pages
    /// of this server may send requests.
    pub origins: Vec<String>,
    /// Whether `POST /api/render` accepts templates in the request. By default, only a server on a
    /// loopback address accepts them.
    pub inline_templates: Option<bool>,
    /// Whether clients may create, change, remove and test database connections. Clients with this
    /// ability can make the server open any address and any SQLite file. By default, this is
    /// allowed on a loopback address, or if tokens are set.
    pub change_databases: Option<bool>,
    /// Whether `/readyz` returns 503 while the store is unavailable and prompts come from the
    /// cache. Default `false`: an outage affects all replicas at once, and a 503 would remove all
    /// of them from load balancing although they can serve prompts from the cache.
    pub unready_when_stale: bool,
    /// Whether the id, method, path, status and time of every request are logged at `info`. Default
    /// `false`, which logs requests at `debug`.
    pub access_log: bool,
    /// Maximum size of a request body in bytes. Requests with larger bodies get 413. Default 1 MiB.
    pub body_bytes: usize,
    /// Maximum number of open connections. Further connections wait to be accepted. Default 10,000.
    pub connections: usize,
    /// Rate limit for each client, identified by token or address. Default none.
    pub rate: Option<Rate>,
    /// Timeout from the first byte of a request to the end of its headers. The connection is then
    /// closed. Default 10 s.
    pub header_time: Duration,
    /// Timeout for receiving the body of a request. After the timeout, the request gets 408.
    /// Default 30 s.
    pub body_time: Duration,
    /// Time after which an idle connection is closed. Default 75 s.
    pub idle_time: Duration,
    /// Time after which a client that does not read its response is disconnected. Default 60 s.
    pub write_time: Duration,
    /// Timeout of a chat that is not streamed. After the timeout, the request gets 503. Default 300
    /// s.
    pub chat_time: Duration,
    /// How long a request with `min_revision` waits for that revision. The request then gets 409.
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

/// A token that has a name and permissions.
#[derive(Clone, Debug)]
pub struct NamedToken {
    /// The name in logs, as the author of versions, and as the user of Basic authentication. The
    /// name cannot contain a colon.
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
    /// Maximum number of requests in a burst after a pause.
    pub burst: u32,
}
