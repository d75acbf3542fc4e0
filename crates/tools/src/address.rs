//! Address policy of tools. This module has the rules; [`network`](crate::network) resolves names
//! and connects.
//!
//! Tool definitions come from the operator's store, and most tools run next to the service, so
//! private and loopback addresses are allowed by default. Link-local and cloud metadata addresses
//! are always denied: tools do not run there, but metadata services hand out credentials.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

pub use quillet_core::address::AddressClass;
use quillet_core::address::is_metadata_name;
use serde::Deserialize;
use url::{Host, Url};

/// The range of addresses that tools may reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AddressScope {
    /// Public, private and loopback addresses. The default.
    #[default]
    Internal,
    /// Public addresses, and those of the allow list.
    Public,
}

/// Rules for the addresses that tools may connect to.
///
/// ```
/// use quillet_tools::address::{AddressPolicy, AddressScope, AllowRule};
///
/// let policy = AddressPolicy {
///     scope: AddressScope::Public,
///     allow: vec![AllowRule::Host("rates.internal".to_owned())],
/// };
/// assert!(policy.check("rates.internal", "10.1.2.3".parse()?).is_ok());
/// assert!(policy.check("other.internal", "10.1.2.3".parse()?).is_err());
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AddressPolicy {
    /// Allowed scope, before the allow list is applied.
    pub scope: AddressScope,
    /// Hosts and networks that are allowed even if their addresses are private, loopback or
    /// reserved. The list cannot allow link-local, metadata or unspecified addresses.
    pub allow: Vec<AllowRule>,
}

/// One entry of the allow list.
///
/// ```
/// use quillet_tools::address::AllowRule;
///
/// let network = AllowRule::Network("10.0.0.0".parse().unwrap(), 8);
/// assert_eq!("10.0.0.0/8".parse(), Ok(network));
/// let domain = AllowRule::Domain("internal.example".to_owned());
/// assert_eq!("*.internal.example".parse(), Ok(domain));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum AllowRule {
    /// Every address that this name resolves to, written `tools.internal.example`.
    Host(String),
    /// Every name under this one, written `*.internal.example`.
    Domain(String),
    /// A network, written `10.0.0.0/8`, or one address, written `10.1.2.3` or `::1`.
    Network(IpAddr, u8),
}

/// Error for an address that must not be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The policy denies this class of addresses.
    #[error("tools may not connect to {host}: {address} is a {} address{}", .class.name(), hint(*.class))]
    Address {
        /// The host as written in the URL.
        host: String,
        /// Resolved address.
        address: IpAddr,
        /// Class of the address.
        class: AddressClass,
    },
    /// The name belongs to a metadata service.
    #[error("tools may not connect to {0}: it is the name of a cloud metadata service")]
    MetadataName(String),
    /// The URL is invalid for a tool.
    #[error("{0}")]
    Url(String),
}

fn hint(class: AddressClass) -> &'static str {
    match class {
        AddressClass::Loopback | AddressClass::Private => {
            " (to allow it, add it to tools.addresses.allow; tools.addresses.scope = \"internal\" allows all loopback and private addresses for tools)"
        }
        AddressClass::Reserved => " (to allow it, add it to tools.addresses.allow)",
        _ => "",
    }
}

impl AddressPolicy {
    /// Checks whether a connection to a host at this resolved address is allowed.
    ///
    /// # Errors
    /// The policy denies the address.
    ///
    /// # Examples
    /// ```
    /// use quillet_tools::address::{AddressPolicy, AddressScope};
    ///
    /// let public = AddressPolicy {
    ///     scope: AddressScope::Public,
    ///     ..AddressPolicy::default()
    /// };
    /// assert!(public.check("example.com", "93.184.215.14".parse()?).is_ok());
    /// assert!(public.check("localhost", "127.0.0.1".parse()?).is_err());
    /// # Ok::<(), std::net::AddrParseError>(())
    /// ```
    pub fn check(&self, host: &str, address: IpAddr) -> Result<(), AddressError> {
        let class = AddressClass::of(address);
        let allowed = match class {
            AddressClass::Public => true,
            AddressClass::Loopback | AddressClass::Private => {
                self.scope == AddressScope::Internal || self.lists(host, address)
            }
            AddressClass::Reserved => self.lists(host, address),
            // The allow list cannot permit these addresses, because metadata services hand out
            // credentials.
            AddressClass::LinkLocal
            | AddressClass::Metadata
            | AddressClass::Unspecified
            | AddressClass::Multicast => false,
        };
        if allowed {
            return Ok(());
        }
        let host = host.to_owned();
        Err(AddressError::Address {
            host,
            address,
            class,
        })
    }

