//! Moves of labels, including protected ones.

use serde_json::json;

use super::place::{code, start};

const LABELS: &str = "/api/v1/prompts/greet.hello/labels";

#[tokio::test]
async fn labels_are_moved_split_taken_away_and_put_back() {
    let place = start(&[]).await;
    for text in ["Two", "Three"] {
        let body = json!({"userPrompt": text}).to_string();
        place
            .ok("", "PUT", "/api/v1/prompts/greet.hello", &body)
            .await;
    }
    let label = |name: &str| format!("{LABELS}/{name}");
    let split = json!({"versions": {"2": 90, "3": 10}, "by": "user"});
    for (body, expected) in [
        (json!({"version": 2}), json!(2)),
        (json!({"version": "latest", "message": "up"}), json!(3)),
        (json!({"version": "1", "expect": 3}), json!(1)),
        (split.clone(), split.clone()),
        (json!({"version": 2, "expect": split}), json!(2)),
    ] {
        let moved = place.ok("", "PUT", &label("next"), &body.to_string()).await;
        assert_eq!(moved["labels"]["next"], expected, "{body}");
        assert_eq!(
            (&moved["id"], &moved["latest"]),
            (&json!("greet.hello"), &json!(3))
        );
    }
    for (name, body, status, error) in [
        ("next", json!({"version": 9}), 404, "history.version"),
        ("next", json!({"version": "nxt"}), 404, "history.label"),
        (
            "next",
            json!({"version": 3, "expect": 1}),
            412,
            "history.conflict",
        ),
        (
            "next",
            json!({"version": 3, "expect": null}),
            412,
            "history.conflict",
        ),
        ("next", json!({"versions": {"2": 0}}), 400, "history.mark"),
        (
            "next",
            json!({"versions": {"2": 1, "9": 1}}),
            404,
            "history.version",
        ),
        ("next", json!({"versions": {"x": 1}}), 400, "request.body"),
        (
            "next",
            json!({"version": 2, "by": "user"}),
            400,
            "request.body",
        ),
        ("next", json!({}), 400, "request.body"),
        ("next", json!({"verion": 2}), 400, "request.body"),
    ] {
        let answer = place.send("", "PUT", &label(name), &body.to_string()).await;
        let expected = (status, error.to_owned());
        assert_eq!(code(&answer), expected, "{name} {body}: {answer:?}");
    }
    for name in ["latest", "7", "a%20b"] {
        let body = json!({"version": 2}).to_string();
        let answer = place.send("", "PUT", &label(name), &body).await;
        assert_eq!(code(&answer), (400, "history.mark".to_owned()), "{name}");
    }
    // A rollback returns the label to its previous version.
    let back = place.ok("", "POST", &label("next/rollback"), "").await;
    assert_eq!(back["labels"]["next"], 1);
    let listed = place.ok("", "GET", LABELS, "").await;
    assert_eq!(
        listed,
        json!({"id": "greet.hello", "latest": 3, "labels": {"next": 1}})
    );
    let gone = place.ok("", "DELETE", &label("next"), "").await;
    assert_eq!(gone["labels"], json!({}));
    for (method, path) in [("DELETE", label("next")), ("POST", label("next/rollback"))] {
        let answer = place.send("", method, &path, "").await;
        assert_eq!(
            code(&answer),
            (404, "history.label".to_owned()),
            "{method} {path}"
        );
    }
    let lines = place.log("", "?id=greet.hello").await;
    let moved = lines.iter().filter(|line| line["action"] == "label");
    let moved: Vec<_> = moved.map(|line| line["version"].clone()).collect();
    assert_eq!(
        moved,
        [
            json!(null),
            json!(1),
            json!(2),
            json!(null),
            json!(1),
            json!(3),
            json!(2)
        ]
    );
}

#[tokio::test]
async fn a_protected_label_is_refused_at_every_door_that_writes() {
    let tokens = [
        ("writer", &["read", "write"] as &[&str]),
        ("boss", &["read", "write", "promote"]),
    ];
    let place = start(&tokens).await;
    let hello = "/api/v1/prompts/greet.hello";
    let one = r#"{"userPrompt":"One"}"#;
    let production = format!("{LABELS}/production");
    place
        .ok("boss", "PUT", &format!("{hello}?label=production"), one)
        .await;
    place
        .ok("boss", "PUT", hello, r#"{"userPrompt":"Two"}"#)
        .await;
    place
        .ok("boss", "PUT", &production, r#"{"version":3}"#)
        .await;
    let labelled = format!("{hello}?label=next,production");
    let rollback = format!("{production}/rollback");
    let doors = [
        ("PUT", labelled.as_str(), one),
        ("POST", &labelled, one),
        ("PATCH", &labelled, one),
        ("PUT", &production, r#"{"version":1}"#),
        ("PUT", &production, r#"{"versions":{"1":1}}"#),
        ("DELETE", &production, ""),
        ("POST", &rollback, ""),
        ("DELETE", hello, ""),
    ];
    for (method, path, body) in doors {
        let answer = place.send("writer", method, path, body).await;
        assert_eq!(
            code(&answer),
            (403, "history.protected".to_owned()),
            "{method} {path} {body}"
        );
        let said = answer.json()["detail"].as_str().unwrap().to_owned();
        assert!(
            said.contains("writer") && said.contains("greet.hello"),
            "{said}"
        );
        let now = place.ok("writer", "GET", LABELS, "").await;
        assert_eq!(
            (&now["labels"], &now["latest"]),
            (&json!({"production": 3}), &json!(3))
        );
    }
    // A writer may move unprotected labels, and `boss` may move all labels.
    place
        .ok(
            "writer",
            "PUT",
            &format!("{LABELS}/next"),
            r#"{"version":1}"#,
        )
        .await;
    for (method, path, body) in doors {
        let answer = place.send("boss", method, path, body).await;
        assert_eq!(answer.status, 200, "{method} {path} {body}: {answer:?}");
        if method == "DELETE" && path == production {
            place
                .ok("boss", "PUT", &production, r#"{"version":3}"#)
                .await;
        }
    }
}
