//! Implements the directives that are neither control flow nor events.

use std::sync::Arc;

use quillet_core::{Map, Span, Value};
use quillet_yaml::{Node, NodeData};

use super::dialogue::{self, DialogueEntry, MessageStage};
use super::failure::{refuse, refuse_with};
use super::instance::Instance;
use super::memory_meter;
use super::model_call::ModelClient;
use super::params::{CallParams, DirectiveResult};
use super::print::print;
use super::scope::NameScope;
use super::stack::boxed;
use crate::directive::Directive;
use crate::error::{ErrorKind, ScriptError};
use crate::host::RunEvent;
use quillet_core::lock::lock;

impl Instance {
    /// Executes a directive.
    pub(super) async fn directive(
        self: &Arc<Self>,
        directive: Directive,
        params: CallParams,
        scope: &NameScope,
        at: Span,
    ) -> DirectiveResult {
        if let Some(done) = self.run_immediately(directive, &params, scope, at) {
            return done;
        }
        match directive {
            Directive::Ai => boxed(|| self.ai(&params, scope, at)).await,
            Directive::Tool => boxed(|| self.tool_directive(params, scope, at)).await,
            Directive::Set => boxed(|| self.set(&params, scope, at)).await,
            Directive::Get => boxed(|| self.get(&params, scope, at)).await,
            Directive::Format => boxed(|| self.format(&params, scope, at)).await,
            Directive::Exec => boxed(|| self.exec(params, scope, at)).await,
            Directive::Prompt => boxed(|| self.set_prompt(&params, scope)).await,
            Directive::On => boxed(|| self.on(&params, false, scope, at)).await,
            Directive::Once => boxed(|| self.on(&params, true, scope, at)).await,
            Directive::Emit => boxed(|| self.emit_directive(&params, scope, at)).await,
            Directive::Ready => boxed(|| self.make_ready(&params, scope, at)).await,
            Directive::CountTokens | Directive::Tokenize | Directive::TruncateToTokenLimit => {
                self.tokens(directive, &params, scope, at)
            }
            Directive::ReadFile => boxed(|| self.read_file(&params, scope, at)).await,
            Directive::Fetch => boxed(|| self.fetch(&params, scope, at)).await,
            Directive::IsDir => self.is_folder(&params, scope, at),
            Directive::ListFilenames => self.list_files(&params, scope, at),
            // Handled above. These directives are listed so that the compiler reports a new
            // directive without an arm.
            Directive::Abort
            | Directive::CleanResult
            | Directive::Ctx
            | Directive::Echo
            | Directive::Exit
            | Directive::GetMessages
            | Directive::Log
            | Directive::Off
            | Directive::Parameters
            | Directive::Pipe
            | Directive::Print
            | Directive::Push
            | Directive::PushMessage
            | Directive::ReplaceMessage
            | Directive::Ret
            | Directive::Throw
            | Directive::Unset
            // `control::call` executes control flow, because it needs the call as written.
            | Directive::Break
            | Directive::Continue
            | Directive::For
            | Directive::If
            | Directive::Match
            | Directive::While => {
                let name = directive.name();
                let message = format!("`${name}` must be a separate instruction");
                Err(refuse(scope, at, message))
            }
        }
    }

    /// Executes a directive that never waits. JavaScript calls it without a promise.
    pub(super) fn run_immediately(
        &self,
        directive: Directive,
        params: &CallParams,
        scope: &NameScope,
        at: Span,
    ) -> Option<DirectiveResult> {
        let mut names = params.named.iter().map(|(name, _)| name);
        let known = directive.spec();
        if let Some((why, help)) = names.find_map(|name| known.refusal(name)) {
            return Some(Err(refuse_with(scope, at, why, help)));
        }
        Some(match directive {
            Directive::Echo | Directive::Ret | Directive::Exit | Directive::Pipe => {
                Ok(params.as_value())
            }
            Directive::Print => Ok(self.print(params.as_value())),
            Directive::Log => Ok(self.log(params, scope, at)),
            Directive::Throw => Err(thrown(params.as_value(), scope, at)),
            Directive::Abort => Err(aborted(params.text("reason", 0), scope, at)),
            Directive::Unset => self.unset(params, scope, at),
            Directive::Push => self.push_value(params, scope, at),
            Directive::Ctx => self.context(params),
            Directive::Parameters => self.set_parameters(params, scope, at),
            Directive::Off => self.off(params, scope, at),
            Directive::GetMessages => Ok(Some(dialogue::values(self.dialogue().messages()))),
            Directive::PushMessage => self.push_message(params, scope, at),
            Directive::ReplaceMessage => self.replace_message(params, scope, at),
            Directive::CleanResult => Ok(self.cleaned(params)),
            // A call from JavaScript has no nodes to read.
            Directive::Set if params.call.is_none() => self.set_values(params, scope, at),
            Directive::Get if params.call.is_none() && !self.gets_function(params) => {
                self.get_values(params, scope, at)
            }
            _ => return None,
        })
    }

