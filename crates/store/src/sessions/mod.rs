//! Sessions in memory, in SQLite or in Redis. All stores enforce the same limits in the same way,
//! so a service can switch between them.

mod memory;
mod sqlite;

use std::time::Duration;

use quillet_core::session::StoredMessage;
use quillet_core::store::{StoreError, StoreErrorKind};

pub use memory::MemorySessions;
pub use sqlite::SqliteSessions;

/// Limits on sessions.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// How long a session is stored after its last message; 7200 s, as in Chat Shell's
    /// `CHAT_HISTORY_EXPIRE_SECONDS`. `None` means no limit.
    pub expire: Option<Duration>,
    /// Maximum number of sessions; 10,000. Beyond this number, the least recently used sessions are
    /// removed. This limit does not apply to Redis, where only the server's memory is limited.
    pub max_sessions: usize,
    /// Maximum number of messages in a session; 10,000. Beyond this number, the oldest messages are
    /// removed.
    pub max_messages: usize,
    /// Maximum size of a session's messages as JSON; 16 MiB. Beyond this size, the oldest messages
    /// are removed.
    pub max_session_bytes: usize,
    /// Maximum size of all sessions in memory; 256 MiB.
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
    /// Returns the JSON of each message.
    ///
    /// # Errors
    /// `Refused` for a message that exceeds the limit of a session.
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

    /// Returns the time before which sessions have expired, by their last use.
    pub(crate) fn expired_before(&self, now_ms: u64) -> u64 {
        let expire = self.expire.map_or(u128::MAX, |time| time.as_millis());
        now_ms.saturating_sub(u64::try_from(expire).unwrap_or(u64::MAX))
    }
}
