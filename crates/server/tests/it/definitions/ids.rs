//! Ids with special characters.

use serde_json::json;

use super::place::start;

#[tokio::test]
async fn odd_ids_pass_unharmed() {
    let place = start(&[("all", &["read", "render", "write", "admin"])]).await;
    // Each case has the id as written in a path, and the decoded id.
    for (written, id) in [
        ("team%2Fgreet", "team/greet"),
        ("team%252Fgreet", "team%2Fgreet"),
        ("ann%40example", "ann@example"),
        ("ann@example.b", "ann@example.b"),
        ("%E9%97%AE%E5%80%99.%E4%BD%A0%E5%A5%BD", "问候.你好"),
        ("a%3Fb%23c", "a?b#c"),
    ] {
        let path = |rest: &str| format!("/api/v1/prompts/{written}{rest}");
        let body = json!({"userPrompt": id}).to_string();
        let put = place.ok("all", "PUT", &path(""), &body).await;
        assert_eq!((&put["id"], &put["version"]), (&json!(id), &json!(1)));
        let shown = place
            .ok("all", "GET", &path("?min_revision=latest"), "")
            .await;
        assert_eq!(shown["prompt"]["userPrompt"], id, "{id}");
        let rendered = format!("/api/render/prompts/{written}");
        let rendered = place.ok("all", "POST", &rendered, "{}").await;
        assert_eq!(rendered["rendered_prompt"], id, "{id}");
        for rest in ["@1", "@latest", "/versions/1"] {
            let answer = place.send("all", "GET", &path(rest), "").await;
            assert_eq!(answer.status, 200, "{id}{rest}: {answer:?}");
        }
        place
            .ok("all", "PUT", &path("/labels/next"), r#"{"version":1}"#)
            .await;
        let listed = place.ok("all", "GET", "/api/prompts", "").await;
        assert!(
            listed.as_array().unwrap().contains(&json!(id)),
            "{id}: {listed}"
        );
        let lines = place.log("all", "?who=all&limit=2").await;
        assert!(lines.iter().all(|line| line["id"] == id), "{lines:?}");
    }
}
