//! Retention of loaded skills over turns.

use std::collections::HashMap;

use quillet_core::Role;
use quillet_core::session::StoredMessage;

/// Number of turns that a skill stays loaded after the one that loaded it, as in Chat Shell.
pub const RETAINED_TURNS: usize = 5;

/// Returns skills of earlier turns that are still loaded, in loading order, each with its remaining
/// turns after the current one. A turn is a user message with all of its answers.
///
/// An answer names all skills that were loaded at that time. So a skill counts from the first turn
/// of an unbroken sequence that names it; if the sequence is longer than the retention, it was
/// loaded again.
#[must_use]
pub fn retained(history: &[StoredMessage]) -> Vec<(String, usize)> {
    let mut lives: HashMap<&str, SkillLifetime> = HashMap::new();
    let mut now = 0;
    for (index, turn) in history.iter().enumerate() {
        now += usize::from(turn.message.role == Role::User && index > 0);
        for name in &turn.loaded_skills {
            let life = lives.entry(name).or_insert(SkillLifetime::new(now, index));
            if now > life.named + 1 || now > life.loaded + RETAINED_TURNS {
                *life = SkillLifetime::new(now, index);
            }
            life.named = now;
        }
    }
    let now = now + usize::from(!history.is_empty());
    let mut alive: Vec<(&str, SkillLifetime)> = lives
        .into_iter()
        .filter(|(_, life)| now <= life.loaded + RETAINED_TURNS)
        .collect();
    // A map has no order, and the system prompt must be the same each time.
    alive.sort_by_key(|(name, life)| (life.message, *name));
    let left =
        |(name, life): (&str, SkillLifetime)| (name.to_owned(), life.loaded + RETAINED_TURNS - now);
    alive.into_iter().map(left).collect()
}

#[derive(Clone, Copy)]
struct SkillLifetime {
    /// Turn that loaded it.
    loaded: usize,
    /// Last turn that named it.
    named: usize,
    /// Message that named it first, for the order.
    message: usize,
}

impl SkillLifetime {
    fn new(turn: usize, message: usize) -> Self {
        SkillLifetime {
            loaded: turn,
            named: turn,
            message,
        }
    }
}
