//! Group chat, and other scripts as conversation partners.
//!
//! All messages are stored once, in the dialogue of the main script. Each role gets its own view
//! for an answer: its messages have the role `assistant`, and private messages of others are left
//! out.

use std::sync::Arc;

use quillet_core::{Map, MapTable, Span, Value, nearest};
use quillet_yaml::Node;

use super::ScriptInput;
use super::dialogue::{DialogueEntry, EVERYBODY};
use super::failure::refuse_with;
use super::instance::Instance;
use super::model_call::ModelClient;
use super::params::CallParams;
use super::print::print;
use super::scope::NameScope;
use super::state::Partner;
use crate::error::ScriptError;
use crate::syntax::Script;

impl Instance {
    /// Returns the roles of the front matter: names and script ids.
    pub(super) fn roles(&self) -> MapTable {
        role_table(self.setting("roles").as_ref())
    }

    /// Rejects an unknown role, because no script would answer the message.
    pub(super) fn check_role(
        &self,
        name: &str,
        scope: &NameScope,
        at: Span,
    ) -> Result<(), ScriptError> {
        let roles = self.roles();
        if speaks_here(name) || roles.contains_key(name) || self.own_name() == name {
            return Ok(());
        }
        let near = nearest(name, roles.keys().map(|role| &**role));
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "declare its script under `roles`".to_owned(),
        };
        Err(refuse_with(
            scope,
            at,
            format!("unknown role `{name}`"),
            help,
        ))
    }

    /// Returns the id of the script that plays a role.
    pub(super) fn role_script(&self, name: &str) -> Option<String> {
        let roles = self.roles();
        if roles.is_empty() || self.own_name() == name {
            return None;
        }
        match roles.get(name)? {
            Value::Str(id) => Some(id.to_string()),
            Value::Map(map) => map.get("id").and_then(Value::as_str).map(str::to_owned),
            _ => Some(name.to_owned()),
        }
    }

    /// Returns the name that this script speaks under.
    pub(super) fn own_name(&self) -> String {
        let state = self.state();
        let character = state.variables.get("character").and_then(Value::as_map);
        let name = state
            .variables
            .get("name")
            .or_else(|| character?.get("name"));
        name.and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// Lets each recipient of a message answer, in order.
    pub(super) async fn deliver(self: &Arc<Self>, at: usize) -> Result<(), ScriptError> {
        let entry = {
            let dialogue = self.dialogue();
            let entry = dialogue.messages().get(at);
            entry.filter(|entry| !entry.to.is_empty()).cloned()
        };
        let Some(entry) = entry else {
            return Ok(());
        };
        let mut place = at;
        for role in self.recipients(&entry) {
            let Some(script) = self.role_script(&role) else {
                continue;
            };
            let text = self
                .role_reply(&role, &script, place + 1, &entry.scope, entry.span)
                .await?;
            place += 1;
            let mut reply = DialogueEntry::done(
                role,
                Value::from(text.as_str()),
                entry.scope.clone(),
                entry.span,
            );
            if entry.private {
                // The answer to a private message is private too.
                reply.private = true;
                reply.to.clone_from(&entry.to);
                reply.to.push(entry.role.clone());
            }
            let place = self.dialogue().reply(place, reply);
            self.state().finish(Some(Value::from(text)), None);
            self.show(place);
        }
        Ok(())
    }

    /// Returns the recipients of a message. `@all` means every role except the speaker and the
    /// script itself.
    fn recipients(&self, entry: &DialogueEntry) -> Vec<String> {
        let own = self.own_name();
        let mut names = Vec::new();
        for name in &entry.to {
            if name == EVERYBODY {
                names.extend(self.roles().keys().map(ToString::to_string))
            } else {
                names.push(name.clone())
            }
        }
        let mut seen = std::collections::HashSet::new();
        names.retain(|name| *name != entry.role && *name != own && seen.insert(name.clone()));
        names
    }

    /// Answers `dobby: "[[AI]]"`: the script of the role replies to the messages before an index.
    pub(super) async fn role_answer(
        self: &Arc<Self>,
        role: &str,
        until: usize,
        scope: &NameScope,
        at: Span,
    ) -> Result<Option<String>, ScriptError> {
        match self.role_script(role) {
            Some(script) => self
                .role_reply(role, &script, until, scope, at)
                .await
                .map(Some),
            None => Ok(None),
        }
    }

    /// Returns a role's reply to the dialogue before a message.
    async fn role_reply(
        self: &Arc<Self>,
        role: &str,
        script: &str,
        until: usize,
        scope: &NameScope,
        at: Span,
    ) -> Result<String, ScriptError> {
        self.state().asked = true;
        let key = format!("role {role}");
        let Some(found) = self.find(script, scope, at).await? else {
            return Err(self.unknown_call(script, scope, at));
        };
        if found.config.get("type").and_then(Node::as_str) != Some("char") {
            let message =
                format!("invalid script `{script}` for the role `{role}`: its type must be `char`");
            self.world
                .warn(scope.source.warning("script.role", message, at));
        }
        let partner = self.partner(&key, &found, scope, at).await?;
        let human = self.setting("chatPartner");
        let human = human.as_ref().and_then(Value::as_str).unwrap_or("user");
        let view = self.dialogue().view_of_role(role, human, until);
        let view = self.generated(view, scope, at).await?;
        partner.instance.dialogue().replace_tail(partner.own, view);
        let text = partner.instance.next_line().await?;
        Ok(without_name(&text, role, &partner.instance.own_name()))
    }

    /// Returns the script instance of a role. It is started once and reused for later turns.
    async fn partner(
        self: &Arc<Self>,
        key: &str,
        script: &Arc<Script>,
        scope: &NameScope,
        at: Span,
    ) -> Result<Partner, ScriptError> {
        if let Some(known) = self.state().partners.get(key) {
            return Ok(known.clone());
        }
        let instance = self.inner(script.clone(), scope, at).await?;
        instance.start(ScriptInput::None).await?;
        instance.bodies().await?;
        instance.render_messages().await?;
        let own = instance.dialogue().messages().len();
        let partner = Partner { instance, own };
        self.state()
            .partners
            .insert(key.to_owned(), partner.clone());
        Ok(partner)
    }

    /// Requests the next line of a conversation.
    async fn next_line(self: &Arc<Self>) -> Result<String, ScriptError> {
        let asker = ModelClient::new(self, &self.root(), Span::default());
        let value = Box::pin(asker.next_message(Map::default())).await?;
        Ok(print(Some(&value)))
    }

    /// `[[@dobby(message=true)]]` and `$dobby.interact({message})`: talks to another script, which
    /// remembers the conversation. `true` sends the last message; `clear=true` first forgets the
    /// conversation.
    pub(super) async fn talk(
        self: &Arc<Self>,
        name: &str,
        script: Arc<Script>,
        params: CallParams,
        scope: &NameScope,
        at: Span,
    ) -> Result<Option<Value>, ScriptError> {
        let key = format!("talk {name}");
        let partner = self.partner(&key, &script, scope, at).await?;
        if params.named.get("clear") == Some(&Value::Bool(true)) {
            partner.instance.dialogue().truncate(partner.own);
        }
        let said = match params.get("message", 0) {
            Some(Value::Bool(true)) | None => self.dialogue().last_message_text(),
            Some(Value::Bool(false)) => None,
            Some(Value::Map(map)) => map.get("content").map(|content| print(Some(content))),
            Some(other) => Some(print(Some(other))),
        };
        if let Some(text) = said {
            let entry = DialogueEntry::done(
                "user",
                Value::from(text),
                partner.instance.root(),
                Span { start: 0, end: 0 },
            );
            partner.instance.dialogue().push_message(entry);
        }
        self.state().asked = true;
        let text = partner.instance.next_line().await?;
        let text = without_name(&text, name, &partner.instance.own_name());
        Ok(Some(Value::from(text)))
    }

    /// `beforeGenerateChats` and `afterGenerateChats`: listeners can change the messages that the
    /// model sees, before and after they are selected.
    async fn generated(
        self: &Arc<Self>,
        entries: Vec<DialogueEntry>,
        scope: &NameScope,
        at: Span,
    ) -> Result<Vec<DialogueEntry>, ScriptError> {
        let mut entries = entries;
        for event in ["beforeGenerateChats", "afterGenerateChats"] {
            if !self.listens(event) {
                continue;
            }
            let values: Vec<Value> = entries.iter().map(DialogueEntry::value).collect();
            let count = Value::Int(i64::try_from(values.len()).unwrap_or(i64::MAX));
            let mut data = vec![
                ("messages", Value::from(values.clone())),
                ("fromIndex", Value::Int(0)),
                ("toIndex", count),
            ];
            if event == "afterGenerateChats" {
                data.push(("result", Value::from(values)));
            }
            let data = Value::Map(Map::from_iter(data));
            let told = self.emit(event, vec![Some(data)], scope, at).await?;
            if let Some(changed) = told.result {
                entries = chosen(&changed, scope, at).unwrap_or(entries);
            }
        }
        Ok(entries)
    }
}

