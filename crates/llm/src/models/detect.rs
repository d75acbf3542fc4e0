//! Detects the provider of a model: by an alias, then by the prefix of the model id. Otherwise
//! OpenAI's API is assumed, because most servers are compatible with it.

/// A provider and its API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Vendor {
    /// OpenAI's Chat Completions API and compatible servers.
    OpenAi,
    /// OpenAI's Responses API.
    OpenAiResponses,
    /// Anthropic's Messages API.
    Anthropic,
    /// Google's Gemini API.
    Google,
    /// The mock of this crate.
    Mock,
}

/// Aliases of `model_type`, and of the part before the slash in `provider/model`.
const ALIASES: [(&str, Vendor); 8] = [
    ("openai", Vendor::OpenAi),
    ("gpt", Vendor::OpenAi),
    ("anthropic", Vendor::Anthropic),
    ("claude", Vendor::Anthropic),
    ("google", Vendor::Google),
    ("gemini", Vendor::Google),
    ("mock", Vendor::Mock),
    ("openai-responses", Vendor::OpenAiResponses),
];

/// Prefixes of model ids. `o1` and `o3` are also ids by themselves; `o4` only exists with a suffix
/// such as `o4-mini`.
const PREFIXES: [(&str, Vendor); 8] = [
    ("gpt-", Vendor::OpenAi),
    ("o1-", Vendor::OpenAi),
    ("o3-", Vendor::OpenAi),
    ("o4-", Vendor::OpenAi),
    ("chatgpt-", Vendor::OpenAi),
    ("claude-", Vendor::Anthropic),
    ("gemini-", Vendor::Google),
    ("mock-", Vendor::Mock),
];

/// Complete model ids.
const IDS: [(&str, Vendor); 3] = [
    ("o1", Vendor::OpenAi),
    ("o3", Vendor::OpenAi),
    ("mock", Vendor::Mock),
];

impl Vendor {
    /// Returns the provider for an alias, ignoring case.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_llm::models::Vendor;
    ///
    /// assert_eq!(Vendor::of_alias("Claude"), Some(Vendor::Anthropic));
    /// assert_eq!(Vendor::of_alias("house"), None);
    /// ```
    #[must_use]
    pub fn of_alias(alias: &str) -> Option<Self> {
        let alias = alias.trim().to_lowercase();
        let found = ALIASES.iter().find(|(name, _)| *name == alias);
        found.map(|(_, vendor)| *vendor)
    }

    /// Returns the provider for the prefix of a model id, if it is known.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_llm::models::Vendor;
    ///
    /// assert_eq!(Vendor::of_model("gemini-2.5-pro"), Some(Vendor::Google));
    /// assert_eq!(Vendor::of_model("my-own"), None);
    /// ```
    #[must_use]
    pub fn of_model(id: &str) -> Option<Self> {
        let id = id.trim().to_lowercase();
        let whole = IDS.iter().find(|(name, _)| *name == id);
        let begun = || PREFIXES.iter().find(|(prefix, _)| id.starts_with(prefix));
        whole.or_else(begun).map(|(_, vendor)| *vendor)
    }

    /// Name in settings and traces.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Vendor::OpenAi | Vendor::OpenAiResponses => "openai",
            Vendor::Anthropic => "anthropic",
            Vendor::Google => "google",
            Vendor::Mock => "mock",
        }
    }

    /// Name of the environment variable that contains the API key; `None` for the mock.
    #[must_use]
    pub fn key_variable(self) -> Option<&'static str> {
        match self {
            Vendor::OpenAi | Vendor::OpenAiResponses => Some("OPENAI_API_KEY"),
            Vendor::Anthropic => Some("ANTHROPIC_API_KEY"),
            Vendor::Google => Some("GOOGLE_API_KEY"),
            Vendor::Mock => None,
        }
    }
}

/// Detected provider of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DetectedProvider {
    /// The provider.
    pub vendor: Vendor,
    /// Whether the provider is unknown and OpenAI's API is only assumed.
    pub guessed: bool,
}

/// Detects the provider of a model from `model_type` (an alias, ignoring case) or its id; otherwise
/// OpenAI's API is assumed. An `api_format` of `responses` selects OpenAI's Responses API.
///
/// # Examples
///
/// ```
/// use quillet_llm::models::{Vendor, detect};
///
/// let found = detect(None, "claude-opus-4-5", None);
/// assert_eq!((found.vendor, found.guessed), (Vendor::Anthropic, false));
///
/// let found = detect(None, "my-own", Some("responses"));
/// assert_eq!((found.vendor, found.guessed), (Vendor::OpenAiResponses, true));
/// ```
#[must_use]
pub fn detect(
    model_type: Option<&str>,
    model_id: &str,
    api_format: Option<&str>,
) -> DetectedProvider {
    let said = model_type.and_then(Vendor::of_alias);
    let said = said.or_else(|| Vendor::of_model(model_id));
    let responses = api_format.is_some_and(|format| format.eq_ignore_ascii_case("responses"));
    let vendor = match said.unwrap_or(Vendor::OpenAi) {
        Vendor::OpenAi if responses => Vendor::OpenAiResponses,
        vendor => vendor,
    };
    DetectedProvider {
        vendor,
        guessed: said.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_comes_before_the_id_and_the_id_before_the_guess() {
        use Vendor::{Anthropic, Google, Mock, OpenAi};
        for (kind, id, vendor, guessed) in [
            // Aliases and id prefixes as in Chat Shell.
            ("", "gemini-2.0-flash", Google, false),
            ("openai", "claude-3-5-sonnet", OpenAi, false),
            ("gpt", "x", OpenAi, false),
            ("Claude", "x", Anthropic, false),
            ("ANTHROPIC", "x", Anthropic, false),
            ("google", "x", Google, false),
            ("gemini", "gpt-4o", Google, false),
            ("", "gpt-4o", OpenAi, false),
            ("", "o1-preview", OpenAi, false),
            ("", "o1", OpenAi, false),
            ("", "o3", OpenAi, false),
            ("", "o3-mini", OpenAi, false),
            ("", "o4-mini", OpenAi, false),
            ("", "chatgpt-4o-latest", OpenAi, false),
            ("", "Claude-3-opus", Anthropic, false),
            ("", "mock", Mock, false),
            ("", "mock-slow", Mock, false),
            ("", "mockingbird", OpenAi, true),
            ("", "o1x", OpenAi, true),
            ("", "deepseek-chat", OpenAi, true),
            ("deepseek", "deepseek-chat", OpenAi, true),
            ("deepseek", "claude-3-opus", Anthropic, false),
            ("", "", OpenAi, true),
        ] {
            let found = detect(Some(kind).filter(|kind| !kind.is_empty()), id, None);
            assert_eq!(found, DetectedProvider { vendor, guessed }, "{kind} {id}");
        }
    }

    #[test]
    fn the_api_format_switches_openai_only() {
        for (id, format, vendor) in [
            ("gpt-5", "responses", Vendor::OpenAiResponses),
            ("gpt-5", "Responses", Vendor::OpenAiResponses),
            ("gpt-5", "chat", Vendor::OpenAi),
            ("unheard-of", "responses", Vendor::OpenAiResponses),
            ("claude-opus-4", "responses", Vendor::Anthropic),
        ] {
            assert_eq!(
                detect(None, id, Some(format)).vendor,
                vendor,
                "{id} {format}"
            );
        }
    }
}
