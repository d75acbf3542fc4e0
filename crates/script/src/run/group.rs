//! Group chat, and other scripts as partners in conversation.
//!
//! All that is said stands once, in the dialogue of the script in charge. What a role sees is made
//! from it for each answer: its own lines are the assistant's, private ones of others are missing.

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
    /// The roles of the front matter: a name and the id of its script.
    pub(super) fn roles(&self) -> MapTable {
        role_table(self.setting("roles").as_ref())
    }

    /// Refuses a role that nobody has: what is said to it would be said to nobody.
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

    /// The id of the script that plays a role.
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

    /// The name that this script speaks under.
    pub(super) fn own_name(&self) -> String {
        let state = self.state();
        let character = state.variables.get("character").and_then(Value::as_map);
        let name = state
            .variables
            .get("name")
            .or_else(|| character?.get("name"));
        name.and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// Everybody that a message is for answers, in order.
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
                // What is answered to a private message is as private.
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

    /// The roles that a message is for; `@all` is every one but the speaker and the script itself.
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

    /// `dobby: "[[AI]]"`: what the role's own script answers to the messages before an index.
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

    /// What a role says to the dialogue before a message.
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

    /// A script that was started once for this conversation and is kept for the next turn.
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

    /// Asks for the next line of a conversation.
    async fn next_line(self: &Arc<Self>) -> Result<String, ScriptError> {
        let asker = ModelClient::new(self, &self.root(), Span::default());
        let value = Box::pin(asker.next_message(Map::default())).await?;
        Ok(print(Some(&value)))
    }

    /// `[[@dobby(message=true)]]` and `$dobby.interact({message})`: a conversation with another
    /// script that remembers it. `true` is the last message; `clear=true` forgets what was said
    /// before.
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

    /// `beforeGenerateChats` and `afterGenerateChats`: what the model sees of the dialogue can be
    /// changed before and after it is chosen.
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

/// The roles that a front matter gives: a name and the id of its script.
pub(crate) fn role_table(roles: Option<&Value>) -> MapTable {
    match roles {
        Some(Value::Map(roles)) => roles.to_table(),
        Some(Value::List(roles)) => roles.as_slice().iter().filter_map(listed_role).collect(),
        _ => MapTable::default(),
    }
}

/// Whether a name needs no script: those of every dialogue, and all immediately.
pub(crate) fn speaks_here(name: &str) -> bool {
    matches!(name, EVERYBODY | "user" | "assistant" | "system")
}

/// A role of a list: the id of its script, or `{id, name}` where it has another name.
fn listed_role(role: &Value) -> Option<(Arc<str>, Value)> {
    if let Some(id) = role.as_str() {
        return Some((Arc::from(id), role.clone()));
    }
    let text = |key: &str| role.as_map()?.get(key)?.as_str();
    let id = text("id")?;
    Some((Arc::from(text("name").unwrap_or(id)), Value::from(id)))
}

/// The messages that a listener gave: a list, or `{messages, fromIndex, toIndex}`.
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

/// A line without the name that models like to begin it with.
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
