//! A client's body that a server of this wire can be sent as it is: looked through once, with
//! nothing kept but what has to be known of it.
//!
//! Only what the reader and the writer of this wire would give back as it came is taken.
//! Everything else (pictures, reasoning of earlier turns, members that this wire's own
//! provider does not have, `null`, a member twice, and whatever is wrong) goes their way,
//! which says what is wrong with it.

use std::borrow::Cow;
use std::fmt;

use quillet_core::chat::WireRequest;
use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::write::sends_completion_tokens;
use super::{CallIds, OpenAiChat, WIRE};

/// Ids of calls that every server but Mistral's takes; see [`CallIds`].
const LONGEST_ID: usize = 40;

/// Reads a body of this wire; `None` where it cannot be passed on as it is.
#[must_use]
pub fn read_wire(body: &[u8]) -> Option<WireRequest> {
    // Texts that are skipped are not looked into, so that they are checked here.
    let asked: Body<'_> = serde_json::from_str(std::str::from_utf8(body).ok()?).ok()?;
    let token_limit = match (asked.max_tokens, asked.max_completion_tokens) {
        (None, None) => None,
        (Some(_), None) => Some("max_tokens"),
        (None, Some(_)) => Some("max_completion_tokens"),
        (Some(_), Some(_)) => return None,
    };
    Some(WireRequest {
        wire: WIRE,
        body: body.to_vec(),
        model: Some(asked.model.into_owned()),
        stream: asked.stream,
        asks_usage: asked.stream_options.is_some(),
        has_calls: asked.messages.0.iter().any(|message| message.is_of_calls),
        token_limit,
    })
}

/// The body that a server gets: the client's, with what the writer would say besides.
pub(super) fn body(wire: &OpenAiChat, model: &str, request: &WireRequest) -> Option<Vec<u8>> {
    if request.wire != WIRE || request.model.as_deref() != Some(model) {
        return None;
    }
    let limit = if sends_completion_tokens(wire.token_field, model) {
        "max_completion_tokens"
    } else {
        "max_tokens"
    };
    if request.token_limit.is_some_and(|name| name != limit) {
        return None;
    }
    if request.has_calls && wire.call_ids == CallIds::Nine {
        return None;
    }
    // The writer asks for usage only in a stream, and only providers that take the question.
    if request.asks_usage && !(request.streams() && wire.include_usage) {
        return None;
    }
    let mut added = String::new();
    if request.stream.is_none() {
        added.push_str("\"stream\":false,");
    }
    if request.streams() && wire.include_usage && !request.asks_usage {
        added.push_str("\"stream_options\":{\"include_usage\":true},");
    }
    let from = request.body.iter().position(|byte| *byte == b'{')? + 1;
    let (open, rest) = request.body.split_at_checked(from)?;
    Some([open, added.as_bytes(), rest].concat())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body<'a> {
    #[serde(borrow)]
    model: Cow<'a, str>,
    messages: Many<Message>,
    #[serde(default, deserialize_with = "given")]
    stream: Option<bool>,
    #[serde(default, deserialize_with = "given")]
    stream_options: Option<UsageWish>,
    #[serde(default, deserialize_with = "given")]
    max_tokens: Option<u64>,
    #[serde(default, deserialize_with = "given")]
    max_completion_tokens: Option<u64>,
    #[serde(default, rename = "temperature", deserialize_with = "given")]
    _temperature: Option<f64>,
    #[serde(default, rename = "top_p", deserialize_with = "given")]
    _top_p: Option<f64>,
    #[serde(default, rename = "frequency_penalty", deserialize_with = "given")]
    _frequency_penalty: Option<f64>,
    #[serde(default, rename = "presence_penalty", deserialize_with = "given")]
    _presence_penalty: Option<f64>,
    #[serde(default, rename = "n", deserialize_with = "given")]
    _n: Option<u32>,
    #[serde(default, rename = "user", deserialize_with = "given")]
    _user: Option<Said>,
    #[serde(default, rename = "reasoning_effort", deserialize_with = "given")]
    _reasoning_effort: Option<Said>,
    #[serde(default, rename = "parallel_tool_calls", deserialize_with = "given")]
    _parallel_tool_calls: Option<bool>,
    #[serde(default, rename = "tools", deserialize_with = "given")]
    _tools: Option<Many<Tool>>,
    #[serde(default, rename = "tool_choice")]
    _tool_choice: Something,
    #[serde(default, rename = "stop")]
    _stop: Something,
    #[serde(default, rename = "response_format")]
    _response_format: Something,
    #[serde(default, rename = "seed")]
    _seed: Something,
    #[serde(default, rename = "logit_bias")]
    _logit_bias: Something,
    #[serde(default, rename = "logprobs")]
    _logprobs: Something,
    #[serde(default, rename = "top_logprobs")]
    _top_logprobs: Something,
    #[serde(default, rename = "metadata")]
    _metadata: Something,
    #[serde(default, rename = "store")]
    _store: Something,
    #[serde(default, rename = "service_tier")]
    _service_tier: Something,
    #[serde(default, rename = "safety_identifier")]
    _safety_identifier: Something,
    #[serde(default, rename = "prompt_cache_key")]
    _prompt_cache_key: Something,
    #[serde(default, rename = "verbosity")]
    _verbosity: Something,
}

/// `{"include_usage": true}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, try_from = "Wishes")]
struct UsageWish;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wishes {
    include_usage: bool,
}

