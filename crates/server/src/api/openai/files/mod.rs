//! `/v1/files`: input and output files of batches.

mod upload;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::response::Response;
use futures_util::stream;
use quillet_core::ErrorCode;
use quillet_core::batch::FileInfo;
use quillet_core::store::StoreError;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::file_access::{batching, owned_file, stored};
use super::page::{self, PageParams};
use super::schema::ErrorBody;
use crate::api::{Id, json_body};
use crate::error::{ApiError, problem};
use crate::extract::QueryParams;
use crate::request_context::RequestContext;

/// The number of bytes read from a file at a time.
const READ: usize = 256 << 10;

/// A file.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = File)]
pub(crate) struct FileObject {
    /// The id, `file-…`.
    id: String,
    /// Always `file`.
    object: &'static str,
    /// The size in bytes.
    bytes: u64,
    /// The time of creation, in seconds since 1970.
    created_at: u64,
    /// The time of expiry, in seconds since 1970.
    expires_at: u64,
    /// The name of the uploaded file.
    filename: String,
    /// `batch` or `batch_output`.
    purpose: String,
    /// Always `processed`.
    status: &'static str,
}

impl FileObject {
    fn of(file: FileInfo) -> Self {
        FileObject {
            id: file.id,
            object: "file",
            bytes: file.bytes,
            created_at: file.created,
            expires_at: file.expires,
            filename: file.name,
            purpose: file.purpose,
            status: "processed",
        }
    }
}

/// A page of files.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FileList {
    /// Always `list`.
    object: &'static str,
    /// The files on this page.
    data: Vec<FileObject>,
    /// The id of the first file.
    first_id: Option<String>,
    /// The id of the last file, the value of `after` for the next page.
    last_id: Option<String>,
    /// Whether another page exists.
    has_more: bool,
}

/// Query parameters of a list of files.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct WhichFiles {
    /// Only files after the one with this id.
    after: Option<String>,
    /// Files per page, from 1 to 10,000.
    limit: Option<usize>,
    /// `desc` for newest first, or `asc`.
    order: Option<String>,
    /// Only files with this purpose: `batch` or `batch_output`.
    purpose: Option<String>,
}

/// The result of a deletion.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FileDeleted {
    /// The id of the file.
    id: String,
    /// Always `file`.
    object: &'static str,
    /// Always `true`.
    deleted: bool,
}

/// The form of an upload.
#[derive(Debug, ToSchema)]
#[allow(dead_code)]
pub(crate) struct Upload {
    /// The requests, one JSON object per line.
    purpose: String,
    /// Requests, one JSON object on each line.
    #[schema(value_type = String, format = Binary)]
    file: Vec<u8>,
}

/// Uploads a file of requests for a batch: one JSON object per line
#[utoipa::path(post, path = "/files", tag = "openai",
    request_body(content = Upload, content_type = "multipart/form-data"), responses(
    (status = 200, body = FileObject),
    (status = 400, body = ErrorBody),
    (status = 413, body = ErrorBody, description = "Larger than batch.file_bytes, or a line larger than batch.line_bytes"),
))]
pub(crate) async fn upload_file(
    call: RequestContext,
    request: Request,
) -> Result<Response, ApiError> {
    json_body(&FileObject::of(upload::take(&call, request).await?))
}

/// Lists the files of the caller
#[utoipa::path(get, path = "/files", tag = "openai", params(WhichFiles), responses(
    (status = 200, body = FileList),
    (status = 400, body = ErrorBody),
))]
pub(crate) async fn list_files(
    call: RequestContext,
    QueryParams(which): QueryParams<WhichFiles>,
) -> Result<Response, ApiError> {
    let who = call.principal();
    let mut files = batching(&call.app)?
        .store
        .files(who.scope())
        .await
        .map_err(stored)?;
    if which.order.as_deref() == Some("asc") {
        files.reverse();
    }
    if let Some(purpose) = &which.purpose {
        files.retain(|file| file.purpose == *purpose);
    }
    let listed = PageParams {
        after: which.after.as_deref(),
        limit: page::limit(which.limit, 10_000)?,
    };
    let (files, has_more) = listed.of(files, |file| &file.id);
    let data: Vec<FileObject> = files.into_iter().map(FileObject::of).collect();
    json_body(&FileList {
        object: "list",
        first_id: data.first().map(|file| file.id.clone()),
        last_id: data.last().map(|file| file.id.clone()),
        data,
        has_more,
    })
}

/// Returns a file
#[utoipa::path(get, path = "/files/{id}", tag = "openai", params(("id" = String, Path)), responses(
    (status = 200, body = FileObject),
    (status = 404, body = ErrorBody, description = "Unknown file"),
))]
pub(crate) async fn retrieve_file(call: RequestContext, Id(id): Id) -> Result<Response, ApiError> {
    json_body(&FileObject::of(owned_file(&call, &id, "file_id").await?))
}

/// Returns the content of a file
#[utoipa::path(get, path = "/files/{id}/content", tag = "openai", params(("id" = String, Path)), responses(
    (status = 200, content_type = "application/octet-stream", body = String, description = "The content of the file"),
    (status = 404, body = ErrorBody, description = "Unknown file"),
))]
pub(crate) async fn file_content(call: RequestContext, Id(id): Id) -> Result<Response, ApiError> {
    let file = owned_file(&call, &id, "file_id").await?;
    let store = batching(&call.app)?.store.clone();
    // Stream the file, because it may be larger than memory.
    let pages = stream::try_unfold(Some(1), move |from: Option<u64>| {
        let (store, id) = (store.clone(), id.clone());
        async move {
            let Some(from) = from else {
                return Ok::<_, StoreError>(None);
            };
            let page = store.pieces(&id, from, READ).await?;
            let bytes: Vec<u8> = page
                .pieces
                .into_iter()
                .flat_map(|piece| piece.bytes)
                .collect();
            Ok(Some((Bytes::from(bytes), page.next)))
        }
    });
    let mut response = Response::new(Body::from_stream(pages));
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static("application/octet-stream");
    headers.insert(CONTENT_TYPE, kind);
    headers.insert(CONTENT_LENGTH, file.bytes.into());
    Ok(response)
}

/// Deletes a file
#[utoipa::path(delete, path = "/files/{id}", tag = "openai", params(("id" = String, Path)), responses(
    (status = 200, body = FileDeleted),
    (status = 404, body = ErrorBody, description = "Unknown file"),
    (status = 409, body = ErrorBody, description = "A batch still reads the file"),
))]
pub(crate) async fn delete_file(call: RequestContext, Id(id): Id) -> Result<Response, ApiError> {
    owned_file(&call, &id, "file_id").await?;
    let store = &batching(&call.app)?.store;
    for active in store.active().await.map_err(stored)? {
        // If a new batch uses the file at this moment, its validation fails because the file is
        // missing.
        let batch = store.batch(&active).await.map_err(stored)?;
        if let Some(batch) = batch.filter(|batch| batch.order.input == id) {
            let message = format!(
                "the batch {} still reads from the file {id}",
                batch.order.id
            );
            return Err(problem(ErrorCode::FileInUse, message).with_param("file_id"));
        }
    }
    store.remove_file(&id).await.map_err(stored)?;
    json_body(&FileDeleted {
        id,
        object: "file",
        deleted: true,
    })
}
