//! A stored prompt that a request selects in addition to the model: `prompt` of a Responses
//! request, `prompt_id` and related members of a chat. Its variables can be texts, images and
//! files.

use std::sync::Arc;

use quillet_core::history::VersionSelector;
use quillet_core::{ContentPart, ErrorCode, Map, Message, MessageContent, Value};
use quillet_llm::{OpenAiResponses, Protocol};
use quillet_template::structure;
use serde_json::{Map as Object, Value as Tree, json};

use crate::error::{ApiError, problem};

/// URL prefix of placeholders for media during rendering.
const MEDIUM: &str = "variable:";

/// A prompt selected by a request.
#[derive(Debug, Default)]
pub(super) struct PromptReference {
    /// The id or an alias, optionally with a version selector.
    pub(super) id: String,
    /// The variables. Media are replaced by placeholders that only this process can create.
    pub(super) variables: Map,
    /// Images and files, indexed by the number in their placeholder.
    media: Vec<ContentPart>,
}

impl PromptReference {
    /// Creates a reference with variables other than media.
    pub(super) fn plain(id: &str, variables: Map) -> Self {
        PromptReference {
            id: id.to_owned(),
            variables,
            media: Vec::new(),
        }
    }

    /// Removes `prompt` from a Responses request and parses it.
    ///
    /// # Errors
    /// Fails if the prompt, its version or one of its variables is invalid.
    pub(super) fn of_response(body: &mut Object<String, Tree>) -> Result<Option<Self>, ApiError> {
        let said = match body.shift_remove("prompt") {
            None | Some(Tree::Null) => return Ok(None),
            Some(Tree::Object(said)) => said,
            Some(_) => return Err(wrong("prompt", "expected an object with id")),
        };
        // OpenAI's guide calls the member `prompt_id`, its API reference `id`.
        let id = match text(&said, "id", "prompt.id")? {
            Some(id) => Some(id),
            None => text(&said, "prompt_id", "prompt.prompt_id")?,
        };
        let id = id.ok_or_else(|| wrong("prompt.id", "expected the id of a prompt"))?;
        let version = text(&said, "version", "prompt.version")?;
        let id = marked(id, version, "prompt.version")?;
        let variables = said.get("variables").unwrap_or(&Tree::Null);
        PromptReference::read(id, variables, "prompt.variables").map(Some)
    }

    /// Removes `prompt_id`, `prompt_version`, `prompt_label` and `prompt_variables` from a chat and
    /// parses them.
    ///
    /// # Errors
    /// Fails if a member is invalid, or if the others are set without an id.
    pub(super) fn of_chat(body: &mut Object<String, Tree>) -> Result<Option<Self>, ApiError> {
        let names = ["prompt_version", "prompt_label", "prompt_variables"];
        let Some(Tree::String(id)) = body.shift_remove("prompt_id").filter(|id| !id.is_null())
        else {
            let alone = names.into_iter().find(|name| body.contains_key(*name));
            return match alone {
                Some(name) => Err(wrong(name, "requires prompt_id, a string")),
                None => Ok(None),
            };
        };
        // LiteLLM's clients send the version as a number.
        if let Some(Tree::Number(number)) = body.get("prompt_version") {
            let number = number.to_string();
            body.insert("prompt_version".into(), number.into());
        }
        let version = text(body, "prompt_version", "prompt_version")?.map(str::to_owned);
        let label = text(body, "prompt_label", "prompt_label")?.map(str::to_owned);
        if version.is_some() && label.is_some() {
            return Err(wrong(
                "prompt_label",
                "cannot be combined with prompt_version",
            ));
        }
        let mark = version.as_deref().or(label.as_deref());
        let place = if label.is_some() {
            "prompt_label"
        } else {
            "prompt_version"
        };
        let id = marked(&id, mark, place)?;
        let variables = body.shift_remove("prompt_variables").unwrap_or_default();
        for name in names {
            body.shift_remove(name);
        }
        PromptReference::read(id, &variables, "prompt_variables").map(Some)
    }

    fn read(id: String, variables: &Tree, place: &str) -> Result<Self, ApiError> {
        let mut prompted = PromptReference {
            id,
            ..PromptReference::default()
        };
        let variables = match variables {
            Tree::Null => return Ok(prompted),
            Tree::Object(variables) => variables,
            _ => return Err(wrong(place, "expected an object of variables")),
        };
        let mut read: Vec<(Arc<str>, Value)> = Vec::with_capacity(variables.len());
        for (name, value) in variables {
            let value = prompted.value(value, &format!("{place}.{name}"))?;
            read.push((name.as_str().into(), value));
        }
        prompted.variables = read.into_iter().collect();
        Ok(prompted)
    }

