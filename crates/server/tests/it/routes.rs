//! Every route at each of its paths.

use quillet_core::store::{EntryKey, Store};
use serde_json::json;

use crate::test_server::{ENTRIES, Setup, start, start_with};

#[tokio::test]
async fn what_is_known_is_listed_and_shown_at_both_addresses() {
    let server = start().await;
    let cases = [
        ("/extensions", json!(["zgsm.evaluator"])),
        (
            "/tools",
            json!(["codebase.lookup", "hung", "ill", "my-mod.x", "torn"]),
        ),
        (
            "/environs",
            json!([
                "codebase.lines",
                "model.gpt-4.1",
                "vscode.frameworks",
                "vscode.lang"
            ]),
        ),
        ("/environs/vscode.lang", json!("go")),
        (
            "/environs/vscode",
            json!({"frameworks": ["gin", "gorm"], "lang": "go"}),
        ),
        ("/environs/codebase.lines", json!(1_234_567)),
        ("/environs/model.gpt-4.1", json!(true)),
        ("/tools/my-mod.x", json!({})),
        ("/tools/torn", json!("{")),
        (
            "/prompts/hello",
            json!({
                "origin": "direct",
                "prompt": {"userPrompt": "Hello {{.variables.name}} in {{.vscode.lang}}"},
                "kind": "template", "parameters": {"type": "object", "properties": {"name": {}}},
                "status": "valid", "source": "hello", "diagnostics": [],
            }),
        ),
    ];
    for base in ["/api", "/api/v1"] {
        for (path, expected) in &cases {
            let answer = server.get(&format!("{base}{path}")).await;
            assert_eq!(
                (answer.status, answer.json()),
                (200, expected.clone()),
                "{base}{path}"
            );
            assert_eq!(answer.header("content-type"), Some("application/json"));
        }
    }
    let prompts = server.get("/api/prompts").await.json();
    let prompts: Vec<&str> = prompts
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|id| id.as_str())
        .collect();
    assert!(
        prompts.is_sorted() && prompts.contains(&"a.b.c") && prompts.contains(&"evaluator.quality"),
        "{prompts:?}"
    );
}

#[tokio::test]
async fn an_empty_store_lists_nothing_and_not_null() {
    let server = start().await;
    for (kind, key, _) in ENTRIES {
        server
            .store
            .remove(*kind, &EntryKey::new(*key))
            .await
            .unwrap();
    }
    for kind in ["extensions", "prompts", "tools"] {
        let path = format!("/api/{kind}?min_revision=latest");
        assert_eq!(server.get(&path).await.json(), json!([]), "{kind}");
    }
}

#[tokio::test]
async fn lists_are_searched_by_words_of_ids_and_texts() {
    let server = start().await;
    for (words, id, found) in [
        ("HELLO", "hello", true),
        ("a.b+dotted", "a.b.c", true),
        ("uses+symbol", "uses.lookup", true),
        ("hello+nobody", "hello", false),
        ("hello", "a.b.c", false),
    ] {
        let path = format!("/api/prompts?q={words}");
        let ids = server.get(&path).await.json();
        let ids = ids.as_array().unwrap();
        assert_eq!(ids.contains(&json!(id)), found, "{words}: {ids:?}");
    }
}

#[tokio::test]
async fn details_tell_what_is_wrong_and_where_a_prompt_comes_from() {
    let server = start().await;
    for value in ["true", "1", ""] {
        let list = server
            .get(&format!("/api/prompts?detail={value}"))
            .await
            .json();
        let find = |id: &str| {
            list.as_array()
                .unwrap()
                .iter()
                .find(|item| item["id"] == id)
                .unwrap()
                .clone()
        };
        assert_eq!(find("hello")["status"], "valid");
        let torn = find("torn");
        assert_eq!(torn["status"], "invalid");
        assert_eq!(torn["diagnostics"][0]["line"], 2, "{torn}");
    }
    let tools = server.get("/api/tools?detail=true").await.json();
    assert_eq!(tools[4]["status"], "invalid", "{tools}");

    let quality = server.get("/api/prompts/evaluator.quality").await.json();
    assert_eq!(
        (&quality["origin"], &quality["status"]),
        (&json!("extension"), &json!("valid"))
    );
    assert_eq!(quality["prompt"]["name"], "quality");
    let torn = server.get("/api/prompts/evaluator.torn").await.json();
    assert_eq!(
        (&torn["origin"], &torn["status"]),
        (&json!("extension"), &json!("invalid"))
    );
    assert_eq!(
        torn["prompt"],
        json!({"name": "torn", "userPrompt": "{{if"})
    );
    let both = server.get("/api/prompts/both").await.json();
    assert_eq!(
        (&both["origin"], &both["status"]),
        (&json!("direct"), &json!("invalid"))
    );
}

