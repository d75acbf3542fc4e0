//! Liquid: `{{ name }}`, `{% if x %}…{% endif %}`, `{% for x in list %}…{% endfor %}`.
//!
//! Only nothing and `false` are false there, so what else is false elsewhere is asked for.

use super::names::is_identifier;
use super::{Around, Condition, Piece, Refused, Syntax};
use crate::TemplateFormat;
use crate::convert::shape::Shape;
use crate::convert::tree::{Argument, Call, Knows, Path, Start};
use crate::convert::values::shown;
use crate::format::liquid::LiquidFormat;

/// Names that mean something else where they stand alone.
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

/// What every list is asked for.
const QUESTIONS: [&str; 3] = ["size", "first", "last"];

pub(super) struct Liquid;

impl Syntax for Liquid {
    fn print(&self, path: &Path, around: &Around<'_>) -> Result<String, Refused> {
        Ok(format!("{{{{ {} }}}}", operand(path, around)?))
    }

    fn call(&self, call: &Call, around: &Around<'_>) -> Result<String, Refused> {
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

    fn begin_if(&self, condition: Condition<'_>, around: &Around<'_>) -> Result<String, Refused> {
        let (word, asked) = asked(condition, around)?;
        Ok(format!("{{% {word} {asked} %}}"))
    }

    fn otherwise(&self, _: Condition<'_>, _: &Around<'_>) -> Result<String, Refused> {
        Ok("{% else %}".into())
    }

    fn end_if(&self, condition: Condition<'_>, around: &Around<'_>) -> Result<String, Refused> {
        let (word, _) = asked(condition, around)?;
        Ok(format!("{{% end{word} %}}"))
    }

    fn begin_for(&self, around: &Around<'_>) -> Result<String, Refused> {
        let Some((this, _)) = around.loops.split_last() else {
            return Ok(String::new());
        };
        let list = operand(this.list, around)?;
        Ok(format!("{{% for {} in {list} %}}", this.name))
    }

    fn end_for(&self, _: Condition<'_>, _: &Around<'_>) -> Result<String, Refused> {
        Ok("{% endfor %}".into())
    }

    fn comment(&self, text: &str) -> Option<String> {
        let plain = !text.contains(['{', '}']);
        plain.then(|| format!("{{% comment %}} {text} {{% endcomment %}}"))
    }

    fn role(&self, role: &str) -> Result<String, Refused> {
        Err(format!("liquid has no message role such as {role}"))
    }

    fn mind(&self, path: &Path, around: &Around<'_>, condition: bool) -> Option<String> {
        let unknown = condition && *around.scope.shape(path) == Shape::Unknown;
        unknown.then(|| {
            format!(
                "exact if {} is true, false or not there: an empty text, 0 and an empty list are true in liquid",
                shown(path)
            )
        })
    }

    /// White space that a block has for itself would not be printed, so a constant does.
    fn join(&self, pieces: &[Piece]) -> Result<String, Refused> {
        let format = LiquidFormat::new();
        let mut out = String::new();
        let mut blocks = 0_usize;
        for piece in pieces {
            match piece {
                Piece::Text(text) if blocks > 0 && text.trim().is_empty() => {
                    out.push_str(&format!("{{{{ \"{text}\" }}}}"));
                }
                Piece::Text(text) => out.push_str(&format.escape(text).unwrap_or_default()),
                Piece::Print(tag) => out.push_str(tag),
                Piece::Block(tag) => {
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

/// The tag of a condition, and what it asks.
fn asked(condition: Condition<'_>, around: &Around<'_>) -> Result<(&'static str, String), Refused> {
    let operand = operand(condition.path, around)?;
    if let Some(text) = condition.equals {
        let sign = if condition.negated { "!=" } else { "==" };
        return Ok(("if", format!("{operand} {sign} {}", quoted(text)?)));
    }
    let sign = if condition.negated { "==" } else { "!=" };
    Ok(match around.scope.shape(condition.path) {
        Shape::Text | Shape::List(_) => ("if", format!("{operand} {sign} empty")),
        Shape::Integer | Shape::Number => ("if", format!("{operand} {sign} 0")),
        Shape::Boolean | Shape::Object(_) | Shape::Unknown => {
            let word = if condition.negated { "unless" } else { "if" };
            (word, operand)
        }
    })
}

fn argument(argument: &Argument, around: &Around<'_>) -> Result<String, Refused> {
    match argument {
        Argument::Path(path) => operand(path, around),
        Argument::Text(text) => quoted(text),
        Argument::Int(number) => Ok(number.to_string()),
        Argument::Bool(value) => Ok(value.to_string()),
    }
}

fn operand(path: &Path, around: &Around<'_>) -> Result<String, Refused> {
    let (mut text, keys) = match (path.start, path.keys.split_first()) {
        (Start::Item(depth), _) => {
            let name = around.loops.get(depth).map(|one| one.name.to_string());
            (name.unwrap_or_default(), path.keys.as_slice())
        }
        (Start::Loop(depth, knows), _) => return Ok(known(depth, knows, around.loops.len())),
        (Start::Root, Some((first, keys))) => {
            let plain = is_identifier(first) && !KEYWORDS.contains(&first.as_str());
            let name = if plain {
                first.clone()
            } else {
                format!("[{}]", quoted(first)?)
            };
            (name, keys)
        }
        (Start::Root, None) => return Err("liquid has no name for all variables at once".into()),
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

/// What the loop of that depth knows, inside so many.
fn known(at: usize, knows: Knows, depth: usize) -> String {
    let outside = ".parentloop".repeat(depth.saturating_sub(at + 1));
    let word = match knows {
        Knows::Index => "index0",
        Knows::Number => "index",
        Knows::First => "first",
        Knows::Last => "last",
    };
    format!("forloop{outside}.{word}")
}

/// A constant, in which nothing can be escaped.
fn quoted(text: &str) -> Result<String, Refused> {
    let quote = match text.contains('"') {
        false => '"',
        true if text.contains('\'') => {
            return Err("liquid has no text with both kinds of quotes in it".into());
        }
        true => '\'',
    };
    if text.contains(['}', '{']) {
        Err("liquid has no text with a brace in it".into())
    } else {
        Ok(format!("{quote}{text}{quote}"))
    }
}
