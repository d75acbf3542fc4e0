//! `/v1/batches`: many requests in one file, which run as capacity allows.

mod shape;

use axum::extract::Request;
use axum::response::Response;
use quillet_core::ErrorCode;
use quillet_core::batch::{Batch, BatchTransition, Status};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use self::shape::{BatchList, BatchObject};
use super::file_access::{batching, owned_file, stored};
use super::page::{self, PageParams};
use super::request;
use super::schema::ErrorBody;
use crate::api::{Id, json_body};
use crate::batch::{ENDPOINTS, order, seconds, window};
use crate::error::{ApiError, problem};
use crate::extract::QueryParams;
use crate::request_context::RequestContext;

/// OpenAI's limits for metadata.
const PAIRS: usize = 16;
const NAME: usize = 64;
const TEXT: usize = 512;

/// The body of a request that creates a batch.
#[derive(Debug, Deserialize, ToSchema)]
#[allow(dead_code)]
pub(crate) struct NewBatch {
    /// The file of requests, uploaded with the purpose `batch`.
    input_file_id: String,
    /// `/v1/chat/completions` or `/v1/responses`.
    endpoint: String,
    /// The maximum duration: `24h`, or another number of `m`, `h` or `d` up to 30 days.
    completion_window: String,
    /// Up to 16 pairs of strings.
    metadata: Option<std::collections::BTreeMap<String, String>>,
    /// Whether the rows go to the batch API of the model's provider, at half the price. Only for
    /// models and prompts.
    provider_batch: Option<bool>,
}

/// Query parameters of a list of batches.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct WhichBatches {
    /// Only batches after the one with this id.
    after: Option<String>,
    /// Batches per page, from 1 to 100.
    limit: Option<usize>,
}

/// Creates a batch over a file of requests
///
/// Each request goes to the target of its `model`, with the permissions of the token that created
/// the batch.
#[utoipa::path(post, path = "/batches", tag = "openai", request_body = NewBatch, responses(
    (status = 200, body = BatchObject),
    (status = 400, body = ErrorBody),
    (status = 404, body = ErrorBody, description = "Unknown file"),
))]
pub(crate) async fn create_batch(
    call: RequestContext,
    request: Request,
) -> Result<Response, ApiError> {
    let body = request::json(&call, request.into_body()).await?;
    let Value::Object(members) = body else {
        let message = "the body must be a JSON object";
        return Err(problem(ErrorCode::InvalidType, message));
    };
    let input = text(&members, "input_file_id")?;
    let endpoint = text(&members, "endpoint")?;
    if !ENDPOINTS.contains(&endpoint) {
        let message = format!(
            "endpoint: {endpoint:?} does not support batches, only {}",
            ENDPOINTS.join(" and ")
        );
        return Err(problem(ErrorCode::InvalidValue, message).with_param("endpoint"));
    }
    let words = text(&members, "completion_window")?;
    let time = window(words).ok_or_else(|| {
        let message =
            format!("completion_window: invalid time {words:?}; expected a time such as \"24h\"");
        problem(ErrorCode::InvalidValue, message).with_param("completion_window")
    })?;
    let metadata = metadata(members.get("metadata"))?;
    let provider = match members.get("provider_batch") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(provider)) => *provider,
        Some(_) => {
            let message = "provider_batch: must be true or false";
            return Err(problem(ErrorCode::InvalidType, message).with_param("provider_batch"));
        }
    };
    let file = owned_file(&call, input, "input_file_id").await?;
    if file.purpose != "batch" {
        let message = format!(
            "input_file_id: the file has purpose {:?}; expected \"batch\"",
            file.purpose
        );
        return Err(problem(ErrorCode::InvalidValue, message).with_param("input_file_id"));
    }
    let batching = batching(&call.app)?;
    let mut order = order(
        &file.owner,
        input,
        endpoint,
        words,
        time,
        provider,
        &batching.options,
    );
    order.metadata = metadata;
    // Otherwise the input could expire before the batch ends.
    if file.expires < order.expires {
        let message = "input_file_id: the file expires before the batch; upload it again, or shorten completion_window";
        return Err(problem(ErrorCode::InvalidValue, message).with_param("input_file_id"));
    }
    batching.store.begin(&order).await.map_err(stored)?;
    json_body(&BatchObject::of(find(&call, &order.id).await?))
}

