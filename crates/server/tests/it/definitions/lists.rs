//! Lists contain only definitions that the caller may read.

use serde_json::{Value, json};

use super::place::start;

#[tokio::test]
async fn lists_show_what_may_be_read() {
    let tokens = [
        (
            "some",
            &["read greet.*", "read more.*", "render greet.*"] as &[&str],
        ),
        ("all", &["read", "render"]),
        ("most", &["read * !greet.lang"]),
    ];
    let place = start(&tokens).await;
    for (path, some, all) in [
        (
            "/api/prompts",
            json!(["greet.hello", "more.a"]),
            json!(["greet.hello", "more.a", "secret.plan"]),
        ),
        (
            "/api/v1/tools",
            json!(["greet.look"]),
            json!(["greet.look", "secret.look"]),
        ),
        (
            "/api/extensions",
            json!(["greet.ext"]),
            json!(["greet.ext"]),
        ),
        (
            "/api/environs",
            json!(["greet.lang"]),
            json!(["greet.lang", "secret.lang"]),
        ),
        (
            "/api/agents",
            json!(["greet.helper"]),
            json!(["greet.helper", "secret.helper"]),
        ),
    ] {
        assert_eq!(place.ok("some", "GET", path, "").await, some, "{path}");
        assert_eq!(place.ok("all", "GET", path, "").await, all, "{path}");
        let path = format!("{path}?detail=true");
        let detailed = place.ok("some", "GET", &path, "").await;
        let ids = detailed
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["id"].clone());
        assert_eq!(ids.collect::<Value>(), some, "{path}");
    }
    let agents = place.ok("some", "GET", "/api/v1/agents?detail=true", "");
    assert_eq!(
        agents.await,
        json!([{"id": "greet.helper", "status": "valid", "source": "memory/greet:helper", "diagnostics": []}])
    );
    let found = place.ok("all", "GET", "/api/agents?q=KIND%20secret", "");
    assert_eq!(found.await, json!(["secret.helper"]));
    // A tree of variables is hidden if the caller may not read one of its variables.
    for (who, path, status) in [
        ("all", "/api/environs/greet", 200),
        ("some", "/api/environs/greet.lang", 200),
        ("most", "/api/environs/greet", 403),
        ("most", "/api/environs/greet.lang", 403),
        ("most", "/api/environs/secret", 200),
    ] {
        let answer = place.send(who, "GET", path, "").await;
        assert_eq!(answer.status, status, "{who} {path}: {answer:?}");
    }
    let models = place.ok("some", "GET", "/v1/models", "").await;
    let models = models.to_string();
    assert!(models.contains("prompt/greet.hello") && models.contains("agent/greet.helper"));
    assert!(!models.contains("secret"), "{models}");
    for path in [
        "/v1/models/prompt/secret.plan",
        "/v1/models/agent%2Fsecret.helper",
    ] {
        assert_eq!(
            place.send("some", "GET", path, "").await.status,
            404,
            "{path}"
        );
    }
}
