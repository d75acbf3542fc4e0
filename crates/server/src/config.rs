//! Settings of the HTTP server. Every limit has its default here.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use quillet_host::definitions::PermissionSet;
use secrecy::SecretString;

/// Configuration of the HTTP server.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Address and port; port 0 picks a free one. Default `127.0.0.1:8080`.
    pub listen: SocketAddr,
    /// Path before every route, such as `/ai-prompt-shell` (where clients of that service look).
    /// Default empty. `/healthz`, `/readyz` and `/metrics` stay at the root, where probes look for
    /// them.
    pub prefix: String,
    /// Tokens of which a client must send one, as `Authorization: Bearer TOKEN` or as the password
    /// of Basic. They have all rights, and the names `token-1`, `token-2` and so on.
    /// Default none: everybody on the address may call, if there are no named ones either.
    pub tokens: Vec<SecretString>,
    /// Tokens with names and rights of their own. Default none.
    pub named_tokens: Vec<NamedToken>,
    /// Whether `/healthz` and `/readyz` answer without a token. Default `true`.
    pub open_health: bool,
    /// Whether `/metrics` answers without a token. Default `false`.
    pub open_metrics: bool,
    /// Permits an address that others can reach without any token. Default `false`.
    pub insecure: bool,
    /// Names that clients call this server by: `prompts.example`, `*.example`, with a port
    /// (`prompts.example:8443`) or for every port, or `*`. Names of loopback and plain
    /// addresses need no entry. Default none.
    pub hosts: Vec<String>,
    /// Web pages of these origins (`https://host`, or `*`) may call. Default none:
    /// only pages of this server itself.
    pub origins: Vec<String>,
    /// Whether `POST /api/render` takes templates in the request. Without a
    /// choice: on a loopback address only.
    pub inline_templates: Option<bool>,
    /// Whether clients may put, remove and try out connections to databases: whoever may can
    /// have this server open any address and any SQLite file. Without a choice: on a loopback
    /// address, and where tokens are set.
    pub change_databases: Option<bool>,
    /// Whether `/readyz` answers 503 while the store is away and everything is
    /// served from cache. Default `false`: a store that goes away goes away for
    /// every replica, and 503 would take all of them out of rotation just when
    /// their caches can answer.
    pub unready_when_stale: bool,
    /// Whether every request is logged at `info` when it is answered: id, method, path, status,
    /// time. Default `false`: at `debug`.
    pub access_log: bool,
    /// Bytes of a request's body; more is answered with 413. Default 1 MiB.
    pub body_bytes: usize,
    /// Connections at the same time; more wait to be accepted. Default 10,000.
    pub connections: usize,
    /// Requests of one client (token or address) in time. Default no bound.
    pub rate: Option<Rate>,
    /// From the first byte of a request to the end of its headers; longer
    /// closes the connection. Default 10 s.
    pub header_time: Duration,
    /// For the rest of a request's body; longer is answered with 408. Default 30 s.
    pub body_time: Duration,
    /// An unused connection is closed after this. Default 75 s.
    pub idle_time: Duration,
    /// A client that takes nothing of its answer for this long is given up. Default 60 s.
    pub write_time: Duration,
    /// A whole chat that is not streamed; longer is answered with 503. Default 300 s.
    pub chat_time: Duration,
    /// How long a request that wants a revision (`min_revision`) waits for it; then it is
    /// answered with 409. Default 1 s.
    pub revision_time: Duration,
    /// A comment goes into a stream that was silent for this long, so that no
    /// proxy takes it for dead. Default 15 s.
    pub ping_time: Duration,
    /// Answers that are under way at shutdown have this long to finish. Default 25 s.
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
            header_time: Duration::from_secs(10),
            body_time: Duration::from_secs(30),
            idle_time: Duration::from_secs(75),
            write_time: Duration::from_secs(60),
            chat_time: Duration::from_secs(300),
            revision_time: Duration::from_secs(1),
            ping_time: Duration::from_secs(15),
            drain_time: Duration::from_secs(25),
        }
    }
}

impl ServerConfig {
    /// Whether clients have to send a token.
    #[must_use]
    pub fn has_tokens(&self) -> bool {
        !self.tokens.is_empty() || !self.named_tokens.is_empty()
    }
}

/// A token that says who calls, and what they may do.
#[derive(Clone, Debug)]
pub struct NamedToken {
    /// Who it is, in logs and as the author of versions; the user of Basic. No colon is in it.
    pub name: String,
    /// What clients send.
    pub secret: SecretString,
    /// What they may do.
    pub rights: PermissionSet,
}

/// A rate limit for each client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Requests a second in the long run.
    pub per_second: f64,
    /// Requests at once after a pause.
    pub burst: u32,
}
