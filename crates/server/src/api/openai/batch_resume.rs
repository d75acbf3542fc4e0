//! Resumes durable runs of batch rows. A row that is leased again resumes its earlier run, so that
//! tool calls are not repeated.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::iter;
use quillet_core::chat::{ChatEvent, ChatStream, FinishReason, ModelError, ModelErrorKind, Usage};
use quillet_core::journal::{JournalEntry, JournalEvent, RunHead, RunState};
use quillet_host::agent::{AgentService, DecideError, Principal};
use quillet_prompt::ServiceError;
use serde_json::Value;
use tokio::time::sleep;

use super::approval;
use super::run_events::{start, start_stream};
use crate::error::ApiError;

/// Polling interval for a run in another process.
const LOOK: Duration = Duration::from_millis(250);

/// Returns the reply of the earlier run of a row, or `None` if there is none.
///
/// If the process of the run has ended, the run is resumed here. If it is active elsewhere, this
/// function waits for it. Pending approvals are returned as calls again, and a finished run returns
/// its result.
pub(super) async fn before(
    agents: &Arc<AgentService>,
    who: &Principal,
    id: &str,
) -> Result<Option<ChatStream>, ApiError> {
    loop {
        let head = match agents.run(who, id, 0).await {
            Ok((head, _)) => head,
            Err(DecideError::NoRun(_) | DecideError::NoJournal) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        match head.standing.state {
            RunState::Running | RunState::Ready => {}
            RunState::Waiting => {
                return Ok(Some(replay_stream(
                    &head,
                    approval_events(&head, &who.response_id(id)),
                )));
            }
            RunState::Ended => {
                let most = usize::try_from(head.last).unwrap_or(usize::MAX);
                let (_, entries) = agents.run(who, id, most).await?;
                return Ok(Some(replay_stream(&head, ended(&entries)?)));
            }
        }
        // Only one process gets the lease of the run. The other processes poll until the run ends.
        let taken = agents.resume_run(&who.run_id(id)).await;
        if let Some(running) = taken.map_err(ServiceError::Store)? {
            return Ok(Some(start_stream(running, true).await?));
        }
        sleep(LOOK).await;
    }
}

fn replay_stream(head: &RunHead, events: Vec<ChatEvent>) -> ChatStream {
    let events = std::iter::once(start(&head.title)).chain(events);
    Box::pin(iter(events.map(Ok).collect::<Vec<_>>()))
}

fn approval_events(head: &RunHead, response: &str) -> Vec<ChatEvent> {
    let calls = (0..).zip(&head.standing.waiting);
    let mut events: Vec<ChatEvent> = calls
        .map(|(index, waiting)| ChatEvent::ToolCall {
            choice: 0,
            index,
            id: Some(approval::public(response, &waiting.call)),
            name: Some(waiting.tool.to_string()),
            arguments: Value::Object(waiting.arguments.clone()).to_string(),
        })
        .collect();
    events.push(finish(FinishReason::ToolCalls));
    events
}

fn ended(entries: &[JournalEntry]) -> Result<Vec<ChatEvent>, ModelError> {
    let mut usage: Option<Usage> = None;
    for entry in entries {
        if let JournalEvent::Answered { events, .. } = &entry.step {
            let said = events.iter().rev().find_map(|event| match event {
                ChatEvent::Usage(usage) => Some(*usage),
                _ => None,
            });
            if let Some(said) = said {
                *usage.get_or_insert_default() += said;
            }
        }
    }
    let Some(JournalEvent::Ended { how, error, text }) = entries.last().map(|entry| &entry.step)
    else {
        let message = "the journal of the run has no end event";
        return Err(ModelError::new(ModelErrorKind::Cut, message));
    };
    if &**how != "done" {
        let message = error.clone().unwrap_or_else(|| {
            format!(
                "the run ended ({how}) before its row was written: send the request in another row"
            )
        });
        return Err(ModelError::new(ModelErrorKind::Provider, message));
    }
    let mut events = vec![
        ChatEvent::Text {
            choice: 0,
            text: text.clone(),
        },
        finish(FinishReason::Stop),
    ];
    events.extend(usage.map(ChatEvent::Usage));
    Ok(events)
}

fn finish(reason: FinishReason) -> ChatEvent {
    ChatEvent::Finish {
        choice: 0,
        reason,
        raw: reason.as_str().to_owned(),
    }
}
