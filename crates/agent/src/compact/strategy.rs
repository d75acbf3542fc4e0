//! One compaction: the strategies in their order, each only as far as the target asks.

use quillet_core::{Message, Role};

use super::conversation::{Conversation, Gap, MessageSnapshot};
use super::cut::{Caps, CutTarget};
use super::level::lower;
use super::units::{MessageGroup, middle, units};
use super::window::percent;
use crate::{CompactionReport, RunLimits};

/// No attachment is cut below this many characters to meet the target, as in Chat Shell.
const LEAST_ATTACHMENT: usize = 10_000;
/// No result and no message is cut below this.
const LEAST_TEXT: usize = 400;
/// The question is not cut below this.
const LEAST_QUESTION: usize = 1_000;
/// A result below this percentage of the target was cut too much: 85, and one for what
/// the notice has less than is allowed for.
const LEAST_PERCENT: u64 = 86;
/// Tokens of a notice, before it is written.
const NOTICE_TOKENS: u64 = 40;

/// What was said before the question: index of [`Conversation::gaps`].
const BEFORE: usize = 0;
/// What was said and done since.
const AFTER: usize = 1;

/// How much of the middle may go at a time.
struct Round {
    /// Messages at the beginning that stay.
    first: usize,
    /// Messages at the end that stay.
    last: usize,
    /// Whether a unit stays whose loss would cut too much: its texts are cut instead.
    spare: bool,
}

/// The first is the everyday one (2 messages at the beginning and 10 at the end stay, as in Chat
/// Shell); the others are for conversations that are still too long after it.
const ROUNDS: [Round; 4] = [
    Round {
        first: 2,
        last: 10,
        spare: true,
    },
    Round {
        first: 2,
        last: 3,
        spare: true,
    },
    Round {
        first: 2,
        last: 3,
        spare: false,
    },
    Round {
        first: 0,
        last: 1,
        spare: false,
    },
];

/// One compaction.
pub(super) struct Compactor<'a> {
    conversation: &'a mut Conversation,
    target: u64,
    ceiling: u64,
    limits: &'a RunLimits,
    report: CompactionReport,
    /// Whether more of the middle went than the first of [`ROUNDS`] takes.
    emptied: bool,
}

impl<'a> Compactor<'a> {
    /// Down to `target`; the question is only cut if all else is over `ceiling`.
    pub(super) fn new(
        conversation: &'a mut Conversation,
        target: u64,
        ceiling: u64,
        limits: &'a RunLimits,
    ) -> Self {
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

    /// Does it, and says what was done.
    pub(super) fn run(mut self) -> CompactionReport {
        self.attachments();
        self.trim();
        self.finish()
    }

    fn fits(&self) -> bool {
        self.conversation.tokens() <= self.target
    }

    /// All attachments to the limit; those of older messages further, if need be.
    pub(super) fn attachments(&mut self) {
        let most = self.limits.attachment_characters;
        let counter = self.conversation.counter.clone();
        for item in &mut self.conversation.items {
            let caps = Caps {
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
        if self.conversation.tokens() > self.ceiling {
            self.cut_what_is_left();
        }
    }

    /// What is cut only where nothing would be sent at all otherwise: the other turns
    /// of this run, system messages within the conversation, and then the question.
    fn cut_what_is_left(&mut self) {
        let question = self.conversation.question;
        self.cut(CutTarget::Texts, LEAST_TEXT, |index, _| {
            Some(index) != question
        });
        self.cut(CutTarget::Texts, LEAST_QUESTION, |index, _| {
            Some(index) == question
        });
    }

    /// Results, then the attachments of the question, then what was said.
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
                // Some providers want the turns of a run that make calls as they were.
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

    /// Gives texts back that were cut in this compaction: more messages go now, and
    /// then the cuts need not be as deep.
    fn restore(&mut self) {
        let counter = self.conversation.counter.clone();
        for item in &mut self.conversation.items {
            let caps = Caps {
                texts: item.before.caps.texts,
                ..item.caps
            };
            item.set_caps(caps, &*counter);
        }
    }

    fn drop_middle(&mut self, round: &Round) {
        for zone in [BEFORE, AFTER] {
            if self.fits() {
                return;
            }
            let gone = self.loose(round, zone);
            self.remove(&gone, zone, None);
        }
    }

    /// What the first round would take out of one side, and the side: what a summary
    /// can stand for.
    pub(super) fn oldest(&self) -> Option<(usize, Vec<MessageGroup>)> {
        if self.fits() {
            return None;
        }
        let found = [BEFORE, AFTER].map(|zone| (zone, self.loose(&ROUNDS[0], zone)));
        found.into_iter().find(|(_, gone)| !gone.is_empty())
    }

    /// Takes messages out and puts a summary in their place.
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

    /// The units of one side of the question that go in this round.
    fn loose(&self, round: &Round, zone: usize) -> Vec<MessageGroup> {
        let mut units = units(self.conversation);
        let middle = middle(self.conversation, &units, round.first, round.last);
        let question = self.conversation.question.unwrap_or(usize::MAX);
        let mut loose: Vec<MessageGroup> = units.drain(middle).collect();
        loose.retain(|unit| !unit.pinned && (unit.range.start < question) == (zone == BEFORE));
        let count = self.removal_count(&loose, zone, round.spare);
        loose.truncate(count);
        loose
    }

    /// How many of these, the oldest first, have to go. More than just enough, where
    /// that is possible: up to the next of ten marks, so that when the same
    /// conversation has grown by a turn, the cut is still at the same place and the
    /// provider's cache still knows what comes before and after it.
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

    fn gap(&self, zone: usize) -> Option<&Gap> {
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
            while next.next_if(|unit| unit.range.end <= index).is_some() {}
            let goes = next.peek().is_some_and(|unit| unit.range.contains(&index));
            index += 1;
            !goes
        });
        if zone == BEFORE {
            self.conversation.shift(removed);
        }
        let gap = Gap {
            at: start,
            removed: removed as u64,
            removed_tokens: tokens,
            summary,
            ..Gap::default()
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
