//! Invalid requests to each compatible API, with the status and body that its clients expect.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::service::open;
use crate::client;

#[tokio::test]
async fn each_door_says_what_does_not_fit() {
    let service = open().await;
    let prompts = "/api/public/v2/prompts";
    let story = r#"{"name":"story","prompt":"x"}"#;
    service.done("POST", prompts, story).await;
    let mlflow = "/api/2.0/mlflow";
    let litellm = "/beta/litellm_prompt_management";
    for (method, path, body, status, part) in [
        // Langfuse.
        (
            "GET",
            format!("{prompts}/nope"),
            "",
            404,
            "Prompt not found: 'nope' with label 'production'",
        ),
        (
            "GET",
            format!("{prompts}/story?version=7"),
            "",
            404,
            "Prompt not found: 'story' with version 7",
        ),
        (
            "GET",
            format!("{prompts}/story?version=-1"),
            "",
            404,
            "LangfuseNotFoundError",
        ),
        (
            "GET",
            format!("{prompts}/story?label=x"),
            "",
            404,
            "with label 'x'",
        ),
        (
            "GET",
            format!("{prompts}/story?label=x&version=1"),
            "",
            400,
            "Cannot specify both version and label",
        ),
        (
            "GET",
            format!("{prompts}/story?version=one"),
            "",
            400,
            "Invalid request data",
        ),
        ("GET", format!("{prompts}?limit=0"), "", 400, "limit"),
        ("GET", format!("{prompts}?limit=101"), "", 400, "100"),
        (
            "GET",
            format!("{prompts}?fromUpdatedAt=yesterday"),
            "",
            400,
            "fromUpdatedAt",
        ),
        ("POST", prompts.to_owned(), "", 400, "JSON object"),
        ("POST", prompts.to_owned(), "[]", 400, "JSON object"),
        ("POST", prompts.to_owned(), r#"{"prompt":"x"}"#, 400, "name"),
        (
            "POST",
            prompts.to_owned(),
            r#"{"name":" ","prompt":"x"}"#,
            400,
            "name",
        ),
        (
            "POST",
            prompts.to_owned(),
            r#"{"name":"n","prompt":7}"#,
            400,
            "prompt",
        ),
        (
            "POST",
            prompts.to_owned(),
            r#"{"name":"n","type":"chat","prompt":"x"}"#,
            400,
            "list of messages",
        ),
        (
            "POST",
            prompts.to_owned(),
            r#"{"name":"n","type":"chat","prompt":[{"role":"user"}]}"#,
            400,
            "content",
        ),
        (
            "POST",
            prompts.to_owned(),
            r#"{"name":"n","type":"chat","prompt":[{"role":"user","content":"{{a}}"},{"type":"placeholder","name":"a"}]}"#,
            400,
            "must be unique",
        ),
        (
            "POST",
            prompts.to_owned(),
            r#"{"name":"n","type":"image","prompt":"x"}"#,
            400,
            "text or chat",
        ),
        (
            "POST",
            prompts.to_owned(),
            r#"{"name":"n","prompt":"x","labels":"a"}"#,
            400,
            "labels",
        ),
        (
            "POST",
            prompts.to_owned(),
            r#"{"name":"n","prompt":"x","labels":["a b"]}"#,
            400,
            "a b",
        ),
        (
            "POST",
            prompts.to_owned(),
            r#"{"name":"story","type":"chat","prompt":[]}"#,
            400,
            "different prompt type",
        ),
        (
            "PATCH",
            format!("{prompts}/story/versions/1"),
            r#"{"newLabels":["latest"]}"#,
            400,
            "latest",
        ),
        (
            "PATCH",
            format!("{prompts}/story/versions/1"),
            "{}",
            400,
            "newLabels",
        ),
        (
            "PATCH",
            format!("{prompts}/story/versions/x"),
            r#"{"newLabels":[]}"#,
            400,
            "expected a version number",
        ),
        (
            "PATCH",
            format!("{prompts}/story/versions/9"),
            r#"{"newLabels":["a"]}"#,
            404,
            "LangfuseNotFoundError",
        ),
        (
            "DELETE",
            format!("{prompts}/nope"),
            "",
            404,
            "Prompt not found",
        ),
        (
            "DELETE",
            format!("{prompts}/story?version=9"),
            "",
            404,
            "Prompt not found",
        ),
        (
            "DELETE",
            format!("{prompts}/story?version=1&label=a"),
            "",
            400,
            "both",
        ),
        (
            "PUT",
            format!("{prompts}/story"),
            "",
            405,
            "MethodNotAllowedError",
        ),
        (
            "GET",
            "/api/public/v3/prompts".to_owned(),
            "",
            404,
            "LangfuseNotFoundError",
        ),
        // LiteLLM.
        ("GET", litellm.to_owned(), "", 400, "prompt_id"),
        ("GET", format!("{litellm}?prompt_id=nope"), "", 404, "nope"),
        (
            "GET",
            format!("{litellm}?prompt_id=story&version=9"),
            "",
            404,
            "9",
        ),
        (
            "GET",
            format!("{litellm}?prompt_id=story&version=1&label=a"),
            "",
            400,
            "mutually exclusive",
        ),
        (
            "GET",
            format!("{litellm}?prompt_id=story&version=a%20b"),
            "",
            400,
            "invalid character",
        ),
        (
            "GET",
            format!("{litellm}?prompt_id=hard"),
            "",
            422,
            "is a condition",
        ),
        // MLflow.
        (
            "GET",
            format!("{mlflow}/registered-models/get"),
            "",
            400,
            "INVALID_PARAMETER_VALUE",
        ),
        (
            "GET",
            format!("{mlflow}/registered-models/get?name=nope"),
            "",
            404,
            "RESOURCE_DOES_NOT_EXIST",
        ),
        (
            "GET",
            format!("{mlflow}/model-versions/get?name=story&version=x"),
            "",
            400,
            "expected a version number",
        ),
        (
            "GET",
            format!("{mlflow}/model-versions/get?name=story&version=9"),
            "",
            404,
            "RESOURCE_DOES_NOT_EXIST",
        ),
        (
            "GET",
            format!("{mlflow}/registered-models/alias?name=story&alias=x"),
            "",
            404,
            "alias x",
        ),
        (
            "GET",
            format!("{mlflow}/model-versions/get?name=hard&version=1"),
            "",
            422,
            "INVALID_PARAMETER_VALUE",
        ),
        (
            "POST",
            format!("{mlflow}/registered-models/create"),
            r#"{"name":"m"}"#,
            400,
            "only prompts",
        ),
        (
            "POST",
            format!("{mlflow}/model-versions/create"),
            r#"{"name":"m"}"#,
            400,
            "mlflow.prompt.text",
        ),
        (
            "POST",
            format!("{mlflow}/model-versions/create"),
            r#"{"name":"m","tags":[{"key":"mlflow.prompt.text","value":"x"},{"key":"_mlflow_prompt_type","value":"chat"}]}"#,
            400,
            "list of messages",
        ),
        (
            "POST",
            format!("{mlflow}/registered-models/alias"),
            r#"{"name":"story","alias":"a","version":"9"}"#,
            404,
            "no version 9",
        ),
        (
            "POST",
            format!("{mlflow}/registered-models/alias"),
            r#"{"name":"story","alias":"latest","version":"1"}"#,
            400,
            "latest",
        ),
        (
            "POST",
            format!("{mlflow}/registered-models/alias"),
            "[]",
            400,
            "JSON object",
        ),
        // OpenAI.
        (
            "POST",
            "/v1/responses".to_owned(),
            r#"{"prompt":{"id":"nope"}}"#,
            404,
            "nope",
        ),
        (
            "POST",
            "/v1/responses".to_owned(),
            r#"{"prompt":{"id":"story","version":"9"}}"#,
            404,
            "9",
        ),
        (
            "POST",
            "/v1/responses".to_owned(),
            r#"{"prompt":{"version":"1"}}"#,
            400,
            "prompt.id",
        ),
        (
            "POST",
            "/v1/responses".to_owned(),
            r#"{"prompt":{"id":"story"},"model":"prompt/story"}"#,
            400,
            "model",
        ),
        (
            "POST",
            "/v1/chat/completions".to_owned(),
            r#"{"prompt_id":"story","prompt_label":"x","prompt_version":"1"}"#,
            400,
            "cannot be combined",
        ),
        (
            "POST",
            "/v1/chat/completions".to_owned(),
            r#"{"prompt_variables":{},"messages":[]}"#,
            400,
            "prompt_id",
        ),
    ] {
        let answer = service.ask("admin", method, &path, body).await;
        assert_eq!(answer.status, status, "{method} {path} {body}: {answer:?}");
        assert!(
            answer.body.contains(part),
            "{method} {path} {body}: {answer:?}"
        );
    }
}

#[tokio::test]
async fn a_pair_is_the_name_and_the_secret_of_a_token() {
    let service = open().await;
    let basic = |pair: &str| format!("Basic {}", STANDARD.encode(pair));
    for (given, status) in [
        (basic("admin:sk-admin"), 200),
        ("Bearer sk-admin".to_owned(), 200),
        (basic("reader:sk-admin"), 401),
        (basic("sk-admin"), 401),
        (basic("admin:"), 401),
        ("Basic sk-admin".to_owned(), 401),
        ("sk-admin".to_owned(), 401),
        (String::new(), 401),
    ] {
        let headers = [("authorization", given.as_str())];
        let path = "/api/public/projects";
        let answer = client::request(service.address, "GET", path, &headers, "").await;
        assert_eq!(answer.status, status, "{given}: {answer:?}");
        if status == 401 {
            assert_eq!(answer.json()["error"], "UnauthorizedError", "{answer:?}");
        }
    }
}
