//! The dialogue of one script: its messages, their stages, and where it restarts.
//!
//! This module does not depend on the script. Callers render templates, call models and emit
//! events, then record the results here, so no dialogue lock is held across an await.

use std::ops::Range;

use quillet_core::{Map, MapTable, Span, Value};

use super::content_parts::display_text;
use super::failure::{limit, refuse};
use super::print::print;
use super::scope::NameScope;
use crate::error::ScriptError;
use crate::host::RunEvent;
use crate::text::bias::Bias;
use crate::text::prefix::MessagePlacement;

/// The recipient name that addresses all roles.
pub(crate) const EVERYBODY: &str = "all";

/// The messages of a script.
#[derive(Debug)]
pub(crate) struct Dialogue {
    messages: Vec<DialogueEntry>,
    /// Maximum number of messages.
    most: usize,
    /// Whether a message has unfilled holes.
    holes: bool,
    /// All messages before this index are complete.
    pending_from: usize,
    /// Length of the hidden prefix, known after the first separator.
    prefix: Option<usize>,
    /// An earlier conversation, inserted when the hidden prefix is complete.
    recalled: Vec<DialogueEntry>,
    /// Range of that conversation, from the message that the script may repeat.
    greeted: Option<Range<usize>>,
}

impl Dialogue {
    pub(crate) fn new(most: usize) -> Self {
        Dialogue {
            messages: Vec::new(),
            most,
            holes: false,
            pending_from: 0,
            prefix: None,
            recalled: Vec::new(),
            greeted: None,
        }
    }

    /// Returns an error if adding messages would exceed the limit.
    pub(crate) fn check_room(
        &self,
        length: usize,
        scope: &NameScope,
        at: Span,
    ) -> Result<(), ScriptError> {
        let most = self.most;
        if length <= most {
            return Ok(());
        }
        let message = format!("the dialogue exceeds {most} messages");
        Err(limit(scope, at, message, "limits.messages"))
    }

    /// All messages, in order.
    pub(crate) fn messages(&self) -> &[DialogueEntry] {
        &self.messages
    }

    /// Returns the messages before an index.
    pub(crate) fn until(&self, until: usize) -> &[DialogueEntry] {
        self.messages.get(..until).unwrap_or(&self.messages)
    }

    /// Returns the length of the hidden prefix, once the first separator was reached.
    pub(crate) fn prefix(&self) -> Option<usize> {
        self.prefix
    }

    /// The messages after the hidden prefix.
    pub(crate) fn conversation(&self) -> &[DialogueEntry] {
        let from = self.prefix.unwrap_or(0);
        self.messages.get(from..).unwrap_or_default()
    }

    /// Returns the text of the last complete message. A message that is being filled does not
    /// count.
    pub(crate) fn last_message_text(&self) -> Option<String> {
        let said =
            |entry: &&DialogueEntry| entry.role != "system" && entry.stage == MessageStage::Done;
        let last = self.messages.iter().rev().find(said);
        last.map(|entry| print(Some(&entry.content)))
    }

    /// Returns the dialogue as a role sees it: public messages and its own private ones, after the
    /// hidden prefix. `human` is the name of the user.
    pub(crate) fn view_of_role(&self, role: &str, human: &str, until: usize) -> Vec<DialogueEntry> {
        let from = self.prefix.unwrap_or(0);
        let heard = |entry: &&DialogueEntry| {
            let names = |name: &String| name == role || name == EVERYBODY;
            let mine = entry.role == role || entry.to.iter().any(names);
            entry.role != "system" && entry.stage == MessageStage::Done && (!entry.private || mine)
        };
        let lines = self.messages.iter().take(until).skip(from).filter(heard);
        let mut view: Vec<DialogueEntry> = Vec::new();
        for entry in lines {
            let mut line = entry.clone();
            let text = print(Some(&entry.content));
            // Biases apply to the author's own requests, not to those of another role.
            line.biases.clear();
            if entry.role == role {
                // Chat APIs have only one assistant, so every other speaker is sent as a user, with
                // the name as a prefix.
                "assistant".clone_into(&mut line.role);
            } else {
                let speaker = match (&entry.name, &*entry.role) {
                    (Some(name), _) => name,
                    (None, "user") => human,
                    (None, role) => role,
                };
                "user".clone_into(&mut line.role);
                line.content = Value::from(format!("{speaker}: {text}"));
            }
            view.push(line);
        }
        view
    }

