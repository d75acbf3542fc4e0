//! Semantic Kernel's additions to jinja2: helpers, plugin functions named `plugin_function`, and
//! encoded output.
//!
//! The rules are those of semantic-kernel 1.45 for Python, the only version with this format.
//! Messages are structure in this engine and need no encoding. The encoded output serves to compare
//! with the original.

use std::sync::{Arc, LazyLock};

use quillet_core as core;
use regex::Regex;

use super::call::EvaluatedArguments;
use super::eval::{Evaluator, VALUE_SIZE, fail};
use super::functions::{FunctionEntry, function};
use super::syntax::JinjaPreset;
use super::value::{Sort, Value};
use crate::structure::Elements;
use crate::{ErrorKind, RenderError, StopReason, plugin_function};

pub(super) static FUNCTIONS: &[FunctionEntry] = &[
    function("array", None, array),
    function("camelCase", Some(&["text"]), camel_case),
    function("camel_case", Some(&["text"]), camel_case),
    function("doubleClose", Some(&[]), |_, _| Ok("}}".into())),
    function("doubleOpen", Some(&[]), |_, _| Ok("{{".into())),
    function("double_close", Some(&[]), |_, _| Ok("}}".into())),
    function("double_open", Some(&[]), |_, _| Ok("{{".into())),
    function("get", Some(&["context", "name", "default"]), get),
    function("message", Some(&["item"]), message),
    function("messageToPrompt", Some(&["context"]), message_to_prompt),
    function("message_to_prompt", Some(&["context"]), message_to_prompt),
    function("messages", Some(&["chat_history"]), messages),
    function("snakeCase", Some(&["text"]), snake_case),
    function("snake_case", Some(&["text"]), snake_case),
];

fn array(e: &mut Evaluator<'_, '_>, given: &EvaluatedArguments) -> Result<Value, StopReason> {
    e.charge(given.positional.len() * VALUE_SIZE)?;
    e.list(Sort::List, given.positional.clone())
}

/// Implements `context.get(name, default)`. Also returns the default if `context` or `name` is
/// missing.
fn get(e: &mut Evaluator<'_, '_>, given: &EvaluatedArguments) -> Result<Value, StopReason> {
    let default = || given.get(2, "default").cloned().unwrap_or("".into());
    match (given.get(0, "context"), given.get(1, "name")) {
        (None | Some(Value::None), _) | (_, None | Some(Value::None)) => Ok(default()),
        (Some(Value::Undefined(path)), _) => Err(e.undefined(path.as_deref())),
        (Some(Value::Dict(dict)), Some(name)) => {
            let key = e.key(name)?;
            Ok(dict.get(&key).unwrap_or_else(default))
        }
        (Some(other), _) => Err(fail(format!(
            "get() looks into an object, not into {}",
            other.kind()
        ))),
    }
}

fn camel_case(e: &mut Evaluator<'_, '_>, given: &EvaluatedArguments) -> Result<Value, StopReason> {
    let text = text(given)?;
    e.charge(text.len() * 3)?;
    let word = |word: &str| {
        let mut characters = word.chars();
        let first = characters.next().into_iter().flat_map(char::to_uppercase);
        let rest = characters.as_str().to_lowercase();
        first.chain(rest.chars()).collect::<String>()
    };
    Ok(text.split('_').map(word).collect::<String>().into())
}

fn snake_case(e: &mut Evaluator<'_, '_>, given: &EvaluatedArguments) -> Result<Value, StopReason> {
    static ACRONYM: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new("([A-Z]+)([A-Z][a-z])").ok());
    static WORD: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"([a-z\d])([A-Z])").ok());
    let text = text(given)?;
    e.charge(text.len() * 4)?;
    let mut out = text.to_owned();
    for pattern in [&ACRONYM, &WORD].into_iter().filter_map(|p| p.as_ref()) {
        out = pattern.replace_all(&out, "${1}_${2}").into_owned();
    }
    Ok(out.replace('-', "_").to_lowercase().into())
}

fn text(given: &EvaluatedArguments) -> Result<&str, StopReason> {
    given.need(0, "text")?;
    given.str(0, "text", "")
}

// Message helpers.

fn message(e: &mut Evaluator<'_, '_>, given: &EvaluatedArguments) -> Result<Value, StopReason> {
    let item = given.need(0, "item")?.clone();
    match e.chat_message(&item)? {
        Some(text) => Ok(text.into()),
        None => Err(fail(format!(
            "message() needs an object with a role and a content, not {}",
            item.kind()
        ))),
    }
}

fn message_to_prompt(
    e: &mut Evaluator<'_, '_>,
    given: &EvaluatedArguments,
) -> Result<Value, StopReason> {
    let item = given.need(0, "context")?.clone();
    match e.chat_message(&item)? {
        Some(text) => Ok(text.into()),
        None => Ok(Value::Str(e.text(&item)?)),
    }
}

