//! Writer for Liquid: `{{ name }}`, `{% if x %}…{% endif %}`, `{% for x in list %}…{% endfor %}`.
//!
//! In Liquid only nil and `false` are false, so the writer tests for other values explicitly.

use super::names::is_identifier;
use super::syntax::{ConditionExpr, OutputPart, Syntax, WriteContext, WriteError};
use crate::TemplateFormat;
use crate::convert::shape::VariableType;
use crate::convert::tree::{Argument, LoopPosition, PathStart, TreeCall, VariablePath};
use crate::convert::values::shown;
use crate::format::liquid::LiquidFormat;

/// Names that have a special meaning unless a path follows.
const KEYWORDS: [&str; 11] = [
    "nil",
    "null",
    "true",
    "false",
    "empty",
    "blank",
    "and",
    "or",
    "contains",
    "forloop",
    "tablerowloop",
];

/// Properties of every list.
const QUESTIONS: [&str; 3] = ["size", "first", "last"];

pub(super) struct Liquid;

impl Syntax for Liquid {
    fn print(&self, path: &VariablePath, around: &WriteContext<'_>) -> Result<String, WriteError> {
        Ok(format!("{{{{ {} }}}}", operand(path, around)?))
    }

    fn call(&self, call: &TreeCall, around: &WriteContext<'_>) -> Result<String, WriteError> {
        let name = &call.name;
        let own = LiquidFormat::new();
        let is_own = own.functions().contains(&name.as_str()) || name == "call";
        let mut arguments = Vec::new();
        for one in &call.positional {
            arguments.push(argument(one, around)?);
        }
        let input = if arguments.is_empty() {
            "nil".to_owned()
        } else {
            arguments.remove(0)
        };
        for (name, one) in &call.named {
            if !is_identifier(name) {
                return Err(format!("liquid has no argument named {name}"));
            }
            arguments.push(format!("{name}: {}", argument(one, around)?));
        }
        let name = if is_identifier(name) && !is_own {
            name.as_str()
        } else {
            arguments.insert(0, quoted(name)?);
            "call"
        };
        let colon = if arguments.is_empty() { "" } else { ": " };
        Ok(format!(
            "{{{{ {input} | {name}{colon}{} }}}}",
            arguments.join(", ")
        ))
    }

    fn begin_if(
        &self,
        condition: ConditionExpr<'_>,
        around: &WriteContext<'_>,
    ) -> Result<String, WriteError> {
        let (word, asked) = condition_tag(condition, around)?;
        Ok(format!("{{% {word} {asked} %}}"))
    }

    fn otherwise(&self, _: ConditionExpr<'_>, _: &WriteContext<'_>) -> Result<String, WriteError> {
        Ok("{% else %}".into())
    }

    fn end_if(
        &self,
        condition: ConditionExpr<'_>,
        around: &WriteContext<'_>,
    ) -> Result<String, WriteError> {
        let (word, _) = condition_tag(condition, around)?;
        Ok(format!("{{% end{word} %}}"))
    }

    fn begin_for(&self, around: &WriteContext<'_>) -> Result<String, WriteError> {
        let Some((this, _)) = around.loops.split_last() else {
            return Ok(String::new());
        };
        let list = operand(this.list, around)?;
        Ok(format!("{{% for {} in {list} %}}", this.name))
    }

    fn end_for(&self, _: ConditionExpr<'_>, _: &WriteContext<'_>) -> Result<String, WriteError> {
        Ok("{% endfor %}".into())
    }

    fn comment(&self, text: &str) -> Option<String> {
        let plain = !text.contains(['{', '}']);
        plain.then(|| format!("{{% comment %}} {text} {{% endcomment %}}"))
    }

    fn role(&self, role: &str) -> Result<String, WriteError> {
        Err(format!("liquid has no message role such as {role}"))
    }

    fn caution(
        &self,
        path: &VariablePath,
        around: &WriteContext<'_>,
        condition: bool,
    ) -> Option<String> {
        let unknown = condition && *around.scope.shape(path) == VariableType::Unknown;
        unknown.then(|| {
            format!(
                "exact only if {} is true, false or missing: an empty string, 0 and an empty list are true in liquid",
                shown(path)
            )
        })
    }

