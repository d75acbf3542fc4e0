//! The way out to all providers: one pool of connections, shared by every
//! [`Provider`](crate::Provider), so that making one for a single request costs
//! nothing and still finds a warm connection.
//!
//! HTTP/1.1 only: a stream of small events gains nothing from another framing, and
//! a connection of its own ends a dropped call at once. Redirects are never
//! followed: they would carry the key to another host.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::http::HeaderMap;
use hyper::{Method, Request, Uri};
use hyper_util::client::proxy::matcher::Matcher;
use quillet_core::address::{AddressClass, is_metadata_name};
use quillet_core::chat::{ModelError, ModelErrorKind};
use reqwest::Client;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::answer::{HttpResponse, TransportError};
use crate::direct_connector::DirectClient;
use crate::endpoint::Endpoint;

/// Options of connections to providers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpOptions {
    /// How long to wait until there is a connection. Default 10 s.
    pub connect: Duration,
    /// How long an unused connection is kept. Default 90 s.
    pub idle: Duration,
    /// Hosts and addresses that may be connected to although they are link-local or
    /// a cloud's metadata service, which hand out credentials. Base URLs may come
    /// from requests, so by default none may.
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

/// A handle to the shared connections; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Http(Arc<HttpInner>);

#[derive(Debug, Default)]
struct HttpInner {
    options: HttpOptions,
    /// By [`place`], made when first needed: reading the system's certificates
    /// takes time and memory that plain connections need not spend.
    clients: [OnceLock<Client>; 4],
    /// The same for endpoints that are reached without a proxy, by whether they are secure.
    straight: [OnceLock<DirectClient>; 2],
    /// What the environment says of proxies.
    proxies: OnceLock<Matcher>,
}

/// How requests are sent to one address.
#[derive(Clone)]
pub(crate) enum HttpRoute {
    Straight(DirectClient),
    Proxied(Client),
}

impl HttpRoute {
    /// Sends a body.
    pub(crate) async fn post(
        &self,
        to: Uri,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<HttpResponse, TransportError> {
        match self {
            HttpRoute::Straight(client) => {
                let mut request = Request::new(Full::new(body));
                *request.method_mut() = Method::POST;
                *request.uri_mut() = to;
                *request.headers_mut() = headers;
                Ok(client.send(request).await?.into())
            }
            HttpRoute::Proxied(client) => {
                let request = client.post(to.to_string()).headers(headers).body(body);
                Ok(request.send().await?.into())
            }
        }
    }
}

fn place(is_secure: bool, is_local: bool) -> usize {
    usize::from(is_secure) * 2 + usize::from(is_local)
}

impl Http {
    /// Connections made in this way; makes none yet.
    #[must_use]
    pub fn new(options: HttpOptions) -> Self {
        Http(Arc::new(HttpInner {
            options,
            ..HttpInner::default()
        }))
    }

    /// The client for this endpoint.
    pub(crate) fn client(&self, endpoint: &Endpoint) -> Result<&Client, ModelError> {
        let (secure, local) = (endpoint.is_secure(), endpoint.is_local());
        let slot = self.0.clients.get(place(secure, local));
        let slot = slot.ok_or_else(|| refuse("there is no such client".into()))?;
        if let Some(client) = slot.get() {
            return Ok(client);
        }
        let made =
            make(&self.0.options, secure, local).map_err(|error| unmade(endpoint, &error))?;
        // `get_or_init` has no place for an error. Of two that are made at the same time one is
        // dropped.
        Ok(slot.get_or_init(|| made))
    }

    /// How an endpoint is reached.
    pub(crate) fn way(&self, endpoint: &Endpoint, to: &Uri) -> Result<HttpRoute, ModelError> {
        let proxies = self.0.proxies.get_or_init(Matcher::from_system);
        if !endpoint.is_local() && proxies.intercept(to).is_some() {
            return self.client(endpoint).cloned().map(HttpRoute::Proxied);
        }
        let secure = endpoint.is_secure();
        let slot = self.0.straight.get(usize::from(secure));
        let slot = slot.ok_or_else(|| refuse("there is no such client".into()))?;
        if let Some(client) = slot.get() {
            return Ok(HttpRoute::Straight(client.clone()));
        }
        crate::install_crypto();
        let made =
            DirectClient::new(&self.0.options, secure).map_err(|error| unmade(endpoint, &error))?;
        Ok(HttpRoute::Straight(slot.get_or_init(|| made).clone()))
    }

