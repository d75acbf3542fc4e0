//! Formats values as plain text, for formats without a better representation.

use std::borrow::Cow;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::float_text::float;
use super::json::CellJson;
use crate::Cell;

/// Returns a value as text; `None` for NULL. Bytes are base64 and arrays JSON, as in the API.
pub(super) fn text(cell: &Cell) -> Option<Cow<'_, str>> {
    Some(match cell {
        Cell::Null => return None,
        Cell::Bool(truth) => Cow::Borrowed(if *truth { "true" } else { "false" }),
        Cell::Int(number) => Cow::Owned(number.to_string()),
        Cell::UInt(number) => Cow::Owned(number.to_string()),
        Cell::Float(number) => float(*number),
        Cell::Text(text) | Cell::Json(text) => Cow::Borrowed(text),
        Cell::Bytes(bytes) => Cow::Owned(BASE64_STANDARD.encode(bytes)),
        Cell::Array(_) => Cow::Owned(serde_json::to_string(&CellJson(cell)).unwrap_or_default()),
    })
}
