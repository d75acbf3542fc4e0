//! Every compatible API without a version selector, and with a label, a number, a digest and an
//! unknown one.

use serde_json::{Value, json};

use super::service::{Service, open};

/// Returns the text that an API returns for a version selector, or the error status.
async fn given(service: &Service, door: &str, mark: &str) -> Result<String, u16> {
    let is_number = mark.parse::<u64>().is_ok();
    let parameter = |number: &str, label: &str| match mark {
        "" => String::new(),
        _ if is_number => format!("{number}={mark}"),
        _ => format!("{label}={mark}"),
    };
    let mut body = json!({});
    let (method, path) = match door {
        "langfuse" => {
            let query = parameter("version", "label");
            ("GET", format!("/api/public/v2/prompts/story?{query}"))
        }
        "litellm" => {
            let mark = if mark.is_empty() {
                String::new()
            } else {
                format!("%40{mark}").replace(':', "%3A")
            };
            (
                "GET",
                format!("/beta/litellm_prompt_management?prompt_id=story{mark}"),
            )
        }
        "mlflow" if is_number => (
            "GET",
            format!("/api/2.0/mlflow/model-versions/get?name=story&version={mark}"),
        ),
        "mlflow" => {
            let alias = if mark.is_empty() { "production" } else { mark };
            (
                "GET",
                format!("/api/2.0/mlflow/registered-models/alias?name=story&alias={alias}"),
            )
        }
        "responses" => {
            body = json!({"prompt": {"id": "story", "variables": {"x": "X"}}});
            if !mark.is_empty() {
                body["prompt"]["version"] = mark.into();
            }
            ("POST", "/v1/responses".to_owned())
        }
        "chat" => {
            body = json!({"prompt_id": "story", "prompt_variables": {"x": "X"}});
            match mark {
                "" => {}
                _ if is_number => body["prompt_version"] = mark.into(),
                _ => body["prompt_label"] = mark.into(),
            }
            ("POST", "/v1/chat/completions".to_owned())
        }
        _ => unreachable!(),
    };
    let body = if method == "GET" {
        String::new()
    } else {
        body.to_string()
    };
    let answer = service.ask("admin", method, &path, &body).await;
    if answer.status != 200 {
        return Err(answer.status);
    }
    let answer = answer.json();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    // The fake provider replies with the request that it received.
    let asked = |said: &Value| {
        let said: Value = serde_json::from_str(said.as_str().unwrap()).unwrap();
        text(&said["messages"][0]["content"])
    };
    Ok(match door {
        "langfuse" => text(&answer["prompt"]),
        "litellm" => text(&answer["prompt_template"][0]["content"]),
        "mlflow" => {
            let tags = answer["model_version"]["tags"].as_array().unwrap();
            let tag = tags.iter().find(|tag| tag["key"] == "mlflow.prompt.text");
            text(&tag.unwrap()["value"])
        }
        "responses" => asked(&answer["output"][0]["content"][0]["text"]),
        _ => asked(&answer["choices"][0]["message"]["content"]),
    })
}

#[tokio::test]
async fn every_door_gives_the_version_that_is_asked_for() {
    let service = open().await;
    for (text, label) in [
        ("one {{x}}", "production"),
        ("two {{x}}", "next"),
        ("three {{x}}", "spare"),
    ] {
        let body = json!({"name": "story", "prompt": text, "labels": [label], "config": {"model": "scripted-a"}});
        service
            .done("POST", "/api/public/v2/prompts", &body.to_string())
            .await;
    }
    service.settled().await;
    let path = "/api/v1/prompts/story/versions/2";
    let digest = service.done("GET", path, "").await["digest"].clone();
    let digest = &digest.as_str().unwrap()["sha256:".len()..];
    let digests = [digest, &digest[..8]].map(|digits| format!("sha256:{digits}"));
    for door in ["langfuse", "litellm", "mlflow", "responses", "chat"] {
        let is_plain = matches!(door, "langfuse" | "mlflow");
        let variable = match door {
            "langfuse" | "mlflow" => "{{x}}",
            "litellm" => "{x}",
            _ => "X",
        };
        for (mark, expected) in [
            ("", Ok("one")),
            ("production", Ok("one")),
            ("next", Ok("two")),
            ("latest", Ok("three")),
            ("2", Ok("two")),
            ("9", Err(404)),
            ("nobody", Err(404)),
            // Clients of Langfuse and MLflow support only version numbers and labels.
            (&digests[0], if is_plain { Err(404) } else { Ok("two") }),
            (&digests[1], if is_plain { Err(404) } else { Ok("two") }),
            ("sha256:0123456789", Err(404)),
        ] {
            let expected = expected.map(|word| format!("{word} {variable}"));
            assert_eq!(
                given(&service, door, mark).await,
                expected,
                "{door} {mark:?}"
            );
        }
    }
}
