//! Files at rest, found by whoever made them only.

use quillet_core::ErrorCode;
use quillet_core::batch::{BatchService, FileInfo};
use quillet_core::store::StoreError;
use quillet_prompt::ServiceError;

use super::page;
use crate::app::App;
use crate::error::{ApiError, problem};
use crate::request_context::RequestContext;

/// Where this server keeps batches.
pub(super) fn batching(app: &App) -> Result<&BatchService, ApiError> {
    let message = "this server keeps no files and no batches";
    let missing = || problem(ErrorCode::BatchConfiguration, message);
    app.batching.as_ref().ok_or_else(missing)
}

/// A failure of the store.
pub(super) fn stored(error: StoreError) -> ApiError {
    ServiceError::Store(error).into()
}

/// A file of whoever asks, whose id `param` gave; that of anybody else is not there.
pub(super) async fn own(
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
            problem(ErrorCode::FileNotFound, format!("there is no file {id:?}")).about(param)
        })
}
