//! Routes requests to the providers of many models, by the name of the requested model and with the
//! keys from the settings.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use quillet_core::BoxFuture;
use quillet_core::chat::{
    ChatModel, ChatOptions, ChatRequest, ChatStream, ModelError, ModelErrorKind, WireRequest,
    WireStream,
};
use secrecy::SecretString;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::config::{ModelConfig, is_set, protocol};
use super::deprecation::today;
use super::deprecation_warnings::WarnedModels;
use super::detect::{Vendor, detect};
use super::refusals::RefusedParameters;
use super::table::ModelFacts;
use crate::http::Http;
use crate::mock::Mock;
use crate::protocol::{OpenAiChat, Protocol};
use crate::provider::{Provider, ProviderConfig};
use crate::rate::RateLimits;
use crate::retry::{Retry, RetryNotice, RetryPolicy};
use crate::spending::{BudgetedModel, PricedModel, Spending};
use crate::timeouts::Timeouts;

/// Observer of retries.
pub type RetryObserver = Arc<dyn Fn(&RetryNotice) + Send + Sync>;

/// Keys, addresses and options of all providers.
#[derive(Clone, Default)]
pub struct ModelSettings {
    /// OpenAI, or the compatible server at its base URL.
    pub openai: VendorSettings,
    /// Anthropic.
    pub anthropic: VendorSettings,
    /// Google.
    pub google: VendorSettings,
    /// Default model for requests that do not set one.
    pub default_model: Option<String>,
    /// `responses` selects OpenAI's Responses API for its models.
    pub api_format: Option<String>,
    /// Timeouts of calls.
    pub timeouts: Timeouts,
    /// Whether the Chat Completions API requests the usage of streamed answers; `None` means yes.
    /// Some compatible servers reject the member `stream_options`.
    pub include_usage: Option<bool>,
    /// Retry policy.
    pub retries: RetryPolicy,
    /// The observer of retries.
    pub observer: Option<RetryObserver>,
    /// Rate limits of providers and models. Models that a request reaches with its own key or
    /// address are exempt.
    pub rates: Option<Arc<RateLimits>>,
    /// Budgets. A model that a request reaches with its own key or address counts toward the budget
    /// of the run but not toward daily budgets.
    pub spending: Option<Arc<Spending>>,
    /// Model info; `None` for the built-in table.
    pub facts: Option<ModelFacts>,
    /// Connection pool.
    pub http: Http,
}

/// Settings of one provider: key, address and headers.
#[derive(Clone, Debug, Default)]
pub struct VendorSettings {
    /// API key.
    pub api_key: Option<SecretString>,
    /// Base URL, unless it is the provider's own.
    pub base_url: Option<String>,
    /// Additional headers.
    pub headers: Vec<(String, SecretString)>,
}

impl VendorSettings {
    /// Whether a key or a base URL is set.
    fn is_set(&self) -> bool {
        is_set(self.api_key.as_ref()) || self.base_url.is_some()
    }
}

/// Omits keys and headers.
impl fmt::Debug for ModelSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelSettings")
            .field("default_model", &self.default_model)
            .finish_non_exhaustive()
    }
}

/// Routes requests to many models. The `model` of a request determines the provider:
/// - `provider/model`: the provider with this alias (`anthropic/claude-…`);
/// - a known prefix (`claude-…`, `gpt-…`, `gemini-…`, `mock`): its provider;
/// - any other name: OpenAI, or the server at OpenAI's base URL.
///
/// If the provider has neither key nor address and OpenAI's base URL is set, that server receives
/// the request with the full name, because gateways also use names such as `anthropic/claude-…`.
pub struct ModelRouter {
    openai: Arc<dyn ChatModel>,
    responses: Arc<dyn ChatModel>,
    anthropic: Arc<dyn ChatModel>,
    google: Arc<dyn ChatModel>,
    mock: Arc<dyn ChatModel>,
    settings: ModelSettings,
    /// Cached model lists of servers.
    listed: Mutex<Option<ModelListCache>>,
    /// Models whose deprecation or refused parameters were logged.
    told: WarnedModels,
}

/// Names of models, with the time of the request for them.
struct ModelListCache {
    at: Instant,
    names: Vec<(String, Vendor)>,
}

