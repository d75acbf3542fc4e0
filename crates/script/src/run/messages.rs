//! Adds, completes and restarts messages of the dialogue.

use std::sync::Arc;

use quillet_core::{BoxFuture, Map, MapTable, Span, Value, nearest};
use quillet_yaml::{Node, NodeData};

use super::dialogue::{self, DialogueEntry, EVERYBODY, MessageStage};
use super::expressions::ComputedValue;
use super::failure::refuse;
use super::instance::Instance;
use super::print::print;
use super::scope::NameScope;
use super::stack::boxed;
use crate::error::ScriptError;
use crate::syntax::MessageTemplate;
use crate::text::hole::may_have_holes;
use crate::text::prefix::{self, FormatTime, MessagePlacement, TextPosition};
use crate::text::{bias, recipients};

impl Instance {
    /// Adds a message to the dialogue.
    pub(crate) async fn push(
        self: &Arc<Self>,
        message: &MessageTemplate,
        at: Span,
        scope: &NameScope,
    ) -> Result<(), ScriptError> {
        let role = message.role.as_ref().map_or("user", |role| &role.value);
        let mut entry = DialogueEntry::done(role, Value::Null, scope.clone(), at);
        self.read_fields(message, &mut entry, scope).await?;
        let Some(text) = message.content.as_str() else {
            entry.content = self.plain_content(&message.content, role, scope).await?;
            entry.stage = MessageStage::Template;
            return self.place(entry, MessagePlacement::Push).await;
        };
        entry.span = message.content.span;
        let position = match message.role {
            None => TextPosition::Message,
            Some(_) => TextPosition::Argument,
        };
        self.take_text(entry, text, position).await
    }

    /// Adds a message with text by the author to the dialogue, as the marks of the text specify.
    pub(super) async fn take_text(
        self: &Arc<Self>,
        entry: DialogueEntry,
        text: &str,
        position: TextPosition,
    ) -> Result<(), ScriptError> {
        let read = prefix::read(text, position);
        if let Some(instead) = read.deprecated {
            self.deprecated(text, instead, entry.span, &entry.scope);
        }
        let mut form = read.form;
        let mut text = read.text.to_owned();
        if form == FormatTime::Expression {
            let value = self
                .expression_value(&text, &entry.scope, entry.span)
                .await?;
            (form, text) = match value {
                ComputedValue::Template(text) => (FormatTime::Immediate, text),
                ComputedValue::Value(value) => (FormatTime::Raw, print(value.as_ref())),
            };
        }
        self.write(entry, text, form, read.place).await
    }

    /// Sets the text of a message, as its marks specify.
    async fn write(
        self: &Arc<Self>,
        mut entry: DialogueEntry,
        text: String,
        form: FormatTime,
        place: MessagePlacement<'_>,
    ) -> Result<(), ScriptError> {
        let form = self.form(form);
        if form == FormatTime::Raw {
            entry.content = Value::from(text);
            return self.place(entry, place).await;
        }
        let text = self.addressed(text, &mut entry);
        // Done before holes and templates, so that a value that looks like a bias stays text.
        let (text, biases) = bias::strip(&text);
        entry.biases = biases;
        entry.stage = if may_have_holes(&text) {
            MessageStage::Holes
        } else {
            MessageStage::Template
        };
        entry.content = Value::from(text);
        let immediate = form == FormatTime::Immediate;
        self.place(entry, place).await?;
        if immediate {
            self.render_messages().await?;
        }
        Ok(())
    }

    /// Returns the text's own mark, or else `formatStringStrategy`.
    fn form(&self, own: FormatTime) -> FormatTime {
        if own != FormatTime::Default {
            return own;
        }
        match self
            .setting("formatStringStrategy")
            .as_ref()
            .and_then(Value::as_str)
        {
            Some(name) if name.eq_ignore_ascii_case("raw") => FormatTime::Raw,
            Some(name) if name.eq_ignore_ascii_case("immediate") => FormatTime::Immediate,
            _ => FormatTime::Default,
        }
    }

    /// Removes recipients such as `@dobby(PM), …` from the start of a text, if the script has these
    /// roles.
    fn addressed(&self, text: String, entry: &mut DialogueEntry) -> String {
        if entry.role == "system" || !entry.to.is_empty() || !text.trim_start().starts_with('@') {
            return text;
        }
        let roles = self.roles();
        let (named, rest) = recipients::leading(&text);
        let known = |name: &str| name == EVERYBODY || roles.contains_key(name);
        if named.is_empty() || !named.iter().all(|recipient| known(&recipient.name)) {
            for recipient in named.iter().filter(|one| !known(&one.name)) {
                let near = nearest(&recipient.name, roles.keys().map(|role| &**role));
                self.warn_unknown_recipient(&recipient.name, near, entry);
            }
            return text;
        }
        entry.private = named.iter().any(|recipient| recipient.private);
        entry.to = named.into_iter().map(|recipient| recipient.name).collect();
        rest.to_owned()
    }

