//! A function of the host program as the model of scripts. Requests use OpenAI's chat format, and
//! the decoder of that API reads the replies.

use std::sync::Arc;

use futures::stream;
use quillet::core::BoxFuture;
use quillet::core::chat::{Bytes4, ChatModel, ChatRequest, ChatStream, ModelError, ModelErrorKind};
use quillet::llm::{CallIds, OpenAiChat, Protocol, ReasoningEcho, TokenField};
use quillet::script::host::{self, ModelHandle, ModelSource};
use quillet::{Map, Value};
use serde_json::{Value as Json, json};

use crate::call_queue::CallQueue;
use crate::refusal::BindingError;

/// Capabilities of the model function. If it cannot enforce a format, scripts describe the format
/// in the prompt and validate the answer.
#[derive(Clone, Copy, Debug)]
pub struct Abilities(host::ModelCapabilities);

impl Default for Abilities {
    /// Accepts tools and may answer with tool calls.
    fn default() -> Self {
        Abilities(host::ModelCapabilities {
            tools: true,
            ..host::ModelCapabilities::default()
        })
    }
}

impl Abilities {
    /// Parses capability names.
    ///
    /// # Errors
    /// A name is unknown.
    pub fn named<T: AsRef<str>>(names: &[T]) -> Result<Self, BindingError> {
        let mut abilities = host::ModelCapabilities::default();
        for name in names {
            match name.as_ref() {
                "tools" => abilities.tools = true,
                "json_schema" => abilities.json_schema = true,
                "json_object" => abilities.json_object = true,
                "logit_bias" => abilities.logit_bias = true,
                "continues" => abilities.continues = true,
                other => {
                    let message = format!("unknown ability {other:?}");
                    let hint =
                        "abilities are tools, json_schema, json_object, logit_bias, continues";
                    return Err(BindingError::option(message, hint));
                }
            }
        }
        Ok(Abilities(abilities))
    }
}

/// Provider API whose format the requests use.
const WIRE: OpenAiChat = OpenAiChat {
    include_usage: false,
    token_field: TokenField::ByModel,
    echo: ReasoningEcho::InToolLoop,
    call_ids: CallIds::Any,
};

/// Resolves every model name to the function.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) board: CallQueue,
    pub(crate) abilities: Abilities,
}

impl ModelSource for Model {
    fn model(&self, name: Option<&str>) -> Result<ModelHandle, String> {
        Ok(ModelHandle {
            model: Arc::new(self.clone()),
            name: name.map(str::to_owned),
            abilities: self.abilities.0,
            counter: Arc::new(Bytes4),
            window: None,
        })
    }
}

impl ChatModel for Model {
    fn describe(&self) -> String {
        "a function of this program".to_owned()
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        Box::pin(async move {
            let (messages, options) = asked(&request)?;
            let answer = self.board.call(None, vec![messages], options).await;
            let answer = answer.map_err(|why| ModelError::new(ModelErrorKind::Provider, why))?;
            let mut events = Vec::new();
            let mut decoder = WIRE.decoder(request.model.as_deref().unwrap_or_default());
            let answer = completion(answer)?.to_string();
            let read = decoder.decode_body(answer.as_bytes(), &mut events);
            let read = read.and_then(|()| decoder.end(&mut events));
            read.map_err(|error| {
                let message = format!("invalid answer of the model: {error}");
                ModelError { message, ..error }
            })?;
            let events = events.into_iter().map(Ok);
            Ok(Box::pin(stream::iter(events)) as ChatStream)
        })
    }
}

/// The messages and the other request options.
fn asked(request: &ChatRequest) -> Result<(Value, Map), ModelError> {
    let mut body = WIRE.write(request.model.as_deref().unwrap_or_default(), request)?;
    let mut messages = Json::Null;
    if let Some(body) = body.as_object_mut() {
        // The function always returns a complete reply, so streaming options are removed.
        body.remove("stream");
        body.remove("stream_options");
        if request.model.is_none() {
            body.remove("model");
        }
        messages = body.remove("messages").unwrap_or_default();
    }
    let options = Value::from(body);
    Ok((
        messages.into(),
        options.as_map().cloned().unwrap_or_default(),
    ))
}

/// Converts the function's result to a complete chat completion.
fn completion(answer: Value) -> Result<Json, ModelError> {
    let kind = answer.kind();
    let message = match Json::from(&answer) {
        Json::String(text) => json!({"role": "assistant", "content": text}),
        Json::Object(given) if has_choices(&given) => return Ok(Json::Object(given)),
        Json::Object(given)
            if given.contains_key("content") || given.contains_key("tool_calls") =>
        {
            Json::Object(given)
        }
        _ => {
            let message = format!(
                "invalid answer of the model: {kind}; return a string, an assistant message with \
                 content or tool_calls, or a whole chat completion"
            );
            return Err(ModelError::new(ModelErrorKind::Protocol, message));
        }
    };
    let message = with_texts(message);
    let has_calls = message["tool_calls"]
        .as_array()
        .is_some_and(|calls| !calls.is_empty());
    let reason = if has_calls { "tool_calls" } else { "stop" };
    Ok(json!({"choices": [{"index": 0, "message": message, "finish_reason": reason}]}))
}

fn has_choices(given: &serde_json::Map<String, Json>) -> bool {
    let choices = given.get("choices").and_then(Json::as_array);
    choices.is_some_and(|choices| !choices.is_empty())
}

/// Converts call arguments from objects to JSON text, as the format requires.
fn with_texts(mut message: Json) -> Json {
    let calls = message.get_mut("tool_calls").and_then(Json::as_array_mut);
    for call in calls.into_iter().flatten() {
        if let Some(arguments) = call.pointer_mut("/function/arguments")
            && arguments.is_object()
        {
            *arguments = Json::String(arguments.to_string());
        }
    }
    message
}

#[cfg(test)]
mod tests {
    use quillet::core::json;

    use super::*;

    fn value(text: &str) -> Value {
        json::parse(text).unwrap()
    }

    #[test]
    fn answers_of_every_form_are_completions() {
        let message =
            r#"{"content":null,"tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]}"#;
        let cases = [
            (r#""Hi""#, "/choices/0/message/content", "Hi"),
            (r#"{"content":"Hi"}"#, "/choices/0/finish_reason", "stop"),
            (message, "/choices/0/finish_reason", "tool_calls"),
            (
                message,
                "/choices/0/message/tool_calls/0/function/arguments",
                r#"{"a":1}"#,
            ),
            (
                r#"{"choices":[{"x":"as it is"}]}"#,
                "/choices/0/x",
                "as it is",
            ),
        ];
        for (given, place, expected) in cases {
            let completion = completion(value(given)).unwrap();
            assert_eq!(
                completion.pointer(place),
                Some(&Json::from(expected)),
                "{given}"
            );
        }
        for given in [
            "1",
            "null",
            "[]",
            "{}",
            r#"{"role":"assistant"}"#,
            r#"{"choices":[]}"#,
        ] {
            let error = completion(value(given)).unwrap_err();
            assert!(error.message.contains("invalid answer"), "{given}: {error}");
        }
    }

    #[test]
    fn a_request_is_messages_and_what_else_it_says() {
        let mut request = ChatRequest::default();
        request.options.temperature = Some(0.5);
        let (messages, options) = asked(&request).unwrap();
        assert_eq!(json::to_string(&messages), "[]");
        assert_eq!(json::to_string(&options.into()), r#"{"temperature":0.5}"#);
    }
}
