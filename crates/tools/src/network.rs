//! Resolves names and connects, under the [address policy](crate::address).
//!
//! Every address of a name is checked, and only checked addresses are used for connecting, so DNS
//! rebinding has no effect.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use quillet_core::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::net::TcpStream;

use crate::address::{AddressError, AddressPolicy};

/// Resolves host names.
pub trait Lookup: Send + Sync + fmt::Debug {
    /// The addresses of a host name.
    fn lookup<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The system's own resolver.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Network access of all tools.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub(crate) policy: Arc<AddressPolicy>,
    /// Trusted certificates in PEM, in addition to the system's.
    pub(crate) trusted: Option<Arc<[u8]>>,
    lookup: Arc<dyn Lookup>,
}

impl Network {
    pub(crate) fn new(
        policy: AddressPolicy,
        trusted: Option<Arc<[u8]>>,
        lookup: Arc<dyn Lookup>,
    ) -> Self {
        Network {
            policy: Arc::new(policy),
            trusted,
            lookup,
        }
    }

    /// Resolves a host. One denied address denies the whole host: a name with both public and
    /// private addresses is typical of a rebinding attack.
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let found = match host.parse() {
            // An address needs no lookup, but it must pass the same check.
            Ok(address) => vec![address],
            Err(_) => self.lookup.lookup(host).await?,
        };
        if found.is_empty() {
            let text = format!("{host} has no address");
            return Err(io::Error::new(io::ErrorKind::NotFound, text));
        }
        for address in &found {
            let checked = self.policy.check(host, *address);
            checked.map_err(|denied| io::Error::new(io::ErrorKind::PermissionDenied, denied))?;
        }
        Ok(found)
    }

    /// Connects to the first address of a host that accepts a connection.
    pub(crate) async fn connect(&self, host: &str, port: u16) -> io::Result<TcpStream> {
        // A URI has brackets around IPv6 addresses, which the address parser rejects.
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let addresses: Vec<SocketAddr> = self
            .resolve(host)
            .await?
            .into_iter()
            .map(|address| SocketAddr::new(address, port))
            .collect();
        let stream = TcpStream::connect(addresses.as_slice()).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

impl Resolve for Network {
    fn resolve(&self, name: Name) -> Resolving {
        let network = self.clone();
        Box::pin(async move {
            let found = Network::resolve(&network, name.as_str()).await?;
            let found: Addrs =
                // Port 0 lets the client use the port of the URL.
                Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(found)
        })
    }
}

/// Finds the policy error inside a client's error.
pub(crate) fn denied(error: &(dyn std::error::Error + 'static)) -> Option<AddressError> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(denied) = error.downcast_ref::<AddressError>() {
            return Some(denied.clone());
        }
        // An `io::Error` returns the source of its payload as its source, not the payload itself.
        let inner = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        if let Some(denied) = inner.and_then(|inner| inner.downcast_ref::<AddressError>()) {
            return Some(denied.clone());
        }
        next = error.source();
    }
    None
}

/// Error text with its causes, because clients only report "error sending request".
pub(crate) fn error_chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut story = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        // Some errors already include the text of their cause.
        if !story.ends_with(&text) {
            story.push_str(": ");
            story.push_str(&text);
        }
        next = cause.source();
    }
    story
}
