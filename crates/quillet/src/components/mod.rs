//! Creates single components from settings: store, tools, models and prompts here; agents, scripts,
//! databases and traces in the modules. [`Host`](crate::Host) contains all components.

pub mod agents;
pub mod batches;
mod budgets;
#[cfg(feature = "sql")]
pub mod databases;
#[cfg(not(feature = "sql"))]
#[path = "databases_disabled.rs"]
pub mod databases;
#[cfg(all(test, feature = "server", feature = "sql"))]
mod defaults;
#[cfg(feature = "sql")]
pub mod demo_shop;
pub mod disk;
pub mod recording;
pub mod scripts;
#[cfg(feature = "server")]
pub mod serving;
pub mod traces;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quillet_core::chat::ChatModel;
use quillet_core::knowledge::Embedder;
use quillet_core::store::{EntryKey, Store};
use quillet_core::{BoxFuture, Value, clock};
use quillet_host::definitions::DefinitionOptions;
use quillet_host::script::StoredScripts;
use quillet_llm::models::{ModelRouter, ModelSettings, VendorSettings};
use quillet_llm::{
    EmbedderConfig, Http, HttpOptions, OpenAiEmbedder, Rate, RateLimits, Spending, Timeouts,
};
use quillet_prompt::{Catalogue, PromptService, ServiceOptions, Variables};
use quillet_store::StoreOptions;
use quillet_template::{CompileLimits, RenderLimits, TemplateFactory};
use quillet_tools::{ModuleUrls, Tools};

use crate::components::disk::DiskEnvironmentProvider;
use crate::components::recording::RecordReplay;
use crate::error::Error;
use crate::settings::{self, Settings};

/// Returns a unique id made of the time, the process id and a counter.
#[must_use]
pub fn new_id() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = clock::since_epoch();
    // If two ids have the same clock time, their counters differ. The counter guards no other
    // memory, so relaxed ordering is enough.
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{:x}-{:x}-{count:x}", now.as_nanos(), std::process::id())
}

/// Opens the configured store.
///
/// # Errors
/// No store is configured, or it cannot be opened.
pub async fn store(settings: &Settings) -> Result<Arc<dyn Store>, Error> {
    match optional_store(settings).await? {
        Some(store) => Ok(store),
        None => Err(Error::setting(
            "no store is set: pass --store dir:PATH or --store redis://HOST, or set QUILLET_STORE, REDIS_URL or store.url".into(),
        )),
    }
}

/// Opens the configured store; returns `None` if none is configured.
///
/// # Errors
/// The store cannot be opened.
pub async fn optional_store(settings: &Settings) -> Result<Option<Arc<dyn Store>>, Error> {
    match settings.text(&settings::STORE_URL) {
        Some(url) => Ok(Some(
            quillet_store::open(url, &store_options(settings)).await?,
        )),
        None => Ok(None),
    }
}

/// Returns the options for opening stores.
#[must_use]
pub fn store_options(settings: &Settings) -> StoreOptions {
    StoreOptions {
        prefix: settings.text(&settings::STORE_PREFIX).map(str::to_owned),
        ca_file: settings.text(&settings::STORE_CA).map(Into::into),
        insecure: settings.is_on(&settings::STORE_INSECURE),
        connect_timeout: settings.milliseconds(&settings::STORE_CONNECT_MS),
        response_timeout: settings.milliseconds(&settings::STORE_RESPONSE_MS),
        max_versions: settings.size(&settings::STORE_MAX_VERSIONS),
        ..StoreOptions::default()
    }
}

/// Creates the builder of tools, which also finds modules registered as shared variables.
///
/// # Errors
/// A setting of the tools is invalid.
pub fn tools(settings: &Settings, variables: Arc<Variables>) -> Result<Arc<Tools>, Error> {
    let tools = Tools::new(settings.tools()?)
        .map_err(|error| Error::setting_from(error.to_string(), error))?;
    tools.find_modules_with(Arc::new(SharedModules(variables)));
    Ok(Arc::new(tools))
}

/// Modules that other programs registered: the shared variable
/// `modules:<module>`, field `url`. Cached like every shared variable, so an
/// address outlives an outage of the store.
#[derive(Debug)]
struct SharedModules(Arc<Variables>);

impl ModuleUrls for SharedModules {
    fn base_url<'a>(&'a self, module: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            let key = EntryKey::new(format!("modules:{module}"));
            // An unavailable store counts as an unknown module.
            let value = self.0.stored(key).await.ok()??;
            value
                .get_path(&["url"])
                .and_then(Value::as_str)
                .map(str::to_owned)
        })
    }
}

