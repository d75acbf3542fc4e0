//! How a test says what the provider answers: a list of turns, one for each key, or a function.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::asked::Asked;
use crate::named;
use crate::plan::Before;
use crate::turn::Turn;

type Choose = Arc<dyn Fn(&Asked) -> Turn + Send + Sync>;

/// Which answer a request gets.
pub struct Script {
    turns: Vec<Turn>,
    keys: HashMap<String, Vec<Turn>>,
    choose: Option<Choose>,
    /// How long the first batch is silent after it was taken.
    first_batch: Duration,
    /// How many requests each key has made.
    made: Mutex<HashMap<Option<String>, usize>>,
}

impl Script {
    /// These turns in order, for each key from the first one on. The last one
    /// answers everything that follows; without any, [`Turn::default`] does.
    pub fn turns(turns: impl IntoIterator<Item = Turn>) -> Self {
        Script {
            turns: turns.into_iter().collect(),
            keys: HashMap::new(),
            choose: None,
            first_batch: Duration::ZERO,
            made: Mutex::default(),
        }
    }

    /// What the function says.
    pub fn function(choose: impl Fn(&Asked) -> Turn + Send + Sync + 'static) -> Self {
        let mut script = Script::turns([]);
        script.choose = Some(Arc::new(choose));
        script
    }

    /// These turns for this key, in place of those for all.
    #[must_use]
    pub fn for_key(
        mut self,
        key: impl Into<String>,
        turns: impl IntoIterator<Item = Turn>,
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

    pub(crate) fn before_first_batch(&self, number: usize) -> Before {
        let time = if number == 1 {
            self.first_batch
        } else {
            Duration::ZERO
        };
        Before::Wait(time)
    }

    /// The answer to this request.
    pub(crate) fn answer(&self, asked: &Asked) -> Turn {
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

    fn count(&self, asked: &Asked) -> usize {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let count = made.entry(asked.key.clone()).or_default();
        *count += 1;
        *count - 1
    }
}

/// [`Turn::default`] for everything.
impl Default for Script {
    fn default() -> Self {
        Script::turns([])
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script")
            .field("turns", &self.turns)
            .field("keys", &self.keys)
            .finish_non_exhaustive()
    }
}
