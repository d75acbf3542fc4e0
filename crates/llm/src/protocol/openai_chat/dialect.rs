//! Differences between OpenAI's Chat Completions API and compatible servers in a few request
//! fields.

/// OpenAI's Chat Completions API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenAiChat {
    /// Whether to request token counts (`stream_options`). Default true; disable it for servers
    /// that reject unknown members.
    pub include_usage: bool,
    /// Name of the member for the token limit.
    pub token_field: TokenField,
    /// Which reasoning of earlier turns is sent back.
    pub echo: ReasoningEcho,
    /// Which call ids the server accepts.
    pub call_ids: CallIds,
}

/// Name of the member for the token limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TokenField {
    /// `max_completion_tokens` for OpenAI's reasoning models (`gpt-5…`, `gpt-6…`, `o1…`, `o3…`,
    /// `o4…`), which reject the other name; `max_tokens` for all other models.
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
    /// No reasoning, as OpenAI's own models require.
    Never,
    /// Reasoning of turns with calls after the last user message. Some versions of DeepSeek reject
    /// calls without it, and others reject it in any other turn.
    #[default]
    InToolLoop,
    /// All reasoning.
    Always,
}

/// Which call ids a server accepts. Other ids come from another provider and are replaced by a
/// digest, both in the call and in its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallIds {
    /// Any id that is not empty.
    #[default]
    Any,
    /// At most 40 bytes: OpenAI and Azure.
    Short,
    /// Exactly nine letters or digits: Mistral.
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
    /// Returns the dialect of the server at an address; `None` is OpenAI.
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

/// Returns the host of a base URL without its port.
fn host_of(base_url: &str) -> &str {
    let rest = base_url
        .split_once("://")
        .map_or(base_url, |(_, rest)| rest);
    let end = rest.find([':', '/', '?']).unwrap_or(rest.len());
    rest.get(..end).unwrap_or_default().trim()
}
