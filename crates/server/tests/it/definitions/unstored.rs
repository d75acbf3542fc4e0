//! Definitions in requests, which are rendered and used for chats without being stored.

use serde_json::json;

use super::place::start;

#[tokio::test]
async fn who_may_write_an_id_may_answer_with_what_is_not_stored() {
    let tokens = [
        ("reader", &["read", "render"] as &[&str]),
        ("writer", &["render", "write greet.*"]),
        ("all", &["render", "write"]),
    ];
    let place = start(&tokens).await;
    let definition = json!({"userPrompt": "Hello {{.variables.name}}"});
    let asked = |read_as: Option<&str>| {
        json!({"definition": definition, "as": read_as, "variables": {"name": "Ada"}}).to_string()
    };
    let here = asked(Some("greet.new"));
    let elsewhere = asked(Some("secret.plan"));
    let nowhere = asked(None);
    for (who, body, status) in [
        ("reader", &here, 403),
        ("writer", &here, 200),
        ("writer", &elsewhere, 403),
        ("writer", &nowhere, 403),
        ("all", &nowhere, 200),
    ] {
        let answer = place.send(who, "POST", "/api/v1/chat", body).await;
        assert_eq!(answer.status, status, "{who} {body}: {answer:?}");
    }
    // Rendering a definition from the request calls no model and writes nothing.
    let rendered = place.ok("reader", "POST", "/api/v1/render", &here).await;
    assert_eq!(rendered["rendered_prompt"], "Hello Ada");
    let broken = json!({"definition": {"userPrompt": "{{"}}).to_string();
    let answer = place.send("all", "POST", "/api/v1/chat", &broken).await;
    assert_eq!(answer.status, 400, "{answer:?}");
    let with = json!({"definition": {"userPrompt": "x"}, "messages": []}).to_string();
    let answer = place.send("all", "POST", "/api/v1/chat", &with).await;
    assert_eq!(answer.status, 400, "{answer:?}");
}

#[tokio::test]
async fn a_prompt_file_is_rendered_as_it_is_written() {
    let place = start(&[]).await;
    let file = |name: &str, text: &str| {
        json!({"file": {"name": name, "text": text}, "variables": {"name": "Ada"}}).to_string()
    };
    let text = "---\nmodel: m\n---\n{{role \"system\"}}Be kind.{{role \"user\"}}Hi {{name}}";
    let body = file("greet.prompt", text);
    let rendered = place.ok("", "POST", "/api/render", &body).await;
    assert_eq!(
        rendered["rendered_prompt"],
        json!([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi Ada"}])
    );
    let body = file("greet.prompt", "---\nmodel: [\n---\nHi");
    let answer = place.send("", "POST", "/api/render", &body).await;
    assert_eq!(answer.json()["diagnostics"][0]["line"], 2, "{answer:?}");
    let body = file("greet.txt", "Hi");
    let answer = place.send("", "POST", "/api/render", &body).await;
    assert_eq!(answer.status, 400, "{answer:?}");
    // `form=file` is rejected for a prompt that is not a file.
    let answer = place
        .send("", "PUT", "/api/prompts/greet.hello?form=file", "Hi")
        .await;
    assert_eq!(answer.status, 422, "{answer:?}");
}

#[tokio::test]
async fn no_cost_is_told_where_no_price_is_known() {
    // The models in this test have no prices. Tests of the command-line program cover prices.
    let place = start(&[]).await;
    let asked = json!({"model": "any", "usage": {"prompt_tokens": 1000}}).to_string();
    let told = place.ok("", "POST", "/api/v1/cost", &asked).await;
    assert_eq!(told, json!({"model": "any"}));
    let wrong = json!({"model": "any", "usage": {"prompt_tokens": -1}}).to_string();
    let answer = place.send("", "POST", "/api/v1/cost", &wrong).await;
    assert_eq!(answer.status, 400, "{answer:?}");
}
