//! Sends a row through the same code and permission checks as a request of its owner.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::RETRY_AFTER;
use axum::response::Response;
use bytes::Bytes;
use futures_util::FutureExt;
use http_body_util::BodyExt;
use quillet_core::ErrorCode;
use quillet_core::budget::{BudgetAccounts, charge_to};
use quillet_core::chat::ChatModel;
use quillet_host::definitions::Permission;
use serde_json::{Map, Value};

use crate::api::openai;
use crate::app::App;
use crate::error::{ApiError, problem};
use crate::request_context::{Exchange, RequestContext};
use crate::requirements::RouteRequirements;

/// Sends the rows of a batch to the server's routes.
#[derive(Debug)]
pub(super) struct RowDispatcher {
    app: Arc<App>,
    endpoint: String,
    owner: String,
    /// The index of the endpoint in the list of routes.
    route: usize,
}

/// The response to a row.
#[derive(Debug)]
pub(super) struct RowReply {
    pub(super) status: u16,
    pub(super) request_id: String,
    pub(super) body: Vec<u8>,
    /// Whether a retry may help, and the requested delay, if any.
    pub(super) again: Option<Option<Duration>>,
}

impl RowDispatcher {
    pub(super) fn new(app: &Arc<App>, endpoint: &str, owner: &str) -> Self {
        let path = format!("POST {}{endpoint}", app.config.prefix);
        RowDispatcher {
            route: app.metrics.route_index(&path),
            app: app.clone(),
            endpoint: endpoint.to_owned(),
            owner: owner.to_owned(),
        }
    }

    /// Sends a row. `id` stays the same when the row is leased again, so that a durable run
    /// resumes.
    pub(super) async fn send_row(&self, body: &str, id: &str) -> RowReply {
        self.send_with(body, Exchange::of_row(id)).await
    }

    /// Returns the budgets for the rows. They are anonymous if the token no longer exists.
    pub(super) fn payer(&self) -> BudgetAccounts {
        let client = self.app.auth.client_of(&self.owner);
        client.map_or_else(BudgetAccounts::default, |client| {
            self.app.accounts_of(client)
        })
    }

    /// Sends a row with a model that replaces those of this server.
    pub(super) async fn send_to_model(&self, body: &str, model: Arc<dyn ChatModel>) -> RowReply {
        let exchange = Exchange::new(None).with_model(model);
        self.send_with(body, exchange).await
    }

    async fn send_with(&self, body: &str, exchange: Exchange) -> RowReply {
        // The client is looked up for each row, so that rows lose their permissions when the token
        // is removed.
        let Some(client) = self.app.auth.client_of(&self.owner) else {
            let message = "the token that created this batch is no longer valid";
            let error = problem(ErrorCode::AuthRefused, message);
            return answer("", openai::answer(&error)).await;
        };
        // The audit log needs an address, but the client disconnected long ago.
        let address = client.address().unwrap_or([127, 0, 0, 1].into());
        let exchange = Arc::new(exchange.with_client(client, address));
        let call = RequestContext::new(self.app.clone(), exchange.clone(), self.route);
        let payer = self.app.accounts_of(client);
        // Rows bypass the middleware, so a panic is caught here. One failed row must not end its
        // chunk.
        let asking = AssertUnwindSafe(charge_to(payer, self.respond(call, body))).catch_unwind();
        let answered = asking.await.unwrap_or_else(|_| {
            let message = "internal server error";
            Err(problem(ErrorCode::ServerDefect, message))
        });
        let response = answered.unwrap_or_else(|error| {
            self.app.metrics.errors.count(error.code());
            openai::answer(&error)
        });
        answer(exchange.id(), response).await
    }

    async fn respond(&self, call: RequestContext, body: &str) -> Result<Response, ApiError> {
        call.check_requirements(RouteRequirements::Any(Permission::Render), "")
            .await?;
        if self.endpoint == "/v1/responses" {
            let request = Request::new(Body::from(unstored(body)));
            return openai::responses::create_response(call, request).await;
        }
        // The row may be sent again, so copy the body.
        let request = Request::new(Body::from(Bytes::copy_from_slice(body.as_bytes())));
        openai::chat::complete(call, request).await
    }
}

/// Disables storage of the response, unless the row enables it. A batch would otherwise displace
/// the conversations of users.
fn unstored(body: &str) -> Vec<u8> {
    let read = serde_json::from_str::<Map<String, Value>>(body);
    let Ok(mut members) = read else {
        return body.as_bytes().to_vec();
    };
    members.entry("store").or_insert(Value::Bool(false));
    serde_json::to_vec(&members).unwrap_or_default()
}

async fn answer(request_id: &str, response: Response) -> RowReply {
    let (head, body) = response.into_parts();
    let body = body.collect().await.map(|body| body.to_bytes().to_vec());
    let status = head.status.as_u16();
    RowReply {
        status,
        request_id: request_id.to_owned(),
        body: body.unwrap_or_default(),
        again: retry_delay(status, &head.headers),
    }
}

/// Returns the retry delay from the headers that OpenAI's SDKs also use.
fn retry_delay(status: u16, headers: &HeaderMap) -> Option<Option<Duration>> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if !matches!(status, 429 | 500..) || text("x-should-retry") != Some("true") {
        return None;
    }
    let seconds = text(RETRY_AFTER.as_str()).and_then(|text| text.parse().ok());
    Some(seconds.map(Duration::from_secs))
}
