//! The parts of the OpenAPI document that all operations share: error responses, security and
//! example bodies.

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use crate::api::openai;
use crate::config::ServerConfig;
use crate::health;

/// Name of the bearer security scheme.
const TOKEN: &str = "token";

/// Name of the basic security scheme.
const PAIR: &str = "named_token";

const EVENTS: &str = "text/event-stream";

const METHODS: [&str; 5] = ["get", "put", "post", "delete", "patch"];

/// Returns an example body that works with the demo's prompts, by the end of the path. The first
/// match wins, so longer ends come first.
fn example(path: &str) -> Option<Value> {
    // A check has the same body as the write, so both share an example.
    let path = path.strip_suffix("/check").unwrap_or(path);
    let named = json!({"variables": {"name": "Ada"}});
    let ends: [(&str, Value); 27] = [
        ("/render/prompts/{id}", named.clone()),
        ("/prompts/{id}/render", named.clone()),
        ("/chat/prompts/{id}", named.clone()),
        ("/prompts/{id}/chat", named),
        (
            "/prompts/{id}",
            json!({"userPrompt": "Hello {{.variables.name}}"}),
        ),
        (
            "/tools/{id}",
            json!({"type": "restful", "url": "http://127.0.0.1:9/", "method": "GET",
                "parameters": {"type": "object", "properties": {}}}),
        ),
        (
            "/extensions/{id}",
            json!({"name": "greetings", "extensionType": "prompt", "contributes": {
                "prompts": [{"name": "hello", "userPrompt": "Hello"}]}}),
        ),
        (
            "/agents/{id}",
            json!({"model": "mock", "instructions": "Be kind."}),
        ),
        ("/labels/{label}", json!({"version": "latest"})),
        (
            "/render",
            json!({"template": "Hello {{.variables.name}}", "variables": {"name": "Ada"}}),
        ),
        (
            "/v1/response",
            json!({"input": {"text": "What is the capital of France?"}}),
        ),
        (
            "/v1/response/cancel",
            json!({"request_id": "req-0123456789ab"}),
        ),
        (
            "/v1/response/{id}/decide",
            json!({"decision": "approve", "note": "Checked by phone."}),
        ),
        ("/v1/runs/{id}/fork", json!({"at": 4, "model": "mock"})),
        (
            "/v1/chat/completions",
            json!({"model": "prompt/hello", "messages": [{"role": "user", "content": "Hello"}]}),
        ),
        (
            "/v1/responses",
            json!({"model": "prompt/hello", "input": "Hello"}),
        ),
        (
            "/v1/batches",
            json!({"input_file_id": "file-0123456789abcdef", "endpoint": "/v1/chat/completions",
                "completion_window": "24h"}),
        ),
        (
            "/chat",
            json!({"definition": {"userPrompt": "Hello {{.variables.name}}"},
                "variables": {"name": "Ada"}}),
        ),
        (
            "/cost",
            json!({"model": "gpt-4o", "usage": {"prompt_tokens": 1200, "completion_tokens": 80}}),
        ),
        (
            "/source",
            json!({"format": "jinja", "text": "Hello {{ name }}", "at": 13}),
        ),
        (
            "/mcp",
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
        ),
        (
            "/dbs/format",
            json!({"sql": "select name from products where price > 10"}),
        ),
        (
            "/dbs/{name}/query/natural",
            json!({"prompt": "How many products are there?"}),
        ),
        (
            "/dbs/{name}/query",
            json!({"sql": "SELECT name FROM products", "timeoutSeconds": 30}),
        ),
        ("/dbs/{name}/test", json!({"url": "sqlite:shop.db"})),
        (
            "/dbs/{name}",
            json!({"url": "sqlite:shop.db", "description": "What the shop sells"}),
        ),
        ("/dbs/{name}/metadata/refresh", json!({})),
    ];
    let mut ends = ends.into_iter();
    ends.find(|(end, _)| path.ends_with(end))
        .map(|(_, body)| body)
}

/// Returns whether the response may also be a stream of server-sent events.
fn streams(path: &str) -> bool {
    let ends = [
        "/chat/prompts/{id}",
        "/prompts/{id}/chat",
        "/chat",
        "/v1/chat/completions",
        "/v1/responses",
    ];
    ends.iter().any(|end| path.ends_with(end))
}

/// Adds the common parts to a document.
pub(crate) fn complete(document: &mut Value, config: &ServerConfig) {
    if config.has_tokens() {
        document["components"]["securitySchemes"] = json!({TOKEN: {
            "type": "http", "scheme": "bearer",
            "description": "A token of `server.tokens` or of a table `server.token.NAME`.",
        }, PAIR: {
            "type": "http", "scheme": "basic",
            "description": "The name of a token and the token itself.",
        }});
        document["security"] = json!([{TOKEN: []}, {PAIR: []}]);
    }
    let schemas = document.pointer_mut("/components/schemas");
    let schemas = schemas.and_then(Value::as_object_mut).into_iter().flatten();
    for (_, schema) in schemas {
        // Variants without a discriminator may overlap: an empty list matches both a list of
        // strings and a list of objects.
        if let Some(schema) = schema.as_object_mut()
            && let Some(forms) = schema.remove("oneOf")
        {
            schema.insert("anyOf".into(), forms);
        }
    }
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    for (path, item) in paths {
        let operations = item.as_object_mut().into_iter().flatten();
        for (method, operation) in operations {
            if let (true, Some(operation)) = (
                METHODS.contains(&method.as_str()),
                operation.as_object_mut(),
            ) {
                complete_operation(path, method, operation, config);
            }
        }
    }
}

