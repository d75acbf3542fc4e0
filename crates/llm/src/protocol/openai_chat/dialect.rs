//! What a server that speaks Chat Completions accepts: OpenAI's API and its copies differ in a few
//! request fields.

/// OpenAI's chat completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenAiChat {
    /// Whether to ask for token counts (`stream_options`). Default true; turn it
    /// off for servers that refuse what they do not know.
    pub include_usage: bool,
    /// Under which name the limit on tokens is sent.
    pub token_field: TokenField,
    /// Which reasoning of earlier turns is sent back.
    pub echo: ReasoningEcho,
    /// Which ids of calls the server takes.
    pub call_ids: CallIds,
}

/// Under which name the limit on tokens is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TokenField {
    /// `max_completion_tokens` for OpenAI's reasoning models (`gpt-5…`, `gpt-6…`, `o1…`,
    /// `o3…`, `o4…`), which refuse the other, and `max_tokens` for the rest.
    #[default]
    ByModel,
    /// `max_tokens`.
    MaxTokens,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
}

/// Which reasoning of earlier turns is sent back as `reasoning_content`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReasoningEcho {
    /// None. OpenAI's own models are never sent any.
    Never,
    /// That of turns that made calls after the last message of the user: some
    /// versions of DeepSeek refuse a call without it, others refuse it anywhere
    /// else.
    #[default]
    InToolLoop,
    /// All of it.
    Always,
}

/// Which ids of calls a server takes. Others, which come from another provider, are
/// replaced by a digest of themselves, alike in the call and in its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallIds {
    /// Any that is not empty.
    #[default]
    Any,
    /// At most 40 bytes: OpenAI and Azure.
    Short,
    /// Nine letters or digits: Mistral.
    Nine,
}

impl Default for OpenAiChat {
    fn default() -> Self {
        OpenAiChat {
            include_usage: true,
            token_field: TokenField::default(),
            echo: ReasoningEcho::default(),
            call_ids: CallIds::default(),
        }
    }
}

impl OpenAiChat {
    /// The wire as it is spoken at an address; `None` is OpenAI's own.
    #[must_use]
    pub fn at(base_url: Option<&str>) -> Self {
        let host = base_url.map_or("api.openai.com", host_of);
        let chat = OpenAiChat::default();
        if host == "api.openai.com" {
            return OpenAiChat {
                token_field: TokenField::MaxCompletionTokens,
                echo: ReasoningEcho::Never,
                call_ids: CallIds::Short,
                ..chat
            };
        }
        if host.ends_with(".openai.azure.com") {
            return OpenAiChat {
                echo: ReasoningEcho::Never,
                call_ids: CallIds::Short,
                ..chat
            };
        }
        if host == "api.mistral.ai" {
            return OpenAiChat {
                call_ids: CallIds::Nine,
                ..chat
            };
        }
        chat
    }
}

/// The host in a base URL, without its port.
fn host_of(base_url: &str) -> &str {
    let rest = base_url
        .split_once("://")
        .map_or(base_url, |(_, rest)| rest);
    let end = rest.find([':', '/', '?']).unwrap_or(rest.len());
    rest.get(..end).unwrap_or_default().trim()
}
