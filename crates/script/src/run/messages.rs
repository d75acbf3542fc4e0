//! The dialogue: messages come, wait, are completed, and begin anew.

use std::sync::Arc;

use quillet_core::{BoxFuture, Map, Span, Table, Value, nearest};
use quillet_yaml::{Data, Node};

use super::expressions::Computed;
use super::group;
use super::instance::Instance;
use super::scope::Scope;
use super::stack::boxed;
use super::state::{Entry, Stage};
use super::values::refuse;
use crate::error::ScriptError;
use crate::host::RunEvent;
use crate::syntax::Message;
use crate::text::hole::may_have_holes;
use crate::text::prefix::{self, Form, Place, Position};
use crate::text::{bias, recipients};

impl Instance {
    /// Takes a message into the dialogue.
    pub(crate) async fn push(
        self: &Arc<Self>,
        message: &Message,
        at: Span,
        scope: &Scope,
    ) -> Result<(), ScriptError> {
        let role = message.role.as_ref().map_or("user", |role| &role.value);
        let mut entry = Entry::done(role, Value::Null, scope.clone(), at);
        self.read_fields(message, &mut entry, scope).await?;
        let Some(text) = message.content.as_str() else {
            entry.content = self.plain_content(&message.content, role, scope).await?;
            entry.stage = Stage::Template;
            return self.place(entry, Place::Push).await;
        };
        entry.span = message.content.span;
        let position = match message.role {
            None => Position::Message,
            Some(_) => Position::Argument,
        };
        self.take_text(entry, text, position).await
    }

    /// Takes a message with an author's text into the dialogue, as the marks of the text say.
    pub(super) async fn take_text(
        self: &Arc<Self>,
        entry: Entry,
        text: &str,
        position: Position,
    ) -> Result<(), ScriptError> {
        let read = prefix::read(text, position);
        if let Some(instead) = read.deprecated {
            self.deprecated(text, instead, entry.span, &entry.scope);
        }
        let mut form = read.form;
        let mut text = read.text.to_owned();
        if form == Form::Expression {
            let value = self
                .expression_value(&text, &entry.scope, entry.span)
                .await?;
            (form, text) = match value {
                Computed::Template(text) => (Form::Immediate, text),
                Computed::Value(value) => (Form::Raw, print(value.as_ref())),
            };
        }
        self.write(entry, text, form, read.place).await
    }

    /// Gives a message its text, as its marks say.
    async fn write(
        self: &Arc<Self>,
        mut entry: Entry,
        text: String,
        form: Form,
        place: Place<'_>,
    ) -> Result<(), ScriptError> {
        let form = self.form(form);
        if form == Form::Raw {
            entry.content = Value::from(text);
            return self.place(entry, place).await;
        }
        let text = self.addressed(text, &mut entry);
        let (text, biases) = bias::strip(&text);
        entry.biases = biases;
        entry.stage = match may_have_holes(&text) {
            true => Stage::Holes,
            false => Stage::Template,
        };
        entry.content = Value::from(text);
        let immediate = form == Form::Immediate;
        self.place(entry, place).await?;
        if immediate {
            self.render_messages().await?;
        }
        Ok(())
    }

    /// A text's own mark, or else `formatStringStrategy`.
    fn form(&self, own: Form) -> Form {
        if own != Form::Default {
            return own;
        }
        match self
            .setting("formatStringStrategy")
            .as_ref()
            .and_then(Value::as_str)
        {
            Some(name) if name.eq_ignore_ascii_case("raw") => Form::Raw,
            Some(name) if name.eq_ignore_ascii_case("immediate") => Form::Immediate,
            _ => Form::Default,
        }
    }

