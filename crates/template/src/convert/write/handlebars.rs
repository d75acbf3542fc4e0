//! Writer for Handlebars and dotprompt: `{{name}}`, `{{#if x}}…{{/if}}`, `{{#each
//! list}}…{{/each}}`.

use super::names::is_identifier;
use super::syntax::{
    ConditionExpr, LoopContext, OutputPart, Syntax, WriteContext, WriteError, beside,
    unknown_of_loop,
};
use crate::TemplateFormat;
use crate::convert::tree::{Argument, LoopPosition, PathStart, TreeCall, VariablePath};
use crate::format::handlebars::HandlebarsFormat;
use crate::format::javascript::is_space;

pub(super) struct Handlebars {
    /// Whether messages begin with `{{role "…"}}`.
    pub(super) roles: bool,
}

impl Syntax for Handlebars {
    fn print(&self, path: &VariablePath, around: &WriteContext<'_>) -> Result<String, WriteError> {
        Ok(format!("{{{{{}}}}}", operand(path, &around.loops)?))
    }

    fn call(&self, call: &TreeCall, around: &WriteContext<'_>) -> Result<String, WriteError> {
        let name = &call.name;
        if !is_identifier(name) || is_own(name) {
            return Err(format!("handlebars cannot call a function named {name}"));
        }
        if call.arguments().next().is_none() {
            return Err(format!(
                "{{{{{name}}}}} is a variable in handlebars, so a call needs an argument"
            ));
        }
        let loops = &around.loops;
        let mut text = name.clone();
        for one in &call.positional {
            text.push(' ');
            text.push_str(&argument(one, loops)?);
        }
        for (name, one) in &call.named {
            text.push_str(&format!(" {name}={}", argument(one, loops)?));
        }
        Ok(format!("{{{{{text}}}}}"))
    }

    fn begin_if(
        &self,
        condition: ConditionExpr<'_>,
        around: &WriteContext<'_>,
    ) -> Result<String, WriteError> {
        let operand = operand(condition.path, &around.loops)?;
        let text = match condition.equals {
            Some(_) if !self.roles => return Err("handlebars has no comparisons".into()),
            Some(text) => format!(" {}", quoted(text)?),
            None => String::new(),
        };
        Ok(format!("{{{{#{} {operand}{text}}}}}", word(condition)))
    }

    /// Conditions are nested instead of written as an `else if` chain, in which white space depends
    /// on the second branch.
    fn otherwise(&self, _: ConditionExpr<'_>, _: &WriteContext<'_>) -> Result<String, WriteError> {
        Ok("{{else}}".into())
    }

    fn end_if(
        &self,
        condition: ConditionExpr<'_>,
        _: &WriteContext<'_>,
    ) -> Result<String, WriteError> {
        Ok(format!("{{{{/{}}}}}", word(condition)))
    }

    fn begin_for(&self, around: &WriteContext<'_>) -> Result<String, WriteError> {
        let Some((this, outer)) = around.loops.split_last() else {
            return Ok(String::new());
        };
        let list = operand(this.list, outer)?;
        Ok(if this.used_inside {
            // Handlebars adds no `../` level if the item is the same value as its parent.
            format!("{{{{#each {list} as |{}|}}}}", this.name)
        } else {
            format!("{{{{#each {list}}}}}")
        })
    }

    fn end_for(&self, _: ConditionExpr<'_>, _: &WriteContext<'_>) -> Result<String, WriteError> {
        Ok("{{/each}}".into())
    }

    fn comment(&self, text: &str) -> Option<String> {
        (!text.contains("--")).then(|| format!("{{{{!-- {text} --}}}}"))
    }

    fn role(&self, role: &str) -> Result<String, WriteError> {
        if self.roles {
            Ok(format!("{{{{role {}}}}}", quoted(role)?))
        } else {
            Err(format!("handlebars has no message role such as {role}"))
        }
    }

    fn join(&self, pieces: &[OutputPart]) -> Result<String, WriteError> {
        let mut out = String::new();
        for (at, piece) in pieces.iter().enumerate() {
            let (before, after) = beside(pieces, at);
            match piece {
                OutputPart::Text(text) => {
                    // A tag ends at two braces. A third brace would become part of it.
                    let touches = before.is_some() && text.starts_with('}');
                    out.push_str(if touches { "{{!}}" } else { "" });
                    out.push_str(&literal(text, after.is_some()));
                }
                // A blank separates the brace from the tag, and whitespace control removes this
                // blank.
                OutputPart::Print(tag) | OutputPart::Block(tag) if ends_in_brace(before) => {
                    out.push_str(" {{~");
                    out.push_str(tag.get(2..).unwrap_or_default());
                }
                OutputPart::Block(tag) if stands_alone(pieces, at) => {
                    // If there is a second tag on the line, Handlebars does not remove the line.
                    out.push_str("{{!}}");
                    out.push_str(tag);
                }
                OutputPart::Print(tag) | OutputPart::Block(tag) => out.push_str(tag),
            }
        }
        Ok(out)
    }
}

