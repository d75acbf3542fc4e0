//! Writes and removals of definitions over HTTP.

use serde_json::{Value, json};

use super::place::{code, start};

const HELLO: &str = "/api/v1/prompts/greet.hello";

#[tokio::test]
async fn a_definition_is_replaced_changed_removed_and_comes_back() {
    let place = start(&[]).await;
    let put = async |method, path, body| {
        let answer = place.send("", method, path, body).await;
        assert!(answer.status < 300, "{method} {path} {body}: {answer:?}");
        let version = answer.header("quillet-version").map(str::to_owned);
        (answer.status, version.unwrap(), answer.json())
    };
    let new = "/api/prompts/team.new?message=begun";
    let one = r#"{"userPrompt":"One"}"#;
    let (status, version, body) = put("PUT", new, one).await;
    assert_eq!((status, version.as_str()), (201, "1"));
    assert_eq!(
        (
            &body["id"],
            &body["version"],
            &body["author"],
            &body["message"],
            &body["new"]
        ),
        (
            &json!("team.new"),
            &json!(1),
            &json!("anonymous"),
            &json!("begun"),
            &json!(true)
        )
    );
    // The digest is the output of `printf '{"userPrompt":"One"}' | sha256sum`.
    let digest = "sha256:77f3f26e5f2ce51da56b2d2f742d95fd4370f600fd36633cb1f408d26ff06653";
    assert_eq!(body["digest"], digest);
    assert_eq!(body["labels"], json!(["latest"]));
    assert!(body["created"].as_str().unwrap().ends_with('Z'), "{body}");

    // An equivalent definition creates no new version with PUT, but it does with POST.
    let (status, version, body) = put("PUT", new, "{ \"userPrompt\": \"One\" }").await;
    assert_eq!(
        (status, version.as_str(), &body["new"]),
        (200, "1", &json!(false))
    );
    let (status, version, body) = put("POST", new, one).await;
    assert_eq!(
        (status, version.as_str(), &body["new"]),
        (200, "2", &json!(true))
    );

    let patch = r#"{"userPrompt":"Two","title":"T","model":null}"#;
    let (_, version, _) = put("PATCH", new, patch).await;
    assert_eq!(version, "3");
    let shown = place
        .ok("", "GET", "/api/prompts/team.new/versions/3", "")
        .await;
    assert_eq!(
        shown["definition"],
        json!({"userPrompt": "Two", "title": "T"})
    );
    let rendered = place.ok(
        "",
        "POST",
        "/api/render/prompts/team.new?min_revision=latest",
        "{}",
    );
    assert_eq!(rendered.await["rendered_prompt"], "Two");

    let (status, version, body) = put("DELETE", "/api/prompts/team.new?message=gone", "").await;
    assert_eq!(
        (status, version.as_str(), &body["removed"]),
        (200, "4", &json!(true))
    );
    let gone = place.send("", "DELETE", "/api/prompts/team.new", "").await;
    assert_eq!(code(&gone), (404, "not_found".to_owned()));
    let gone = place
        .send("", "GET", "/api/prompts/team.new?min_revision=latest", "")
        .await;
    assert_eq!(gone.status, 404);
    let (status, version, _) = put("PUT", new, one).await;
    assert_eq!((status, version.as_str()), (201, "5"));
    let versions = place
        .ok("", "GET", "/api/prompts/team.new/versions", "")
        .await;
    let numbers = versions["versions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["version"].clone());
    assert_eq!(numbers.collect::<Value>(), json!([5, 4, 3, 2, 1]));
}

#[tokio::test]
async fn every_kind_is_written_in_its_forms() {
    let place = start(&[]).await;
    let yaml = [("content-type", "application/yaml")];
    let json_form = [("content-type", "application/x-www-form-urlencoded")];
    let script = "---\ntitle: T\n---\nuser: Hello\n";
    for (path, body, headers, part) in [
        (
            "/api/prompts/k.a",
            r#"{"userPrompt":"A"}"#,
            &json_form,
            "userPrompt",
        ),
        ("/api/prompts/k.b", script, &yaml, "script"),
        (
            "/api/tools/k.c",
            r#"{"parameters":{"type":"object"}}"#,
            &json_form,
            "parameters",
        ),
        (
            "/api/extensions/k.d",
            r#"{"name":"d","extensionType":"prompt","contributes":{"prompts":[]}}"#,
            &json_form,
            "contributes",
        ),
        ("/api/agents/k.e", r#"{"model":"m"}"#, &json_form, "model"),
        (
            "/api/agents/k.f",
            "model: m\ninstructions: Be kind.\n",
            &yaml,
            "instructions",
        ),
    ] {
        let answer = place.send_with("", "PUT", path, body, headers).await;
        assert_eq!(answer.status, 201, "{path}: {answer:?}");
        let path = format!("{path}?min_revision=latest");
        let shown = place.send("", "GET", &path, "").await;
        assert_eq!(shown.status, 200, "{path}: {shown:?}");
        assert!(shown.body.contains(part), "{path}: {}", shown.body);
        assert!(!shown.body.contains("invalid"), "{path}: {}", shown.body);
    }
    for (path, body, status) in [
        ("/api/prompts/k.a", "", 400),
        ("/api/prompts/k.a", "[1]", 400),
        ("/api/prompts/k.a", "{", 400),
        ("/api/prompts/a..b", "{}", 400),
        ("/api/prompts/%20", "{}", 400),
    ] {
        let answer = place.send("", "PUT", path, body).await;
        assert_eq!(answer.status, status, "{path} {body}: {answer:?}");
    }
    let answer = place
        .send("", "PATCH", "/api/agents/k.f", r#"{"model":"n"}"#)
        .await;
    assert_eq!(code(&answer), (400, "request.body".to_owned()));
    assert_eq!(answer.json()["hint"], "replace it with PUT");
    let answer = place
        .send("", "PATCH", "/api/prompts/greet.helo", "{}")
        .await;
    assert_eq!(code(&answer), (404, "not_found".to_owned()));
    assert!(answer.body.contains("greet.hello"), "{}", answer.body);
}

#[tokio::test]
async fn a_broken_definition_is_not_written_unless_that_is_meant() {
    let place = start(&[]).await;
    let broken = r#"{"userPrompt":"line one\n{{if .variables.x}}"}"#;
    for (method, path) in [("PUT", HELLO), ("POST", HELLO), ("PATCH", HELLO)] {
        let answer = place.send("", method, path, broken).await;
        assert_eq!(
            code(&answer),
            (422, "history.broken".to_owned()),
            "{method}"
        );
        let error = answer.json();
        assert_eq!(
            (
                &error["line"],
                error["diagnostics"].as_array().unwrap().len()
            ),
            (&json!(2), 1)
        );
    }
    let versions = place
        .ok("", "GET", "/api/v1/prompts/greet.hello/versions", "")
        .await;
    assert_eq!(versions["versions"].as_array().unwrap().len(), 1);
    let path = format!("{HELLO}?broken=allow");
    let written = place.ok("", "PUT", &path, broken).await;
    assert_eq!(
        (&written["version"], &written["new"]),
        (&json!(2), &json!(true))
    );
    assert_eq!(written["diagnostics"][0]["severity"], "error");
    let shown = place
        .ok(
            "",
            "GET",
            "/api/prompts/greet.hello?min_revision=latest",
            "",
        )
        .await;
    assert_eq!(shown["status"], "invalid");
}
