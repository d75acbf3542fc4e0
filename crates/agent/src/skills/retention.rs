//! Retention of loaded skills across turns.

use std::collections::HashMap;

use quillet_core::Role;
use quillet_core::session::StoredMessage;

/// Number of further turns for which a skill stays loaded, as in Chat Shell.
pub const RETAINED_TURNS: usize = 5;

/// Returns the skills of earlier turns that are still loaded, in loading order, and for each the
/// number of turns that remain after the current turn. A turn is a user message and all of its
/// answers.
///
/// An answer names all skills that were loaded at the time. A skill therefore counts as loaded in
/// the first turn of an unbroken sequence of turns that name it. If the sequence is longer than the
/// retention, the skill was loaded again.
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
    // Sorted, because a map has no order and the system prompt must be deterministic.
    alive.sort_by_key(|(name, life)| (life.message, *name));
    let left =
        |(name, life): (&str, SkillLifetime)| (name.to_owned(), life.loaded + RETAINED_TURNS - now);
    alive.into_iter().map(left).collect()
}

#[derive(Clone, Copy)]
struct SkillLifetime {
    /// Turn in which it was loaded.
    loaded: usize,
    /// Last turn that named it.
    named: usize,
    /// First message that named it, which determines the order.
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
