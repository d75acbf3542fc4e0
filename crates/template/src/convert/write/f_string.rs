//! f-string: `{name}`, and nothing else.

use super::names::is_identifier;
use super::{Around, Condition, Piece, Refused, Syntax};
use crate::convert::tree::{Call, Path, Start};

pub(super) struct FString;

impl Syntax for FString {
    fn print(&self, path: &Path, _: &Around<'_>) -> Result<String, Refused> {
        match (path.start, path.keys.as_slice()) {
            (Start::Root, [name]) if is_identifier(name) => Ok(format!("{{{name}}}")),
            (Start::Root, [name, keys @ ..])
                if is_identifier(name) && keys.iter().all(|key| can_index(key)) =>
            {
                let keys: String = keys.iter().map(|key| format!("[{key}]")).collect();
                Ok(format!("{{{name}{keys}}}"))
            }
            _ => Err(format!("f-string has no name for {}", path.keys.join("."))),
        }
    }

    fn call(&self, call: &Call, _: &Around<'_>) -> Result<String, Refused> {
        Err(format!("f-string has no calls such as of {}", call.name))
    }

    fn begin_if(&self, _: Condition<'_>, _: &Around<'_>) -> Result<String, Refused> {
        Err("f-string has no conditions".into())
    }

    fn begin_for(&self, _: &Around<'_>) -> Result<String, Refused> {
        Err("f-string has no loops".into())
    }

    fn role(&self, role: &str) -> Result<String, Refused> {
        Err(format!("f-string has no message role such as {role}"))
    }

    fn join(&self, pieces: &[Piece]) -> Result<String, Refused> {
        let text = |piece: &Piece| match piece {
            Piece::Text(text) => text.replace('{', "{{").replace('}', "}}"),
            Piece::Print(tag) | Piece::Block(tag) => tag.clone(),
        };
        Ok(pieces.iter().map(text).collect())
    }
}

/// Whether a key can stand between brackets; digits would be an index.
fn can_index(key: &str) -> bool {
    let plain = !key.is_empty() && !key.contains(['[', ']', '{', '}', '!', ':']);
    plain && !key.bytes().all(|b| b.is_ascii_digit())
}
