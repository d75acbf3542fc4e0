//! The contract with stores of conversations.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::store::StoreError;
use crate::{BoxFuture, Message};

/// One message of a conversation, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredMessage {
    /// Its id; unique in its session.
    pub id: String,
    /// Milliseconds since 1970.
    pub created_ms: u64,
    /// What was said.
    #[serde(flatten)]
    pub message: Message,
    /// Skills that were loaded when an assistant said this.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loaded_skills: Vec<String>,
    /// Whether the answer was cancelled or cut before its end.
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
    /// How many messages it holds.
    pub messages: u64,
    /// When the last one was added, in milliseconds since 1970.
    pub updated_ms: u64,
}

/// A store of conversations: memory, SQLite, Redis.
pub trait Sessions: Send + Sync + fmt::Debug {
    /// What and where it is, without secrets.
    fn describe(&self) -> String;

    /// The last `most` messages, oldest first; none if there is no such session.
    fn load<'a>(
        &'a self,
        session: &'a str,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredMessage>, StoreError>>;

    /// Adds messages at the end, all or none; makes the session if there is none.
    fn append<'a>(
        &'a self,
        session: &'a str,
        turns: &'a [StoredMessage],
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Forgets a session; `false` if there was none.
    fn remove<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// The `most` sessions that were used last, the latest first.
    fn list(&self, most: usize) -> BoxFuture<'_, Result<Vec<SessionInfo>, StoreError>>;
}
