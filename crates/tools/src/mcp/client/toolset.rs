//! MCP tools for agents: all tools that the servers list. Servers are queried concurrently. A
//! server that fails is reported and skipped.

use std::sync::Arc;

use futures_util::future::join_all;
use quillet_core::tool::{
    Idempotency, Tool, ToolAnswer, ToolContext, ToolError, ToolErrorKind, ToolSpec,
};
use quillet_core::{BoxFuture, Map, MediaUrl, Value, nearest};
use rmcp::model::{
    CallToolResult, ContentBlock, ResourceContents, Tool as Listed, ToolAnnotations,
};
use secrecy::SecretString;
use serde_json::Value as Json;

use super::McpServer;
use super::names::UsedNames;
use crate::Tools;
use crate::config::McpWire;
use crate::deadline::CallTimeout;
use crate::headers::secret_headers;
use crate::http::checked_url;
use crate::mcp::server_entry::{McpServerEntry, McpType, warning};
use crate::mcp::{Endpoint, McpServers, McpTools};

impl Tools {
    /// Connects to the servers and lists their tools. `taken` are the names of the agent's other
    /// tools. Sessions are shared with other requests that use the same server and credentials, and
    /// stay open for a while.
    pub async fn mcp_tools(&self, servers: &McpServers, taken: &[&str]) -> McpTools {
        let connecting = servers.servers.iter().map(|wanted| self.connect(wanted));
        // `join_all` preserves the order of the servers, on which the tool names depend.
        let connected = join_all(connecting).await;
        let mut names = UsedNames::taken(taken);
        let (mut tools, mut warnings) = (Vec::new(), Vec::new());
        for (wanted, connected) in servers.servers.iter().zip(connected) {
            match connected {
                Ok(listed) => tools.extend(listed.tools(&wanted.name, &mut names)),
                Err(why) => warnings.push(warning(&wanted.name, why)),
            }
        }
        McpTools { tools, warnings }
    }

    /// Initializes these servers in the background and keeps them open. After this call, every
    /// other server is initialized when a definition first refers to it. Services call this at
    /// startup, so that requests do not wait for servers. Call this inside a Tokio runtime.
    pub fn connect_ahead(&self, servers: &McpServers) {
        self.servers.look_ahead();
        // Servers with placeholders for task data get a session per task, when a request uses them.
        let whole = servers.servers.iter();
        for wanted in whole.filter(|wanted| !wanted.waits_for_data()) {
            // An invalid entry is reported when its tools are listed.
            if let Ok(endpoint) = self.endpoint(wanted) {
                self.servers.keep(endpoint);
            }
        }
    }

    async fn connect(&self, wanted: &McpServerEntry) -> Result<ListedServer, String> {
        let endpoint = self.endpoint(wanted)?;
        let most = self.config.mcp_call;
        let limit = CallTimeout {
            // A server entry can only shorten the limit.
            time: wanted.timeout()?.map_or(most, |time| time.min(most)),
            setting: "timeout of the server, or tools.mcp_call_ms",
        };
        let server = self.servers.pooled(endpoint);
        // Initialization and listing are limited like a call.
        let listing = limit.run("listing its tools", limit.time, server.listing());
        let listing = listing.await.map_err(|error| error.message)?;
        Ok(ListedServer {
            listed: listing.tools.clone(),
            server,
            limit,
        })
    }

    fn endpoint(&self, wanted: &McpServerEntry) -> Result<Endpoint, String> {
        let wire = match wanted.kind {
            McpType::StreamableHttp => McpWire::StreamableHttp,
            McpType::Sse => McpWire::Sse,
            McpType::Stdio => return program(wanted),
            McpType::Configured => return self.configured(&wanted.name),
        };
        let url = checked_url(&self.network.policy, wanted.text("url")?)
            .map_err(|denied| format!("url: {denied}"))?;
        let mut pairs = wanted.pairs("auth")?;
        pairs.extend(wanted.pairs("headers")?);
        let pairs: Vec<(&str, SecretString)> = pairs
            .into_iter()
            .map(|(name, value)| (name, value.into()))
            .collect();
        let pairs = pairs.iter().map(|(name, value)| (*name, value));
        let headers = secret_headers(pairs).map_err(|why| format!("headers: {why}"))?;
        Ok(Endpoint::Address { wire, url, headers })
    }
}

impl Tools {
    /// Returns the endpoint of a server in `tools.mcp_servers`.
    fn configured(&self, name: &str) -> Result<Endpoint, String> {
        self.mcp_servers.get(name).cloned().ok_or_else(|| {
            let known = self.mcp_servers.keys().map(String::as_str);
            let hint = match nearest(name, known) {
                Some(known) => format!("did you mean {known:?}?"),
                None => format!("configure it as tools.mcp_servers.{name}"),
            };
            format!("unknown server {name:?} ({hint})")
        })
    }
}

fn program(wanted: &McpServerEntry) -> Result<Endpoint, String> {
    let env = wanted.pairs("env")?.into_iter();
    Ok(Endpoint::Program {
        command: wanted.text("command")?.to_owned(),
        args: wanted.texts("args")?,
        env: env
            .map(|(name, value)| (name.to_owned(), value.into()))
            .collect(),
    })
}

/// A server that listed its tools.
struct ListedServer {
    server: Arc<McpServer>,
    listed: Vec<Listed>,
    limit: CallTimeout,
}

