//! Name resolution that rejects addresses of services that provide credentials.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use quillet_core::address::{AddressClass, is_metadata_name};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::http_options::HttpOptions;

/// Error for a host that must not be connected to.
#[derive(Debug, thiserror::Error)]
#[error(
    "{host} is {what}, which may expose credentials; if it is a model server, add it to the allowed hosts"
)]
pub(crate) struct AddressDenied {
    host: String,
    what: String,
}

/// Checks whether a host may be connected to, at this address if it is known. Private and loopback
/// addresses are allowed, because models are often served there.
pub(crate) fn check(
    allow: &[String],
    host: &str,
    address: Option<IpAddr>,
) -> Result<(), AddressDenied> {
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

/// Resolves names and rejects the result if any address is denied. A name with an allowed and a
/// denied address is typical of DNS rebinding.
#[derive(Clone)]
pub(crate) struct GuardedResolver {
    allow: Arc<[String]>,
}

/// Addresses of a name.
pub(crate) type ResolvedAddresses = std::vec::IntoIter<SocketAddr>;

impl GuardedResolver {
    pub(crate) fn new(options: &HttpOptions) -> Self {
        GuardedResolver {
            allow: options.allow.clone().into(),
        }
    }

    pub(crate) async fn resolve_host(&self, host: &str) -> io::Result<ResolvedAddresses> {
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
        Box::pin(async move { Ok(Box::new(checked.resolve_host(name.as_str()).await?) as Addrs) })
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
