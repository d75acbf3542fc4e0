//! Lists, details and comparisons of versions.

use serde_json::{Value, json};

use super::place::{Place, code, start};

/// Starts a server with three versions of a prompt and a label.
async fn with_three() -> Place {
    let place = start(&[]).await;
    for (text, label) in [("Two", "?label=next"), ("Three\nlines", "")] {
        let path = format!("/api/v1/prompts/greet.hello{label}");
        let body = json!({"userPrompt": text}).to_string();
        place.ok("", "PUT", &path, &body).await;
    }
    place
}

#[tokio::test]
async fn a_version_is_shown_by_every_mark() {
    let place = with_three().await;
    let second = place
        .ok("", "GET", "/api/prompts/greet.hello/versions/2", "")
        .await;
    let digest = second["digest"].as_str().unwrap().to_owned();
    assert_eq!(
        (&second["author"], &second["parent"]),
        (&json!("anonymous"), &json!(1))
    );
    assert_eq!(second["labels"], json!(["next"]));
    for (mark, expected) in [
        ("1", r#""Hello {{.variables.name}}""#),
        ("2", r#""Two""#),
        ("next", r#""Two""#),
        (digest.as_str(), r#""Two""#),
        (&digest[..15], r#""Two""#),
        ("latest", r#""Three\nlines""#),
    ] {
        let path = format!("/api/prompts/greet.hello/versions/{mark}");
        let answer = place.send("", "GET", &path, "").await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(
            answer.json()["definition"]["userPrompt"].to_string(),
            expected,
            "{mark}"
        );
        assert!(answer.header("quillet-version").is_some());
        let path = format!("/api/v1/prompts/greet.hello@{mark}");
        let shown = place.ok("", "GET", &path, "").await;
        assert_eq!(
            shown["prompt"]["userPrompt"].to_string(),
            expected,
            "{mark}"
        );
        assert_eq!(
            (&shown["status"], &shown["kind"]),
            (&json!("valid"), &json!("template"))
        );
    }
    // Definitions of other kinds, each in its own format.
    for (path, member) in [
        ("/api/tools/greet.look@1", "parameters"),
        ("/api/extensions/greet.ext@latest", "contributes"),
        ("/api/agents/greet.helper@latest", "agent"),
    ] {
        place
            .ok("", "GET", &path.replace('@', "/versions/"), "")
            .await;
        let shown = place.ok("", "GET", path, "").await;
        assert!(shown.get(member).is_some(), "{path}: {shown}");
    }
}

#[tokio::test]
async fn what_is_not_there_is_named_with_what_is() {
    let place = with_three().await;
    for (path, status, error, part) in [
        (
            "prompts/greet.hello/versions/9",
            404,
            "history.version",
            "the newest is 3",
        ),
        (
            "prompts/greet.hello/versions/nxt",
            404,
            "history.label",
            "did you mean",
        ),
        (
            "prompts/greet.hello/versions/sha256:00000000",
            404,
            "history.version",
            "sha256:",
        ),
        (
            "prompts/greet.hello/versions/0",
            400,
            "history.mark",
            "numbered from 1",
        ),
        (
            "prompts/greet.hello@a%20b",
            400,
            "history.mark",
            "invalid character",
        ),
        (
            "prompts/greet.hello@9",
            404,
            "history.version",
            "the newest is 3",
        ),
        (
            "prompts/greet.hello@nxt",
            404,
            "history.label",
            "it has next",
        ),
        (
            "prompts/greet.helo/versions",
            404,
            "not_found",
            "greet.hello",
        ),
        ("prompts/greet.helo@1", 404, "not_found", "greet.hello"),
        ("tools/greet.lok/versions/1", 404, "not_found", "greet.look"),
        ("agents/greet.halper", 404, "not_found", "greet.helper"),
        (
            "prompts/greet.hello/diff?from=9",
            404,
            "history.version",
            "the newest is 3",
        ),
        (
            "prompts/greet.hello/versions?limit=0",
            422,
            "request.query",
            "expected 1 to 1000",
        ),
    ] {
        let answer = place.send("", "GET", &format!("/api/v1/{path}"), "").await;
        assert_eq!(
            code(&answer),
            (status, error.to_owned()),
            "{path}: {answer:?}"
        );
        assert!(answer.body.contains(part), "{path}: {}", answer.body);
    }
}

#[tokio::test]
async fn versions_come_in_pages() {
    let place = with_three().await;
    let mut path = "/api/prompts/greet.hello/versions?limit=2".to_owned();
    let page = place.ok("", "GET", &path, "").await;
    let numbers = |page: &Value| -> Vec<u64> {
        let versions = page["versions"].as_array().unwrap().iter();
        versions
            .map(|one| one["version"].as_u64().unwrap())
            .collect()
    };
    assert_eq!((numbers(&page), &page["next"]), (vec![3, 2], &json!(2)));
    assert_eq!(page["versions"][0]["labels"], json!(["latest"]));
    path.push_str("&before=2");
    let page = place.ok("", "GET", &path, "").await;
    assert_eq!((numbers(&page), page.get("next")), (vec![1], None));
    assert_eq!(page["versions"][0]["author"], "store");
}

#[tokio::test]
async fn differences_are_in_lines() {
    let place = with_three().await;
    for (query, from, to) in [
        ("", "2", "latest"),
        ("?from=2&to=3", "2", "3"),
        ("?from=next", "next", "latest"),
    ] {
        let path = format!("/api/prompts/greet.hello/diff{query}");
        let answer = place.send("", "GET", &path, "").await;
        assert_eq!(
            answer.header("content-type"),
            Some("text/plain; charset=utf-8")
        );
        let expected = format!(
            "--- greet.hello@{from}\n+++ greet.hello@{to}\n@@ -1 +1,3 @@\n-userPrompt: \"Two\"\n\
             +userPrompt: |-\n+  Three\n+  lines\n"
        );
        assert_eq!(answer.body, expected, "{query}");
    }
    let same = place
        .send(
            "",
            "GET",
            "/api/prompts/greet.hello/diff?from=2&to=next",
            "",
        )
        .await;
    assert_eq!((same.status, same.body.as_str()), (200, ""));
}
