//! Concurrent writers.

use serde_json::json;

use super::place::{code, start};

const HELLO: &str = "/api/v1/prompts/greet.hello";

#[tokio::test]
async fn a_write_is_bound_to_what_is_there_in_every_form() {
    let place = start(&[]).await;
    let one = r#"{"userPrompt":"One"}"#;
    let written = place.send("", "PUT", HELLO, one).await;
    let digest = written.json()["digest"].as_str().unwrap().to_owned();
    let revision = written.header("quillet-revision").unwrap().to_owned();
    let path = format!("{HELLO}?min_revision={revision}");
    let shown = place.send("", "GET", &path, "").await;
    assert_eq!(shown.header("quillet-revision"), Some(revision.as_str()));
    let tag = shown.header("etag").unwrap().to_owned();
    assert_ne!(tag, format!("\"{revision}\""));
    let number = written.header("quillet-version").unwrap();
    let quoted = |text: &str| format!("\"{text}\"");
    let short = digest[..20].to_owned();
    for (header, value, fits) in [
        ("if-match", quoted(number), true),
        ("if-match", number.to_owned(), true),
        ("if-match", quoted(&digest), true),
        ("if-match", quoted(&short), true),
        ("if-match", quoted(&revision), true),
        ("if-match", tag.clone(), true),
        ("if-match", format!("W/{tag}"), true),
        ("if-match", "*".to_owned(), true),
        ("if-match", format!("\"1\", {tag}"), true),
        ("if-match", quoted("1"), false),
        ("if-match", quoted("99"), false),
        ("if-match", quoted("sha256:00000000"), false),
        ("if-match", quoted(&"0".repeat(32)), false),
        ("if-match", "\"1\", \"98\"".to_owned(), false),
        ("if-none-match", "*".to_owned(), false),
    ] {
        let headers = [(header, value.as_str())];
        // The definition is unchanged, so a write with a matching precondition has no effect.
        for (method, body) in [("PUT", one), ("PATCH", "{}")] {
            let answer = place.send_with("", method, HELLO, body, &headers).await;
            let expected = if fits { 200 } else { 412 };
            assert_eq!(
                answer.status, expected,
                "{header}: {value} {method} {body}: {answer:?}"
            );
            if !fits {
                assert_eq!(code(&answer).1, "history.conflict");
            }
        }
    }
    for value in ["production", "\"\"", "x"] {
        let headers = [("if-match", value)];
        let answer = place.send_with("", "PUT", HELLO, one, &headers).await;
        assert_eq!(code(&answer), (400, "history.mark".to_owned()), "{value}");
    }
    for (path, header, status) in [
        ("/api/prompts/team.a", ("if-match", "\"1\""), 412),
        ("/api/prompts/team.a", ("if-match", "*"), 412),
        ("/api/prompts/team.a", ("if-none-match", "*"), 201),
        ("/api/prompts/team.a", ("if-none-match", "*"), 412),
        ("/api/prompts/team.a", ("if-none-match", "\"1\""), 400),
    ] {
        let answer = place.send_with("", "PUT", path, one, &[header]).await;
        assert_eq!(answer.status, status, "{header:?}: {answer:?}");
    }
    // Preconditions also apply to a removal.
    let removed = place
        .send_with("", "DELETE", HELLO, "", &[("if-match", "\"1\"")])
        .await;
    assert_eq!(removed.status, 412);
    let removed = place
        .send_with("", "DELETE", HELLO, "", &[("if-match", &tag)])
        .await;
    assert_eq!(removed.status, 200);
}

#[tokio::test]
async fn of_two_writers_at_once_exactly_one_wins() {
    let place = start(&[]).await;
    let mut number = 1;
    for round in 0..20 {
        let body = |side: &str| json!({"userPrompt": format!("{side} {round}")}).to_string();
        let expected = format!("\"{number}\"");
        let headers = [("if-match", expected.as_str())];
        let (left, right) = (body("left"), body("right"));
        if round == 0 {
            // The first read records the existing definition as version 1.
            place
                .ok("", "GET", "/api/v1/prompts/greet.hello/versions", "")
                .await;
        }
        let (one, other) = tokio::join!(
            place.send_with("", "PUT", HELLO, &left, &headers),
            place.send_with("", "PUT", HELLO, &right, &headers),
        );
        let mut statuses = [one.status, other.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 412], "{one:?} {other:?}");
        number += 1;
        let won = if one.status == 200 { left } else { right };
        let path = format!("{HELLO}/versions/{number}");
        let kept = place.ok("", "GET", &path, "").await;
        assert_eq!(kept["definition"].to_string(), won);
    }
}

#[tokio::test]
async fn changes_of_different_members_at_once_are_all_kept() {
    let place = start(&[]).await;
    let patch = async |name: &'static str| {
        let body = json!({"metadata": {name: true}}).to_string();
        let path = format!("{HELLO}?message={name}");
        place.send("", "PATCH", &path, &body).await.status
    };
    let done = tokio::join!(patch("a"), patch("b"), patch("c"));
    assert_eq!(done, (200, 200, 200));
    let shown = place
        .ok("", "GET", "/api/prompts/greet.hello/versions/latest", "")
        .await;
    let kept = &shown["definition"]["metadata"];
    assert_eq!(
        (&kept["a"], &kept["b"], &kept["c"]),
        (&json!(true), &json!(true), &json!(true))
    );
}
