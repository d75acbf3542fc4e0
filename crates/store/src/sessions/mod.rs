//! Conversations: in memory, in SQLite, in Redis. All three keep the same bounds
//! in the same way, so that a service may move from one to the other.

mod memory;
mod sqlite;

use std::time::Duration;

use quillet_core::session::StoredMessage;
use quillet_core::store::{StoreError, StoreErrorKind};

pub use memory::MemorySessions;
pub use sqlite::SqliteSessions;

/// Bounds of stored conversations.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// How long a session is kept after its last message; 7200 s, Chat Shell's
    /// `CHAT_HISTORY_EXPIRE_SECONDS`. For ever where `None`.
    pub expire: Option<Duration>,
    /// Most sessions; 10,000. The ones that were used longest ago make room. Redis
    /// does without this bound, since there the server's memory is the bound.
    pub max_sessions: usize,
    /// Most messages of a session; 10,000. The oldest make room.
    pub max_messages: usize,
    /// Most bytes of a session, its messages as JSON; 16 MiB. The oldest make room.
    pub max_session_bytes: usize,
    /// Most bytes of all sessions in memory; 256 MiB.
    pub max_memory_bytes: usize,
}

impl Default for SessionOptions {
    fn default() -> Self {
        SessionOptions {
            expire: Some(Duration::from_secs(7200)),
            max_sessions: 10_000,
            max_messages: 10_000,
            max_session_bytes: 16 << 20,
            max_memory_bytes: 256 << 20,
        }
    }
}

impl SessionOptions {
    /// The JSON text of each message.
    ///
    /// # Errors
    /// `Refused` for a message that is larger than a session may be.
    pub(crate) fn texts(&self, turns: &[StoredMessage]) -> Result<Vec<String>, StoreError> {
        turns.iter().map(|turn| self.text(turn)).collect()
    }

    fn text(&self, turn: &StoredMessage) -> Result<String, StoreError> {
        let refused = |reason: String| {
            let message = format!("cannot store message {:?}: {reason}", turn.id);
            StoreError::new(StoreErrorKind::Refused, message)
        };
        let text = serde_json::to_string(turn).map_err(|error| refused(error.to_string()))?;
        let (length, limit) = (text.len(), self.max_session_bytes);
        if length > limit {
            return Err(refused(format!(
                "it has {length} bytes, and the limit of a session is {limit} (max_session_bytes)"
            )));
        }
        Ok(text)
    }

    /// Sessions that were used before this moment have expired.
    pub(crate) fn expired_before(&self, now_ms: u64) -> u64 {
        let expire = self.expire.map_or(u128::MAX, |time| time.as_millis());
        now_ms.saturating_sub(u64::try_from(expire).unwrap_or(u64::MAX))
    }
}
