//! Conversation with cached token counts, so that a turn only counts new messages.

use std::fmt;
use std::sync::Arc;

use quillet_core::chat::{TokenCounter, ToolOffer};
use quillet_core::{ContentPart, Message, MessageContent, Role};

use super::cut::MessageCaps;
use super::pair_repair;
use crate::AgentError;

/// Messages of a run, and notices that replace removed messages. The tokens of each message are
/// counted at most once.
///
/// The system prompt and the tools may change between model calls. Messages are appended at the
/// end, and only this module cuts or removes them.
pub struct Conversation {
    pub(super) counter: Arc<dyn TokenCounter>,
    system: CountedText,
    tools: CountedText,
    pub(super) items: Vec<CountedMessage>,
    /// Index of the last user message, which is cut last.
    pub(super) question: Option<usize>,
    /// Removed messages before and after the question.
    pub(super) gaps: [Option<RemovedMessages>; 2],
}

/// Text that every request contains.
#[derive(Default)]
struct CountedText {
    text: String,
    tokens: u64,
    exact: bool,
}

impl CountedText {
    /// Replaces the text if it differs. Its byte length is the upper bound of its tokens until it
    /// is counted.
    fn set(&mut self, text: String) {
        if text == self.text {
            return;
        }
        // An empty text is not sent, so it has no tokens.
        let exact = text.is_empty();
        *self = CountedText {
            tokens: if exact { 0 } else { text.len() as u64 + AROUND },
            exact,
            text,
        };
    }

    fn count(&mut self, counter: &dyn TokenCounter) {
        if !self.exact && !self.text.is_empty() {
            self.tokens = counter.count_text(&self.text) + AROUND;
            self.exact = true;
        }
    }
}

/// Overhead in tokens for the system prompt and for the tools.
const AROUND: u64 = 4;

/// Message with its sent form and its token counts.
#[derive(Debug)]
pub(super) struct CountedMessage {
    pub(super) message: Message,
    /// The message with its text cut; `None` if it is sent unchanged. The original remains, so that
    /// further cuts report the total and text that fits after all can be restored.
    pub(super) cut: Option<Message>,
    /// Tokens of the message as sent; an upper bound until they are counted.
    pub(super) tokens: u64,
    /// Whether the tokens were counted.
    exact: bool,
    /// Tokens of the original message.
    pub(super) whole_tokens: u64,
    /// Current limits on its texts.
    pub(super) caps: MessageCaps,
    /// Number of removed attachment characters.
    pub(super) missing: usize,
    /// State at the start of the current compaction.
    pub(super) before: MessageSnapshot,
}

/// State of a message at the start of a compaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct MessageSnapshot {
    pub(super) caps: MessageCaps,
    pub(super) tokens: u64,
    pub(super) missing: usize,
}

impl CountedMessage {
    pub(super) fn sent(&self) -> &Message {
        self.cut.as_ref().unwrap_or(&self.message)
    }
}

/// Messages that were removed at one position.
#[derive(Clone, Debug, Default)]
pub(super) struct RemovedMessages {
    /// Index of the next remaining message.
    pub(super) at: usize,
    /// Number of removed messages.
    pub(super) removed: u64,
    /// Their tokens.
    pub(super) removed_tokens: u64,
    /// The model's summary of these messages, or of the first of them.
    pub(super) summary: Option<String>,
    /// Notice that is sent instead of them.
    pub(super) notice: String,
    /// Tokens of the notice.
    pub(super) tokens: u64,
}

impl Conversation {
    /// Creates a conversation from the system prompt (which may be empty), the earlier messages and
    /// the question. Drops results without a call and adds placeholders for missing results,
    /// because providers would reject such a conversation.
    #[must_use]
    pub fn new(
        counter: Arc<dyn TokenCounter>,
        system: String,
        history: Vec<Message>,
        input: Vec<Message>,
    ) -> Self {
        let mut conversation = Conversation {
            counter,
            system: CountedText::default(),
            tools: CountedText::default(),
            items: Vec::with_capacity(history.len() + input.len()),
            question: None,
            gaps: [None, None],
        };
        conversation.set_system(system);
        for message in pair_repair::pairs(history.into_iter().chain(input)) {
            conversation.push(message);
        }
        let said = |item: &CountedMessage| item.message.role == Role::User;
        // The question is set only here, so that messages added later do not become the question.
        conversation.question = conversation.items.iter().rposition(said);
        conversation
    }

    /// Appends a message.
    pub fn push(&mut self, message: Message) {
        let tokens = self.counter.upper_bound(&message);
        self.items.push(CountedMessage {
            message,
            cut: None,
            tokens,
            exact: false,
            whole_tokens: tokens,
            caps: MessageCaps::NONE,
            missing: 0,
            before: MessageSnapshot {
                caps: MessageCaps::NONE,
                tokens,
                missing: 0,
            },
        });
    }

    /// Replaces the system prompt.
    pub fn set_system(&mut self, system: String) {
        self.system.set(system);
    }

    /// Replaces the offered tools, whose schemas are counted too.
    pub fn set_tools(&mut self, tools: &[ToolOffer]) {
        let write = |tool| serde_json::to_string(tool).unwrap_or_default();
        self.tools.set(tools.iter().map(write).collect());
    }

