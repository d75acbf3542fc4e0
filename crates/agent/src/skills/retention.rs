//! How long a skill stays loaded.

use std::collections::HashMap;

use quillet_core::Role;
use quillet_core::session::StoredMessage;

/// Turns after the one that loaded it that a skill lives through, as in Chat Shell.
pub const RETAINED_TURNS: usize = 5;

/// The skills that earlier turns loaded and that are loaded still, in the order they
/// were, each with the turns that it has left after the one that begins now. A turn
/// is a message of the user and all that was answered.
///
/// An answer names the skills that were loaded when it was given, including those that an earlier
/// turn had loaded. So a skill counts from the first turn of an unbroken sequence that names it;
/// where the sequence is longer than a life, it was loaded again.
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
    alive.sort_by_key(|(name, life)| (life.message, *name));
    let left =
        |(name, life): (&str, SkillLifetime)| (name.to_owned(), life.loaded + RETAINED_TURNS - now);
    alive.into_iter().map(left).collect()
}

#[derive(Clone, Copy)]
struct SkillLifetime {
    /// The turn that loaded it.
    loaded: usize,
    /// The last turn that named it.
    named: usize,
    /// The message that named it first, for the order.
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
