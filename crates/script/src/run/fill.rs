//! `[[…]]`: what is put into messages and texts, and how templates render around it.
//!
//! Only the author's text is read. Holes are found before a template renders and stand in it as
//! marks that no value can know; so what a variable brings is never taken for a hole.

use std::ops::Range;
use std::sync::Arc;

use quillet_core::{Map, Span, Table, Value};

use super::instance::Instance;
use super::messages::print;
use super::model::Wish;
use super::scope::Scope;
use super::stack::boxed;
use super::state::Entry;
use super::templates::TemplateFunctions;
use super::values::refuse;
use crate::argument::Words;
use crate::error::{ErrorKind, ScriptError};
use crate::expression::Found;
use crate::host::RunEvent;
use crate::pattern::Regex;
use crate::syntax::{Target, Text};
use crate::text::hole::{self, Broken, HoleKind, Piece};
use crate::text::spacing::splice;
use crate::text::template::Job as TemplateJob;

/// A text after its templates were rendered.
enum Part {
    Text(String),
    /// A hole, by its number.
    Hole(usize),
}

/// The holes of one author's text.
struct Holes<'t> {
    text: &'t str,
    kinds: Vec<HoleKind>,
    /// The text with marks where the holes were.
    marked: String,
}

impl Instance {
    /// Fills a message's holes, left to right, and completes it.
    pub(super) async fn fill(
        self: &Arc<Self>,
        at: usize,
        entry: &Entry,
        data: Option<&Map>,
    ) -> Result<(), ScriptError> {
        let text = entry.text().to_owned();
        let holes = self.holes(&text, &entry.scope, entry.span)?;
        let rendered = self.render_entry(entry, &holes.marked, data).await?;
        let parts = self.split(&rendered);
        let mut filling = Filling::default();
        for (place, part) in parts.iter().enumerate() {
            match part {
                Part::Text(text) => filling.text(text),
                Part::Hole(number) => {
                    let Some(kind) = holes.kinds.get(*number) else {
                        continue;
                    };
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
        self.change(at, |entry| entry.content = Value::from(content));
        self.world.kept.add(whole.weight());
        self.state().finish(Some(whole), filling.answer);
        self.world.room(&entry.scope, entry.span)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one step of a loop, cut out to be read"
    )]
    async fn fill_hole(
        self: &Arc<Self>,
        at: usize,
        entry: &Entry,
        holes: &Holes<'_>,
        kind: &HoleKind,
        filling: &mut Filling,
        suffix: impl Fn() -> String,
        data: Option<&Map>,
    ) -> Result<(), ScriptError> {
        if let HoleKind::Ai { name, parameters } = kind {
            filling.flush("");
            let wish = Wish {
                variable: name.clone(),
                arguments: parameters
                    .as_ref()
                    .map(|range| holes.part(range, entry.span)),
                prefix: filling.out.clone(),
                suffix: suffix(),
                message: at,
                data: data.cloned().unwrap_or_default(),
            };
            let answer = boxed(|| self.wish(entry, wish)).await?;
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

    /// A text of an argument with its templates rendered and its calls made; one call alone is that
    /// call's value. `[[NAME]]` is the variable's value here: nobody is asked.
    pub(super) async fn fill_text(
        self: &Arc<Self>,
        text: &str,
        at: Span,
        scope: &Scope,
    ) -> Result<Value, ScriptError> {
        let holes = self.holes(text, scope, at)?;
        if let [kind] = holes.kinds.as_slice()
            && holes.marked == self.mark(0)
        {
            let value = self.hole_value(&holes, kind, at, scope).await?;
            return Ok(value.unwrap_or_default());
        }
        let rendered = self.render(&holes.marked, scope, at).await?;
        let mut filling = Filling::default();
        for part in self.split(&rendered) {
            match part {
                Part::Text(text) => filling.text(&text),
                Part::Hole(number) => {
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

    /// What a hole without a model gives.
    async fn hole_value(
        self: &Arc<Self>,
        holes: &Holes<'_>,
        kind: &HoleKind,
        at: Span,
        scope: &Scope,
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
                        let read = self.read_arguments(arguments, scope, Words::Text)?;
                        self.bound(&read, Words::Text, scope).await?
                    }
                    None => Default::default(),
                };
                let target = if *script {
                    Target::Script
                } else {
                    Target::Directive
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

    /// `[[/pattern/flags:VARIABLE:group]]`: without a match it is all of the variable.
    fn matched_part(
        &self,
        pattern: &str,
        flags: &str,
        value: Option<&Value>,
        group: Option<&str>,
        scope: &Scope,
        at: Span,
    ) -> Result<Option<Value>, ScriptError> {
        let text = print(value);
        let regex = Regex::compile(pattern, flags)
            .map_err(|problem| refuse(scope, at, problem.to_string()))?;
        if let Some(group) = group.filter(|group| !has_group(&regex, group)) {
            let message = format!("the regular expression has no group `{group}`");
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
            let message = format!("the regular expression has no group `{group}`");
            return Err(refuse(scope, at, message));
        }
        let part = match group.parse() {
            Ok(index) => found.get(index),
            Err(_) => found.name(group),
        };
        Ok(Some(Value::from(part.unwrap_or_default())))
    }

    /// The value of a variable or of a path that begins with one.
    fn variable(&self, name: &str, scope: &Scope, at: Span) -> Result<Option<Value>, ScriptError> {
        let first = name.split(['.', '[']).next().unwrap_or(name);
        match (self.lookup(name, scope), self.lookup(first, scope)) {
            (Found::Value(value), _) => Ok(Some(value)),
            (Found::Missing, Found::Missing | Found::Function) => {
                Err(self.unknown_name(name, scope, at))
            }
            _ => self.get_path(name, scope, at),
        }
    }

    /// Finds the holes of an author's text.
    fn holes<'t>(&self, text: &'t str, scope: &Scope, at: Span) -> Result<Holes<'t>, ScriptError> {
        let mut holes = Holes {
            text,
            kinds: Vec::new(),
            marked: String::with_capacity(text.len()),
        };
        for piece in hole::holes(text) {
            match piece {
                Piece::Text(range) => holes.marked.push_str(text.get(range).unwrap_or_default()),
                Piece::Hole(found) => {
                    holes.marked.push_str(&self.mark(holes.kinds.len()));
                    holes.kinds.push(found.kind);
                }
                Piece::Broken(Broken { message, help, .. }) => {
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

    /// A rendered text, cut at its marks.
    fn split(&self, rendered: &str) -> Vec<Part> {
        let mark = &self.world.mark;
        let mut parts = Vec::new();
        let mut pieces = rendered.split(mark.as_str());
        if let Some(first) = pieces.next() {
            parts.push(Part::Text(first.to_owned()));
        }
        for piece in pieces {
            let Some((number, text)) = piece.split_once('\u{f8ff}') else {
                continue;
            };
            if let Ok(number) = number.parse() {
                parts.push(Part::Hole(number));
            }
            parts.push(Part::Text(text.to_owned()));
        }
        parts
    }
}

impl Holes<'_> {
    /// A raw part of the text as an argument string. Its place is the text's: what stands in a
    /// block scalar has no single offset.
    fn part(&self, range: &Range<usize>, at: Span) -> Text {
        Text {
            span: at,
            value: self.text.get(range.clone()).unwrap_or_default().into(),
        }
    }
}

fn rest(parts: &[Part], from: usize) -> String {
    let texts = parts.iter().skip(from).map(|part| match part {
        Part::Text(text) => text.as_str(),
        Part::Hole(_) => "",
    });
    texts.collect()
}

/// A text while its holes are filled.
#[derive(Default)]
struct Filling {
    out: String,
    /// A value whose blanks depend on the text behind it.
    waiting: Option<String>,
    answer: Option<Value>,
}

impl Filling {
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

    /// The answer of a message that is one `[[X]]` and nothing else: as a value, not as its text.
    fn alone(&self, parts: &[Part]) -> Option<Value> {
        let blank = |part: &Part| matches!(part, Part::Text(text) if text.is_empty());
        let holes = parts.iter().filter(|part| !blank(part)).count();
        match holes == 1 {
            true => self.answer.clone(),
            false => None,
        }
    }
}

impl Instance {
    /// Renders a template where it stands as a value.
    pub(crate) async fn render(
        self: &Arc<Self>,
        text: &str,
        scope: &Scope,
        at: Span,
    ) -> Result<String, ScriptError> {
        self.render_template(text, None, None, scope, at).await
    }

    /// Renders a message's text.
    pub(super) async fn render_entry(
        self: &Arc<Self>,
        entry: &Entry,
        text: &str,
        data: Option<&Map>,
    ) -> Result<String, ScriptError> {
        self.render_template(
            text,
            entry.format.as_deref(),
            data,
            &entry.scope,
            entry.span,
        )
        .await
    }

    /// Renders a text in a format, the script's where none is named; `data` wins.
    pub(crate) async fn render_template(
        self: &Arc<Self>,
        text: &str,
        format: Option<&str>,
        data: Option<&Map>,
        scope: &Scope,
        at: Span,
    ) -> Result<String, ScriptError> {
        let own = self.setting("templateFormat");
        let format = format
            .or(own.as_ref().and_then(Value::as_str))
            .unwrap_or("hf");
        let templates = &self.world.templates;
        if !templates.needs_rendering(text, format) {
            return Ok(text.to_owned());
        }
        let variables = self.template_variables(text, data, scope);
        let functions = TemplateFunctions::new(self.clone(), scope.clone(), at);
        // A value that stands in the way of an author's template of the same name is data.
        let covered = |name: &str| {
            data.is_some_and(|data| data.get(name).is_some()) || scope.get(name).is_some()
        };
        let authored = |name: &str| !covered(name) && self.state().authored.contains(name);
        let declared = |name: &str| !matches!(self.lookup(name, scope), Found::Missing);
        let job = TemplateJob {
            format,
            text,
            variables: &variables,
            functions: &functions,
            limits: &self.world.engine.limits.templates,
            authored: &authored,
            declared: &declared,
        };
        let rendered = templates.render(&job).await;
        rendered.map_err(|problem| self.template_error(problem, text, scope, at))
    }

    /// Everything that a template can name.
    fn template_variables(&self, text: &str, data: Option<&Map>, scope: &Scope) -> Map {
        let state = self.state();
        // What a script may see of the environment stands behind all of its own.
        let environment = &self.world.environment;
        let mut table = environment.to_table();
        table.insert("ENV".into(), Value::Map(environment.clone()));
        table.insert("id".into(), Value::from(self.id.as_str()));
        table.extend(
            state
                .variables
                .iter()
                .map(|(key, value)| (key.clone(), value.clone())),
        );
        table.extend(
            state
                .prompt
                .iter()
                .map(|(key, value)| (key.clone(), value.clone())),
        );
        if let Some(last) = state.latest(text) {
            table.entry("LatestResult".into()).or_insert(last);
        }
        // The dialogue is long, and few templates speak of it.
        let prompt = match text.contains("messages") {
            true => state.prompt_value(),
            false => Value::Map(Map::new(state.prompt.clone())),
        };
        table.insert("prompt".into(), prompt);
        table.insert(
            "parameters".into(),
            Value::Map(Map::new(state.parameters.clone())),
        );
        // What follows locks the state itself.
        drop(state);
        if text.contains("output") {
            self.describe_output(&mut table);
        }
        for name in ["__dirname", "__filename", "stats"] {
            if !table.contains_key(name)
                && let Found::Value(value) = self.lookup(name, scope)
            {
                table.insert(name.into(), value);
            }
        }
        table.extend(scope.bound());
        if let Some(data) = data {
            table.extend(data.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
        Map::new(table)
    }

    /// `{{output}}` is the schema in words, unless `naturalOutput` is false.
    fn describe_output(&self, table: &mut Table) {
        let natural = self.state().parameters.get("naturalOutput").cloned();
        if natural == Some(Value::Bool(false)) {
            return;
        }
        if let Some(schema) = table
            .get("output")
            .filter(|schema| schema.as_map().is_some())
        {
            let words = crate::answer::describe(&schema.into());
            table.insert("output".into(), Value::from(words));
        }
    }

    /// `$print` and what JavaScript writes to its console.
    pub(crate) fn print_line(&self, text: String) {
        self.world.observer.event(RunEvent::Printed(text));
    }
}

/// Whether a pattern has the group of a number or a name.
fn has_group(regex: &Regex, group: &str) -> bool {
    match group.parse::<usize>() {
        Ok(index) => index <= regex.groups(),
        Err(_) => regex.names().any(|name| name == group),
    }
}
