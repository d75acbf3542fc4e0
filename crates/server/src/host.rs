//! Host names that this server accepts.
//!
//! After loading, a web page can make its own host name resolve to this machine (DNS rebinding).
//! The browser then considers this server the page's own origin. Neither `Origin` nor the fetch
//! metadata reveals this, but the name in `Host` does. So a request must use a host name that no
//! page can have: a loopback name, a configured name, or an IP address, which requires no lookup
//! and cannot be rebound.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use axum::http::header::HOST;
use axum::http::{HeaderMap, HeaderValue, Uri, Version};
use quillet_core::ErrorCode;

use crate::error::{ApiError, problem};

/// Accepted host names, in addition to loopback names and IP addresses.
#[derive(Debug, Default)]
pub(crate) struct Hosts(Vec<HostRule>);

/// An entry of `server.hosts`: `*`, `prompts.example` or `*.example`, each with or without a port.
#[derive(Clone, Debug, PartialEq, Eq)]
struct HostRule {
    name: HostPattern,
    /// `None` means any port.
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HostPattern {
    Any,
    Exact(String),
    /// Every subdomain of this name.
    Under(String),
}

/// The host and port of a request or a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Authority<'a> {
    /// A name or an address. An IPv6 address is in brackets.
    pub(crate) host: &'a str,
    pub(crate) port: Option<u16>,
}

impl Hosts {
    /// Parses the entries of `server.hosts`.
    ///
    /// # Errors
    /// Returns the first entry that is not a name.
    pub(crate) fn new(entries: &[String]) -> Result<Self, String> {
        let rule = |entry: &String| entry.parse::<HostRule>().map_err(|()| entry.clone());
        entries
            .iter()
            .map(rule)
            .collect::<Result<_, _>>()
            .map(Hosts)
    }

    /// Returns the host of the request, or `None` if an HTTP/1.0 request has no host.
    ///
    /// # Errors
    /// Fails if the host is missing, repeated or not one of this server's names.
    pub(crate) fn check<'a>(
        &self,
        version: Version,
        uri: &'a Uri,
        headers: &'a HeaderMap,
    ) -> Result<Option<Authority<'a>>, ApiError> {
        let own = |text: &'a str| {
            let authority = Authority::parse(text).ok_or_else(|| malformed(text))?;
            if self.has(authority) {
                Ok(authority)
            } else {
                Err(unknown(text))
            }
        };
        let named = named(version, headers)?.map(own).transpose()?;
        // In `GET http://name/path`, the request target overrides the Host header (RFC 9112 section
        // 3.2.2).
        let target = uri
            .authority()
            .map(|whole| own(whole.as_str()))
            .transpose()?;
        Ok(target.or(named))
    }

    fn has(&self, asked: Authority<'_>) -> bool {
        asked.is_loopback_name()
            || asked.is_address()
            || self.0.iter().any(|rule| rule.covers(asked))
    }
}

/// Returns the value of `Host`, which HTTP/1.1 requires exactly once.
fn named(version: Version, headers: &HeaderMap) -> Result<Option<&str>, ApiError> {
    let mut values = headers.get_all(HOST).iter();
    let refused =
        |why| problem(ErrorCode::RequestHost, why).with_hint("send the header Host: NAME:PORT");
    match (values.next(), values.next()) {
        (None, _) if version <= Version::HTTP_10 => Ok(None),
        (None, _) => Err(refused("missing header Host")),
        (Some(_), Some(_)) => Err(refused("more than one header Host")),
        (Some(value), None) => {
            let text = value.to_str().ok().filter(|text| !text.is_empty());
            let lossy = || String::from_utf8_lossy(value.as_bytes());
            text.map(Some).ok_or_else(|| malformed(&lossy()))
        }
    }
}

fn malformed(text: &str) -> ApiError {
    let message = format!("invalid header Host {text:?}: expected a host with or without a port");
    problem(ErrorCode::RequestHost, message)
}

