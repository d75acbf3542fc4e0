//! A run as one response, for clients that do not stream.

use axum::response::Response;
use quillet_agent::{AgentEvent, EndReason};
use quillet_core::ErrorCode;

use super::refuse;
use super::stream::AgentEventStream;

/// Reads a run to its end. Returns the payload of `response.done` with `content` and `reasoning`,
/// or an error with its status.
pub(super) async fn answer(mut telling: AgentEventStream) -> Response {
    let mut said = Vec::new();
    loop {
        let Some(event) = telling.next_event().await else {
            let what = "the run ended without an end event";
            let code = ErrorCode::RunInternalError;
            return refuse::error(code.status(), code, what, None);
        };
        let provider = telling.running().provider().map(str::to_owned);
        let cost = match &event {
            AgentEvent::Ended(outcome) => telling.running().cost(outcome),
            _ => None,
        };
        // Copy the warnings, because the encoder borrows the same stream mutably.
        let warnings = telling.running().warnings().to_vec();
        let teller = telling.encoder();
        teller.warn(&warnings);
        let AgentEvent::Ended(outcome) = &event else {
            // The blocks of the response are built from events that are not sent.
            teller.encode(&event, &mut said);
            said.clear();
            continue;
        };
        teller.provider(provider.as_deref());
        teller.cost(cost);
        return match &outcome.ending {
            EndReason::Failed(error) => refuse::failed(&teller.failure(error)),
            EndReason::Cancelled => {
                let what = "the request was cancelled";
                let code = ErrorCode::RunCancelled;
                refuse::error(code.status(), code, what, None)
            }
            _ => refuse::answer(200, &teller.done(outcome, true)),
        };
    }
}
