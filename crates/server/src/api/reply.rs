//! Functions shared by all chat routes: a complete reply within the time limit, and the error
//! event.

use std::io::Write;

use futures_util::StreamExt;
use quillet_core::ErrorCode;
use quillet_core::chat::Reply;
use serde_json::json;

use super::event_stream::PendingReply;
use crate::app::App;
use crate::error::{ApiError, problem};
use crate::request_context::Exchange;
use crate::warning::Warning;

/// Collects the complete reply within the time limit.
pub(crate) async fn collect_reply(
    app: &App,
    asking: PendingReply,
) -> Result<(Reply, Vec<Warning>), ApiError> {
    with_chat_timeout(app, async {
        let mut answer = asking.await?;
        let mut reply = Reply::default();
        while let Some(event) = answer.stream.next().await {
            reply.fold(event?);
        }
        Ok((reply, answer.warnings))
    })
    .await
}

/// Waits for a reply for at most `chat_time`.
pub(crate) async fn with_chat_timeout<T>(
    app: &App,
    answer: impl Future<Output = Result<T, ApiError>>,
) -> Result<T, ApiError> {
    match tokio::time::timeout(app.config.chat_time, answer).await {
        Ok(answer) => answer,
        Err(_) => {
            let message = format!(
                "the chat took longer than the limit on chat_time ({:?})",
                app.config.chat_time
            );
            Err(problem(ErrorCode::ChatTimeout, message).with_hint("request a stream"))
        }
    }
}

/// Writes an error event that OpenAI's clients raise as an exception, without `[DONE]`.
pub(super) fn write_failure(error: &ApiError, exchange: &Exchange, out: &mut Vec<u8>) {
    let body = json!({"error": {
        "message": error.message(),
        "type": error.code(),
        "code": error.status().to_string(),
        "request_id": exchange.id(),
    }});
    let _ = write!(out, "data: {body}\n\n");
}
