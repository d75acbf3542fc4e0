//! Units that are retained or removed as a whole: a message, or a turn with its calls and their
//! results.

use std::ops::Range;

use quillet_core::Role;

use super::conversation::{Conversation, CountedMessage};

/// Messages that are retained or removed together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MessageGroup {
    /// Indexes of its messages.
    pub(super) range: Range<usize>,
    /// Their tokens.
    pub(super) tokens: u64,
    /// Whether it must not be removed: the question, and system messages.
    pub(super) pinned: bool,
}

/// Returns the units of a conversation, in order.
pub(super) fn units(conversation: &Conversation) -> Vec<MessageGroup> {
    let mut units: Vec<MessageGroup> = Vec::with_capacity(conversation.items.len());
    for (index, item) in conversation.items.iter().enumerate() {
        match units.last_mut() {
            // A result stays with its call, because providers reject one without the other.
            Some(unit) if item.message.role == Role::Tool => {
                unit.range.end = index + 1;
                unit.tokens += item.tokens;
            }
            _ => units.push(MessageGroup {
                range: index..index + 1,
                tokens: item.tokens,
                pinned: conversation.question == Some(index) || is_system(item),
            }),
        }
    }
    units
}

pub(super) fn is_system(item: &CountedMessage) -> bool {
    matches!(item.message.role, Role::System | Role::Developer)
}

/// Returns the units between the first and the last retained messages. System messages do not
/// count. A unit is retained if one of its messages is.
pub(super) fn middle(
    conversation: &Conversation,
    units: &[MessageGroup],
    first: usize,
    last: usize,
) -> Range<usize> {
    let spoken = |unit: &&MessageGroup| {
        !conversation
            .items
            .get(unit.range.start)
            .is_some_and(is_system)
    };
    let count = |units: &mut dyn Iterator<Item = (usize, &MessageGroup)>, most: usize| {
        let mut kept = 0;
        units
            .filter(|(_, unit)| spoken(unit))
            .take_while(|(_, unit)| {
                let stays = kept < most;
                kept += unit.range.len();
                stays
            })
            .last()
            .map(|(index, _)| index)
    };
    let start = count(&mut units.iter().enumerate(), first).map_or(0, |index| index + 1);
    let end = count(&mut units.iter().enumerate().rev(), last).unwrap_or(units.len());
    // In a short conversation the retained ends overlap, and the middle is empty.
    start..end.max(start)
}