/// Creates the catalogue of the definitions of a store.
///
/// # Errors
/// A setting of the tools is invalid.
pub fn catalogue(settings: &Settings, store: Arc<dyn Store>) -> Result<Catalogue, Error> {
    let variables = Arc::new(Variables::new(store.clone()));
    catalogue_beside(settings, store, variables)
}

/// Creates a catalogue over a store whose shared variables are already followed.
fn catalogue_beside(
    settings: &Settings,
    store: Arc<dyn Store>,
    variables: Arc<Variables>,
) -> Result<Catalogue, Error> {
    let tools = tools(settings, variables)?;
    let cache = settings.size(&settings::RENDER_CACHE);
    let catalogue = Catalogue::new(store, TemplateFactory::standard(), tools, cache);
    let outside =
        DiskEnvironmentProvider::new(settings.environment_of_prompts(), settings.schemas());
    Ok(catalogue
        .with_outside(Arc::new(outside))
        .with_limits(compile_limits(settings))
        .with_scripts(Arc::new(StoredScripts)))
}

/// Creates the prompt service over a store, without loading definitions yet.
///
/// # Errors
/// A setting is invalid.
pub fn service(
    settings: &Settings,
    store: Arc<dyn Store>,
    model: Option<Arc<dyn ChatModel>>,
    retries: Arc<AtomicU64>,
) -> Result<PromptService, Error> {
    let variables = Variables::new(store.clone()).with_patience(patience(settings));
    let variables = Arc::new(variables);
    // The tools and the service share one cache of variables, so both see the same values.
    let catalogue = catalogue_beside(settings, store, variables.clone())?;
    let options = ServiceOptions {
        limits: limits(settings),
        system: settings.text(&settings::SYSTEM).map(str::to_owned),
        retries,
        named_counts: Some(settings.size(&settings::NAMED_COUNTS)),
    };
    Ok(PromptService::new(catalogue, variables, model, options))
}

/// Returns the options of definitions and their version histories.
#[must_use]
pub fn definition_options(settings: &Settings) -> DefinitionOptions {
    DefinitionOptions {
        protected_labels: settings.texts(&settings::PROTECTED_LABELS).to_vec(),
    }
}

fn patience(settings: &Settings) -> Duration {
    settings.milliseconds(&settings::STORE_PATIENCE_MS)
}

/// Returns the limits on rendering.
pub fn limits(settings: &Settings) -> RenderLimits {
    RenderLimits {
        output_bytes: settings.size(&settings::RENDER_OUTPUT_BYTES),
        memory_bytes: settings.size(&settings::RENDER_MEMORY_BYTES),
        steps: settings.size(&settings::RENDER_STEPS),
        nesting: settings.size(&settings::RENDER_NESTING),
        passes: settings.size(&settings::RENDER_PASSES),
        calls: settings.size(&settings::RENDER_CALLS),
        concurrency: settings.size(&settings::RENDER_CONCURRENCY),
        time: settings.milliseconds(&settings::RENDER_TIME_MS),
    }
}

/// Returns the limits on template sources. The nesting depth is not a setting, because it is
/// bounded by the stack of a thread.
#[must_use]
pub fn compile_limits(settings: &Settings) -> CompileLimits {
    CompileLimits {
        source_bytes: settings.size(&settings::RENDER_SOURCE_BYTES),
        ..CompileLimits::default()
    }
}

/// Returns the router to all models as a model, wrapped for recording or replay if configured. If
/// nothing is configured, its errors name the settings.
///
/// # Errors
/// A setting is invalid.
pub fn configured_model(
    settings: &Settings,
    door: &Arc<ModelRouter>,
) -> Result<Arc<dyn ChatModel>, Error> {
    Ok(RecordReplay::from_settings(settings)?.wrap_model(door.clone())?)
}

