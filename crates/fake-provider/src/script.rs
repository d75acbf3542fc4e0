//! How a test says what the provider answers: a list of turns, one for each key, or a function.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::named;
use crate::plan::PreResponseAction;
use crate::request::RecordedRequest;
use crate::turn::ScriptedReply;

type ReplySelector = Arc<dyn Fn(&RecordedRequest) -> ScriptedReply + Send + Sync>;

/// Which answer a request gets.
pub struct ReplyScript {
    turns: Vec<ScriptedReply>,
    keys: HashMap<String, Vec<ScriptedReply>>,
    choose: Option<ReplySelector>,
    /// How long the first batch is silent after it was taken.
    first_batch: Duration,
    /// How many requests each key has made.
    made: Mutex<HashMap<Option<String>, usize>>,
}

impl ReplyScript {
    /// These turns in order, for each key from the first one on. The last one
    /// answers everything that follows; without any, [`ScriptedReply::default`] does.
    pub fn turns(turns: impl IntoIterator<Item = ScriptedReply>) -> Self {
        ReplyScript {
            turns: turns.into_iter().collect(),
            keys: HashMap::new(),
            choose: None,
            first_batch: Duration::ZERO,
            made: Mutex::default(),
        }
    }

    /// What the function says.
    pub fn function(
        choose: impl Fn(&RecordedRequest) -> ScriptedReply + Send + Sync + 'static,
    ) -> Self {
        let mut script = ReplyScript::turns([]);
        script.choose = Some(Arc::new(choose));
        script
    }

    /// These turns for this key, in place of those for all.
    #[must_use]
    pub fn for_key(
        mut self,
        key: impl Into<String>,
        turns: impl IntoIterator<Item = ScriptedReply>,
    ) -> Self {
        self.keys.insert(key.into(), turns.into_iter().collect());
        self
    }

    /// The first batch is taken, and nothing is said of it for a time.
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

    /// The answer to this request.
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
        // Counted per key, so that parallel tests with different keys do not take each other's
        // turns.
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let count = made.entry(asked.key.clone()).or_default();
        *count += 1;
        *count - 1
    }
}

/// [`ScriptedReply::default`] for everything.
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
