//! Rendering over HTTP: responses and statuses.

use std::time::Duration;

use quillet_core::store::EntryKind;
use quillet_template::RenderLimits;
use serde_json::json;

use crate::test_server::{Setup, eventually, start, start_with};

#[tokio::test]
async fn both_shapes_carry_texts_and_messages() {
    let server = start().await;
    let name = r#"{"variables":{"name":"Ada"}}"#;
    let text = "Hello Ada in go";
    let messages = json!([
        {"role": "system", "content": "You review go."},
        {"role": "user", "content": "This project has 1234567 lines"},
    ]);
    for base in ["/api", "/api/v1"] {
        let post = async |path: &str, body: &str| {
            let answer = server.post(&format!("{base}{path}"), body).await;
            assert_eq!(answer.status, 200, "{path} {}", answer.body);
            answer.json()
        };
        assert_eq!(
            post("/render/prompts/hello", name).await,
            json!({"rendered_prompt": text, "status": "success", "kind": "prompt"})
        );
        assert_eq!(
            post("/prompts/hello/render", name).await,
            json!({"kind": "prompt", "prompt": text})
        );
        assert_eq!(
            post("/render/prompts/evaluator.quality", "").await,
            json!({"rendered_prompt": messages, "status": "success", "kind": "messages"})
        );
        assert_eq!(
            post("/prompts/evaluator.quality/render", "{}").await,
            json!({"kind": "messages", "messages": messages})
        );
    }
}

