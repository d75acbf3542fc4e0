//! Bytes that a run keeps: variables, messages, results of scripts.
//!
//! What comes is added up, what goes is not; so the sum says too much. Where it may be too much,
//! all that is there is counted again: seldom, since an eighth of the limit has to come in between.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use quillet_core::{Span, Table, Value};

use super::budget::limit;
use super::instance::{Instance, World, lock};
use super::scope::Scope;
use super::state::{Entry, State};
use crate::error::ScriptError;

/// What a message takes besides its text.
const ENTRY: usize = std::mem::size_of::<Entry>();

/// What has come since the last count, and whom to count.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    fresh: AtomicUsize,
    holders: Mutex<Holders>,
}

/// The scripts of a run that may still be there.
#[derive(Debug, Default)]
struct Holders {
    all: Vec<Weak<Instance>>,
    /// How many there may be before those that are gone are taken out.
    most: usize,
}

impl Kept {
    /// Something was stored.
    pub(crate) fn add(&self, bytes: usize) {
        self.fresh.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A script of the run, to be counted.
    pub(crate) fn holder(&self, instance: &Arc<Instance>) {
        let mut holders = lock(&self.holders);
        if holders.all.len() >= holders.most {
            holders.all.retain(|holder| holder.strong_count() > 0);
            holders.most = holders.all.len() * 2 + 16;
        }
        holders.all.push(Arc::downgrade(instance));
    }

    fn count(&self) -> usize {
        let holders: Vec<Arc<Instance>> = {
            let holders = lock(&self.holders);
            holders.all.iter().filter_map(Weak::upgrade).collect()
        };
        let weights = holders.iter().map(|instance| weight(&instance.state()));
        weights.fold(0, usize::saturating_add)
    }
}

impl World {
    /// Refuses to go on where the run keeps too much.
    pub(crate) fn room(&self, scope: &Scope, at: Span) -> Result<(), ScriptError> {
        let most = self.budget.limits().bytes;
        if self.kept.fresh.load(Ordering::Relaxed) <= most / 8 {
            return Ok(());
        }
        self.kept.fresh.store(0, Ordering::Relaxed);
        if self.kept.count().saturating_add(self.remembered()) <= most {
            return Ok(());
        }
        let message = format!("the script keeps more than {most} bytes of variables and messages");
        Err(limit(scope, at, message, "limits.bytes"))
    }

    /// Counts an instruction or a turn of a loop.
    pub(crate) async fn step(&self, scope: &Scope, at: Span) -> Result<(), ScriptError> {
        self.room(scope, at)?;
        self.budget.step(scope, at).await
    }

    fn remembered(&self) -> usize {
        let memory = lock(&self.memory);
        let weights = memory
            .iter()
            .map(|(key, (value, _))| key.len().saturating_add(of(value.as_ref())));
        weights.fold(0, usize::saturating_add)
    }
}

/// The weight of a value that may be undefined.
pub(crate) fn of(value: Option<&Value>) -> usize {
    value.map_or(0, Value::weight)
}

fn weight(state: &State) -> usize {
    let tables = [&state.variables, &state.prompt, &state.parameters];
    let tables = tables.into_iter().chain(state.contexts.values()).map(table);
    let messages = state.messages.iter().map(|entry| {
        let thinking = entry.thinking.as_ref().map_or(0, String::len);
        entry.content.weight().saturating_add(thinking + ENTRY)
    });
    let last = [of(state.last.as_ref()), of(state.answer.as_ref())];
    let all = tables.chain(messages).chain(last);
    all.fold(0, usize::saturating_add)
}

fn table(table: &Table) -> usize {
    let weights = table
        .iter()
        .map(|(name, value)| value.weight().saturating_add(name.len()));
    weights.fold(0, usize::saturating_add)
}