/// Whether a tag is alone on its line, so Handlebars would drop the line.
fn stands_alone(pieces: &[OutputPart], at: usize) -> bool {
    let (before, after) = beside(pieces, at);
    let begins = match before {
        None => true,
        Some(OutputPart::Text(text)) => {
            let rest = text.trim_end_matches(|c| c != '\n' && is_space(c));
            rest.ends_with('\n') || (rest.is_empty() && at == 1)
        }
        Some(_) => false,
    };
    let ends = match after {
        None => true,
        Some(OutputPart::Text(text)) => {
            let rest = text.trim_start_matches(|c| c != '\n' && is_space(c));
            rest.starts_with('\n') || (rest.is_empty() && at + 2 == pieces.len())
        }
        Some(_) => false,
    };
    begins && ends
}

fn ends_in_brace(before: Option<&OutputPart>) -> bool {
    matches!(before, Some(OutputPart::Text(text)) if text.ends_with('{'))
}

/// Escapes a text so that it prints unchanged.
fn literal(text: &str, before_tag: bool) -> String {
    let mut out = HandlebarsFormat::new().escape(text).unwrap_or_default();
    // A single backslash would turn the tag into text.
    if before_tag && text.ends_with('\\') {
        out.push('\\');
    }
    out
}

fn word(condition: ConditionExpr<'_>) -> &'static str {
    match (condition.equals, condition.negated) {
        (None, true) => "unless",
        (None, false) => "if",
        (Some(_), true) => "unlessEquals",
        (Some(_), false) => "ifEquals",
    }
}

fn argument(argument: &Argument, loops: &[LoopContext<'_>]) -> Result<String, WriteError> {
    match argument {
        Argument::Path(path) => operand(path, loops),
        Argument::Text(text) => quoted(text),
        Argument::Int(number) => Ok(number.to_string()),
        Argument::Bool(value) => Ok(value.to_string()),
    }
}

/// Writes a path that is used inside the given loops.
fn operand(path: &VariablePath, loops: &[LoopContext<'_>]) -> Result<String, WriteError> {
    let mut keys = Vec::with_capacity(path.keys.len());
    for key in &path.keys {
        keys.push(segment(key)?);
    }
    let start = match path.start {
        PathStart::Loop(at, knows) => return known(at, knows, loops.len()),
        PathStart::Root if loops.is_empty() => "this",
        PathStart::Root => "@root",
        PathStart::Item(at) if at + 1 == loops.len() => "this",
        PathStart::Item(at) => loops.get(at).map_or("this", |one| &*one.name),
    };
    match keys.as_slice() {
        [] if path.start == PathStart::Root => {
            Err("handlebars cannot refer to the set of all variables".into())
        }
        [] => Ok(start.to_owned()),
        // A name without a path may be a helper.
        [first, ..] if start == "this" && is_identifier(first) && !is_own(first) => {
            Ok(keys.join("."))
        }
        _ => Ok(format!("{start}.{}", keys.join("."))),
    }
}

/// Writes a loop variable, given the depth of its loop.
fn known(at: usize, knows: LoopPosition, depth: usize) -> Result<String, WriteError> {
    let word = match knows {
        LoopPosition::Index => "index",
        LoopPosition::First => "first",
        LoopPosition::Last => "last",
        LoopPosition::Number => return Err(unknown_of_loop("handlebars", knows)),
    };
    let outside = "../".repeat(depth.saturating_sub(at + 1));
    Ok(format!("@{outside}{word}"))
}

fn segment(key: &str) -> Result<String, WriteError> {
    if is_identifier(key) && !["this", "true", "false", "null", "undefined", "as"].contains(&key) {
        return Ok(key.to_owned());
    }
    if key.contains(['[', ']']) || key.is_empty() {
        Err(format!("handlebars has no field named {key:?}"))
    } else {
        Ok(format!("[{key}]"))
    }
}

/// Whether Handlebars or dotprompt has a helper with this name.
fn is_own(name: &str) -> bool {
    [
        "if",
        "unless",
        "each",
        "with",
        "lookup",
        "log",
        "else",
        "true",
        "false",
        "null",
        "undefined",
        "this",
        "as",
        "helperMissing",
        "blockHelperMissing",
        "role",
        "history",
        "media",
        "section",
        "json",
        "ifEquals",
        "unlessEquals",
    ]
    .contains(&name)
}

fn quoted(text: &str) -> Result<String, WriteError> {
    if text.ends_with('\\') {
        return Err("a string in handlebars cannot end with a backslash".into());
    }
    Ok(format!("\"{}\"", text.replace('"', "\\\"")))
}