    /// Appends a message and returns its index.
    pub(crate) fn push(&mut self, entry: DialogueEntry) -> usize {
        self.messages.push(entry);
        self.messages.len() - 1
    }

    /// Appends a complete message to a complete dialogue and returns its index.
    pub(crate) fn push_message(&mut self, entry: DialogueEntry) -> usize {
        let at = self.push(entry);
        self.pending_from = self.messages.len();
        at
    }

    /// Inserts an answer after its message and returns the index of the answer.
    pub(crate) fn reply(&mut self, at: usize, entry: DialogueEntry) -> usize {
        let at = at.min(self.messages.len());
        self.messages.insert(at, entry);
        at
    }

    /// Inserts a message at its placement and returns its index.
    pub(crate) fn place(
        &mut self,
        entry: DialogueEntry,
        place: MessagePlacement<'_>,
    ) -> Result<usize, ScriptError> {
        let (waits, holes) = (
            entry.stage != MessageStage::Done,
            entry.stage == MessageStage::Holes,
        );
        let at = self.insert(entry, place)?;
        if waits {
            self.pending_from = self.pending_from.min(at);
            self.holes |= holes;
        }
        Ok(at)
    }

    fn insert(
        &mut self,
        mut entry: DialogueEntry,
        place: MessagePlacement<'_>,
    ) -> Result<usize, ScriptError> {
        let length = self.messages.len();
        let at = match place {
            MessagePlacement::Push => length,
            MessagePlacement::Insert { index, role } => {
                if let Some(role) = role {
                    role.clone_into(&mut entry.role);
                }
                match index {
                    None => length,
                    Some(index) if usize::try_from(index) == Ok(length) => length,
                    Some(index) => self.index(index, &entry.scope, entry.span)?,
                }
            }
            // The replaced message keeps its role and name unless the new one has its own.
            MessagePlacement::Replace { index, role } => {
                let at = self.index(index.unwrap_or(-1), &entry.scope, entry.span)?;
                if let Some(old) = self.messages.get_mut(at) {
                    entry.role = role.map_or_else(|| old.role.clone(), str::to_owned);
                    entry.name = entry.name.take().or_else(|| old.name.clone());
                    *old = entry;
                }
                return Ok(at);
            }
        };
        self.messages.insert(at, entry);
        // A message inserted into the hidden prefix becomes part of it. Without this adjustment the
        // prefix would lose its last message.
        self.prefix = self.prefix.map(|prefix| prefix + usize::from(at < prefix));
        Ok(at)
    }

    /// Resolves a message index; a negative one counts from the end.
    pub(crate) fn index(
        &self,
        index: i64,
        scope: &NameScope,
        at: Span,
    ) -> Result<usize, ScriptError> {
        let length = self.messages.len();
        let found = match usize::try_from(index) {
            Ok(found) => Some(found),
            Err(_) => usize::try_from(index.unsigned_abs())
                .ok()
                .and_then(|back| length.checked_sub(back)),
        };
        found.filter(|found| *found < length).ok_or_else(|| {
            let message = format!("message {index} not found: the dialogue has {length}");
            refuse(scope, at, message)
        })
    }

    /// Applies a function to a message, if the message exists.
    pub(crate) fn change(&mut self, at: usize, how: impl FnOnce(&mut DialogueEntry)) {
        if let Some(entry) = self.messages.get_mut(at) {
            how(entry);
        }
    }

