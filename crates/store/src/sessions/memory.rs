//! In-memory sessions.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use quillet_core::lock::lock;
use quillet_core::session::{SessionInfo, Sessions, StoredMessage};
use quillet_core::store::StoreError;
use quillet_core::{BoxFuture, clock};

use super::SessionOptions;
use crate::ids;

/// In-memory sessions.
///
/// # Examples
///
/// ```
/// use quillet_core::session::{Sessions, StoredMessage};
/// use quillet_core::{Message, Role};
/// use quillet_store::{MemorySessions, SessionOptions};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let sessions = MemorySessions::new(SessionOptions::default());
/// let turn = StoredMessage {
///     id: "1".into(),
///     created_ms: 0,
///     message: Message::new(Role::User, "Hello"),
///     loaded_skills: Vec::new(),
///     partial: false,
/// };
/// sessions.append("task-1", &[turn.clone()]).await?;
/// assert_eq!(sessions.load("task-1", 10).await?, [turn]);
/// # Ok::<(), quillet_core::store::StoreError>(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct MemorySessions {
    options: SessionOptions,
    kept: Mutex<SessionMap>,
}

#[derive(Debug, Default)]
struct SessionMap {
    sessions: HashMap<Arc<str>, SessionEntry>,
    /// Sessions by last use.
    order: BTreeMap<u64, Arc<str>>,
    uses: u64,
    bytes: usize,
}

#[derive(Debug, Default)]
struct SessionEntry {
    turns: VecDeque<(StoredMessage, usize)>,
    bytes: usize,
    updated_ms: u64,
    /// Position in the order of use.
    used: u64,
}

impl MemorySessions {
    /// Creates an empty store.
    #[must_use]
    pub fn new(options: SessionOptions) -> Self {
        MemorySessions {
            options,
            kept: Mutex::default(),
        }
    }

    /// Accesses the sessions after removing expired ones. No method panics while it holds the lock,
    /// so a poisoned lock is still consistent.
    fn with<T>(&self, work: impl FnOnce(&mut SessionMap) -> T) -> T {
        let mut kept = lock(&self.kept);
        let before = self.options.expired_before(clock::millis());
        kept.drop_while(|kept| kept.oldest().is_some_and(|at| at.updated_ms < before));
        work(&mut kept)
    }

    fn add(&self, session: &str, turns: &[StoredMessage]) -> Result<(), StoreError> {
        let id = ids::checked("session", session)?;
        let sizes = self.options.texts(turns)?;
        if turns.is_empty() {
            return Ok(());
        }
        let turns = turns.iter().cloned().zip(sizes.iter().map(String::len));
        self.with(|kept| {
            kept.add(id, turns, &self.options);
            kept.drop_while(|kept| {
                let many = kept.sessions.len() > self.options.max_sessions;
                many || kept.bytes > self.options.max_memory_bytes
            });
        });
        Ok(())
    }
}

impl SessionMap {
    fn oldest(&self) -> Option<&SessionEntry> {
        let (_, id) = self.order.first_key_value()?;
        self.sessions.get(id)
    }

    fn drop_while(&mut self, unwanted: impl Fn(&SessionMap) -> bool) {
        while unwanted(self) {
            let Some((_, id)) = self.order.first_key_value() else {
                return;
            };
            let id = id.clone();
            self.remove(&id);
        }
    }

    fn remove(&mut self, id: &str) -> bool {
        let Some(session) = self.sessions.remove(id) else {
            return false;
        };
        self.order.remove(&session.used);
        self.bytes -= session.bytes;
        true
    }

    fn add(
        &mut self,
        id: &str,
        turns: impl Iterator<Item = (StoredMessage, usize)>,
        options: &SessionOptions,
    ) {
        let id: Arc<str> = id.into();
        self.uses += 1;
        let session = self.sessions.entry(id.clone()).or_default();
        self.order.remove(&session.used);
        self.order.insert(self.uses, id);
        session.used = self.uses;
        session.updated_ms = clock::millis();
        self.bytes -= session.bytes;
        session.add(turns, options);
        self.bytes += session.bytes;
    }
}

impl SessionEntry {
    fn add(
        &mut self,
        turns: impl Iterator<Item = (StoredMessage, usize)>,
        options: &SessionOptions,
    ) {
        for (turn, size) in turns {
            self.turns.push_back((turn, size));
            self.bytes += size;
        }
        while self.turns.len() > options.max_messages || self.bytes > options.max_session_bytes {
            let Some((_, size)) = self.turns.pop_front() else {
                return;
            };
            self.bytes -= size;
        }
    }

    fn last(&self, most: usize) -> Vec<StoredMessage> {
        let first = self.turns.len().saturating_sub(most);
        let turns = self.turns.iter().skip(first);
        turns.map(|(turn, _)| turn.clone()).collect()
    }
}

impl Sessions for MemorySessions {
    fn describe(&self) -> String {
        "memory".to_owned()
    }

    fn load<'a>(
        &'a self,
        session: &'a str,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<StoredMessage>, StoreError>> {
        async move {
            let id = ids::checked("session", session)?;
            let last = |kept: &mut SessionMap| kept.sessions.get(id).map(|found| found.last(most));
            Ok(self.with(last).unwrap_or_default())
        }
        .boxed()
    }

    fn append<'a>(
        &'a self,
        session: &'a str,
        turns: &'a [StoredMessage],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        async move { self.add(session, turns) }.boxed()
    }

    fn remove<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        async move {
            let id = ids::checked("session", session)?;
            Ok(self.with(|kept| kept.remove(id)))
        }
        .boxed()
    }

    fn list(&self, most: usize) -> BoxFuture<'_, Result<Vec<SessionInfo>, StoreError>> {
        let info = |(id, session): (&Arc<str>, &SessionEntry)| SessionInfo {
            id: id.clone(),
            messages: session.turns.len() as u64,
            updated_ms: session.updated_ms,
        };
        let list = self.with(|kept| {
            let latest = kept.order.values().rev().take(most);
            let found = latest.filter_map(|id| kept.sessions.get_key_value(id));
            found.map(info).collect()
        });
        async move { Ok(list) }.boxed()
    }
}