/// Reads the roles of a front matter: names and script ids.
pub(crate) fn role_table(roles: Option<&Value>) -> MapTable {
    match roles {
        Some(Value::Map(roles)) => roles.to_table(),
        Some(Value::List(roles)) => roles.as_slice().iter().filter_map(listed_role).collect(),
        _ => MapTable::default(),
    }
}

/// Returns whether a name needs no script: the standard roles and `all`.
pub(crate) fn speaks_here(name: &str) -> bool {
    matches!(name, EVERYBODY | "user" | "assistant" | "system")
}

/// Reads an entry of a role list: a script id, or `{id, name}` to use another name.
fn listed_role(role: &Value) -> Option<(Arc<str>, Value)> {
    if let Some(id) = role.as_str() {
        return Some((Arc::from(id), role.clone()));
    }
    let text = |key: &str| role.as_map()?.get(key)?.as_str();
    let id = text("id")?;
    Some((Arc::from(text("name").unwrap_or(id)), Value::from(id)))
}

/// Reads the messages that a listener returned: a list, or `{messages, fromIndex, toIndex}`.
fn chosen(value: &Value, scope: &NameScope, at: Span) -> Option<Vec<DialogueEntry>> {
    let index = |key: &str| match value.as_map()?.get(key)? {
        Value::Int(index) => usize::try_from(*index).ok(),
        _ => None,
    };
    let list = match value {
        Value::List(list) => list,
        Value::Map(map) => match map.get("messages")? {
            Value::List(list) => list,
            _ => return None,
        },
        _ => return None,
    };
    let messages = list.as_slice();
    let from = index("fromIndex").unwrap_or(0).min(messages.len());
    let to = index("toIndex")
        .unwrap_or(messages.len())
        .clamp(from, messages.len());
    let messages = messages.get(from..to)?;
    Some(
        messages
            .iter()
            .map(|message| DialogueEntry::read(message, scope, at))
            .collect(),
    )
}

/// Removes the speaker name that models often put at the beginning of a line.
fn without_name(text: &str, role: &str, name: &str) -> String {
    let trimmed = text.trim_start();
    for name in [role, name] {
        let rest = trimmed
            .get(..name.len())
            .filter(|start| !name.is_empty() && start.eq_ignore_ascii_case(name));
        let rest = rest
            .and_then(|_| trimmed.get(name.len()..))
            .map(str::trim_start);
        if let Some(rest) = rest.and_then(|rest| rest.strip_prefix([':', '：'])) {
            return rest.trim_start().to_owned();
        }
    }
    text.to_owned()
}
