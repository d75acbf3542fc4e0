//! What the operator sets. Reading files and the environment is the command
//! line's business; everything here has a default and can be deserialised.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use quillet_core::BoxFuture;
use secrecy::SecretString;
use serde::Deserialize;

use crate::address::AddressPolicy;
use crate::builtin::{RemoteKnowledgeConfig, WebSearchConfig};
use crate::setting::{millis, some_millis};

/// Settings of all tools, the section `tools` of the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolsConfig {
    /// The longest that one call may take, if its definition does not say
    /// otherwise. Written `timeout_ms`. Default 10 s.
    #[serde(rename = "timeout_ms", deserialize_with = "millis")]
    pub timeout: Duration,
    /// The longest answer in bytes. Default 1 MiB.
    pub response_bytes: usize,
    /// How many redirects a call follows. Default 5.
    pub redirects: usize,
    /// Which addresses tools may connect to.
    pub addresses: AddressPolicy,
    /// Certificates in PEM that are trusted besides the system's, for tools whose certificates come
    /// from the operator's own authority.
    pub ca_file: Option<PathBuf>,
    /// Where modules are and which headers they want, by the `module` of a definition.
    pub modules: BTreeMap<String, ModuleConfig>,
    /// MCP servers that definitions may name.
    pub mcp_servers: BTreeMap<String, McpServerConfig>,
    /// Whether a definition may itself say which program to start as an MCP server. Off by default:
    /// whoever can write to the store could run anything here.
    pub allow_stdio: bool,
    /// The longest that starting an MCP server and greeting it may take.
    /// Written `mcp_start_ms`. Default 30 s.
    #[serde(rename = "mcp_start_ms", deserialize_with = "millis")]
    pub mcp_start: Duration,
    /// The longest that a request waits for an MCP server's greeting, or for its list of tools; the
    /// attempt goes on in the background, and after a failure nobody waits. Written `mcp_wait_ms`.
    /// Unless set 3 s where servers are greeted ahead ([`Tools::greet`](crate::Tools::greet)), and
    /// as long as `mcp_start` elsewhere.
    #[serde(rename = "mcp_wait_ms", deserialize_with = "some_millis")]
    pub mcp_wait: Option<Duration>,
    /// The longest that one call of an agent to a tool of an MCP server may take.
    /// Written `mcp_call_ms`. Default 60 s.
    #[serde(rename = "mcp_call_ms", deserialize_with = "millis")]
    pub mcp_call: Duration,
    /// How long the session of an MCP server that a request named is kept after
    /// its last use. Written `mcp_idle_ms`. Default 5 min.
    #[serde(rename = "mcp_idle_ms", deserialize_with = "millis")]
    pub mcp_idle: Duration,
    /// Search engines for the built-in tool `web_search`.
    pub web_search: WebSearchConfig,
    /// The folder that the built-in tools `read_file` and `list_files` see. None of
    /// them where it is not set.
    pub workspace: Option<PathBuf>,
    /// Knowledge bases behind Chat Shell's HTTP interface, in place of those of our own store.
    pub rag: RemoteKnowledgeConfig,
}

/// A module: a service that provides tools.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModuleConfig {
    /// What relative urls of its tools are relative to.
    pub base_url: Option<String>,
    /// Headers for its tools, such as `Authorization`. They are sent to
    /// `base_url`'s origin and nowhere else, so they need one.
    pub headers: BTreeMap<String, SecretString>,
    /// A protobuf descriptor set for its gRPC tools, in place of reflection.
    pub descriptor_set: Option<PathBuf>,
}

/// An MCP server: a program to start (`command`) or an address (`url`).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct McpServerConfig {
    /// The program, looked up in `PATH`.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Added to its environment.
    pub env: BTreeMap<String, SecretString>,
    /// The endpoint of an HTTP server.
    pub url: Option<String>,
    /// How the endpoint is spoken to. Written `type`; for programs it says nothing.
    #[serde(rename = "type")]
    pub wire: McpWire,
    /// Headers for that endpoint.
    pub headers: BTreeMap<String, SecretString>,
}

/// The transport of an MCP server at an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum McpWire {
    /// Streamable HTTP, since revision 2025-03-26 of the protocol. Written
    /// `streamable-http`, the default; `stdio` is taken for it beside a `command`.
    #[default]
    #[serde(alias = "http", alias = "stdio")]
    StreamableHttp,
    /// HTTP with SSE, of revision 2024-11-05. Written `sse`.
    Sse,
}

/// Where modules are that the configuration does not name: the catalogue answers from the shared
/// variable `modules:<module>`, field `url`.
pub trait ModuleUrls: Send + Sync + std::fmt::Debug {
    /// The base url of a module, if anybody registered it.
    fn base_url<'a>(&'a self, module: &'a str) -> BoxFuture<'a, Option<String>>;
}

impl Default for ToolsConfig {
    fn default() -> Self {
        ToolsConfig {
            timeout: Duration::from_secs(10),
            response_bytes: 1 << 20,
            redirects: 5,
            addresses: AddressPolicy::default(),
            ca_file: None,
            modules: BTreeMap::new(),
            mcp_servers: BTreeMap::new(),
            allow_stdio: false,
            mcp_start: Duration::from_secs(30),
            mcp_wait: None,
            mcp_call: Duration::from_secs(60),
            mcp_idle: Duration::from_secs(300),
            web_search: WebSearchConfig::default(),
            workspace: None,
            rag: RemoteKnowledgeConfig::default(),
        }
    }
}