    /// `$AI` and `$tool: llm`: completes all messages and requests the next one, unless a hole in
    /// the last message has already done so.
    pub(super) async fn ai(
        self: &Arc<Self>,
        params: &CallParams,
        scope: &NameScope,
        at: Span,
    ) -> DirectiveResult {
        let given = params.named.clone();
        self.refuse_misspelt(given.iter().map(|(name, _)| &**name), scope, at)?;
        let asked_by_hole = self.dialogue().ends_with_hole();
        self.render_messages_with(Some(&given)).await?;
        if asked_by_hole {
            return Ok(self.state().last.clone());
        }
        let asker = ModelClient::new(self, scope, at);
        asker.next_message(given).await.map(Some)
    }

    /// `$print`: writes a line to standard output. For a message with several answers, prints the
    /// first.
    fn print(&self, value: Option<Value>) -> Option<Value> {
        let shown = match value.as_ref().and_then(Value::as_map) {
            Some(map) => map.get("0").or(value.as_ref()),
            None => value.as_ref(),
        };
        self.world.observer.event(RunEvent::Printed(print(shown)));
        value
    }

    /// `$cleanResult`: removes the code fence that models put around a text.
    fn cleaned(&self, params: &CallParams) -> Option<Value> {
        let given = params
            .get("content", 0)
            .cloned()
            .or_else(|| params.piped.clone());
        let given = given.or_else(|| self.state().last.clone())?;
        let text = given.as_str()?;
        Some(Value::from(crate::answer::unfenced(text)))
    }

    fn log(&self, params: &CallParams, scope: &NameScope, at: Span) -> Option<Value> {
        let value = params
            .get("content", 0)
            .cloned()
            .or_else(|| params.as_value());
        let level = params.text("level", 1).unwrap_or("info");
        let line = print(value.as_ref());
        match level {
            "warn" | "error" => self
                .world
                .warn(scope.source.warning("script.log", line, at)),
            _ => tracing::info!(script = %self.id, "{line}"),
        }
        value
    }

    /// `$prompt`: sets fields of `prompt`, which templates prefer over variables. Its texts are by
    /// the author and may be templates.
    async fn set_prompt(
        self: &Arc<Self>,
        params: &CallParams,
        scope: &NameScope,
    ) -> DirectiveResult {
        let call = params.call.clone();
        let entries = call.as_ref().map(|call| {
            let value = call
                .value
                .as_ref()
                .and_then(Node::entries)
                .unwrap_or_default();
            value
                .iter()
                .chain(&call.fields)
                .cloned()
                .collect::<Vec<_>>()
        });
        for entry in entries.unwrap_or_default() {
            let name = entry.name();
            let plain = |node: &Node| matches!(&node.data, NodeData::Scalar(scalar) if scalar.value.as_str().is_some_and(|text| !text.starts_with("?=")));
            let authored = plain(&entry.value);
            let value = if authored {
                Some(entry.value.value())
            } else {
                self.node(&entry.value, scope).await?
            };
            let mut state = self.state();
            state.answered.remove(name);
            if authored {
                state.authored.insert(name.into())
            } else {
                // A computed text may come from a user or a model, so it must not be rendered.
                state.authored.remove(name)
            };
            if let Some(value) = value {
                state.prompt.insert(name.into(), value);
            }
        }
        if call.is_none() {
            let mut state = self.state();
            let mut prompt = state.prompt.clone();
            prompt.extend(params.named.to_table());
            state.replace_prompt(prompt);
        }
        Ok(None)
    }

    fn set_parameters(&self, params: &CallParams, scope: &NameScope, at: Span) -> DirectiveResult {
        let names = params.named.iter().map(|(name, _)| &**name);
        self.refuse_misspelt(names, scope, at)?;
        let mut state = self.state();
        state.parameters.extend(params.named.to_table());
        Ok(None)
    }

