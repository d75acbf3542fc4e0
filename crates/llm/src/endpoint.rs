//! Base URLs of providers, in the forms that users write.

use std::fmt;
use std::net::IpAddr;

use hyper::Uri;
use quillet_core::chat::{ModelError, ModelErrorKind};
use reqwest::Url;

/// Base URL of OpenAI's API, used if no other URL is configured.
pub const DEFAULT_BASE_URL: &str = "https://api.openai.com/v1";

/// The original provider of an API, and the format of its addresses.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NativeProvider {
    /// Name of the provider API.
    wire: &'static str,
    /// Name of the provider in `quillet keys`.
    pub(crate) name: &'static str,
    /// The provider's own base URL.
    pub(crate) base_url: &'static str,
    /// Versions that a path may end in. The first one is added if the version is missing.
    versions: &'static [&'static str],
    /// Whether a missing version is also added to a path, and not only to a bare host.
    versions_every_path: bool,
    /// Paths of the methods after the version, for URLs that include the method.
    methods: &'static [&'static str],
    /// Environment variable of the key.
    pub(crate) key_variable: &'static str,
    /// Environment variable of the base URL.
    pub(crate) url_variable: &'static str,
    /// Setting of the key.
    pub(crate) key_setting: &'static str,
    /// Setting of the base URL.
    pub(crate) url_setting: &'static str,
}

const HOMES: [NativeProvider; 4] = [
    NativeProvider {
        wire: "openai-chat",
        name: "openai",
        base_url: DEFAULT_BASE_URL,
        versions: &["v1"],
        versions_every_path: false,
        methods: &["/chat/completions"],
        key_variable: "OPENAI_API_KEY",
        url_variable: "OPENAI_BASE_URL",
        key_setting: "model.api_key",
        url_setting: "model.base_url",
    },
    NativeProvider {
        wire: "openai-responses",
        name: "openai",
        base_url: DEFAULT_BASE_URL,
        versions: &["v1"],
        versions_every_path: false,
        methods: &["/responses", "/chat/completions"],
        key_variable: "OPENAI_API_KEY",
        url_variable: "OPENAI_BASE_URL",
        key_setting: "model.api_key",
        url_setting: "model.base_url",
    },
    NativeProvider {
        wire: "anthropic",
        name: "anthropic",
        base_url: "https://api.anthropic.com/v1",
        versions: &["v1"],
        versions_every_path: true,
        methods: &["/messages"],
        key_variable: "ANTHROPIC_API_KEY",
        url_variable: "ANTHROPIC_BASE_URL",
        key_setting: "model.anthropic_key",
        url_setting: "model.anthropic_url",
    },
    NativeProvider {
        wire: "gemini",
        name: "google",
        base_url: "https://generativelanguage.googleapis.com/v1beta",
        versions: &["v1beta", "v1", "v1alpha", "v1beta1"],
        versions_every_path: true,
        methods: &["/models"],
        key_variable: "GOOGLE_API_KEY",
        url_variable: "GOOGLE_GEMINI_BASE_URL",
        key_setting: "model.google_key",
        url_setting: "model.google_url",
    },
];

impl NativeProvider {
    /// Returns the original provider of an API; OpenAI for unknown APIs.
    pub(crate) fn of(wire: &str) -> &'static NativeProvider {
        // An array pattern of fixed length cannot fail to match, so no unwrap is needed.
        let [first, ..] = &HOMES;
        HOMES.iter().find(|home| home.wire == wire).unwrap_or(first)
    }

    /// Returns the path before the method.
    fn path(&self, given: &str) -> String {
        let given = given.trim_end_matches('/');
        // Users paste the complete URL of the method from provider documentation.
        let method = self.methods.iter().find_map(|m| given.strip_suffix(m));
        let base = method.unwrap_or(given).trim_end_matches('/');
        let last = base.rsplit('/').next().unwrap_or_default();
        let wants = base.is_empty() || self.versions_every_path;
        match self.versions {
            [first, ..] if wants && !self.versions.contains(&last) => format!("{base}/{first}"),
            _ => base.to_owned(),
        }
    }
}

/// Base URL of a provider, without the path of the method.
#[derive(Clone)]
pub(crate) struct Endpoint {
    base: Url,
    home: &'static NativeProvider,
}

