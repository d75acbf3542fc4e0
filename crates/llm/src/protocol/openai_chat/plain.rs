//! Pieces of an answer that may be passed to clients as they are: as OpenAI itself writes them, so
//! that reading them and writing them again would give nothing but the same.
//!
//! One look checks all that the decoder would: that it is whole JSON with an id, a model and
//! a time, that each answer begins with its role and ends with a reason that fits, that calls
//! have ids, names and numbers in their order and texts for arguments, and what it cost. What
//! other servers do otherwise (reasoning under another name, calls without names, counts in
//! other places, errors) is not plain, and the decoder's.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, Visitor};

/// A chunk of a stream, or a whole answer.
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
    /// Groq's place for counts.
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

/// What is said: a piece of it, or all.
#[derive(Deserialize)]
pub(super) struct PlainDelta<'a> {
    #[serde(default)]
    pub(super) role: Option<&'a str>,
    /// Outer: whether it is there.
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
    /// Whether it says nothing in the way of other servers.
    pub(super) fn is_plain(&self) -> bool {
        self.other_reasoning.is_none()
            && self.reasoning_details.is_none()
            && self.function_call.is_none()
            && self.role.is_none_or(|role| role == "assistant")
    }

    pub(super) fn calls(&self) -> &[PlainCall<'_>] {
        self.tool_calls.as_deref().unwrap_or_default()
    }

    /// Whether it says a text that is not empty.
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
    /// What Google's endpoint for this wire wants back.
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
    /// Whether a call begins here, with all that belongs to it.
    pub(super) fn begins(&self) -> bool {
        let says = |text: Option<&str>| text.is_some_and(|text| !text.is_empty());
        says(self.id)
            && says(self.function.name)
            && self.kind == Some("function")
            && self.extra_content.is_none()
    }

    /// Whether it is only more of the arguments.
    pub(super) fn goes_on(&self) -> bool {
        self.id.is_none()
            && self.function.name.is_none()
            && self.kind.is_none_or(|kind| kind == "function")
            && self.extra_content.is_none()
    }
}

/// What an answer cost, in the places where OpenAI writes it.
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
    /// Whether all of it stands where OpenAI writes it, and adds up.
    pub(super) fn is_plain(&self) -> bool {
        let sum = self.prompt_tokens.checked_add(self.completion_tokens);
        let elsewhere = [self.deepseek, self.read, self.written, self.reasoning];
        sum == Some(self.total_tokens) && elsewhere.iter().all(Option::is_none)
    }
}

/// A count in a place of another server.
#[derive(Clone, Copy)]
struct ForeignCount;

impl<'de> Deserialize<'de> for ForeignCount {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(reader).map(|_| ForeignCount)
    }
}

/// A text, of which only its presence matters.
pub(super) struct TextPresence {
    pub(super) is_empty: bool,
}

impl<'de> Deserialize<'de> for TextPresence {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl Visitor<'_> for TextVisitor {
            type Value = TextPresence;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<TextPresence, E> {
                let is_empty = text.is_empty();
                Ok(TextPresence { is_empty })
            }
        }
        reader.deserialize_str(TextVisitor)
    }
}

/// A member that is there, and may be `null`.
fn there<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    reader: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(reader).map(Some)
}

/// Reads a piece; `None` where it is none of these.
pub(super) fn read(data: &[u8]) -> Option<PlainChunk<'_>> {
    // Texts that are skipped are not looked into, so that they are checked here.
    let piece: PlainChunk<'_> = serde_json::from_str(std::str::from_utf8(data).ok()?).ok()?;
    let is_told = !piece.id.is_empty() && !piece.model.is_empty() && piece.created > 0;
    let is_plain = piece.error.is_none()
        && piece.x_groq.is_none()
        && piece.usage.is_none_or(|tokens| tokens.is_plain());
    (is_told && is_plain).then_some(piece)
}

/// Whether this is the word for how such an answer ended.
pub(super) fn fits(reason: &str, has_calls: bool) -> bool {
    match reason {
        "stop" => !has_calls,
        "tool_calls" => has_calls,
        "length" | "content_filter" => true,
        _ => false,
    }
}