    /// Joins the segments. Liquid omits a block that contains only white space, so a constant
    /// prints such text.
    fn join(&self, pieces: &[OutputPart]) -> Result<String, WriteError> {
        let format = LiquidFormat::new();
        let mut out = String::new();
        let mut blocks = 0_usize;
        for piece in pieces {
            match piece {
                OutputPart::Text(text) if blocks > 0 && text.trim().is_empty() => {
                    out.push_str(&format!("{{{{ \"{text}\" }}}}"));
                }
                OutputPart::Text(text) => out.push_str(&format.escape(text).unwrap_or_default()),
                OutputPart::Print(tag) => out.push_str(tag),
                OutputPart::Block(tag) => {
                    let begins = ["{% if", "{% unless", "{% for"];
                    if begins.iter().any(|begin| tag.starts_with(begin)) {
                        blocks += 1;
                    } else if tag.starts_with("{% end") {
                        blocks = blocks.saturating_sub(1);
                    }
                    out.push_str(tag);
                }
            }
        }
        Ok(out)
    }
}

/// Writes the opening tag of a condition.
fn condition_tag(
    condition: ConditionExpr<'_>,
    around: &WriteContext<'_>,
) -> Result<(&'static str, String), WriteError> {
    let operand = operand(condition.path, around)?;
    if let Some(text) = condition.equals {
        let sign = if condition.negated { "!=" } else { "==" };
        return Ok(("if", format!("{operand} {sign} {}", quoted(text)?)));
    }
    let sign = if condition.negated { "==" } else { "!=" };
    Ok(match around.scope.shape(condition.path) {
        VariableType::Text | VariableType::List(_) => ("if", format!("{operand} {sign} empty")),
        VariableType::Integer | VariableType::Number => ("if", format!("{operand} {sign} 0")),
        VariableType::Boolean | VariableType::Object(_) | VariableType::Unknown => {
            let word = if condition.negated { "unless" } else { "if" };
            (word, operand)
        }
    })
}

fn argument(argument: &Argument, around: &WriteContext<'_>) -> Result<String, WriteError> {
    match argument {
        Argument::Path(path) => operand(path, around),
        Argument::Text(text) => quoted(text),
        Argument::Int(number) => Ok(number.to_string()),
        Argument::Bool(value) => Ok(value.to_string()),
    }
}

fn operand(path: &VariablePath, around: &WriteContext<'_>) -> Result<String, WriteError> {
    let (mut text, keys) = match (path.start, path.keys.split_first()) {
        (PathStart::Item(depth), _) => {
            let name = around.loops.get(depth).map(|one| one.name.to_string());
            (name.unwrap_or_default(), path.keys.as_slice())
        }
        (PathStart::Loop(depth, knows), _) => return Ok(known(depth, knows, around.loops.len())),
        (PathStart::Root, Some((first, keys))) => {
            let plain = is_identifier(first) && !KEYWORDS.contains(&first.as_str());
            let name = if plain {
                first.clone()
            } else {
                format!("[{}]", quoted(first)?)
            };
            (name, keys)
        }
        (PathStart::Root, None) => {
            return Err("liquid cannot refer to the set of all variables".into());
        }
    };
    for key in keys {
        text.push_str(
            &if is_identifier(key) && !QUESTIONS.contains(&key.as_str()) {
                format!(".{key}")
            } else {
                format!("[{}]", quoted(key)?)
            },
        );
    }
    Ok(text)
}

/// Writes a loop variable, given the depth of its loop.
fn known(at: usize, knows: LoopPosition, depth: usize) -> String {
    let outside = ".parentloop".repeat(depth.saturating_sub(at + 1));
    let word = match knows {
        LoopPosition::Index => "index0",
        LoopPosition::Number => "index",
        LoopPosition::First => "first",
        LoopPosition::Last => "last",
    };
    format!("forloop{outside}.{word}")
}

/// Writes a text constant. Fails for a text with both kinds of quotes, because Liquid has no
/// escapes.
fn quoted(text: &str) -> Result<String, WriteError> {
    let quote = match text.contains('"') {
        false => '"',
        true if text.contains('\'') => {
            return Err("a string in liquid cannot contain both kinds of quotes".into());
        }
        true => '\'',
    };
    if text.contains(['}', '{']) {
        Err("a string in liquid cannot contain a brace".into())
    } else {
        Ok(format!("{quote}{text}{quote}"))
    }
}