impl ModelRouter {
    /// Creates the clients without connecting. Keys may be missing: a request to a provider without
    /// a key fails with an error that names the missing setting.
    ///
    /// # Errors
    /// A base URL, a key or a header is invalid.
    pub fn new(settings: ModelSettings) -> Result<Self, ModelError> {
        let client = |vendor| -> Result<Arc<dyn ChatModel>, ModelError> {
            Ok(settings.with_retries(vendor, Arc::new(settings.provider(vendor)?)))
        };
        Ok(ModelRouter {
            openai: client(Vendor::OpenAi)?,
            responses: client(Vendor::OpenAiResponses)?,
            anthropic: client(Vendor::Anthropic)?,
            google: client(Vendor::Google)?,
            mock: settings.with_retries(Vendor::Mock, Arc::new(Mock)),
            settings,
            listed: Mutex::default(),
            told: WarnedModels::default(),
        })
    }

    /// Creates a model with the configuration that a request contains. It shares the connections of
    /// this router. If the request specifies neither a key nor an address, those of the settings
    /// are used. A key from the settings is never sent to an address that the request specifies.
    ///
    /// # Errors
    /// Same as [`ModelConfig::connect`].
    pub fn connect(&self, config: &ModelConfig) -> Result<Arc<dyn ChatModel>, ModelError> {
        let http = &self.settings.http;
        if config.has_key() || config.has_address() {
            return Ok(self.budgeted(config.connect(http)?, config, true));
        }
        let ours = self.settings.of(config.detect().vendor);
        let mut headers = ours.headers.clone();
        headers.extend(config.headers.iter().cloned());
        let filled = ModelConfig {
            api_key: ours.api_key.clone(),
            base_url: ours.base_url.clone(),
            headers,
            by_request: false,
            ..config.clone()
        };
        let model = filled.connect_within(http, self.settings.rates.as_ref())?;
        Ok(self.budgeted(model, config, false))
    }

    /// Wraps the model with the budgets of the caller.
    fn budgeted(
        &self,
        model: Arc<dyn ChatModel>,
        config: &ModelConfig,
        own_key: bool,
    ) -> Arc<dyn ChatModel> {
        let Some(spending) = self.settings.spending.clone() else {
            return model;
        };
        let name = config.model_id.as_str();
        let asked = self.priced_model(config.detect().vendor, name, own_key);
        Arc::new(BudgetedModel {
            model,
            spending,
            asked,
        })
    }

    pub(crate) fn priced_model(&self, vendor: Vendor, name: &str, own_key: bool) -> PricedModel {
        PricedModel {
            name: name.to_owned(),
            vendor,
            facts: self.facts().find(name),
            own_key,
        }
    }

    /// Returns the budgets, if any are set.
    #[must_use]
    pub fn spending(&self) -> Option<&Arc<Spending>> {
        self.settings.spending.as_ref()
    }

    /// Returns the rate limits, if any are set.
    #[must_use]
    pub fn rates(&self) -> Option<&Arc<RateLimits>> {
        self.settings.rates.as_ref()
    }

    /// Returns the table of known models.
    #[must_use]
    pub fn facts(&self) -> &ModelFacts {
        let own = self.settings.facts.as_ref();
        own.unwrap_or_else(|| ModelFacts::built_in())
    }

    /// Returns the default model for requests that do not set one.
    #[must_use]
    pub fn default_model(&self) -> Option<&str> {
        self.settings.default_model.as_deref()
    }

    /// Returns the providers with a key or an address.
    #[must_use]
    pub fn configured(&self) -> Vec<Vendor> {
        let vendors = [Vendor::OpenAi, Vendor::Anthropic, Vendor::Google];
        let is_set = |vendor: &Vendor| self.settings.of(*vendor).is_set();
        vendors.into_iter().filter(is_set).collect()
    }

