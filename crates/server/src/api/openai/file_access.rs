//! Access to files, restricted to their owner.

use quillet_core::ErrorCode;
use quillet_core::batch::{BatchService, FileInfo};
use quillet_core::store::StoreError;
use quillet_prompt::ServiceError;

use super::page;
use crate::app::App;
use crate::error::{ApiError, problem};
use crate::request_context::RequestContext;

/// Returns the batch service.
pub(super) fn batching(app: &App) -> Result<&BatchService, ApiError> {
    let message = "files and batches are not enabled on this server";
    let missing = || problem(ErrorCode::BatchConfiguration, message);
    app.batching.as_ref().ok_or_else(missing)
}

/// Converts an error of the store.
pub(super) fn stored(error: StoreError) -> ApiError {
    ServiceError::Store(error).into()
}

/// Returns a file of the caller. Files of other callers are reported as unknown.
pub(super) async fn owned_file(
    call: &RequestContext,
    id: &str,
    param: &str,
) -> Result<FileInfo, ApiError> {
    let file = match page::is_id(id) {
        true => batching(&call.app)?.store.file(id).await.map_err(stored)?,
        false => None,
    };
    let who = call.principal();
    file.filter(|file| file.owner == who.scope())
        .ok_or_else(|| {
            problem(ErrorCode::FileNotFound, format!("unknown file {id:?}")).with_param(param)
        })
}