#[tokio::test]
async fn what_does_not_exist_is_404_with_the_nearest_name() {
    let server = start().await;
    let cases = [
        ("/api/prompts/helo", Some("did you mean hello?")),
        (
            "/api/prompts/evaluator.qualty",
            Some("did you mean evaluator.quality?"),
        ),
        (
            "/api/extensions/zgsm.evalator",
            Some("did you mean zgsm.evaluator?"),
        ),
        (
            "/api/tools/codebase.lokup",
            Some("did you mean codebase.lookup?"),
        ),
        (
            "/api/environs/vscode.lan",
            Some("did you mean vscode.lang?"),
        ),
        ("/api/environs/nothing.like.it", None),
        ("/api/prompts/..%2F..%2Fetc%2Fpasswd", None),
        ("/api/prompts/shenma:*", None),
        ("/api/nowhere", Some("GET /openapi.json lists the routes")),
        ("/nothing", Some("GET /openapi.json lists the routes")),
    ];
    for (path, hint) in cases {
        let answer = server.get(path).await;
        let body = answer.json();
        assert_eq!(
            (answer.status, body["hint"].as_str()),
            (404, hint),
            "{path}: {body}"
        );
        assert_eq!(
            answer.header("content-type"),
            Some("application/problem+json")
        );
        assert_eq!(
            (&body["code"], &body["success"], &body["status"]),
            (&json!("404"), &json!(false), &json!(404))
        );
        assert_eq!(
            (&body["title"], &body["detail"]),
            (&json!("Not Found"), &body["message"])
        );
        assert_eq!(body["request_id"].as_str(), answer.header("x-request-id"));
    }
}

#[tokio::test]
async fn other_methods_are_405_and_name_those_that_are_taken() {
    let server = start().await;
    let answer = server.get("/api/render/prompts/hello").await;
    assert_eq!((answer.status, answer.header("allow")), (405, Some("POST")));
    assert_eq!(answer.json()["error"], "route.method");
    assert_eq!(server.post("/api/prompts", "").await.status, 405);
}

#[tokio::test]
async fn a_prefix_stands_before_every_route_except_the_probes() {
    let mut setup = Setup::default();
    setup.config.prefix = "/ai-prompt-shell".into();
    let server = start_with(setup).await;
    let body = r#"{"args":{"name":"Ada"}}"#;
    let answer = server
        .post("/ai-prompt-shell/api/v1/prompts/hello/render", body)
        .await;
    assert_eq!(
        answer.json(),
        json!({"kind": "prompt", "prompt": "Hello Ada in go"})
    );
    assert_eq!(
        server
            .post("/ai-prompt-shell/api/render/prompts/hello", body)
            .await
            .status,
        200
    );
    assert_eq!(
        server.post("/api/render/prompts/hello", body).await.status,
        404
    );
    for path in [
        "/healthz",
        "/readyz",
        "/metrics",
        "/ai-prompt-shell/openapi.json",
        "/ai-prompt-shell/docs",
    ] {
        assert_eq!(server.get(path).await.status, 200, "{path}");
    }
    // The files of the page have relative paths.
    let answer = server.get("/ai-prompt-shell").await;
    assert_eq!(
        (answer.status, answer.header("location")),
        (308, Some("/ai-prompt-shell/"))
    );
}

#[tokio::test]
async fn request_ids_come_back_and_hostile_ones_are_replaced() {
    let server = start().await;
    let send = async |id: &str| {
        let answer = crate::client::request(
            server.address,
            "GET",
            "/api/tools",
            &[("x-request-id", id)],
            "",
        )
        .await;
        answer.header("x-request-id").unwrap().to_owned()
    };
    assert_eq!(send("trace-1").await, "trace-1");
    let long = "x".repeat(500);
    for hostile in ["a b", "\"x\"", &long] {
        let got = send(hostile).await;
        assert!(got != *hostile && got.len() < 60, "{got}");
    }
}
