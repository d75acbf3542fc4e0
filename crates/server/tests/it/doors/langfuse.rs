//! Cases of Langfuse's routes that the tests with its clients do not cover.

use serde_json::{Value, json};

use super::service::{Service, open};

const PROMPTS: &str = "/api/public/v2/prompts";

async fn create(service: &Service, body: Value) -> Value {
    service.done("POST", PROMPTS, &body.to_string()).await
}

#[tokio::test]
async fn what_is_written_comes_back_whole() {
    let service = open().await;
    let text = json!({"name": "a/b c", "prompt": "Hi {{ name }}, {{ \"x\": 1 }}", "labels": ["production", "production"],
        "tags": ["t"], "config": {"model": "scripted-b", "temperature": 0.25, "any": [null, {"x": 1}]},
        "commitMessage": "first"});
    let created = create(&service, text.clone()).await;
    let read = service
        .done("GET", &format!("{PROMPTS}/a%2Fb%20c"), "")
        .await;
    assert_eq!(created, read);
    for (name, expected) in [
        ("name", json!("a/b c")),
        ("version", json!(1)),
        ("type", json!("text")),
        ("prompt", text["prompt"].clone()),
        ("config", text["config"].clone()),
        ("labels", json!(["production", "latest"])),
        ("tags", json!(["t"])),
        ("commitMessage", json!("first")),
        ("createdBy", json!("admin")),
        ("projectId", json!("quillet")),
        ("resolutionGraph", Value::Null),
    ] {
        assert_eq!(read[name], expected, "{name}");
    }
    let chat = json!({"name": "chat", "type": "chat", "prompt": [
        {"role": "ai", "content": "{{x}}"}, {"type": "placeholder", "name": "history"}]});
    let created = create(&service, chat).await;
    let expected = json!([{"type": "chatmessage", "role": "ai", "content": "{{x}}"},
        {"type": "placeholder", "name": "history"}]);
    assert_eq!(created["prompt"], expected);
}

#[tokio::test]
async fn a_placeholder_takes_messages_when_this_server_renders() {
    let service = open().await;
    create(
        &service,
        json!({"name": "chat", "type": "chat", "prompt": [
        {"role": "system", "content": "Be {{mood}}."}, {"type": "placeholder", "name": "history"},
        {"role": "user", "content": "{{question}}"}]}),
    )
    .await;
    service.settled().await;
    for (history, expected) in [
        (json!([]), json!(["Be kind.", "Why?"])),
        (
            json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]),
            json!(["Be kind.", "a", "b", "Why?"]),
        ),
    ] {
        let body = json!({"variables": {"mood": "kind", "question": "Why?", "history": history}});
        let path = "/api/v1/render/prompts/chat";
        let rendered = service.done("POST", path, &body.to_string()).await;
        let messages = rendered["rendered_prompt"].as_array().unwrap().iter();
        let said: Vec<&Value> = messages.map(|message| &message["content"]).collect();
        assert_eq!(json!(said), expected, "{rendered}");
    }
}

#[tokio::test]
async fn definitions_of_others_are_filled_in_as_far_as_is_exact() {
    let service = open().await;
    let read = service
        .done("GET", &format!("{PROMPTS}/greet.hello"), "")
        .await;
    assert_eq!(read["prompt"], "Hello {{name}} in go");
    assert_eq!(
        read["config"],
        json!({"model": "scripted-a", "temperature": 0.5})
    );
    assert_eq!(read["labels"], json!(["latest"]));
    let refused = service
        .ask("admin", "GET", &format!("{PROMPTS}/hard"), "")
        .await;
    assert_eq!(refused.status, 422, "{refused:?}");
    let refused = refused.json();
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.contains("hard.prompt:2:6") && message.contains("/api/render/prompts/hard"),
        "{refused}"
    );
}