fn unknown(text: &str) -> ApiError {
    let message = format!("unknown host name {text:?}");
    problem(ErrorCode::BrowserHost, message).with_hint(
        "if the name belongs to this server, add it to server.hosts, or configure the proxy to send Host: localhost",
    )
}

impl<'a> Authority<'a> {
    /// Reads `name`, `name:port`, `1.2.3.4:port` or `[::1]:port`.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let end = rest.find(']')?;
                rest[..end].parse::<Ipv6Addr>().ok()?;
                let (host, after) = text.split_at(end + 2);
                match after {
                    "" => (host, None),
                    after => (host, Some(after.strip_prefix(':')?)),
                }
            }
            None => {
                let fits = |byte: u8| {
                    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | 128..)
                };
                match text.bytes().position(|byte| !fits(byte)) {
                    None => (text, None),
                    Some(end) => (&text[..end], Some(text[end..].strip_prefix(':')?)),
                }
            }
        };
        // `name:` is a name without a port.
        let port = match port.filter(|port| !port.is_empty()) {
            Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
                Some(port.parse().ok()?)
            }
            Some(_) => return None,
            None => None,
        };
        (!host.is_empty()).then_some(Authority { host, port })
    }

    /// Returns whether the name resolves to loopback only (RFC 6761).
    fn is_loopback_name(self) -> bool {
        const LOOPBACK: &str = "localhost";
        // A trailing dot makes a name fully qualified but does not change the host.
        let host = self.host.strip_suffix('.').unwrap_or(self.host);
        let Some(at) = host.len().checked_sub(LOOPBACK.len()) else {
            return false;
        };
        let is_label = at == 0 || host.as_bytes().get(at - 1) == Some(&b'.');
        is_label
            && host
                .get(at..)
                .is_some_and(|end| end.eq_ignore_ascii_case(LOOPBACK))
    }

    /// Returns whether the host is a literal address, which requires no lookup. Only the format
    /// that browsers send counts: `127.1` and `2130706433` are treated as names.
    fn is_address(self) -> bool {
        self.host.starts_with('[') || Ipv4Addr::from_str(self.host).is_ok()
    }

    /// Returns whether an origin is this server's own.
    pub(crate) fn is_origin(self, origin: &HeaderValue) -> bool {
        let Some((scheme, rest)) = origin.to_str().ok().and_then(|text| text.split_once("://"))
        else {
            return false;
        };
        // A proxy may terminate TLS, so both schemes are valid. Browsers omit the default port of a
        // scheme in both headers.
        let usual = match scheme {
            "http" => 80,
            "https" => 443,
            _ => return false,
        };
        Authority::parse(rest).is_some_and(|page| {
            page.host.eq_ignore_ascii_case(self.host)
                && page.port.unwrap_or(usual) == self.port.unwrap_or(usual)
        })
    }
}

impl HostRule {
    fn covers(&self, asked: Authority<'_>) -> bool {
        let host = asked.host.strip_suffix('.').unwrap_or(asked.host);
        let fits = match &self.name {
            HostPattern::Any => true,
            HostPattern::Exact(name) => host.eq_ignore_ascii_case(name),
            HostPattern::Under(name) => {
                let at = host.len().checked_sub(name.len());
                let parts = at.and_then(|at| host.split_at_checked(at));
                parts.is_some_and(|(before, end)| {
                    // `*.example` needs a non-empty label before the dot and does not cover
                    // `example` itself.
                    before.len() > 1 && before.ends_with('.') && end.eq_ignore_ascii_case(name)
                })
            }
        };
        fits && self.port.is_none_or(|port| asked.port == Some(port))
    }
}