impl TryFrom<Wishes> for UsageWish {
    type Error = &'static str;

    fn try_from(wishes: Wishes) -> Result<Self, &'static str> {
        wishes.include_usage.then_some(UsageWish).ok_or("no wish")
    }
}

/// A message that is written as it was read.
#[derive(Deserialize)]
#[serde(try_from = "RawMessage")]
struct Message {
    /// Whether ids of calls are in it.
    is_of_calls: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMessage<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    content: Content,
    #[serde(default, rename = "name", deserialize_with = "given")]
    _name: Option<Said>,
    #[serde(default, deserialize_with = "given")]
    tool_calls: Option<Many<Call>>,
    #[serde(default, deserialize_with = "given")]
    tool_call_id: Option<CallId>,
}

impl TryFrom<RawMessage<'_>> for Message {
    type Error = &'static str;

    fn try_from(raw: RawMessage<'_>) -> Result<Self, &'static str> {
        let calls = raw.tool_calls.is_some();
        let result = raw.tool_call_id.is_some();
        let is_plain = match (&*raw.role, raw.content) {
            ("system" | "developer" | "user", Content::Text { .. }) => !calls && !result,
            ("assistant", Content::Text { is_empty }) => !(result || calls && is_empty),
            ("assistant", Content::Nothing) => calls && !result,
            ("tool", Content::Text { .. }) => result && !calls,
            _ => false,
        };
        let is_of_calls = calls || result;
        is_plain.then_some(Message { is_of_calls }).ok_or("odd")
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    #[serde(rename = "id")]
    _id: CallId,
    #[serde(rename = "type")]
    _kind: IsFunction,
    #[serde(rename = "function")]
    _function: Function,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Function {
    #[serde(rename = "name")]
    _name: Said,
    #[serde(rename = "arguments")]
    _arguments: NotBlank,
}

/// A function that is offered.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tool {
    #[serde(rename = "type")]
    _kind: IsFunction,
    #[serde(rename = "function")]
    _function: Offer,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Offer {
    #[serde(rename = "name")]
    _name: Said,
    #[serde(default, rename = "description", deserialize_with = "given")]
    _description: Option<NotBlank>,
    #[serde(default, rename = "parameters")]
    _parameters: Something,
    #[serde(default, rename = "strict", deserialize_with = "given")]
    _strict: Option<bool>,
}

/// A member that may be left out, and is not `null`.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(reader: D) -> Result<Option<T>, D::Error> {
    T::deserialize(reader).map(Some)
}

/// A text of which nothing is kept.
struct Said;
/// The same, with something in it.
struct NotBlank;
/// The id of a call that most servers take.
struct CallId;
/// The text `function`.
struct IsFunction;

/// Reads a text that has to be of a kind.
struct Text<F>(F);

impl<'de, T, F: FnOnce(&str) -> Option<T>> Visitor<'de> for Text<F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a plain text")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.0)(text).ok_or_else(|| E::custom("odd"))
    }
}

impl<'de> Deserialize<'de> for Said {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_str(Text(|_: &str| Some(Said)))
    }
}

impl<'de> Deserialize<'de> for NotBlank {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_str(Text(|text: &str| {
            (!text.trim().is_empty()).then_some(NotBlank)
        }))
    }
}

impl<'de> Deserialize<'de> for CallId {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_str(Text(|id: &str| {
            (1..=LONGEST_ID).contains(&id.len()).then_some(CallId)
        }))
    }
}

impl<'de> Deserialize<'de> for IsFunction {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_str(Text(|kind: &str| {
            (kind == "function").then_some(IsFunction)
        }))
    }
}

/// What a message says: a text, or nothing where it only makes calls.
enum Content {
    Text { is_empty: bool },
    Nothing,
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct Shape;
        impl<'de> Visitor<'de> for Shape {
            type Value = Content;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Content, E> {
                let is_empty = text.is_empty();
                Ok(Content::Text { is_empty })
            }

            fn visit_unit<E: de::Error>(self) -> Result<Content, E> {
                Ok(Content::Nothing)
            }
        }
        reader.deserialize_any(Shape)
    }
}

/// Anything but `null`, which servers and this program take for nothing.
#[derive(Default)]
struct Something;

impl<'de> Deserialize<'de> for Something {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct Shape;
        impl<'de> Visitor<'de> for Shape {
            type Value = Something;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything but null")
            }

            fn visit_bool<E: de::Error>(self, _: bool) -> Result<Something, E> {
                Ok(Something)
            }

            fn visit_u64<E: de::Error>(self, _: u64) -> Result<Something, E> {
                Ok(Something)
            }

            fn visit_i64<E: de::Error>(self, _: i64) -> Result<Something, E> {
                Ok(Something)
            }

            fn visit_f64<E: de::Error>(self, _: f64) -> Result<Something, E> {
                Ok(Something)
            }

            fn visit_str<E: de::Error>(self, _: &str) -> Result<Something, E> {
                Ok(Something)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Something, A::Error> {
                while items.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Something)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Something, A::Error> {
                while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Something)
            }
        }
        reader.deserialize_any(Shape)
    }
}

/// A list with something in it.
struct Many<T>(Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Many<T> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let items = Vec::<T>::deserialize(reader)?;
        if items.is_empty() {
            Err(de::Error::custom("odd"))
        } else {
            Ok(Many(items))
        }
    }
}
