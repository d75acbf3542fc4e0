//! Endpoints of MCP servers, and their identity.

use std::fmt;

use reqwest::header::HeaderMap;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::config::McpWire;

/// Endpoint of an MCP server.
#[derive(Clone, Debug)]
pub(crate) enum Endpoint {
    /// A program that communicates over standard input and output.
    Program {
        command: String,
        args: Vec<String>,
        env: Vec<(String, SecretString)>,
    },
    /// An HTTP address.
    Address {
        wire: McpWire,
        url: Url,
        headers: HeaderMap,
    },
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Program { command, .. } => write!(f, "MCP server {command:?}"),
            // The query is hidden, because it may contain an API key.
            Endpoint::Address { url, .. } => {
                write!(f, "MCP server {}", crate::http::without_query(url))
            }
        }
    }
}

impl Endpoint {
    /// Whether two endpoints are the same server. Secrets are compared too, because other
    /// credentials need another session.
    pub(crate) fn is(&self, other: &Endpoint) -> bool {
        self.words() == other.words() && self.secrets() == other.secrets()
    }

    /// The command line, or the URL and its transport. A command cannot look like a URL, so the two
    /// never collide.
    fn words(&self) -> Vec<&str> {
        match self {
            Endpoint::Program { command, args, .. } => {
                let args = args.iter().map(String::as_str);
                [command.as_str()].into_iter().chain(args).collect()
            }
            Endpoint::Address { url, wire, .. } => {
                let wire = match wire {
                    McpWire::StreamableHttp => "streamable-http",
                    McpWire::Sse => "sse",
                };
                vec![url.as_str(), wire]
            }
        }
    }

    fn secrets(&self) -> Vec<(&str, &[u8])> {
        match self {
            Endpoint::Program { env, .. } => env
                .iter()
                .map(|(name, value)| (name.as_str(), value.expose_secret().as_bytes()))
                .collect(),
            Endpoint::Address { headers, .. } => headers
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_bytes()))
                .collect(),
        }
    }
}
