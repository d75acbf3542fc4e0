//! Detects models that repeat themselves: the same calls with the same results.
//!
//! Equal calls alone are not a repetition, because a model may poll a state until it changes. A
//! round is a repetition only if each of its calls was made before in this run, with the same
//! arguments and the same result.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use quillet_core::{Message, ToolCall};
use serde_json::{Map, Value as Json};

/// Calls of one turn, with their results as the model reads them.
pub(crate) type CallRound = Vec<(ToolCall, Message)>;

/// Calls so far, with the number of repetitions since the last new call.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    seen: HashMap<u64, u32>,
}

impl Repeats {
    /// Records a round. Returns whether each of its calls has now been made `most` times without a
    /// new call or result in between. 0 means no limit, and 1 counts as 2.
    pub(crate) fn circle(&mut self, round: &CallRound, most: u32) -> bool {
        if most == 0 || round.is_empty() {
            return false;
        }
        let calls: Vec<u64> = round
            .iter()
            .map(|(call, result)| mark(call, result))
            .collect();
        // A new call or result is progress, so older repetitions no longer count.
        if calls.iter().any(|call| !self.seen.contains_key(call)) {
            self.seen.values_mut().for_each(|times| *times = 0);
        }
        let mut counted = Vec::with_capacity(calls.len());
        for call in &calls {
            // Identical calls in one turn count once.
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

/// Digest of a call and its result, regardless of argument order and white space. All unparsable
/// arguments count as equal.
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
        // The result is not included, because its message depends on where the arguments are
        // truncated.
        Err(_) => "unreadable".hash(&mut hasher),
    }
    hasher.finish()
}

/// Hashes a value. Objects that differ only in the order of their members are equal.
fn hash(value: &Json, hasher: &mut DefaultHasher) {
    match value {
        Json::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| name.as_str());
            // Lengths distinguish values with different nesting.
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

/// Counts equal consecutive calls in one turn.
#[derive(Debug, Default)]
pub(crate) struct DuplicateCalls {
    last: Option<(String, Map<String, Json>)>,
    times: u32,
}

impl DuplicateCalls {
    /// Counts a call. Returns whether it was already made `most` times in a row. 0 means no limit.
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
