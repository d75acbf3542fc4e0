//! Writer for Jinja: `{{ name }}`, `{% if x %}…{% endif %}`, `{% for x in list %}…{% endfor %}`.

use super::names::is_identifier;
use super::syntax::{ConditionExpr, OutputPart, Syntax, WriteContext, WriteError, beside};
use crate::convert::tree::{Argument, LoopPosition, PathStart, TreeCall, VariablePath};
use crate::format::jinja::JinjaFormat;
use crate::format::jinja::methods::of_dict;

/// Reserved names, which variables cannot have.
const KEYWORDS: [&str; 16] = [
    "and", "or", "not", "is", "in", "if", "else", "elif", "for", "true", "false", "none", "True",
    "False", "None", "loop",
];

pub(super) struct Jinja {
    /// Whether Jinja drops blanks around block tags (`trim_blocks`, `lstrip_blocks`).
    pub(super) trims: bool,
}

impl Syntax for Jinja {
    fn print(&self, path: &VariablePath, around: &WriteContext<'_>) -> Result<String, WriteError> {
        Ok(format!("{{{{ {} }}}}", operand(path, around)?))
    }

    fn call(&self, call: &TreeCall, around: &WriteContext<'_>) -> Result<String, WriteError> {
        use crate::TemplateFormat;
        let name = &call.name;
        let own = JinjaFormat::hugging_face();
        let is_own = TemplateFormat::functions(&own).contains(&name.as_str());
        if !is_identifier(name) || KEYWORDS.contains(&name.as_str()) || is_own {
            return Err(format!("jinja cannot call a function named {name}"));
        }
        let mut arguments = Vec::new();
        for one in &call.positional {
            arguments.push(argument(one, around)?);
        }
        for (name, one) in &call.named {
            arguments.push(format!("{name}={}", argument(one, around)?));
        }
        Ok(format!("{{{{ {name}({}) }}}}", arguments.join(", ")))
    }

    fn begin_if(
        &self,
        condition: ConditionExpr<'_>,
        around: &WriteContext<'_>,
    ) -> Result<String, WriteError> {
        Ok(format!("{{% if {} %}}", condition_text(condition, around)?))
    }

    fn else_if(
        &self,
        condition: ConditionExpr<'_>,
        around: &WriteContext<'_>,
    ) -> Option<Result<String, WriteError>> {
        Some(condition_text(condition, around).map(|asked| format!("{{% elif {asked} %}}")))
    }

    fn otherwise(&self, _: ConditionExpr<'_>, _: &WriteContext<'_>) -> Result<String, WriteError> {
        Ok("{% else %}".into())
    }

    fn end_if(&self, _: ConditionExpr<'_>, _: &WriteContext<'_>) -> Result<String, WriteError> {
        Ok("{% endif %}".into())
    }

    fn begin_for(&self, around: &WriteContext<'_>) -> Result<String, WriteError> {
        let Some(this) = around.loops.last() else {
            return Ok(String::new());
        };
        let list = operand(this.list, around)?;
        Ok(format!("{{% for {} in {list} %}}", this.name))
    }

    fn end_for(&self, _: ConditionExpr<'_>, _: &WriteContext<'_>) -> Result<String, WriteError> {
        Ok("{% endfor %}".into())
    }

    fn comment(&self, text: &str) -> Option<String> {
        (!text.contains("#}")).then(|| format!("{{# {text} #}}"))
    }

    fn role(&self, role: &str) -> Result<String, WriteError> {
        Err(format!("jinja has no message role such as {role}"))
    }

