//! Stored contents of versions: JSON, compressed if that saves space.

use quillet_core::history::DefinitionContent;
use quillet_core::store::{StoreError, StoreErrorKind};

use super::super::error::corrupt;
use super::super::pack;

/// Minimum size to compress; smaller contents would hardly shrink.
const WORTH_PACKING: usize = 256;
/// Size from which compression takes so long that it runs on a separate thread.
const LONG: usize = 64 << 10;
/// First byte of compressed contents; JSON starts with a brace.
const DEFLATED: u8 = 0;
/// Maximum growth by JSON escapes: a control character becomes six bytes.
const LONGEST_ESCAPE: usize = 6;
/// Space for the member names.
const MEMBERS: usize = 1024;

pub(crate) async fn packed(content: &DefinitionContent) -> Result<Vec<u8>, StoreError> {
    let json = serde_json::to_vec(content);
    let json = json.map_err(|error| StoreError::new(StoreErrorKind::Refused, error.to_string()))?;
    if json.len() < WORTH_PACKING {
        return Ok(json);
    }
    let mut packed = if json.len() < LONG {
        pack::packed(&json)?
    } else {
        pack::in_background(move || pack::packed(&json)).await??
    };
    packed.insert(0, DEFLATED);
    Ok(packed)
}

/// Decompresses a content. `longest` is the maximum size of its texts (`max_value_bytes`).
pub(crate) async fn unpacked(
    history: &str,
    stored: Vec<u8>,
    longest: usize,
) -> Result<DefinitionContent, StoreError> {
    let most = longest
        .saturating_mul(LONGEST_ESCAPE)
        .saturating_add(MEMBERS);
    let name = history.to_owned();
    let json = match stored.split_first() {
        Some((&DEFLATED, rest)) => {
            let rest = rest.to_vec();
            let is_long = rest.len() > LONG;
            let unpack = move || pack::unpacked(&name, &rest, most, "max_value_bytes");
            if is_long {
                pack::in_background(unpack).await??
            } else {
                unpack()?
            }
        }
        _ => stored,
    };
    let content = serde_json::from_slice(&json);
    content.map_err(|error| corrupt(history, &format!("invalid content: {error}")))
}
