//! Scripts, prompts, tools and templates that call each other, and other callers of scripts.

use quillet_fake_provider::{ReplyScript, ScriptedReply};
use quillet_prompt::PromptResult;
use serde_json::{Value, json};

use super::served::{Served, options, serve, serve_with};
use crate::client;

const SHOUT: &str = "---
description: Says it twice.
input:
  - word: {type: string, index: 0}
---
$ret: \"?=word + '-' + word\"
";

async fn run(files: &[(&str, &str)], id: &str, variables: Value) -> Value {
    serve(files, []).await.result(id, variables).await
}

#[tokio::test]
async fn scripts_prompts_and_tools_are_called_by_name() {
    let files = [
        ("prompts/words/shout.ai.yaml", SHOUT),
        (
            "prompts/hello.json",
            r#"{"userPrompt": "Hello {{.variables.name}} in {{.vscode.lang}}"}"#,
        ),
        (
            "tools/codebase/lookup.json",
            r#"{"parameters":{"type":"object","properties":{"symbol":{"type":"string"}}}}"#,
        ),
        ("prompts/by_id.ai.yaml", "-> words.shout(\"a\")\n"),
        ("prompts/by_path.ai.yaml", "-> words/shout(\"b\")\n"),
        ("prompts/words/beside.ai.yaml", "-> shout(\"c\")\n"),
        ("prompts/prompt.ai.yaml", "-> hello(name=\"Ada\")\n"),
        ("prompts/tool.ai.yaml", "-> codebase_lookup(symbol=\"x\")\n"),
    ];
    let served = serve(&files, []).await;
    let cases = [
        ("by_id", json!("a-a")),
        ("by_path", json!("b-b")),
        ("words.beside", json!("c-c")),
        ("prompt", json!("Hello Ada in go")),
    ];
    for (id, result) in cases {
        assert_eq!(served.result(id, json!({})).await, result, "{id}");
    }
    let looked_up = served.result("tool", json!({})).await;
    assert!(looked_up.to_string().contains('x'), "{looked_up}");
}

#[tokio::test]
async fn templates_run_scripts() {
    let files = [
        ("prompts/shout.ai.yaml", SHOUT),
        (
            "prompts/uses.json",
            r#"{"userPrompt": "[{{script \"shout\" \"hey\"}}]"}"#,
        ),
        ("prompts/around.ai.yaml", "-> uses\n"),
    ];
    let served = serve(&files, []).await;
    let answer = served
        .post("/api/render/prompts/uses", &json!({}))
        .await
        .json();
    assert_eq!(answer["rendered_prompt"], "[hey-hey]", "{answer}");
    assert_eq!(served.result("around", json!({})).await, "[hey-hey]");
}

#[tokio::test]
async fn prompts_and_scripts_that_call_each_other_for_ever_end() {
    let files = [
        ("prompts/a.json", r#"{"userPrompt": "{{script \"b\"}}"}"#),
        ("prompts/b.ai.yaml", "-> a\n"),
    ];
    let served = serve(&files, []).await;
    let answer = served.post("/api/chat/prompts/b", &json!({})).await;
    // The innermost failed call is replaced by its default, like every failed call of a template.
    assert_eq!(answer.status, 200, "{}", answer.body);
}

#[tokio::test]
async fn a_script_is_a_tool_of_agents_and_mcp_clients() {
    let served = serve(&[("prompts/words/shout.ai.yaml", SHOUT)], []).await;
    let tools = served.service.tools(PromptResult::Text);
    let spec = tools[0].spec();
    assert_eq!(
        (spec.name.as_str(), spec.description.as_str()),
        ("prompt_words_shout", "Says it twice.")
    );
    let called = mcp(
        &served,
        "tools/call",
        json!({"name": spec.name, "arguments": {"word": "ho"}}),
    )
    .await;
    assert_eq!(called["result"]["content"][0]["text"], "ho-ho", "{called}");
    let listed = mcp(&served, "prompts/list", json!({})).await;
    assert_eq!(
        listed["result"]["prompts"][0]["arguments"][0]["name"], "word",
        "{listed}"
    );
}

async fn mcp(served: &Served, method: &str, params: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let headers = [
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
    ];
    let answer = client::request(served.address, "POST", "/mcp", &headers, &body.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let text = answer
        .events()
        .first()
        .map_or(answer.body.clone(), |text| (*text).to_owned());
    serde_json::from_str(&text).unwrap()
}

#[tokio::test]
async fn a_run_stays_with_the_definitions_of_its_beginning() {
    let files = [
        (
            "prompts/outer.ai.yaml",
            "- user: Wait.\n- $AI\n- -> inner\n",
        ),
        ("prompts/inner.ai.yaml", "$ret: old\n"),
    ];
    let (told, mut asked) = tokio::sync::mpsc::unbounded_channel();
    let (go, gate) = std::sync::mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    let answers = ReplyScript::function(move |_| {
        told.send(()).unwrap();
        gate.lock().unwrap().recv().unwrap();
        ScriptedReply::text(["Done."])
    });
    let served = serve_with(&files, answers, options()).await;
    let (result, ()) = tokio::join!(served.result("outer", json!({})), async {
        asked.recv().await.unwrap();
        served.folder.write("prompts/inner.ai.yaml", "$ret: new\n");
        crate::test_server::eventually("the new one is known", async || {
            served.result("inner", json!({})).await == "new"
        })
        .await;
        go.send(()).unwrap();
    });
    assert_eq!(result, "old");
    assert_eq!(
        run(&[("prompts/one.ai.yaml", "$ret: 1\n")], "one", json!({})).await,
        1
    );
}