    /// Checks a URL before name resolution: its scheme, its user name, and its host if the host is
    /// an IP address.
    ///
    /// # Errors
    /// The URL is invalid for a tool.
    ///
    /// ```
    /// use quillet_tools::address::{AddressPolicy, parse_url};
    ///
    /// let policy = AddressPolicy::default();
    /// assert!(policy.check_url(&parse_url("http://127.0.0.1:8080/rates")?).is_ok());
    /// assert!(policy.check_url(&parse_url("http://169.254.169.254/")?).is_err());
    /// assert!(policy.check_url(&parse_url("ftp://example.com/")?).is_err());
    /// # Ok::<(), quillet_tools::address::AddressError>(())
    /// ```
    pub fn check_url(&self, url: &Url) -> Result<(), AddressError> {
        if !matches!(url.scheme(), "http" | "https") {
            let text = format!(
                "the scheme of {url} is {:?}; tools support http and https",
                url.scheme()
            );
            return Err(AddressError::Url(text));
        }
        if !url.username().is_empty() || url.password().is_some() {
            let text =
                "a tool's url must not contain a user name or password (send them in a header)";
            return Err(AddressError::Url(text.to_owned()));
        }
        match url.host() {
            None => Err(AddressError::Url(format!("missing host in {url}"))),
            Some(Host::Ipv4(address)) => self.check(&address.to_string(), address.into()),
            Some(Host::Ipv6(address)) => self.check(&address.to_string(), address.into()),
            Some(Host::Domain(name)) => check_name(name),
        }
    }

    fn lists(&self, host: &str, address: IpAddr) -> bool {
        // A fully qualified name may end in a dot.
        let host = host.trim_end_matches('.');
        self.allow.iter().any(|rule| match rule {
            AllowRule::Host(name) => host.eq_ignore_ascii_case(name),
            // The dot keeps `evilinternal.example` out of `*.internal.example`.
            AllowRule::Domain(name) => host
                .to_ascii_lowercase()
                .strip_suffix(name.as_str())
                .is_some_and(|rest| rest.ends_with('.')),
            AllowRule::Network(network, bits) => contains(*network, *bits, address),
        })
    }
}

// The name is also rejected, in case a resolver maps it to an allowed address.
fn check_name(name: &str) -> Result<(), AddressError> {
    if is_metadata_name(name) {
        let plain = name.trim_end_matches('.').to_ascii_lowercase();
        return Err(AddressError::MetadataName(plain));
    }
    Ok(())
}

/// Parses an absolute URL. Backslashes, spaces and tabs are rejected, although parsers that follow
/// the URL standard repair them. Such repairs can hide the real target of a URL.
///
/// # Errors
/// The problem and its fix.
///
/// # Examples
/// ```
/// use quillet_tools::address::parse_url;
///
/// let url = parse_url("https://example.com/rates")?;
/// assert_eq!(url.host_str(), Some("example.com"));
/// assert!(parse_url("https://example.com\\@evil.example/").is_err());
/// # Ok::<(), quillet_tools::address::AddressError>(())
/// ```
pub fn parse_url(text: &str) -> Result<Url, AddressError> {
    if let Some(bad) = text
        .chars()
        .find(|c| matches!(c, '\\') || c.is_whitespace() || c.is_control())
    {
        return Err(AddressError::Url(format!(
            "the url {text:?} contains {bad:?} (percent-encode it)"
        )));
    }
    Url::parse(text).map_err(|error| AddressError::Url(format!("{text:?} is not a url: {error}")))
}

/// Returns whether a URL has a scheme and a host. Another URL inside the query does not count.
///
/// ```
/// use quillet_tools::address::is_absolute;
///
/// assert!(is_absolute("https://example.com/rates"));
/// assert!(!is_absolute("/rates?next=https://example.com"));
/// ```
#[must_use]
pub fn is_absolute(text: &str) -> bool {
    let of_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    text.split_once("://")
        .is_some_and(|(scheme, _)| scheme.chars().all(of_scheme))
}