    /// Takes `@dobby(PM), …` from the beginning of a text, where the script has such roles.
    fn addressed(&self, text: String, entry: &mut Entry) -> String {
        if entry.role == "system" || !entry.to.is_empty() || !text.trim_start().starts_with('@') {
            return text;
        }
        let roles = self.roles();
        let (named, rest) = recipients::leading(&text);
        let known = |name: &str| name == group::EVERYBODY || roles.contains_key(name);
        if named.is_empty() || !named.iter().all(|recipient| known(&recipient.name)) {
            for recipient in named.iter().filter(|one| !known(&one.name)) {
                let near = nearest(&recipient.name, roles.keys().map(|role| &**role));
                self.said_to_nobody(&recipient.name, near, entry);
            }
            return text;
        }
        entry.private = named.iter().any(|recipient| recipient.private);
        entry.to = named.into_iter().map(|recipient| recipient.name).collect();
        rest.to_owned()
    }

    /// `@name` that is nearly a role. Other names in a text are handles and addresses.
    fn said_to_nobody(&self, name: &str, near: Option<&str>, entry: &Entry) {
        let Some(near) = near else {
            return;
        };
        let why = format!("`@{name}` is said to nobody");
        let source = &entry.scope.source;
        let finding = source.warning("script.role", why, entry.span);
        self.world
            .warn(finding.help(format!("did you mean `@{near}`?")));
    }

