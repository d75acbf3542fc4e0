//! Stored scripts with JavaScript, on the OpenAI-compatible routes, in many concurrent runs, with
//! disconnected clients, and with Redis as the store.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use quillet_core::store::{EntryKey, EntryKind};
use quillet_fake_provider::{ReplyScript, ScriptedReply};
use quillet_store::{MemoryStore, StoreOptions};
use quillet_test_support::RedisServer;
use serde_json::{Value, json};

use super::served::{Folder, content, options, serve, serve_over, serve_with};
use crate::client::Connection;
use crate::test_server::eventually;

const TALK: &str = "---
input:
  - text: {type: string, index: 0}
---
system: You are kind.
---
user: \"{{text}}\"
";

#[tokio::test]
async fn javascript_runs_in_a_process_and_spinning_ends_in_time() {
    let files = [
        (
            "prompts/adds.ai.yaml",
            "- !fn |-\n    add({a, b}) { return a + b }\n- $add: {a: 1, b: 2}\n",
        ),
        (
            "prompts/spins.ai.yaml",
            "- !fn |-\n    spin() { while (true) {} }\n- $spin\n",
        ),
    ];
    let mut options = options();
    options.limits.js_time = Duration::from_millis(300);
    let served = serve_with(&files, ReplyScript::default(), options).await;
    assert_eq!(served.result("adds", json!({})).await, 3);
    let answer = served.post("/api/chat/prompts/spins", &json!({})).await;
    assert_eq!(
        (answer.status, &answer.json()["error"]),
        (500, &json!("script.limit")),
        "{}",
        answer.body
    );
    assert_eq!(served.result("adds", json!({})).await, 3);
}

#[tokio::test]
async fn nothing_outside_is_granted_unless_it_is_configured() {
    let reads = "- !fn |-\n    read() { return require('fs').readFileSync('/etc/hostname', 'utf8') }\n- $read\n";
    let served = serve(&[("prompts/reads.ai.yaml", reads)], []).await;
    let answer = served.post("/api/chat/prompts/reads", &json!({})).await;
    assert!(answer.status >= 400, "{}", answer.body);
}

#[tokio::test]
async fn a_script_is_a_model_of_openai_s_clients() {
    let served = serve(
        &[("prompts/talk.ai.yaml", TALK)],
        [ScriptedReply::text(["I am ", "well."])],
    )
    .await;
    let models = served.get("/v1/models").await.json();
    assert_eq!(models["data"][0]["id"], "prompt/talk", "{models}");
    let body = |stream: bool| {
        json!({"model": "prompt/talk", "stream": stream, "messages": [
            {"role": "user", "content": "Hello."},
            {"role": "assistant", "content": "Hello to you."},
            {"role": "user", "content": "How are you?"},
        ]})
    };
    let answer = served.post("/v1/chat/completions", &body(false)).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let answer = answer.json();
    assert_eq!(answer["model"], "prompt/talk");
    assert_eq!(answer["choices"][0]["message"]["content"], "I am well.");
    let chunks = served.chunks("/v1/chat/completions", &body(true)).await;
    assert_eq!(content(&chunks), "I am well.");
    assert!(chunks.iter().all(|chunk| chunk.get("script").is_none()));
    assert_eq!(
        served.asked()[0],
        [
            "system: You are kind.",
            "user: Hello.",
            "assistant: Hello to you.",
            "user: How are you?"
        ]
    );
    let mut tools = body(false);
    tools["tools"] = json!([{"type": "function", "function": {"name": "x"}}]);
    let answer = served.post("/v1/chat/completions", &tools).await;
    assert_eq!(
        (answer.status, &answer.json()["error"]["param"]),
        (400, &json!("tools"))
    );
}

#[tokio::test]
async fn what_is_said_on_the_way_is_no_part_of_the_answer() {
    let script = "- user: First.\n- $AI\n- user: Second.\n- $AI\n";
    let turns = [
        ScriptedReply::text(["inner"]),
        ScriptedReply::text(["the ", "answer"]),
    ];
    let served = serve(&[("prompts/two.ai.yaml", script)], turns).await;
    let body = json!({"model": "prompt/two", "stream": true,
        "messages": [{"role": "user", "content": "Go."}]});
    let chunks = served.chunks("/v1/chat/completions", &body).await;
    assert!(!content(&chunks).contains("inner"), "{chunks:?}");
}

#[tokio::test]
async fn a_thousand_small_scripts_run_at_once() {
    let files = [(
        "prompts/small.ai.yaml",
        "---\ninput: [n]\n---\n$ret: \"?=n + 1\"\n",
    )];
    let served = serve(&files, []).await;
    let runs = (0..1000).map(|n| served.result("small", json!({"n": n})));
    let results = join_all(runs).await;
    for (n, result) in results.iter().enumerate() {
        assert_eq!(result, &json!(n + 1));
    }
}

#[tokio::test]
async fn a_client_that_leaves_ends_the_run() {
    let slow = ScriptedReply::text(["never"; 100]).pause(Duration::from_millis(50));
    let served = serve(&[("prompts/slow.ai.yaml", "user: Go on.\n")], [slow]).await;
    let mut connection = Connection::open(served.address).await;
    let body = json!({"stream": true}).to_string();
    let request = format!(
        "POST /api/chat/prompts/slow HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    connection.send(&request).await;
    connection.read_until("never").await;
    drop(connection);
    eventually("the provider is left", async || served.provider.left() == 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_and_memory_hold_scripts_as_definitions() {
    let redis = RedisServer::start();
    let stores = [
        quillet_store::open(&redis.url(), &StoreOptions::default())
            .await
            .unwrap(),
        Arc::new(MemoryStore::new()),
    ];
    for store in stores {
        let put = async |source: &str| {
            let text = quillet_prompt::script_definition(source);
            store
                .put(EntryKind::Prompt, &EntryKey::new("math:six"), &text)
                .await
                .unwrap();
        };
        put("$ret: 6\n").await;
        let served = serve_over(
            store.clone(),
            Folder::new(),
            ReplyScript::default(),
            options(),
        )
        .await;
        assert_eq!(served.result("math.six", json!({})).await, 6);
        put("$ret: 7\n").await;
        eventually("the new text is run", async || {
            served
                .result("math.six", Value::Object(Default::default()))
                .await
                == 7
        })
        .await;
    }
}
