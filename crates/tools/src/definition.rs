//! Tool definitions in one normalized form. ai-prompt-shell documents one form (`url` at the top
//! level), and its code reads another (`restful`, `grpc` objects); stores contain both.
//! Reachability is not checked here.

use std::time::Duration;

use quillet_core::Diagnostic;
use quillet_core::tool::Idempotency;
use reqwest::Method;
use serde_json::Value as Json;

use crate::parameters;
use crate::reader::{DefinitionReader, ObjectReader};

/// A tool as its author defined it.
#[derive(Debug)]
pub(crate) struct ToolDefinition {
    pub(crate) module: String,
    pub(crate) description: String,
    /// JSON Schema of the arguments object.
    pub(crate) parameters: Json,
    /// Whether the definition declares no parameters, so that any arguments are accepted.
    pub(crate) undeclared: bool,
    /// JSON Schema of the result.
    pub(crate) returns: Option<Json>,
    /// Fallback value of a failed call.
    pub(crate) default: Option<Json>,
    /// Path of the result within the answer.
    pub(crate) result: Vec<String>,
    pub(crate) idempotent: bool,
    /// Whether a call with an unknown outcome may be repeated.
    pub(crate) repeat: Idempotency,
    pub(crate) timeout: Option<Duration>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) wire: WireDefinition,
    /// The key of the type's own object, if there is one.
    pub(crate) own_key: Option<&'static str>,
}

/// Protocol-specific part of a definition.
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
    pub(crate) method: Method,
    /// Whether the body is the list of arguments in order, as ai-prompt-shell sends it.
    pub(crate) array: bool,
}

/// A unary gRPC method.
#[derive(Debug)]
pub(crate) struct GrpcDefinition {
    /// `host:port`, `http://…` or `https://…`; the module's base URL if `None`.
    pub(crate) url: Option<String>,
    pub(crate) service: String,
    pub(crate) method: String,
    pub(crate) tls: bool,
    /// A `FileDescriptorSet` in base64, instead of reflection.
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
const METHODS: [Method; 5] = [
    Method::GET,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
];
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
    // These fields are descriptive and have no effect.
    "$schema",
    "version",
];

/// Reads a definition.
///
/// # Errors
/// All errors of the definition.
pub(crate) fn read(
    source: &str,
    text: &str,
) -> Result<(ToolDefinition, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut reader = DefinitionReader::new(source, text);
    let Some(tree) = reader.tree() else {
        return Err(reader.errors);
    };
    let Some(fields) = tree.as_object() else {
        reader.error(&[], "a tool definition is a JSON object");
        return Err(reader.errors);
    };
    let top = ObjectReader { fields, key: "" };
    reader.only(top, &KEYS);
    let definition = definition(&mut reader, top);
    match definition {
        Some(definition) if reader.errors.is_empty() => Ok((definition, reader.warnings)),
        _ => Err(reader.errors),
    }
}

fn definition(reader: &mut DefinitionReader<'_>, top: ObjectReader<'_>) -> Option<ToolDefinition> {
    let module = reader.string(top, "module").unwrap_or_default();
    let undeclared = parameters::says_nothing(top, "parameters");
    let parameters = if undeclared {
        parameters::undeclared()
    } else {
        parameters::schema(reader, top, "parameters").unwrap_or_else(parameters::nothing)
    };
    let kind = kind(reader, top)?;
    let nothing = serde_json::Map::new();
    let own = own_part(reader, top, kind, &nothing)?;
    let mut headers = reader.pairs(top, "headers");
    headers.append(&mut reader.pairs(own, "headers"));
    let wire = wire(reader, top, own, &module)?;
    let repeat = repeat(reader, top, &wire);
    Some(ToolDefinition {
        description: reader.string(top, "description").unwrap_or_default(),
        parameters,
        undeclared,
        returns: parameters::schema(reader, top, "returns"),
        default: top.fields.get("default").cloned(),
        result: result_path(reader, top),
        // Only `true` means that equal calls may share a result; the strings only control retries.
        idempotent: top.fields.get("idempotent") == Some(&Json::Bool(true)),
        repeat,
        timeout: reader.count(top, "timeout_ms").map(Duration::from_millis),
        headers,
        wire,
        own_key: top.get(kind).map(|_| kind),
        module,
    })
}