    /// What stands beside a message's text.
    async fn read_fields(
        self: &Arc<Self>,
        message: &Message,
        entry: &mut Entry,
        scope: &Scope,
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

    /// The content of a message that is no text: a structured system message, parts, or data.
    async fn plain_content(
        self: &Arc<Self>,
        node: &Node,
        role: &str,
        scope: &Scope,
    ) -> Result<Value, ScriptError> {
        match &node.data {
            // Its templates are rendered later, like those of any message.
            Data::Map(_) if role == "system" => Ok(node.value()),
            Data::Scalar(scalar) => Ok(Value::from(print(Some(&scalar.value)))),
            _ => {
                let value = self.node(node, scope).await?.unwrap_or_default();
                self.with_parts(value, scope, node.span).await
            }
        }
    }

    /// Puts a message where its mark says.
    async fn place(self: &Arc<Self>, entry: Entry, place: Place<'_>) -> Result<(), ScriptError> {
        let length = self.state().messages.len() + 1;
        self.message_room(length, &entry.scope, entry.span)?;
        self.world.kept.add(entry.content.weight());
        let pending = entry.stage != Stage::Done;
        let holes = entry.stage == Stage::Holes;
        let done = (!pending).then(|| entry.content.clone());
        let at = self.insert(entry, place)?;
        if let Some(content) = done {
            self.finish(Some(content));
            return self.completed(at).await;
        }
        let mut state = self.state();
        state.pending_from = state.pending_from.min(at);
        state.holes |= holes;
        Ok(())
    }

    /// Whether a dialogue may have so many messages.
    pub(super) fn message_room(
        &self,
        length: usize,
        scope: &Scope,
        at: Span,
    ) -> Result<(), ScriptError> {
        let limit = self.world.budget.limits().messages;
        if length <= limit {
            return Ok(());
        }
        let message = format!("a dialogue cannot have more than {limit} messages");
        Err(super::budget::limit(scope, at, message, "limits.messages"))
    }

    fn insert(&self, mut entry: Entry, place: Place<'_>) -> Result<usize, ScriptError> {
        let mut state = self.state();
        let length = state.messages.len();
        let at = match place {
            Place::Push => length,
            Place::Insert { index, role } => {
                if let Some(role) = role {
                    role.clone_into(&mut entry.role);
                }
                match index {
                    None => length,
                    Some(index) if usize::try_from(index) == Ok(length) => length,
                    Some(index) => state
                        .index(index)
                        .ok_or_else(|| no_message(&entry, index, length))?,
                }
            }
            Place::Replace { index, role } => {
                let index = index.unwrap_or(-1);
                let at = state
                    .index(index)
                    .ok_or_else(|| no_message(&entry, index, length))?;
                let old = &state.messages[at];
                entry.role = role.map_or_else(|| old.role.clone(), str::to_owned);
                entry.name = entry.name.take().or_else(|| old.name.clone());
                state.messages[at] = entry;
                return Ok(at);
            }
        };
        state.messages.insert(at, entry);
        // What is put into the hidden beginning is part of it, and pushes nothing out.
        state.prefix = state.prefix.map(|prefix| prefix + usize::from(at < prefix));
        Ok(at)
    }

    /// Begins a new dialogue: back to the messages before the first separator.
    pub(crate) async fn separate(
        self: &Arc<Self>,
        pin: bool,
        scope: &Scope,
        at: Span,
    ) -> Result<(), ScriptError> {
        let first = {
            let mut state = self.state();
            let first = state.prefix.is_none();
            match state.prefix {
                Some(prefix) if !pin => state.messages.truncate(prefix),
                _ => state.prefix = Some(state.messages.len()),
            }
            state.pending_from = state.messages.len();
            first
        };
        match first {
            true => self.recall(scope, at).await,
            false => Ok(()),
        }
    }

    /// Puts an earlier conversation behind the hidden beginning. A listener of `load-chats`
    /// may give another one.
    pub(super) async fn recall(
        self: &Arc<Self>,
        scope: &Scope,
        at: Span,
    ) -> Result<(), ScriptError> {
        let mut recalled = std::mem::take(&mut self.state().recalled);
        if self.listens("load-chats") {
            let told = self
                .emit(
                    "load-chats",
                    vec![Some(Value::from(self.id.as_str()))],
                    scope,
                    at,
                )
                .await?;
            if let Some(Value::List(list)) = told.result {
                self.message_room(list.len(), scope, at)?;
                let entries = list.as_slice().iter();
                recalled = entries
                    .map(|message| super::variables::message_of(message, scope, at))
                    .collect();
            }
        }
        let mut state = self.state();
        let system = |entry: &Entry| entry.role == "system";
        let begin = state
            .messages
            .iter()
            .take_while(|entry| system(entry))
            .count();
        let place = state.prefix.unwrap_or(begin);
        state.greeted = (!recalled.is_empty()).then_some(place..place + recalled.len());
        state.messages.splice(place..place, recalled);
        state.pending_from = place.min(state.pending_from);
        Ok(())
    }

    /// Tells a listener of `save-chats` of the conversation, without the hidden beginning.
    pub(super) async fn saved(
        self: &Arc<Self>,
        scope: &Scope,
        at: Span,
    ) -> Result<(), ScriptError> {
        if !self.listens("save-chats") {
            return Ok(());
        }
        let messages = {
            let state = self.state();
            let said = state.messages.iter().skip(state.prefix.unwrap_or(0));
            Value::from(said.map(Entry::value).collect::<Vec<_>>())
        };
        let file = Some(Value::from(self.id.as_str()));
        self.emit("save-chats", vec![Some(messages), file], scope, at)
            .await?;
        Ok(())
    }

    /// Fills `[[…]]` of messages that wait for it. Templates of other messages wait on.
    pub(crate) async fn fill_holes(self: &Arc<Self>) -> Result<(), ScriptError> {
        let waiting = self.state().holes;
        match waiting {
            true => self.render_messages().await,
            false => Ok(()),
        }
    }

    /// Completes all messages, in order.
    pub(crate) async fn render_messages(self: &Arc<Self>) -> Result<(), ScriptError> {
        self.render_messages_with(None).await
    }

    /// Completes all messages; `data` wins over all other variables, and holes are asked for with
    /// it.
    pub(crate) fn render_messages_with<'a>(
        self: &'a Arc<Self>,
        data: Option<&'a Map>,
    ) -> BoxFuture<'a, Result<(), ScriptError>> {
        Box::pin(async move {
            loop {
                let next = {
                    let mut state = self.state();
                    let from = state.pending_from.min(state.messages.len());
                    let waiting = state.messages.iter().skip(from).position(Entry::waits);
                    let next = waiting.map(|offset| from + offset);
                    state.pending_from = next.unwrap_or(state.messages.len());
                    next
                };
                let Some(at) = next else {
                    self.state().holes = false;
                    return Ok(());
                };
                boxed(|| self.complete(at, data)).await?;
            }
        })
    }

    /// Completes one message.
    async fn complete(self: &Arc<Self>, at: usize, data: Option<&Map>) -> Result<(), ScriptError> {
        let Some(entry) = self.state().messages.get(at).cloned() else {
            return Ok(());
        };
        // What a hole calls may read the dialogue, and must not find this message waiting.
        self.change(at, |entry| entry.stage = Stage::Filling);
        if entry.stage == Stage::Holes {
            boxed(|| self.fill(at, &entry, data)).await?;
            // What a model says anew is no repetition.
            self.state().greeted = None;
        } else {
            let content = self.render_content(&entry, data).await?;
            self.change(at, |entry| entry.content = content.clone());
            self.finish(Some(content));
        }
        self.change(at, |entry| entry.stage = Stage::Done);
        self.completed(at).await
    }

    pub(crate) fn change(&self, at: usize, how: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.state().messages.get_mut(at) {
            how(entry);
        }
    }

    /// Renders the templates of a message without holes.
    async fn render_content(
        self: &Arc<Self>,
        entry: &Entry,
        data: Option<&Map>,
    ) -> Result<Value, ScriptError> {
        match &entry.content {
            Value::Str(text) => Ok(Value::from(self.render_entry(entry, text, data).await?)),
            Value::Map(map) if entry.role == "system" => {
                let mut table = Table::default();
                for (key, value) in map.iter() {
                    table.insert(key.clone(), self.render_deep(entry, value, data).await?);
                }
                Ok(Value::Map(Map::new(table)))
            }
            other => Ok(other.clone()),
        }
    }

    /// Renders every text of an author's structure.
    fn render_deep<'a>(
        self: &'a Arc<Self>,
        entry: &'a Entry,
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
                    let mut table = Table::default();
                    for (key, item) in map.iter() {
                        table.insert(key.clone(), self.render_deep(entry, item, data).await?);
                    }
                    Ok(Value::Map(Map::new(table)))
                }
                other => Ok(other.clone()),
            }
        })
    }

    /// Takes a greeting out again that an earlier conversation begins with: the script says it
    /// each time, and it was said.
    fn was_said(&self, at: usize) -> bool {
        let mut state = self.state();
        let Some(said) = state.greeted.clone() else {
            return false;
        };
        let message = state.messages.get(at);
        let before = state.messages.get(said.start).filter(|_| !said.is_empty());
        let same = match (message, before) {
            (Some(message), Some(before)) => {
                message.role != "user"
                    && message.role == before.role
                    && message.content == before.content
            }
            _ => false,
        };
        if at < said.end || !same {
            state.greeted = None;
            return false;
        }
        state.messages.remove(at);
        state.pending_from = state.pending_from.min(at);
        state.greeted = Some(said.start + 1..said.end);
        true
    }

    /// A message has its text: those that it is for answer, and the observer hears of it.
    async fn completed(self: &Arc<Self>, at: usize) -> Result<(), ScriptError> {
        if self.was_said(at) {
            return Ok(());
        }
        self.show(at);
        self.deliver(at).await
    }

    /// Tells the observer of a message after the hidden beginning.
    pub(crate) fn show(&self, at: usize) {
        let shown = {
            let mut state = self.state();
            let hidden = state.prefix.is_none_or(|prefix| at < prefix);
            let Some(entry) = state.messages.get_mut(at) else {
                return;
            };
            if hidden || entry.shown || self.caller.is_some() {
                return;
            }
            entry.shown = true;
            RunEvent::Message {
                role: entry.name.clone().unwrap_or_else(|| entry.role.clone()),
                content: said(&entry.content),
            }
        };
        self.world.observer.event(shown);
    }
}

fn no_message(entry: &Entry, index: i64, length: usize) -> ScriptError {
    let message = format!("there is no message {index}: the dialogue has {length}");
    refuse(&entry.scope, entry.span, message)
}

/// What a message says, for people: media are named, and not written out.
pub(crate) fn said(content: &Value) -> String {
    super::parts::told(content).unwrap_or_else(|| print(Some(content)))
}

/// A value as text: texts as they are, nothing for `null` and `undefined`, else JSON.
pub(crate) fn print(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::Str(text)) => text.to_string(),
        Some(value @ (Value::List(_) | Value::Map(_))) => quillet_core::json::to_string(value),
        Some(other) => crate::expression::to_js_string(other),
    }
}