/// Writes every message of a conversation. Another value prints nothing.
fn messages(e: &mut Evaluator<'_, '_>, given: &EvaluatedArguments) -> Result<Value, StopReason> {
    let Value::List(list) = given.need(0, "chat_history")?.clone() else {
        return Ok("".into());
    };
    let mut out = String::new();
    for item in list.iter() {
        e.step()?;
        out.push_str(&e.chat_message(&item)?.unwrap_or_default());
    }
    let whole = e.compiled.encoded && !out.is_empty();
    Ok(if whole {
        format!("<chat_history>{out}</chat_history>").into()
    } else {
        out.into()
    })
}

impl Evaluator<'_, '_> {
    /// Returns a message with marked tags, so its content can be any text. In encoding mode the
    /// message is encoded like in Semantic Kernel.
    fn chat_message(&mut self, item: &Value) -> Result<Option<String>, StopReason> {
        let Value::Dict(dict) = item else {
            return Ok(None);
        };
        let (Some(role), Some(content)) = (dict.get_str("role"), dict.get_str("content")) else {
            return Ok(None);
        };
        let (role, content) = (self.text(&role)?, self.text(&content)?);
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        if role.is_empty() || !role.chars().all(plain) {
            return Err(fail(format!("{role:?} cannot be the role of a message")));
        }
        self.charge(content.len() * 6 + 256)?;
        let open = format!("<message role=\"{role}\">");
        if self.compiled.encoded {
            let content = content.replace('&', "&amp;");
            let content = content.replace('<', "&lt;").replace('>', "&gt;");
            return Ok(Some(format!("{open}<text>{content}</text></message>")));
        }
        let mut tags = Elements::default();
        let open = tags.mark(&open).into_owned();
        Ok(Some(open + &content + &tags.mark("</message>")))
    }

    /// Resolves a name to a late-bound function that is registered with another spelling, such as
    /// `plugin.function` for `plugin_function`.
    pub(super) fn function_name(&self, name: &str) -> Option<String> {
        if self.compiled.preset != JinjaPreset::SemanticKernel || self.pass.has_function(name) {
            return None;
        }
        plugin_function(name, &self.pass.function_names()).map(str::to_owned)
    }

    /// Adds the variables with the names of a function's parameters to its arguments, as Semantic
    /// Kernel does. Arguments of the call are not replaced.
    pub(super) fn implicit_arguments(
        &mut self,
        function: &str,
        positional: usize,
        named: &mut core::value::MapTable,
    ) -> Result<(), StopReason> {
        if self.compiled.preset != JinjaPreset::SemanticKernel {
            return Ok(());
        }
        let parameters = self.pass.parameters(function).unwrap_or_default();
        for name in parameters.into_iter().skip(positional) {
            if named.contains_key(name.as_str()) {
                continue;
            }
            if let Some(value) = self.pass.variables().get(&name) {
                let value = self.encoded_variable(&name, value)?;
                named.insert(name.into(), value);
            }
        }
        Ok(())
    }

    fn encoded_variable(
        &mut self,
        name: &str,
        value: &core::Value,
    ) -> Result<core::Value, StopReason> {
        match value {
            core::Value::Str(text) if self.compiled.encodes(name) => {
                Ok(core::Value::Str(self.html(text)?))
            }
            other => Ok(other.clone()),
        }
    }

    /// Rejects lists and objects that Semantic Kernel cannot encode, even if the template does not
    /// use them.
    pub(super) fn check_encodable(&self) -> Result<(), StopReason> {
        let complex = |(name, value): &(&Arc<str>, &core::Value)| {
            value.depth() > 0 && self.compiled.encodes(name)
        };
        match self.pass.variables().iter().find(complex) {
            None => Ok(()),
            Some((name, value)) => {
                let kind = value.kind();
                let reason = format!("variable {name:?} is {kind}, which cannot be encoded");
                let mut error = RenderError::new(ErrorKind::Execution, reason);
                error.help = Some("mark its content as trusted".to_owned());
                Err(error.into())
            }
        }
    }

    /// Encodes a text like Python's `html.escape`.
    pub(super) fn html(&mut self, text: &Arc<str>) -> Result<Arc<str>, StopReason> {
        let special = |c: char| matches!(c, '&' | '<' | '>' | '"' | '\'');
        if !text.contains(special) {
            return Ok(Arc::clone(text));
        }
        self.charge(text.len() * 6)?;
        let mut out = String::with_capacity(text.len() * 2);
        for c in text.chars() {
            match c {
                '&' => out.push_str("&amp;"),
                '<' => out.push_str("&lt;"),
                '>' => out.push_str("&gt;"),
                '"' => out.push_str("&quot;"),
                '\'' => out.push_str("&#x27;"),
                c => out.push(c),
            }
        }
        Ok(out.into())
    }

    /// Returns a variable or a result in the form that an encoding template sees.
    pub(super) fn encoded(&mut self, value: &Value) -> Result<Value, StopReason> {
        let text = self.text(value)?;
        self.html(&text).map(Value::Str)
    }
}
