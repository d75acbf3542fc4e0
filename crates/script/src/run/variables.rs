//! Variable directives: `$set`, `$get`, `$unset`, `$push`, `$ctx`.

use std::sync::Arc;

use quillet_core::{Map, MapTable, Span, Value};
use quillet_yaml::Node;

use super::dialogue::{self, DialogueEntry};
use super::failure::{refuse, refuse_with};
use super::instance::Instance;
use super::memory_meter;
use super::params::{CallParams, DirectiveResult};
use super::print::print;
use super::scope::NameScope;
use super::values::is_function;
use crate::call::CallSettings;
use crate::error::ScriptError;
use crate::expression::NameValue;
use crate::expression::path::{self, PathSegment};

impl Instance {
    /// `$set` as written: functions are stored as functions, all other values are evaluated.
    pub(super) async fn set(
        self: &Arc<Self>,
        params: &CallParams,
        scope: &NameScope,
        at: Span,
    ) -> DirectiveResult {
        let Some(call) = params.call.clone() else {
            return self.set_values(params, scope, at);
        };
        let value = call
            .value
            .as_ref()
            .and_then(Node::entries)
            .unwrap_or_default();
        let mut last = None;
        for entry in value.iter().chain(&call.fields) {
            if is_function(&entry.value) {
                let function = self.function_node(&entry.value, scope)?;
                self.state().functions.insert(entry.name().into(), function);
                continue;
            }
            last = self.node(&entry.value, scope).await?;
            self.set_path(entry.name(), last.clone(), scope, entry.key.span)?;
        }
        if value.is_empty() && call.fields.is_empty() {
            self.set_values(params, scope, at)
        } else {
            Ok(last)
        }
    }

    /// `$set('name')` in a chain, `$set('name', value)`, `$set(name=value)`, and from JavaScript.
    pub(super) fn set_values(
        &self,
        params: &CallParams,
        scope: &NameScope,
        at: Span,
    ) -> DirectiveResult {
        let mut last = params.piped.clone();
        if let Some(name) = params
            .text("key", 0)
            .filter(|_| !params.positional.is_empty())
        {
            let value = match params.positional.get(1) {
                Some(value) => value.clone(),
                None => params.piped.clone(),
            };
            self.set_path(name, value.clone(), scope, at)?;
            last = value;
        }
        for (name, value) in params.named.iter() {
            self.set_path(name, Some(value.clone()), scope, at)?;
            last = Some(value.clone());
        }
        Ok(last)
    }

    /// Sets the value at a key path.
    fn set_path(
        &self,
        name: &str,
        value: Option<Value>,
        scope: &NameScope,
        at: Span,
    ) -> Result<(), ScriptError> {
        let steps = path::parse(name).map_err(|problem| refuse(scope, at, problem.to_string()))?;
        let Some((PathSegment::Key(first), more)) = steps.split_first() else {
            return Err(refuse(
                scope,
                at,
                format!("expected a name at the start of `{name}`"),
            ));
        };
        if more.is_empty() {
            self.assign(first, value, scope, at)?;
            return Ok(());
        }
        let old = match &**first {
            "prompt" => Some(Value::Map(Map::new(self.state().prompt.clone()))),
            "parameters" => Some(Value::Map(Map::new(self.state().parameters.clone()))),
            _ => self.setting(first),
        };
        let old = old.unwrap_or_default();
        let new = match value {
            Some(value) => path::set(&old, more, value)
                .map_err(|problem| refuse(scope, at, problem.to_string()))?,
            None => path::unset(&old, more).unwrap_or(old),
        };
        self.assign(first, Some(new), scope, at)
    }

    /// Sets a variable. The fields of `prompt` and `parameters` are set one by one.
    pub(super) fn assign(
        &self,
        name: &str,
        value: Option<Value>,
        scope: &NameScope,
        at: Span,
    ) -> Result<(), ScriptError> {
        self.world.kept.add(memory_meter::of(value.as_ref()));
        match (name, value) {
            ("prompt", Some(Value::Map(map))) => {
                if let Some(messages) = map.get("messages") {
                    self.set_messages(messages, scope, at)?;
                }
                let mut table = map.to_table();
                table.shift_remove("messages");
                self.state().replace_prompt(table);
            }
            ("parameters", Some(Value::Map(map))) => self.state().parameters = map.to_table(),
            ("prompt" | "parameters", _) => {
                return Err(refuse(scope, at, format!("`{name}` is an object")));
            }
            ("LatestResult", value) => self.finish(value),
            (name, value) => self.state().assign(name, value),
        }
        Ok(())
    }

    /// Replaces the messages of the dialogue with those that a script wrote, as complete messages.
    fn set_messages(
        &self,
        messages: &Value,
        scope: &NameScope,
        at: Span,
    ) -> Result<(), ScriptError> {
        let Value::List(list) = messages else {
            return Ok(());
        };
        // Checked before the conversion, because each value needs more memory as a message.
        let mut dialogue = self.dialogue();
        dialogue.check_room(list.len(), scope, at)?;
        if *messages == dialogue::values(dialogue.messages()) {
            return Ok(());
        }
        let entries = list.as_slice().iter();
        let entries = entries.map(|value| DialogueEntry::read(value, scope, at));
        dialogue.replace(entries.collect());
        Ok(())
    }

