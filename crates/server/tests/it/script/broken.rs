//! Scripts that are invalid, fail or change.

use quillet_fake_provider::{InjectedFault, ReplyScript, ScriptedReply};
use serde_json::{Value, json};

use super::served::{options, serve, serve_with};
use crate::test_server::eventually;

const GOOD: &str = "user: Hi.\n";
const TORN: &str = "---\ninput: [a\n---\nuser: Hi.\n";

#[tokio::test]
async fn a_broken_script_is_listed_with_its_error_and_hides_nothing() {
    let files = [
        ("prompts/good.ai.yaml", GOOD),
        ("prompts/deep/torn.ai.yaml", TORN),
        ("prompts/empty.json", r#"{"format": "script"}"#),
        ("prompts/plain.json", r#"{"userPrompt": "Hi"}"#),
    ];
    let served = serve(&files, [ScriptedReply::text(["Hello."])]).await;
    let listed = served.get("/api/prompts?detail=1").await.json();
    let shown = |item: &Value| {
        [
            item["id"].clone(),
            item["status"].clone(),
            item["kind"].clone(),
        ]
    };
    let shown: Vec<_> = listed.as_array().unwrap().iter().map(shown).collect();
    assert_eq!(
        json!(shown),
        json!([
            ["deep.torn", "invalid", "script"],
            ["empty", "invalid", "template"],
            ["good", "valid", "script"],
            ["plain", "valid", "template"],
        ])
    );
    let found = &listed[0]["diagnostics"][0];
    assert_eq!(found["source"], "deep/torn.ai.yaml");
    assert!(found["line"].as_u64() > Some(1), "{found}");
    let answer = served.post("/api/chat/prompts/deep.torn", &json!({})).await;
    let said = answer.json();
    assert_eq!(
        (answer.status, &said["error"]),
        (400, &json!("definition.invalid"))
    );
    assert!(said["line"].as_u64() > Some(1), "{said}");
    assert_eq!(served.result("good", json!({})).await, "Hello.");
}

#[tokio::test]
async fn what_is_written_is_used_at_once() {
    let served = serve(
        &[("prompts/a.ai.yaml", GOOD)],
        [ScriptedReply::text(["Hello."])],
    )
    .await;
    assert_eq!(served.result("a", json!({})).await, "Hello.");
    served.folder.write("prompts/a.ai.yaml", "$ret: 42\n");
    eventually("the new text is run", async || {
        served.result("a", json!({})).await == 42
    })
    .await;
    served.folder.write("prompts/b.ai.yaml", TORN);
    let status = async || served.get("/api/prompts/b").await.json()["status"].clone();
    eventually("the broken one is listed", async || {
        status().await == "invalid"
    })
    .await;
    served.folder.write("prompts/b.ai.yaml", GOOD);
    eventually("it is mended", async || status().await == "valid").await;
}

#[tokio::test]
async fn failures_have_the_status_of_their_cause() {
    let needs = "---\ninput:\n  - name: {type: string, required: true}\n---\nuser: \"{{name}}\"\n";
    let files = [
        ("prompts/needs.ai.yaml", needs),
        ("prompts/absent.ai.yaml", "- $print: a\n- -> nowhere\n"),
        ("prompts/aborts.ai.yaml", "- $abort: enough\n"),
        ("prompts/asks.ai.yaml", GOOD),
    ];
    let refused = ScriptedReply::failing(InjectedFault::Refuse(
        quillet_fake_provider::ErrorResponse::of_status(503),
    ));
    let served = serve(&files, [refused]).await;
    let cases = [
        ("needs", 400, "script.input"),
        ("aborts", 422, "script.aborted"),
        ("asks", 502, "script.model"),
        ("nowhere", 404, "not_found"),
    ];
    for (id, status, code) in cases {
        for body in [json!({}), json!({"stream": true})] {
            let answer = served.post(&format!("/api/chat/prompts/{id}"), &body).await;
            assert_eq!(answer.status, status, "{id}: {}", answer.body);
            assert_eq!(answer.json()["error"], code, "{}", answer.body);
        }
    }
    let answer = served.post("/api/chat/prompts/absent", &json!({})).await;
    let said = answer.json();
    assert_eq!((answer.status, &said["line"]), (400, &json!(2)), "{said}");
    assert_eq!(said["source"], "absent.ai.yaml");
}

#[tokio::test]
async fn limits_end_a_run_and_name_themselves() {
    let files = [
        (
            "prompts/endless.ai.yaml",
            "- $while: true\n  do:\n    - $set: {a: 1}\n",
        ),
        ("prompts/self.ai.yaml", "-> self\n"),
    ];
    let mut options = options();
    options.limits.steps = 10_000;
    options.limits.depth = 8;
    let served = serve_with(&files, ReplyScript::default(), options).await;
    for (id, setting) in [("endless", "limits.steps"), ("self", "limits.depth")] {
        let answer = served
            .post(&format!("/api/chat/prompts/{id}"), &json!({}))
            .await;
        assert_eq!(answer.status, 500, "{}", answer.body);
        assert_eq!(answer.json()["error"], "script.limit", "{}", answer.body);
        assert!(
            answer.json()["hint"].as_str().unwrap().contains(setting),
            "{}",
            answer.body
        );
    }
}
