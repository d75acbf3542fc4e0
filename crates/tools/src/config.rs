//! Settings of tools. Every setting has a default and can be deserialized. Reading files and
//! environment variables is up to the caller.

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
    /// Timeout of one call, if its definition has none. Written `timeout_ms`. Default 10 s.
    #[serde(rename = "timeout_ms", deserialize_with = "millis")]
    pub timeout: Duration,
    /// Maximum bytes of an answer. Default 1 MiB.
    pub response_bytes: usize,
    /// Maximum number of redirects. Default 5.
    pub redirects: usize,
    /// Rules for the addresses that tools may connect to.
    pub addresses: AddressPolicy,
    /// Trusted certificates in PEM in addition to the system's, for tools with certificates of the
    /// operator's own authority.
    pub ca_file: Option<PathBuf>,
    /// Addresses and headers of modules, by the `module` of a definition.
    pub modules: BTreeMap<String, ModuleConfig>,
    /// MCP servers that definitions may refer to.
    pub mcp_servers: BTreeMap<String, McpServerConfig>,
    /// Whether a definition may start a program as an MCP server. Off by default, because it lets
    /// everyone with write access to the store run programs on this machine.
    pub allow_stdio: bool,
    /// Timeout of starting and initializing an MCP server. Written `mcp_start_ms`. Default 30 s.
    #[serde(rename = "mcp_start_ms", deserialize_with = "millis")]
    pub mcp_start: Duration,
    /// How long a request waits for an MCP server to initialize, or to list its tools. The attempt
    /// continues in the background, and requests after a failure do not wait. Written
    /// `mcp_wait_ms`. Default 3 s if servers are connected in advance
    /// ([`Tools::connect_ahead`](crate::Tools::connect_ahead)), otherwise `mcp_start`.
    #[serde(rename = "mcp_wait_ms", deserialize_with = "some_millis")]
    pub mcp_wait: Option<Duration>,
    /// Timeout of one call of an agent to an MCP tool. Written `mcp_call_ms`. Default 60 s.
    #[serde(rename = "mcp_call_ms", deserialize_with = "millis")]
    pub mcp_call: Duration,
    /// Idle time after which the session of a request's MCP server is closed. Written
    /// `mcp_idle_ms`. Default 5 min.
    #[serde(rename = "mcp_idle_ms", deserialize_with = "millis")]
    pub mcp_idle: Duration,
    /// Search engines for the built-in tool `web_search`.
    pub web_search: WebSearchConfig,
    /// Folder for the built-in tools `read_file` and `list_files`, which are disabled if unset.
    pub workspace: Option<PathBuf>,
    /// Knowledge bases of Chat Shell's HTTP API, instead of those of the local store.
    pub rag: RemoteKnowledgeConfig,
}

/// A module: a service that provides tools.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModuleConfig {
    /// Base of relative URLs.
    pub base_url: Option<String>,
    /// Headers for its tools, such as `Authorization`. They are sent only to the origin of
    /// `base_url`, which is therefore required.
    pub headers: BTreeMap<String, SecretString>,
    /// Protobuf descriptor set for its gRPC tools, instead of reflection.
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
    /// Additional environment variables.
    pub env: BTreeMap<String, SecretString>,
    /// The endpoint of an HTTP server.
    pub url: Option<String>,
    /// Transport of the endpoint. Written `type`; ignored for programs.
    #[serde(rename = "type")]
    pub wire: McpWire,
    /// Headers for the endpoint.
    pub headers: BTreeMap<String, SecretString>,
}

/// Transport of an MCP server with a URL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum McpWire {
    /// Streamable HTTP, since revision 2025-03-26 of the protocol. Written `streamable-http`; the
    /// default. A server with a `command` may also write `stdio`.
    #[default]
    #[serde(alias = "http", alias = "stdio")]
    StreamableHttp,
    /// HTTP with SSE, of revision 2024-11-05. Written `sse`.
    Sse,
}

/// Resolver of modules that are not configured: the catalogue reads the field `url` of the shared
/// variable `modules:<module>`.
pub trait ModuleUrls: Send + Sync + std::fmt::Debug {
    /// Registered base URL of a module, if any.
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
