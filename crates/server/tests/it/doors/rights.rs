//! The compatible APIs enforce the same permissions as the other routes.

use serde_json::json;

use super::service::open;

#[tokio::test]
async fn protected_labels_and_missing_rights_are_refused_in_each_door_s_own_shape() {
    let service = open().await;
    let prompt = |labels: &[&str]| {
        let prompt = json!({"name": "story", "prompt": "x", "labels": labels});
        prompt.to_string()
    };
    service
        .done("POST", "/api/public/v2/prompts", &prompt(&["production"]))
        .await;
    service
        .done("POST", "/api/public/v2/prompts", &prompt(&[]))
        .await;
    let one = "/api/public/v2/prompts/story";
    let alias = "/api/2.0/mlflow/registered-models/alias";
    let create = "/api/2.0/mlflow/model-versions/create";
    let model = json!({"name": "story", "tags": [{"key": "mlflow.prompt.text", "value": "x"}]});
    let model = model.to_string();
    let production = r#"{"newLabels":["staging","production"]}"#;
    let set = r#"{"name":"story","alias":"production","version":"2"}"#;
    for (who, method, path, body, status, part) in [
        (
            "writer",
            "POST",
            "/api/public/v2/prompts",
            prompt(&["production"]),
            403,
            "ForbiddenError",
        ),
        (
            "writer",
            "PATCH",
            &format!("{one}/versions/2"),
            production.into(),
            403,
            "ForbiddenError",
        ),
        (
            "writer",
            "DELETE",
            one,
            String::new(),
            403,
            "ForbiddenError",
        ),
        (
            "writer",
            "DELETE",
            &format!("{one}?version=1"),
            String::new(),
            403,
            "ForbiddenError",
        ),
        (
            "writer",
            "POST",
            alias,
            set.into(),
            403,
            "PERMISSION_DENIED",
        ),
        (
            "writer",
            "DELETE",
            alias,
            set.into(),
            403,
            "PERMISSION_DENIED",
        ),
        (
            "reader",
            "POST",
            "/api/public/v2/prompts",
            prompt(&[]),
            403,
            "ForbiddenError",
        ),
        (
            "reader",
            "PATCH",
            &format!("{one}/versions/2"),
            r#"{"newLabels":["a"]}"#.into(),
            403,
            "ForbiddenError",
        ),
        (
            "reader",
            "POST",
            create,
            model.clone(),
            403,
            "PERMISSION_DENIED",
        ),
        (
            "reader",
            "POST",
            "/v1/responses",
            r#"{"prompt":{"id":"story"}}"#.into(),
            403,
            "error",
        ),
        (
            "nobody",
            "GET",
            one,
            String::new(),
            401,
            "UnauthorizedError",
        ),
        (
            "nobody",
            "GET",
            &format!("{alias}?name=story&alias=production"),
            String::new(),
            401,
            "UNAUTHENTICATED",
        ),
        (
            "nobody",
            "GET",
            "/beta/litellm_prompt_management?prompt_id=story",
            String::new(),
            401,
            "auth.refused",
        ),
        ("reader", "GET", one, String::new(), 200, "story"),
        (
            "reader",
            "GET",
            "/beta/litellm_prompt_management?prompt_id=story",
            String::new(),
            200,
            "story",
        ),
        (
            "writer",
            "PATCH",
            &format!("{one}/versions/1"),
            r#"{"newLabels":["staging"]}"#.into(),
            200,
            "staging",
        ),
        (
            "admin",
            "PATCH",
            &format!("{one}/versions/2"),
            production.into(),
            200,
            "production",
        ),
    ] {
        let answer = service.ask(who, method, path, &body).await;
        assert_eq!(answer.status, status, "{who} {method} {path}: {answer:?}");
        assert!(
            answer.body.contains(part),
            "{who} {method} {path}: {answer:?}"
        );
    }
    // A rejected request moves none of the labels that it names.
    let log = service.done("GET", "/api/v1/log", "").await;
    assert!(
        log.to_string().contains("production of story is protected"),
        "{log}"
    );
}
