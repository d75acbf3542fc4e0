//! Detection of models that repeat themselves: the same calls with the same results.
//!
//! Equal calls alone are not a repetition: a model that polls a state asks again until it has
//! changed. Only a round that brings nothing new counts: each of its calls was made before, in this
//! run, with the same arguments and the same result.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use quillet_core::{Message, ToolCall};
use serde_json::{Map, Value as Json};

/// Calls of one turn with their results as the model reads them.
pub(crate) type CallRound = Vec<(ToolCall, Message)>;

/// Calls so far, with the number of repetitions since something was new.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    seen: HashMap<u64, u32>,
}

impl Repeats {
    /// Records a round; returns whether each of its calls has now been made `most` times with
    /// nothing new in between. 0 is no limit; less than 2 cannot be a repetition.
    pub(crate) fn circle(&mut self, round: &CallRound, most: u32) -> bool {
        if most == 0 || round.is_empty() {
            return false;
        }
        let calls: Vec<u64> = round
            .iter()
            .map(|(call, result)| mark(call, result))
            .collect();
        // Something new is progress, so older repetitions no longer count.
        if calls.iter().any(|call| !self.seen.contains_key(call)) {
            self.seen.values_mut().for_each(|times| *times = 0);
        }
        let mut counted = Vec::with_capacity(calls.len());
        for call in &calls {
            // The same call twice in one turn counts once.
            if !counted.contains(call) {
                *self.seen.entry(*call).or_default() += 1;
                counted.push(*call);
            }
        }
        let often = |call: &u64| {
            self.seen
                .get(call)
                .is_some_and(|times| *times >= most.max(2))
        };
        counted.iter().all(often)
    }
}

/// Digest of a call and its result. The order of arguments and white space are ignored; unparsable
/// arguments count as equal, wherever they break off.
fn mark(call: &ToolCall, result: &Message) -> u64 {
    let mut hasher = DefaultHasher::new();
    call.name.hash(&mut hasher);
    let text = call.arguments.trim();
    match serde_json::from_str::<Map<String, Json>>(text) {
        Ok(arguments) => {
            hash(&Json::Object(arguments), &mut hasher);
            result.content.to_string().hash(&mut hasher);
            result.is_error.hash(&mut hasher);
        }
        Err(_) if text.is_empty() || text == "null" => {
            result.content.to_string().hash(&mut hasher);
            result.is_error.hash(&mut hasher);
        }
        // Without the result: its message depends on where the arguments break off.
        Err(_) => "unreadable".hash(&mut hasher),
    }
    hasher.finish()
}

/// Objects that differ only in member order are equal.
fn hash(value: &Json, hasher: &mut DefaultHasher) {
    match value {
        Json::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| name.as_str());
            // The lengths keep differently nested values apart.
            members.len().hash(hasher);
            for (name, value) in members {
                name.hash(hasher);
                hash(value, hasher);
            }
        }
        Json::Array(items) => {
            items.len().hash(hasher);
            items.iter().for_each(|item| hash(item, hasher));
        }
        other => other.to_string().hash(hasher),
    }
}

/// Counter of equal consecutive calls in one turn.
#[derive(Debug, Default)]
pub(crate) struct DuplicateCalls {
    last: Option<(String, Map<String, Json>)>,
    times: u32,
}

impl DuplicateCalls {
    /// Counts a call; returns whether it was made `most` times in a row before. 0 is no limit.
    pub(crate) fn too_often(
        &mut self,
        name: &str,
        arguments: &Map<String, Json>,
        most: u32,
    ) -> bool {
        let last = self.last.as_ref();
        if last.is_some_and(|(tool, given)| tool == name && given == arguments) {
            self.times = self.times.saturating_add(1);
        } else {
            self.last = Some((name.to_owned(), arguments.clone()));
            self.times = 1;
        }
        most > 0 && self.times > most
    }
}
