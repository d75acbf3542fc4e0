//! Scripts of a provider: a list of replies per API key, or a function of the request.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::named;
use crate::plan::PreResponseAction;
use crate::request::RecordedRequest;
use crate::turn::ScriptedReply;

type ReplySelector = Arc<dyn Fn(&RecordedRequest) -> ScriptedReply + Send + Sync>;

/// Selects the reply to each request.
pub struct ReplyScript {
    turns: Vec<ScriptedReply>,
    keys: HashMap<String, Vec<ScriptedReply>>,
    choose: Option<ReplySelector>,
    /// The delay before the response to the first accepted batch.
    first_batch: Duration,
    /// The number of requests per key.
    made: Mutex<HashMap<Option<String>, usize>>,
}

impl ReplyScript {
    /// Creates a script that sends these replies in order, counted per API key. The last reply
    /// answers all further requests. An empty list means [`ScriptedReply::default`].
    pub fn turns(turns: impl IntoIterator<Item = ScriptedReply>) -> Self {
        ReplyScript {
            turns: turns.into_iter().collect(),
            keys: HashMap::new(),
            choose: None,
            first_batch: Duration::ZERO,
            made: Mutex::default(),
        }
    }

    /// Creates a script that calls a function for each request.
    pub fn function(
        choose: impl Fn(&RecordedRequest) -> ScriptedReply + Send + Sync + 'static,
    ) -> Self {
        let mut script = ReplyScript::turns([]);
        script.choose = Some(Arc::new(choose));
        script
    }

    /// Sets separate replies for one API key.
    #[must_use]
    pub fn for_key(
        mut self,
        key: impl Into<String>,
        turns: impl IntoIterator<Item = ScriptedReply>,
    ) -> Self {
        self.keys.insert(key.into(), turns.into_iter().collect());
        self
    }

    /// Accepts the first batch immediately, but delays the response to it.
    #[must_use]
    pub fn silent_first_batch(mut self, time: Duration) -> Self {
        self.first_batch = time;
        self
    }

    pub(crate) fn before_first_batch(&self, number: usize) -> PreResponseAction {
        let time = if number == 1 {
            self.first_batch
        } else {
            Duration::ZERO
        };
        PreResponseAction::Wait(time)
    }

    /// Returns the reply to a request.
    pub(crate) fn answer(&self, asked: &RecordedRequest) -> ScriptedReply {
        if let Some(turn) = named::turn(asked) {
            return turn;
        }
        if let Some(choose) = &self.choose {
            return choose(asked);
        }
        let own = asked.key.as_ref().and_then(|key| self.keys.get(key));
        let turns = own.unwrap_or(&self.turns);
        let index = self.count(asked);
        let turn = turns.get(index).or(turns.last());
        turn.cloned().unwrap_or_default()
    }

    fn count(&self, asked: &RecordedRequest) -> usize {
        // Requests are counted per key so that parallel tests do not consume each other's replies.
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let count = made.entry(asked.key.clone()).or_default();
        *count += 1;
        *count - 1
    }
}

/// Sends [`ScriptedReply::default`] for every request.
impl Default for ReplyScript {
    fn default() -> Self {
        ReplyScript::turns([])
    }
}

impl fmt::Debug for ReplyScript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script")
            .field("turns", &self.turns)
            .field("keys", &self.keys)
            .finish_non_exhaustive()
    }
}