impl ListedServer {
    fn tools(self, name: &str, names: &mut UsedNames) -> Vec<Arc<dyn Tool>> {
        let tool = |listed: Listed| -> Arc<dyn Tool> {
            let spec = ToolSpec {
                name: names.give(name, &listed.name),
                description: listed.description.unwrap_or_default().into_owned(),
                parameters: Json::Object((*listed.input_schema).clone()),
                returns: None,
                repeat: repeat(listed.annotations.as_ref()),
                ..ToolSpec::default()
            };
            Arc::new(McpTool {
                spec,
                theirs: listed.name.into_owned(),
                server: self.server.clone(),
                limit: self.limit.clone(),
            })
        };
        self.listed.into_iter().map(tool).collect()
    }
}

/// Whether calls may be repeated. The annotations of a server are only hints, and are not used for
/// anything else.
fn repeat(told: Option<&ToolAnnotations>) -> Idempotency {
    let is_told = told.is_some_and(|told| {
        told.read_only_hint == Some(true) || told.idempotent_hint == Some(true)
    });
    if is_told {
        Idempotency::Freely
    } else {
        Idempotency::Never
    }
}

/// A tool that a server lists. The server validates its arguments.
#[derive(Debug)]
struct McpTool {
    spec: ToolSpec,
    /// The server's name for the tool.
    theirs: String,
    server: Arc<McpServer>,
    limit: CallTimeout,
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        arguments: Map,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async move { Ok(self.ask(&arguments, context, false).await?.value) })
    }

    fn call_for_model<'a>(
        &'a self,
        arguments: Map,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolAnswer, ToolError>> {
        Box::pin(async move { self.ask(&arguments, context, true).await })
    }
}

impl McpTool {
    async fn ask(
        &self,
        arguments: &Map,
        context: &ToolContext,
        shows: bool,
    ) -> Result<ToolAnswer, ToolError> {
        let name = self.spec.name.as_str();
        let left = self.limit.remaining(context);
        let answer = super::answer(&self.server, name, &self.theirs, arguments);
        let answer = self.limit.run(name, left, answer).await;
        let result = answer.and_then(|result| self.result(result, shows));
        result.map_err(|error| self.to_model_error(error, left.as_secs_f64()))
    }

    fn result(&self, result: CallToolResult, shows: bool) -> Result<ToolAnswer, ToolError> {
        let mut images = if shows && result.is_error != Some(true) {
            pictures(&result.content)
        } else {
            Vec::new()
        };
        let size: usize = images.iter().map(|image| image.url.len()).sum();
        if size > self.server.response_bytes {
            // The text below states that the images are not shown.
            images.clear();
        }
        let text = readable(&result.content, !images.is_empty());
        if result.is_error == Some(true) {
            return Err(ToolError {
                kind: ToolErrorKind::Remote,
                message: format!(
                    "{} answered with an error: {}",
                    self.server.endpoint,
                    crate::parameters::brief(&text)
                ),
                for_model: beginning(&text).to_owned(),
            });
        }
        // Servers repeat structured content in blocks, which also distinguish media from text.
        let value = match result.structured_content {
            Some(tree) if result.content.is_empty() => tree,
            _ => Json::String(text),
        };
        let value = super::bounded(&self.server, value)?;
        Ok(ToolAnswer { value, images })
    }

    /// Error for the model, in Chat Shell's words and with the name of the tool that failed.
    fn to_model_error(&self, error: ToolError, waited: f64) -> ToolError {
        let name = &self.spec.name;
        let for_model = match error.kind {
            ToolErrorKind::Timeout => format!("MCP tool '{name}' timed out after {waited:.1}s"),
            _ => format!("MCP tool '{name}' failed: {}", error.for_model),
        };
        ToolError { for_model, ..error }
    }
}

/// First part of an error text, long enough for a model to correct its call.
fn beginning(text: &str) -> &str {
    const MOST: usize = 4_000;
    match text.char_indices().nth(MOST) {
        None => text,
        Some((end, _)) => &text[..end],
    }
}

/// Image types that every provider accepts.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Returns the images among the blocks as `data:` URLs.
fn pictures(content: &[ContentBlock]) -> Vec<MediaUrl> {
    let picture = |block: &ContentBlock| match block {
        ContentBlock::Image(image) if PICTURES.contains(&image.mime_type.as_str()) => {
            Some(MediaUrl {
                url: format!("data:{};base64,{}", image.mime_type, image.data),
                detail: None,
            })
        }
        _ => None,
    };
    content.iter().filter_map(picture).collect()
}

/// Converts the blocks of a result to text. Media is only mentioned: its base64 text is useless to
/// a model and would fill its window.
fn readable(content: &[ContentBlock], shown: bool) -> String {
    let text = |given: &ContentBlock| match given {
        ContentBlock::Image(image) if shown && PICTURES.contains(&image.mime_type.as_str()) => {
            format!("[image {}]", image.mime_type)
        }
        other => block(other),
    };
    let texts: Vec<String> = content.iter().map(text).collect();
    texts.join("\n")
}

fn block(block: &ContentBlock) -> String {
    // Four characters of base64 are three bytes.
    let media = |kind: &str, mime: &str, data: &str| {
        format!("[{kind} {mime}, {} bytes, not shown]", data.len() / 4 * 3)
    };
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => media("image", &image.mime_type, &image.data),
        ContentBlock::Audio(audio) => media("audio", &audio.mime_type, &audio.data),
        ContentBlock::ResourceLink(link) => format!("[resource {} at {}]", link.name, link.uri),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { text, .. } => text.clone(),
            ResourceContents::BlobResourceContents {
                uri,
                mime_type,
                blob,
                ..
            } => {
                let mime = mime_type.as_deref().unwrap_or("of unknown type");
                media(&format!("resource {uri}"), mime, blob)
            }
            _ => "[a resource of a kind that is not known here]".to_owned(),
        },
        _ => "[content of a kind that is not known here]".to_owned(),
    }
}
