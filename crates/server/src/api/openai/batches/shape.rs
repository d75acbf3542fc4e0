//! Batches in OpenAI's shape, with one member of ours.

use quillet_core::batch::{Batch, Status};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// A batch.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Batch)]
pub(crate) struct BatchObject {
    /// Its id: `batch_…`.
    id: String,
    /// Always `batch`.
    object: &'static str,
    /// The path that its requests are for.
    endpoint: String,
    /// What is wrong with its input, if it has failed.
    errors: Option<BatchErrors>,
    /// The file of its requests.
    input_file_id: String,
    /// The time that it has.
    completion_window: String,
    /// `validating`, `failed`, `in_progress`, `finalizing`, `completed`, `expired`, `cancelling` or
    /// `cancelled`.
    status: &'static str,
    /// The file of what was answered, once the batch has ended.
    output_file_id: Option<String>,
    /// The file of what was not, once the batch has ended.
    error_file_id: Option<String>,
    /// When it was made, in seconds since 1970.
    created_at: u64,
    /// When its first row could be asked.
    in_progress_at: Option<u64>,
    /// When its time is over.
    expires_at: u64,
    /// When its last row was done.
    finalizing_at: Option<u64>,
    /// When it was completed.
    completed_at: Option<u64>,
    /// When it failed.
    failed_at: Option<u64>,
    /// When it expired.
    expired_at: Option<u64>,
    /// When somebody cancelled it.
    cancelling_at: Option<u64>,
    /// When it had stopped.
    cancelled_at: Option<u64>,
    /// Progress.
    request_counts: RequestCounts,
    /// As it was given.
    #[schema(value_type = Option<Object>)]
    metadata: Option<Map<String, Value>>,
    /// Members that OpenAI does not have.
    quillet: BatchExtension,
}

/// What is wrong with an input.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BatchErrors {
    /// Always `list`.
    object: &'static str,
    /// Up to a hundred findings.
    data: Vec<BatchFinding>,
}

/// Something that is wrong with an input.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BatchFinding {
    /// Stable code, such as `duplicate_custom_id`.
    code: String,
    /// What is wrong.
    message: String,
    /// The member of the line.
    param: Option<String>,
    /// The line of the file, from 1.
    line: Option<u64>,
}

/// Rows of a batch.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RequestCounts {
    /// All; 0 until the input was looked at.
    total: u64,
    /// Those that were answered.
    completed: u64,
    /// Those that were not.
    failed: u64,
}

/// Members of a batch that OpenAI does not have.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BatchExtension {
    /// Requests that were leased again after their worker was lost: the model may have received
    /// each twice, but it is in the files once.
    asked_again: u64,
}

impl BatchObject {
    pub(super) fn of(batch: Batch) -> Self {
        let at = |status| batch.entered_at(status);
        // The files are complete only then.
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
                // OpenAI has no such status; its clients know `finalizing`.
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
    /// The batches.
    data: Vec<BatchObject>,
    /// The id of the first.
    first_id: Option<String>,
    /// The id of the last, with which to go on.
    last_id: Option<String>,
    /// Whether more follow.
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
