//! MCP client over stdio (a program that is started once and keeps running) and streamable HTTP.
//! All tools of a server share a session. It is opened in advance or at the first call, and
//! reopened if it breaks.

mod failure;
mod handler;
mod listing;
mod names;
mod session;
mod single_flight;
mod sse;
mod toolset;

use std::sync::Arc;

use quillet_core::build::FeatureDisabled;
use quillet_core::tool::{ToolError, ToolErrorKind};
use quillet_core::{Map, Value};
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock};
use rmcp::service::ServiceError;
use serde_json::Value as Json;

use crate::http::too_large;
use crate::parameters::{self, CallArguments};
use crate::returns::Returns;
use failure::{error_text, http_failure, kind};
pub(crate) use session::McpServer;
pub(crate) use single_flight::McpTimeouts;

/// Whether this build has an MCP client.
pub(crate) const AVAILABLE: Result<(), FeatureDisabled> = Ok(());

/// Calls a tool of a server and converts its result as the definition requires.
pub(crate) async fn call(
    server: &Arc<McpServer>,
    name: &str,
    tool: &str,
    given: CallArguments<'_>,
    returns: &Returns,
) -> Result<Value, ToolError> {
    let result = match given {
        CallArguments::Named(arguments) => answer(server, name, tool, arguments).await?,
        CallArguments::InOrder(list) => {
            let arguments = in_order(server, name, tool, list).await?;
            answer(server, name, tool, &arguments).await?
        }
    };
    let wrapped = match &result.structured_content {
        Some(tree) if returns.says_nothing() && only_member(tree).is_some() => {
            wrapped(server, tool).await
        }
        _ => None,
    };
    let value = decode(server, name, result, returns)?;
    Ok(match (value, wrapped) {
        (Value::Map(map), Some(key)) if map.get(&key).is_some() => {
            map.with_display_key(&key).into()
        }
        (value, _) => value,
    })
}

/// Names positional arguments after the properties of the tool's schema, in the server's order.
async fn in_order(
    server: &Arc<McpServer>,
    name: &str,
    tool: &str,
    list: &[Value],
) -> Result<Map, ToolError> {
    let listing = server.listing().await?;
    let known = listing.tools.iter().find(|known| known.name == tool);
    let known = known.ok_or_else(|| {
        let message = format!("{name}: {} lists no tool {tool:?}", server.endpoint);
        ToolError::new(ToolErrorKind::Remote, message)
    })?;
    let properties = known
        .input_schema
        .get("properties")
        .and_then(Json::as_object);
    let names = properties
        .into_iter()
        .flat_map(|fields| fields.keys().map(String::as_str));
    parameters::named(name, list, names)
}

/// Property that holds a tool's result, if its schema has no other: servers wrap non-objects,
/// because structured content must be an object.
async fn wrapped(server: &Arc<McpServer>, tool: &str) -> Option<String> {
    // This only affects how a result prints, so a failed listing must not fail the call.
    let listing = server.listing().await.ok()?;
    let known = listing.tools.iter().find(|known| known.name == tool)?;
    let properties = known
        .output_schema
        .as_ref()?
        .get("properties")?
        .as_object()?;
    match properties.len() {
        1 => properties.keys().next().cloned(),
        _ => None,
    }
}

fn only_member(tree: &Json) -> Option<&Json> {
    let fields = tree.as_object().filter(|fields| fields.len() == 1)?;
    fields.values().next()
}

/// Calls a tool of a server and returns its answer.
async fn answer(
    server: &Arc<McpServer>,
    name: &str,
    tool: &str,
    arguments: &Map,
) -> Result<CallToolResult, ToolError> {
    let session = server.session().await?;
    let Json::Object(arguments) = Json::from(&Value::Map(arguments.clone())) else {
        return Err(ToolError::new(
            ToolErrorKind::Arguments,
            format!("{name}: arguments are an object"),
        ));
    };
    let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
    // Dropping this future sends a cancellation to the server.
    let answer = session.call_tool_once(params).await;
    match answer.map_err(|error| failed(server, &error))? {
        CallToolResponse::Complete(result) => Ok(result),
        _ => {
            let message = format!(
                "{name}: {} asks for user input, which is not supported",
                server.endpoint
            );
            Err(ToolError::new(ToolErrorKind::Protocol, message))
        }
    }
}

/// Decodes a result: structured content if there is any, otherwise the text, otherwise the content
/// blocks. The text is parsed as JSON only if the definition's `returns` declares another type than
/// string.
fn decode(
    server: &McpServer,
    name: &str,
    result: CallToolResult,
    returns: &Returns,
) -> Result<Value, ToolError> {
    let text = text_of(&result.content);
    if result.is_error == Some(true) {
        let said = text.unwrap_or_else(|| "no text".to_owned());
        let said = crate::parameters::brief(&said);
        return Err(ToolError {
            kind: ToolErrorKind::Remote,
            message: format!("{name}: {} answered with an error: {said}", server.endpoint),
            for_model: format!("the tool answered with an error: {said}"),
        });
    }
    let size = text.as_ref().map_or(0, String::len);
    if size > server.response_bytes {
        return Err(too_large(server.response_bytes));
    }
    if let Some(structured) = result.structured_content {
        return match (returns.is_scalar(), only_member(&structured), text) {
            (true, Some(only), _) if !only.is_object() => bounded(server, only.clone()),
            // A server that declares a string but sends an object also sends the string in the
            // content blocks.
            (true, _, Some(text)) if structured.is_object() => returns.text(name, &text),
            _ => bounded(server, structured),
        };
    }
    match text {
        Some(text) => returns.text(name, &text),
        None if result.content.is_empty() => Ok(returns.nothing()),
        None => bounded(
            server,
            serde_json::to_value(&result.content).unwrap_or_default(),
        ),
    }
}

fn bounded(server: &McpServer, tree: Json) -> Result<Value, ToolError> {
    match serde_json::to_vec(&tree).map_or(0, |text| text.len()) {
        size if size > server.response_bytes => Err(too_large(server.response_bytes)),
        _ => Ok(tree.into()),
    }
}

/// Joins the texts of the content; `None` if there are none.
fn text_of(content: &[ContentBlock]) -> Option<String> {
    let texts: Vec<&str> = content
        .iter()
        .filter_map(|block| match block {
            ContentBlock::Text(text) => Some(text.text.as_str()),
            _ => None,
        })
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn failed(server: &McpServer, error: &ServiceError) -> ToolError {
    if let ServiceError::TransportSend(error) = error
        && let Some(known) = http_failure(error)
    {
        return known;
    }
    let said = error_text(error);
    ToolError {
        kind: kind(error),
        message: format!("{}: {}{}", server.endpoint, said, server.last_words()),
        for_model: format!("the tool failed: {said}"),
    }
}
