//! Health, readiness and metrics.

use serde_json::json;

use crate::test_server::start;

#[tokio::test]
async fn readiness_names_store_and_model_and_counts_what_is_broken() {
    let server = start().await;
    let ready = server.get("/readyz").await;
    let body = ready.json();
    assert_eq!((ready.status, &body["status"]), (200, &json!("ready")));
    assert_eq!(body["store"], "test store");
    assert_eq!(body["model"], "scripted model of a test");
    // The invalid definitions are the prompts `torn`, `both` and `evaluator.torn`, and the tool
    // `torn`.
    assert_eq!(body["invalid"], 4, "{body}");
    assert_eq!(server.get("/healthz").await.json()["status"], "ok");
}

#[tokio::test]
async fn every_request_is_counted_under_its_route_and_status() {
    let server = start().await;
    server.post("/api/render/prompts/a.b.c", "").await;
    server.post("/api/render/prompts/helo", "").await;
    server.get("/api/v1/prompts/hello").await;
    server.get("/no/such/route").await;
    let answer = server.get("/metrics").await;
    assert_eq!(
        answer.header("content-type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    for line in [
        r#"quillet_http_requests_total{method="POST",route="/api/render/prompts/{id}",status="200"} 1"#,
        r#"quillet_http_requests_total{method="POST",route="/api/render/prompts/{id}",status="404"} 1"#,
        r#"quillet_http_requests_total{method="GET",route="/api/v1/prompts/{id}",status="200"} 1"#,
        r#"quillet_http_requests_total{method="",route="",status="404"} 1"#,
        r#"quillet_http_request_seconds_count{method="POST",route="/api/render/prompts/{id}"} 2"#,
        "quillet_render_seconds_count 1",
        r#"quillet_errors_total{code="not_found"} 1"#,
        "quillet_store_ready 1",
    ] {
        assert!(
            answer.body.lines().any(|found| found == line),
            "{line} is not in\n{}",
            answer.body
        );
    }
    assert!(!answer.body.contains("/no/such/route"));
}

#[tokio::test]
async fn the_second_render_is_served_from_the_caches() {
    let server = start().await;
    for _ in 0..2 {
        let body = r#"{"variables":{"name":"Ada"}}"#;
        let answer = server.post("/api/render/prompts/hello", body).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
    let metrics = server.get("/metrics").await.body;
    for line in [
        r#"quillet_template_cache_total{result="hit"} 2"#,
        "quillet_variable_round_trips_total 1",
        "quillet_variable_cache_hits_total 1",
        r#"quillet_tool_calls_total{outcome="failed"} 0"#,
        "quillet_model_retries_total 0",
    ] {
        assert!(
            metrics.lines().any(|found| found == line),
            "{line} is not in\n{metrics}"
        );
    }
}

#[tokio::test]
async fn a_store_that_goes_away_is_seen_in_the_metrics() {
    let server = start().await;
    server.store.set_away(true);
    assert!(
        server
            .get("/metrics")
            .await
            .body
            .contains("quillet_store_ready 0")
    );
}
