//! Correct behaviour where ai-prompt-shell has measured defects. Clients and definitions migrate,
//! but the defects do not.

use quillet_core::store::{EntryKey, EntryKind, Store};
use serde_json::json;

use crate::test_server::{Setup, TestServer, eventually, start, start_with};

async fn rendered(server: &TestServer, id: &str, body: &str) -> serde_json::Value {
    server
        .post(&format!("/api/render/prompts/{id}"), body)
        .await
        .json()["rendered_prompt"]
        .clone()
}

#[tokio::test]
async fn each_tool_function_calls_its_own_tool() {
    let more = vec![
        (
            EntryKind::Tool,
            "one:a",
            r#"{"parameters":{"properties":{"x":{}}}}"#,
        ),
        (
            EntryKind::Tool,
            "one:b",
            r#"{"parameters":{"properties":{"y":{},"z":{}}}}"#,
        ),
        (
            EntryKind::Prompt,
            "two",
            r#"{"userPrompt":"{{one_a \"x\"}} {{one_b \"y\" 2}}"}"#,
        ),
    ];
    let server = start_with(Setup {
        more,
        ..Setup::default()
    })
    .await;
    let expected = r#"one_a{"x":"x"} one_b{"y":"y","z":2}"#;
    assert_eq!(rendered(&server, "two", "").await, expected);
}

#[tokio::test]
async fn positional_arguments_fit_an_object_schema() {
    let server = start().await;
    let body = r#"{"variables":{"symbol":"main"}}"#;
    assert_eq!(
        rendered(&server, "uses.lookup", body).await,
        r#"codebase_lookup{"symbol":"main"}"#
    );
}

#[tokio::test]
async fn a_tool_whose_key_is_no_identifier_does_not_stop_the_service() {
    let more = vec![(EntryKind::Prompt, "mod", r#"{"userPrompt":"{{my_mod_x}}"}"#)];
    let server = start_with(Setup {
        more,
        ..Setup::default()
    })
    .await;
    assert_eq!(rendered(&server, "mod", "").await, "my_mod_x{}");
}

#[tokio::test]
async fn one_broken_entry_hides_no_other_and_removed_ones_vanish() {
    let server = start().await;
    let has = async |id: &str| {
        let list = server.get("/api/prompts").await.json();
        list.as_array().unwrap().iter().any(|known| known == id)
    };
    assert!(has("torn").await && has("hello").await);
    server
        .store
        .put(EntryKind::Prompt, &EntryKey::new("late"), "{broken")
        .await
        .unwrap();
    eventually("the broken prompt is listed", async || has("late").await).await;
    server
        .store
        .remove(EntryKind::Prompt, &EntryKey::new("hello"))
        .await
        .unwrap();
    eventually("the removed prompt is gone", async || !has("hello").await).await;
    assert_eq!(
        server.post("/api/render/prompts/hello", "").await.status,
        404
    );
    server
        .store
        .remove(EntryKind::Extension, &EntryKey::new("zgsm:evaluator"))
        .await
        .unwrap();
    eventually("prompts of a removed extension are gone", async || {
        !has("evaluator.quality").await
    })
    .await;
}

#[tokio::test]
async fn integers_print_as_integers() {
    let server = start().await;
    let body = server
        .post("/api/render/prompts/evaluator.quality", "")
        .await
        .json();
    assert_eq!(
        body["rendered_prompt"][1]["content"],
        "This project has 1234567 lines"
    );
    let typed = r#"{"variables":{"n":123456789}}"#;
    assert_eq!(rendered(&server, "typed", typed).await, "123456789");
}

#[tokio::test]
async fn a_tool_that_comes_late_is_bound_at_once() {
    let server = start().await;
    let render = async || server.post("/api/render/prompts/uses.unknown", "").await;
    assert_eq!(render().await.json()["error"], "render.unknown_function");
    let tool = r#"{"parameters":{"properties":{"n":{}}}}"#;
    server
        .store
        .put(EntryKind::Tool, &EntryKey::new("codebase:lokup"), tool)
        .await
        .unwrap();
    eventually("the tool is bound", async || render().await.status == 200).await;
    assert_eq!(
        render().await.json()["rendered_prompt"],
        r#"codebase_lokup{"n":1}"#
    );
}

#[tokio::test]
async fn statuses_are_the_same_for_render_and_chat() {
    let server = start().await;
    for (id, body, status) in [
        ("no-such-prompt", "{}", 404),
        ("hello", "{}", 400),
        ("torn", "{}", 400),
    ] {
        for path in [
            "render/prompts/ID",
            "chat/prompts/ID",
            "prompts/ID/render",
            "prompts/ID/chat",
        ] {
            let path = format!("/api/{}", path.replace("ID", id));
            let answer = server.post(&path, body).await;
            assert_eq!(answer.status, status, "{path}: {}", answer.body);
            assert_eq!(answer.json()["code"], json!(status.to_string()));
        }
    }
}

#[tokio::test]
async fn with_the_store_away_lists_are_still_answered() {
    let server = start().await;
    server.store.set_away(true);
    for kind in ["extensions", "prompts", "tools", "environs"] {
        assert_eq!(
            server.get(&format!("/api/{kind}")).await.status,
            200,
            "{kind}"
        );
    }
}
