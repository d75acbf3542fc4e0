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
    /// Timeout of one tool call, if the tool's definition does not set one. Written `timeout_ms`.
    /// Default 10 s.
    #[serde(rename = "timeout_ms", deserialize_with = "millis")]
    pub timeout: Duration,
    /// Maximum size of a tool's response in bytes. Default 1 MiB.
    pub response_bytes: usize,
    /// Maximum number of redirects. Default 5.
    pub redirects: usize,
    /// Rules for the addresses that tools may connect to.
    pub addresses: AddressPolicy,
    /// PEM file of certificates that are trusted in addition to the system's certificates. Use it
    /// for tools whose certificates come from a private authority.
    pub ca_file: Option<PathBuf>,
    /// Addresses and headers of modules. Keys are the values of `module` in tool definitions.
    pub modules: BTreeMap<String, ModuleConfig>,
    /// MCP servers that definitions may refer to.
    pub mcp_servers: BTreeMap<String, McpServerConfig>,
    /// Whether a definition may start a program as an MCP server. Disabled by default, because
    /// anyone with write access to the store could then run programs on this machine.
    pub allow_stdio: bool,
    /// Timeout of starting and initializing an MCP server. Written `mcp_start_ms`. Default 30 s.
    #[serde(rename = "mcp_start_ms", deserialize_with = "millis")]
    pub mcp_start: Duration,
    /// How long a request waits for an MCP server to initialize, or to list its tools. After that
    /// time, the attempt continues in the background. Requests after a failure do not wait. Written
    /// `mcp_wait_ms`. The default is 3 s if servers are connected in advance
    /// ([`Tools::connect_ahead`](crate::Tools::connect_ahead)), and `mcp_start` otherwise.
    #[serde(rename = "mcp_wait_ms", deserialize_with = "some_millis")]
    pub mcp_wait: Option<Duration>,
    /// Timeout of one call that an agent makes to an MCP tool. Written `mcp_call_ms`. Default 60 s.
    #[serde(rename = "mcp_call_ms", deserialize_with = "millis")]
    pub mcp_call: Duration,
    /// Idle time after which a session with an MCP server that a request configured is closed.
    /// Written `mcp_idle_ms`. Default 5 min.
    #[serde(rename = "mcp_idle_ms", deserialize_with = "millis")]
    pub mcp_idle: Duration,
    /// Search engines for the built-in tool `web_search`.
    pub web_search: WebSearchConfig,
    /// Folder for the built-in tools `read_file` and `list_files`, which are disabled if unset.
    pub workspace: Option<PathBuf>,
    /// Knowledge bases that Chat Shell's HTTP API provides, used instead of the local store's.
    pub rag: RemoteKnowledgeConfig,
}

/// A module, which is a service that provides tools.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModuleConfig {
    /// Base of relative URLs in tool definitions.
    pub base_url: Option<String>,
    /// Headers for requests to the module's tools, such as `Authorization`. The headers are sent
    /// only to the origin of `base_url`, so `base_url` is required.
    pub headers: BTreeMap<String, SecretString>,
    /// Protobuf descriptor set for the module's gRPC tools, used instead of reflection.
    pub descriptor_set: Option<PathBuf>,
}

/// An MCP server, which is a program to start (`command`) or an address (`url`).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct McpServerConfig {
    /// The program to start, which is looked up in `PATH`.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Additional environment variables.
    pub env: BTreeMap<String, SecretString>,
    /// The endpoint of an HTTP server.
    pub url: Option<String>,
    /// Transport of the endpoint. In the configuration, the field is named `type`. It is ignored
    /// for programs.
    #[serde(rename = "type")]
    pub wire: McpWire,
    /// Headers for the endpoint.
    pub headers: BTreeMap<String, SecretString>,
}

/// Transport of an MCP server that has a URL.
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

/// Finds the URLs of modules that are not configured. The catalogue's implementation reads the
/// field `url` of the shared variable `modules:<module>`.
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
