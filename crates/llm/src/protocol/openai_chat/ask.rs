//! Request bodies that can be passed to a server unchanged. The body is parsed once, and only the
//! necessary properties are extracted.
//!
//! Pass-through requires that decoding and encoding would reproduce the body. Every other body
//! (with images, reasoning of earlier turns, members that OpenAI does not have, `null`, duplicate
//! members or errors) takes the normal path, which also reports errors.

use std::borrow::Cow;
use std::fmt;

use quillet_core::chat::WireRequest;
use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::dialect::{CallIds, OpenAiChat};
use super::write::sends_completion_tokens;
use crate::protocol::wire_name::OPENAI_CHAT as WIRE;

/// Maximum length of call ids that every server except Mistral's accepts; see [`CallIds`].
// OpenAI and Azure accept ids of at most this length. The encoder replaces longer ids, so such a
// request cannot be passed through.
const LONGEST_ID: usize = 40;

/// Parses a request body; `None` if it cannot be passed through.
#[must_use]
pub fn read_wire(body: &[u8]) -> Option<WireRequest> {
    // The parser does not validate skipped strings, so UTF-8 is checked here.
    let asked: ChatRequestBody<'_> = serde_json::from_str(std::str::from_utf8(body).ok()?).ok()?;
    let token_limit = match (asked.max_tokens, asked.max_completion_tokens) {
        (None, None) => None,
        (Some(_), None) => Some("max_tokens"),
        (None, Some(_)) => Some("max_completion_tokens"),
        // The decoder would drop one of the two fields, so the bodies would differ.
        (Some(_), Some(_)) => return None,
    };
    let refusable = [
        ("temperature", asked.temperature.is_some()),
        ("top_p", asked.top_p.is_some()),
        ("presence_penalty", asked.presence_penalty.is_some()),
        ("frequency_penalty", asked.frequency_penalty.is_some()),
        ("stop", asked.stop.is_some()),
        ("logit_bias", asked.logit_bias.is_some()),
        ("logprobs", asked.logprobs.is_some()),
        ("top_logprobs", asked.top_logprobs.is_some()),
    ];
    let refusable = refusable.into_iter().filter(|(_, is_set)| *is_set);
    Some(WireRequest {
        wire: WIRE,
        body: body.to_vec(),
        model: Some(asked.model.into_owned()),
        stream: asked.stream,
        asks_usage: asked.stream_options.is_some(),
        has_calls: asked.messages.0.iter().any(|message| message.is_of_calls),
        token_limit,
        refusable: refusable.map(|(name, _)| name).collect(),
    })
}

