//! What the session of a run gets of it.

use quillet_agent::AgentOutcome;
use quillet_core::Message;
use quillet_core::session::{Sessions, StoredMessage};
use tokio::task::JoinHandle;

use super::history;

/// What the session of a run gets at its end.
pub(super) struct SessionWriter {
    pub(super) session: Option<String>,
    pub(super) run: String,
    pub(super) asked: Vec<Message>,
    /// Whether what was asked is written: it is as soon as the run goes, since a run that dies
    /// writes nothing more.
    pub(super) question: QuestionState,
    /// Whether it may be written more than once.
    pub(super) is_durable: bool,
}

/// What became of the question in the session.
pub(super) enum QuestionState {
    /// It is to be written with the answer.
    Unwritten,
    /// It is being written.
    Writing(JoinHandle<bool>),
    /// It was there before.
    Known,
}

impl SessionWriter {
    /// A script adds to no session.
    pub(super) fn nothing(run: &str) -> Self {
        SessionWriter {
            session: None,
            run: run.to_owned(),
            asked: Vec::new(),
            question: QuestionState::Known,
            is_durable: true,
        }
    }

    pub(super) async fn keep(self, sessions: &dyn Sessions, outcome: &AgentOutcome) {
        let Some(session) = self.session else { return };
        let is_there = match self.question {
            QuestionState::Unwritten => false,
            QuestionState::Known => true,
            QuestionState::Writing(written) => written.await.unwrap_or(false),
        };
        let mut turns: Vec<StoredMessage> = history::turns(&self.run, &self.asked, outcome);
        if is_there {
            turns.drain(..self.asked.len().min(turns.len()));
        }
        if turns.is_empty() {
            return;
        }
        // A run that is gone through once more may have kept them before its end was written.
        if self.is_durable {
            let most = turns.len() * 2;
            let known = sessions.load(&session, most).await;
            let known = known.unwrap_or_default();
            turns.retain(|turn| known.iter().all(|known| known.id != turn.id));
        }
        // The answer was given; that it is not remembered is for the operator to know.
        if let Err(error) = sessions.append(&session, &turns).await {
            tracing::warn!(session, run = self.run, %error, "the history was not written");
        }
    }
}
