//! Writer for f-string, whose only syntax is `{name}`.

use super::names::is_identifier;
use super::syntax::{ConditionExpr, OutputPart, Syntax, WriteContext, WriteError};
use crate::convert::tree::{PathStart, TreeCall, VariablePath};

pub(super) struct FString;

impl Syntax for FString {
    fn print(&self, path: &VariablePath, _: &WriteContext<'_>) -> Result<String, WriteError> {
        match (path.start, path.keys.as_slice()) {
            (PathStart::Root, [name]) if is_identifier(name) => Ok(format!("{{{name}}}")),
            (PathStart::Root, [name, keys @ ..])
                if is_identifier(name) && keys.iter().all(|key| can_index(key)) =>
            {
                let keys: String = keys.iter().map(|key| format!("[{key}]")).collect();
                Ok(format!("{{{name}{keys}}}"))
            }
            _ => Err(format!(
                "f-string templates cannot refer to {}",
                path.keys.join(".")
            )),
        }
    }

    fn call(&self, call: &TreeCall, _: &WriteContext<'_>) -> Result<String, WriteError> {
        Err(format!("f-string templates cannot call {}", call.name))
    }

    fn begin_if(&self, _: ConditionExpr<'_>, _: &WriteContext<'_>) -> Result<String, WriteError> {
        Err("f-string has no conditions".into())
    }

    fn begin_for(&self, _: &WriteContext<'_>) -> Result<String, WriteError> {
        Err("f-string has no loops".into())
    }

    fn role(&self, role: &str) -> Result<String, WriteError> {
        Err(format!("f-string has no message role such as {role}"))
    }

    fn join(&self, pieces: &[OutputPart]) -> Result<String, WriteError> {
        let text = |piece: &OutputPart| match piece {
            OutputPart::Text(text) => text.replace('{', "{{").replace('}', "}}"),
            OutputPart::Print(tag) | OutputPart::Block(tag) => tag.clone(),
        };
        Ok(pieces.iter().map(text).collect())
    }
}

/// Whether a key may appear between brackets; digits would be an index.
fn can_index(key: &str) -> bool {
    let plain = !key.is_empty() && !key.contains(['[', ']', '{', '}', '!', ':']);
    plain && !key.bytes().all(|b| b.is_ascii_digit())
}
