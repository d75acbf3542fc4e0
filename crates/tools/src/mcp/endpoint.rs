//! Endpoint of an MCP server, and the identity of servers.

use std::fmt;

use reqwest::header::HeaderMap;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::config::McpWire;

/// Where a server is.
#[derive(Clone, Debug)]
pub(crate) enum Endpoint {
    /// A program that speaks on its standard streams.
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
            // The query is hidden, because some servers take their key there.
            Endpoint::Address { url, .. } => {
                write!(f, "MCP server {}", crate::http::without_query(url))
            }
        }
    }
}

impl Endpoint {
    /// Whether two definitions have the same server. Secrets count: other credentials need another
    /// session.
    pub(crate) fn is(&self, other: &Endpoint) -> bool {
        self.words() == other.words() && self.secrets() == other.secrets()
    }

    /// The command line, or the url and its wire; no program has a name like a url.
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
