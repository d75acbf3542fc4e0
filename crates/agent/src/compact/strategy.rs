//! A compaction: applies the strategies in order, each only as far as the target requires.

use quillet_core::{Message, Role};

use super::conversation::{Conversation, MessageSnapshot, RemovedMessages};
use super::cut::{CutTarget, MessageCaps};
use super::level::lower;
use super::units::{MessageGroup, middle, units};
use super::window::percent;
use crate::{CompactionReport, RunLimits};

/// Minimum length to which attachments are cut to meet the target, as in Chat Shell.
const LEAST_ATTACHMENT: usize = 10_000;
/// Minimum length to which results and messages are cut.
const LEAST_TEXT: usize = 400;
/// Minimum length to which the question is cut.
const LEAST_QUESTION: usize = 1_000;
/// A result below this percentage of the target was cut too much. The tolerance is 85 %; one
/// percent is reserved for the notice.
const LEAST_PERCENT: u64 = 86;
/// Estimated tokens of a notice that is not written yet.
const NOTICE_TOKENS: u64 = 40;

/// Index of [`Conversation::gaps`] for messages before the question.
const BEFORE: usize = 0;
/// Index for messages after the question.
const AFTER: usize = 1;

/// Messages that one round may remove.
struct CompactionRound {
    /// Number of messages retained at the beginning.
    first: usize,
    /// Number of messages retained at the end.
    last: usize,
    /// Whether a unit is retained if its removal would cut too much. Its texts are cut instead.
    spare: bool,
}

/// The first round is the usual one and, as in Chat Shell, retains 2 messages at the beginning and
/// 10 at the end. The others are for conversations that are still too long.
const ROUNDS: [CompactionRound; 4] = [
    CompactionRound {
        first: 2,
        last: 10,
        spare: true,
    },
    CompactionRound {
        first: 2,
        last: 3,
        spare: true,
    },
    CompactionRound {
        first: 2,
        last: 3,
        spare: false,
    },
    CompactionRound {
        first: 0,
        last: 1,
        spare: false,
    },
];

/// State of one compaction.
pub(super) struct Compactor<'a> {
    conversation: &'a mut Conversation,
    target: u64,
    ceiling: u64,
    limits: &'a RunLimits,
    report: CompactionReport,
    /// Whether more messages were removed than the first of [`ROUNDS`] allows.
    emptied: bool,
}

impl<'a> Compactor<'a> {
    /// Prepares a compaction to `target`. The question is cut only if the other messages alone
    /// exceed `ceiling`.
    pub(super) fn new(
        conversation: &'a mut Conversation,
        target: u64,
        ceiling: u64,
        limits: &'a RunLimits,
    ) -> Self {
        // The snapshots are the base for cuts and for the report, which both cover only this
        // compaction.
        for item in &mut conversation.items {
            item.before = MessageSnapshot {
                caps: item.caps,
                tokens: item.tokens,
                missing: item.missing,
            };
        }
        let report = CompactionReport {
            tokens_before: conversation.tokens(),
            target,
            ..CompactionReport::default()
        };
        Compactor {
            conversation,
            target,
            ceiling,
            limits,
            report,
            emptied: false,
        }
    }

    /// Applies the strategies and returns the report.
    pub(super) fn run(mut self) -> CompactionReport {
        // Attachments are cut first, because removing messages may then be unnecessary.
        self.attachments();
        self.trim();
        self.finish()
    }

    fn fits(&self) -> bool {
        self.conversation.tokens() <= self.target
    }

    /// Cuts all attachments to the limit, and those of older messages further if necessary.
    pub(super) fn attachments(&mut self) {
        let most = self.limits.attachment_characters;
        let counter = self.conversation.counter.clone();
        for item in &mut self.conversation.items {
            let caps = MessageCaps {
                attachments: most.min(item.caps.attachments),
                ..item.caps
            };
            item.set_caps(caps, &*counter);
        }
        let question = self.conversation.question;
        self.cut(CutTarget::Attachments, LEAST_ATTACHMENT, |index, _| {
            Some(index) != question
        });
    }