    /// Parses a variable: a text, a content part of the Responses API, or any other JSON.
    fn value(&mut self, value: &Tree, place: &str) -> Result<Value, ApiError> {
        let kind = value.get("type").and_then(Tree::as_str);
        let kind = match kind {
            Some(kind @ ("input_text" | "input_image" | "input_file")) => kind,
            _ => return Ok(Value::from(value.clone())),
        };
        let body = json!({"input": [{"role": "user", "content": [value]}]});
        let read = OpenAiResponses
            .read(&body)
            .map_err(|error| wrong(place, &error.message))?;
        let part = read.messages.into_iter().next().map(|said| said.content);
        let part = match part {
            Some(MessageContent::Text(text)) => return Ok(text.into()),
            Some(MessageContent::Parts(parts)) => parts.into_iter().next(),
            None => None,
        };
        match part {
            Some(ContentPart::Text { text }) => Ok(text.into()),
            Some(ContentPart::File { file })
                if file.file_data.is_none() && file.file_id.is_none() =>
            {
                let address = kind.replace("input_", "");
                Err(wrong(
                    place,
                    &format!("expected {address}_url, file_data or file_id"),
                ))
            }
            Some(part) => {
                let kind = kind.strip_prefix("input_");
                // A template can only print text, so media become a private URL and are inserted
                // after rendering.
                let address = format!("{MEDIUM}{}", self.media.len());
                self.media.push(part);
                Ok(structure::attachment(kind, &address, None).into())
            }
            None => Err(wrong(place, "must not be empty")),
        }
    }

    /// Replaces placeholders with their images and files.
    pub(super) fn insert_media(&self, messages: &mut [Message]) {
        if self.media.is_empty() {
            return;
        }
        for message in messages {
            let MessageContent::Parts(parts) = &mut message.content else {
                continue;
            };
            for part in parts {
                let number = part.url().and_then(|url| url.strip_prefix(MEDIUM));
                let number = number.and_then(|number| number.parse::<usize>().ok());
                if let Some(medium) = number.and_then(|number| self.media.get(number)) {
                    *part = medium.clone();
                }
            }
        }
    }
}

/// Returns an id with its version selector.
fn marked(id: &str, mark: Option<&str>, place: &str) -> Result<String, ApiError> {
    let Some(mark) = mark else {
        return Ok(id.to_owned());
    };
    let mark = VersionSelector::parse(mark).map_err(|why| wrong(place, &why))?;
    Ok(format!("{id}@{mark}"))
}

fn text<'b>(
    said: &'b Object<String, Tree>,
    name: &str,
    place: &str,
) -> Result<Option<&'b str>, ApiError> {
    match said.get(name) {
        None | Some(Tree::Null) => Ok(None),
        Some(Tree::String(text)) => Ok(Some(text)),
        Some(_) => Err(wrong(place, "must be a string")),
    }
}

fn wrong(place: &str, why: &str) -> ApiError {
    problem(ErrorCode::InvalidValue, format!("{place}: {why}")).with_param(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(tree: &Tree) -> Object<String, Tree> {
        tree.as_object().cloned().unwrap()
    }

    #[test]
    fn prompts_are_named_in_both_ways() {
        for (body, id) in [
            (json!({"prompt": {"id": "a.b"}}), "a.b"),
            (
                json!({"prompt": {"prompt_id": "pmpt_1", "version": "2"}}),
                "pmpt_1@2",
            ),
            (json!({"prompt": {"id": "a", "version": "next"}}), "a@next"),
        ] {
            let mut body = object(&body);
            let prompted = PromptReference::of_response(&mut body).unwrap().unwrap();
            assert_eq!((prompted.id.as_str(), body.len()), (id, 0));
        }
        for (body, id) in [
            (json!({"prompt_id": "a", "prompt_version": 3}), "a@3"),
            (json!({"prompt_id": "a", "prompt_label": "next"}), "a@next"),
            (json!({"prompt_id": "a", "prompt_variables": {"x": 1}}), "a"),
        ] {
            let mut body = object(&body);
            let prompted = PromptReference::of_chat(&mut body).unwrap().unwrap();
            assert_eq!((prompted.id.as_str(), body.len()), (id, 0));
        }
        assert!(
            PromptReference::of_response(&mut object(&json!({"prompt": null})))
                .unwrap()
                .is_none()
        );
        assert!(
            PromptReference::of_chat(&mut object(&json!({"messages": []})))
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn what_does_not_fit_is_named() {
        for (body, param) in [
            (json!({"prompt": "a"}), "prompt"),
            (json!({"prompt": {}}), "prompt.id"),
            (json!({"prompt": {"id": 7}}), "prompt.id"),
            (
                json!({"prompt": {"id": "a", "version": 2}}),
                "prompt.version",
            ),
            (
                json!({"prompt": {"id": "a", "version": "a b"}}),
                "prompt.version",
            ),
            (
                json!({"prompt": {"id": "a", "variables": []}}),
                "prompt.variables",
            ),
            (
                json!({"prompt": {"id": "a", "variables": {"x": {"type": "input_image", "image_url": 7}}}}),
                "prompt.variables.x",
            ),
        ] {
            let error = PromptReference::of_response(&mut object(&body)).unwrap_err();
            assert_eq!(error.param(), Some(param), "{body}: {error:?}");
        }
        for (body, param) in [
            (json!({"prompt_label": "a"}), "prompt_label"),
            (
                json!({"prompt_id": "a", "prompt_label": "b", "prompt_version": "1"}),
                "prompt_label",
            ),
            (
                json!({"prompt_id": "a", "prompt_variables": "x"}),
                "prompt_variables",
            ),
        ] {
            let error = PromptReference::of_chat(&mut object(&body)).unwrap_err();
            assert_eq!(error.param(), Some(param), "{body}: {error:?}");
        }
    }
}