/// Creates the router to the configured models. The router retries transient failures, and counts
/// the retries in `retries`.
///
/// # Errors
/// A setting is invalid.
pub fn models(settings: &Settings, retries: Arc<AtomicU64>) -> Result<Arc<ModelRouter>, Error> {
    let secret = |setting| settings.text(setting).map(|text| text.to_owned().into());
    let url = |setting| settings.text(setting).map(str::to_owned);
    let headers = settings.pairs(&settings::HEADERS).iter();
    let settings = ModelSettings {
        openai: VendorSettings {
            api_key: secret(&settings::API_KEY),
            base_url: url(&settings::BASE_URL),
            headers: headers
                .map(|(name, value)| (name.clone(), value.clone().into()))
                .collect(),
        },
        anthropic: VendorSettings {
            api_key: secret(&settings::ANTHROPIC_KEY),
            base_url: url(&settings::ANTHROPIC_URL),
            headers: Vec::new(),
        },
        google: VendorSettings {
            api_key: secret(&settings::GOOGLE_KEY),
            base_url: url(&settings::GOOGLE_URL),
            headers: Vec::new(),
        },
        default_model: settings.text(&settings::MODEL).map(str::to_owned),
        include_usage: Some(settings.is_on(&settings::INCLUDE_USAGE)),
        timeouts: timeouts(settings),
        observer: Some(Arc::new(move |_| {
            // The counter is only displayed, so relaxed ordering is enough.
            retries.fetch_add(1, Ordering::Relaxed);
        })),
        rates: rates(settings)?.map(Arc::new),
        spending: Some(Arc::new(spending(settings)?)),
        http: http(settings),
        ..ModelSettings::default()
    };
    let models = ModelRouter::new(settings);
    models
        .map(Arc::new)
        .map_err(|error| Error::setting_from(error.message.clone(), error))
}

/// Returns the rate limits of providers and models, if any are set.
fn rates(settings: &Settings) -> Result<Option<RateLimits>, Error> {
    let mut rates: HashMap<String, Rate> = HashMap::new();
    for (name, requests) in settings.numbers(&settings::MODEL_REQUESTS) {
        rates.entry(name.clone()).or_default().requests = Some(*requests);
    }
    for (name, tokens) in settings.numbers(&settings::MODEL_TOKENS) {
        rates.entry(name.clone()).or_default().tokens = Some(*tokens);
    }
    if rates.is_empty() {
        return Ok(None);
    }
    let own = settings.text(&settings::MODEL_RATES);
    let address = own.or_else(|| settings.text(&settings::STORE_URL));
    let address = address.unwrap_or("memory:");
    let buckets = quillet_store::open_rates(address, &store_options(settings))?;
    let patience = settings.milliseconds(&settings::MODEL_RATE_WAIT_MS);
    // A longer wait for a free slot would exceed the timeout of the whole call.
    let patience = patience.min(timeouts(settings).total);
    Ok(Some(RateLimits::new(rates, buckets, patience)))
}

/// Returns the budgets and the store that records spending.
fn spending(settings: &Settings) -> Result<Spending, Error> {
    let own = settings.text(&settings::BUDGET_STORE);
    let address = own.or_else(|| settings.text(&settings::STORE_URL));
    let alone = settings.is_on(&settings::BUDGET_ALONE);
    let address = address.unwrap_or("memory:");
    let books = quillet_store::open_budgets(address, &store_options(settings), alone)?;
    Ok(Spending::new(budgets::options(settings)?, books))
}

fn timeouts(settings: &Settings) -> Timeouts {
    Timeouts {
        first_byte: settings.milliseconds(&settings::MODEL_FIRST_BYTE_MS),
        idle: settings.milliseconds(&settings::MODEL_IDLE_MS),
        total: settings.milliseconds(&settings::MODEL_TOTAL_MS),
    }
}

/// Returns the embedding model for ranking tables, if one is set.
///
/// # Errors
/// A setting is invalid, or the API key is missing.
pub fn embedder(settings: &Settings) -> Result<Option<Arc<dyn Embedder>>, Error> {
    let Some(model) = settings.text(&settings::SQL_EMBEDDING_MODEL) else {
        return Ok(None);
    };
    let header = |(name, value): &(String, String)| (name.clone(), value.clone().into());
    let embedding = EmbedderConfig {
        base_url: settings.text(&settings::BASE_URL).map(str::to_owned),
        api_key: settings.text(&settings::API_KEY).map(Into::into),
        model: model.to_owned(),
        headers: settings
            .pairs(&settings::HEADERS)
            .iter()
            .map(header)
            .collect(),
        ..EmbedderConfig::default()
    };
    let embedder = OpenAiEmbedder::new(http(settings), embedding).map_err(|error| {
        Error::setting_from(format!("sql.embedding_model: {}", error.message), error)
    })?;
    Ok(Some(Arc::new(embedder)))
}

/// Creates the HTTP client shared by all providers.
pub fn http(settings: &Settings) -> Http {
    Http::new(http_options(settings))
}

fn http_options(settings: &Settings) -> HttpOptions {
    HttpOptions {
        connect: settings.milliseconds(&settings::MODEL_CONNECT_MS),
        ..HttpOptions::default()
    }
}