    /// `$get`: returns the value of one path, or an object with the values of several. A function
    /// is called with its name and its result returned.
    pub(super) async fn get(
        self: &Arc<Self>,
        params: &CallParams,
        scope: &NameScope,
        at: Span,
    ) -> DirectiveResult {
        let paths = get_paths(params);
        let one = paths.len() == 1 && !matches!(params.get("key", 0), Some(Value::List(_)));
        let mut found = MapTable::default();
        for name in &paths {
            let value = match self.callable(name) {
                Some(function) => {
                    let arguments = vec![Some(Value::from(name.as_str()))];
                    self.call_function(&function, arguments, scope, at).await?.0
                }
                None => self.get_path(name, scope, at)?,
            };
            if one {
                return Ok(value);
            }
            found.insert(name.as_str().into(), value.unwrap_or_default());
        }
        Ok(Some(Value::Map(Map::new(found))))
    }

    pub(super) fn gets_function(&self, params: &CallParams) -> bool {
        get_paths(params)
            .iter()
            .any(|name| self.callable(name).is_some())
    }

    pub(super) fn get_values(
        &self,
        params: &CallParams,
        scope: &NameScope,
        at: Span,
    ) -> DirectiveResult {
        let paths = get_paths(params);
        if let ([name], false) = (
            paths.as_slice(),
            matches!(params.get("key", 0), Some(Value::List(_))),
        ) {
            return self.get_path(name, scope, at);
        }
        let mut found = MapTable::default();
        for name in &paths {
            found.insert(
                name.as_str().into(),
                self.get_path(name, scope, at)?.unwrap_or_default(),
            );
        }
        Ok(Some(Value::Map(Map::new(found))))
    }

    /// Returns the value at a key path, or `None` if there is none.
    pub(super) fn get_path(&self, name: &str, scope: &NameScope, at: Span) -> DirectiveResult {
        let steps = path::parse(name).map_err(|problem| refuse(scope, at, problem.to_string()))?;
        let Some((PathSegment::Key(first), more)) = steps.split_first() else {
            return Err(refuse(
                scope,
                at,
                format!("expected a name at the start of `{name}`"),
            ));
        };
        match self.lookup(first, scope) {
            NameValue::Value(value) => Ok(path::get(&value, more).cloned()),
            _ => Ok(None),
        }
    }

    pub(super) fn unset(
        &self,
        params: &CallParams,
        scope: &NameScope,
        at: Span,
    ) -> DirectiveResult {
        for name in get_paths(params) {
            self.set_path(&name, None, scope, at)?;
        }
        Ok(None)
    }

    /// `$push`: appends to a list, and creates it if it does not exist.
    pub(super) fn push_value(
        &self,
        params: &CallParams,
        scope: &NameScope,
        at: Span,
    ) -> DirectiveResult {
        let Some(name) = params.text("key", 0).map(str::to_owned) else {
            return Err(refuse(
                scope,
                at,
                "`$push` is missing `key`, the path of a list",
            ));
        };
        let value = params
            .get("value", 1)
            .cloned()
            .or_else(|| params.piped.clone());
        let mut list = match self.get_path(&name, scope, at)? {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::List(list)) => list.as_slice().to_vec(),
            Some(other) => {
                return Err(refuse(
                    scope,
                    at,
                    format!("`{name}` must be a list, not {}", other.kind()),
                ));
            }
        };
        list.push(value.unwrap_or_default());
        let list = Value::from(list);
        self.set_path(&name, Some(list.clone()), scope, at)?;
        Ok(Some(list))
    }

    /// Rejects a name that resembles a model setting and is not a variable.
    pub(super) fn refuse_misspelt<'n>(
        &self,
        names: impl Iterator<Item = &'n str>,
        scope: &NameScope,
        at: Span,
    ) -> Result<(), ScriptError> {
        for name in names {
            let variable = || matches!(self.lookup(name, scope), NameValue::Value(_));
            if let Some(near) = CallSettings::meant(name).filter(|_| !variable()) {
                let why = format!("unknown model setting `{name}`");
                let help = format!("did you mean `{near}`?");
                return Err(refuse_with(scope, at, why, help));
            }
        }
        Ok(())
    }

    /// `$ctx`: accesses the variables that this script stores with its caller.
    pub(super) fn context(&self, params: &CallParams) -> DirectiveResult {
        let root = params.named.get("rootScope") == Some(&Value::Bool(true));
        let mut holder = self.caller.as_deref().unwrap_or(self);
        while root && let Some(caller) = holder.caller.as_deref() {
            holder = caller;
        }
        let id = params.text("id", 2).unwrap_or(&self.id).to_owned();
        let mut state = holder.state();
        let Some(key) = params.text("key", 0) else {
            let all = state.contexts.get(&id).cloned().unwrap_or_default();
            return Ok(Some(Value::Map(Map::new(all))));
        };
        match params.get("value", 1) {
            Some(value) => {
                self.world.kept.add(value.weight());
                let table = state.contexts.entry(id).or_default();
                table.insert(key.into(), value.clone());
                Ok(Some(value.clone()))
            }
            None => Ok(state
                .contexts
                .get(&id)
                .and_then(|table| table.get(key))
                .cloned()),
        }
    }
}

/// Returns the path arguments of `$get` and `$unset`.
fn get_paths(params: &CallParams) -> Vec<String> {
    let mut paths = Vec::new();
    let given = params
        .positional
        .iter()
        .flatten()
        .chain(params.named.get("key"));
    for value in given {
        match value {
            Value::List(list) => paths.extend(list.as_slice().iter().map(|item| print(Some(item)))),
            one => paths.push(print(Some(one))),
        }
    }
    paths
}