fn contains(network: IpAddr, bits: u8, address: IpAddr) -> bool {
    let same = |a: u128, b: u128, width: u8| {
        let drop = u32::from(width.saturating_sub(bits));
        // `checked_shr` by the full width returns `None`: a prefix of 0 matches every address.
        a.checked_shr(drop).unwrap_or(0) == b.checked_shr(drop).unwrap_or(0)
    };
    // An IPv4 address may be written as IPv6 (`::ffff:10.1.2.3`), which must not bypass the policy.
    match (network, address.to_canonical()) {
        (IpAddr::V4(n), IpAddr::V4(a)) => same(n.to_bits().into(), a.to_bits().into(), 32),
        (IpAddr::V6(n), IpAddr::V6(a)) => same(n.to_bits(), a.to_bits(), 128),
        _ => false,
    }
}

/// Error of an invalid entry in the allow list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} in tools.addresses.allow {why} (write a host, *.domain, an address or a network such as 10.0.0.0/8)"
)]
pub struct WrongRule {
    text: String,
    why: &'static str,
}

impl FromStr for AllowRule {
    type Err = WrongRule;

    fn from_str(text: &str) -> Result<Self, WrongRule> {
        let wrong = |why| WrongRule {
            text: text.to_owned(),
            why,
        };
        // Addresses are parsed before host names, because `10.1.2.3` is also a valid host name.
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(AllowRule::Network(
                address,
                if address.is_ipv4() { 32 } else { 128 },
            ));
        }
        if let Some((address, bits)) = text.split_once('/') {
            let address: IpAddr = address.parse().map_err(|_| wrong("is not a network"))?;
            let bits: u8 = bits.parse().map_err(|_| wrong("has no prefix length"))?;
            let most = if address.is_ipv4() { 32 } else { 128 };
            return match bits {
                bits if bits <= most => Ok(AllowRule::Network(address, bits)),
                _ => Err(wrong("has a prefix length that is too large")),
            };
        }
        let (domain, name) = match text.strip_prefix("*.") {
            Some(name) => (true, name),
            None => (false, text),
        };
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || !name.chars().all(plain) {
            return Err(wrong("is not a host name"));
        }
        let name = name.to_ascii_lowercase();
        Ok(if domain {
            AllowRule::Domain(name)
        } else {
            AllowRule::Host(name)
        })
    }
}

impl TryFrom<String> for AllowRule {
    type Error = WrongRule;
    fn try_from(text: String) -> Result<Self, WrongRule> {
        text.parse()
    }
}

impl fmt::Display for AllowRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AllowRule::Host(name) => f.write_str(name),
            AllowRule::Domain(name) => write!(f, "*.{name}"),
            AllowRule::Network(address, bits) => write!(f, "{address}/{bits}"),
        }
    }
}

/// Converts the address of a gRPC definition to a URL: `host:port` becomes `http://host:port`.
pub(crate) fn grpc_url(text: &str, tls: bool) -> String {
    match (text.split_once("://"), tls) {
        (None, false) => format!("http://{text}"),
        (None, true) => format!("https://{text}"),
        (Some(("http", rest)), true) => format!("https://{rest}"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_allow_list_lifts_private_and_loopback_only() {
        let policy = |allow: &[&str]| AddressPolicy {
            scope: AddressScope::Public,
            allow: allow.iter().map(|rule| rule.parse().unwrap()).collect(),
        };
        let cases: [(&[&str], &str, &str, bool); 11] = [
            (&[], "a.example", "10.0.0.1", false),
            (&["a.example"], "a.example", "10.0.0.1", true),
            (&["a.example"], "A.Example.", "10.0.0.1", true),
            (&["a.example"], "b.example", "10.0.0.1", false),
            (&["*.example"], "b.example", "10.0.0.1", true),
            (&["*.example"], "example", "10.0.0.1", false),
            (&["*.example"], "badexample", "10.0.0.1", false),
            (&["10.0.0.0/8"], "x", "10.200.3.4", true),
            (&["10.0.0.0/8"], "x", "192.168.0.1", false),
            (
                &["0.0.0.0/0", "a.example"],
                "a.example",
                "169.254.169.254",
                false,
            ),
            (&["::1"], "x", "::1", true),
        ];
        for (allow, host, address, expected) in cases {
            let got = policy(allow).check(host, address.parse().unwrap()).is_ok();
            assert_eq!(got, expected, "{allow:?} {host} {address}");
        }
        for wrong in ["", "*.", "10.0.0.0/33", "10.0.0/8", "a b", "http://x"] {
            assert!(wrong.parse::<AllowRule>().is_err(), "{wrong}");
        }
    }
}
