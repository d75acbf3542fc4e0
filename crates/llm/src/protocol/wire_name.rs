//! Names of the provider APIs, as [`quillet_core::NativeTurn::wire`] stores them.

/// Anthropic's Messages API.
pub(super) const ANTHROPIC: &str = "anthropic";

/// Gemini's `generateContent`.
pub(super) const GEMINI: &str = "gemini";

/// OpenAI's Chat Completions.
pub(super) const OPENAI_CHAT: &str = "openai-chat";

/// OpenAI's Responses.
pub(super) const OPENAI_RESPONSES: &str = "openai-responses";
