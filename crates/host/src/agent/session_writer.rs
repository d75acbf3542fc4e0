//! Writes a run to its session.

use quillet_agent::AgentOutcome;
use quillet_core::Message;
use quillet_core::session::{Sessions, StoredMessage};
use tokio::task::JoinHandle;

use super::history;

/// Messages that a run writes to its session.
pub(super) struct SessionWriter {
    pub(super) session: Option<String>,
    pub(super) run: String,
    pub(super) asked: Vec<Message>,
    /// State of the user's message, which is written at the start, because a run that crashes
    /// writes nothing more.
    pub(super) question: QuestionState,
    /// Whether the run is durable, so that its messages may have been written before.
    pub(super) is_durable: bool,
}

/// State of the user's message in the session.
pub(super) enum QuestionState {
    /// To be written with the answer.
    Unwritten,
    /// Being written.
    Writing(JoinHandle<bool>),
    /// Already stored by an earlier run.
    Known,
}

impl SessionWriter {
    /// Creates a writer for scripts, which do not write to a session.
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
            // A task that panicked may have stored nothing, so the question is written below.
            QuestionState::Writing(written) => written.await.unwrap_or(false),
        };
        let mut turns: Vec<StoredMessage> = history::turns(&self.run, &self.asked, outcome);
        if is_there {
            // `turns` is empty if the model wrote nothing, so the range must be bounded.
            turns.drain(..self.asked.len().min(turns.len()));
        }
        if turns.is_empty() {
            return;
        }
        // A run that is replayed may have written the messages before its end was recorded.
        if self.is_durable {
            let most = turns.len() * 2;
            let known = sessions.load(&session, most).await;
            // If the read fails, a duplicate is better than a lost answer, so the messages are
            // written.
            let known = known.unwrap_or_default();
            turns.retain(|turn| known.iter().all(|known| known.id != turn.id));
        }
        // The answer was already delivered, so a failed write is only logged for the operator.
        if let Err(error) = sessions.append(&session, &turns).await {
            tracing::warn!(session, run = self.run, %error, "cannot write the history");
        }
    }
}