    /// Returns an upper bound on the tokens of system prompt, tools and messages; exact after
    /// [`Self::count`]. The bound is sufficient for short conversations, and computing it needs no
    /// vocabulary. See [`Conversation::count`].
    #[must_use]
    pub fn tokens(&self) -> u64 {
        let messages: u64 = self.items.iter().map(|item| item.tokens).sum();
        let notices: u64 = self.gaps.iter().flatten().map(|gap| gap.tokens).sum();
        self.system.tokens + self.tools.tokens + messages + notices
    }

    /// Counts the tokens of all texts that are not counted yet, and returns the total.
    pub fn count(&mut self) -> u64 {
        self.system.count(&*self.counter);
        self.tools.count(&*self.counter);
        for item in self.items.iter_mut().filter(|item| !item.exact) {
            // Messages are cut only after counting, so this is still the full message.
            item.tokens = self.counter.count_message(&item.message);
            item.whole_tokens = item.tokens;
            item.exact = true;
        }
        self.tokens()
    }

    /// Returns the messages to send, starting with the system prompt.
    #[must_use]
    pub fn messages(&self) -> Vec<Message> {
        // The capacity includes the system prompt and two notices about removed messages.
        let mut messages = Vec::with_capacity(self.items.len() + 3);
        messages.extend(self.system_message());
        for (index, item) in self.items.iter().enumerate() {
            match self.gap_at(index) {
                Some(gap) => insert_notice(&gap.notice, &mut messages, item.sent().clone()),
                None => messages.push(item.sent().clone()),
            }
        }
        messages
    }

    fn gap_at(&self, index: usize) -> Option<&RemovedMessages> {
        let mut gaps = self.gaps.iter().flatten();
        gaps.find(|gap| gap.at == index && !gap.notice.is_empty())
    }

    fn system_message(&self) -> Option<Message> {
        let system = self.system.text.as_str();
        (!system.is_empty()).then(|| Message::new(Role::System, system))
    }

    /// Shifts indexes after messages before the question were removed.
    pub(super) fn shift(&mut self, removed: usize) {
        self.question = self.question.map(|index| index.saturating_sub(removed));
        if let [_, Some(after)] = &mut self.gaps {
            after.at = after.at.saturating_sub(removed);
        }
    }

    /// Adds removed messages to the gap of a zone, and updates its notice.
    pub(super) fn widen_gap(&mut self, zone: usize, more: RemovedMessages) {
        let counter = self.counter.clone();
        let Some(gap) = self.gaps.get_mut(zone) else {
            return;
        };
        let gap = gap.get_or_insert_with(|| RemovedMessages {
            at: more.at,
            ..RemovedMessages::default()
        });
        // Another round may remove messages at an earlier position than the first round.
        gap.at = gap.at.min(more.at);
        gap.removed += more.removed;
        gap.removed_tokens += more.removed_tokens;
        // A new summary includes the previous one and replaces it.
        gap.summary = more.summary.or(gap.summary.take());
        gap.notice = notice(gap);
        gap.tokens = counter.count_message(&Message::new(Role::User, gap.notice.as_str()));
    }

    pub(super) fn does_not_fit(&self, window: u64) -> AgentError {
        let question = self.question.and_then(|index| self.items.get(index));
        AgentError::Window {
            needed: self.tokens(),
            window,
            what: format!(
                "the system prompt has {} tokens, the tools {}, the question {}",
                self.system.tokens,
                self.tools.tokens,
                question.map_or(0, |item| item.tokens)
            ),
        }
    }
}

fn notice(gap: &RemovedMessages) -> String {
    let removed = gap.removed;
    let notice = format!(
        "[NOTICE: {removed} earlier messages stood here. They were removed, because the conversation is \
         longer than the model's context window."
    );
    match &gap.summary {
        Some(summary) => format!("{notice} This is a summary of them:\n{summary}\n]"),
        None => format!("{notice}]"),
    }
}

/// Inserts a notice before a message, as text of the user. Some providers require alternating
/// roles, so it is added to an adjacent user message if possible. A system message is not used,
/// because many providers reject one within a conversation.
fn insert_notice(notice: &str, messages: &mut Vec<Message>, mut next: Message) {
    if next.role == Role::User {
        add_text(&mut next, notice, true);
    } else if let Some(before) = messages.last_mut().filter(|last| last.role == Role::User) {
        add_text(before, notice, false);
    } else {
        messages.push(Message::new(Role::User, notice));
    }
    messages.push(next);
}

fn add_text(message: &mut Message, text: &str, first: bool) {
    // The provider's own form of the message does not include the notice.
    message.native = None;
    match &mut message.content {
        MessageContent::Text(said) if first => *said = format!("{text}\n\n{said}"),
        MessageContent::Text(said) => *said = format!("{said}\n\n{text}"),
        MessageContent::Parts(parts) if first => parts.insert(0, ContentPart::text(text)),
        MessageContent::Parts(parts) => parts.push(ContentPart::text(text)),
    }
}

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation")
            .field("messages", &self.items.len())
            .finish_non_exhaustive()
    }
}