    fn trim(&mut self) {
        for (number, round) in ROUNDS.iter().enumerate() {
            if self.fits() {
                return;
            }
            if number > 0 {
                self.restore();
            }
            let removed = self.report.removed_messages;
            self.drop_middle(round);
            self.emptied |= number > 0 && self.report.removed_messages > removed;
            self.cut_texts();
        }
        // The question is cut only if the conversation exceeds the ceiling, not if it only misses
        // the target.
        if self.conversation.tokens() > self.ceiling {
            self.cut_what_is_left();
        }
    }

    /// Last resort before an error: cuts the other turns of this run, then system messages within
    /// the conversation, and then the question.
    fn cut_what_is_left(&mut self) {
        let question = self.conversation.question;
        self.cut(CutTarget::Texts, LEAST_TEXT, |index, _| {
            Some(index) != question
        });
        self.cut(CutTarget::Texts, LEAST_QUESTION, |index, _| {
            Some(index) == question
        });
    }

    /// Cuts results, then the attachments of the question, then messages.
    fn cut_texts(&mut self) {
        let question = self.conversation.question;
        self.cut(CutTarget::Texts, LEAST_TEXT, |_, message| {
            message.role == Role::Tool
        });
        self.cut(CutTarget::Attachments, LEAST_ATTACHMENT, |index, _| {
            Some(index) == question
        });
        self.cut(CutTarget::Texts, LEAST_TEXT, |index, message| {
            match message.role {
                Role::User => Some(index) != question,
                // Some providers reject changes to turns with calls while their tool loop is
                // running.
                Role::Assistant => message.tool_calls.is_empty() || Some(index) < question,
                _ => false,
            }
        });
    }

    fn cut(&mut self, piece: CutTarget, floor: usize, which: impl Fn(usize, &Message) -> bool) {
        if self.fits() {
            return;
        }
        let items = self.conversation.items.iter().enumerate();
        let chosen = items.filter(|(index, item)| which(*index, &item.message));
        let indexes: Vec<usize> = chosen.map(|(index, _)| index).collect();
        lower(self.conversation, &indexes, piece, floor, self.target);
    }

    /// Restores texts that this compaction cut. After more messages are removed, less has to be
    /// cut.
    fn restore(&mut self) {
        let counter = self.conversation.counter.clone();
        for item in &mut self.conversation.items {
            let caps = MessageCaps {
                texts: item.before.caps.texts,
                ..item.caps
            };
            item.set_caps(caps, &*counter);
        }
    }

    fn drop_middle(&mut self, round: &CompactionRound) {
        for zone in [BEFORE, AFTER] {
            if self.fits() {
                return;
            }
            let gone = self.loose(round, zone);
            self.remove(&gone, zone, None);
        }
    }

    /// Returns the messages that the first round would remove from one side, with the side. A
    /// summary can replace them.
    pub(super) fn oldest(&self) -> Option<(usize, Vec<MessageGroup>)> {
        if self.fits() {
            return None;
        }
        let found = [BEFORE, AFTER].map(|zone| (zone, self.loose(&ROUNDS[0], zone)));
        found.into_iter().find(|(_, gone)| !gone.is_empty())
    }

    /// Replaces messages with a summary.
    pub(super) fn replace(
        mut self,
        gone: &[MessageGroup],
        zone: usize,
        text: &str,
    ) -> CompactionReport {
        self.remove(gone, zone, Some(text.to_owned()));
        self.report.summarized = true;
        self.finish()
    }

    pub(super) fn conversation(&self) -> &Conversation {
        self.conversation
    }

