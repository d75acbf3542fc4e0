//! Tests every route that uses a prompt, a tool or an agent, with a token that may render some of
//! them.

use serde_json::{Value, json};

use super::place::{Place, start};

/// Returns whether the permission was missing, by HTTP status or MCP error.
async fn refused(place: &Place, path: &str, body: &Value) -> bool {
    let answer = place.send("some", "POST", path, &body.to_string()).await;
    if path != "/mcp" {
        return answer.status == 403;
    }
    let reply = answer.json();
    let is_error = reply.get("error").is_some() || reply["result"]["isError"] == true;
    assert!(answer.status == 200 || is_error, "{answer:?}");
    is_error
}

fn mcp(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
}

/// Returns the path and body for each route to a definition below `greet` or `secret`.
fn doors(name: &str, prompt: &str) -> Vec<(&'static str, Value)> {
    let asked = json!({"name": "Ada"});
    let question = json!([{"role": "user", "content": "Hello"}]);
    let agent = format!("agent/{name}.helper");
    let model = format!("prompt/{prompt}");
    let response = |more: Value| {
        let mut body = json!({
            "model_config": {"model_id": "m", "model": "openai", "api_key": ""},
            "input": {"text": "Hello"}, "features": {"streaming": false},
        });
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        body
    };
    let brought = json!({"metadata": {"skill_configs": [
        {"name": "s", "description": "d", "content": "c", "tools": [model]}]}});
    vec![
        (
            "/api/render",
            json!({"prompt_id": prompt, "variables": asked}),
        ),
        (
            "/v1/chat/completions",
            json!({"model": model, "messages": question, "variables": asked}),
        ),
        (
            "/v1/chat/completions",
            json!({"model": agent, "messages": question}),
        ),
        (
            "/v1/responses",
            json!({"model": model, "input": "Hello", "variables": asked}),
        ),
        ("/v1/responses", json!({"model": agent, "input": "Hello"})),
        (
            "/v1/response",
            response(
                json!({"model_config": {"model_id": agent, "model": "openai", "api_key": ""}}),
            ),
        ),
        (
            "/v1/response",
            response(json!({"tools": {"builtin": {model: {}}}})),
        ),
        (
            "/v1/response",
            response(json!({"tools": {"builtin": {format!("{name}.look"): {}}}})),
        ),
        (
            "/v1/response",
            response(json!({"tools": {"builtin": {format!("{name}_look"): {}}}})),
        ),
        ("/v1/response", response(brought)),
        (
            "/mcp",
            mcp("prompts/get", &json!({"name": prompt, "arguments": asked})),
        ),
        (
            "/mcp",
            mcp(
                "tools/call",
                &json!({"name": format!("{name}_look"), "arguments": {}}),
            ),
        ),
    ]
}

#[tokio::test]
async fn no_door_opens_what_may_not_be_rendered() {
    let place = start(&[("some", &["render greet.*"])]).await;
    for (path, body) in doors("greet", "greet.hello") {
        assert!(!refused(&place, path, &body).await, "{path} {body}");
    }
    for prompt in ["secret.plan", "secret.plan@1", "secret.plan@latest"] {
        for (path, body) in doors("secret", prompt) {
            assert!(refused(&place, path, &body).await, "{path} {body}");
        }
        for path in [
            format!("/api/render/prompts/{prompt}"),
            format!("/api/prompts/{prompt}/render"),
            format!("/api/chat/prompts/{prompt}"),
            format!("/api/prompts/{prompt}/chat"),
        ] {
            assert!(refused(&place, &path, &json!({})).await, "{path}");
        }
    }
    // An inline template could call any definition.
    let inline = json!({"template": "{{template \"secret.plan\" .}}"});
    assert!(refused(&place, "/api/render", &inline).await);
    let call = mcp(
        "tools/call",
        &json!({"name": "prompt_secret_plan", "arguments": {}}),
    );
    assert!(refused(&place, "/mcp", &call).await);
    for (method, list) in [("prompts/list", "prompts"), ("tools/list", "tools")] {
        let body = mcp(method, &json!({})).to_string();
        let listed = place.ok("some", "POST", "/mcp", &body).await;
        let listed = listed["result"][list].to_string();
        assert!(listed.contains("greet"), "{listed}");
        assert!(!listed.contains("secret"), "{listed}");
    }
}