/// Returns a batch with its progress
#[utoipa::path(get, path = "/batches/{id}", tag = "openai", params(("id" = String, Path)), responses(
    (status = 200, body = BatchObject),
    (status = 404, body = ErrorBody, description = "Unknown batch"),
))]
pub(crate) async fn retrieve_batch(call: RequestContext, Id(id): Id) -> Result<Response, ApiError> {
    json_body(&BatchObject::of(find(&call, &id).await?))
}

/// Lists the batches of the caller, newest first
#[utoipa::path(get, path = "/batches", tag = "openai", params(WhichBatches), responses(
    (status = 200, body = BatchList),
    (status = 400, body = ErrorBody),
))]
pub(crate) async fn list_batches(
    call: RequestContext,
    QueryParams(which): QueryParams<WhichBatches>,
) -> Result<Response, ApiError> {
    let store = &batching(&call.app)?.store;
    let ids = store
        .batches(call.principal().scope())
        .await
        .map_err(stored)?;
    let listed = PageParams {
        after: which.after.as_deref(),
        limit: page::limit(which.limit, 100)?,
    };
    let (ids, has_more) = listed.of(ids, |id| id);
    let mut batches = Vec::new();
    for id in &ids {
        let batch = store.batch(id).await.map_err(stored)?;
        batches.extend(batch.map(BatchObject::of));
    }
    json_body(&BatchList::of(batches, has_more))
}

/// Cancels a batch
///
/// The results so far stay available.
#[utoipa::path(post, path = "/batches/{id}/cancel", tag = "openai", params(("id" = String, Path)), responses(
    (status = 200, body = BatchObject),
    (status = 404, body = ErrorBody, description = "Unknown batch"),
    (status = 409, body = ErrorBody, description = "The batch has already ended"),
))]
pub(crate) async fn cancel_batch(call: RequestContext, Id(id): Id) -> Result<Response, ApiError> {
    find(&call, &id).await?;
    const UNDER_WAY: &[Status] = &[
        Status::Validating,
        Status::InProgress,
        Status::Expiring,
        Status::Finalizing,
    ];
    let step = BatchTransition::new(UNDER_WAY, Status::Cancelling, seconds());
    let store = &batching(&call.app)?.store;
    let taken = store.step(&id, &step).await.map_err(stored)?;
    let batch = find(&call, &id).await?;
    let is_cancelled = matches!(batch.status, Status::Cancelling | Status::Cancelled);
    if !taken && !is_cancelled {
        let message = format!("the batch {id} is already {}", batch.status.word());
        return Err(problem(ErrorCode::BatchEnded, message));
    }
    json_body(&BatchObject::of(batch))
}

/// Returns a batch of the caller. Batches of other callers are reported as unknown.
async fn find(call: &RequestContext, id: &str) -> Result<Batch, ApiError> {
    let batch = match page::is_id(id) {
        true => batching(&call.app)?.store.batch(id).await.map_err(stored)?,
        false => None,
    };
    let who = call.principal();
    batch
        .filter(|batch| batch.order.owner == who.scope())
        .ok_or_else(|| {
            problem(ErrorCode::BatchNotFound, format!("unknown batch {id:?}"))
                .with_param("batch_id")
        })
}

fn text<'a>(members: &'a Map<String, Value>, name: &str) -> Result<&'a str, ApiError> {
    match members.get(name) {
        Some(Value::String(text)) => Ok(text),
        None | Some(Value::Null) => {
            let message = format!("{name}: required");
            Err(problem(ErrorCode::InvalidValue, message).with_param(name))
        }
        Some(_) => {
            let message = format!("{name}: must be a string");
            Err(problem(ErrorCode::InvalidType, message).with_param(name))
        }
    }
}

fn metadata(value: Option<&Value>) -> Result<Option<Map<String, Value>>, ApiError> {
    let refused = |message: String| {
        Err(problem(ErrorCode::InvalidValue, format!("metadata: {message}")).with_param("metadata"))
    };
    let pairs = match value {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(pairs)) => pairs,
        Some(_) => return refused("must be an object of strings".to_owned()),
    };
    if pairs.len() > PAIRS {
        return refused(format!("must not have more than {PAIRS} keys"));
    }
    for (name, value) in pairs {
        let fits = name.chars().count() <= NAME
            && value
                .as_str()
                .is_some_and(|text| text.chars().count() <= TEXT);
        if !fits {
            return refused(format!(
                "{name:?} must be a string of up to {TEXT} characters, with a key of up to {NAME}"
            ));
        }
    }
    Ok(Some(pairs.clone()))
}
