//! Connections to all providers. Every [`Provider`](crate::Provider) shares one pool, so a provider
//! that is created for a single request can reuse an open connection.
//!
//! HTTP/1.1 only: a stream of small events gains nothing from HTTP/2 framing, and closing a
//! separate connection cancels a dropped call immediately. Redirects are never followed, because
//! they would send the key to another host.

use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http_body_util::Full;
use hyper::http::HeaderMap;
use hyper::{Method, Request, Uri};
use hyper_util::client::proxy::matcher::Matcher;
use quillet_core::chat::{ModelError, ModelErrorKind};
use reqwest::Client;

use crate::answer::{HttpResponse, TransportError};
use crate::direct_connector::DirectClient;
use crate::endpoint::Endpoint;
use crate::guarded_resolver::{GuardedResolver, check};
use crate::http_options::HttpOptions;

/// Shared connection pool; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Http(Arc<HttpInner>);

#[derive(Debug, Default)]
struct HttpInner {
    options: HttpOptions,
    /// Indexed by [`place`] and created on first use: reading the system certificates takes time
    /// and memory, and plain connections do not need them.
    // Clients differ in TLS and proxy use, and both are fixed when a client is built.
    clients: [OnceLock<Client>; 4],
    /// Clients for endpoints without a proxy, indexed by whether they use TLS.
    straight: [OnceLock<DirectClient>; 2],
    /// Proxy settings from the environment.
    proxies: OnceLock<Matcher>,
}

/// Route to an address: the direct client, or a general client if a proxy applies.
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

fn client_index(is_secure: bool, is_local: bool) -> usize {
    usize::from(is_secure) * 2 + usize::from(is_local)
}

impl Http {
    /// Creates a pool without connecting.
    #[must_use]
    pub fn new(options: HttpOptions) -> Self {
        Http(Arc::new(HttpInner {
            options,
            ..HttpInner::default()
        }))
    }

    /// Returns the client for this endpoint.
    pub(crate) fn client(&self, endpoint: &Endpoint) -> Result<&Client, ModelError> {
        let (secure, local) = (endpoint.is_secure(), endpoint.is_local());
        let slot = self.0.clients.get(client_index(secure, local));
        let slot = slot.ok_or_else(|| refuse("missing HTTP client".into()))?;
        if let Some(client) = slot.get() {
            return Ok(client);
        }
        let made =
            make(&self.0.options, secure, local).map_err(|error| client_error(endpoint, &error))?;
        // `get_or_init` cannot return an error. If two threads create a client concurrently, one is
        // dropped.
        Ok(slot.get_or_init(|| made))
    }

    /// Returns the route to an endpoint.
    pub(crate) fn route(&self, endpoint: &Endpoint, to: &Uri) -> Result<HttpRoute, ModelError> {
        let proxies = self.0.proxies.get_or_init(Matcher::from_system);
        // A proxy cannot reach the loopback interface of this machine.
        if !endpoint.is_local() && proxies.intercept(to).is_some() {
            return self.client(endpoint).cloned().map(HttpRoute::Proxied);
        }
        let secure = endpoint.is_secure();
        let slot = self.0.straight.get(usize::from(secure));
        let slot = slot.ok_or_else(|| refuse("missing HTTP client".into()))?;
        if let Some(client) = slot.get() {
            return Ok(HttpRoute::Straight(client.clone()));
        }
        crate::install_crypto();
        let made = DirectClient::new(&self.0.options, secure)
            .map_err(|error| client_error(endpoint, &error))?;
        Ok(HttpRoute::Straight(slot.get_or_init(|| made).clone()))
    }

    /// Checks an endpoint before its name is resolved.
    pub(crate) fn check(&self, endpoint: &Endpoint) -> Result<(), ModelError> {
        let (host, _) = endpoint.host();
        let address = host.parse::<IpAddr>().ok();
        check(&self.0.options.allow, host, address).map_err(|denied| refuse(denied.to_string()))
    }
}

fn refuse(message: String) -> ModelError {
    ModelError::new(ModelErrorKind::Configuration, message)
}

fn client_error(endpoint: &Endpoint, error: &dyn fmt::Debug) -> ModelError {
    refuse(format!(
        "cannot create an HTTP client for {endpoint}: {error:?}; are CA certificates installed? set SSL_CERT_FILE to their file"
    ))
}

/// `User-Agent` of all requests.
pub(crate) const AGENT: &str = concat!("quillet/", env!("CARGO_PKG_VERSION"));

fn make(options: &HttpOptions, secure: bool, local: bool) -> Result<Client, reqwest::Error> {
    crate::install_crypto();
    let mut builder = Client::builder()
        .user_agent(AGENT)
        .connect_timeout(options.connect)
        .pool_idle_timeout(options.idle)
        // Requests are written at once; waiting to merge small packets only adds latency.
        .tcp_nodelay(true)
        // Cancelling a request closes its connection. On a shared HTTP/2 connection the provider
        // might continue to generate.
        .http1_only()
        .redirect(reqwest::redirect::Policy::none())
        .dns_resolver(GuardedResolver::new(options));
    if local {
        builder = builder.no_proxy();
    }
    if !secure {
        // Reading the system certificates takes time, and plain connections need none.
        builder = builder.tls_certs_only([]);
    }
    builder.build()
}