impl Endpoint {
    /// Parses a base URL. `OPENAI_BASE_URL` by convention includes the path before
    /// `/chat/completions`, but `api_base` in the configuration of ai-prompt-shell is the bare
    /// host. An empty path therefore becomes `/v1`, and any other path is unchanged. For Anthropic
    /// and Google a missing version is added, and an existing one is never repeated. The complete
    /// URL of the method is also accepted.
    pub(crate) fn parse(base_url: &str, home: &'static NativeProvider) -> Result<Self, ModelError> {
        let like = home.base_url;
        let mut base = Url::parse(base_url.trim()).map_err(|error| {
            refuse(format!(
                "the base URL is not a URL: {error}; expected something like {like}"
            ))
        })?;
        if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
            return Err(refuse(format!(
                "the base URL must start with http:// or https:// and a host; expected something like {like}"
            )));
        }
        if !base.username().is_empty() || base.password().is_some() {
            return Err(refuse(
                "the base URL contains a user name or password, which would appear in logs; set the API key or a header instead",
            ));
        }
        let path = home.path(base.path());
        base.set_path(&path);
        // A fragment is never sent, but error messages would show it.
        base.set_fragment(None);
        Ok(Endpoint { base, home })
    }

    /// Returns the URL of a method: a path below the base URL, with an optional query that is added
    /// to the base URL's own query.
    pub(crate) fn url(&self, method: &str) -> Url {
        let (path, query) = method.split_once('?').unwrap_or((method, ""));
        let mut url = self.base.clone();
        let base = self.base.path().trim_end_matches('/');
        url.set_path(&format!("{base}/{}", path.trim_start_matches('/')));
        let given = self.base.query().unwrap_or_default();
        let queries: Vec<&str> = [given, query]
            .into_iter()
            .filter(|query| !query.is_empty())
            .collect();
        let joined = queries.join("&");
        url.set_query(Some(joined.as_str()).filter(|query| !query.is_empty()));
        url
    }

    /// Returns the same URL in the form needed for sending.
    pub(crate) fn uri(&self, method: &str) -> Result<Uri, ModelError> {
        let url = self.url(method);
        url.as_str().parse().map_err(|error| {
            refuse(format!(
                "the base URL and the path are not a valid address: {error}"
            ))
        })
    }

    pub(crate) fn home(&self) -> &'static NativeProvider {
        self.home
    }

    /// Host and port; an IPv6 address is returned without brackets.
    pub(crate) fn host(&self) -> (&str, u16) {
        let host = self.base.host_str().unwrap_or_default();
        let port = self.base.port_or_known_default().unwrap_or_default();
        // The brackets of an IPv6 address belong to the URL syntax, not to the address.
        (host.trim_matches(['[', ']']), port)
    }

    /// Host and port for the `Host` header; the default port of the scheme is omitted.
    pub(crate) fn name(&self) -> String {
        let host = self.base.host_str().unwrap_or_default();
        match self.base.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// Whether the address uses TLS.
    pub(crate) fn is_secure(&self) -> bool {
        self.base.scheme() == "https"
    }

    /// Whether this is the original provider of the API, which requires a key.
    pub(crate) fn is_home(&self) -> bool {
        let host = self.base.host_str().unwrap_or_default();
        self.home.base_url.split('/').nth(2) == Some(host)
    }

    /// Whether this is Azure OpenAI, which expects the key in a different header. Detected by its
    /// host, or by the path and query of a gateway before it.
    pub(crate) fn is_azure(&self) -> bool {
        let host = self.base.host_str().unwrap_or_default();
        let path = self.base.path();
        let query = self.base.query().unwrap_or_default();
        host.ends_with(".openai.azure.com")
            || (path.contains("/openai/deployments/") && query.contains("api-version="))
    }

    /// Whether the address is on this machine, which a proxy cannot reach.
    pub(crate) fn is_local(&self) -> bool {
        let (host, _) = self.host();
        let address = host.parse::<IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }
}