/// Returns the body to send: the client's body with the members that the encoder would add.
pub(super) fn body(wire: &OpenAiChat, model: &str, request: &WireRequest) -> Option<Vec<u8>> {
    if request.wire != WIRE || request.model.as_deref() != Some(model) {
        return None;
    }
    let limit = if sends_completion_tokens(wire.token_field, model) {
        "max_completion_tokens"
    } else {
        "max_tokens"
    };
    // OpenAI's reasoning models reject `max_tokens`, and many compatible servers do not support
    // `max_completion_tokens`.
    if request.token_limit.is_some_and(|name| name != limit) {
        return None;
    }
    // Mistral accepts only ids of nine characters, so ids must be rewritten.
    if request.has_calls && wire.call_ids == CallIds::Nine {
        return None;
    }
    // The encoder requests usage only in streams, and only from providers that support the option.
    if request.asks_usage && !(request.streams() && wire.include_usage) {
        return None;
    }
    let mut added = String::new();
    if request.stream.is_none() {
        // Some servers stream by default. The encoder always sends `stream`, so pass-through must
        // send it too.
        added.push_str("\"stream\":false,");
    }
    if request.streams() && wire.include_usage && !request.asks_usage {
        added.push_str("\"stream_options\":{\"include_usage\":true},");
    }
    // The members are inserted at the start, where a comma always follows, because the body is an
    // object with at least one member. At the end, a comma would not always be needed.
    let from = request.body.iter().position(|byte| *byte == b'{')? + 1;
    let (open, rest) = request.body.split_at_checked(from)?;
    Some([open, added.as_bytes(), rest].concat())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
// Unknown members prevent pass-through. They may be harmless, but the normal path handles them
// correctly, so the list need not be complete.
struct ChatRequestBody<'a> {
    #[serde(borrow)]
    model: Cow<'a, str>,
    messages: NonEmptyList<MessageCheck>,
    #[serde(default, deserialize_with = "given")]
    stream: Option<bool>,
    #[serde(default, deserialize_with = "given")]
    stream_options: Option<StreamOptions>,
    #[serde(default, deserialize_with = "given")]
    max_tokens: Option<u64>,
    #[serde(default, deserialize_with = "given")]
    max_completion_tokens: Option<u64>,
    #[serde(default, deserialize_with = "given")]
    temperature: Option<f64>,
    #[serde(default, deserialize_with = "given")]
    top_p: Option<f64>,
    #[serde(default, deserialize_with = "given")]
    frequency_penalty: Option<f64>,
    #[serde(default, deserialize_with = "given")]
    presence_penalty: Option<f64>,
    #[serde(default, rename = "n", deserialize_with = "given")]
    _n: Option<u32>,
    #[serde(default, rename = "user", deserialize_with = "given")]
    _user: Option<IgnoredText>,
    #[serde(default, rename = "reasoning_effort", deserialize_with = "given")]
    _reasoning_effort: Option<IgnoredText>,
    #[serde(default, rename = "parallel_tool_calls", deserialize_with = "given")]
    _parallel_tool_calls: Option<bool>,
    #[serde(default, rename = "tools", deserialize_with = "given")]
    _tools: Option<NonEmptyList<Tool>>,
    #[serde(default, rename = "tool_choice")]
    _tool_choice: AnyValue,
    #[serde(default, deserialize_with = "given")]
    stop: Option<AnyValue>,
    #[serde(default, rename = "response_format")]
    _response_format: AnyValue,
    #[serde(default, rename = "seed")]
    _seed: AnyValue,
    #[serde(default, deserialize_with = "given")]
    logit_bias: Option<AnyValue>,
    #[serde(default, deserialize_with = "given")]
    logprobs: Option<AnyValue>,
    #[serde(default, deserialize_with = "given")]
    top_logprobs: Option<AnyValue>,
    #[serde(default, rename = "metadata")]
    _metadata: AnyValue,
    #[serde(default, rename = "store")]
    _store: AnyValue,
    #[serde(default, rename = "service_tier")]
    _service_tier: AnyValue,
    #[serde(default, rename = "safety_identifier")]
    _safety_identifier: AnyValue,
    #[serde(default, rename = "prompt_cache_key")]
    _prompt_cache_key: AnyValue,
    #[serde(default, rename = "verbosity")]
    _verbosity: AnyValue,
}

/// `{"include_usage": true}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, try_from = "StreamOptionsCheck")]
struct StreamOptions;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StreamOptionsCheck {
    include_usage: bool,
}

impl TryFrom<StreamOptionsCheck> for StreamOptions {
    type Error = &'static str;

    fn try_from(wishes: StreamOptionsCheck) -> Result<Self, &'static str> {
        wishes
            .include_usage
            .then_some(StreamOptions)
            .ok_or("no wish")
    }
}

/// A message that encoding would reproduce.
#[derive(Deserialize)]
#[serde(try_from = "RawMessage")]
struct MessageCheck {
    /// Whether the message contains call ids.
    is_of_calls: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMessage<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    content: ContentCheck,
    #[serde(default, rename = "name", deserialize_with = "given")]
    _name: Option<IgnoredText>,
    #[serde(default, deserialize_with = "given")]
    tool_calls: Option<NonEmptyList<ToolCallCheck>>,
    #[serde(default, deserialize_with = "given")]
    tool_call_id: Option<CallId>,
}

