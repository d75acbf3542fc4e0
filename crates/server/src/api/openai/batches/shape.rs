//! Batches in OpenAI's format, with one additional member.

use quillet_core::batch::{Batch, Status};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A batch.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Batch)]
pub(crate) struct BatchObject {
    /// The id, `batch_…`.
    id: String,
    /// Always `batch`.
    object: &'static str,
    /// The path of the route for its requests.
    endpoint: String,
    /// Errors in the input, if the batch has failed.
    errors: Option<BatchErrors>,
    /// The id of the input file.
    input_file_id: String,
    /// The maximum duration.
    completion_window: String,
    /// `validating`, `failed`, `in_progress`, `finalizing`, `completed`, `expired`, `cancelling` or
    /// `cancelled`.
    status: &'static str,
    /// The file with successful responses, set when the batch has ended.
    output_file_id: Option<String>,
    /// The file with failed requests, set when the batch has ended.
    error_file_id: Option<String>,
    /// The time of creation, in seconds since 1970.
    created_at: u64,
    /// The time when the first row could run.
    in_progress_at: Option<u64>,
    /// The time when the batch expires.
    expires_at: u64,
    /// The time when the last row finished.
    finalizing_at: Option<u64>,
    /// The time of completion.
    completed_at: Option<u64>,
    /// The time of the failure.
    failed_at: Option<u64>,
    /// The time when the batch expired.
    expired_at: Option<u64>,
    /// The time of the request to cancel.
    cancelling_at: Option<u64>,
    /// The time when the cancelled batch stopped.
    cancelled_at: Option<u64>,
    /// The progress.
    request_counts: RequestCounts,
    /// The metadata from the request.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Map<String, Value>>,
    /// Members that OpenAI does not define.
    quillet: BatchExtension,
}

/// Errors in an input.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BatchErrors {
    /// Always `list`.
    object: &'static str,
    /// Up to a hundred errors.
    data: Vec<BatchFinding>,
}

/// An error in an input.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BatchFinding {
    /// Stable code, such as `duplicate_custom_id`.
    code: String,
    /// A description of the error.
    message: String,
    /// The invalid member of the line.
    param: Option<String>,
    /// The line of the file, from 1.
    line: Option<u64>,
}

/// The number of rows in each state.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RequestCounts {
    /// All rows; 0 until the input is validated.
    total: u64,
    /// Successful rows.
    completed: u64,
    /// Failed rows.
    failed: u64,
}

/// Members of a batch that OpenAI does not define.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BatchExtension {
    /// Requests that were leased again after their worker was lost. The model may have received
    /// such a request twice, but the files contain its result once.
    asked_again: u64,
}

impl BatchObject {
    pub(super) fn of(batch: Batch) -> Self {
        let at = |status| batch.entered_at(status);
        // The result files are complete only after the batch ends.
        let has_ended = batch.status.is_final();
        let file = |id: String, rows: u64| (has_ended && rows > 0).then_some(id);
        let data: Vec<BatchFinding> = batch.wrong.iter().map(finding).collect();
        BatchObject {
            object: "batch",
            errors: (!data.is_empty()).then_some(BatchErrors {
                object: "list",
                data,
            }),
            status: match batch.status {
                // OpenAI does not define this status, but its clients know `finalizing`.
                Status::Expiring => Status::Finalizing.word(),
                status => status.word(),
            },
            output_file_id: file(batch.order.output(), batch.completed),
            error_file_id: file(batch.order.errors(), batch.failed),
            in_progress_at: at(Status::InProgress),
            finalizing_at: at(Status::Finalizing).or(at(Status::Expiring)),
            completed_at: at(Status::Completed),
            failed_at: at(Status::Failed),
            expired_at: at(Status::Expired),
            cancelling_at: at(Status::Cancelling),
            cancelled_at: at(Status::Cancelled),
            request_counts: RequestCounts {
                total: batch.total,
                completed: batch.completed,
                failed: batch.failed,
            },
            quillet: BatchExtension {
                asked_again: batch.again,
            },
            id: batch.order.id,
            endpoint: batch.order.endpoint,
            input_file_id: batch.order.input,
            completion_window: batch.order.window,
            created_at: batch.order.created,
            expires_at: batch.order.expires,
            metadata: batch.order.metadata,
        }
    }
}

fn finding(wrong: &quillet_core::batch::LineError) -> BatchFinding {
    BatchFinding {
        code: wrong.code.clone(),
        message: wrong.message.clone(),
        param: wrong.param.clone(),
        line: wrong.line,
    }
}

/// A page of batches.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BatchList {
    /// Always `list`.
    object: &'static str,
    /// The batches on this page.
    data: Vec<BatchObject>,
    /// The id of the first batch.
    first_id: Option<String>,
    /// The id of the last batch, the value of `after` for the next page.
    last_id: Option<String>,
    /// Whether another page exists.
    has_more: bool,
}

impl BatchList {
    pub(super) fn of(data: Vec<BatchObject>, has_more: bool) -> Self {
        BatchList {
            object: "list",
            first_id: data.first().map(|batch| batch.id.clone()),
            last_id: data.last().map(|batch| batch.id.clone()),
            data,
            has_more,
        }
    }
}
