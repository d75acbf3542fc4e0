//! Preconditions of writes: `If-Match` and `If-None-Match`.

use axum::http::HeaderMap;
use axum::http::header::{IF_MATCH, IF_NONE_MATCH};
use quillet_core::ErrorCode;
use quillet_core::history::{DefinitionContent, VersionSelector, WritePrecondition};
use quillet_core::store::EntryKind;
use quillet_host::definitions::{DefinitionError, ResolvedVersion};
use quillet_prompt::Revision;

use crate::api::catalogue;
use crate::error::{ApiError, problem};
use crate::request_context::RequestContext;

/// A condition on the current definition.
#[derive(Clone, Debug, PartialEq, Eq)]
enum EntityTag {
    /// Any existing definition.
    Any,
    /// The newest version, by its number.
    Version(u64),
    /// A digest or its prefix.
    Digest(String),
    /// A revision of the stored text, or the entity tag of a response.
    Revision(Revision),
}

/// Returns the precondition of a write.
///
/// # Errors
/// Fails if a header is invalid or the current definition does not match.
pub(super) async fn expected(
    call: &RequestContext,
    headers: &HeaderMap,
    kind: EntryKind,
    id: &str,
) -> Result<WritePrecondition, ApiError> {
    if let Some(none) = text(headers, &IF_NONE_MATCH)? {
        if none.trim() == "*" && !headers.contains_key(IF_MATCH) {
            return Ok(WritePrecondition::Absent);
        }
        let message =
            "writes support only If-None-Match: *, which cannot be combined with If-Match";
        return Err(problem(ErrorCode::HistoryMark, message));
    }
    let Some(tags) = text(headers, &IF_MATCH)? else {
        return Ok(WritePrecondition::Anything);
    };
    let tags = tags.split(',').map(tag).collect::<Result<Vec<_>, _>>()?;
    // The store checks a single number itself, which saves a read and avoids a race.
    if let [EntityTag::Version(number)] = tags.as_slice() {
        return Ok(WritePrecondition::Version(*number));
    }
    let latest = VersionSelector::latest();
    let found = match call.app.definitions.find(kind, id, Some(&latest)).await {
        Ok(found) => found,
        Err(error @ DefinitionError::NotFound { .. }) => return Err(conflict(&error.to_string())),
        Err(error) => return Err(error.into()),
    };
    if tags.iter().any(|tag| is(call, kind, id, tag, &found)) {
        return Ok(WritePrecondition::Digest(found.content.digest()));
    }
    let number = found.version.map_or_else(
        || "a version that has no number yet".to_owned(),
        |version| format!("version {}", version.number),
    );
    let digest = found.content.digest();
    Err(conflict(&format!(
        "{id} is at {number} (sha256:{digest}), which If-Match does not name"
    )))
}

fn conflict(message: &str) -> ApiError {
    problem(ErrorCode::HistoryConflict, message)
}

fn text<'a>(
    headers: &'a HeaderMap,
    name: &axum::http::HeaderName,
) -> Result<Option<&'a str>, ApiError> {
    let Some(value) = headers.get(name) else {
        return Ok(None);
    };
    let text = value.to_str().map_err(|_| unreadable(name.as_str()))?;
    Ok(Some(text))
}

fn tag(text: &str) -> Result<EntityTag, ApiError> {
    let text = text.trim();
    let text = text.strip_prefix("W/").unwrap_or(text);
    let quoted = text.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    let text = quoted.unwrap_or(text);
    if text == "*" {
        return Ok(EntityTag::Any);
    }
    if let Some(revision) = Revision::parse(text).filter(|_| text.len() == 32) {
        return Ok(EntityTag::Revision(revision));
    }
    match VersionSelector::parse(text) {
        Ok(VersionSelector::Number(number)) => Ok(EntityTag::Version(number)),
        Ok(VersionSelector::Digest(digits)) => Ok(EntityTag::Digest(digits)),
        _ => Err(unreadable("If-Match")),
    }
}

fn unreadable(header: &str) -> ApiError {
    let message = format!("invalid header {header}: it does not identify a version");
    problem(ErrorCode::HistoryMark, message).with_hint(
        "send a version number (\"7\"), \"sha256:DIGITS\", a value of Quillet-Revision or ETag, \
         or *",
    )
}

fn is(
    call: &RequestContext,
    kind: EntryKind,
    id: &str,
    tag: &EntityTag,
    found: &ResolvedVersion,
) -> bool {
    match tag {
        EntityTag::Any => true,
        EntityTag::Version(number) => found
            .version
            .as_ref()
            .is_some_and(|is| is.number == *number),
        EntityTag::Digest(digits) => found.content.digest().to_string().starts_with(digits),
        EntityTag::Revision(revision) => {
            Revision::of(found.content.text.as_bytes()) == *revision
                || is_answer(call, kind, id, *revision, &found.content)
        }
    }
}

/// Returns whether a tag matches the response that `GET` returns for the definition now.
fn is_answer(
    call: &RequestContext,
    kind: EntryKind,
    id: &str,
    tag: Revision,
    content: &DefinitionContent,
) -> bool {
    let shown = catalogue::current_body(call, kind, id, content);
    shown.is_some_and(|bytes| Revision::of(&bytes) == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_numbers_digests_and_revisions() {
        let digits = "0123456789abcdef0123456789abcdef";
        for (text, expected) in [
            ("\"7\"", EntityTag::Version(7)),
            ("7", EntityTag::Version(7)),
            (" W/\"7\" ", EntityTag::Version(7)),
            ("*", EntityTag::Any),
            (
                "\"sha256:2cf24dba\"",
                EntityTag::Digest("2cf24dba".to_owned()),
            ),
            (
                digits,
                EntityTag::Revision(Revision::parse(digits).unwrap()),
            ),
        ] {
            assert_eq!(tag(text).unwrap(), expected, "{text}");
        }
        for text in ["", "\"\"", "0", "production", "\"7", "sha256:2c"] {
            assert!(tag(text).is_err(), "{text}");
        }
    }
}