    /// Warns about an `@name` that resembles a role. Other names in a text are handles and
    /// addresses.
    fn warn_unknown_recipient(&self, name: &str, near: Option<&str>, entry: &DialogueEntry) {
        let Some(near) = near else {
            return;
        };
        let why = format!("unknown recipient `@{name}`");
        let source = &entry.scope.source;
        let finding = source.warning("script.role", why, entry.span);
        self.world
            .warn(finding.help(format!("did you mean `@{near}`?")));
    }

    /// Reads the fields of a message other than its content.
    async fn read_fields(
        self: &Arc<Self>,
        message: &MessageTemplate,
        entry: &mut DialogueEntry,
        scope: &NameScope,
    ) -> Result<(), ScriptError> {
        if let Some(to) = &message.to {
            let named = recipients::bracketed(&to.value)
                .map_err(|problem| refuse(scope, to.span, problem.message))?;
            entry.private = named.iter().any(|recipient| recipient.private);
            entry.to = named.into_iter().map(|recipient| recipient.name).collect();
            for name in &entry.to {
                self.check_role(name, scope, to.span)?;
            }
        }
        for field in &message.fields {
            let value = self.node(&field.value, scope).await?;
            match (field.name(), value) {
                ("templateFormat", Some(Value::Str(format))) => {
                    entry.format = Some(format.to_string())
                }
                ("name", Some(Value::Str(name))) => entry.name = Some(name.to_string()),
                ("private", Some(Value::Bool(private))) => entry.private = private,
                ("toRole" | "to", Some(Value::Str(name))) => entry.to = vec![name.to_string()],
                ("toRole" | "to", Some(Value::List(names))) => {
                    entry.to = names
                        .as_slice()
                        .iter()
                        .filter_map(Value::as_str)
                        .map(str::to_owned)
                        .collect();
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads non-text content of a message: a structured system message, content parts, or data.
    async fn plain_content(
        self: &Arc<Self>,
        node: &Node,
        role: &str,
        scope: &NameScope,
    ) -> Result<Value, ScriptError> {
        match &node.data {
            // The message is not rendered yet: its templates are rendered later, like those of
            // every message.
            NodeData::Map(_) if role == "system" => Ok(node.value()),
            NodeData::Scalar(scalar) => Ok(Value::from(print(Some(&scalar.value)))),
            _ => {
                let value = self.node(node, scope).await?.unwrap_or_default();
                self.with_parts(value, scope, node.span).await
            }
        }
    }

    /// Inserts a message where its mark specifies.
    async fn place(
        self: &Arc<Self>,
        entry: DialogueEntry,
        place: MessagePlacement<'_>,
    ) -> Result<(), ScriptError> {
        let done = (entry.stage == MessageStage::Done).then(|| entry.content.clone());
        // The lock is released before `completed`, which emits events and may call this function
        // again.
        let at = {
            let mut dialogue = self.dialogue();
            let length = dialogue.messages().len() + 1;
            dialogue.check_room(length, &entry.scope, entry.span)?;
            // The message is counted after the check, because a rejected message does not use
            // memory.
            self.world.kept.add(entry.content.weight());
            dialogue.place(entry, place)?
        };
        match done {
            None => Ok(()),
            Some(content) => {
                self.finish(Some(content));
                self.completed(at).await
            }
        }
    }

    /// Restarts the dialogue from the messages before the first separator.
    pub(crate) async fn separate(
        self: &Arc<Self>,
        pin: bool,
        scope: &NameScope,
        at: Span,
    ) -> Result<(), ScriptError> {
        let first = self.dialogue().separate(pin);
        if first {
            self.recall(scope, at).await
        } else {
            Ok(())
        }
    }

    /// Inserts an earlier conversation after the hidden prefix. A listener of `load-chats` may
    /// replace it.
    pub(super) async fn recall(
        self: &Arc<Self>,
        scope: &NameScope,
        at: Span,
    ) -> Result<(), ScriptError> {
        let mut recalled = self.dialogue().remembered();
        if self.listens("load-chats") {
            let told = self
                .emit(
                    "load-chats",
                    vec![Some(Value::from(self.id.as_str()))],
                    scope,
                    at,
                )
                .await?;
            // If the listener returns nothing, the conversation of the caller is used.
            if let Some(Value::List(list)) = told.result {
                self.dialogue().check_room(list.len(), scope, at)?;
                let entries = list.as_slice().iter();
                let entries = entries.map(|message| DialogueEntry::read(message, scope, at));
                recalled = entries.collect();
            }
        }
        self.dialogue().recall(recalled);
        Ok(())
    }

    /// Emits `save-chats` with the conversation after the hidden prefix.
    pub(super) async fn saved(
        self: &Arc<Self>,
        scope: &NameScope,
        at: Span,
    ) -> Result<(), ScriptError> {
        if !self.listens("save-chats") {
            return Ok(());
        }
        let messages = dialogue::values(self.dialogue().conversation());
        let file = Some(Value::from(self.id.as_str()));
        self.emit("save-chats", vec![Some(messages), file], scope, at)
            .await?;
        Ok(())
    }

    /// Fills the holes of all messages that have any. Other templates are not rendered yet.
    pub(crate) async fn fill_holes(self: &Arc<Self>) -> Result<(), ScriptError> {
        let waiting = self.dialogue().has_holes();
        if waiting {
            self.render_messages().await
        } else {
            Ok(())
        }
    }

    /// Completes all messages, in order.
    pub(crate) async fn render_messages(self: &Arc<Self>) -> Result<(), ScriptError> {
        // Fast path: nearly every instruction calls this, and usually nothing is pending.
        let waiting = self.dialogue().next_waiting();
        match waiting {
            Some(_) => self.render_messages_with(None).await,
            None => Ok(()),
        }
    }

    /// Completes all messages. `data` overrides all other variables, also while filling holes.
    pub(crate) fn render_messages_with<'a>(
        self: &'a Arc<Self>,
        data: Option<&'a Map>,
    ) -> BoxFuture<'a, Result<(), ScriptError>> {
        Box::pin(async move {
            loop {
                let next = self.dialogue().next_waiting();
                let Some(at) = next else {
                    return Ok(());
                };
                boxed(|| self.complete(at, data)).await?;
            }
        })
    }

    /// Completes one message.
    async fn complete(self: &Arc<Self>, at: usize, data: Option<&Map>) -> Result<(), ScriptError> {
        let entry = self.dialogue().messages().get(at).cloned();
        let Some(entry) = entry else {
            return Ok(());
        };
        // A call in a hole may read the dialogue, so the message must not be pending. Otherwise
        // completing it would start again and recurse forever.
        self.dialogue()
            .change(at, |entry| entry.stage = MessageStage::Filling);
        if entry.stage == MessageStage::Holes {
            boxed(|| self.fill(at, &entry, data)).await?;
            // A model's answer is never a repeated greeting.
            self.dialogue().end_repetition();
        } else {
            let content = self.render_content(&entry, data).await?;
            self.dialogue()
                .change(at, |entry| entry.content = content.clone());
            self.finish(Some(content));
        }
        self.dialogue()
            .change(at, |entry| entry.stage = MessageStage::Done);
        self.completed(at).await
    }

    /// Renders the templates of a message without holes.
    async fn render_content(
        self: &Arc<Self>,
        entry: &DialogueEntry,
        data: Option<&Map>,
    ) -> Result<Value, ScriptError> {
        match &entry.content {
            Value::Str(text) => Ok(Value::from(self.render_entry(entry, text, data).await?)),
            Value::Map(map) if entry.role == "system" => {
                let mut table = MapTable::default();
                for (key, value) in map.iter() {
                    table.insert(key.clone(), self.render_deep(entry, value, data).await?);
                }
                Ok(Value::Map(Map::new(table)))
            }
            other => Ok(other.clone()),
        }
    }

    /// Renders every text in a structure by the author.
    fn render_deep<'a>(
        self: &'a Arc<Self>,
        entry: &'a DialogueEntry,
        value: &'a Value,
        data: Option<&'a Map>,
    ) -> BoxFuture<'a, Result<Value, ScriptError>> {
        Box::pin(async move {
            match value {
                Value::Str(text) => Ok(Value::from(self.render_entry(entry, text, data).await?)),
                Value::List(list) => {
                    let mut items = Vec::new();
                    for item in list.as_slice() {
                        items.push(self.render_deep(entry, item, data).await?);
                    }
                    Ok(Value::from(items))
                }
                Value::Map(map) => {
                    let mut table = MapTable::default();
                    for (key, item) in map.iter() {
                        table.insert(key.clone(), self.render_deep(entry, item, data).await?);
                    }
                    Ok(Value::Map(Map::new(table)))
                }
                other => Ok(other.clone()),
            }
        })
    }

    /// Handles a message that became complete: recipients answer it and the observer is notified.
    async fn completed(self: &Arc<Self>, at: usize) -> Result<(), ScriptError> {
        let repeated = self.dialogue().drop_repeated(at);
        if repeated {
            return Ok(());
        }
        self.show(at);
        self.deliver(at).await
    }

    /// Reports a message to the observer, unless it is in the hidden prefix.
    pub(crate) fn show(&self, at: usize) {
        // Messages of a called script are internal to it; only the outermost dialogue is shown.
        if self.is_inner() {
            return;
        }
        let shown = self.dialogue().show(at);
        if let Some(event) = shown {
            self.world.observer.event(event);
        }
    }
}