    /// What can be checked of an endpoint before its name is looked up.
    pub(crate) fn check(&self, endpoint: &Endpoint) -> Result<(), ModelError> {
        let (host, _) = endpoint.host();
        let address = host.parse::<IpAddr>().ok();
        check(&self.0.options.allow, host, address).map_err(|denied| refuse(denied.to_string()))
    }
}

fn refuse(message: String) -> ModelError {
    ModelError::new(ModelErrorKind::Configuration, message)
}

fn unmade(endpoint: &Endpoint, error: &dyn fmt::Debug) -> ModelError {
    refuse(format!(
        "cannot make a client for {endpoint}: {error:?}; are CA certificates installed? SSL_CERT_FILE names them"
    ))
}

/// What this program calls itself to providers.
pub(crate) const AGENT: &str = concat!("quillet/", env!("CARGO_PKG_VERSION"));

fn make(options: &HttpOptions, secure: bool, local: bool) -> Result<Client, reqwest::Error> {
    crate::install_crypto();
    let mut builder = Client::builder()
        .user_agent(AGENT)
        .connect_timeout(options.connect)
        .pool_idle_timeout(options.idle)
        .tcp_nodelay(true)
        .http1_only()
        .redirect(reqwest::redirect::Policy::none())
        .dns_resolver(GuardedResolver::new(options));
    if local {
        builder = builder.no_proxy();
    }
    if !secure {
        // Reading the system's certificates takes time, and plain connections need none.
        builder = builder.tls_certs_only([]);
    }
    builder.build()
}

/// Why a host is not connected to.
#[derive(Debug, thiserror::Error)]
#[error(
    "{host} is {what}, which hands out credentials and is no model; name it in the list of allowed hosts if it is one"
)]
pub(crate) struct AddressDenied {
    host: String,
    what: String,
}

/// Whether a host may be connected to, at this address where it is known. Private
/// and loopback addresses may: models are often served there.
fn check(allow: &[String], host: &str, address: Option<IpAddr>) -> Result<(), AddressDenied> {
    let listed = |text: &str| allow.iter().any(|entry| entry.eq_ignore_ascii_case(text));
    if listed(host) || address.is_some_and(|address| listed(&address.to_string())) {
        return Ok(());
    }
    let denied = |what: String| {
        let host = host.to_owned();
        Err(AddressDenied { host, what })
    };
    if is_metadata_name(host) {
        return denied("a name of a cloud metadata service".into());
    }
    let Some(address) = address else {
        return Ok(());
    };
    match AddressClass::of(address) {
        class @ (AddressClass::LinkLocal | AddressClass::Metadata | AddressClass::Multicast) => {
            denied(format!("at {address}, a {} address", class.name()))
        }
        _ => Ok(()),
    }
}

/// Looks names up and hands out nothing that may not be connected to. One denied
/// address denies them all: a name with a good and a bad address is how names are
/// made to rebind.
#[derive(Clone)]
pub(crate) struct GuardedResolver {
    allow: Arc<[String]>,
}

/// The addresses of a name.
pub(crate) type ResolvedAddresses = std::vec::IntoIter<SocketAddr>;

impl GuardedResolver {
    pub(crate) fn new(options: &HttpOptions) -> Self {
        GuardedResolver {
            allow: options.allow.clone().into(),
        }
    }

    pub(crate) async fn look(&self, host: &str) -> io::Result<ResolvedAddresses> {
        let found: Vec<_> = tokio::net::lookup_host((host, 0)).await?.collect();
        for address in &found {
            check(&self.allow, host, Some(address.ip())).map_err(io::Error::other)?;
        }
        if found.is_empty() {
            Err(io::Error::other("the name has no address"))
        } else {
            Ok(found.into_iter())
        }
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let checked = self.clone();
        Box::pin(async move { Ok(Box::new(checked.look(name.as_str()).await?) as Addrs) })
    }
}

impl fmt::Debug for GuardedResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checked").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_hands_out_credentials_is_denied() {
        let cases: [(&[&str], &str, Option<&str>, bool); 10] = [
            (&[], "api.openai.com", Some("104.18.6.192"), true),
            (&[], "127.0.0.1", Some("127.0.0.1"), true),
            (&[], "models.internal", Some("10.1.2.3"), true),
            (&[], "0.0.0.0", Some("0.0.0.0"), true),
            (&[], "169.254.169.254", Some("169.254.169.254"), false),
            (&[], "x", Some("::ffff:169.254.169.254"), false),
            (&[], "rebind.example", Some("100.100.100.200"), false),
            (&[], "Metadata.Google.Internal.", None, false),
            (&["169.254.1.2"], "169.254.1.2", Some("169.254.1.2"), true),
            (&["box.local"], "Box.local", Some("fe80::1"), true),
        ];
        for (allow, host, address, fine) in cases {
            let allow: Vec<String> = allow.iter().map(ToString::to_string).collect();
            let address = address.map(|address| address.parse().unwrap());
            assert_eq!(check(&allow, host, address).is_ok(), fine, "{host}");
        }
    }
}
