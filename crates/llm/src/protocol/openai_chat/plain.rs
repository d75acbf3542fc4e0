//! Chunks that may be passed to clients unchanged, because they have OpenAI's own format and
//! decoding and encoding would reproduce them.
//!
//! One pass checks everything the decoder would: valid JSON with an id, a model and a time; each
//! answer starts with its role and ends with a matching finish reason; calls have ids, names,
//! ordered numbers and text arguments; the usage is complete. Formats of other servers (reasoning
//! under another name, calls without names, counts in other members, errors) are left to the
//! decoder.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, Visitor};

/// A chunk of a stream, or a complete answer.
#[derive(Deserialize)]
pub(super) struct PlainChunk<'a> {
    pub(super) id: &'a str,
    pub(super) object: &'a str,
    pub(super) created: u64,
    pub(super) model: &'a str,
    #[serde(borrow)]
    pub(super) choices: Vec<PlainChoice<'a>>,
    #[serde(default)]
    pub(super) usage: Option<UsageFields>,
    #[serde(default)]
    pub(super) error: Option<IgnoredAny>,
    /// Usage in streams of Groq.
    #[serde(default)]
    pub(super) x_groq: Option<IgnoredAny>,
}

#[derive(Deserialize)]
pub(super) struct PlainChoice<'a> {
    pub(super) index: u32,
    #[serde(default, borrow)]
    pub(super) delta: Option<PlainDelta<'a>>,
    #[serde(default, borrow)]
    pub(super) message: Option<PlainDelta<'a>>,
    #[serde(default)]
    pub(super) finish_reason: Option<&'a str>,
    #[serde(default)]
    pub(super) error: Option<IgnoredAny>,
}

/// Content of a chunk, or of a complete answer.
#[derive(Deserialize)]
pub(super) struct PlainDelta<'a> {
    #[serde(default)]
    pub(super) role: Option<&'a str>,
    /// The outer option tells whether the member is present.
    #[serde(default, deserialize_with = "there")]
    pub(super) content: Option<Option<TextPresence>>,
    #[serde(default)]
    pub(super) refusal: Option<TextPresence>,
    #[serde(default, rename = "reasoning_content")]
    _reasoning: Option<TextPresence>,
    #[serde(default, borrow)]
    pub(super) tool_calls: Option<Vec<PlainCall<'a>>>,
    #[serde(default, rename = "reasoning")]
    other_reasoning: Option<IgnoredAny>,
    #[serde(default)]
    reasoning_details: Option<IgnoredAny>,
    #[serde(default)]
    function_call: Option<IgnoredAny>,
}

impl PlainDelta<'_> {
    /// Whether it lacks all members that only other servers send.
    pub(super) fn is_plain(&self) -> bool {
        self.other_reasoning.is_none()
            && self.reasoning_details.is_none()
            && self.function_call.is_none()
            && self.role.is_none_or(|role| role == "assistant")
    }

    pub(super) fn calls(&self) -> &[PlainCall<'_>] {
        self.tool_calls.as_deref().unwrap_or_default()
    }

    /// Whether it contains a refusal that is not empty.
    pub(super) fn refuses(&self) -> bool {
        self.refusal.as_ref().is_some_and(|said| !said.is_empty)
    }
}

#[derive(Deserialize)]
pub(super) struct PlainCall<'a> {
    #[serde(default)]
    pub(super) index: Option<u32>,
    #[serde(default)]
    pub(super) id: Option<&'a str>,
    #[serde(default, rename = "type")]
    pub(super) kind: Option<&'a str>,
    pub(super) function: PlainFunction<'a>,
    /// Data that Google's compatible endpoint expects back.
    #[serde(default)]
    pub(super) extra_content: Option<IgnoredAny>,
}

#[derive(Deserialize)]
pub(super) struct PlainFunction<'a> {
    #[serde(default)]
    pub(super) name: Option<&'a str>,
    #[serde(rename = "arguments")]
    _arguments: TextPresence,
}

