//! The definition in a request's body.

use axum::body::Bytes;
use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use quillet_core::ErrorCode;
use quillet_core::history::{DefinitionContent, VersionSelector};
use quillet_core::store::EntryKind;
use quillet_prompt::script_definition;
use serde::Deserialize;
use serde_json::{Map, Value as Tree};
use utoipa::IntoParams;

use crate::api::{body, json_error};
use crate::error::{ApiError, problem};
use crate::request_context::RequestContext;

/// Query parameters that select the format of a definition.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct DefinitionFormatQuery {
    /// `file`: the body is the text of the prompt file with front matter and template. The name of
    /// the file stays the same.
    form: Option<String>,
}

/// Reads a definition in the form in which it is stored.
pub(super) async fn definition(
    call: &RequestContext,
    kind: EntryKind,
    id: &str,
    form: &DefinitionFormatQuery,
    request: Request,
) -> Result<DefinitionContent, ApiError> {
    let is_text = is_text(request.headers());
    let text = text(&bytes(call, request).await?)?;
    match form.form.as_deref() {
        None => {}
        Some("file") => return file(call, kind, id, text).await,
        Some(other) => {
            let message = format!("invalid form {other:?}: set form to file, or omit it");
            return Err(problem(ErrorCode::RequestQuery, message).with_param("form"));
        }
    }
    // The text is stored as the client sent it. JSON is parsed only to reject errors early.
    let text = match kind {
        EntryKind::Agent if is_text => text,
        EntryKind::Prompt if is_text => script_definition(&text),
        _ => object(&text).map(|_| text)?,
    };
    Ok(DefinitionContent::new(text))
}

/// Reads a new text for the prompt file of the current definition.
async fn file(
    call: &RequestContext,
    kind: EntryKind,
    id: &str,
    text: String,
) -> Result<DefinitionContent, ApiError> {
    let definitions = &call.app.definitions;
    let found = definitions
        .find(kind, id, Some(&VersionSelector::latest()))
        .await?;
    if found.content.file.is_empty() {
        let message =
            format!("{id} is not stored as a prompt file, so its text cannot be replaced");
        return Err(problem(ErrorCode::RequestQuery, message)
            .with_param("form")
            .with_hint("omit form, and send the whole definition"));
    }
    Ok(DefinitionContent {
        text: text.into(),
        ..found.content
    })
}

/// Reads the changes to a definition, a JSON object.
pub(super) async fn changes(
    call: &RequestContext,
    request: Request,
) -> Result<Map<String, Tree>, ApiError> {
    object(&text(&bytes(call, request).await?)?)
}

async fn bytes(call: &RequestContext, request: Request) -> Result<Bytes, ApiError> {
    let config = &call.app.config;
    body::read(request.into_body(), config.body_bytes, config.body_time).await
}

/// Returns whether the body is declared as YAML or text. Any other body is read as JSON, because
/// `curl -d` declares a form.
fn is_text(headers: &HeaderMap) -> bool {
    let kind = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next());
    let kind = kind.unwrap_or_default().trim().to_ascii_lowercase();
    matches!(
        kind.as_str(),
        "application/yaml" | "application/x-yaml" | "text/yaml" | "text/x-yaml" | "text/plain"
    )
}

fn text(bytes: &[u8]) -> Result<String, ApiError> {
    let text = String::from_utf8(bytes.to_vec());
    let text = text.map_err(|_| problem(ErrorCode::RequestBody, "the body is not UTF-8"))?;
    if text.trim().is_empty() {
        let message = "missing body: expected a definition, a JSON object";
        return Err(problem(ErrorCode::RequestBody, message));
    }
    Ok(text)
}

fn object(text: &str) -> Result<Map<String, Tree>, ApiError> {
    serde_json::from_str(text).map_err(|error| {
        let message = format!(
            "the body is not a JSON object: {}",
            json_error::json_error_message(&error)
        );
        problem(ErrorCode::RequestBody, message)
            .with_location(error.line(), error.column())
            .with_hint("send a script, or an agent in YAML, with Content-Type: application/yaml")
    })
}

/// Applies a JSON merge patch (RFC 7386): `null` removes a member, objects are merged, everything
/// else is replaced.
pub(super) fn merge(over: &mut Map<String, Tree>, changes: Map<String, Tree>) {
    for (name, change) in changes {
        match change {
            Tree::Null => drop(over.remove(&name)),
            Tree::Object(inner) => {
                let mut own = match over.remove(&name) {
                    Some(Tree::Object(own)) => own,
                    _ => Map::new(),
                };
                merge(&mut own, inner);
                over.insert(name, own.into());
            }
            other => drop(over.insert(name, other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 7386, appendix A, with objects on both sides.
    #[test]
    fn changes_are_laid_over_as_the_standard_says() {
        for (original, patch, result) in [
            (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
            (r#"{"a":"b"}"#, r#"{"a":null}"#, "{}"),
            (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
            (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
            (
                r#"{"a":{"b":"c"}}"#,
                r#"{"a":{"b":"d","c":null}}"#,
                r#"{"a":{"b":"d"}}"#,
            ),
            (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
            (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"e":null,"a":1}"#),
            ("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
        ] {
            let mut merged = object(original).unwrap();
            merge(&mut merged, object(patch).unwrap());
            assert_eq!(merged, object(result).unwrap(), "{original} {patch}");
        }
    }
}
