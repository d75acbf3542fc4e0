//! Writer for Mustache: `{{name}}`, `{{#x}}…{{/x}}`, `{{^x}}…{{/x}}`.
//!
//! Depending on the value, a section is a condition, a loop or a step into an object. A name is
//! resolved in the current item first, then in the enclosing contexts. Many conversions are
//! therefore exact only for declared kinds.

use super::syntax::{ConditionExpr, OutputPart, Syntax, WriteContext, WriteError, unknown_of_loop};
use crate::TemplateFormat;
use crate::convert::shape::VariableType;
use crate::convert::tree::{PathStart, TreeCall, VariablePath};
use crate::convert::values::shown;
use crate::format::javascript::is_space;
use crate::format::mustache::MustacheFormat;

pub(super) struct Mustache;

impl Syntax for Mustache {
    fn print(&self, path: &VariablePath, around: &WriteContext<'_>) -> Result<String, WriteError> {
        Ok(format!("{{{{{}}}}}", name(path, around)?))
    }

    fn call(&self, call: &TreeCall, _: &WriteContext<'_>) -> Result<String, WriteError> {
        Err(format!("mustache templates cannot call {}", call.name))
    }

    fn begin_if(
        &self,
        condition: ConditionExpr<'_>,
        around: &WriteContext<'_>,
    ) -> Result<String, WriteError> {
        if condition.equals.is_some() {
            return Err("mustache has no comparisons".into());
        }
        let shape = around.scope.shape(condition.path);
        if let (VariableType::List(_) | VariableType::Object(_), false) = (shape, condition.negated)
        {
            return Err(format!(
                "{} is a list or an object, which a mustache section enters",
                shown(condition.path)
            ));
        }
        let mark = if condition.negated { '^' } else { '#' };
        Ok(format!("{{{{{mark}{}}}}}", name(condition.path, around)?))
    }

    fn otherwise(
        &self,
        condition: ConditionExpr<'_>,
        around: &WriteContext<'_>,
    ) -> Result<String, WriteError> {
        let name = name(condition.path, around)?;
        let mark = if condition.negated { '#' } else { '^' };
        Ok(format!("{{{{/{name}}}}}{{{{{mark}{name}}}}}"))
    }

    fn end_if(
        &self,
        condition: ConditionExpr<'_>,
        around: &WriteContext<'_>,
    ) -> Result<String, WriteError> {
        Ok(format!("{{{{/{}}}}}", name(condition.path, around)?))
    }

    fn begin_for(&self, around: &WriteContext<'_>) -> Result<String, WriteError> {
        let Some((this, outer)) = around.loops.split_last() else {
            return Ok(String::new());
        };
        let outside = WriteContext {
            loops: outer.to_vec(),
            scope: around.scope.clone(),
            conditions: Vec::new(),
        };
        Ok(format!("{{{{#{}}}}}", name(this.list, &outside)?))
    }

    fn end_for(
        &self,
        list: ConditionExpr<'_>,
        around: &WriteContext<'_>,
    ) -> Result<String, WriteError> {
        self.end_if(list, around)
    }

    fn comment(&self, text: &str) -> Option<String> {
        (!text.contains("}}")).then(|| format!("{{{{! {text} }}}}"))
    }

    fn role(&self, role: &str) -> Result<String, WriteError> {
        Err(format!("mustache has no message role such as {role}"))
    }

    fn caution(
        &self,
        path: &VariablePath,
        around: &WriteContext<'_>,
        condition: bool,
    ) -> Option<String> {
        let shown = shown(path);
        if condition && *around.scope.shape(path) == VariableType::Unknown {
            return Some(format!(
                "exact only if {shown} is neither a list nor an object: a section enters those"
            ));
        }
        let first = path.keys.first()?;
        let unknown = |item: &VariableType| *item == VariableType::Unknown;
        inner_items(path, around).any(unknown).then(|| {
            format!("exact only if no item of the loop has {first}, which would hide {shown}")
        })
    }

