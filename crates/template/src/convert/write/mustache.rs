//! Mustache: `{{name}}`, `{{#x}}…{{/x}}`, `{{^x}}…{{/x}}`.
//!
//! A section is a condition, a loop or a step into an object, by the value that
//! it meets; and a name is looked for in the item first, then outside. So much
//! is exact only where kinds are declared.

use super::{Around, Condition, Piece, Refused, Syntax, unknown_of_loop};
use crate::TemplateFormat;
use crate::convert::shape::Shape;
use crate::convert::tree::{Call, Path, Start};
use crate::convert::values::shown;
use crate::format::javascript::is_space;
use crate::format::mustache::MustacheFormat;

pub(super) struct Mustache;

impl Syntax for Mustache {
    fn print(&self, path: &Path, around: &Around<'_>) -> Result<String, Refused> {
        Ok(format!("{{{{{}}}}}", name(path, around)?))
    }

    fn call(&self, call: &Call, _: &Around<'_>) -> Result<String, Refused> {
        Err(format!("mustache has no calls such as of {}", call.name))
    }

    fn begin_if(&self, condition: Condition<'_>, around: &Around<'_>) -> Result<String, Refused> {
        if condition.equals.is_some() {
            return Err("mustache compares nothing".into());
        }
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
        let outside = Around {
            loops: outer.to_vec(),
            scope: around.scope.clone(),
            conditions: Vec::new(),
        };
        Ok(format!("{{{{#{}}}}}", name(this.list, &outside)?))
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
        let unknown = |item: &Shape| *item == Shape::Unknown;
        inner_items(path, around).any(unknown).then(|| {
            format!("exact if no item of the loop has {first}, since it would hide {shown}")
        })
    }

    fn join(&self, pieces: &[Piece]) -> Result<String, Refused> {
        let format = MustacheFormat::new();
        let mut out = String::new();
        for line in lines(pieces) {
            let kept = kept(&line)?;
            for (at, piece) in line.iter().enumerate() {
                match piece {
                    Piece::Text(text) => out.push_str(&format.escape(text).unwrap_or_default()),
                    Piece::Print(tag) | Piece::Block(tag) => out.push_str(tag),
                }
                if Some(at) == kept {
                    out.push('\n');
                }
            }
        }
        Ok(out)
    }
}

/// The pieces line by line; every line but the last has its end.
fn lines(pieces: &[Piece]) -> Vec<Vec<Piece>> {
    let mut lines = vec![Vec::new()];
    for piece in pieces {
        let Piece::Text(text) = piece else {
            lines
                .last_mut()
                .unwrap_or(&mut Vec::new())
                .push(piece.clone());
            continue;
        };
        for part in text.split_inclusive('\n') {
            if let Some(line) = lines.last_mut() {
                line.push(Piece::Text(part.to_owned()));
            }
            if part.ends_with('\n') {
                lines.push(Vec::new());
            }
        }
    }
    lines
}

/// A line of tags that print nothing is dropped with its blanks: the tag after
/// which another line end keeps what follows it.
fn kept(line: &[Piece]) -> Result<Option<usize>, Refused> {
    let blank = |piece: &Piece| match piece {
        Piece::Text(text) => text.chars().all(is_space),
        Piece::Print(_) => false,
        Piece::Block(_) => true,
    };
    let is_tag = |piece: &Piece| matches!(piece, Piece::Block(_));
    let Some(last) = line.iter().rposition(is_tag) else {
        return Ok(None);
    };
    if !line.iter().all(blank) {
        return Ok(None);
    }
    if line[..last].iter().any(|piece| !is_tag(piece)) {
        return Err(
            "mustache drops the blanks of a line that has nothing but sections in it".into(),
        );
    }
    Ok((last + 1 < line.len()).then_some(last))
}

fn name(path: &Path, around: &Around<'_>) -> Result<String, Refused> {
    if let Start::Loop(_, knows) = path.start {
        return Err(unknown_of_loop("mustache", knows));
    }
    let innermost = around.loops.len().checked_sub(1);
    if path.keys.is_empty() {
        let is_dot = match path.start {
            Start::Item(depth) => Some(depth) == innermost,
            Start::Root | Start::Loop(..) => false,
        };
        let in_condition = around
            .conditions
            .iter()
            .any(|condition| *around.scope.shape(condition) != Shape::Boolean);
        return if is_dot && !in_condition {
            Ok(".".into())
        } else {
            Err("mustache has no name for this item here".into())
        };
    }
    let plain = |key: &String| {
        !key.is_empty() && !key.contains(['.', '{', '}', '=']) && !key.contains(char::is_whitespace)
    };
    if !path.keys.iter().all(plain) {
        return Err(format!("mustache has no name for {}", shown(path)));
    }
    if let Some(first) = path.keys.first()
        && inner_items(path, around).any(|item| item.has(first))
    {
        return Err(format!(
            "mustache finds the {first} of the item, which hides {}",
            shown(path)
        ));
    }
    Ok(path.keys.join("."))
}

/// The items of the loops between a path's start and where it is used.
fn inner_items<'a>(path: &Path, around: &'a Around<'_>) -> impl Iterator<Item = &'a Shape> {
    let from = match path.start {
        Start::Root | Start::Loop(..) => 0,
        Start::Item(depth) => depth + 1,
    };
    (from..around.scope.depth()).map(|depth| around.scope.shape(&Path::item(depth, &[])))
}