fn complete_operation(
    path: &str,
    method: &str,
    operation: &mut Map<String, Value>,
    config: &ServerConfig,
) {
    let is_open = health::is_public_route(config, path);
    // An empty list overrides the global requirement of the document.
    if is_open && config.has_tokens() {
        operation.insert("security".into(), json!([]));
    }
    let has_body = operation.contains_key("requestBody");
    if let Some(body) = operation.get_mut("requestBody") {
        complete_body(path, body);
    }
    let parameters = operation.get("parameters").and_then(Value::as_array);
    let has = |what: &str, value: &str| {
        parameters.is_some_and(|all| all.iter().any(|parameter| parameter[what] == value))
    };
    let (has_query, has_revision) = (has("in", "query"), has("name", "min_revision"));
    let responses = operation.entry("responses").or_insert_with(|| json!({}));
    let Some(responses) = responses.as_object_mut() else {
        return;
    };
    if let Some(content) = responses
        .get_mut("200")
        .and_then(|fine| fine.get_mut("content"))
    {
        let is_stream = content.get(EVENTS).is_some() || (streams(path) && method == "post");
        if is_stream {
            // OpenAPI before 3.2 cannot describe the events of a stream.
            let said = "Server-sent events; data is JSON, or [DONE] at the end of a chat";
            content[EVENTS] = json!({"schema": {"description": said}});
        }
    }
    if has_query {
        let said = "A query parameter is invalid";
        responses
            .entry("422")
            .or_insert_with(|| json!({"description": said, "content": error(config, path)}));
    }
    if has_revision && method == "get" {
        let said = "Not modified: `If-None-Match` names this response";
        responses.insert("304".into(), json!({"description": said}));
    }
    if has_revision && (method == "post" || path.contains("{id}")) {
        let said = "The requested revision did not arrive in time";
        let answer = json!({"description": said, "content": error(config, path)});
        responses.insert("409".into(), answer);
    }
    for (status, said) in common(config, is_open, has_body) {
        responses
            .entry(status.to_string())
            .or_insert_with(|| json!({"description": said, "content": error(config, path)}));
    }
    let other = json!({"description": "Any other error", "content": error(config, path)});
    responses.entry("default").or_insert(other);
    for (status, response) in responses {
        let said = response["description"].as_str().unwrap_or_default();
        if said.is_empty() && response.get("$ref").is_none() {
            response["description"] = phrase(status).into();
        }
    }
}

fn complete_body(path: &str, body: &mut Value) {
    let Some(example) = example(path) else { return };
    let kinds = body["content"].as_object_mut().into_iter().flatten();
    for (_, kind) in kinds {
        if kind.get("example").is_none() && kind.get("examples").is_none() {
            kind["example"] = example.clone();
        }
    }
}

/// Returns the errors of any operation that can occur before its handler runs.
fn common(config: &ServerConfig, is_open: bool, has_body: bool) -> Vec<(u16, &'static str)> {
    let mut all = vec![
        (
            400,
            "The request is malformed: the path, the header Host, `min_revision` or the body",
        ),
        (
            403,
            "The host name or the origin of the page is not permitted, or a permission is missing",
        ),
        (
            405,
            "The method is not supported; `Allow` lists the supported ones",
        ),
        (415, "The `Content-Encoding` of the body is not gzip"),
        (431, "The headers are larger than 64 KiB"),
    ];
    if !is_open {
        all.push((503, "The server is shutting down"));
        if config.has_tokens() {
            all.push((401, "The token is missing or invalid"));
        }
        if config.rate.is_some() {
            all.push((
                429,
                "The rate limit (server.rate_limit) is exceeded; see `Retry-After`",
            ));
        }
    }
    if has_body {
        all.push((408, "The body arrived too slowly"));
        all.push((413, "The body exceeds the size limit"));
    }
    all
}

/// Returns the error schema of a path.
fn error(config: &ServerConfig, path: &str) -> Value {
    let (kind, schema) = match openai::shape(&config.prefix, path) {
        openai::ErrorFormat::OpenAi => ("application/json", "ErrorBody"),
        openai::ErrorFormat::Problem
        | openai::ErrorFormat::Databases
        | openai::ErrorFormat::Langfuse
        | openai::ErrorFormat::Mlflow => ("application/problem+json", "Problem"),
    };
    json!({kind: {"schema": {"$ref": format!("#/components/schemas/{schema}")}}})
}

fn phrase(status: &str) -> String {
    let code = status
        .parse()
        .ok()
        .and_then(|code| StatusCode::from_u16(code).ok());
    let phrase = code.and_then(|code| code.canonical_reason());
    phrase.unwrap_or("Otherwise").to_owned()
}
