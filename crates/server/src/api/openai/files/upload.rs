//! A streamed upload. At most one chunk of the file is in memory.

use std::time::Duration;

use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use multer::{Field, Multipart};
use quillet_core::ErrorCode;
use quillet_core::batch::{BatchService, FileChunk, FileInfo, RowSplitter};

use super::super::file_access::{batching, stored};
use crate::batch::{new_tag, seconds};
use crate::error::{ApiError, problem};
use crate::request_context::RequestContext;

/// The size of the stored chunks in bytes.
const WRITTEN: usize = 512 << 10;
/// The maximum length of a text member of the form.
const TEXT: usize = 1024;
/// The time in seconds after which an incomplete upload is deleted.
const ABANDONED: u64 = 86_400;
/// The shortest and longest time to live, in seconds. OpenAI has the same limits.
const TIMES: (u64, u64) = (3600, 2_592_000);

/// The members of the form received so far.
#[derive(Debug, Default)]
struct UploadForm {
    file: Option<(String, u64)>,
    purpose: Option<String>,
    seconds: Option<String>,
}

/// Stores the file of a request.
pub(super) async fn take(call: &RequestContext, request: Request) -> Result<FileInfo, ApiError> {
    let batching = batching(&call.app)?;
    let kind = request.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let boundary = multer::parse_boundary(kind).map_err(|_| {
        let message = "the body must be multipart/form-data that contains purpose and file";
        problem(ErrorCode::InvalidValue, message)
    })?;
    let body = request.into_body().into_data_stream();
    let mut parts = Multipart::new(body, boundary);
    // Chunks are stored under the id before the file exists. Routes show the file only after
    // `keep_file`.
    let id = format!("file-{}", new_tag());
    let taken = form(call, batching, &id, &mut parts).await;
    let form = match taken {
        Ok(form) => form,
        Err(error) => {
            discard(batching, &id).await;
            return Err(error);
        }
    };
    let (name, bytes) = form.file.ok_or_else(|| missing_field("file"))?;
    let keep = retention_seconds(form.seconds.as_deref(), batching);
    let keep = match (form.purpose.as_deref(), keep) {
        (Some("batch"), Ok(keep)) => keep,
        (Some("batch"), Err(error)) => {
            discard(batching, &id).await;
            return Err(error);
        }
        (purpose, _) => {
            discard(batching, &id).await;
            return Err(purpose.map_or_else(
                || missing_field("purpose"),
                |purpose| {
                    let message =
                        format!("purpose: unsupported value {purpose:?}; expected \"batch\"");
                    problem(ErrorCode::InvalidValue, message).with_param("purpose")
                },
            ));
        }
    };
    let created = seconds();
    let file = FileInfo {
        id,
        owner: call.principal().scope().to_owned(),
        name,
        purpose: "batch".to_owned(),
        bytes,
        created,
        expires: created + keep,
    };
    batching.store.keep_file(&file).await.map_err(stored)?;
    Ok(file)
}

async fn form(
    call: &RequestContext,
    batching: &BatchService,
    id: &str,
    parts: &mut Multipart<'_>,
) -> Result<UploadForm, ApiError> {
    let time = call.app.config.body_time;
    let mut form = UploadForm::default();
    while let Some(mut field) = in_time(time, parts.next_field()).await? {
        match field.name() {
            Some("file") if form.file.is_some() => {
                let message = "file: only one file is allowed";
                return Err(problem(ErrorCode::InvalidValue, message).with_param("file"));
            }
            Some("file") => {
                let name = field.file_name().unwrap_or("file.jsonl").to_owned();
                let bytes = pieces(batching, id, time, &mut field).await?;
                form.file = Some((name, bytes));
            }
            Some("purpose") => form.purpose = Some(text(time, &mut field).await?),
            Some("expires_after[seconds]") => form.seconds = Some(text(time, &mut field).await?),
            _ => while in_time(time, field.chunk()).await?.is_some() {},
        }
    }
    Ok(form)
}

