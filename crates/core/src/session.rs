//! Trait for stores of conversations.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::store::StoreError;
use crate::{BoxFuture, Message};

/// A stored message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredMessage {
    /// Its id; unique in its session.
    pub id: String,
    /// Creation time in milliseconds since 1970.
    pub created_ms: u64,
    /// The message.
    #[serde(flatten)]
    pub message: Message,
    /// Skills that were loaded when the assistant wrote the message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loaded_skills: Vec<String>,
    /// Whether the answer was cancelled or truncated.
    #[serde(default, skip_serializing_if = "is_false")]
    pub partial: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// A conversation, for lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionInfo {
    /// Its id.
    pub id: Arc<str>,
    /// Number of messages.
    pub messages: u64,
    /// Time of the last message, in milliseconds since 1970.
    pub updated_ms: u64,
}

/// A store of conversations, in memory, SQLite or Redis.
pub trait Sessions: Send + Sync + fmt::Debug {
    /// Describes the store and its location, without secrets.
    fn describe(&self) -> String;

    /// Returns the last `most` messages, oldest first; empty if the session does not exist.
    fn load<'a>(
        &'a self,
        session: &'a str,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredMessage>, StoreError>>;

    /// Appends messages, all or none. Creates the session if it does not exist.
    fn append<'a>(
        &'a self,
        session: &'a str,
        turns: &'a [StoredMessage],
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Deletes a session; `false` if it does not exist.
    fn remove<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Returns the `most` recently used sessions, latest first.
    fn list(&self, most: usize) -> BoxFuture<'_, Result<Vec<SessionInfo>, StoreError>>;
}