/// Reads `idempotent`: `true`, `"key"` or `"never"`. If it is missing, the HTTP method decides: GET
/// is idempotent.
fn repeat(
    reader: &mut DefinitionReader<'_>,
    top: ObjectReader<'_>,
    wire: &WireDefinition,
) -> Idempotency {
    let is_get = match wire {
        WireDefinition::Restful(restful) => restful.method == Method::GET,
        _ => false,
    };
    match top.fields.get("idempotent") {
        Some(Json::Bool(true)) => Idempotency::Freely,
        Some(Json::String(word)) if word == "key" => Idempotency::WithKey,
        Some(Json::String(word)) if word == "never" => Idempotency::Never,
        None | Some(Json::Bool(false) | Json::Null) if is_get => Idempotency::Freely,
        None | Some(Json::Bool(false) | Json::Null) => Idempotency::Never,
        Some(other) => reader
            .mistyped(
                top,
                "idempotent",
                "true, false, \"key\" or \"never\"",
                other,
            )
            .unwrap_or_default(),
    }
}

/// Returns the object of the tool's type, which older definitions do not have.
fn own_part<'t>(
    reader: &mut DefinitionReader<'_>,
    top: ObjectReader<'t>,
    kind: &'static str,
    nothing: &'t serde_json::Map<String, Json>,
) -> Option<ObjectReader<'t>> {
    for other in TYPES {
        if other != kind && top.get(other).is_some() {
            let message = format!("{other:?} is ignored because the type is {kind:?}");
            reader.warn(&[other], message, None);
        }
    }
    let fields = match top.get(kind) {
        None => nothing,
        Some(Json::Object(fields)) => fields,
        Some(_) => {
            reader.error(&[kind], "expected an object");
            return None;
        }
    };
    Some(ObjectReader { fields, key: kind })
}

/// Reads `result`: `"data.items.0"` or `["data", "items", "0"]`.
fn result_path(reader: &mut DefinitionReader<'_>, top: ObjectReader<'_>) -> Vec<String> {
    match top.get("result") {
        Some(Json::String(path)) => path.split('.').map(str::to_owned).collect(),
        Some(_) => reader.strings(top, "result"),
        None => Vec::new(),
    }
}

fn wire(
    reader: &mut DefinitionReader<'_>,
    top: ObjectReader<'_>,
    own: ObjectReader<'_>,
    module: &str,
) -> Option<WireDefinition> {
    match own.key {
        "grpc" => Some(WireDefinition::Grpc(grpc(reader, top, own, module)?)),
        "mcp" => Some(WireDefinition::Mcp(mcp(reader, top, own)?)),
        _ => Some(WireDefinition::Restful(restful(reader, top, own)?)),
    }
}

/// Returns the named type; otherwise the type whose object is present.
fn kind(reader: &mut DefinitionReader<'_>, top: ObjectReader<'_>) -> Option<&'static str> {
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
            format!(
                "unknown type {named:?} (expected one of {})",
                TYPES.join(", ")
            ),
        );
    }
    known
}

/// Returns a field and the object that contains it: the object of the type or, in the form that
/// ai-prompt-shell documents, the definition itself.
fn either<'t>(
    reader: &mut DefinitionReader<'_>,
    own: ObjectReader<'t>,
    top: ObjectReader<'t>,
    key: &str,
) -> (ObjectReader<'t>, Option<String>) {
    let part = if own.get(key).is_some() { own } else { top };
    (part, reader.string(part, key))
}