    async fn format(
        self: &Arc<Self>,
        params: &CallParams,
        scope: &NameScope,
        at: Span,
    ) -> DirectiveResult {
        let mut data = None;
        if let Some(call) = params.call.as_deref() {
            let node = call
                .field("data")
                .or_else(|| call.value.as_ref()?.get("data"));
            if let Some(node) = node {
                data = self.node(node, scope).await?;
            }
        }
        let data = data.or_else(|| params.named.get("data").cloned());
        let data = data.as_ref().and_then(Value::as_map);
        let Some(template) = params.text("template", 0) else {
            return Err(refuse(scope, at, "missing template of `$format`"));
        };
        let format = params.text("templateFormat", 2);
        let text = self
            .render_template(template, format, data, scope, at)
            .await?;
        Ok(Some(Value::from(text)))
    }

    /// `$tool: name` and `$tool: {name, …}`.
    async fn tool_directive(
        self: &Arc<Self>,
        mut params: CallParams,
        scope: &NameScope,
        at: Span,
    ) -> DirectiveResult {
        let Some(name) = params
            .text("name", 0)
            .or_else(|| params.text("toolId", 0))
            .map(str::to_owned)
        else {
            return Err(refuse(
                scope,
                at,
                "`$tool` is missing `name`, the name of a tool",
            ));
        };
        let mut named = params.named.to_table();
        match named.shift_remove("name").is_some() {
            true => {}
            false if !params.positional.is_empty() => {
                params.positional.remove(0);
            }
            false => {}
        }
        params.named = Map::new(named);
        self.tool(&name, params, scope, at).await
    }

    /// `$exec`: runs another script and caches its result by arguments, unless `memoized` is false.
    async fn exec(
        self: &Arc<Self>,
        params: CallParams,
        scope: &NameScope,
        at: Span,
    ) -> DirectiveResult {
        let name = ["id", "filename", "script", "tag"]
            .iter()
            .find_map(|key| params.named.get(key)?.as_str());
        let Some(name) = name.or_else(|| params.text("id", 0)).map(str::to_owned) else {
            return Err(refuse(
                scope,
                at,
                "`$exec` is missing `id` or `filename`, the script to run",
            ));
        };
        let input = match params.named.get("args") {
            Some(Value::Map(map)) => super::ScriptInput::Named(map.clone()),
            Some(other) => super::ScriptInput::Single(other.clone()),
            None => match params.piped.clone() {
                Some(Value::Map(map)) => super::ScriptInput::Named(map),
                Some(other) if other != Value::Null => super::ScriptInput::Single(other),
                _ => super::ScriptInput::None,
            },
        };
        let remembers = params.named.get("memoized") != Some(&Value::Bool(false));
        let key = remembers.then(|| memory_key(&self.id, &name, &input));
        if let Some(known) = key
            .as_ref()
            .and_then(|key| lock(&self.world.memory).get(key).cloned())
        {
            let (value, hidden) = known;
            self.state().coming = hidden;
            return Ok(value);
        }
        let Some(script) = self.find(&name, scope, at).await? else {
            return Err(self.unknown_call(&name, scope, at));
        };
        if let (super::ScriptInput::Named(named), None) = (&input, &params.piped) {
            self.check_names(&script, named, scope, at).await?;
        }
        let value = self.run_script(script, input, scope, at).await?;
        if let Some(key) = key {
            let hidden = self.state().coming.clone();
            let weight = key.len() + memory_meter::of(value.as_ref());
            self.world.kept.add(weight);
            let mut memory = lock(&self.world.memory);
            if memory.len() < REMEMBERED {
                memory.insert(key, (value.clone(), hidden));
            }
        }
        Ok(value)
    }

    fn push_message(&self, params: &CallParams, scope: &NameScope, at: Span) -> DirectiveResult {
        let role = params.text("role", 1).unwrap_or("user");
        let content = params
            .get("content", 0)
            .cloned()
            .or_else(|| params.piped.clone());
        let content = content.unwrap_or_default();
        let mut entry = DialogueEntry::done(role, content.clone(), scope.clone(), at);
        entry.name = params
            .named
            .get("name")
            .and_then(Value::as_str)
            .map(str::to_owned);
        let index = {
            let mut dialogue = self.dialogue();
            dialogue.check_room(dialogue.messages().len() + 1, scope, at)?;
            dialogue.push(entry)
        };
        self.show(index);
        Ok(Some(content))
    }

