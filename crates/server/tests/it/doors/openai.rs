//! Stored prompts that OpenAI's clients select in addition to the model.

use serde_json::{Value, json};

use super::service::{Service, open};

/// Returns the request that the provider received, and the response.
async fn asked(service: &Service, path: &str, body: Value) -> (Value, Value) {
    let answer = service.done("POST", path, &body.to_string()).await;
    (service.provider.requests().last().unwrap().json(), answer)
}

#[tokio::test]
async fn the_prompt_s_model_and_options_apply_unless_the_request_says_otherwise() {
    let service = open().await;
    let prompt = json!({"id": "pmpt_hello", "variables": {"name": "Ada"}});
    for (body, model, temperature, last) in [
        (
            json!({"prompt": prompt}),
            "scripted-a",
            0.5,
            "Hello Ada in go",
        ),
        (
            json!({"prompt": prompt, "input": "More"}),
            "scripted-a",
            0.5,
            "More",
        ),
        (
            json!({"prompt": prompt, "model": "scripted-c", "temperature": 1.0}),
            "scripted-c",
            1.0,
            "Hello Ada in go",
        ),
    ] {
        let (asked, answer) = asked(&service, "/v1/responses", body.clone()).await;
        assert_eq!(asked["model"], model, "{body}");
        assert_eq!(asked["temperature"], temperature, "{body}");
        let messages = asked["messages"].as_array().unwrap();
        assert_eq!(messages[0]["content"], "Hello Ada in go", "{asked}");
        assert_eq!(messages.last().unwrap()["content"], last, "{asked}");
        assert_eq!(answer["prompt"], prompt, "{answer}");
        assert_eq!(answer["model"], model, "{answer}");
    }
    let body = json!({"prompt_id": "pmpt_hello", "prompt_variables": {"name": "Bob"},
        "messages": [{"role": "user", "content": "More"}]});
    let (asked, answer) = asked(&service, "/v1/chat/completions", body).await;
    assert_eq!(asked["messages"][0]["content"], "Hello Bob in go");
    assert_eq!(asked["messages"][1]["content"], "More");
    assert_eq!(answer["model"], "scripted-a");
    assert!(asked.get("prompt_id").is_none(), "{asked}");
}

#[tokio::test]
async fn variables_may_be_texts_images_and_files() {
    let service = open().await;
    let png = "data:image/png;base64,iVBORw0KGgo=";
    for (image, expected) in [
        (
            json!({"type": "input_image", "image_url": png, "detail": "low"}),
            json!({"type": "image_url", "image_url": {"url": png, "detail": "low"}}),
        ),
        (
            json!({"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}),
            json!({"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}}),
        ),
        (
            json!({"type": "input_image", "file_id": "file-1"}),
            json!({"type": "file", "file": {"file_id": "file-1"}}),
        ),
    ] {
        let question = json!({"type": "input_text", "text": "What is it?"});
        let prompt = json!({"id": "look", "variables": {"question": question, "image": image}});
        let (asked, _) = asked(&service, "/v1/responses", json!({"prompt": prompt})).await;
        let content = &asked["messages"][1]["content"];
        assert_eq!(
            content[0]["text"].as_str().map(str::trim),
            Some("What is it?"),
            "{asked}"
        );
        assert_eq!(content[1], expected, "{asked}");
    }
    // A string that looks like a placeholder for media stays a string.
    let prompt = json!({"id": "look", "variables": {"question": "variable:0", "image": "x"}});
    let (asked, _) = asked(&service, "/v1/responses", json!({"prompt": prompt})).await;
    assert_eq!(asked["messages"][1]["content"], "variable:0 x");
}
