//! Holes (`[[…]]`) in messages and texts, and their values.
//!
//! Only text by the author has holes. They are found before the template is rendered and replaced
//! by secret markers, so text from a variable is never read as a hole.

use std::ops::Range;
use std::sync::Arc;

use quillet_core::{Map, MapTable, Span, Value};

use super::dialogue::DialogueEntry;
use super::failure::refuse;
use super::instance::Instance;
use super::model_call::{HoleRequest, ModelClient};
use super::print::print;
use super::scope::NameScope;
use super::stack::boxed;
use crate::answer::ChoiceConstraint;
use crate::argument::{ArgumentValue, BareWordPolicy};
use crate::error::{ErrorKind, ScriptError};
use crate::expression::NameValue;
use crate::pattern::Regex;
use crate::syntax::{CallTarget, ItemKind, ScriptText};
use crate::text::hole::{self, BrokenHole, HoleKind, HolePart};
use crate::text::spacing::splice;

/// A segment of a text after its templates were rendered.
enum TextPart {
    Text(String),
    /// The number of a hole.
    Hole(usize),
}

/// The holes of a text by the author.
struct Holes<'t> {
    text: &'t str,
    kinds: Vec<HoleKind>,
    /// The text, with markers in place of the holes.
    marked: String,
}

impl Instance {
    /// Fills the holes of a message from left to right and completes it.
    pub(super) async fn fill(
        self: &Arc<Self>,
        at: usize,
        entry: &DialogueEntry,
        data: Option<&Map>,
    ) -> Result<(), ScriptError> {
        let text = entry.text().to_owned();
        let holes = self.holes(&text, &entry.scope, entry.span)?;
        let rendered = self.render_entry(entry, &holes.marked, data).await?;
        let parts = self.split(&rendered);
        let mut filling = HoleFiller::default();
        for (place, part) in parts.iter().enumerate() {
            match part {
                TextPart::Text(text) => filling.text(text),
                TextPart::Hole(number) => {
                    let Some(kind) = holes.kinds.get(*number) else {
                        continue;
                    };
                    // A closure is used, because only holes that call a model need the text after
                    // them.
                    let suffix = || rest(&parts, place + 1);
                    self.fill_hole(at, entry, &holes, kind, &mut filling, suffix, data)
                        .await?;
                }
            }
        }
        let content = filling.finish();
        let whole = filling
            .alone(&parts)
            .unwrap_or_else(|| Value::from(content.as_str()));
        self.dialogue()
            .change(at, |entry| entry.content = Value::from(content));
        self.world.kept.add(whole.weight());
        self.state().finish(Some(whole), filling.answer);
        // A message with many holes uses more memory within a single step.
        self.world.room(&entry.scope, entry.span)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one step of a loop, cut out to be read"
    )]
    async fn fill_hole(
        self: &Arc<Self>,
        at: usize,
        entry: &DialogueEntry,
        holes: &Holes<'_>,
        kind: &HoleKind,
        filling: &mut HoleFiller,
        suffix: impl Fn() -> String,
        data: Option<&Map>,
    ) -> Result<(), ScriptError> {
        if let HoleKind::Ai { name, parameters } = kind {
            // The text before the hole is the prefix of the answer, so it must be complete before
            // the request is sent.
            filling.flush("");
            let arguments = parameters
                .as_ref()
                .map(|range| holes.part(range, entry.span));
            let (parameters, choice) = self.hole_parameters(arguments.as_ref(), entry).await?;
            let request = HoleRequest {
                variable: name.clone(),
                parameters,
                choice,
                prefix: filling.out.clone(),
                suffix: suffix(),
                message: at,
                role: entry.role.clone(),
                data: data.cloned().unwrap_or_default(),
                closes: self.ends_with(entry),
            };
            let asker = ModelClient::new(self, &entry.scope, entry.span);
            let answer = boxed(|| asker.fill(request)).await?;
            filling.out.push_str(&answer.text);
            filling.answer = Some(answer.value);
            return Ok(());
        }
        let value = self
            .hole_value(holes, kind, entry.span, &entry.scope)
            .await?;
        filling.value(print(value.as_ref()));
        Ok(())
    }

    /// Parses `[[X:temperature=0.1, |a|b]]`: model parameters and a choice.
    async fn hole_parameters(
        self: &Arc<Self>,
        text: Option<&ScriptText>,
        entry: &DialogueEntry,
    ) -> Result<(MapTable, Option<ChoiceConstraint>), ScriptError> {
        let Some(text) = text else {
            return Ok((MapTable::default(), None));
        };
        let read = self.read_arguments(text, &entry.scope, BareWordPolicy::Text)?;
        let mut chosen = None;
        for item in &read.items {
            if let ArgumentValue::Choice(choice) = &item.value {
                chosen = Some(self.choice(choice, &entry.scope, entry.span).await?);
            }
        }
        let params = self
            .bound(&read, BareWordPolicy::Text, &entry.scope)
            .await?;
        let mut table = params.named.to_table();
        let random = |name: &str| table.get(name).and_then(Value::as_str) == Some("random");
        let bare = params
            .positional
            .iter()
            .flatten()
            .any(|value| value.as_str() == Some("random"));
        if let Some(choice) = chosen.as_mut() {
            choice.random |= random("type") || bare;
        }
        table.shift_remove("choice");
        self.refuse_misspelt(table.keys().map(|name| &**name), &entry.scope, entry.span)?;
        Ok((table, chosen))
    }

    /// Returns whether a message is the last one of the outermost script and therefore its result.
    fn ends_with(&self, entry: &DialogueEntry) -> bool {
        let last = self
            .resolved
            .script
            .body
            .items
            .last()
            .map(|item| &item.kind);
        let is_last =
            matches!(last, Some(ItemKind::Message(last)) if last.content.span == entry.span);
        is_last && entry.role != "user" && self.state().given.is_none()
    }

    /// Renders the templates of an argument and makes its calls. An argument that is a single call
    /// evaluates to the value of that call. `[[NAME]]` reads the variable here and calls no model.
    pub(super) async fn fill_text(
        self: &Arc<Self>,
        text: &str,
        at: Span,
        scope: &NameScope,
    ) -> Result<Value, ScriptError> {
        let holes = self.holes(text, scope, at)?;
        if let [kind] = holes.kinds.as_slice()
            // A text that is only one hole keeps the type of its value.
            && holes.marked == self.mark(0)
        {
            let value = self.hole_value(&holes, kind, at, scope).await?;
            return Ok(value.unwrap_or_default());
        }
        let rendered = self.render(&holes.marked, scope, at).await?;
        let mut filling = HoleFiller::default();
        for part in self.split(&rendered) {
            match part {
                TextPart::Text(text) => filling.text(&text),
                TextPart::Hole(number) => {
                    let Some(kind) = holes.kinds.get(number) else {
                        continue;
                    };
                    let value = self.hole_value(&holes, kind, at, scope).await?;
                    filling.value(print(value.as_ref()));
                }
            }
        }
        Ok(Value::from(filling.finish()))
    }

    /// Returns the value of a hole that does not call a model.
    async fn hole_value(
        self: &Arc<Self>,
        holes: &Holes<'_>,
        kind: &HoleKind,
        at: Span,
        scope: &NameScope,
    ) -> Result<Option<Value>, ScriptError> {
        match kind {
            HoleKind::Ai { name, .. } => self.variable(name, scope, at),
            HoleKind::Call {
                script,
                name,
                arguments,
            } => {
                let arguments = arguments.as_ref().map(|range| holes.part(range, at));
                let params = match &arguments {
                    Some(arguments) => {
                        let read = self.read_arguments(arguments, scope, BareWordPolicy::Text)?;
                        self.bound(&read, BareWordPolicy::Text, scope).await?
                    }
                    None => Default::default(),
                };
                let target = if *script {
                    CallTarget::Script
                } else {
                    CallTarget::of(name)
                };
                self.invoke(target, name, params, scope, at).await
            }
            HoleKind::Regex {
                pattern,
                flags,
                variable,
                group,
            } => {
                let value = self.variable(variable, scope, at)?;
                let pattern = holes.text.get(pattern.clone()).unwrap_or_default();
                self.matched_part(pattern, flags, value.as_ref(), group.as_deref(), scope, at)
            }
        }
    }

    /// `[[/pattern/flags:VARIABLE:group]]`: without a match the value is the whole variable.
    fn matched_part(
        &self,
        pattern: &str,
        flags: &str,
        value: Option<&Value>,
        group: Option<&str>,
        scope: &NameScope,
        at: Span,
    ) -> Result<Option<Value>, ScriptError> {
        let text = print(value);
        let regex = Regex::compile(pattern, flags)
            .map_err(|problem| refuse(scope, at, problem.to_string()))?;
        if let Some(group) = group.filter(|group| !has_group(&regex, group)) {
            let message = format!("unknown group `{group}` of the regular expression");
            return Err(refuse(scope, at, message));
        }
        let found = regex.captures(&text).map_err(|problem| {
            let finding = scope
                .source
                .error(ErrorKind::Limit.code(), problem.to_string(), at);
            ScriptError::new(ErrorKind::Limit, finding)
        })?;
        let Some(found) = found else {
            return Ok(Some(Value::from(text)));
        };
        let Some(group) = group else {
            return Ok(Some(Value::from(found.main())));
        };
        let known = match group.parse::<usize>() {
            Ok(index) => index <= regex.groups(),
            Err(_) => regex.names().any(|name| name == group),
        };
        if !known {
            let message = format!("unknown group `{group}` of the regular expression");
            return Err(refuse(scope, at, message));
        }
        let part = match group.parse() {
            Ok(index) => found.get(index),
            Err(_) => found.name(group),
        };
        Ok(Some(Value::from(part.unwrap_or_default())))
    }

    /// Returns the value of a variable, or of a path into one.
    fn variable(
        &self,
        name: &str,
        scope: &NameScope,
        at: Span,
    ) -> Result<Option<Value>, ScriptError> {
        let first = name.split(['.', '[']).next().unwrap_or(name);
        match (self.lookup(name, scope), self.lookup(first, scope)) {
            (NameValue::Value(value), _) => Ok(Some(value)),
            (NameValue::Missing, NameValue::Missing | NameValue::Function) => {
                Err(self.unknown_name(name, scope, at))
            }
            _ => self.get_path(name, scope, at),
        }
    }

    /// Finds the holes in a text by the author.
    fn holes<'t>(
        &self,
        text: &'t str,
        scope: &NameScope,
        at: Span,
    ) -> Result<Holes<'t>, ScriptError> {
        let mut holes = Holes {
            text,
            kinds: Vec::new(),
            marked: String::with_capacity(text.len()),
        };
        for piece in hole::holes(text) {
            match piece {
                HolePart::Text(range) => holes.marked.push_str(text.get(range).unwrap_or_default()),
                HolePart::Hole(found) => {
                    holes.marked.push_str(&self.mark(holes.kinds.len()));
                    holes.kinds.push(found.kind);
                }
                HolePart::Broken(BrokenHole { message, help, .. }) => {
                    let finding = scope.source.error("script.hole", message, at).help(help);
                    return Err(ScriptError::new(ErrorKind::Script, finding));
                }
            }
        }
        Ok(holes)
    }

    fn mark(&self, number: usize) -> String {
        format!("{}{number}\u{f8ff}", self.world.mark)
    }

    /// Splits a rendered text at its markers.
    fn split(&self, rendered: &str) -> Vec<TextPart> {
        let mark = &self.world.mark;
        let mut parts = Vec::new();
        let mut pieces = rendered.split(mark.as_str());
        if let Some(first) = pieces.next() {
            parts.push(TextPart::Text(first.to_owned()));
        }
        for piece in pieces {
            // A template filter such as `truncate` may cut a marker apart. Its remainder is
            // dropped.
            let Some((number, text)) = piece.split_once('\u{f8ff}') else {
                continue;
            };
            if let Ok(number) = number.parse() {
                parts.push(TextPart::Hole(number));
            }
            parts.push(TextPart::Text(text.to_owned()));
        }
        parts
    }
}