    fn replace_message(&self, params: &CallParams, scope: &NameScope, at: Span) -> DirectiveResult {
        let index = match params.get("index", 1) {
            Some(Value::Int(index)) => *index,
            _ => -1,
        };
        let content = params.get("content", 0).cloned().unwrap_or_default();
        let mut dialogue = self.dialogue();
        let found = dialogue.index(index, scope, at)?;
        dialogue.change(found, |entry| {
            entry.content = content.clone();
            entry.stage = MessageStage::Done;
            if let Some(role) = params.text("role", 2) {
                role.clone_into(&mut entry.role);
            }
        });
        Ok(Some(content))
    }

    async fn make_ready(
        self: &Arc<Self>,
        params: &CallParams,
        scope: &NameScope,
        at: Span,
    ) -> DirectiveResult {
        let ready = params.get("isReady", 0) != Some(&Value::Bool(false));
        self.state().ready = ready;
        self.emit("ready", vec![Some(Value::Bool(ready))], scope, at)
            .await?;
        Ok(Some(Value::Bool(ready)))
    }

    fn tokens(
        &self,
        directive: Directive,
        params: &CallParams,
        scope: &NameScope,
        at: Span,
    ) -> DirectiveResult {
        let model = self.world.engine.models.model(None);
        let model = model.map_err(|message| refuse(scope, at, message))?;
        let text = params
            .get("text", 0)
            .cloned()
            .or_else(|| params.piped.clone());
        let text = print(text.as_ref());
        let count = |text: &str| model.counter.count_text(text);
        let integer = |number: u64| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
        match directive {
            Directive::CountTokens => Ok(Some(integer(count(&text)))),
            Directive::TruncateToTokenLimit => {
                let limit = match params.get("limit", 1) {
                    Some(Value::Int(limit)) => u64::try_from(*limit).unwrap_or(0),
                    _ => {
                        return Err(refuse(
                            scope,
                            at,
                            "`$truncateToTokenLimit` is missing `limit`, a number of tokens",
                        ));
                    }
                };
                Ok(Some(Value::from(within(&text, limit, count))))
            }
            _ => Err(refuse(
                scope,
                at,
                "providers do not report the number of tokens of a string: use `$countTokens`",
            )),
        }
    }
}

/// Maximum number of `$exec` results that a run caches, as in the reference implementation.
const REMEMBERED: usize = 4_096;

fn memory_key(caller: &str, callee: &str, input: &super::ScriptInput) -> String {
    let given = match input {
        super::ScriptInput::None => String::new(),
        super::ScriptInput::Named(map) => quillet_core::json::to_string(&Value::Map(map.clone())),
        super::ScriptInput::Single(value) => quillet_core::json::to_string(value),
    };
    format!("{caller}\u{0}{callee}\u{0}{given}")
}

/// Returns the longest prefix of a text that has at most `limit` tokens.
fn within(text: &str, limit: u64, count: impl Fn(&str) -> u64) -> &str {
    let ends: Vec<usize> = text
        .char_indices()
        .map(|(at, _)| at)
        .chain([text.len()])
        .collect();
    let fitting = ends.partition_point(|end| count(text.get(..*end).unwrap_or_default()) <= limit);
    let end = fitting
        .checked_sub(1)
        .and_then(|last| ends.get(last))
        .copied()
        .unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

fn thrown(value: Option<Value>, scope: &NameScope, at: Span) -> ScriptError {
    let message = match value
        .as_ref()
        .and_then(Value::as_map)
        .and_then(|map| map.get("message").or(map.get("error")))
    {
        Some(message) => print(Some(message)),
        None => print(value.as_ref()),
    };
    let mut error = ScriptError::new(
        ErrorKind::Thrown,
        scope.source.error(ErrorKind::Thrown.code(), message, at),
    );
    error.partial = value;
    error
}

fn aborted(reason: Option<&str>, scope: &NameScope, at: Span) -> ScriptError {
    let message = match reason {
        Some(reason) => format!("the script was aborted by `$abort`: {reason}"),
        None => "the script was aborted by `$abort`".to_owned(),
    };
    let code = ErrorKind::Aborted.code();
    ScriptError::new(ErrorKind::Aborted, scope.source.error(code, message, at))
}
