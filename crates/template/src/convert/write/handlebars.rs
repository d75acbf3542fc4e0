//! Handlebars and dotprompt: `{{name}}`, `{{#if x}}…{{/if}}`, `{{#each list}}…{{/each}}`.

use super::names::is_identifier;
use super::{Around, Condition, Piece, Refused, Syntax, beside};
use crate::convert::tree::{Argument, Call, Path, Start};

pub(super) struct Handlebars {
    /// Whether messages begin with `{{role "…"}}`.
    pub(super) roles: bool,
}

impl Syntax for Handlebars {
    fn print(&self, path: &Path, around: &Around<'_>) -> Result<String, Refused> {
        Ok(format!("{{{{{}}}}}", operand(path, around.loops.len())?))
    }

    fn call(&self, call: &Call, around: &Around<'_>) -> Result<String, Refused> {
        let name = &call.name;
        if !is_identifier(name) || is_own(name) {
            return Err(format!("handlebars cannot call a function named {name}"));
        }
        if call.arguments().next().is_none() {
            return Err(format!(
                "{{{{{name}}}}} is a variable in handlebars, so a call needs an argument"
            ));
        }
        let depth = around.loops.len();
        let mut text = name.clone();
        for one in &call.positional {
            text.push(' ');
            text.push_str(&argument(one, depth)?);
        }
        for (name, one) in &call.named {
            text.push_str(&format!(" {name}={}", argument(one, depth)?));
        }
        Ok(format!("{{{{{text}}}}}"))
    }

    fn begin_if(&self, condition: Condition<'_>, around: &Around<'_>) -> Result<String, Refused> {
        let operand = operand(condition.path, around.loops.len())?;
        Ok(format!("{{{{#{} {operand}}}}}", word(condition)))
    }

    fn else_if(
        &self,
        condition: Condition<'_>,
        around: &Around<'_>,
    ) -> Option<Result<String, Refused>> {
        let operand = operand(condition.path, around.loops.len());
        Some(operand.map(|operand| format!("{{{{else {} {operand}}}}}", word(condition))))
    }

    fn otherwise(&self, _: Condition<'_>, _: &Around<'_>) -> Result<String, Refused> {
        Ok("{{else}}".into())
    }

    fn end_if(&self, condition: Condition<'_>, _: &Around<'_>) -> Result<String, Refused> {
        Ok(format!("{{{{/{}}}}}", word(condition)))
    }

    fn begin_for(&self, around: &Around<'_>) -> Result<String, Refused> {
        let Some((this, outer)) = around.loops.split_last() else {
            return Ok(String::new());
        };
        Ok(format!(
            "{{{{#each {}}}}}",
            operand(this.list, outer.len())?
        ))
    }

    fn end_for(&self, _: Condition<'_>, _: &Around<'_>) -> Result<String, Refused> {
        Ok("{{/each}}".into())
    }

    fn comment(&self, text: &str) -> Option<String> {
        (!text.contains("--")).then(|| format!("{{{{!-- {text} --}}}}"))
    }

    fn role(&self, role: &str) -> Result<String, Refused> {
        match self.roles {
            true => Ok(format!("{{{{role {}}}}}", quoted(role)?)),
            false => Err(format!("handlebars has no message role such as {role}")),
        }
    }

    fn join(&self, pieces: &[Piece]) -> Result<String, Refused> {
        let mut out = String::new();
        for (at, piece) in pieces.iter().enumerate() {
            match piece {
                Piece::Text(text) => {
                    let before_tag = beside(pieces, at).1.is_some();
                    out.push_str(&literal(text, before_tag)?);
                }
                Piece::Print(tag) => out.push_str(tag),
                Piece::Block(tag) => {
                    if stands_alone(pieces, at) {
                        // A second tag in the line keeps the line.
                        out.push_str("{{!}}");
                    }
                    out.push_str(tag);
                }
            }
        }
        Ok(out)
    }
}

/// Whether a tag is alone in its line, which would be dropped.
pub(super) fn stands_alone(pieces: &[Piece], at: usize) -> bool {
    let (before, after) = beside(pieces, at);
    let begins = match before {
        None => true,
        Some(Piece::Text(text)) => {
            let rest = text.trim_end_matches([' ', '\t']);
            rest.ends_with('\n') || (rest.is_empty() && at == 1)
        }
        Some(_) => false,
    };
    let ends = match after {
        None => true,
        Some(Piece::Text(text)) => {
            let rest = text.trim_start_matches([' ', '\t', '\r']);
            rest.starts_with('\n') || (rest.is_empty() && at + 2 == pieces.len())
        }
        Some(_) => false,
    };
    begins && ends
}

/// A text so that it prints itself.
fn literal(text: &str, before_tag: bool) -> Result<String, Refused> {
    if before_tag && text.ends_with('{') {
        return Err("handlebars cannot print { right before a tag".into());
    }
    let mut text = text.replace("{{", "\\{{");
    if before_tag && text.ends_with('\\') {
        text.push('\\');
    }
    Ok(text)
}

fn word(condition: Condition<'_>) -> &'static str {
    match condition.negated {
        true => "unless",
        false => "if",
    }
}

fn argument(argument: &Argument, depth: usize) -> Result<String, Refused> {
    match argument {
        Argument::Path(path) => operand(path, depth),
        Argument::Text(text) => quoted(text),
        Argument::Int(number) => Ok(number.to_string()),
        Argument::Bool(value) => Ok(value.to_string()),
    }
}

/// A path, inside that many loops.
fn operand(path: &Path, depth: usize) -> Result<String, Refused> {
    let start = match path.start {
        Start::Root if depth == 0 => "this.".to_owned(),
        Start::Root => "@root.".to_owned(),
        Start::Item(at) if at + 1 == depth => "this.".to_owned(),
        Start::Item(at) => "../".repeat(depth - 1 - at),
    };
    let mut text = start;
    for (at, key) in path.keys.iter().enumerate() {
        text.push_str(if at > 0 { "." } else { "" });
        text.push_str(&segment(key)?);
    }
    if path.keys.is_empty() {
        return match path.start {
            Start::Root => Err("handlebars prints all variables at once in its own way".into()),
            Start::Item(_) if text == "this." => Ok("this".into()),
            Start::Item(_) => Ok(format!("{text}this")),
        };
    }
    let plain = text.strip_prefix("this.").filter(|_| {
        // A name alone may be a helper's.
        let first = path.keys.first().map_or("", String::as_str);
        is_identifier(first) && !is_own(first)
    });
    Ok(plain.map(str::to_owned).unwrap_or(text))
}

fn segment(key: &str) -> Result<String, Refused> {
    if is_identifier(key) && !["this", "true", "false", "null", "undefined", "as"].contains(&key) {
        return Ok(key.to_owned());
    }
    match key.contains(['[', ']']) || key.is_empty() {
        true => Err(format!("handlebars has no field named {key:?}")),
        false => Ok(format!("[{key}]")),
    }
}

/// Whether handlebars or dotprompt has a helper of that name.
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

fn quoted(text: &str) -> Result<String, Refused> {
    Ok(format!("\"{}\"", text.replace('"', "\\\"")))
}
