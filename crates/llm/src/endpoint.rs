//! Where a provider listens: base URLs as people write them.

use std::fmt;

use quillet_core::chat::{ModelError, ModelErrorKind};
use reqwest::Url;

/// OpenAI's own address.
pub const DEFAULT_BASE_URL: &str = "https://api.openai.com/v1";

/// The address of `chat/completions` at one provider.
#[derive(Clone)]
pub(crate) struct Endpoint(Url);

impl Endpoint {
    /// Reads a base URL. `OPENAI_BASE_URL` by convention holds the path that
    /// stands before `/chat/completions`, while the deployed origin's `api_base`
    /// is the bare host: an empty path therefore becomes `/v1`, any other path
    /// stays as it is. The whole address of the method is understood too.
    pub(crate) fn parse(base_url: &str) -> Result<Self, ModelError> {
        let mut url = Url::parse(base_url.trim()).map_err(|error| {
            refuse(format!(
                "the base URL is not a URL: {error}; it looks like {DEFAULT_BASE_URL}"
            ))
        })?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(refuse(format!(
                "the base URL has to begin with http:// or https:// and name a host; it looks like {DEFAULT_BASE_URL}"
            )));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refuse(
                "the base URL holds a user name or password, which would end up in logs; set the API key or a header instead",
            ));
        }
        let base = url.path().trim_end_matches('/');
        let path = match base {
            "" => "/v1/chat/completions".to_owned(),
            _ if base.ends_with("/chat/completions") => base.to_owned(),
            _ => format!("{base}/chat/completions"),
        };
        url.set_path(&path);
        url.set_fragment(None);
        Ok(Endpoint(url))
    }

    pub(crate) fn url(&self) -> Url {
        self.0.clone()
    }

    /// Host, an IPv6 address without brackets, and port.
    pub(crate) fn host(&self) -> (&str, u16) {
        let host = self.0.host_str().unwrap_or_default();
        let port = self.0.port_or_known_default().unwrap_or_default();
        (host.trim_matches(['[', ']']), port)
    }

    /// Whether it speaks TLS.
    pub(crate) fn is_secure(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Whether it is OpenAI itself, which answers nothing without a key.
    pub(crate) fn needs_key(&self) -> bool {
        self.0.host_str() == Some("api.openai.com")
    }

    /// Whether it is on this machine, where no proxy can help.
    pub(crate) fn is_local(&self) -> bool {
        let host = self.0.host_str().unwrap_or_default();
        let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }
}

/// Scheme, host, port and path; never the query, which may hold a key.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.0.host_str().unwrap_or_default();
        write!(f, "{}://{host}", self.0.scheme())?;
        if let Some(port) = self.0.port() {
            write!(f, ":{port}")?;
        }
        let path = self.0.path();
        f.write_str(path.strip_suffix("/chat/completions").unwrap_or(path))
    }
}

fn refuse(message: impl Into<String>) -> ModelError {
    ModelError::new(ModelErrorKind::Configuration, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls_are_taken_as_people_write_them() {
        let cases = [
            ("https://api.openai.com/v1", "https://api.openai.com/v1"),
            (" https://api.openai.com/v1/ ", "https://api.openai.com/v1"),
            ("http://127.0.0.1:11434", "http://127.0.0.1:11434/v1"),
            ("http://127.0.0.1:11434/", "http://127.0.0.1:11434/v1"),
            ("https://h/v1beta/openai/", "https://h/v1beta/openai"),
            ("https://h/v1/chat/completions", "https://h/v1"),
            ("https://h/v1?key=canary", "https://h/v1"),
        ];
        for (given, shown) in cases {
            let endpoint = Endpoint::parse(given).unwrap();
            assert_eq!(endpoint.to_string(), shown, "{given}");
            let path = endpoint.url().path().to_owned();
            assert!(path.ends_with("/chat/completions"), "{given}: {path}");
            assert_eq!(path.matches("completions").count(), 1, "{given}: {path}");
        }
        let with_query = Endpoint::parse("https://h/v1?api-version=2").unwrap();
        assert_eq!(with_query.url().query(), Some("api-version=2"));
    }

    #[test]
    fn what_is_not_a_base_url_is_refused_without_being_repeated() {
        for given in ["", "api.openai.com", "ftp://h", "https://me:canary@h/v1"] {
            let error = Endpoint::parse(given).err().expect(given);
            assert_eq!(error.kind, ModelErrorKind::Configuration, "{given}");
            assert!(!error.message.contains("canary"), "{error}");
        }
    }

    #[test]
    fn addresses_of_this_machine_are_known() {
        for (url, local) in [
            ("http://localhost:1", true),
            ("http://127.0.0.1", true),
            ("http://[::1]:8080/v1", true),
            ("https://localhost.example.com", false),
            ("https://10.0.0.1", false),
        ] {
            assert_eq!(Endpoint::parse(url).unwrap().is_local(), local, "{url}");
        }
    }
}
