//! Validation of ids that clients choose.

use quillet_core::store::{StoreError, StoreErrorKind};

/// Maximum length of the id of a session, a run or a caller, in bytes.
pub const MAX_ID_BYTES: usize = 512;

/// Maximum number of characters of an invalid id in its error message.
const SHOWN: usize = 40;

/// Returns an id if it is not empty or too long and has no control characters.
///
/// # Errors
/// `Refused`; `what` names the kind of id in the message.
pub(crate) fn checked<'a>(what: &str, id: &'a str) -> Result<&'a str, StoreError> {
    let Some(why) = wrong(id) else {
        return Ok(id);
    };
    let shown: String = id.chars().take(SHOWN).collect();
    let message = format!("{what} id {shown:?}: {why}");
    Err(StoreError::new(StoreErrorKind::Refused, message))
}

fn wrong(id: &str) -> Option<String> {
    if id.is_empty() {
        return Some("it is empty".to_owned());
    }
    if id.len() > MAX_ID_BYTES {
        let length = id.len();
        return Some(format!(
            "it has {length} bytes, and the limit is {MAX_ID_BYTES}"
        ));
    }
    let control = id.chars().find(|c| c.is_control())?;
    Some(format!("it has the control character {control:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_without_sense_are_refused() {
        let long = "x".repeat(MAX_ID_BYTES + 1);
        let cases = [
            ("", "it is empty"),
            ("a\nb", "control character '\\n'"),
            ("a\0", "control character '\\0'"),
            (&long, "513 bytes, and the limit is 512"),
        ];
        for (id, part) in cases {
            let error = checked("session", id).unwrap_err();
            assert_eq!(error.kind, StoreErrorKind::Refused);
            assert!(error.message.contains(part), "{error}");
            assert!(error.message.len() < 150, "{error}");
        }
        for id in ["a", "task-1", "{a}:b/ü ☂", &long[1..]] {
            assert_eq!(checked("session", id).unwrap(), id);
        }
    }
}
