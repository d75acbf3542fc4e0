//! Direct connections without a proxy, using hyper's client alone. The additional layers of a
//! general client (redirects, retries, cookies, repeated URL parsing) take twice as long as the
//! request.
//!
//! Limits, certificates and address checks are the same as for connections through a proxy.

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

/// Number of unanswered keep-alive probes before an idle connection is closed; [`PROBE`] is the
/// interval between them. These values and [`UNACKNOWLEDGED`] are the defaults of reqwest, so both
/// clients detect a dead connection at the same time.
const PROBES: u32 = 3;
const PROBE: Duration = Duration::from_secs(15);

/// Maximum time that sent data may remain unacknowledged.
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A connection pool; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct DirectClient(Arc<Client<Connector, Full<Bytes>>>);

impl DirectClient {
    /// # Errors
    /// The certificates cannot be read.
    pub(crate) fn new(options: &HttpOptions, secure: bool) -> Result<Self, rustls::Error> {
        let mut http = HttpConnector::new_with_resolver(GuardedResolver::new(options));
        // The TLS layer also uses this connector for https addresses.
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

/// Returns the certificates that the system trusts; `SSL_CERT_FILE` and `SSL_CERT_DIR` apply.
fn certificates() -> Result<ClientConfig, rustls::Error> {
    // The application may have installed another cryptography provider, which takes precedence.
    let provider = CryptoProvider::get_default().cloned();
    let provider = provider.unwrap_or_else(|| Arc::new(rustls::crypto::ring::default_provider()));
    let verifier = Verifier::new(provider.clone())?;
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    // Without this list, a server may select HTTP/2, which this client does not support.
    config.alpn_protocols = vec!["http/1.1".into()];
    Ok(config)
}

/// Opens connections, with one timeout for all steps.
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
        // One limit covers DNS, TCP and TLS. The connector's own timeout covers only TCP.
        let limit = self.limit;
        Box::pin(async move {
            let connected = tokio::time::timeout(limit, connecting).await;
            connected.unwrap_or_else(|_| Err(late().into()))
        })
    }
}

fn late() -> io::Error {
    // The same text as in reqwest, so both clients report the same error.
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