/// Shows scheme, host, port and path, but never the query, which may contain a key.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.base.host_str().unwrap_or_default();
        write!(f, "{}://{host}", self.base.scheme())?;
        if let Some(port) = self.base.port() {
            write!(f, ":{port}")?;
        }
        f.write_str(self.base.path().trim_end_matches('/'))
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
        let chat = ["openai-chat", "/chat/completions"];
        let responses = ["openai-responses", "/responses"];
        let anthropic = ["anthropic", "/messages"];
        let gemini = ["gemini", "/models/g:streamGenerateContent?alt=sse"];
        let stream = "/models/g:streamGenerateContent?alt=sse";
        let cases = [
            (
                chat,
                "https://api.openai.com/v1",
                "https://api.openai.com/v1/chat/completions",
            ),
            (
                chat,
                " https://api.openai.com/v1/ ",
                "https://api.openai.com/v1/chat/completions",
            ),
            (
                chat,
                "http://127.0.0.1:11434",
                "http://127.0.0.1:11434/v1/chat/completions",
            ),
            (
                chat,
                "http://127.0.0.1:11434/",
                "http://127.0.0.1:11434/v1/chat/completions",
            ),
            (
                chat,
                "https://h/v1beta/openai/",
                "https://h/v1beta/openai/chat/completions",
            ),
            (
                chat,
                "https://h/v1/chat/completions",
                "https://h/v1/chat/completions",
            ),
            (
                chat,
                "https://h/api/v1?key=k",
                "https://h/api/v1/chat/completions?key=k",
            ),
            (
                chat,
                "https://x.openai.azure.com/openai/deployments/d?api-version=2024-10-21",
                "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
            ),
            (responses, "https://h", "https://h/v1/responses"),
            (
                responses,
                "https://h/v1/responses/",
                "https://h/v1/responses",
            ),
            (
                responses,
                "https://h/backend",
                "https://h/backend/responses",
            ),
            (
                anthropic,
                "https://api.anthropic.com",
                "https://api.anthropic.com/v1/messages",
            ),
            (anthropic, "https://h/v1/", "https://h/v1/messages"),
            (anthropic, "https://h/v1/messages", "https://h/v1/messages"),
            (anthropic, "https://h/api", "https://h/api/v1/messages"),
            (gemini, "https://h", &format!("https://h/v1beta{stream}")),
            (
                gemini,
                "https://h/v1beta/",
                &format!("https://h/v1beta{stream}"),
            ),
            (gemini, "https://h/v1", &format!("https://h/v1{stream}")),
            (
                gemini,
                "https://h/google?k=1",
                "https://h/google/v1beta/models/g:streamGenerateContent?k=1&alt=sse",
            ),
            (
                gemini,
                "https://h/v1beta/models",
                &format!("https://h/v1beta{stream}"),
            ),
        ];
        for ([wire, method], given, expected) in cases {
            let endpoint = Endpoint::parse(given, NativeProvider::of(wire)).unwrap();
            assert_eq!(endpoint.url(method).as_str(), expected, "{wire} {given}");
            assert!(!endpoint.to_string().contains("k="), "{endpoint}");
        }
    }

    #[test]
    fn what_is_not_a_base_url_is_refused_without_being_repeated() {
        for given in ["", "api.openai.com", "ftp://h", "https://me:canary@h/v1"] {
            let error = Endpoint::parse(given, NativeProvider::of("openai-chat"))
                .err()
                .expect(given);
            assert_eq!(error.kind, ModelErrorKind::Configuration, "{given}");
            assert!(!error.message.contains("canary"), "{error}");
        }
    }

    #[test]
    fn addresses_tell_what_they_are() {
        let cases = [
            ("http://localhost:1", true, false, false),
            ("http://127.0.0.1", true, false, false),
            ("http://[::1]:8080/v1", true, false, false),
            ("https://localhost.example.com", false, false, false),
            ("https://10.0.0.1", false, false, false),
            ("https://api.openai.com", false, true, false),
            ("https://x.openai.azure.com/openai/v1", false, false, true),
            (
                "https://g/openai/deployments/d?api-version=1",
                false,
                false,
                true,
            ),
            ("https://g/openai/deployments/d", false, false, false),
        ];
        for (url, local, home, azure) in cases {
            let endpoint = Endpoint::parse(url, NativeProvider::of("openai-chat")).unwrap();
            let found = (endpoint.is_local(), endpoint.is_home(), endpoint.is_azure());
            assert_eq!(found, (local, home, azure), "{url}");
            let authority = url.split('/').nth(2).unwrap();
            assert_eq!(endpoint.name(), authority, "{url}");
        }
    }
}
