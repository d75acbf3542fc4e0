//! Writer for Go: `{{.name}}`, `{{if .x}}…{{end}}`, `{{range .list}}…{{end}}`.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::names::is_identifier;
use super::syntax::{
    ConditionExpr, LoopContext, OutputPart, Syntax, WriteContext, WriteError, beside,
    unknown_of_loop,
};
use crate::TemplateFormat;
use crate::convert::tree::{Argument, LoopPosition, PathStart, TreeCall, VariablePath};
use crate::format::go::GoFormat;

pub(super) struct GoSyntax;

impl Syntax for GoSyntax {
    fn print(&self, path: &VariablePath, around: &WriteContext<'_>) -> Result<String, WriteError> {
        Ok(format!("{{{{{}}}}}", operand(path, around)?))
    }

    fn call(&self, call: &TreeCall, around: &WriteContext<'_>) -> Result<String, WriteError> {
        if let Some((name, _)) = call.named.first() {
            return Err(format!("go has no named arguments such as {name}"));
        }
        let mut text = call.name.clone();
        if !is_identifier(&text) || is_own(&text) {
            return Err(format!("go cannot call a function named {text}"));
        }
        for argument in &call.positional {
            text.push(' ');
            text.push_str(&match argument {
                Argument::Path(path) => operand(path, around)?,
                Argument::Text(text) => quoted(text),
                Argument::Int(number) => number.to_string(),
                Argument::Bool(value) => value.to_string(),
            });
        }
        Ok(format!("{{{{{text}}}}}"))
    }

    fn begin_if(
        &self,
        condition: ConditionExpr<'_>,
        around: &WriteContext<'_>,
    ) -> Result<String, WriteError> {
        Ok(format!("{{{{if {}}}}}", condition_text(condition, around)?))
    }

    fn else_if(
        &self,
        condition: ConditionExpr<'_>,
        around: &WriteContext<'_>,
    ) -> Option<Result<String, WriteError>> {
        Some(condition_text(condition, around).map(|asked| format!("{{{{else if {asked}}}}}")))
    }

    fn otherwise(&self, _: ConditionExpr<'_>, _: &WriteContext<'_>) -> Result<String, WriteError> {
        Ok("{{else}}".into())
    }

    fn end_if(&self, _: ConditionExpr<'_>, _: &WriteContext<'_>) -> Result<String, WriteError> {
        Ok("{{end}}".into())
    }

    fn begin_for(&self, around: &WriteContext<'_>) -> Result<String, WriteError> {
        let Some((this, outer)) = around.loops.split_last() else {
            return Ok(String::new());
        };
        let list = operand_in(this.list, outer)?;
        Ok(match (&this.index, this.used_inside) {
            (Some(index), _) => format!("{{{{range ${index}, ${} := {list}}}}}", this.name),
            (None, true) => format!("{{{{range ${} := {list}}}}}", this.name),
            (None, false) => format!("{{{{range {list}}}}}"),
        })
    }

    fn end_for(&self, _: ConditionExpr<'_>, _: &WriteContext<'_>) -> Result<String, WriteError> {
        Ok("{{end}}".into())
    }

    fn comment(&self, text: &str) -> Option<String> {
        (!text.contains("*/")).then(|| format!("{{{{/* {text} */}}}}"))
    }

    fn role(&self, role: &str) -> Result<String, WriteError> {
        Err(format!("go has no message role such as {role}"))
    }

    fn join(&self, pieces: &[OutputPart]) -> Result<String, WriteError> {
        let mut out = String::new();
        for (at, piece) in pieces.iter().enumerate() {
            match piece {
                OutputPart::Text(text) => {
                    let before_tag = beside(pieces, at).1.is_some();
                    out.push_str(&literal(text, before_tag));
                }
                OutputPart::Print(tag) | OutputPart::Block(tag) => out.push_str(tag),
            }
        }
        Ok(out)
    }
}

fn literal(text: &str, before_tag: bool) -> String {
    let mut text = text.replace("{{", r#"{{"{{"}}"#);
    // After another brace, the tag would begin one character too early.
    if before_tag && text.ends_with('{') {
        text.pop();
        text.push_str(r#"{{"{"}}"#);
    }
    text
}

fn condition_text(
    condition: ConditionExpr<'_>,
    around: &WriteContext<'_>,
) -> Result<String, WriteError> {
    // The first item has index 0, which is false in Go.
    let index = match condition.path.start {
        PathStart::Loop(depth, LoopPosition::First) => {
            Some(VariablePath::in_loop(depth, LoopPosition::Index))
        }
        _ => None,
    };
    let operand = operand(index.as_ref().unwrap_or(condition.path), around)?;
    let negated = condition.negated != index.is_some();
    Ok(match (condition.equals, negated) {
        (Some(text), true) => format!("ne {operand} {}", quoted(text)),
        (Some(text), false) => format!("eq {operand} {}", quoted(text)),
        (None, true) => format!("not {operand}"),
        (None, false) => operand,
    })
}

fn operand(path: &VariablePath, around: &WriteContext<'_>) -> Result<String, WriteError> {
    operand_in(path, &around.loops)
}

/// Writes a path that is used inside the given loops.
fn operand_in(path: &VariablePath, loops: &[LoopContext<'_>]) -> Result<String, WriteError> {
    let depth = loops.len();
    let name = |at: usize| loops.get(at).map(|one| &*one.name);
    let index = |at: usize| loops.get(at)?.index.as_deref();
    let mut text = match path.start {
        PathStart::Root if depth == 0 => String::new(),
        PathStart::Root => "$".to_owned(),
        PathStart::Item(at) if at + 1 == depth => String::new(),
        PathStart::Item(at) => format!("${}", name(at).unwrap_or_default()),
        PathStart::Loop(at, LoopPosition::Index) => format!("${}", index(at).unwrap_or_default()),
        PathStart::Loop(_, knows) => return Err(unknown_of_loop("go", knows)),
    };
    for key in &path.keys {
        if !is_identifier(key) {
            return Err(format!("go has no field named {key:?}"));
        }
        text.push('.');
        text.push_str(key);
    }
    if text.is_empty() {
        text.push('.');
    }
    Ok(text)
}

/// Whether a name is a keyword or a function of Go's templates or of Sprig.
fn is_own(name: &str) -> bool {
    static FUNCTIONS: LazyLock<HashSet<String>> = LazyLock::new(|| {
        let format = GoFormat::new().with_sprig();
        let names = TemplateFormat::functions(&format);
        names.into_iter().map(str::to_owned).collect()
    });
    let keywords = [
        "block", "break", "continue", "define", "else", "end", "if", "nil", "range", "template",
        "with", "true", "false",
    ];
    keywords.contains(&name) || FUNCTIONS.contains(name)
}

fn quoted(text: &str) -> String {
    crate::format::go::fmt::quoted(text)
}
