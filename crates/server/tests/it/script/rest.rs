//! Scripts on the routes for prompts.

use quillet_fake_provider::ScriptedReply;
use serde_json::{Value, json};

use super::served::{content, said, serve};

const GREET: &str = "---
title: A greeting
description: Greets somebody by name.
input:
  - name: {type: string, index: 0, required: true}
---
system: You greet people.
user: \"Greet {{name}}.\"
";

/// A script with two model calls, the second one for its result.
const TWO: &str = "---
input: [topic]
---
user: \"Think of a word for {{topic}}.\"
assistant: \"[[word]]\"
---
- $print: \"word is {{word}}\"
- user: \"Use {{word}} in a sentence.\"
- $AI
";

#[tokio::test]
async fn a_script_is_listed_with_what_it_takes() {
    let served = serve(&[("prompts/hello/greet.ai.yaml", GREET)], []).await;
    assert_eq!(
        served.get("/api/prompts").await.json(),
        json!(["hello.greet"])
    );
    let listed = served.get("/api/prompts?detail=1").await.json();
    assert_eq!(
        listed[0],
        json!({"id": "hello.greet", "status": "valid", "source": "prompts/hello/greet.ai.yaml",
            "kind": "script", "title": "A greeting", "diagnostics": []})
    );
    let detail = served.get("/api/prompts/hello.greet").await.json();
    assert_eq!(detail["kind"], "script");
    assert_eq!(detail["title"], "A greeting");
    assert_eq!(
        detail["prompt"],
        json!({"format": "script", "source": GREET})
    );
    assert_eq!(detail["parameters"]["properties"]["name"]["type"], "string");
    assert_eq!(detail["parameters"]["required"], json!(["name"]));
}

#[tokio::test]
async fn a_script_is_run_as_a_prompt_chats() {
    let files = [("prompts/greet.ai.yaml", GREET)];
    let served = serve(
        &files,
        [ScriptedReply::text(["Hello, ", "Ada!"]).spent(9, 4)],
    )
    .await;
    for path in ["/api/chat/prompts/greet", "/api/v1/prompts/greet/chat"] {
        let answer = served
            .post(
                path,
                &json!({"variables": {"name": "Ada"}, "temperature": 0.5}),
            )
            .await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let answer = answer.json();
        assert_eq!(answer["model"], "prompt/greet");
        assert_eq!(answer["choices"][0]["message"]["content"], "Hello, Ada!");
        assert_eq!(answer["choices"][0]["finish_reason"], "stop");
        assert_eq!(answer["usage"]["total_tokens"], 13);
        assert_eq!(
            answer["script"],
            json!({"result": "Hello, Ada!", "model_calls": 1, "enforced": []})
        );
    }
    assert_eq!(
        served.asked()[0],
        ["system: You greet people.", "user: Greet Ada."]
    );
    let request = served.provider.requests()[0].json();
    assert_eq!(request["temperature"], 0.5);
    assert_eq!(request["model"], "gpt-4o");
}

#[tokio::test]
async fn results_are_values_and_say_how_their_form_was_kept() {
    let script = "---
output: {type: object, properties: {n: {type: integer}}, required: [n]}
parameters: {response_format: {type: json}}
---
user: Count.
";
    let served = serve(
        &[("prompts/count.ai.yaml", script)],
        [ScriptedReply::text(["{\"n\": 3}"])],
    )
    .await;
    let answer = served
        .post("/api/chat/prompts/count", &json!({}))
        .await
        .json();
    assert_eq!(answer["script"]["result"], json!({"n": 3}));
    assert_eq!(answer["choices"][0]["message"]["content"], "{\"n\":3}");
    let enforced = &answer["script"]["enforced"][0];
    assert_eq!(
        (&enforced["kept"], &enforced["repairs"]),
        (&json!(true), &json!(0))
    );
}

#[tokio::test]
async fn a_stream_tells_the_way_and_then_the_result() {
    let turns = [
        ScriptedReply::text(["sun"]),
        ScriptedReply::text(["The ", "sun ", "shines."]),
    ];
    let served = serve(&[("prompts/two.ai.yaml", TWO)], turns).await;
    let body = json!({"stream": true, "variables": {"topic": "day"}});
    let chunks = served.chunks("/api/chat/prompts/two", &body).await;
    assert_eq!(content(&chunks), "The sun shines.");
    let events: Vec<&Value> = chunks.iter().map(|chunk| &chunk["script"]).collect();
    let has = |wanted: Value| events.iter().any(|event| **event == wanted);
    assert!(
        has(json!({"event": "delta", "role": "assistant", "text": "sun"})),
        "{events:?}"
    );
    assert!(
        has(json!({"event": "printed", "text": "word is sun"})),
        "{events:?}"
    );
    assert!(
        has(
            json!({"event": "result", "result": "The sun shines.", "model_calls": 2, "enforced": []})
        ),
        "{events:?}"
    );
    let usage = chunks.last().unwrap();
    assert!(usage["usage"]["total_tokens"].as_u64() > Some(0), "{usage}");
}

#[tokio::test]
async fn rendering_tells_the_requests_and_asks_nobody() {
    let files = [
        ("prompts/greet.ai.yaml", GREET),
        ("prompts/two.ai.yaml", TWO),
        ("prompts/sum.ai.yaml", "?=1+2\n"),
    ];
    let served = serve(&files, []).await;
    let body = json!({"variables": {"name": "Ada"}});
    let answer = served.post("/api/render/prompts/greet", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let answer = answer.json();
    let messages = ["system: You greet people.", "user: Greet Ada."];
    assert_eq!(answer["kind"], "messages");
    assert_eq!(said(&answer["rendered_prompt"]), messages);
    assert_eq!(said(&answer["dry_run"]["requests"][0]), messages);
    let answer = served.post("/api/prompts/greet/render", &body).await.json();
    assert_eq!(said(&answer["messages"]), messages);
    let answer = served
        .post(
            "/api/render",
            &json!({"id": "two", "args": {"topic": "day"}}),
        )
        .await;
    assert_eq!(
        answer.json()["dry_run"]["requests"]
            .as_array()
            .unwrap()
            .len(),
        2,
        "{}",
        answer.body
    );
    let answer = served
        .post("/api/render/prompts/sum", &json!({}))
        .await
        .json();
    assert_eq!(
        (&answer["kind"], &answer["rendered_prompt"]),
        (&json!("prompt"), &json!("3"))
    );
    assert_eq!(served.provider.asked(), 0);
}
