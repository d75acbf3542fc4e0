//! The MCP endpoint, with raw messages in two revisions and with a real client.

use quillet_core::chat::{ChatEvent, FinishReason};
use quillet_core::tool::{ToolBuilder, ToolContext};
use quillet_tools::{Tools, ToolsConfig};
use serde_json::{Value, json};

use crate::client;
use crate::test_model::{Script, TestModel, start as begun, text as said};
use crate::test_server::{Setup, TestServer, start, start_with};

/// Sends one message in a revision for which the server uses no sessions.
async fn ask(server: &TestServer, method: &str, params: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let headers = [
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
        ("mcp-protocol-version", "2025-06-18"),
    ];
    let body = body.to_string();
    let answer = client::request(server.address, "POST", "/mcp", &headers, &body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let reply = answer.json();
    assert_eq!(reply["id"], 7);
    reply
}

#[tokio::test]
async fn a_client_is_told_what_there_is() {
    let server = start().await;
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    let info = ask(&server, "initialize", params).await;
    assert_eq!(info["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(info["result"]["serverInfo"]["name"], "quillet");

    let prompts = ask(&server, "prompts/list", json!({})).await;
    let prompts = prompts["result"]["prompts"].as_array().unwrap();
    let named = |name: &str| prompts.iter().find(|prompt| prompt["name"] == name);
    assert_eq!(
        named("hello").unwrap()["arguments"],
        json!([{"name": "name", "required": false}])
    );
    assert_eq!(
        named("typed").unwrap()["arguments"],
        json!([{"name": "n", "required": true}])
    );
    assert!(named("torn").is_none(), "a broken prompt is not offered");

    let tools = ask(&server, "tools/list", json!({})).await;
    let tools = tools["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().filter_map(|t| t["name"].as_str()).collect();
    assert!(
        names.contains(&"codebase_lookup") && names.contains(&"prompt_hello"),
        "{names:?}"
    );
    for tool in tools {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
    }
}

#[tokio::test]
async fn an_answer_that_was_cut_is_no_result_of_a_tool() {
    for (reason, is_whole) in [
        (FinishReason::Stop, true),
        (FinishReason::Length, false),
        (FinishReason::ContentFilter, false),
        (FinishReason::Refusal, false),
    ] {
        let finish = ChatEvent::Finish {
            choice: 0,
            reason,
            raw: String::new(),
        };
        let model = TestModel::new(Script::Says(vec![begun(), said("Hel"), finish]));
        let server = start_with(Setup {
            model: Some(model),
            ..Setup::default()
        })
        .await;
        let params = json!({"name": "prompt_hello", "arguments": {"name": "Ada"}});
        let told = ask(&server, "tools/call", params).await;
        let failed = told["result"]["isError"] == true;
        assert_eq!(failed, !is_whole, "{reason}: {told}");
    }
}

#[tokio::test]
async fn prompts_are_rendered_with_the_types_they_declare() {
    let server = start().await;
    let params = json!({"name": "hello", "arguments": {"name": "Ada"}});
    let hello = ask(&server, "prompts/get", params).await;
    assert_eq!(
        hello["result"]["messages"],
        json!([{"role": "user", "content": {"type": "text", "text": "Hello Ada in go"}}])
    );
    let params = json!({"name": "typed", "arguments": {"n": "42"}});
    let typed = ask(&server, "prompts/get", params).await;
    assert_eq!(typed["result"]["messages"][0]["content"]["text"], "42");
    let params = json!({"name": "evaluator.quality", "arguments": {}});
    let messages = ask(&server, "prompts/get", params).await;
    assert_eq!(
        messages["result"]["messages"].as_array().unwrap().len(),
        2,
        "{messages}"
    );
}

#[tokio::test]
async fn what_is_wrong_is_said_with_the_mend() {
    let server = start().await;
    let cases = [
        (
            "prompts/get",
            json!({"name": "helo"}),
            "did you mean hello?",
        ),
        (
            "prompts/get",
            json!({"name": "typed", "arguments": {"n": "many"}}),
            "variables.n",
        ),
        (
            "prompts/get",
            json!({"name": "hello", "arguments": {}}),
            "variables.name",
        ),
        (
            "tools/call",
            json!({"name": "codebase_lokup"}),
            "did you mean codebase_lookup?",
        ),
        (
            "prompts/list",
            json!({"cursor": "x"}),
            "invalid cursor \"x\"",
        ),
    ];
    for (method, params, part) in cases {
        let reply = ask(&server, method, params.clone()).await;
        let message = reply["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(part), "{method} {params}: {reply}");
        assert_eq!(reply["error"]["code"], -32602, "{reply}");
    }
    let failed = ask(&server, "tools/call", json!({"name": "ill"})).await;
    assert_eq!(failed["result"]["isError"], true, "{failed}");
}

#[tokio::test]
async fn a_prompt_as_a_tool_answers_with_the_model() {
    let server = start().await;
    let params = json!({"name": "prompt_hello", "arguments": {"name": "Ada"}});
    let answer = ask(&server, "tools/call", params.clone()).await;
    assert_eq!(answer["result"]["content"][0]["text"], "Hello");
    let setup = Setup {
        model: None,
        ..Setup::default()
    };
    let server = start_with(setup).await;
    let answer = ask(&server, "tools/call", params).await;
    assert_eq!(answer["result"]["content"][0]["text"], "Hello Ada in go");
}

#[tokio::test]
async fn a_real_client_calls_in_the_newest_revision() {
    let server = start().await;
    let tools = Tools::new(ToolsConfig::default()).unwrap();
    let definition = json!({"returns": {"type": "string"},
        "mcp": {"url": format!("http://{}/mcp", server.address), "tool": "prompt_hello"},
        "parameters": [{"name": "name", "type": "string", "required": true}]});
    let built = tools
        .build("hello", "hello", "tools:hello", &definition.to_string())
        .unwrap();
    let arguments = [("name", "Ada".into())].into_iter().collect();
    let result = built.tool.call(arguments, &ToolContext::default()).await;
    assert_eq!(result.unwrap().as_str(), Some("Hello"));
}

#[tokio::test]
async fn keys_are_asked_for_here_too() {
    let mut setup = Setup::default();
    setup.config.tokens = vec!["secret".to_owned().into()];
    let server = start_with(setup).await;
    let answer = server.post("/mcp", "{}").await;
    assert_eq!(answer.status, 401);
}