#[tokio::test]
async fn prompts_are_listed_by_name_label_tag_and_page() {
    let service = open().await;
    for number in 0..3 {
        create(
            &service,
            json!({"name": format!("p/{number}"), "prompt": "x", "tags": ["many"],
            "labels": if number == 1 { json!(["staging"]) } else { json!([]) }}),
        )
        .await;
    }
    create(
        &service,
        json!({"name": "p/1", "prompt": "y", "config": {"n": 2}}),
    )
    .await;
    for (query, names, total) in [
        (
            "",
            vec!["greet.hello", "hard", "look", "p/0", "p/1", "p/2"],
            6,
        ),
        ("?limit=2&page=3", vec!["p/1", "p/2"], 6),
        ("?name=p%2F1", vec!["p/1"], 1),
        ("?label=staging", vec!["p/1"], 1),
        ("?tag=many&limit=1&page=2", vec!["p/1"], 3),
        ("?tag=none", vec![], 0),
        ("?toUpdatedAt=2020-01-01T00:00:00Z", vec![], 0),
        (
            "?fromUpdatedAt=2020-01-01T00:00:00%2B01:00&tag=many",
            vec!["p/0", "p/1", "p/2"],
            3,
        ),
    ] {
        let listed = service.done("GET", &format!("{PROMPTS}{query}"), "").await;
        let data = listed["data"].as_array().unwrap();
        let found: Vec<&str> = data
            .iter()
            .map(|one| one["name"].as_str().unwrap())
            .collect();
        assert_eq!(found, names, "{query}");
        assert_eq!(listed["meta"]["totalItems"], total, "{query}: {listed}");
    }
    let listed = service
        .done("GET", &format!("{PROMPTS}?name=p%2F1"), "")
        .await;
    let one = &listed["data"][0];
    assert_eq!(one["versions"], json!([1, 2]));
    assert_eq!(one["labels"], json!(["staging", "latest"]));
    assert_eq!(one["lastConfig"], json!({"n": 2}));
}

#[tokio::test]
async fn a_version_that_was_deleted_is_used_by_nobody() {
    let service = open().await;
    for text in ["one", "two", "three"] {
        create(
            &service,
            json!({"name": "d", "prompt": text, "labels": [text]}),
        )
        .await;
    }
    let path = format!("{PROMPTS}/d");
    service
        .done("DELETE", &format!("{path}?version=3"), "")
        .await;
    for (query, status) in [
        ("?version=3", 404),
        ("?label=three", 404),
        ("?version=1", 200),
        ("?label=two", 200),
    ] {
        let answer = service
            .ask("admin", "GET", &format!("{path}{query}"), "")
            .await;
        assert_eq!(answer.status, status, "{query}: {answer:?}");
    }
    let latest = service
        .done("GET", &format!("{path}?label=latest"), "")
        .await;
    assert_eq!(latest["prompt"], "two");
    service.settled().await;
    let rendered = service.done("POST", "/api/v1/render/prompts/d", "{}").await;
    assert_eq!(rendered["rendered_prompt"], "two", "{rendered}");
    service
        .done("DELETE", &format!("{path}?label=one"), "")
        .await;
    let listed = service.done("GET", &format!("{PROMPTS}?name=d"), "").await;
    assert_eq!(listed["data"][0]["versions"], json!([2, 4]), "{listed}");
    service.done("DELETE", &path, "").await;
    let gone = service
        .ask("admin", "GET", &format!("{path}?version=2"), "")
        .await;
    assert_eq!(gone.status, 404, "{gone:?}");
    // A new write after a deletion starts a new history.
    create(&service, json!({"name": "d", "prompt": "again"})).await;
    let gone = service
        .ask("admin", "GET", &format!("{path}?version=2"), "")
        .await;
    assert_eq!(gone.status, 404, "{gone:?}");
    assert_eq!(service.done("GET", &path, "").await["prompt"], "again");
}

#[tokio::test]
async fn prompts_stand_inside_of_prompts() {
    let service = open().await;
    create(
        &service,
        json!({"name": "in/ner", "prompt": "Dear {{name}}", "labels": ["production"]}),
    )
    .await;
    create(&service, json!({"name": "outer", "labels": ["production"],
        "prompt": "@@@langfusePrompt:name=in/ner|label=production@@@, @@@langfusePrompt:name=in/ner|version=1@@@!"}))
    .await;
    let read = service.done("GET", &format!("{PROMPTS}/outer"), "").await;
    assert_eq!(read["prompt"], "Dear {{name}}, Dear {{name}}!");
    assert_eq!(
        read["resolutionGraph"]["dependencies"]["outer"][0],
        json!({"name": "in/ner", "version": 1})
    );
    let raw = service
        .done("GET", &format!("{PROMPTS}/outer?resolve=false"), "")
        .await;
    assert!(raw["prompt"].as_str().unwrap().starts_with("@@@"), "{raw}");
    let absent = json!({"name": "x", "prompt": "@@@langfusePrompt:name=no|label=production@@@"});
    let absent = service
        .ask("admin", "POST", PROMPTS, &absent.to_string())
        .await;
    assert_eq!(absent.status, 404, "{absent:?}");
    // A cycle of references ends with an error.
    create(
        &service,
        json!({"name": "in/ner", "labels": ["production"],
        "prompt": "@@@langfusePrompt:name=outer|label=production@@@"}),
    )
    .await;
    let circle = service
        .ask("admin", "GET", &format!("{PROMPTS}/outer"), "")
        .await;
    assert_eq!(circle.status, 400, "{circle:?}");
}
