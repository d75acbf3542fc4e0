//! Writer for Semantic Kernel: `{{$name}}` and `{{plugin.function $x name='text'}}`.

use super::names::is_identifier;
use super::syntax::{ConditionExpr, OutputPart, Syntax, WriteContext, WriteError};
use crate::TemplateFormat;
use crate::convert::tree::{Argument, PathStart, TreeCall, VariablePath};
use crate::format::semantic_kernel::SemanticKernelFormat;

pub(super) struct SemanticKernel;

impl Syntax for SemanticKernel {
    fn print(&self, path: &VariablePath, _: &WriteContext<'_>) -> Result<String, WriteError> {
        Ok(format!("{{{{{}}}}}", variable(path)?))
    }

    fn call(&self, call: &TreeCall, _: &WriteContext<'_>) -> Result<String, WriteError> {
        if !is_identifier(&call.name) {
            return Err(format!("semantic-kernel cannot call {}", call.name));
        }
        let mut text = call.name.clone();
        match call.positional.as_slice() {
            [] if call.named.is_empty() => {
                return Err(format!(
                    "semantic-kernel passes the template's own variables to {} if there are no arguments",
                    call.name
                ));
            }
            [] => {}
            [one] => {
                text.push(' ');
                text.push_str(&argument(one)?);
            }
            [_, second, ..] => {
                return Err(format!(
                    "semantic-kernel allows only one positional argument, so {second:?} cannot be passed"
                ));
            }
        }
        for (name, one) in &call.named {
            if matches!(one, Argument::Text(text) if text.contains('=')) {
                return Err(
                    "semantic-kernel (.NET) does not support = in the value of a named argument"
                        .into(),
                );
            }
            text.push_str(&format!(" {name}={}", argument(one)?));
        }
        Ok(format!("{{{{{text}}}}}"))
    }

    fn begin_if(&self, _: ConditionExpr<'_>, _: &WriteContext<'_>) -> Result<String, WriteError> {
        Err("semantic-kernel has no conditions".into())
    }

    fn begin_for(&self, _: &WriteContext<'_>) -> Result<String, WriteError> {
        Err("semantic-kernel has no loops".into())
    }

    fn role(&self, role: &str) -> Result<String, WriteError> {
        Err(format!(
            "semantic-kernel writes a message of {role} as an element; convert the file, not only the text"
        ))
    }

    fn join(&self, pieces: &[OutputPart]) -> Result<String, WriteError> {
        let format = SemanticKernelFormat::new();
        let text = |piece: &OutputPart| match piece {
            OutputPart::Text(text) => format.escape(text).unwrap_or_default(),
            OutputPart::Print(tag) | OutputPart::Block(tag) => tag.clone(),
        };
        Ok(pieces.iter().map(text).collect())
    }
}

fn variable(path: &VariablePath) -> Result<String, WriteError> {
    match (path.start, path.keys.as_slice()) {
        (PathStart::Root, [name]) if is_identifier(name) => Ok(format!("${name}")),
        _ => Err(format!(
            "semantic-kernel variables have a single plain name, unlike {}",
            path.keys.join(".")
        )),
    }
}

fn argument(argument: &Argument) -> Result<String, WriteError> {
    match argument {
        Argument::Path(path) => variable(path),
        Argument::Text(text) => Ok(quoted(text)),
        Argument::Int(number) => Err(format!(
            "semantic-kernel has only strings, not the number {number}"
        )),
        Argument::Bool(value) => Err(format!("semantic-kernel has only strings, not {value}")),
    }
}

/// Quotes a value. Only the quote, and backslashes before quotes and backslashes, are escaped.
fn quoted(text: &str) -> String {
    let text = text.replace('\\', r"\\").replace('\'', r"\'");
    format!("'{text}'")
}
