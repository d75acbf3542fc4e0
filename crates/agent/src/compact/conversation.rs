//! Conversation with token counts. Counts are cached by message, so that a turn costs the counting
//! of new messages only.

use std::fmt;
use std::sync::Arc;

use quillet_core::chat::{TokenCounter, ToolOffer};
use quillet_core::{ContentPart, Message, MessageContent, Role};

use super::cut::MessageCaps;
use super::pair_repair;
use crate::AgentError;

/// Messages of a run, each counted at most once, and what was removed from them.
///
/// The system prompt and the tools may change between calls of the model; the
/// messages only grow at the end, and are only cut by this module.
pub struct Conversation {
    pub(super) counter: Arc<dyn TokenCounter>,
    system: CountedText,
    tools: CountedText,
    pub(super) items: Vec<CountedMessage>,
    /// Index of the last user message; it is cut last.
    pub(super) question: Option<usize>,
    /// Where messages were removed: before the question, and after it.
    pub(super) gaps: [Option<RemovedMessages>; 2],
}

/// Text that is sent with every call.
#[derive(Default)]
struct CountedText {
    text: String,
    tokens: u64,
    exact: bool,
}

impl CountedText {
    /// Replaces the text if it differs. Until counted, its bytes are the upper bound of its tokens.
    fn set(&mut self, text: String) {
        if text == self.text {
            return;
        }
        // An empty text is not sent, so it costs nothing and needs no count.
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

/// Tokens around the system prompt and around the tools.
const AROUND: u64 = 4;

/// Message with its sent form and token counts.
#[derive(Debug)]
pub(super) struct CountedMessage {
    pub(super) message: Message,
    /// The message with its text cut. The original is kept, so that another cut reports the right
    /// number and text that turns out to fit can be restored.
    pub(super) cut: Option<Message>,
    /// Tokens of the message as sent; an upper bound until counted.
    pub(super) tokens: u64,
    /// Whether the tokens were counted.
    exact: bool,
    /// Tokens of the original message.
    pub(super) whole_tokens: u64,
    /// Levels that it is cut to.
    pub(super) caps: MessageCaps,
    /// Number of attachment characters that were cut.
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

/// Place where messages were removed.
#[derive(Clone, Debug, Default)]
pub(super) struct RemovedMessages {
    /// Index of the message after it.
    pub(super) at: usize,
    /// Number of removed messages.
    pub(super) removed: u64,
    /// Their tokens.
    pub(super) removed_tokens: u64,
    /// The model's summary of them, or of the first of them.
    pub(super) summary: Option<String>,
    /// Notice that replaces them.
    pub(super) notice: String,
    /// Tokens of the notice.
    pub(super) tokens: u64,
}

impl Conversation {
    /// Creates a conversation from the system prompt (none if empty), the earlier messages and the
    /// question. Results without a call are dropped, and a call without a result gets a
    /// placeholder: providers reject both.
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
        // Set once: messages that are pushed later do not become the question.
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

    /// Replaces the offered tools, whose schemas count too.
    pub fn set_tools(&mut self, tools: &[ToolOffer]) {
        let write = |tool| serde_json::to_string(tool).unwrap_or_default();
        self.tools.set(tools.iter().map(write).collect());
    }

    /// Upper bound of the tokens of system prompt, tools and messages; exact once counted. Most
    /// conversations are short, and for those the bound is enough without loading a vocabulary; see
    /// [`Conversation::count`].
    #[must_use]
    pub fn tokens(&self) -> u64 {
        let messages: u64 = self.items.iter().map(|item| item.tokens).sum();
        let notices: u64 = self.gaps.iter().flatten().map(|gap| gap.tokens).sum();
        self.system.tokens + self.tools.tokens + messages + notices
    }

    /// Counts what is not counted yet, and returns the total.
    pub fn count(&mut self) -> u64 {
        self.system.count(&*self.counter);
        self.tools.count(&*self.counter);
        for item in self.items.iter_mut().filter(|item| !item.exact) {
            // Messages are only cut after they were counted, so this is still the whole message.
            item.tokens = self.counter.count_message(&item.message);
            item.whole_tokens = item.tokens;
            item.exact = true;
        }
        self.tokens()
    }

    /// The messages to send, the system prompt first.
    #[must_use]
    pub fn messages(&self) -> Vec<Message> {
        // Room for the system prompt and for a notice in each of the two gaps.
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

    /// Messages before the question were removed: later indexes move up.
    pub(super) fn shift(&mut self, removed: usize) {
        self.question = self.question.map(|index| index.saturating_sub(removed));
        if let [_, Some(after)] = &mut self.gaps {
            after.at = after.at.saturating_sub(removed);
        }
    }

    /// Updates the notice of the first gap.
    pub(super) fn widen_gap(&mut self, zone: usize, more: RemovedMessages) {
        let counter = self.counter.clone();
        let Some(gap) = self.gaps.get_mut(zone) else {
            return;
        };
        let gap = gap.get_or_insert_with(|| RemovedMessages {
            at: more.at,
            ..RemovedMessages::default()
        });
        // A later round may remove earlier messages than the first one did.
        gap.at = gap.at.min(more.at);
        gap.removed += more.removed;
        gap.removed_tokens += more.removed_tokens;
        // A new summary was made from the previous one too, so it replaces it.
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

/// Puts a notice before a message, as text of the user. Some providers require alternating roles,
/// so it is added to an adjacent user message if there is one; many reject a system message in the
/// middle of a conversation.
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
    // The provider's own form of the message no longer matches its text.
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