    /// Returns the units on one side of the question that this round may remove.
    fn loose(&self, round: &CompactionRound, zone: usize) -> Vec<MessageGroup> {
        let mut units = units(self.conversation);
        let middle = middle(self.conversation, &units, round.first, round.last);
        let question = self.conversation.question.unwrap_or(usize::MAX);
        let mut loose: Vec<MessageGroup> = units.drain(middle).collect();
        loose.retain(|unit| !unit.pinned && (unit.range.start < question) == (zone == BEFORE));
        let count = self.removal_count(&loose, zone, round.spare);
        loose.truncate(count);
        loose
    }

    /// Returns the number of oldest units to remove. If possible, it is rounded up to one of ten
    /// steps: the cut then stays at the same position while the conversation grows by a few turns,
    /// and the provider's prompt cache stays valid.
    fn removal_count(&self, loose: &[MessageGroup], zone: usize, spare: bool) -> usize {
        let now = self.conversation.tokens() + NOTICE_TOKENS;
        let already = self.gap(zone).map_or(0, |gap| gap.removed_tokens);
        let needed = now.saturating_sub(self.target);
        let mark = (already + needed).next_multiple_of((self.target / 10).max(1)) - already;
        let least = percent(self.target, LEAST_PERCENT);
        let mut enough = None;
        let mut gone = 0;
        for (index, unit) in loose.iter().enumerate() {
            gone += unit.tokens;
            let too_much = now.saturating_sub(gone) < least;
            match enough {
                // Removing this large unit would remove too much, so its texts are cut instead.
                None if gone >= needed && too_much && spare => return index,
                None if gone >= needed => enough = Some(index + 1),
                Some(count) if too_much => return count,
                _ => {}
            }
            if gone >= mark && enough.is_some() {
                return index + 1;
            }
        }
        enough.unwrap_or(loose.len())
    }

    fn gap(&self, zone: usize) -> Option<&RemovedMessages> {
        self.conversation.gaps.get(zone)?.as_ref()
    }

    fn remove(&mut self, gone: &[MessageGroup], zone: usize, summary: Option<String>) {
        let Some(start) = gone.first().map(|unit| unit.range.start) else {
            return;
        };
        let removed: usize = gone.iter().map(|unit| unit.range.len()).sum();
        let tokens = gone.iter().map(|unit| unit.tokens).sum();
        let mut next = gone.iter().peekable();
        let mut index = 0;
        self.conversation.items.retain(|_| {
            // Units and messages are in the same order, so one pass is enough.
            while next.next_if(|unit| unit.range.end <= index).is_some() {}
            let goes = next.peek().is_some_and(|unit| unit.range.contains(&index));
            index += 1;
            !goes
        });
        // The positions of the question and of the second gap must match the shortened list.
        if zone == BEFORE {
            self.conversation.shift(removed);
        }
        let gap = RemovedMessages {
            at: start,
            removed: removed as u64,
            removed_tokens: tokens,
            summary,
            ..RemovedMessages::default()
        };
        self.conversation.widen_gap(zone, gap);
        self.report.removed_messages += removed as u64;
    }

    pub(super) fn finish(mut self) -> CompactionReport {
        let mut texts_cut = false;
        for item in &self.conversation.items {
            self.report.cut_messages += u64::from(item.tokens != item.before.tokens);
            let missing = item.missing.saturating_sub(item.before.missing);
            self.report.cut_attachment_characters += missing as u64;
            texts_cut |= item.caps.texts != item.before.caps.texts;
        }
        let applied = [
            ("attachments", self.report.cut_attachment_characters > 0),
            ("summary", self.report.summarized),
            (
                "middle",
                self.report.removed_messages > 0 && !self.report.summarized,
            ),
            ("tokens", texts_cut || self.emptied),
        ];
        let names = applied.into_iter().filter(|(_, applied)| *applied);
        self.report.strategies = names.map(|(name, _)| name).collect();
        self.report.tokens_after = self.conversation.tokens();
        self.report
    }
}
