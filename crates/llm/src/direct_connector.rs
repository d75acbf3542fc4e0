//! Connections that need no proxy: hyper's client by itself. What a general client puts around it
//! (redirects, retries, cookies, addresses that are parsed again at each step) takes twice as long
//! as the request.
//!
//! What connections promise is the same on both ways: the same limits, certificates and
//! checks of addresses.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::http::uri::Scheme;
use hyper::{Request, Response, Uri};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::ClientConfig;
use rustls::crypto::CryptoProvider;
use rustls_platform_verifier::Verifier;
use tokio::net::TcpStream;
use tower_service::Service;

use crate::guarded_resolver::{GuardedResolver, ResolvedAddresses};
use crate::http_options::HttpOptions;

/// Unanswered probes of a connection that nothing comes from, and the time between them. These and
/// [`UNACKNOWLEDGED`] are reqwest's defaults, so that both ways notice a dead connection alike.
const PROBES: u32 = 3;
const PROBE: Duration = Duration::from_secs(15);

/// How long what was sent may wait for its acknowledgement.
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// One pool of connections; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct DirectClient(Arc<Client<Connector, Full<Bytes>>>);

impl DirectClient {
    /// # Errors
    /// Certificates cannot be read.
    pub(crate) fn new(options: &HttpOptions, secure: bool) -> Result<Self, rustls::Error> {
        let mut http = HttpConnector::new_with_resolver(GuardedResolver::new(options));
        // The layer of TLS above asks this one for https addresses, too.
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_connect_timeout(Some(options.connect));
        http.set_keepalive(Some(PROBE));
        http.set_keepalive_interval(Some(PROBE));
        http.set_keepalive_retries(Some(PROBES));
        #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
        http.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
        let connector = Connector {
            way: if secure {
                ConnectorKind::Secure(HttpsConnector::from((http, certificates()?)))
            } else {
                ConnectorKind::Plain(http)
            },
            limit: options.connect,
        };
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(options.idle)
            .build(connector);
        Ok(DirectClient(Arc::new(client)))
    }

    pub(crate) async fn send(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Error> {
        self.0.request(request).await
    }
}

/// What the system trusts, as `SSL_CERT_FILE` and `SSL_CERT_DIR` say.
fn certificates() -> Result<ClientConfig, rustls::Error> {
    // An application may have installed another provider, and its choice is kept.
    let provider = CryptoProvider::get_default().cloned();
    let provider = provider.unwrap_or_else(|| Arc::new(rustls::crypto::ring::default_provider()));
    let verifier = Verifier::new(provider.clone())?;
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    // Otherwise a server may select HTTP/2, which this client does not speak.
    config.alpn_protocols = vec!["http/1.1".into()];
    Ok(config)
}

/// Makes connections, within one limit on all that it takes.
#[derive(Clone, Debug)]
struct Connector {
    way: ConnectorKind,
    limit: Duration,
}

#[derive(Clone, Debug)]
enum ConnectorKind {
    Plain(HttpConnector<GuardedResolver>),
    Secure(HttpsConnector<HttpConnector<GuardedResolver>>),
}

type ConnectFuture<T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send>>;

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = BoxError;
    type Future = ConnectFuture<Self::Response>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        match &mut self.way {
            ConnectorKind::Plain(http) => http.poll_ready(cx).map_err(Into::into),
            ConnectorKind::Secure(https) => https.poll_ready(cx),
        }
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let connecting: Self::Future = match &mut self.way {
            ConnectorKind::Plain(_) if to.scheme() != Some(&Scheme::HTTP) => {
                Box::pin(async { Err(io::Error::other("no scheme of this connection").into()) })
            }
            ConnectorKind::Plain(http) => {
                let connecting = http.call(to);
                Box::pin(async { Ok(MaybeHttpsStream::Http(connecting.await?)) })
            }
            ConnectorKind::Secure(https) => https.call(to),
        };
        // One limit for DNS, TCP and TLS. The connector's own timeout covers only TCP.
        let limit = self.limit;
        Box::pin(async move {
            let connected = tokio::time::timeout(limit, connecting).await;
            connected.unwrap_or_else(|_| Err(late().into()))
        })
    }
}

fn late() -> io::Error {
    // reqwest's words, so that errors read alike on both ways.
    io::Error::new(io::ErrorKind::TimedOut, "operation timed out")
}

impl Service<Name> for GuardedResolver {
    type Response = ResolvedAddresses;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<ResolvedAddresses, io::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let checked = self.clone();
        Box::pin(async move { checked.resolve_host(name.as_str()).await })
    }
}
