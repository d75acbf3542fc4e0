//! What a tool definition says: the seed's JSON and the deployed origin's
//! (`restful`, `grpc` objects), read into one shape. Says nothing about whether
//! the tool can be reached.

use std::time::Duration;

use quillet_core::Diagnostic;
use serde_json::Value as Json;

use crate::parameters;
use crate::reader::{Part, Reader};

/// A tool as its author defined it.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) module: String,
    pub(crate) description: String,
    /// JSON Schema of the arguments, always of an object.
    pub(crate) parameters: Json,
    /// JSON Schema of the result.
    pub(crate) returns: Option<Json>,
    /// What stands in for the result of a failed call.
    pub(crate) default: Option<Json>,
    /// Path of the part of the answer that is the result.
    pub(crate) result: Vec<String>,
    pub(crate) idempotent: bool,
    pub(crate) timeout: Option<Duration>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) wire: WireDefinition,
}

/// How the tool is called.
#[derive(Debug)]
pub(crate) enum WireDefinition {
    Restful(RestfulDefinition),
    Grpc(GrpcDefinition),
    Mcp(McpDefinition),
}

/// A tool behind an HTTP address.
#[derive(Debug)]
pub(crate) struct RestfulDefinition {
    /// Absolute or relative to the module's base; may have `{argument}` in path and query.
    pub(crate) url: String,
    pub(crate) method: String,
    /// Whether the body is the list of arguments in order, as the deployed origin sends it.
    pub(crate) array: bool,
}

/// A unary gRPC method.
#[derive(Debug)]
pub(crate) struct GrpcDefinition {
    /// `host:port`, `http://…` or `https://…`; the module's base where `None`.
    pub(crate) url: Option<String>,
    pub(crate) service: String,
    pub(crate) method: String,
    pub(crate) tls: bool,
    /// A `FileDescriptorSet` in base64, in place of reflection.
    pub(crate) descriptor_set: Option<String>,
}

/// A tool of an MCP server.
#[derive(Debug)]
pub(crate) struct McpDefinition {
    /// The name of a configured server.
    pub(crate) server: Option<String>,
    pub(crate) url: Option<String>,
    pub(crate) command: Option<String>,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) tool: String,
}

const TYPES: [&str; 3] = ["restful", "grpc", "mcp"];
const METHODS: [&str; 4] = ["GET", "POST", "PUT", "DELETE"];
const KEYS: [&str; 20] = [
    "name",
    "module",
    "type",
    "url",
    "method",
    "restful",
    "grpc",
    "mcp",
    "description",
    "supports",
    "parameters",
    "returns",
    "default",
    "result",
    "args",
    "idempotent",
    "timeout_ms",
    "headers",
    // Descriptive only.
    "$schema",
    "version",
];

/// Reads a definition.
///
/// # Errors
/// Everything that is wrong with it.
pub(crate) fn read(
    source: &str,
    text: &str,
) -> Result<(Definition, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut reader = Reader::new(source, text);
    let Some(tree) = reader.tree() else {
        return Err(reader.errors);
    };
    let Some(fields) = tree.as_object() else {
        reader.error(&[], "a tool definition is a JSON object");
        return Err(reader.errors);
    };
    let top = Part { fields, key: "" };
    reader.only(top, &KEYS);
    let definition = definition(&mut reader, top);
    match definition {
        Some(definition) if reader.errors.is_empty() => Ok((definition, reader.warnings)),
        _ => Err(reader.errors),
    }
}

fn definition(reader: &mut Reader<'_>, top: Part<'_>) -> Option<Definition> {
    let name = reader.string(top, "name").unwrap_or_default();
    let module = reader.string(top, "module").unwrap_or_default();
    let parameters =
        parameters::schema(reader, top, "parameters").unwrap_or_else(parameters::nothing);
    let definition = Definition {
        description: reader.string(top, "description").unwrap_or_default(),
        parameters,
        returns: parameters::schema(reader, top, "returns"),
        default: top.fields.get("default").cloned(),
        result: result_path(reader, top),
        idempotent: reader.boolean(top, "idempotent").unwrap_or_default(),
        timeout: reader.count(top, "timeout_ms").map(Duration::from_millis),
        headers: reader.pairs(top, "headers"),
        wire: wire(reader, top, &name, &module)?,
        module,
    };
    Some(definition)
}

/// `result`: `"data.items.0"` or `["data", "items", "0"]`.
fn result_path(reader: &mut Reader<'_>, top: Part<'_>) -> Vec<String> {
    match top.get("result") {
        Some(Json::String(path)) => path.split('.').map(str::to_owned).collect(),
        Some(_) => reader.strings(top, "result"),
        None => Vec::new(),
    }
}

fn wire(
    reader: &mut Reader<'_>,
    top: Part<'_>,
    name: &str,
    module: &str,
) -> Option<WireDefinition> {
    let kind = kind(reader, top)?;
    let empty = serde_json::Map::new();
    let part = match top.get(kind) {
        None => Part {
            fields: &empty,
            key: kind,
        },
        Some(Json::Object(fields)) => Part { fields, key: kind },
        Some(_) => {
            reader.error(&[kind], "expected an object");
            return None;
        }
    };
    match kind {
        "grpc" => Some(WireDefinition::Grpc(grpc(reader, top, part, name, module)?)),
        "mcp" => Some(WireDefinition::Mcp(mcp(reader, top, part, name)?)),
        _ => Some(WireDefinition::Restful(restful(reader, top, part)?)),
    }
}

