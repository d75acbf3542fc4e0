//! MCP servers of a request or of the configuration, in either form: the list of the request
//! schema, or the map `{"mcpServers": {NAME: {…}}}` of MCP clients.

use std::time::Duration;

use quillet_core::{Diagnostic, nearest};
use serde_json::{Map as Object, Value as Json};

use super::placeholders::{self, filled};

/// Author of a server list. A request cannot start programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpOrigin {
    /// The operator.
    Configuration,
    /// A client.
    Request,
}

/// Type of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum McpType {
    StreamableHttp,
    Sse,
    Stdio,
    /// Reference to a server of the operator's configuration.
    Configured,
}

/// MCP servers of an agent, before any connection.
#[derive(Clone, Debug, Default)]
pub struct McpServers {
    pub(super) servers: Vec<McpServerEntry>,
}

/// One server with its unvalidated settings.
#[derive(Clone)]
pub(super) struct McpServerEntry {
    pub(super) name: String,
    pub(super) kind: McpType,
    pub(super) settings: Object<String, Json>,
}

// `Debug` is not derived, because settings contain credentials.
impl std::fmt::Debug for McpServerEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wanted")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .finish_non_exhaustive()
    }
}

const TYPES: [(&str, McpType); 5] = [
    ("streamable-http", McpType::StreamableHttp),
    ("streamable_http", McpType::StreamableHttp),
    ("http", McpType::StreamableHttp),
    ("sse", McpType::Sse),
    ("stdio", McpType::Stdio),
];
const KEYS: [&str; 10] = [
    "name",
    "type",
    "transport",
    "url",
    "auth",
    "headers",
    "timeout",
    "command",
    "args",
    "env",
];

impl McpServers {
    /// Reads a list or a map of servers. In a list that the operator wrote, a string refers to a
    /// server in `tools.mcp_servers`. Invalid servers are reported and skipped.
    ///
    /// ```
    /// use quillet_tools::{McpOrigin, McpServers};
    /// use serde_json::json;
    ///
    /// let list = json!({"docs": {"url": "https://docs.example/mcp"}});
    /// let (servers, warnings) = McpServers::read(&list, McpOrigin::Request);
    /// assert!(servers.names().eq(["docs"]));
    /// assert!(warnings.is_empty());
    ///
    /// // A client cannot start programs.
    /// let list = json!({"files": {"command": "mcp-files"}});
    /// let (servers, warnings) = McpServers::read(&list, McpOrigin::Request);
    /// assert!(servers.is_empty());
    /// assert_eq!(warnings.len(), 1);
    /// ```
    #[must_use]
    pub fn read(list: &Json, origin: McpOrigin) -> (Self, Vec<Diagnostic>) {
        let (mut servers, mut findings) = (Vec::new(), Vec::new());
        let list = list.get("mcpServers").unwrap_or(list);
        let named: Vec<(String, &Json)> = match list {
            Json::Object(map) => map.iter().map(|(k, v)| (k.clone(), v)).collect(),
            Json::Array(items) => items.iter().enumerate().map(name_of_entry).collect(),
            Json::Null => Vec::new(),
            _ => {
                let text = "expected a list of servers or an object of name to server";
                findings.push(warning("mcp_servers", text.to_owned()));
                Vec::new()
            }
        };
        for (name, settings) in named {
            match read_server(&name, settings, origin, &mut findings) {
                Ok(wanted) => servers.push(wanted),
                Err(why) => findings.push(warning(&name, why)),
            }
        }
        (McpServers { servers }, findings)
    }

    /// Replaces placeholders such as `${{path.to.value}}` with task data. The command of a program
    /// is not changed, because only the operator decides which program runs.
    #[must_use]
    pub fn filled(&self, task_data: &Json) -> Self {
        let fill = |wanted: &McpServerEntry| {
            let settings = wanted.settings.iter().map(|(key, value)| {
                let value = match key.as_str() {
                    "command" => value.clone(),
                    _ => filled(value, task_data),
                };
                (key.clone(), value)
            });
            McpServerEntry {
                settings: settings.collect(),
                ..wanted.clone()
            }
        };
        let servers = self.servers.iter().map(fill).collect();
        McpServers { servers }
    }

    /// Adds the servers of another list.
    ///
    /// ```
    /// use quillet_tools::{McpOrigin, McpServers};
    /// use serde_json::{Value, json};
    ///
    /// let read = |list: Value| McpServers::read(&list, McpOrigin::Configuration).0;
    /// let mut servers = read(json!({"docs": {"url": "https://docs.example/mcp"}}));
    /// servers.extend(read(json!({"files": {"command": "mcp-files"}})));
    /// assert!(servers.names().eq(["docs", "files"]));
    /// ```
    pub fn extend(&mut self, others: McpServers) {
        self.servers.extend(others.servers);
    }

    /// Returns whether there are no servers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// Iterates over the names of the servers.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.servers.iter().map(|wanted| wanted.name.as_str())
    }
}

