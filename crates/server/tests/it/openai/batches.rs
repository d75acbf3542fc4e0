//! Cases of files and batches that the SDKs cannot produce.

use std::time::Duration;

use quillet_core::batch::BatchOptions;
use quillet_fake_provider::{ProviderApi, ReplyScript};
use quillet_host::definitions::{Grant, PermissionSet};
use quillet_server::{NamedToken, ServerConfig};
use serde_json::json;

use super::door::{open, open_limited, open_with};
use crate::client;

const FORM: &str = "multipart/form-data; boundary=b";

fn form(parts: &[(&str, &str)]) -> String {
    let part = |(name, text): &(&str, &str)| {
        let file = if *name == "file" {
            "; filename=\"r.jsonl\""
        } else {
            ""
        };
        format!("--b\r\ncontent-disposition: form-data; name=\"{name}\"{file}\r\n\r\n{text}\r\n")
    };
    parts.iter().map(part).collect::<String>() + "--b--\r\n"
}

#[tokio::test]
async fn uploads_say_what_is_wrong() {
    let door = open_limited(BatchOptions {
        file_bytes: 60,
        line_bytes: 20,
        ..BatchOptions::default()
    })
    .await;
    let fine = form(&[("file", "{}\n"), ("purpose", "batch")]);
    let long = "x".repeat(30);
    let large = "{}\n".repeat(30);
    let cases = [
        (
            "application/json",
            "{}".to_owned(),
            400,
            "multipart/form-data",
        ),
        (FORM, "--b\r\nnonsense".to_owned(), 400, "invalid form"),
        (
            FORM,
            form(&[("purpose", "batch")]),
            400,
            "file: missing from the form",
        ),
        (
            FORM,
            form(&[("file", "{}")]),
            400,
            "purpose: missing from the form",
        ),
        (
            FORM,
            form(&[("purpose", "vision"), ("file", "{}")]),
            400,
            "expected \\\"batch\\\"",
        ),
        (
            FORM,
            form(&[("purpose", "batch"), ("file", &format!("{{}}\n{long}"))]),
            413,
            "line 2 is longer than the limit of 20 bytes (batch.line_bytes)",
        ),
        (
            FORM,
            form(&[("purpose", "batch"), ("file", &large)]),
            413,
            "60 bytes (batch.file_bytes)",
        ),
        (
            FORM,
            form(&[
                ("purpose", "batch"),
                ("file", "{}"),
                ("expires_after[seconds]", "9"),
            ]),
            400,
            "3600",
        ),
        (
            FORM,
            form(&[("file", "{}"), ("file", "{}"), ("purpose", "batch")]),
            400,
            "only one file is allowed",
        ),
        (FORM, fine, 200, "\"filename\":\"r.jsonl\""),
    ];
    for (kind, body, status, words) in cases {
        let answer = client::request(
            door.address,
            "POST",
            "/v1/files",
            &[("content-type", kind)],
            &body,
        )
        .await;
        assert_eq!(answer.status, status, "{body}: {}", answer.body);
        assert!(answer.body.contains(words), "{words}: {}", answer.body);
    }
    let kept = door.get("/v1/files").await;
    assert_eq!(
        kept.body.matches("\"object\":\"file\"").count(),
        1,
        "{}",
        kept.body
    );
}

#[tokio::test]
async fn ids_that_are_none_are_not_looked_for() {
    let door = open().await;
    let long = "x".repeat(129);
    for id in ["a%00b", "%7Bx%7D", long.as_str(), "..%2Fx"] {
        for path in ["/v1/files/", "/v1/batches/"] {
            let answer = door.get(&format!("{path}{id}")).await;
            assert_eq!(answer.status, 404, "{path}{id}: {}", answer.body);
            assert!(answer.body.contains("_not_found\""), "{}", answer.body);
        }
    }
    for path in ["/v1/files?limit=0", "/v1/batches?limit=101"] {
        let answer = door.get(path).await;
        assert_eq!(answer.status, 400, "{}", answer.body);
        assert!(
            answer.body.contains("limit: must be 1 to 10"),
            "{}",
            answer.body
        );
    }
}

/// Rows have exactly the permissions of the token that created their batch.
#[tokio::test]
async fn rows_have_the_rights_of_their_key() {
    let grant = Grant::parse("render review").unwrap();
    let config = ServerConfig {
        named_tokens: vec![NamedToken {
            name: "reviewer".into(),
            secret: "right".into(),
            rights: PermissionSet::of(vec![grant]),
        }],
        ..ServerConfig::default()
    };
    let door = open_with(ReplyScript::default(), ProviderApi::OpenAiChat, config).await;
    let row = |model: &str| {
        let body = json!({"model": model, "variables": {"repo": "q"}, "messages": []});
        let row = json!({"custom_id": model, "method": "POST", "url": "/v1/chat/completions", "body": body});
        format!("{row}\n")
    };
    let rows = row("prompt/review") + &row("prompt/placed") + &row("agent/plain");
    let bearer = ("authorization", "Bearer right");
    let body = form(&[("purpose", "batch"), ("file", &rows)]);
    let heads = [bearer, ("content-type", FORM)];
    let file = client::request(door.address, "POST", "/v1/files", &heads, &body).await;
    let file = file.json()["id"].as_str().unwrap().to_owned();
    let asked = json!({"input_file_id": file, "endpoint": "/v1/chat/completions", "completion_window": "1h"});
    let asked = asked.to_string();
    let begun = client::request(door.address, "POST", "/v1/batches", &[bearer], &asked).await;
    let path = format!("/v1/batches/{}", begun.json()["id"].as_str().unwrap());
    let batch = loop {
        let batch = client::request(door.address, "GET", &path, &[bearer], "")
            .await
            .json();
        if batch["status"] == "completed" {
            break batch;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(
        batch["request_counts"],
        json!({"total": 3, "completed": 1, "failed": 2}),
        "{batch}"
    );
    let path = format!(
        "/v1/files/{}/content",
        batch["error_file_id"].as_str().unwrap()
    );
    let failed = client::request(door.address, "GET", &path, &[bearer], "").await;
    assert_eq!(
        failed.body.matches("\"status_code\":403").count(),
        2,
        "{}",
        failed.body
    );
}