/// The type that is named, or else the one whose object is there.
fn kind(reader: &mut Reader<'_>, top: Part<'_>) -> Option<&'static str> {
    let present = TYPES.into_iter().find(|kind| top.get(kind).is_some());
    let Some(named) = top.get("type") else {
        let kind = present.or(top.get("url").map(|_| "restful"));
        if kind.is_none() {
            reader.error(
                &[],
                "the definition has no type (write \"type\": \"restful\", \"grpc\" or \"mcp\")",
            );
        }
        return kind;
    };
    let named = named.as_str().unwrap_or_default();
    let known = TYPES
        .into_iter()
        .find(|kind| kind.eq_ignore_ascii_case(named));
    if known.is_none() {
        reader.error(
            &["type"],
            format!("unknown type {named:?} (known are {})", TYPES.join(", ")),
        );
    }
    known
}

fn restful(reader: &mut Reader<'_>, top: Part<'_>, part: Part<'_>) -> Option<RestfulDefinition> {
    reader.only(part, &["url", "method", "args", "headers"]);
    let Some(url) = reader
        .string(part, "url")
        .or_else(|| reader.string(top, "url"))
    else {
        reader.error(&[part.key], "a restful tool needs a \"url\"");
        return None;
    };
    // Seed 000 has no method; its tools take a JSON object, so they are POSTed.
    let (owner, method) = match reader.string(part, "method") {
        Some(method) => (part, method),
        None => (
            top,
            reader
                .string(top, "method")
                .unwrap_or_else(|| "POST".to_owned()),
        ),
    };
    let method = method.to_ascii_uppercase();
    if !METHODS.contains(&method.as_str()) {
        let message = format!(
            "unknown method {method:?} (known are {})",
            METHODS.join(", ")
        );
        reader.error(&owner.path("method"), message);
    }
    let (owner, form) = match reader.string(part, "args") {
        Some(form) => (part, Some(form)),
        None => (top, reader.string(top, "args")),
    };
    if let Some(form) = form
        .as_deref()
        .filter(|form| !matches!(*form, "array" | "object"))
    {
        reader.error(
            &owner.path("args"),
            format!("unknown form {form:?} (known are array, object)"),
        );
    }
    Some(RestfulDefinition {
        url,
        method,
        array: form.as_deref() == Some("array"),
    })
}

fn grpc(
    reader: &mut Reader<'_>,
    top: Part<'_>,
    part: Part<'_>,
    name: &str,
    module: &str,
) -> Option<GrpcDefinition> {
    reader.only(part, &["url", "service", "method", "tls", "descriptor_set"]);
    let url = reader
        .string(part, "url")
        .or_else(|| reader.string(top, "url"));
    let method = reader
        .string(part, "method")
        .or_else(|| reader.string(top, "method"));
    // The deployed origin calls "<module>/<name>".
    let method = method.unwrap_or_else(|| name.to_owned());
    let (service, method) = match method.trim_start_matches('/').rsplit_once('/') {
        Some((service, method)) => (Some(service.to_owned()), method.to_owned()),
        None => (None, method),
    };
    let service = reader
        .string(part, "service")
        .or(service)
        .unwrap_or_else(|| module.to_owned());
    if service.is_empty() || method.is_empty() {
        let message = "a grpc tool needs a \"service\" and a \"method\" (they default to the tool's module and name)";
        reader.error(&[part.key], message);
        return None;
    }
    Some(GrpcDefinition {
        url,
        service,
        method,
        tls: reader.boolean(part, "tls").unwrap_or_default(),
        descriptor_set: reader.string(part, "descriptor_set"),
    })
}

fn mcp(
    reader: &mut Reader<'_>,
    top: Part<'_>,
    part: Part<'_>,
    name: &str,
) -> Option<McpDefinition> {
    reader.only(
        part,
        &["server", "url", "command", "args", "env", "tool", "headers"],
    );
    let definition = McpDefinition {
        server: reader.string(part, "server"),
        url: reader
            .string(part, "url")
            .or_else(|| reader.string(top, "url")),
        command: reader.string(part, "command"),
        args: reader.strings(part, "args"),
        env: reader.pairs(part, "env"),
        tool: reader
            .string(part, "tool")
            .unwrap_or_else(|| name.to_owned()),
    };
    let ways = [&definition.server, &definition.url, &definition.command];
    if ways.into_iter().flatten().count() != 1 {
        let message = "an mcp tool needs exactly one of \"server\" (a configured one), \"url\" (streamable HTTP) and \"command\" (stdio)";
        reader.error(&[part.key], message);
        return None;
    }
    if definition.tool.is_empty() {
        reader.error(
            &[part.key],
            "an mcp tool needs a \"tool\", the name that the server has for it",
        );
        return None;
    }
    Some(definition)
}
