//! Sessions in Redis: a list of messages for each session, and an index of all sessions.
//!
//! `<prefix>sessions:{<id>}` is the list, `…:bytes` its size, and `<prefix>sessions` a sorted set
//! of the ids by last use. List and size change together. In a cluster the index is in another hash
//! slot; it is updated before or together with the session, and entries of missing sessions are
//! skipped.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::join;
use quillet_core::session::{SessionInfo, Sessions, StoredMessage};
use quillet_core::store::{StoreError, StoreErrorKind};
use quillet_core::{BoxFuture, clock};
use redis::{Cmd, Value};

use super::client::RedisClient;
use super::connections::KeyedCommand;
use super::script::{count, list, number, pairs, script};
use super::settings::RedisSettings;
use crate::address::RedisAddress;
use crate::changes::ChangeBus;
use crate::sessions::SessionOptions;
use crate::{StoreOptions, ids};

/// KEYS: list, size. ARGV: maximum messages, maximum bytes, lifetime in milliseconds or 0,
/// messages.
const APPEND: &str = "
local bytes = 0
if redis.call('EXISTS', KEYS[1]) == 1 then bytes = tonumber(redis.call('GET', KEYS[2]) or '0') end
for i = 4, #ARGV do
  redis.call('RPUSH', KEYS[1], ARGV[i])
  bytes = bytes + #ARGV[i]
end
local count = redis.call('LLEN', KEYS[1])
while count > tonumber(ARGV[1]) or bytes > tonumber(ARGV[2]) do
  local old = redis.call('LPOP', KEYS[1])
  if not old then break end
  bytes = bytes - #old
  count = count - 1
end
redis.call('SET', KEYS[2], bytes)
if ARGV[3] ~= '0' then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  redis.call('PEXPIRE', KEYS[2], ARGV[3])
end
return count";

/// Sessions in Redis.
#[derive(Debug)]
pub struct RedisSessions {
    client: RedisClient,
    options: SessionOptions,
}

impl RedisSessions {
    /// Starts connecting without waiting for Redis. Call this inside a Tokio runtime.
    ///
    /// # Errors
    /// `Configuration` for a missing or invalid certificate file.
    pub fn open(
        address: &RedisAddress,
        store: &StoreOptions,
        options: SessionOptions,
    ) -> Result<Self, StoreError> {
        let settings = RedisSettings::quiet(address, store)?;
        let client = RedisClient::open(settings, ChangeBus::new());
        Ok(RedisSessions { client, options })
    }

    /// Returns the name of a session's list.
    fn name(&self, session: &str) -> Result<String, StoreError> {
        let id = ids::checked("session", session)?;
        Ok(self.client.settings.layout.tagged("sessions", id))
    }

    /// Returns a command on the index.
    fn index(&self, command: &str) -> KeyedCommand {
        let name = self.client.settings.layout.group("sessions");
        request(redis::cmd(command), &name)
    }

    async fn add(&self, session: &str, turns: &[StoredMessage]) -> Result<(), StoreError> {
        let name = self.name(session)?;
        let texts = self.options.texts(turns)?;
        if texts.is_empty() {
            return Ok(());
        }
        let live = self
            .options
            .expire
            .map_or(0, |time| time.as_millis().max(1));
        let (messages, bytes) = (self.options.max_messages, self.options.max_session_bytes);
        let mut arguments = [messages.to_string(), bytes.to_string(), live.to_string()].to_vec();
        arguments.extend(texts);
        let append = script(APPEND, &[&name, &format!("{name}:bytes")], &arguments);
        let (appended, indexed) = join(self.client.ask(append), self.note(session)).await;
        appended?;
        if let Err(error) = indexed {
            // The messages are stored; if the caller retried after an error, they would be stored
            // twice.
            tracing::warn!(%session, %error, "session omitted from the list of sessions");
        }
        Ok(())
    }

    /// Updates the last use of a session in the index, and removes expired sessions.
    async fn note(&self, session: &str) -> Result<(), StoreError> {
        let now = clock::millis();
        let mut add = self.index("ZADD");
        add.command.arg(now).arg(session);
        let mut expired = self.index("ZREMRANGEBYSCORE");
        let before = self.options.expired_before(now);
        expired.command.arg("-inf").arg(format!("({before}"));
        self.client.ask(add).await?;
        self.client.ask(expired).await?;
        Ok(())
    }

    async fn last(&self, session: &str, most: usize) -> Result<Vec<StoredMessage>, StoreError> {
        let name = self.name(session)?;
        if most == 0 {
            return Ok(Vec::new());
        }
        let first = i64::try_from(most).unwrap_or(i64::MAX);
        let mut range = request(redis::cmd("LRANGE"), &name);
        range.command.arg(-first).arg(-1);
        let messages = list(self.client.ask(range).await?);
        let parsed = messages.iter().map(|message| turn(&name, message));
        parsed.collect()
    }

    async fn forget(&self, session: &str) -> Result<bool, StoreError> {
        let name = self.name(session)?;
        let mut delete = request(redis::cmd("DEL"), &name);
        delete.command.arg(format!("{name}:bytes"));
        let removed = number(&self.client.ask(delete).await?) > 0;
        let mut note = self.index("ZREM");
        note.command.arg(session);
        self.client.ask(note).await?;
        Ok(removed)
    }

    async fn latest(&self, most: usize) -> Result<Vec<SessionInfo>, StoreError> {
        let last = i64::try_from(most).unwrap_or(i64::MAX) - 1;
        let mut range = self.index("ZREVRANGE");
        range.command.arg(0).arg(last).arg("WITHSCORES");
        if most == 0 {
            return Ok(Vec::new());
        }
        let sessions = pairs(self.client.ask(range).await?);
        let length = |(id, _): &(String, u64)| {
            let name = self.client.settings.layout.tagged("sessions", id);
            request(redis::cmd("LLEN"), &name)
        };
        let lengths: Vec<KeyedCommand> = sessions.iter().map(length).collect();
        let lengths = self.client.run(&lengths).await?;
        let info = |((id, updated_ms), length): ((String, u64), Value)| SessionInfo {
            id: Arc::from(id),
            messages: count(&length),
            updated_ms,
        };
        let all = sessions.into_iter().zip(lengths).map(info);
        Ok(all.filter(|info| info.messages > 0).collect())
    }
}

fn request(mut command: Cmd, name: &str) -> KeyedCommand {
    command.arg(name);
    KeyedCommand {
        name: name.to_owned(),
        command,
    }
}

fn turn(name: &str, message: &Value) -> Result<StoredMessage, StoreError> {
    let bytes: &[u8] = match message {
        Value::BulkString(bytes) => bytes,
        _ => b"",
    };
    serde_json::from_slice(bytes).map_err(|error| {
        let message = format!("{name}: its value is not a message: {error}");
        StoreError::new(StoreErrorKind::Corrupt, message)
    })
}

impl Sessions for RedisSessions {
    fn describe(&self) -> String {
        self.client.settings.address.to_string()
    }

    fn load<'a>(
        &'a self,
        session: &'a str,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredMessage>, StoreError>> {
        self.last(session, most).boxed()
    }

    fn append<'a>(
        &'a self,
        session: &'a str,
        turns: &'a [StoredMessage],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.add(session, turns).boxed()
    }

    fn remove<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.forget(session).boxed()
    }

    fn list(&self, most: usize) -> BoxFuture<'_, Result<Vec<SessionInfo>, StoreError>> {
        self.latest(most).boxed()
    }
}