    fn join(&self, pieces: &[OutputPart]) -> Result<String, WriteError> {
        let format = MustacheFormat::new();
        let mut out = String::new();
        for line in lines(pieces) {
            let kept = kept(&line)?;
            for (at, piece) in line.iter().enumerate() {
                match piece {
                    OutputPart::Text(text) => {
                        out.push_str(&format.escape(text).unwrap_or_default())
                    }
                    OutputPart::Print(tag) | OutputPart::Block(tag) => out.push_str(tag),
                }
                if Some(at) == kept {
                    out.push('\n');
                }
            }
        }
        Ok(out)
    }
}

/// Splits the segments into lines. Every line except the last includes its line ending.
fn lines(pieces: &[OutputPart]) -> Vec<Vec<OutputPart>> {
    let mut lines = vec![Vec::new()];
    for piece in pieces {
        let OutputPart::Text(text) = piece else {
            lines
                .last_mut()
                .unwrap_or(&mut Vec::new())
                .push(piece.clone());
            continue;
        };
        for part in text.split_inclusive('\n') {
            if let Some(line) = lines.last_mut() {
                line.push(OutputPart::Text(part.to_owned()));
            }
            if part.ends_with('\n') {
                lines.push(Vec::new());
            }
        }
    }
    lines
}

/// Returns the tag of a line that must be followed by a line break to keep the blanks after it.
/// Mustache drops a line that contains only blanks and tags that print nothing, so the blanks must
/// be on the next line.
fn kept(line: &[OutputPart]) -> Result<Option<usize>, WriteError> {
    let blank = |piece: &OutputPart| match piece {
        OutputPart::Text(text) => text.chars().all(is_space),
        OutputPart::Print(_) => false,
        OutputPart::Block(_) => true,
    };
    let is_tag = |piece: &OutputPart| matches!(piece, OutputPart::Block(_));
    let Some(last) = line.iter().rposition(is_tag) else {
        return Ok(None);
    };
    if !line.iter().all(blank) {
        return Ok(None);
    }
    if line[..last].iter().any(|piece| !is_tag(piece)) {
        return Err("mustache drops the blanks of a line that contains only sections".into());
    }
    Ok((last + 1 < line.len()).then_some(last))
}

fn name(path: &VariablePath, around: &WriteContext<'_>) -> Result<String, WriteError> {
    if let PathStart::Loop(_, knows) = path.start {
        return Err(unknown_of_loop("mustache", knows));
    }
    let innermost = around.loops.len().checked_sub(1);
    if path.keys.is_empty() {
        let is_dot = match path.start {
            PathStart::Item(depth) => Some(depth) == innermost,
            PathStart::Root | PathStart::Loop(..) => false,
        };
        let in_condition = around
            .conditions
            .iter()
            .any(|condition| *around.scope.shape(condition) != VariableType::Boolean);
        return if is_dot && !in_condition {
            Ok(".".into())
        } else {
            Err("mustache cannot refer to this item here".into())
        };
    }
    let plain = |key: &String| {
        !key.is_empty() && !key.contains(['.', '{', '}', '=']) && !key.contains(char::is_whitespace)
    };
    if !path.keys.iter().all(plain) {
        return Err(format!("mustache cannot refer to {}", shown(path)));
    }
    if let Some(first) = path.keys.first()
        && inner_items(path, around).any(|item| item.has(first))
    {
        return Err(format!(
            "mustache resolves {first} to the item's field, which hides {}",
            shown(path)
        ));
    }
    Ok(path.keys.join("."))
}

/// Yields the kinds of the items between a path's start and its use.
fn inner_items<'a>(
    path: &VariablePath,
    around: &'a WriteContext<'_>,
) -> impl Iterator<Item = &'a VariableType> {
    let from = match path.start {
        PathStart::Root | PathStart::Loop(..) => 0,
        PathStart::Item(depth) => depth + 1,
    };
    (from..around.scope.depth()).map(|depth| around.scope.shape(&VariablePath::item(depth, &[])))
}
