//! Prompts that include others: `@@@langfusePrompt:name=header|label=production@@@`. The reference
//! is replaced by the text of the other prompt, unless the query has `resolve=false`.

use quillet_core::{BoxFuture, ErrorCode};
use quillet_prompt::Notation;
use serde_json::{Map, Value, json};

use crate::api::client_fill::{self, PromptBody, PromptMessage, PromptView, VersionRequest};
use crate::error::{ApiError, problem};
use crate::request_context::RequestContext;

const BEGIN: &str = "@@@langfusePrompt:";
const END: &str = "@@@";

/// Maximum nesting of prompts, as in Langfuse.
const DEEPEST: usize = 5;

/// The included prompts, for the member `resolutionGraph`.
type Graph = Map<String, Value>;

/// Resolves all references of a prompt and returns the included prompts, or `null` if there are
/// none.
///
/// # Errors
/// Fails if a referenced prompt does not exist or is not a text, or if the nesting is too deep.
pub(super) async fn compose(
    call: &RequestContext,
    name: &str,
    said: PromptBody,
) -> Result<(PromptBody, Value), ApiError> {
    let mut graph = Graph::new();
    let composed = match said {
        PromptBody::Text(text) => PromptBody::Text(expand(call, name, text, 0, &mut graph).await?),
        PromptBody::Chat(turns) => {
            let mut composed = Vec::with_capacity(turns.len());
            for turn in turns {
                composed.push(match turn {
                    PromptMessage::Message { role, content } => PromptMessage::Message {
                        role,
                        content: expand(call, name, content, 0, &mut graph).await?,
                    },
                    place @ PromptMessage::Placeholder(_) => place,
                });
            }
            PromptBody::Chat(composed)
        }
    };
    if graph.is_empty() {
        return Ok((composed, Value::Null));
    }
    let resolved = json!({"root": {"name": name}, "dependencies": graph});
    Ok((composed, resolved))
}

fn expand<'a>(
    call: &'a RequestContext,
    parent: &'a str,
    text: String,
    depth: usize,
    graph: &'a mut Graph,
) -> BoxFuture<'a, Result<String, ApiError>> {
    Box::pin(async move {
        if !text.contains(BEGIN) {
            return Ok(text);
        }
        if depth == DEEPEST {
            return Err(wrong(format!(
                "Prompts are nested deeper than {DEEPEST} levels, or include each other, at '{parent}'"
            )));
        }
        let (mut out, mut rest) = (String::new(), text.as_str());
        while let Some((before, after)) = rest.split_once(BEGIN) {
            out.push_str(before);
            // A reference without an end is plain text, as in Langfuse.
            let Some((tag, after)) = after.split_once(END) else {
                out.push_str(BEGIN);
                rest = after;
                continue;
            };
            let (name, wish) = read(tag)?;
            let (inner, number) = other(call, name, wish).await?;
            let named = json!({"name": name, "version": number});
            let known = graph.entry(parent).or_insert_with(|| json!([]));
            if let Value::Array(known) = known {
                known.push(named);
            }
            out.push_str(&expand(call, name, inner, depth + 1, graph).await?);
            rest = after;
        }
        out.push_str(rest);
        Ok(out)
    })
}

/// Returns the text and the version of a referenced prompt.
async fn other(
    call: &RequestContext,
    name: &str,
    wish: VersionRequest<'_>,
) -> Result<(String, u64), ApiError> {
    let id = client_fill::readable(call, name).await?;
    let absent = |error| super::answer::or_not_found(error, name, wish);
    let view = PromptView::of(call, &id).await.map_err(absent)?;
    let found = view.find(wish).await.map_err(absent)?;
    let found = found.ok_or_else(|| super::answer::not_found(name, wish))?;
    let number = found.version.as_ref().map_or(1, |version| version.number);
    match client_fill::export_version(call, &id, &found, Notation::Double).await? {
        PromptBody::Text(text) => Ok((text, number)),
        PromptBody::Chat(_) => Err(wrong(format!(
            "Prompt dependency is not a text prompt: '{name}'"
        ))),
    }
}

/// Parses a reference such as `name=header|version=3`.
fn read(tag: &str) -> Result<(&str, VersionRequest<'_>), ApiError> {
    let unread = || {
        wrong(format!(
            "invalid reference {BEGIN}{tag}{END}: write name=NAME|label=LABEL or name=NAME|version=NUMBER"
        ))
    };
    let (name, which) = tag.split_once('|').ok_or_else(unread)?;
    let name = name.strip_prefix("name=").ok_or_else(unread)?;
    if let Some(label) = which.strip_prefix("label=") {
        return Ok((name, VersionRequest::Label(label)));
    }
    let number = which
        .strip_prefix("version=")
        .and_then(|number| number.parse().ok());
    number
        .map(|number| (name, VersionRequest::Number(number)))
        .ok_or_else(unread)
}

fn wrong(message: String) -> ApiError {
    problem(ErrorCode::DoorRequest, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_read() {
        for (tag, expected) in [
            (
                "name=a/b|label=production",
                Some(("a/b", VersionRequest::Label("production"))),
            ),
            ("name=a|version=3", Some(("a", VersionRequest::Number(3)))),
            ("name=a", None),
            ("a|label=b", None),
            ("name=a|version=x", None),
            ("name=a|tag=x", None),
        ] {
            assert_eq!(read(tag).ok(), expected, "{tag}");
        }
    }
}