impl TryFrom<RawMessage<'_>> for MessageCheck {
    type Error = &'static str;

    fn try_from(raw: RawMessage<'_>) -> Result<Self, &'static str> {
        let calls = raw.tool_calls.is_some();
        let result = raw.tool_call_id.is_some();
        let is_plain = match (&*raw.role, raw.content) {
            ("system" | "developer" | "user", ContentCheck::Text { .. }) => !calls && !result,
            // The encoder writes `null` instead of an empty text next to calls.
            ("assistant", ContentCheck::Text { is_empty }) => !(result || calls && is_empty),
            ("assistant", ContentCheck::Nothing) => calls && !result,
            ("tool", ContentCheck::Text { .. }) => result && !calls,
            _ => false,
        };
        let is_of_calls = calls || result;
        is_plain
            .then_some(MessageCheck { is_of_calls })
            .ok_or("odd")
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolCallCheck {
    #[serde(rename = "id")]
    _id: CallId,
    #[serde(rename = "type")]
    _kind: IsFunction,
    #[serde(rename = "function")]
    _function: FunctionCheck,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FunctionCheck {
    #[serde(rename = "name")]
    _name: IgnoredText,
    #[serde(rename = "arguments")]
    _arguments: NotBlank,
}

/// An offered function.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tool {
    #[serde(rename = "type")]
    _kind: IsFunction,
    #[serde(rename = "function")]
    _function: ToolCheck,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolCheck {
    #[serde(rename = "name")]
    _name: IgnoredText,
    #[serde(default, rename = "description", deserialize_with = "given")]
    _description: Option<NotBlank>,
    #[serde(default, rename = "parameters")]
    _parameters: AnyValue,
    #[serde(default, rename = "strict", deserialize_with = "given")]
    _strict: Option<bool>,
}

/// Deserializes a member that may be omitted but must not be `null`.
// A plain `Option` would accept `null`, which the encoder omits.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(reader: D) -> Result<Option<T>, D::Error> {
    T::deserialize(reader).map(Some)
}

/// A text whose content is ignored.
struct IgnoredText;
/// A text that must not be empty.
struct NotBlank;
/// A call id of acceptable length.
struct CallId;
/// The text `function`.
struct IsFunction;

/// Deserializes a text that satisfies a condition.
struct TextVisitor<F>(F);

impl<'de, T, F: FnOnce(&str) -> Option<T>> Visitor<'de> for TextVisitor<F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a plain text")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.0)(text).ok_or_else(|| E::custom("odd"))
    }
}

impl<'de> Deserialize<'de> for IgnoredText {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_str(TextVisitor(|_: &str| Some(IgnoredText)))
    }
}

impl<'de> Deserialize<'de> for NotBlank {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_str(TextVisitor(|text: &str| {
            (!text.trim().is_empty()).then_some(NotBlank)
        }))
    }
}

impl<'de> Deserialize<'de> for CallId {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_str(TextVisitor(|id: &str| {
            (1..=LONGEST_ID).contains(&id.len()).then_some(CallId)
        }))
    }
}

impl<'de> Deserialize<'de> for IsFunction {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_str(TextVisitor(|kind: &str| {
            (kind == "function").then_some(IsFunction)
        }))
    }
}

/// Content of a message: a text, or `null` in a message with only calls.
enum ContentCheck {
    Text { is_empty: bool },
    Nothing,
}

impl<'de> Deserialize<'de> for ContentCheck {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct ContentVisitor;
        impl<'de> Visitor<'de> for ContentVisitor {
            type Value = ContentCheck;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ContentCheck, E> {
                let is_empty = text.is_empty();
                Ok(ContentCheck::Text { is_empty })
            }

            fn visit_unit<E: de::Error>(self) -> Result<ContentCheck, E> {
                Ok(ContentCheck::Nothing)
            }
        }
        reader.deserialize_any(ContentVisitor)
    }
}

/// Any value but `null`, which is equivalent to a missing member.
#[derive(Default)]
struct AnyValue;

impl<'de> Deserialize<'de> for AnyValue {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct AnyValueVisitor;
        impl<'de> Visitor<'de> for AnyValueVisitor {
            type Value = AnyValue;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything but null")
            }

            fn visit_bool<E: de::Error>(self, _: bool) -> Result<AnyValue, E> {
                Ok(AnyValue)
            }

            fn visit_u64<E: de::Error>(self, _: u64) -> Result<AnyValue, E> {
                Ok(AnyValue)
            }

            fn visit_i64<E: de::Error>(self, _: i64) -> Result<AnyValue, E> {
                Ok(AnyValue)
            }

            fn visit_f64<E: de::Error>(self, _: f64) -> Result<AnyValue, E> {
                Ok(AnyValue)
            }

            fn visit_str<E: de::Error>(self, _: &str) -> Result<AnyValue, E> {
                Ok(AnyValue)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<AnyValue, A::Error> {
                while items.next_element::<IgnoredAny>()?.is_some() {}
                Ok(AnyValue)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<AnyValue, A::Error> {
                while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(AnyValue)
            }
        }
        reader.deserialize_any(AnyValueVisitor)
    }
}

/// A list with at least one item.
struct NonEmptyList<T>(Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for NonEmptyList<T> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let items = Vec::<T>::deserialize(reader)?;
        if items.is_empty() {
            Err(de::Error::custom("odd"))
        } else {
            Ok(NonEmptyList(items))
        }
    }
}