    /// Returns the sorted names of known models whose provider has a key or an address. Omits
    /// models that have been shut down.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let configured = self.configured();
        let is_there =
            |name: &&str| Vendor::of_model(name).is_some_and(|vendor| configured.contains(&vendor));
        let names = self.facts().names(today());
        names
            .into_iter()
            .filter(is_there)
            .map(str::to_owned)
            .collect()
    }

    /// Returns the names of available models and their providers, sorted by provider. A provider at
    /// its own address is represented by the known models; any other server is asked for its list,
    /// which is cached for a minute.
    pub async fn list(&self) -> Vec<(String, Vendor)> {
        const KEPT: Duration = Duration::from_secs(60);
        let mut kept = self.listed.lock().await;
        if let Some(listed) = &*kept
            && listed.at.elapsed() < KEPT
        {
            return listed.names.clone();
        }
        let asked = self
            .configured()
            .into_iter()
            .map(|vendor| self.list_of(vendor));
        let names = futures_util::future::join_all(asked).await.concat();
        *kept = Some(ModelListCache {
            at: Instant::now(),
            names: names.clone(),
        });
        names
    }

    async fn list_of(&self, vendor: Vendor) -> Vec<(String, Vendor)> {
        let known = || {
            let names = self.names().into_iter();
            names.filter(|name| Vendor::of_model(name) == Some(vendor))
        };
        let named = |names: Vec<String>| names.into_iter().map(|name| (name, vendor)).collect();
        match self.settings.provider(vendor) {
            Ok(provider) if !provider.is_at_home() => match provider.list().await {
                Ok(names) => named(names),
                // A server with an OpenAI-compatible API need not offer OpenAI's models.
                Err(_) if vendor == Vendor::OpenAi => Vec::new(),
                Err(_) => named(known().collect()),
            },
            _ => named(known().collect()),
        }
    }

    /// Returns the provider for a model name, and the name to send to it.
    #[must_use]
    pub fn choose<'a>(&self, model: &'a str) -> (Vendor, &'a str) {
        let format = self.settings.api_format.as_deref();
        // Other programs use a colon, which also occurs inside names: `llama3:8b`.
        let parts = model
            .split_once('/')
            .into_iter()
            .chain(model.split_once(':'));
        let mut parts =
            parts.filter(|(alias, name)| Vendor::of_alias(alias).is_some() && !name.is_empty());
        let (kind, name) = match parts.next() {
            Some((alias, name)) => (Some(alias), name),
            None => (None, model),
        };
        let vendor = detect(kind, name, format).vendor;
        let is_there = vendor == Vendor::Mock || self.settings.of(vendor).is_set();
        match &self.settings.openai.base_url {
            Some(_) if !is_there => (detect(Some("openai"), model, format).vendor, model),
            _ => (vendor, name),
        }
    }

    /// Creates a provider with these settings, without retries and without connecting.
    ///
    /// # Errors
    /// The mock has no provider; other errors are already reported by [`ModelRouter::new`].
    pub fn provider(&self, vendor: Vendor) -> Result<Provider, ModelError> {
        self.settings.provider(vendor)
    }

    fn client(&self, vendor: Vendor) -> &dyn ChatModel {
        match vendor {
            Vendor::OpenAi => &*self.openai,
            Vendor::OpenAiResponses => &*self.responses,
            Vendor::Anthropic => &*self.anthropic,
            Vendor::Google => &*self.google,
            Vendor::Mock => &*self.mock,
        }
    }

    async fn ask(&self, mut request: ChatRequest) -> Result<ChatStream, ModelError> {
        let named = request.model.take().filter(|model| !model.is_empty());
        let Some(model) = named.or_else(|| self.settings.default_model.clone()) else {
            return Err(ModelError::new(
                ModelErrorKind::Configuration,
                self.no_model_message(),
            ));
        };
        let (vendor, name) = self.choose(&model);
        self.warn_deprecated(name);
        self.warn_refused(name, &request.options);
        request.model = Some(name.to_owned());
        let client = self.client(vendor);
        // Without limits there is nothing to reserve, so an unlimited request is never tokenized.
        let answer = match self.spending().filter(|spending| spending.limits()) {
            Some(spending) => {
                let asked = self.priced_model(vendor, name, false);
                spending.ask(client, request, &asked).await
            }
            None => client.stream(request).await,
        };
        answer.map_err(|error| self.explain_default_provider(error, &model, name))
    }

    /// Logs a warning, once, that the requested model is deprecated.
    fn warn_deprecated(&self, name: &str) {
        let facts = self.facts().find(name);
        // Most models have no end date, so they need neither the clock nor the lock.
        if facts.ends.is_none() {
            return;
        }
        if let Some(ending) = self.told.first(name, &facts, today()) {
            tracing::warn!(target: "quillet::llm", "{ending}");
        }
    }

    /// Logs a warning, once per model and parameter, that the model refuses parameters of a request.
    pub(crate) fn warn_refused(&self, name: &str, options: &ChatOptions) {
        let Some(refused) = RefusedParameters::of(name, options) else {
            return;
        };
        if self.told.first_refusal(&self.facts().find(name), &refused) {
            tracing::warn!(target: "quillet::llm", "{refused}");
        }
    }

    /// Message of the error for a request without a model.
    fn no_model_message(&self) -> String {
        let mend = "no model is set: set one in the request, or set QUILLET_MODEL or model.name";
        if self.configured().is_empty() {
            format!(
                "{mend}; there is no API key either: set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or model.base_url, or use the model mock"
            )
        } else {
            mend.to_owned()
        }
    }

    /// Explains that OpenAI was only the default provider for an unknown model name.
    fn explain_default_provider(
        &self,
        mut error: ModelError,
        model: &str,
        name: &str,
    ) -> ModelError {
        let asked_for = matches!(
            error.kind,
            ModelErrorKind::Auth | ModelErrorKind::ModelNotFound
        );
        let guessed = detect(None, name, None).guessed && name == model;
        if asked_for && guessed && self.settings.openai.base_url.is_none() {
            let near = self.facts().nearest(model);
            let near = near.map_or_else(String::new, |near| format!("did you mean {near}? "));
            error.message = format!(
                "{near}unknown provider of the model {model:?}, so the request went to OpenAI: prefix it with anthropic/ or google/, or set OPENAI_BASE_URL to its server; {}",
                error.message
            );
        }
        error
    }
}