impl FromStr for HostRule {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (under, rest) = match text.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        if rest == "*" && !under {
            return Ok(HostRule {
                name: HostPattern::Any,
                port: None,
            });
        }
        let Authority { host, port } = Authority::parse(rest).ok_or(())?;
        let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        match name.as_str() {
            "" => Err(()),
            _ if !name.is_ascii() => Err(()),
            _ if under => Ok(HostRule {
                name: HostPattern::Under(name),
                port,
            }),
            _ => Ok(HostRule {
                name: HostPattern::Exact(name),
                port,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(hosts: &[&str], host: &'static str) -> u16 {
        let entries: Vec<String> = hosts.iter().map(|&entry| entry.to_owned()).collect();
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_bytes(host.as_bytes()).unwrap());
        let hosts = Hosts::new(&entries).unwrap();
        let uri = Uri::from_static("/");
        let checked = hosts.check(Version::HTTP_11, &uri, &headers);
        checked.map_or_else(|error| error.status(), |_| 200)
    }

    #[test]
    fn a_server_answers_to_loopback_addresses_and_its_list() {
        let listed: &[&str] = &["prompts.example", "*.inner.example", "fixed.example:8443"];
        for (hosts, host, expected) in [
            (&[][..], "localhost", 200),
            (&[], "LocalHost:8080", 200),
            (&[], "localhost.", 200),
            (&[], "app.localhost:1", 200),
            (&[], "127.0.0.1:8080", 200),
            (&[], "10.1.2.3", 200),
            (&[], "[::1]:8080", 200),
            (&[], "[fd00::1]", 200),
            (&[], "evil.example", 403),
            (&[], "evillocalhost", 403),
            (&[], "localhost.evil.example", 403),
            (&[], "127.0.0.1.evil.example:8080", 403),
            (&[], "127.1", 403),
            (&[], "2130706433", 403),
            (&[], "0x7f000001", 403),
            (&[], "", 400),
            (&[], ":8080", 400),
            (&[], "localhost:http", 400),
            (&[], "localhost:99999", 400),
            (&[], "localhost:+80", 400),
            (&[], "user@localhost", 400),
            (&[], "localhost/x", 400),
            (&[], "localhost, evil.example", 400),
            (&[], "[::1", 400),
            (&[], "[evil.example]", 400),
            (&[], "[::1]evil.example", 400),
            (listed, "Prompts.Example:1", 200),
            (listed, "prompts.example.", 200),
            (listed, "sub.prompts.example", 403),
            (listed, "a.inner.example", 200),
            (listed, "a.b.inner.example:80", 200),
            (listed, "inner.example", 403),
            (listed, ".inner.example", 403),
            (listed, "evilinner.example", 403),
            (listed, "fixed.example:8443", 200),
            (listed, "fixed.example", 403),
            (&["*"], "anything.example:1", 200),
        ] {
            assert_eq!(status(hosts, host), expected, "{host:?} among {hosts:?}");
        }
    }

    #[test]
    fn entries_that_are_no_names_are_refused() {
        for wrong in [
            "",
            "*.",
            "**",
            "http://a",
            "a/b",
            "a:b",
            "a b",
            "*.*",
            "bücher.example",
        ] {
            assert_eq!(Hosts::new(&[wrong.to_owned()]).unwrap_err(), wrong);
        }
    }

    #[test]
    fn a_page_is_own_if_host_and_port_are() {
        for (host, origin, own) in [
            ("localhost:8080", "http://localhost:8080", true),
            ("localhost:8080", "https://LOCALHOST:8080", true),
            ("prompts.example", "https://prompts.example", true),
            ("prompts.example:443", "https://prompts.example", true),
            ("prompts.example", "http://prompts.example:80", true),
            ("[::1]:8080", "http://[::1]:8080", true),
            ("localhost:8080", "http://localhost:3000", false),
            ("localhost:8080", "http://localhost", false),
            ("localhost:8080", "http://127.0.0.1:8080", false),
            ("localhost", "http://evil.example", false),
            ("localhost", "null", false),
            ("localhost", "", false),
            ("localhost", "localhost", false),
            ("localhost", "file://localhost", false),
            ("localhost", "http://localhost/", false),
        ] {
            let asked = Authority::parse(host).unwrap();
            let origin = HeaderValue::from_str(origin).unwrap();
            assert_eq!(asked.is_origin(&origin), own, "{host} {origin:?}");
        }
    }
}
