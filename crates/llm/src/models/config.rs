//! Connection settings for one model, which may come with a request.

use std::sync::Arc;
use std::time::Duration;

use quillet_core::chat::{ChatModel, ModelError};
use secrecy::{ExposeSecret, SecretString};

use super::detect::{DetectedProvider, Vendor, detect};
use crate::http::Http;
use crate::mock::Mock;
use crate::protocol::{Anthropic, Gemini, OpenAiChat, OpenAiResponses, Protocol};
use crate::provider::{Provider, ProviderConfig};
use crate::rate::RateLimits;
use crate::retry::{Retry, RetryPolicy};
use crate::timeouts::Timeouts;

/// Configuration of one model: its provider, key, address and options.
#[derive(Clone, Debug)]
pub struct ModelConfig {
    /// The provider's name for the model.
    pub model_id: String,
    /// An alias of the provider; see [`Vendor::of_alias`]. If it is not set, the model id
    /// determines the provider.
    pub model_type: Option<String>,
    /// The key. An empty key counts as missing, which is allowed only with a base URL.
    pub api_key: Option<SecretString>,
    /// The base URL, with or without the API version; `None` for the provider's own URL.
    pub base_url: Option<String>,
    /// `responses` selects OpenAI's Responses API.
    pub api_format: Option<String>,
    /// Additional headers.
    pub headers: Vec<(String, SecretString)>,
    /// Maximum silence before the first byte and between two chunks of an answer. Default 120 s.
    pub timeout: Duration,
    /// Maximum number of retries after a transient error. Default 3.
    pub max_retries: u32,
    /// Wait before the first retry; it doubles with each further retry. Default 1 s.
    pub retry_delay: Duration,
    /// Whether key and address came with the request, which affects error messages. Default true.
    pub by_request: bool,
}

impl Default for ModelConfig {
    fn default() -> Self {
        ModelConfig {
            model_id: String::new(),
            model_type: None,
            api_key: None,
            base_url: None,
            api_format: None,
            headers: Vec::new(),
            timeout: Duration::from_secs(120),
            max_retries: 3,
            retry_delay: Duration::from_secs(1),
            by_request: true,
        }
    }
}

impl ModelConfig {
    /// Returns the provider of the model.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_llm::models::{ModelConfig, Vendor};
    ///
    /// let config = ModelConfig {
    ///     model_id: "my-own".into(),
    ///     model_type: Some("claude".into()),
    ///     ..ModelConfig::default()
    /// };
    /// assert_eq!(config.detect().vendor, Vendor::Anthropic);
    /// ```
    #[must_use]
    pub fn detect(&self) -> DetectedProvider {
        let said = |text: &Option<String>| {
            text.as_deref()
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };
        let (kind, format) = (said(&self.model_type), said(&self.api_format));
        detect(kind.as_deref(), &self.model_id, format.as_deref())
    }

    /// Whether the configuration contains a key.
    pub(super) fn has_key(&self) -> bool {
        is_set(self.api_key.as_ref())
    }

    /// Whether the configuration contains an address.
    pub(super) fn has_address(&self) -> bool {
        self.base_url
            .as_ref()
            .is_some_and(|url| !url.trim().is_empty())
    }

    /// Creates the model with retries. Takes microseconds and does not connect.
    ///
    /// # Errors
    /// The base URL, the key or a header is invalid, or the address is not allowed.
    pub fn connect(&self, http: &Http) -> Result<Arc<dyn ChatModel>, ModelError> {
        self.connect_within(http, None)
    }

    /// Like [`ModelConfig::connect`], but within these rate limits.
    pub(super) fn connect_within(
        &self,
        http: &Http,
        rates: Option<&Arc<RateLimits>>,
    ) -> Result<Arc<dyn ChatModel>, ModelError> {
        let DetectedProvider { vendor, guessed } = self.detect();
        if guessed && !self.has_address() {
            let id = &self.model_id;
            tracing::warn!(
                target: "quillet::llm",
                "unknown provider of the model {id:?}: trying OpenAI; set model_type or base_url"
            );
        }
        let model: Arc<dyn ChatModel> = match vendor {
            Vendor::Mock => Arc::new(Mock),
            vendor => Arc::new(self.provider(vendor, http)?),
        };
        let model = match rates {
            Some(rates) => rates.wrap(model, vendor),
            None => model,
        };
        let policy = RetryPolicy::doubling(self.max_retries, self.retry_delay);
        Ok(Arc::new(Retry::new(model).policy(policy)))
    }

    fn provider(&self, vendor: Vendor, http: &Http) -> Result<Provider, ModelError> {
        let base_url = self.base_url.clone().filter(|_| self.has_address());
        let timeouts = Timeouts {
            first_byte: self.timeout,
            idle: self.timeout,
            total: self.timeout.max(Timeouts::default().total),
        };
        let protocol = protocol(vendor, base_url.as_deref());
        let config = ProviderConfig {
            base_url,
            api_key: self.api_key.clone(),
            model: Some(self.model_id.clone()),
            headers: self.headers.clone(),
            timeouts,
            by_request: self.by_request,
            ..ProviderConfig::default()
        };
        Provider::new(http.clone(), protocol, config)
    }
}

/// Whether the key is set and not empty.
pub(super) fn is_set(key: Option<&SecretString>) -> bool {
    key.is_some_and(|key| !key.expose_secret().trim().is_empty())
}

/// Returns the API that a vendor uses at this address. The mock has none, so OpenAI's is returned.
pub(super) fn protocol(vendor: Vendor, base_url: Option<&str>) -> Arc<dyn Protocol> {
    match vendor {
        Vendor::OpenAi | Vendor::Mock => Arc::new(OpenAiChat::at(base_url)),
        Vendor::OpenAiResponses => Arc::new(OpenAiResponses),
        Vendor::Anthropic => Arc::new(Anthropic),
        Vendor::Google => Arc::new(Gemini),
    }
}
