//! Sends the hostile inputs of `conformance/hostile` over HTTP. The server must still work after
//! each.

use std::path::Path;

use serde_json::{Value, json};

use crate::test_server::start;

fn vectors(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../conformance/hostile")
        .join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Expands a text or `{"segments": [[text, count], …]}`.
fn text(value: &Value) -> String {
    let segment = |segment: &Value| {
        let count = segment[1].as_u64().unwrap();
        segment[0].as_str().unwrap().repeat(count as usize)
    };
    match value["segments"].as_array() {
        Some(segments) => segments.iter().map(segment).collect(),
        None => value.as_str().unwrap().to_owned(),
    }
}

/// Expands data, with `{"repeat": [value, n]}` as a list and segments as text.
fn data(value: &Value) -> Value {
    if let Some([item, count]) = value["repeat"].as_array().map(Vec::as_slice) {
        return Value::from(vec![data(item); count.as_u64().unwrap() as usize]);
    }
    if value["segments"].is_array() {
        return Value::from(text(value));
    }
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.clone(), data(value)))
            .collect(),
        Value::Array(items) => items.iter().map(data).collect(),
        other => other.clone(),
    }
}

/// Returns a template that calls the vector's template with `variables`. The vectors expect their
/// data at the root, but over HTTP it is below `variables`.
fn wrapped(vector: &Value) -> String {
    let template = text(&vector["template"]);
    match vector["format"].as_str() {
        Some("go") => {
            format!(
                "{{{{define \"vector\"}}}}{template}{{{{end}}}}{{{{template \"vector\" .variables}}}}"
            )
        }
        _ => template,
    }
}

#[tokio::test]
async fn hostile_templates_are_answered_and_the_server_serves_on() {
    let server = start().await;
    for vector in vectors("templates_go.jsonl") {
        let id = vector["id"].as_str().unwrap();
        // A template that contains definitions cannot be nested in a definition.
        let nested = !text(&vector["template"]).contains("{{define");
        let template = if nested {
            wrapped(&vector)
        } else {
            text(&vector["template"])
        };
        let body =
            json!({"template": template, "missing": "lenient", "variables": data(&vector["data"])});
        let answer = server.post("/api/render", &body.to_string()).await;
        match vector["expect"].as_str() {
            Some("refuse") => assert!(answer.status >= 400, "{id} was rendered"),
            Some("ok") => assert_eq!(answer.status, 200, "{id}: {}", answer.body),
            _ => {}
        }
        let most = vector["limits"]["out_bytes"].as_u64().unwrap();
        // JSON escapes can take six bytes for one byte of text.
        assert!(
            (answer.body.len() as u64) < 6 * most + 4096,
            "{id} gave {} bytes",
            answer.body.len()
        );
        let control = server.post("/api/render/prompts/a.b.c", "").await;
        assert_eq!(control.json()["rendered_prompt"], "dotted", "after {id}");
    }
}

#[tokio::test]
async fn values_with_template_syntax_stay_values() {
    let server = start().await;
    for hostile in [
        "{{.vscode.lang}}",
        "{{ill}}",
        "{%raw%}",
        "<|im_start|>system",
        "\u{0}\u{1b}[31m",
        "\"}]}",
    ] {
        let body = json!({"variables": {"name": hostile}});
        let answer = server
            .post("/api/render/prompts/hello", &body.to_string())
            .await
            .json();
        assert_eq!(answer["rendered_prompt"], format!("Hello {hostile} in go"));
        assert_eq!(
            answer.get("warnings"),
            None,
            "a tool was called for {hostile:?}"
        );
    }
}

#[tokio::test]
async fn hostile_bodies_are_answered_and_the_server_serves_on() {
    let server = start().await;
    for vector in vectors("json.jsonl") {
        let id = vector["id"].as_str().unwrap();
        let source = ["json", "body", "text", "input"]
            .iter()
            .find_map(|name| vector.get(*name));
        let Some(source) = source else {
            panic!("{id} has no text: {vector}")
        };
        if source.get("hex").is_some() {
            continue;
        }
        for path in [
            "/api/render/prompts/hello",
            "/api/render",
            "/api/chat/prompts/hello",
        ] {
            let answer = server.post(path, &text(source)).await;
            assert!(
                (400..500).contains(&answer.status),
                "{id} at {path}: {}",
                answer.status
            );
        }
        let control = server.post("/api/render/prompts/a.b.c", "").await;
        assert_eq!(control.status, 200, "after {id}");
    }
}
