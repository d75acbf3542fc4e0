//! The router to many models: the name that a request asks for says which provider answers, with
//! the keys of the settings.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use quillet_core::BoxFuture;
use quillet_core::chat::{
    ChatModel, ChatRequest, ChatStream, ModelError, ModelErrorKind, WireRequest, WireStream,
};
use secrecy::SecretString;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::config::{ModelConfig, is_set, protocol};
use super::deprecation::today;
use super::deprecation_warnings::WarnedModels;
use super::detect::{Vendor, detect};
use super::table::ModelFacts;
use crate::http::Http;
use crate::mock::Mock;
use crate::protocol::{OpenAiChat, Protocol};
use crate::provider::{Provider, ProviderConfig};
use crate::rate::RateLimits;
use crate::retry::{Retry, RetryNotice, RetryPolicy};
use crate::spending::{BudgetedModel, PricedModel, Spending};
use crate::timeouts::Timeouts;

/// The observer of every retry.
pub type RetryObserver = Arc<dyn Fn(&RetryNotice) + Send + Sync>;

/// Keys and addresses of all providers.
#[derive(Clone, Default)]
pub struct ModelSettings {
    /// OpenAI, and the one server that speaks its wire, if the base URL names one.
    pub openai: VendorSettings,
    /// Anthropic.
    pub anthropic: VendorSettings,
    /// Google.
    pub google: VendorSettings,
    /// The model of requests that name none.
    pub default_model: Option<String>,
    /// `responses`: OpenAI's models are asked over its newer wire.
    pub api_format: Option<String>,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// Whether OpenAI's chat wire asks for what a streamed answer cost; `None` is yes. Some servers
    /// that copied it refuse the member `stream_options`.
    pub include_usage: Option<bool>,
    /// When to ask again.
    pub retries: RetryPolicy,
    /// The observer of retries.
    pub observer: Option<RetryObserver>,
    /// How often providers and models are asked at most. What a request reaches with a key or an
    /// address of its own does not count.
    pub rates: Option<Arc<RateLimits>>,
    /// What may be spent. A model that a request reaches with a key or an address of its own counts
    /// for its run, and for no day.
    pub spending: Option<Arc<Spending>>,
    /// What is known of models; `None` is what this program knows.
    pub facts: Option<ModelFacts>,
    /// The connections.
    pub http: Http,
}

/// Settings of one provider: key, address, headers.
#[derive(Clone, Debug, Default)]
pub struct VendorSettings {
    /// Its key.
    pub api_key: Option<SecretString>,
    /// Its address, where it is not its own one.
    pub base_url: Option<String>,
    /// Headers besides the wire's own.
    pub headers: Vec<(String, SecretString)>,
}

impl VendorSettings {
    /// Whether there is something to reach it with.
    fn is_set(&self) -> bool {
        is_set(self.api_key.as_ref()) || self.base_url.is_some()
    }
}

/// Shows no key and no header.
impl fmt::Debug for ModelSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelSettings")
            .field("default_model", &self.default_model)
            .finish_non_exhaustive()
    }
}

/// Routes requests to many models. A request's `model` says which:
/// - `provider/model`, where the provider is an alias (`anthropic/claude-…`);
/// - else the beginning of its name (`claude-…`, `gpt-…`, `gemini-…`, `mock`);
/// - else it is OpenAI's, or the server's that OpenAI's base URL names.
///
/// A provider without key and address gives way to such a server, which gets the whole
/// name: gateways call their models `anthropic/claude-…` too.
pub struct ModelRouter {
    openai: Arc<dyn ChatModel>,
    responses: Arc<dyn ChatModel>,
    anthropic: Arc<dyn ChatModel>,
    google: Arc<dyn ChatModel>,
    mock: Arc<dyn ChatModel>,
    settings: ModelSettings,
    /// What servers said that they have.
    listed: Mutex<Option<ModelListCache>>,
    /// Models of whose end the log has a line.
    told: WarnedModels,
}

/// Names of models, and when they were asked for.
struct ModelListCache {
    at: Instant,
    names: Vec<(String, Vendor)>,
}

impl ModelRouter {
    /// Makes the clients; connects to nothing yet. Keys may be missing: whoever asks such a
    /// provider gets an error that names the one to set.
    ///
    /// # Errors
    /// A base URL, key or header that cannot be sent.
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

    /// A model that a request describes itself, over the same connections. One that
    /// brings neither key nor address is reached with those of the settings; an address
    /// of the request's own never gets a key of theirs.
    ///
    /// # Errors
    /// As [`ModelConfig::connect`].
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

    /// The model within the budgets of whoever asks it.
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

    /// What may be spent, if that is kept.
    #[must_use]
    pub fn spending(&self) -> Option<&Arc<Spending>> {
        self.settings.spending.as_ref()
    }

    /// How often providers and models are asked at most, if that is limited.
    #[must_use]
    pub fn rates(&self) -> Option<&Arc<RateLimits>> {
        self.settings.rates.as_ref()
    }

    /// What is known of models.
    #[must_use]
    pub fn facts(&self) -> &ModelFacts {
        let own = self.settings.facts.as_ref();
        own.unwrap_or_else(|| ModelFacts::built_in())
    }

    /// The model of requests that name none.
    #[must_use]
    pub fn default_model(&self) -> Option<&str> {
        self.settings.default_model.as_deref()
    }

    /// The providers that have a key or an address.
    #[must_use]
    pub fn configured(&self) -> Vec<Vendor> {
        let vendors = [Vendor::OpenAi, Vendor::Anthropic, Vendor::Google];
        let is_set = |vendor: &Vendor| self.settings.of(*vendor).is_set();
        vendors.into_iter().filter(is_set).collect()
    }

    /// Known names of models of the providers that have a key or an address, sorted, without those
    /// that have ended.
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

    /// Names of models that can be asked, each with its provider, sorted by provider: those that
    /// are known of providers at their own address, else what the server at the address says that
    /// it has. Its answer is cached for a minute.
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
                // A server that speaks OpenAI's wire need not have OpenAI's models.
                Err(_) if vendor == Vendor::OpenAi => Vec::new(),
                Err(_) => named(known().collect()),
            },
            _ => named(known().collect()),
        }
    }

    /// The provider of a model's name, and the name that is sent to it.
    #[must_use]
    pub fn choose<'a>(&self, model: &'a str) -> (Vendor, &'a str) {
        let format = self.settings.api_format.as_deref();
        // Others write a colon, which stands in names as well: `llama3:8b`.
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

    /// A provider of these settings, without retries; nothing connects yet.
    ///
    /// # Errors
    /// None that [`ModelRouter::new`] had not; the mock has no provider.
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
        request.model = Some(name.to_owned());
        let client = self.client(vendor);
        // Without limits nothing is reserved, so an unlimited request costs no tokenization.
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
        // Most models have no end date; they need neither the clock nor the lock.
        if facts.ends.is_none() {
            return;
        }
        if let Some(ending) = self.told.first(name, &facts, today()) {
            tracing::warn!(target: "quillet::llm", "{ending}");
        }
    }

    /// Message of the error for a request without a model.
    fn no_model_message(&self) -> String {
        let mend = "no model is named: name one in the request, or set QUILLET_MODEL or model.name";
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

/// Shows no key and no header.
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
        // The body is passed on as it is, so the name in it has to be the one that the provider
        // knows.
        if request.model.as_deref() != Some(name) {
            return None;
        }
        // What an answer cost is in its events only.
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
