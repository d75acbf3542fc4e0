//! Mustache: `{{name}}`, `{{#x}}…{{/x}}`, `{{^x}}…{{/x}}`.
//!
//! A section is a condition, a loop or a step into an object, by the value that
//! it meets; and a name is looked for in the item first, then outside. So much
//! is exact only where kinds are declared.

use super::handlebars::stands_alone;
use super::{Around, Condition, Piece, Refused, Syntax, beside};
use crate::convert::shape::Shape;
use crate::convert::tree::{Call, Path, Start};
use crate::convert::values::shown;

pub(super) struct Mustache;

impl Syntax for Mustache {
    fn print(&self, path: &Path, around: &Around<'_>) -> Result<String, Refused> {
        Ok(format!("{{{{{{{}}}}}}}", name(path, around)?))
    }

    fn call(&self, call: &Call, _: &Around<'_>) -> Result<String, Refused> {
        Err(format!("mustache has no calls such as of {}", call.name))
    }

    fn begin_if(&self, condition: Condition<'_>, around: &Around<'_>) -> Result<String, Refused> {
        let shape = around.scope.shape(condition.path);
        if let (Shape::List(_) | Shape::Object(_), false) = (shape, condition.negated) {
            return Err(format!(
                "{} is a list or an object, which a section of mustache goes into",
                shown(condition.path)
            ));
        }
        let mark = if condition.negated { '^' } else { '#' };
        Ok(format!("{{{{{mark}{}}}}}", name(condition.path, around)?))
    }

    fn else_if(&self, _: Condition<'_>, _: &Around<'_>) -> Option<Result<String, Refused>> {
        None
    }

    fn otherwise(&self, condition: Condition<'_>, around: &Around<'_>) -> Result<String, Refused> {
        let name = name(condition.path, around)?;
        let mark = if condition.negated { '#' } else { '^' };
        Ok(format!("{{{{/{name}}}}}{{{{{mark}{name}}}}}"))
    }

    fn end_if(&self, condition: Condition<'_>, around: &Around<'_>) -> Result<String, Refused> {
        Ok(format!("{{{{/{}}}}}", name(condition.path, around)?))
    }

    fn begin_for(&self, around: &Around<'_>) -> Result<String, Refused> {
        let Some((this, outer)) = around.loops.split_last() else {
            return Ok(String::new());
        };
        let around = Around {
            loops: outer.to_vec(),
            scope: around.scope.clone(),
            conditions: Vec::new(),
        };
        Ok(format!("{{{{#{}}}}}", name(this.list, &around)?))
    }

    fn end_for(&self, list: Condition<'_>, around: &Around<'_>) -> Result<String, Refused> {
        self.end_if(list, around)
    }

    fn comment(&self, text: &str) -> Option<String> {
        (!text.contains("}}")).then(|| format!("{{{{! {text} }}}}"))
    }

    fn role(&self, role: &str) -> Result<String, Refused> {
        Err(format!("mustache has no message role such as {role}"))
    }

    fn mind(&self, path: &Path, around: &Around<'_>, condition: bool) -> Option<String> {
        let shown = shown(path);
        if condition && *around.scope.shape(path) == Shape::Unknown {
            return Some(format!(
                "exact if {shown} is neither a list nor an object: a section goes into those"
            ));
        }
        let first = path.keys.first()?;
        let outside = match path.start {
            Start::Root => around.scope.depth(),
            Start::Item(depth) => around.scope.depth().checked_sub(depth + 1)?,
        };
        let hides = |depth: usize| {
            let item = around.scope.shape(&Path::item(depth, &[]));
            matches!(item, Shape::Unknown) || item.has(first)
        };
        let depth = around.scope.depth();
        let hidden = (depth - outside..depth).any(hides);
        hidden.then(|| {
            format!("exact if no item of the loop has {first}, since it would hide {shown}")
        })
    }

    fn join(&self, pieces: &[Piece]) -> Result<String, Refused> {
        let mut out = String::new();
        for (at, piece) in pieces.iter().enumerate() {
            match piece {
                Piece::Text(text) => {
                    let before_tag = beside(pieces, at).1.is_some();
                    out.push_str(&literal(text, before_tag));
                }
                Piece::Print(tag) => out.push_str(tag),
                Piece::Block(tag) => {
                    if stands_alone(pieces, at) {
                        out.push_str("{{!}}");
                    }
                    out.push_str(tag);
                }
            }
        }
        Ok(out)
    }
}

/// A text so that it prints itself: other delimiters for a while, where it has these.
fn literal(text: &str, before_tag: bool) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        out.push_str("{{=<% %>=}}{{<%={{ }}=%>");
        rest = after;
    }
    match rest.strip_suffix('{').filter(|_| before_tag) {
        Some(before) => {
            out.push_str(before);
            out.push_str("{{=<% %>=}}{<%={{ }}=%>");
        }
        None => out.push_str(rest),
    }
    out
}

fn name(path: &Path, around: &Around<'_>) -> Result<String, Refused> {
    let innermost = around.loops.len().checked_sub(1);
    if path.keys.is_empty() {
        let is_dot = match path.start {
            Start::Item(depth) => Some(depth) == innermost,
            Start::Root => false,
        };
        let in_condition = around
            .conditions
            .iter()
            .any(|condition| *around.scope.shape(condition) != Shape::Boolean);
        return match is_dot && !in_condition {
            true => Ok(".".into()),
            false => Err("mustache has no name for this item here".into()),
        };
    }
    let plain = |key: &String| {
        !key.is_empty() && !key.contains(['.', '{', '}', '=']) && !key.contains(char::is_whitespace)
    };
    if !path.keys.iter().all(plain) {
        return Err(format!("mustache has no name for {}", shown(path)));
    }
    Ok(path.keys.join("."))
}