impl ModelSettings {
    fn of(&self, vendor: Vendor) -> &VendorSettings {
        match vendor {
            Vendor::OpenAi | Vendor::OpenAiResponses | Vendor::Mock => &self.openai,
            Vendor::Anthropic => &self.anthropic,
            Vendor::Google => &self.google,
        }
    }

    fn provider(&self, vendor: Vendor) -> Result<Provider, ModelError> {
        let settings = self.of(vendor).clone();
        let base_url = settings.base_url.as_deref();
        let protocol: Arc<dyn Protocol> = match vendor {
            Vendor::OpenAi => Arc::new(OpenAiChat {
                include_usage: self.include_usage.unwrap_or(true),
                ..OpenAiChat::at(base_url)
            }),
            vendor => protocol(vendor, base_url),
        };
        let config = ProviderConfig {
            base_url: settings.base_url,
            api_key: settings.api_key,
            model: None,
            headers: settings.headers,
            timeouts: self.timeouts,
            ..ProviderConfig::default()
        };
        Provider::new(self.http.clone(), protocol, config)
    }

    /// Rate limiting is inside the retries, because the provider counts each retry as a request.
    fn with_retries(&self, vendor: Vendor, model: Arc<dyn ChatModel>) -> Arc<dyn ChatModel> {
        let model = match &self.rates {
            Some(rates) => rates.wrap(model, vendor),
            None => model,
        };
        let retry = Retry::new(model).policy(self.retries.clone());
        match self.observer.clone() {
            Some(observer) => Arc::new(retry.observe(move |notice| observer(notice))),
            None => Arc::new(retry),
        }
    }
}

/// Omits keys and headers.
impl fmt::Debug for ModelRouter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Models")
            .field("configured", &self.configured())
            .field("default_model", &self.settings.default_model)
            .finish_non_exhaustive()
    }
}

impl ChatModel for ModelRouter {
    fn describe(&self) -> String {
        let vendors = self.configured().into_iter();
        let mut names: Vec<String> = vendors
            .map(|vendor| self.client(vendor).describe())
            .collect();
        match self.default_model() {
            Some(model) if names.is_empty() || self.choose(model).0 == Vendor::Mock => {
                names.insert(0, model.to_owned());
            }
            None if names.is_empty() => return "no provider".to_owned(),
            _ => {}
        }
        names.join(", ")
    }

    fn is_configured(&self) -> bool {
        self.default_model().is_some() || !self.configured().is_empty()
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        Box::pin(self.ask(request))
    }

    fn pass<'a>(
        &'a self,
        request: &'a WireRequest,
    ) -> Option<BoxFuture<'a, Result<WireStream, ModelError>>> {
        let named = request.model.as_deref().filter(|model| !model.is_empty());
        let model = named.or(self.default_model())?;
        let (vendor, name) = self.choose(model);
        // The body is passed through unchanged, so it must contain the provider's own name for the
        // model.
        if request.model.as_deref() != Some(name) {
            return None;
        }
        // The usage is only available in decoded events.
        if self.spending().is_some_and(|spending| spending.limits()) {
            return None;
        }
        let asking = self.client(vendor).pass(request)?;
        self.warn_deprecated(name);
        Some(Box::pin(async move {
            let answer = asking.await;
            answer.map_err(|error| self.explain_default_provider(error, model, name))
        }))
    }
}
