//! The provider APIs that the server implements, and their request paths.

/// One of the four provider APIs, each with its own request and response format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProviderApi {
    /// `POST …/chat/completions`
    OpenAiChat,
    /// `POST …/responses`
    OpenAiResponses,
    /// `POST …/messages`
    Anthropic,
    /// `POST …/models/MODEL:streamGenerateContent` and `:generateContent`
    Gemini,
}

impl ProviderApi {
    /// All provider APIs.
    pub const ALL: [ProviderApi; 4] = [
        ProviderApi::OpenAiChat,
        ProviderApi::OpenAiResponses,
        ProviderApi::Anthropic,
        ProviderApi::Gemini,
    ];

    /// Returns the name used in `conformance/providers` and in settings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ProviderApi::OpenAiChat => "openai-chat",
            ProviderApi::OpenAiResponses => "openai-responses",
            ProviderApi::Anthropic => "anthropic",
            ProviderApi::Gemini => "gemini",
        }
    }

    /// Returns the API that a request path belongs to.
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        if gemini_target(path).is_some() {
            return Some(ProviderApi::Gemini);
        }
        [
            ("/chat/completions", ProviderApi::OpenAiChat),
            ("/responses", ProviderApi::OpenAiResponses),
            ("/messages", ProviderApi::Anthropic),
        ]
        .into_iter()
        .find_map(|(end, wire)| path.ends_with(end).then_some(wire))
    }
}

/// Returns the model, and whether a stream is requested, if the path belongs to Gemini's API.
///
/// Gemini names both in the path; the other APIs name them in the body.
pub(crate) fn gemini_target(path: &str) -> Option<(&str, bool)> {
    let (_, target) = path.rsplit_once("/models/")?;
    match target.rsplit_once(':')? {
        (model, "streamGenerateContent") => Some((model, true)),
        (model, "generateContent") => Some((model, false)),
        _ => None,
    }
}