/// Stores the file while it is received, and returns its size.
async fn pieces(
    batching: &BatchService,
    id: &str,
    time: Duration,
    field: &mut Field<'_>,
) -> Result<u64, ApiError> {
    let options = &batching.options;
    let mut cutter = RowSplitter::new(options.line_bytes);
    let mut waiting: Vec<FileChunk> = Vec::new();
    let mut size = 0;
    while let Some(chunk) = in_time(time, field.chunk()).await? {
        // Check before the chunk is added, to limit memory.
        if cutter.bytes() + chunk.len() as u64 > options.file_bytes {
            let message = format!(
                "the file is larger than the limit of {} bytes (batch.file_bytes)",
                options.file_bytes
            );
            return Err(problem(ErrorCode::FileTooLarge, message).with_param("file"));
        }
        cutter.add(&chunk, &mut waiting).map_err(|long| {
            let message = format!(
                "line {} is longer than the limit of {} bytes (batch.line_bytes)",
                long.line, options.line_bytes
            );
            problem(ErrorCode::LineTooLong, message).with_param("file")
        })?;
        size += chunk.len();
        if size >= WRITTEN {
            write(batching, id, &mut waiting).await?;
            size = 0;
        }
    }
    let bytes = cutter.bytes();
    waiting.extend(cutter.end());
    write(batching, id, &mut waiting).await?;
    Ok(bytes)
}

async fn write(
    batching: &BatchService,
    id: &str,
    waiting: &mut Vec<FileChunk>,
) -> Result<(), ApiError> {
    if !waiting.is_empty() {
        let expires = seconds() + ABANDONED;
        let written = batching.store.add_pieces(id, waiting, expires).await;
        written.map_err(stored)?;
        waiting.clear();
    }
    Ok(())
}

async fn text(time: Duration, field: &mut Field<'_>) -> Result<String, ApiError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = in_time(time, field.chunk()).await? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > TEXT {
            let message = "a form field is too long";
            return Err(problem(ErrorCode::InvalidValue, message));
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Applies the body timeout to each read.
async fn in_time<T>(
    time: Duration,
    reading: impl Future<Output = multer::Result<T>>,
) -> Result<T, ApiError> {
    match tokio::time::timeout(time, reading).await {
        Ok(read) => read.map_err(|error| {
            let message = format!("invalid form: {error}");
            problem(ErrorCode::InvalidValue, message)
        }),
        Err(_) => {
            let message = format!("no data arrived within the limit on body_time ({time:?})");
            Err(problem(ErrorCode::RequestSlow, message))
        }
    }
}

fn missing_field(member: &str) -> ApiError {
    problem(
        ErrorCode::InvalidValue,
        format!("{member}: missing from the form"),
    )
    .with_param(member)
}

/// Returns the time to live of the file in seconds.
fn retention_seconds(wish: Option<&str>, batching: &BatchService) -> Result<u64, ApiError> {
    let Some(wish) = wish else {
        return Ok(batching.options.keep.as_secs());
    };
    let seconds = wish.trim().parse().ok();
    let (least, most) = TIMES;
    let seconds = seconds.filter(|seconds| (least..=most).contains(seconds));
    seconds.ok_or_else(|| {
        let message = format!("expires_after: seconds must be {least} to {most}");
        problem(ErrorCode::InvalidValue, message).with_param("expires_after")
    })
}

/// Deletes the chunks of a failed upload now; otherwise they would expire later.
async fn discard(batching: &BatchService, id: &str) {
    let gone = FileInfo {
        id: id.to_owned(),
        owner: String::new(),
        name: String::new(),
        purpose: String::new(),
        bytes: 0,
        created: 0,
        expires: seconds(),
    };
    let forgotten = async {
        batching.store.keep_file(&gone).await?;
        batching.store.remove_file(id).await
    };
    if let Err(error) = forgotten.await {
        tracing::debug!(file = id, %error, "the incomplete upload will expire");
    }
}