    /// Removes all messages from an index onward.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.messages.truncate(length);
        self.pending_from = self.pending_from.min(length);
    }

    /// Replaces the messages after the first `length` with complete ones.
    pub(crate) fn replace_tail(&mut self, length: usize, with: Vec<DialogueEntry>) {
        self.messages.truncate(length);
        self.messages.extend(with);
        self.pending_from = self.messages.len();
    }

    /// Replaces all messages with complete ones.
    pub(crate) fn replace(&mut self, messages: Vec<DialogueEntry>) {
        let length = messages.len();
        self.messages = messages;
        self.pending_from = length;
        self.prefix = self.prefix.map(|prefix| prefix.min(length));
    }

    /// Restarts the dialogue from the hidden prefix; returns whether this is the first separator.
    pub(crate) fn separate(&mut self, pin: bool) -> bool {
        let first = self.prefix.is_none();
        match self.prefix {
            Some(prefix) if !pin => self.messages.truncate(prefix),
            _ => self.prefix = Some(self.messages.len()),
        }
        self.pending_from = self.messages.len();
        first
    }

    /// Stores an earlier conversation until the hidden prefix is complete.
    pub(crate) fn remember(&mut self, conversation: Vec<DialogueEntry>) {
        self.recalled = conversation;
    }

    /// Takes the stored earlier conversation.
    pub(crate) fn remembered(&mut self) -> Vec<DialogueEntry> {
        std::mem::take(&mut self.recalled)
    }

    /// Inserts an earlier conversation after the hidden prefix.
    pub(crate) fn recall(&mut self, conversation: Vec<DialogueEntry>) {
        let system = |entry: &&DialogueEntry| entry.role == "system";
        let begin = self.messages.iter().take_while(system).count();
        let place = self.prefix.unwrap_or(begin);
        self.greeted = (!conversation.is_empty()).then_some(place..place + conversation.len());
        self.messages.splice(place..place, conversation);
        self.pending_from = place.min(self.pending_from);
    }

    /// Removes a greeting that the earlier conversation already contains, because the script writes
    /// it on every start. Returns whether a greeting was removed.
    pub(crate) fn drop_repeated(&mut self, at: usize) -> bool {
        let Some(said) = self.greeted.clone() else {
            return false;
        };
        let message = self.messages.get(at);
        let before = self.messages.get(said.start).filter(|_| !said.is_empty());
        let same = match (message, before) {
            (Some(message), Some(before)) => {
                // Users may repeat themselves; only the script's greetings are removed.
                message.role != "user"
                    && message.role == before.role
                    && message.content == before.content
            }
            _ => false,
        };
        if at < said.end || !same {
            self.greeted = None;
            return false;
        }
        self.messages.remove(at);
        self.pending_from = self.pending_from.min(at);
        self.greeted = Some(said.start + 1..said.end);
        true
    }

    /// Stops looking for repeated greetings once a model has answered.
    pub(crate) fn end_repetition(&mut self) {
        self.greeted = None;
    }

    /// Returns whether a message has unfilled holes.
    pub(crate) fn has_holes(&self) -> bool {
        self.holes
    }

    /// Returns whether the last message has a hole for a model's answer.
    pub(crate) fn ends_with_hole(&self) -> bool {
        let waits =
            |entry: &DialogueEntry| entry.stage == MessageStage::Holes && entry.role != "user";
        self.messages.last().is_some_and(waits)
    }

    /// Returns the index of the first incomplete message.
    pub(crate) fn next_waiting(&mut self) -> Option<usize> {
        let from = self.pending_from.min(self.messages.len());
        let waiting = self
            .messages
            .iter()
            .skip(from)
            .position(DialogueEntry::waits);
        let next = waiting.map(|offset| from + offset);
        self.pending_from = next.unwrap_or(self.messages.len());
        // The flag is only cleared here, because a message inserted in the meantime may have set it
        // again.
        self.holes &= next.is_some();
        next
    }

    /// Returns the event for a message outside the hidden prefix, at most once per message.
    pub(crate) fn show(&mut self, at: usize) -> Option<RunEvent> {
        let visible = self.prefix.is_some_and(|prefix| at >= prefix);
        let entry = self.messages.get_mut(at).filter(|_| visible)?;
        if std::mem::replace(&mut entry.shown, true) {
            return None;
        }
        Some(RunEvent::Message {
            role: entry.name.clone().unwrap_or_else(|| entry.role.clone()),
            content: display_text(&entry.content),
        })
    }

    /// Returns its approximate memory use in bytes.
    pub(crate) fn weight(&self) -> usize {
        let weights = self.messages.iter().map(DialogueEntry::weight);
        weights.fold(0, usize::saturating_add)
    }
}