fn restful(
    reader: &mut DefinitionReader<'_>,
    top: ObjectReader<'_>,
    own: ObjectReader<'_>,
) -> Option<RestfulDefinition> {
    reader.only(own, &["url", "method", "args", "headers"]);
    let (_, Some(url)) = either(reader, own, top, "url") else {
        reader.error(&[own.key], "a restful tool needs a \"url\"");
        return None;
    };
    let (part, form) = either(reader, own, top, "args");
    let form = form.as_deref().unwrap_or("object");
    if !matches!(form, "array" | "object") {
        let message = format!("unknown form {form:?} (expected one of array, object)");
        reader.error(&part.path("args"), message);
    }
    Some(RestfulDefinition {
        url,
        method: method(reader, top, own),
        array: form == "array",
    })
}

/// In the documented form without a method, tools expect a JSON object, so POST is the default.
fn method(
    reader: &mut DefinitionReader<'_>,
    top: ObjectReader<'_>,
    own: ObjectReader<'_>,
) -> Method {
    let (part, Some(named)) = either(reader, own, top, "method") else {
        return Method::POST;
    };
    let known = METHODS
        .into_iter()
        .find(|method| method.as_str().eq_ignore_ascii_case(&named));
    known.unwrap_or_else(|| {
        let known = METHODS.map(|method| method.to_string()).join(", ");
        let message = format!("unknown method {named:?} (expected one of {known})");
        reader.error(&part.path("method"), message);
        Method::POST
    })
}

fn grpc(
    reader: &mut DefinitionReader<'_>,
    top: ObjectReader<'_>,
    own: ObjectReader<'_>,
    module: &str,
) -> Option<GrpcDefinition> {
    const KEYS: [&str; 6] = [
        "url",
        "service",
        "method",
        "tls",
        "descriptor_set",
        "headers",
    ];
    reader.only(own, &KEYS);
    // Without a method, the path is `<module>/<name>`, as in ai-prompt-shell.
    let (_, method) = either(reader, own, top, "method");
    let method = method.or_else(|| reader.string(top, "name"));
    let method = method.unwrap_or_default();
    let (service, method) = match method.trim_start_matches('/').rsplit_once('/') {
        Some((service, method)) => (Some(service.to_owned()), method.to_owned()),
        None => (None, method),
    };
    let service = reader.string(own, "service").or(service);
    let service = service.unwrap_or_else(|| module.to_owned());
    if service.is_empty() || method.is_empty() {
        let message = "a grpc tool needs a \"service\" and a \"method\" (they default to the tool's module and name)";
        reader.error(&[own.key], message);
        return None;
    }
    Some(GrpcDefinition {
        url: either(reader, own, top, "url").1,
        service,
        method,
        tls: reader.boolean(own, "tls").unwrap_or_default(),
        descriptor_set: reader.string(own, "descriptor_set"),
    })
}

fn mcp(
    reader: &mut DefinitionReader<'_>,
    top: ObjectReader<'_>,
    own: ObjectReader<'_>,
) -> Option<McpDefinition> {
    const KEYS: [&str; 7] = ["server", "url", "command", "args", "env", "tool", "headers"];
    reader.only(own, &KEYS);
    let tool = reader
        .string(own, "tool")
        .or_else(|| reader.string(top, "name"));
    let definition = McpDefinition {
        server: reader.string(own, "server"),
        url: either(reader, own, top, "url").1,
        command: reader.string(own, "command"),
        args: reader.strings(own, "args"),
        env: reader.pairs(own, "env"),
        tool: tool.unwrap_or_default(),
    };
    let ways = [&definition.server, &definition.url, &definition.command];
    if ways.into_iter().flatten().count() != 1 {
        let message = "an mcp tool needs exactly one of \"server\" (a configured server), \"url\" (streamable HTTP) and \"command\" (stdio)";
        reader.error(&[own.key], message);
        return None;
    }
    if definition.tool.is_empty() {
        let message = "an mcp tool needs a \"tool\", the name of the tool on the server";
        reader.error(&[own.key], message);
        return None;
    }
    Some(definition)
}