/// Creates a warning about a skipped server.
pub(super) fn warning(server: &str, why: String) -> Diagnostic {
    Diagnostic::warning("mcp.server", &format!("mcp server {server:?}"), why)
}

fn name_of_entry((position, item): (usize, &Json)) -> (String, &Json) {
    // If the entry is a string, the string is the name of the server.
    let name = item.get("name").unwrap_or(item).as_str();
    let name = name.map_or_else(|| format!("server_{}", position + 1), str::to_owned);
    (name, item)
}

fn read_server(
    name: &str,
    settings: &Json,
    origin: McpOrigin,
    findings: &mut Vec<Diagnostic>,
) -> Result<McpServerEntry, String> {
    let settings = match (settings, origin) {
        (Json::Object(settings), _) => settings,
        // The operator's servers use the operator's credentials, which a request must not borrow.
        (Json::String(_), McpOrigin::Request) => {
            return Err("a request cannot refer to configured servers".to_owned());
        }
        (Json::String(name), McpOrigin::Configuration) => {
            return Ok(McpServerEntry {
                name: name.clone(),
                kind: McpType::Configured,
                settings: Object::new(),
            });
        }
        _ => return Err("expected an object".to_owned()),
    };
    for key in settings.keys().filter(|key| !KEYS.contains(&key.as_str())) {
        let help = match nearest(key, KEYS) {
            Some(known) => format!("did you mean {known:?}?"),
            None => format!("expected one of {}", KEYS.join(", ")),
        };
        let finding = warning(name, format!("unknown key {key:?} is ignored"));
        findings.push(finding.help(help));
    }
    let kind = kind(settings)?;
    if kind == McpType::Stdio && origin == McpOrigin::Request {
        return Err(
            "a request cannot start programs (the operator can configure this server)".to_owned(),
        );
    }
    Ok(McpServerEntry {
        name: name.to_owned(),
        kind,
        settings: settings.clone(),
    })
}

fn kind(settings: &Object<String, Json>) -> Result<McpType, String> {
    let named = settings.get("type").or(settings.get("transport"));
    let named = match named {
        None | Some(Json::Null) if settings.contains_key("command") => return Ok(McpType::Stdio),
        None | Some(Json::Null) => return Ok(McpType::StreamableHttp),
        Some(Json::String(named)) => named,
        Some(_) => return Err("type: expected a string".to_owned()),
    };
    let known = TYPES
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(named));
    known.map(|(_, kind)| *kind).ok_or_else(|| {
        format!("type: unknown type {named:?} (expected one of streamable-http, sse, stdio)")
    })
}

impl McpServerEntry {
    /// Whether its settings have placeholders for task data.
    pub(super) fn waits_for_data(&self) -> bool {
        let mut settings = self.settings.iter();
        settings.any(|(key, value)| key != "command" && placeholders::has_any(value))
    }

    /// Strings of an object setting; empty if it is missing.
    pub(super) fn pairs(&self, key: &str) -> Result<Vec<(&str, &str)>, String> {
        let fields = match self.settings.get(key) {
            None | Some(Json::Null) => return Ok(Vec::new()),
            Some(Json::Object(fields)) => fields,
            Some(_) => return Err(format!("{key}: expected an object of strings")),
        };
        let pairs = fields
            .iter()
            .map(|(name, value)| Some((name.as_str(), value.as_str()?)));
        let pairs: Option<Vec<_>> = pairs.collect();
        pairs.ok_or_else(|| format!("{key}: expected an object of strings"))
    }

    /// A string setting.
    pub(super) fn text(&self, key: &str) -> Result<&str, String> {
        match self.settings.get(key) {
            Some(Json::String(text)) if !text.is_empty() => Ok(text),
            None | Some(Json::Null | Json::String(_)) => Err(format!("{key} is missing")),
            Some(_) => Err(format!("{key}: expected a string")),
        }
    }

    /// Strings of a list setting; empty if it is missing.
    pub(super) fn texts(&self, key: &str) -> Result<Vec<String>, String> {
        let items = match self.settings.get(key) {
            None | Some(Json::Null) => return Ok(Vec::new()),
            Some(Json::Array(items)) => items,
            Some(_) => return Err(format!("{key}: expected a list of strings")),
        };
        let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
        let texts: Option<Vec<String>> = texts.collect();
        texts.ok_or_else(|| format!("{key}: expected a list of strings"))
    }

    /// The setting `timeout`, in seconds as in Chat Shell's configuration.
    pub(super) fn timeout(&self) -> Result<Option<Duration>, String> {
        let wrong = || "timeout: expected seconds, a number above 0".to_owned();
        match self.settings.get("timeout") {
            None | Some(Json::Null) => Ok(None),
            Some(value) => {
                let seconds = value.as_f64().filter(|seconds| *seconds > 0.0);
                let time = seconds.and_then(|s| Duration::try_from_secs_f64(s).ok());
                time.map(Some).ok_or_else(wrong)
            }
        }
    }
}