/// Converts messages to the values that scripts see.
pub(crate) fn values<'e>(entries: impl IntoIterator<Item = &'e DialogueEntry>) -> Value {
    Value::from(
        entries
            .into_iter()
            .map(DialogueEntry::value)
            .collect::<Vec<_>>(),
    )
}

/// A message of the dialogue.
#[derive(Clone, Debug)]
pub(crate) struct DialogueEntry {
    /// Its role.
    pub(crate) role: String,
    /// The speaker, if different from the role.
    pub(crate) name: Option<String>,
    /// The recipients; empty if the message is for all roles.
    pub(crate) to: Vec<String>,
    /// Whether only its recipients see it.
    pub(crate) private: bool,
    /// The content.
    pub(crate) content: Value,
    /// Its stage.
    pub(crate) stage: MessageStage,
    /// The bindings that were in scope where the message was written.
    pub(crate) scope: NameScope,
    /// Its location in the source of that scope.
    pub(crate) span: Span,
    /// The template format, if it differs from the script's.
    pub(crate) format: Option<String>,
    /// Token biases from its text.
    pub(crate) biases: Vec<Bias>,
    /// The model's reasoning before the answer.
    pub(crate) thinking: Option<String>,
    /// Whether it was reported to the observer.
    pub(crate) shown: bool,
}

/// Stage of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageStage {
    /// A template, rendered when a model is called or a directive reads the message.
    Template,
    /// Contains `[[…]]`, which is filled before the next instruction.
    Holes,
    /// The holes are being filled.
    Filling,
    /// Complete.
    Done,
}

impl DialogueEntry {
    /// Creates a complete message.
    pub(crate) fn done(
        role: impl Into<String>,
        content: Value,
        scope: NameScope,
        span: Span,
    ) -> Self {
        DialogueEntry {
            role: role.into(),
            name: None,
            to: Vec::new(),
            private: false,
            content,
            stage: MessageStage::Done,
            scope,
            span,
            format: None,
            biases: Vec::new(),
            thinking: None,
            shown: false,
        }
    }

    /// Returns whether it must be completed before it can be read.
    pub(crate) fn waits(&self) -> bool {
        matches!(self.stage, MessageStage::Template | MessageStage::Holes)
    }

    /// Returns its content if that is text, or an empty string.
    pub(crate) fn text(&self) -> &str {
        self.content.as_str().unwrap_or_default()
    }

    /// Returns the value that scripts see: `{role, content, …}`.
    pub(crate) fn value(&self) -> Value {
        let mut table = MapTable::default();
        table.insert("role".into(), Value::from(self.role.as_str()));
        table.insert("content".into(), self.content.clone());
        if let Some(name) = &self.name {
            table.insert("name".into(), Value::from(name.as_str()));
        }
        if !self.to.is_empty() {
            let to: Vec<Value> = self
                .to
                .iter()
                .map(|name| Value::from(name.as_str()))
                .collect();
            table.insert("toRole".into(), Value::from(to));
        }
        if self.private {
            table.insert("private".into(), Value::Bool(true));
        }
        if let Some(thinking) = &self.thinking {
            table.insert("thinking".into(), Value::from(thinking.as_str()));
        }
        Value::Map(Map::new(table))
    }

    /// Reads a message object of a script as a complete message.
    pub(crate) fn read(value: &Value, scope: &NameScope, at: Span) -> Self {
        let field = |key: &str| value.as_map().and_then(|map| map.get(key));
        let text = |key: &str| field(key).and_then(Value::as_str).map(str::to_owned);
        let role = text("role").unwrap_or_else(|| "user".to_owned());
        let content = field("content").unwrap_or(value).clone();
        let mut entry = DialogueEntry::done(role, content, scope.clone(), at);
        entry.name = text("name");
        entry.thinking = text("thinking");
        entry
    }

    /// Returns its approximate memory use in bytes.
    fn weight(&self) -> usize {
        let thinking = self.thinking.as_ref().map_or(0, String::len);
        let own = thinking + std::mem::size_of::<Self>();
        self.content.weight().saturating_add(own)
    }
}