impl PlainCall<'_> {
    /// Whether this is the complete start of a call.
    pub(super) fn begins(&self) -> bool {
        let says = |text: Option<&str>| text.is_some_and(|text| !text.is_empty());
        says(self.id)
            && says(self.function.name)
            && self.kind == Some("function")
            && self.extra_content.is_none()
    }

    /// Whether this only continues the arguments.
    pub(super) fn goes_on(&self) -> bool {
        self.id.is_none()
            && self.function.name.is_none()
            && self.kind.is_none_or(|kind| kind == "function")
            && self.extra_content.is_none()
    }
}

/// Usage in OpenAI's format.
#[derive(Clone, Copy, Deserialize)]
pub(super) struct UsageFields {
    pub(super) prompt_tokens: u64,
    pub(super) completion_tokens: u64,
    pub(super) total_tokens: u64,
    #[serde(default)]
    pub(super) prompt_tokens_details: Option<PromptTokensDetails>,
    #[serde(default)]
    pub(super) completion_tokens_details: Option<Output>,
    #[serde(default, rename = "prompt_cache_hit_tokens")]
    deepseek: Option<ForeignCount>,
    #[serde(default, rename = "cache_read_input_tokens")]
    read: Option<ForeignCount>,
    #[serde(default, rename = "cache_creation_input_tokens")]
    written: Option<ForeignCount>,
    #[serde(default, rename = "reasoning_tokens")]
    reasoning: Option<ForeignCount>,
}

#[derive(Clone, Copy, Deserialize)]
pub(super) struct PromptTokensDetails {
    #[serde(default)]
    pub(super) cached_tokens: Option<u64>,
    #[serde(default)]
    pub(super) cache_write_tokens: Option<u64>,
}

#[derive(Clone, Copy, Deserialize)]
pub(super) struct Output {
    #[serde(default)]
    pub(super) reasoning_tokens: Option<u64>,
}

impl UsageFields {
    /// Whether only OpenAI's members are present, and the total is correct.
    pub(super) fn is_plain(&self) -> bool {
        let sum = self.prompt_tokens.checked_add(self.completion_tokens);
        let elsewhere = [self.deepseek, self.read, self.written, self.reasoning];
        sum == Some(self.total_tokens) && elsewhere.iter().all(Option::is_none)
    }
}

/// A count in a member of another server.
#[derive(Clone, Copy)]
struct ForeignCount;

impl<'de> Deserialize<'de> for ForeignCount {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(reader).map(|_| ForeignCount)
    }
}

/// A text that is only checked for being empty.
pub(super) struct TextPresence {
    pub(super) is_empty: bool,
}

impl<'de> Deserialize<'de> for TextPresence {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl Visitor<'_> for TextVisitor {
            type Value = TextPresence;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<TextPresence, E> {
                let is_empty = text.is_empty();
                Ok(TextPresence { is_empty })
            }
        }
        reader.deserialize_str(TextVisitor)
    }
}

/// Deserializes a member that may be `null` into `Some`.
fn there<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    reader: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(reader).map(Some)
}

/// Parses a chunk; `None` if it has another format.
pub(super) fn read(data: &[u8]) -> Option<PlainChunk<'_>> {
    // The parser does not validate skipped strings, so UTF-8 is checked here.
    let piece: PlainChunk<'_> = serde_json::from_str(std::str::from_utf8(data).ok()?).ok()?;
    let is_told = !piece.id.is_empty() && !piece.model.is_empty() && piece.created > 0;
    let is_plain = piece.error.is_none()
        && piece.x_groq.is_none()
        && piece.usage.is_none_or(|tokens| tokens.is_plain());
    (is_told && is_plain).then_some(piece)
}

/// Whether this finish reason is correct for an answer with or without calls.
pub(super) fn fits(reason: &str, has_calls: bool) -> bool {
    match reason {
        "stop" => !has_calls,
        "tool_calls" => has_calls,
        "length" | "content_filter" => true,
        _ => false,
    }
}