impl Holes<'_> {
    /// Parses a range of the text as an argument. Its location is that of the whole text, because
    /// the lines of a block scalar have no single offset.
    fn part(&self, range: &Range<usize>, at: Span) -> ScriptText {
        ScriptText {
            span: at,
            value: self.text.get(range.clone()).unwrap_or_default().into(),
        }
    }
}

fn rest(parts: &[TextPart], from: usize) -> String {
    let texts = parts.iter().skip(from).map(|part| match part {
        TextPart::Text(text) => text.as_str(),
        TextPart::Hole(_) => "",
    });
    texts.collect()
}

/// A text whose holes are being filled.
#[derive(Default)]
struct HoleFiller {
    out: String,
    /// A value whose spacing depends on the text after it.
    waiting: Option<String>,
    answer: Option<Value>,
}

impl HoleFiller {
    fn text(&mut self, text: &str) {
        self.flush(text);
    }

    fn value(&mut self, value: String) {
        self.flush("");
        self.waiting = Some(value);
    }

    fn flush(&mut self, after: &str) {
        match self.waiting.take() {
            Some(value) => splice(&mut self.out, &value, after),
            None => self.out.push_str(after),
        }
    }

    fn finish(&mut self) -> String {
        self.flush("");
        std::mem::take(&mut self.out)
    }

    /// Returns the answer of a message that consists of a single `[[X]]`, as a value instead of
    /// text.
    fn alone(&self, parts: &[TextPart]) -> Option<Value> {
        let blank = |part: &TextPart| matches!(part, TextPart::Text(text) if text.is_empty());
        let holes = parts.iter().filter(|part| !blank(part)).count();
        if holes == 1 {
            self.answer.clone()
        } else {
            None
        }
    }
}

/// Returns whether a pattern has a capture group with this number or name.
fn has_group(regex: &Regex, group: &str) -> bool {
    match group.parse::<usize>() {
        Ok(index) => index <= regex.groups(),
        Err(_) => regex.names().any(|name| name == group),
    }
}
