//! The turn in its provider's format, as `encrypted_content` of a reasoning item.
//!
//! The client sends it back with the next request, so that reasoning continues although nothing is
//! stored. It is opaque but not secret: it contains only data that the provider sent to this
//! client.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quillet_core::{ErrorCode, Message, NativeTurn};
use serde_json::Value;

use super::items::is_made_here;
use crate::error::{ApiError, problem};

/// Distinguishes it from encrypted reasoning of other servers.
const MARK: &str = "quillet1.";

pub(super) fn encode(turn: &NativeTurn) -> String {
    let json = serde_json::to_vec(turn).unwrap_or_default();
    format!("{MARK}{}", STANDARD.encode(json))
}

fn decode(text: &str) -> Option<Result<NativeTurn, String>> {
    let written = text.strip_prefix(MARK)?;
    let bytes = STANDARD.decode(written).map_err(|error| error.to_string());
    let read = |bytes: Vec<u8>| serde_json::from_slice(&bytes).map_err(|error| error.to_string());
    Some(bytes.and_then(read))
}

/// Restores the native form of turns. Items created here have ids that providers do not know, so
/// they are never sent unchanged.
pub(super) fn read_back(messages: &mut [Message]) -> Result<(), ApiError> {
    for message in messages {
        let Some(turn) = &message.native else {
            continue;
        };
        let items = turn.content.as_array().map_or(&[][..], Vec::as_slice);
        // Only the last reasoning item of a turn has the native form.
        let mut encrypted = items.iter().filter_map(|item| {
            let text = item.get("encrypted_content").and_then(Value::as_str);
            decode(text?)
        });
        let own = encrypted.next_back().transpose().map_err(|cause| {
            let message = format!("input: encrypted_content was modified: {cause}");
            problem(ErrorCode::InvalidEncryptedContent, message).with_param("input")
        })?;
        if own.is_some() || items.iter().any(is_made_here) {
            message.native = own;
        }
    }
    Ok(())
}
