//! Stored responses, each in its own session that only the same principal can find.

use std::sync::Arc;

use quillet_core::session::{Sessions, StoredMessage};
use quillet_core::{BoxFuture, ErrorCode, Message, Role, clock};
use quillet_host::agent::Principal;
use quillet_prompt::ServiceError;
use serde_json::{Map, Value};

use super::options::ResponseOptions;
use crate::error::{ApiError, problem};
use crate::request_context::RequestContext;

/// The turn with the response object, which is the last one of its session.
const OBJECT: &str = "object";

/// Stores one response.
#[derive(Debug)]
pub(super) struct ResponseRecorder {
    sessions: Option<Arc<dyn Sessions>>,
    who: Principal,
    /// The maximum number of messages loaded from a conversation.
    most: usize,
    store: bool,
    asked: Vec<Message>,
}

impl ResponseRecorder {
    pub(super) fn new(call: &RequestContext, wish: &ResponseOptions) -> Self {
        let agents = call.app.agents.as_ref();
        ResponseRecorder {
            sessions: agents.map(|agents| agents.parts().sessions.clone()),
            who: call.principal(),
            most: agents.map_or(0, |agents| agents.options().history_messages),
            store: wish.store,
            asked: Vec::new(),
        }
    }

    /// Returns whether this response is stored.
    pub(super) fn is_on(&self) -> bool {
        self.store && self.sessions.is_some()
    }

    /// Loads the conversation of a response.
    pub(super) async fn load_conversation(&self, id: &str) -> Result<Vec<Message>, ApiError> {
        let turns = match &self.sessions {
            None => Vec::new(),
            // The session store rejects an invalid id with an error, but for the client the id is
            // only unknown.
            Some(_) if check_id(id).is_err() => Vec::new(),
            Some(sessions) => {
                let session = self.who.session_of(id);
                let turns = sessions.load(&session, self.most.saturating_add(1)).await;
                turns.map_err(ServiceError::Store)?
            }
        };
        if turns.is_empty() {
            let message =
                format!("unknown response {id:?}: it was not stored, or is no longer available");
            let error = problem(ErrorCode::PreviousResponseNotFound, message);
            return Err(error.with_param("previous_response_id"));
        }
        let said = turns.into_iter().filter(|turn| turn.id != OBJECT);
        Ok(said.map(|turn| turn.message).collect())
    }

    /// Sets the messages before the reply.
    pub(super) fn set_messages(&mut self, messages: &[Message]) {
        if self.is_on() {
            self.asked = messages.to_vec();
        }
    }

    /// Stores the response. A failure is only logged, because the reply was already sent.
    pub(super) fn store_response(
        &mut self,
        id: &str,
        answer: Message,
        object: &Map<String, Value>,
    ) -> Option<BoxFuture<'static, ()>> {
        let sessions = self.sessions.clone().filter(|_| self.store)?;
        let session = self.who.session_of(id);
        let created_ms = clock::millis();
        let turn = |id: String, message: Message| StoredMessage {
            id,
            created_ms,
            message,
            loaded_skills: Vec::new(),
            partial: false,
        };
        let text = serde_json::to_string(object).unwrap_or_default();
        let asked = std::mem::take(&mut self.asked);
        let said = asked.into_iter().chain([answer]).enumerate();
        let mut turns: Vec<StoredMessage> = said
            .map(|(index, message)| turn(index.to_string(), message))
            .collect();
        turns.push(turn(OBJECT.into(), Message::new(Role::System, text)));
        Some(Box::pin(async move {
            if let Err(error) = sessions.append(&session, &turns).await {
                tracing::warn!(session, %error, "cannot store the response");
            }
        }))
    }
}

/// Returns the object of a stored response.
pub(super) async fn find(call: &RequestContext, id: &str) -> Result<Value, ApiError> {
    let agents = call.app.agents.as_ref().ok_or_else(|| unknown(id))?;
    check_id(id)?;
    let session = call.principal().session_of(id);
    let turns = agents.parts().sessions.load(&session, 1).await;
    let turns = turns.map_err(ServiceError::Store)?;
    let object = turns.last().filter(|turn| turn.id == OBJECT);
    let text = object.map(|turn| turn.message.content.to_string());
    text.and_then(|text| serde_json::from_str(&text).ok())
        .ok_or_else(|| unknown(id))
}

/// Deletes a response.
pub(super) async fn forget(call: &RequestContext, id: &str) -> Result<(), ApiError> {
    let agents = call.app.agents.as_ref().ok_or_else(|| unknown(id))?;
    check_id(id)?;
    let session = call.principal().session_of(id);
    let removed = agents.parts().sessions.remove(&session).await;
    if removed.map_err(ServiceError::Store)? {
        Ok(())
    } else {
        Err(unknown(id))
    }
}

/// The maximum length of an id.
const LONGEST_ID: usize = 128;

/// Checks the format of an id, because a session store rejects other ids with an error.
fn check_id(id: &str) -> Result<(), ApiError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if (1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(plain) {
        Ok(())
    } else {
        Err(unknown(id))
    }
}

fn unknown(id: &str) -> ApiError {
    problem(
        ErrorCode::ResponseNotFound,
        format!("unknown response {id:?}"),
    )
    .with_param("response_id")
}