#[tokio::test]
async fn args_are_variables_too_and_variables_win() {
    let server = start().await;
    let cases = [
        (r#"{"args":{"name":"A"}}"#, "Hello A in go"),
        (
            r#"{"args":{"name":"A"},"variables":{"name":"B"}}"#,
            "Hello B in go",
        ),
        (
            r#"{"args":{"name":"A"},"variables":{"other":1}}"#,
            "Hello A in go",
        ),
        (
            r#"{"args":null,"variables":{"name":"1 < 2 & \"3\""}}"#,
            "Hello 1 < 2 & \"3\" in go",
        ),
        (
            r#"{"variables":{"name":"{{.vscode.lang}}"}}"#,
            "Hello {{.vscode.lang}} in go",
        ),
    ];
    for (body, expected) in cases {
        let answer = server.post("/api/render/prompts/hello", body).await;
        assert_eq!(answer.json()["rendered_prompt"], expected, "{body}");
    }
}

#[tokio::test]
async fn each_failure_has_its_status_and_says_how_to_mend_it() {
    let server = start().await;
    // The columns are the prompt, body, status, error code and members of the response.
    let cases = [
        (
            "hello",
            "{}",
            400,
            "render.missing_variable",
            json!({"missing": ["variables.name"]}),
        ),
        (
            "helo",
            "{}",
            404,
            "not_found",
            json!({"hint": "did you mean hello?"}),
        ),
        ("torn", "{}", 400, "definition.invalid", json!({"line": 2})),
        ("both", "{}", 400, "definition.invalid", json!({})),
        ("evaluator.torn", "{}", 400, "definition.invalid", json!({})),
        (
            "uses.unknown",
            "{}",
            400,
            "render.unknown_function",
            json!({"hint": "codebase_lokup: did you mean codebase_lookup?"}),
        ),
        (
            "typed",
            r#"{"variables":{"n":"x"}}"#,
            400,
            "variables.invalid",
            json!({}),
        ),
        ("typed", "{}", 400, "variables.invalid", json!({})),
        (
            "executes",
            r#"{"variables":{"list":[1]}}"#,
            500,
            "render.execution",
            json!({}),
        ),
        ("endless", "{}", 500, "render.limit", json!({})),
        (
            "hello",
            "{\n  \"variables\": [1]}",
            400,
            "request.body",
            json!({"line": 2}),
        ),
        (
            "hello",
            r#"{"variables":{"name":}}"#,
            400,
            "request.body",
            json!({"line": 1, "column": 22}),
        ),
    ];
    for (prompt, body, status, code, members) in cases {
        for path in [
            format!("/api/render/prompts/{prompt}"),
            format!("/api/v1/prompts/{prompt}/render"),
        ] {
            let answer = server.post(&path, body).await;
            let problem = answer.json();
            assert_eq!(
                (answer.status, problem["error"].as_str()),
                (status, Some(code)),
                "{path} {problem}"
            );
            assert_eq!(problem["code"], json!(status.to_string()));
            assert_eq!(problem["type"], json!(format!("urn:quillet:error:{code}")));
            for (name, value) in members.as_object().unwrap() {
                assert_eq!(&problem[name], value, "{name} of {problem}");
            }
        }
    }
}

#[tokio::test]
async fn a_failed_tool_leaves_its_default_and_a_warning() {
    let server = start().await;
    for path in [
        "/api/render/prompts/uses.ill",
        "/api/prompts/uses.ill/render",
    ] {
        let body = server.post(path, "").await.json();
        let text = body.get("rendered_prompt").or(body.get("prompt")).unwrap();
        assert_eq!(text, "[none]", "{body}");
        assert_eq!(body["warnings"][0]["tool"], "ill");
        assert_eq!(body["warnings"][0]["code"], "tool.remote");
    }
    let metrics = server.get("/metrics").await.body;
    assert!(
        metrics.contains(r#"quillet_tool_failures_total{code="tool.remote"} 2"#),
        "{metrics}"
    );
}

#[tokio::test]
async fn a_failed_tool_that_is_looked_into_is_told_of_in_every_answer() {
    let more = vec![
        (
            EntryKind::Prompt,
            "looks",
            r#"{"userPrompt":"[{{(ill).a.b}}{{range ill}}x{{end}}{{index ill \"a\"}}]"}"#,
        ),
        (
            EntryKind::Prompt,
            "gives-up",
            r#"{"userPrompt":"{{(ill).a}}{{if not (ill).ok}}{{fail \"no data\"}}{{end}}"}"#,
        ),
    ];
    let server = start_with(Setup {
        more,
        ..Setup::default()
    })
    .await;
    for (id, status, text) in [("looks", 200, "[]"), ("gives-up", 500, "no data")] {
        let answer = server.post(&format!("/api/render/prompts/{id}"), "").await;
        let body = answer.json();
        assert_eq!(answer.status, status, "{body}");
        let found = body.get("rendered_prompt").or(body.get("detail")).unwrap();
        assert!(found.as_str().unwrap().contains(text), "{body}");
        let warning = &body["warnings"][0];
        assert_eq!(
            (&warning["tool"], &warning["code"]),
            (&json!("ill"), &json!("tool.remote"))
        );
        assert!(
            warning["message"].is_string() && warning["elapsed_ms"].is_u64(),
            "{body}"
        );
    }
}

#[tokio::test]
async fn a_tool_that_hangs_costs_no_more_than_the_render_may_take() {
    let limits = RenderLimits {
        time: Duration::from_millis(300),
        ..RenderLimits::default()
    };
    let server = start_with(Setup {
        limits,
        ..Setup::default()
    })
    .await;
    let answer = server.post("/api/render/prompts/uses.hung", "").await;
    assert_eq!(
        (answer.status, answer.json()["rendered_prompt"].as_str()),
        (200, Some("[gave up]"))
    );
    assert_eq!(answer.json()["warnings"][0]["code"], "tool.timeout");
}

#[tokio::test]
async fn a_render_without_time_is_503() {
    let limits = RenderLimits {
        time: Duration::ZERO,
        ..RenderLimits::default()
    };
    let server = start_with(Setup {
        limits,
        ..Setup::default()
    })
    .await;
    let answer = server.post("/api/render/prompts/busy", "").await;
    assert_eq!(
        (answer.status, answer.json()["error"].as_str()),
        (503, Some("render.timeout")),
        "{}",
        answer.body
    );
}

#[tokio::test]
async fn the_body_can_name_the_prompt_or_hold_the_template() {
    let server = start().await;
    let good = [
        (json!({"prompt_id": "a.b.c"}), json!("dotted")),
        (
            json!({"id": "hello", "variables": {"name": "Ada"}}),
            json!("Hello Ada in go"),
        ),
        (
            json!({"template": "{{.variables.a}} {{codebase_lookup \"x\"}}", "args": {"a": 1}}),
            json!("1 codebase_lookup{\"symbol\":\"x\"}"),
        ),
        (
            json!({"messages": [{"role": "user", "content": "{{.vscode.lang}}"}]}),
            json!([{"role": "user", "content": "go"}]),
        ),
        (
            json!({"template": "[{{.variables.b}}]", "missing": "lenient", "format": "go"}),
            json!("[<no value>]"),
        ),
    ];
    for (body, expected) in good {
        let answer = server.post("/api/render", &body.to_string()).await;
        assert_eq!(
            answer.json()["rendered_prompt"],
            expected,
            "{body} {}",
            answer.body
        );
    }
    let bad = [
        (json!({}), 400, "request.body"),
        (
            json!({"prompt_id": "hello", "template": "x"}),
            400,
            "request.body",
        ),
        (json!({"prompt_id": "helo"}), 404, "not_found"),
        (json!({"template": "{{if"}), 400, "definition.invalid"),
        (
            json!({"template": "{{.variables.a}}"}),
            400,
            "render.missing_variable",
        ),
        (
            json!({"template": "x", "format": "cobol"}),
            400,
            "definition.invalid",
        ),
        (
            json!({"template": "x", "messages": []}),
            400,
            "definition.invalid",
        ),
    ];
    for (body, status, code) in bad {
        let answer = server.post("/api/render", &body.to_string()).await;
        assert_eq!(
            (answer.status, answer.json()["error"].as_str()),
            (status, Some(code)),
            "{body}"
        );
    }
}

#[tokio::test]
async fn templates_in_requests_can_be_switched_off() {
    let mut setup = Setup::default();
    setup.config.inline_templates = Some(false);
    let server = start_with(setup).await;
    let answer = server.post("/api/render", r#"{"template":"x"}"#).await;
    assert_eq!(
        (answer.status, answer.json()["error"].as_str()),
        (403, Some("render.inline_templates"))
    );
    assert_eq!(
        server
            .post("/api/render", r#"{"prompt_id":"a.b.c"}"#)
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn a_store_that_goes_away_is_served_from_cache_and_recovers() {
    let server = start().await;
    let body = r#"{"variables":{"name":"Ada"}}"#;
    let render = async || server.post("/api/render/prompts/hello", body).await.json();
    assert_eq!(render().await.get("stale"), None);
    server.store.set_away(true);
    // Cached values are fresh for five seconds and are then served as stale.
    eventually("stale", async || render().await.get("stale").is_some()).await;
    assert_eq!(render().await["rendered_prompt"], "Hello Ada in go");
    let ready = server.get("/readyz").await;
    assert_eq!(
        (ready.status, ready.json()["status"].as_str()),
        (200, Some("stale"))
    );
    assert!(
        ready.json()["reasons"][0]
            .as_str()
            .unwrap()
            .contains("serving from cache"),
        "{}",
        ready.body
    );
    server.store.set_away(false);
    eventually("fresh again", async || {
        render().await.get("stale").is_none()
    })
    .await;
    eventually("ready again", async || {
        server.get("/readyz").await.json()["status"] == "ready"
    })
    .await;
}

#[tokio::test]
async fn a_store_that_was_never_there_is_503_until_it_comes() {
    let server = start_with(Setup {
        load: false,
        ..Setup::default()
    })
    .await;
    let answer = server.post("/api/render/prompts/hello", "").await;
    assert_eq!(
        (answer.status, answer.json()["error"].as_str()),
        (503, Some("store.unavailable"))
    );
    assert!(answer.header("retry-after").is_some());
    let ready = server.get("/readyz").await;
    assert_eq!(
        (ready.status, ready.json()["status"].as_str()),
        (503, Some("unavailable"))
    );
    assert_eq!(server.get("/healthz").await.status, 200);
    server.store.set_away(false);
    eventually("ready", async || server.get("/readyz").await.status == 200).await;
    assert_eq!(
        server.post("/api/render/prompts/a.b.c", "").await.status,
        200
    );
}
