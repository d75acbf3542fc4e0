//! Cuts several texts to a common maximum length, the longest that lets the conversation fit.
//!
//! A common length shortens the longest texts first and leaves short ones unchanged. Tokens are
//! only known after a cut, so the length is searched: first by an estimate, then between the
//! longest length that fits and the shortest that does not.

use quillet_core::Role;
use quillet_core::chat::TokenCounter;

use super::attachment;
use super::conversation::{Conversation, CountedMessage};
use super::cut::{CutTarget, MessageCaps, cut, texts};
use super::window::percent;

/// Maximum number of attempts. The second is usually within the tolerance.
const ATTEMPTS: usize = 10;
/// Minimum percentage of the target for a result to be accepted.
const GOOD: u64 = 93;
/// Percentage of the target that an attempt aims at.
const AIM: u64 = 97;

impl CountedMessage {
    /// Cuts the original message to new limits.
    pub(super) fn set_caps(&mut self, caps: MessageCaps, counter: &dyn TokenCounter) {
        if caps == self.caps {
            return;
        }
        self.caps = caps;
        let (cut, missing) = cut(&self.message, caps);
        let tokens = cut.as_ref().map(|message| counter.count_message(message));
        self.tokens = tokens.unwrap_or(self.whole_tokens);
        (self.cut, self.missing) = (cut, missing);
    }
}

/// A message that may be cut.
struct CutCandidate {
    index: usize,
    /// Current length of each text, in characters.
    pieces: Vec<usize>,
    tokens_per_character: f64,
}

impl CutCandidate {
    fn of(index: usize, item: &CountedMessage, piece: CutTarget, floor: usize) -> Option<Self> {
        let sent = item.sent();
        // Byte lengths are upper bounds of character counts, so most messages can be skipped.
        let bytes: usize = texts(sent).iter().map(|text| text.len()).sum();
        let reasoning = sent.reasoning.as_deref().unwrap_or_default();
        if bytes.max(reasoning.len()) <= floor {
            return None;
        }
        let characters = |text: &str| text.chars().count();
        let mut pieces: Vec<usize> = match piece {
            CutTarget::Texts => texts(sent).into_iter().map(characters).collect(),
            CutTarget::Attachments if sent.role != Role::User => Vec::new(),
            CutTarget::Attachments => texts(sent).into_iter().flat_map(attachments).collect(),
        };
        // Reasoning counts as an additional text, which `cut` removes if it is too long.
        if piece == CutTarget::Texts && sent.role == Role::Assistant {
            pieces.push(characters(reasoning));
        }
        pieces.retain(|length| *length > floor);
        let all = characters(reasoning) + texts(sent).into_iter().map(characters).sum::<usize>();
        (!pieces.is_empty()).then(|| CutCandidate {
            index,
            pieces,
            // An average is enough for the first estimate, because the search counts each attempt
            // exactly.
            tokens_per_character: item.tokens as f64 / all.max(1) as f64,
        })
    }

    fn saved(&self, level: usize) -> f64 {
        let over = self
            .pieces
            .iter()
            .map(|length| length.saturating_sub(level));
        over.sum::<usize>() as f64 * self.tokens_per_character
    }
}

fn attachments(text: &str) -> Vec<usize> {
    let blocks = attachment::find(text).into_iter();
    blocks
        .filter_map(|block| Some(text.get(block)?.chars().count()))
        .collect()
}

/// Cuts texts of these messages to one common length of at least `floor`, so that the conversation
/// is just below `target`, or as close as the floor allows.
pub(super) fn lower(
    conversation: &mut Conversation,
    indexes: &[usize],
    piece: CutTarget,
    floor: usize,
    target: u64,
) {
    let before = conversation.tokens();
    let found = indexes.iter().filter_map(|index| {
        let item = conversation.items.get(*index)?;
        CutCandidate::of(*index, item, piece, floor)
    });
    let candidates: Vec<CutCandidate> = found.collect();
    let lengths = candidates.iter().flat_map(|candidate| &candidate.pieces);
    let Some(longest) = lengths.max().copied().filter(|_| before > target) else {
        return;
    };
    let mut search = LengthSearch {
        // The floor is accepted without counting, because no shorter length may be tried.
        fits: (floor, None),
        over: (longest, before),
        target,
    };
    let mut level = estimate(&candidates, floor, longest, before, target);
    for attempt in 0..ATTEMPTS {
        apply(conversation, &candidates, piece, level);
        match search.next(level, conversation.tokens(), attempt) {
            Some(next) => level = next,
            None => break,
        }
    }
    // The last attempt may have been too long, so the longest length that fits is applied again.
    apply(conversation, &candidates, piece, search.fits.0);
}

fn apply(
    conversation: &mut Conversation,
    candidates: &[CutCandidate],
    piece: CutTarget,
    level: usize,
) {
    let counter = conversation.counter.clone();
    for candidate in candidates {
        if let Some(item) = conversation.items.get_mut(candidate.index) {
            item.set_caps(
                // The limits are based on the state before this compaction, so that attempts do not
                // accumulate.
                item.before
                    .caps
                    .lowered(piece, level)
                    .with(item.caps, piece),
                &*counter,
            );
        }
    }
}

/// Estimates the length that reaches the target.
fn estimate(
    candidates: &[CutCandidate],
    floor: usize,
    longest: usize,
    before: u64,
    target: u64,
) -> usize {
    let wanted = before.saturating_sub(percent(target, AIM)) as f64;
    let (mut low, mut high) = (floor, longest);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        let saved: f64 = candidates
            .iter()
            .map(|candidate| candidate.saved(middle))
            .sum();
        if saved >= wanted {
            low = middle
        } else {
            high = middle
        }
    }
    low
}

/// Bounds of the search: the longest length that fits and the shortest that does not, each with the
/// tokens of the conversation.
struct LengthSearch {
    fits: (usize, Option<u64>),
    over: (usize, u64),
    target: u64,
}

impl LengthSearch {
    /// Returns the next length to try; `None` at the end of the search.
    fn next(&mut self, level: usize, tokens: u64, attempt: usize) -> Option<usize> {
        if tokens > self.target {
            self.over = (level, tokens);
        } else {
            self.fits = (level, Some(tokens));
            if tokens >= percent(self.target, GOOD) {
                return None;
            }
        }
        let between = self.over.0.saturating_sub(self.fits.0);
        if between <= 1 {
            return None;
        }
        let step = match self.fits.1 {
            // Every other attempt bisects, so that a misleading slope cannot keep the search on one
            // side.
            Some(tokens) if attempt.is_multiple_of(2) => self.along(between, tokens),
            _ => between / 2,
        };
        Some(self.fits.0 + step.clamp(1, between - 1))
    }

    fn along(&self, between: usize, fitted: u64) -> usize {
        let rise = self.over.1.saturating_sub(fitted).max(1) as f64;
        let wanted = percent(self.target, AIM).saturating_sub(fitted) as f64;
        (between as f64 * wanted / rise) as usize
    }
}