    fn join(&self, pieces: &[OutputPart]) -> Result<String, WriteError> {
        let mut out = String::new();
        for (at, piece) in pieces.iter().enumerate() {
            let (before, after) = beside(pieces, at);
            match piece {
                OutputPart::Text(text) => {
                    let is_block = matches!(before, Some(OutputPart::Block(_)));
                    if self.trims && is_block && text.starts_with('\n') {
                        // Jinja drops the first line ending after a block.
                        out.push('\n');
                    }
                    out.push_str(&literal(text, after.is_some()));
                }
                OutputPart::Print(tag) => out.push_str(tag),
                OutputPart::Block(tag) => {
                    let text = match before {
                        Some(OutputPart::Text(text)) => text,
                        _ => "",
                    };
                    let keeps = self.trims && ends_in_indent(text, at <= 1);
                    out.push_str(&if keeps { kept(tag) } else { tag.clone() });
                }
            }
        }
        // Jinja drops the last line ending of a source.
        if out.ends_with('\n') {
            out.push('\n');
        }
        Ok(out)
    }
}

/// Whether a text ends in blanks at the start of a line.
fn ends_in_indent(text: &str, begins_source: bool) -> bool {
    let rest = text.trim_end_matches(|c: char| c.is_whitespace() && c != '\n');
    rest.len() < text.len() && (rest.ends_with('\n') || (rest.is_empty() && begins_source))
}

/// Returns a tag that keeps the blanks before it.
fn kept(tag: &str) -> String {
    let (open, rest) = tag.split_at(2);
    format!("{open}+{rest}")
}

/// Escapes a text so that it prints unchanged. Jinja normalizes line endings to `\n`, so other line
/// endings are printed by a constant.
fn literal(text: &str, before_tag: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        match (c, next) {
            ('{', Some(mark @ ('{' | '%' | '#'))) => {
                out.push_str(&format!("{{{{ \"{{{mark}\" }}}}"));
                chars.next();
            }
            ('{', Some('\r')) => out.push_str("{{ \"{\" }}"),
            ('{', None) if before_tag => out.push_str("{{ \"{\" }}"),
            ('\r', _) => out.push_str("{{ \"\\r\" }}"),
            (c, _) => out.push(c),
        }
    }
    out
}

fn condition_text(
    condition: ConditionExpr<'_>,
    around: &WriteContext<'_>,
) -> Result<String, WriteError> {
    let operand = operand(condition.path, around)?;
    Ok(match (condition.equals, condition.negated) {
        (Some(text), true) => format!("{operand} != {}", quoted(text)),
        (Some(text), false) => format!("{operand} == {}", quoted(text)),
        (None, true) => format!("not {operand}"),
        (None, false) => operand,
    })
}

fn argument(argument: &Argument, around: &WriteContext<'_>) -> Result<String, WriteError> {
    Ok(match argument {
        Argument::Path(path) => operand(path, around)?,
        Argument::Text(text) => quoted(text),
        Argument::Int(number) => number.to_string(),
        Argument::Bool(value) => value.to_string(),
    })
}

fn operand(path: &VariablePath, around: &WriteContext<'_>) -> Result<String, WriteError> {
    let (mut text, keys) = match (path.start, path.keys.split_first()) {
        (PathStart::Item(depth), _) => {
            let name = around.loops.get(depth).map(|one| one.name.to_string());
            (name.unwrap_or_default(), path.keys.as_slice())
        }
        (PathStart::Loop(depth, knows), _) => return known(depth, knows, around.loops.len()),
        (PathStart::Root, Some((first, keys))) => {
            if !is_identifier(first) || KEYWORDS.contains(&first.as_str()) {
                return Err(format!("jinja has no variable named {first:?}"));
            }
            (first.clone(), keys)
        }
        (PathStart::Root, None) => {
            return Err("jinja cannot refer to the set of all variables".into());
        }
    };
    for key in keys {
        text.push_str(&if is_identifier(key) && !of_dict(key) {
            format!(".{key}")
        } else {
            format!("[{}]", quoted(key))
        });
    }
    Ok(text)
}

/// Writes a loop variable, given the depth of its loop.
fn known(at: usize, knows: LoopPosition, depth: usize) -> Result<String, WriteError> {
    if at + 1 < depth {
        return Err("jinja exposes only the innermost loop".into());
    }
    Ok(match knows {
        LoopPosition::Index => "loop.index0",
        LoopPosition::Number => "loop.index",
        LoopPosition::First => "loop.first",
        LoopPosition::Last => "loop.last",
    }
    .to_owned())
}

/// Writes a Python constant.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
