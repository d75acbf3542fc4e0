//! `/healthz`, `/readyz` and `/metrics`.

use axum::Json;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use quillet_core::store::Health;
use serde::Serialize;
use utoipa::ToSchema;

use crate::config::ServerConfig;
use crate::metrics::{Gauges, write_rates, write_spending, write_usage};
use crate::request_context::RequestContext;

/// Returns whether a route is public. Public routes require no token, have no rate limit and stay
/// available at shutdown. The console and the OpenAPI document contain no data of the operator.
pub(crate) fn is_public_route(config: &ServerConfig, path: &str) -> bool {
    match path {
        "/healthz" | "/readyz" => config.open_health,
        "/metrics" => config.open_metrics,
        _ => {
            let path = path.strip_prefix(config.prefix.as_str()).unwrap_or(path);
            match path {
                "/" | "/docs" | "/openapi.json" | "/swagger/index.html" => true,
                path if path.starts_with("/console/") => true,
                "/health" | "/ready" | "/startup" | "/v1/health" => config.open_health,
                _ => false,
            }
        }
    }
}

/// Liveness of the process.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Alive)]
pub(crate) struct LivenessResponse {
    /// Always `ok`.
    status: &'static str,
    /// The version of this program.
    version: &'static str,
}

/// Readiness of the server.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Readiness {
    /// `ready`, `stale` or `unavailable`. `stale` means that a store is unavailable: prompts come
    /// from the cache, and agent runs may be rejected.
    status: &'static str,
    /// The reasons if the status is not `ready`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<String>,
    /// The store.
    store: String,
    /// The default model, if configured, including a mock.
    model: Option<String>,
    /// Number of prompts.
    prompts: usize,
    /// Number of invalid definitions.
    invalid: usize,
}

/// Reports that the process is alive
#[utoipa::path(get, path = "/healthz", tag = "operation", responses((status = 200, body = LivenessResponse)))]
pub(crate) async fn healthz(_call: RequestContext) -> Json<LivenessResponse> {
    Json(LivenessResponse {
        status: "ok",
        version: env!("CARGO_PKG_VERSION"),
    })
}

/// Reports whether this server should receive requests, and the reasons if it should not
#[utoipa::path(get, path = "/readyz", tag = "operation", responses(
    (status = 200, body = Readiness),
    (status = 503, body = Readiness, description = "Nothing is loaded yet, or the server is shutting down"),
))]
pub(crate) async fn readyz(call: RequestContext) -> (StatusCode, Json<Readiness>) {
    let app = &call.app;
    let (health, loaded) = app.service.health();
    let mut status = "ready";
    let mut reasons = Vec::new();
    if let Health::Away { reason } = health {
        status = if loaded { "stale" } else { "unavailable" };
        let cache = if loaded { "; serving from cache" } else { "" };
        reasons.push(format!("the store is unavailable: {reason}{cache}"));
    }
    if !loaded {
        status = "unavailable";
        reasons.push("definitions are not loaded yet".to_owned());
    }
    if let Some(reason) = app.runs_outage() {
        reasons.push(format!(
            "new agent runs are rejected: the store of agent.runs is unavailable: {reason}"
        ));
        if status == "ready" {
            status = "stale";
        }
    }
    if app.is_stopping() {
        status = "unavailable";
        reasons.push("shutting down".to_owned());
    }
    // Stale prompts are usable, so by default only `unavailable` takes the server out of rotation.
    let fine = status == "ready" || (status == "stale" && !app.config.unready_when_stale);
    let snapshot = app.service.catalogue().snapshot();
    let prompts = snapshot.prompts.values().map(|prompt| prompt.status());
    let tools = snapshot.tools.values().map(|tool| tool.status());
    let extensions = snapshot
        .extensions
        .values()
        .map(|extension| extension.status());
    let all = prompts.chain(tools).chain(extensions);
    let model = app.service.model().filter(|model| model.is_configured());
    let code = if fine {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (
        code,
        Json(Readiness {
            status,
            reasons,
            store: app.service.catalogue().store().describe(),
            model: model.map(|model| model.describe()),
            prompts: snapshot.prompts.len(),
            invalid: all.filter(|status| *status == "invalid").count(),
        }),
    )
}

/// Returns metrics in Prometheus' text format
#[utoipa::path(get, path = "/metrics", tag = "operation", responses(
    (status = 200, body = String, content_type = "text/plain"),
))]
pub(crate) async fn metrics(call: RequestContext) -> Response {
    let app = &call.app;
    let (health, _) = app.service.health();
    let snapshot = app.service.catalogue().snapshot();
    let mut text = app.metrics.text(Gauges {
        store_ready: health == Health::Ready,
        prompts: snapshot.prompts.len(),
        tools: snapshot.tools.len(),
        extensions: snapshot.extensions.len(),
        counts: app.service.counts(),
    });
    write_usage(&mut text, app.service.usage());
    if let Some(rates) = &app.model_rates {
        write_rates(&mut text, rates);
    }
    if let Some(spending) = &app.spending {
        write_spending(&mut text, spending);
    }
    if let Some(agents) = &app.agents {
        agents.counts().write(&mut text);
    }
    let kind = [(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    (kind, text).into_response()
}
