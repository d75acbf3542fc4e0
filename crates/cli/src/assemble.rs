//! From settings to parts that work: store, tools, model, service.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quillet_core::chat::ChatModel;
use quillet_core::knowledge::Embedder;
use quillet_core::store::{Key, Store};
use quillet_core::{BoxFuture, Value};
use quillet_llm::{
    EmbedderConfig, Http, HttpOptions, Mock, OpenAiChat, OpenAiEmbedder, Provider, ProviderConfig,
    Retry, Timeouts,
};
use quillet_prompt::{Catalogue, PromptService, ServiceOptions, Variables};
use quillet_server::script::StoredScripts;
use quillet_store::StoreOptions;
use quillet_template::{Limits, TemplateFactory};
use quillet_tools::{ModuleUrls, Tools};

use crate::config::{self, Config};
use crate::failure::Failure;
use crate::surroundings::OnDisk;
use crate::tape::Tape;

/// Opens the configured store.
///
/// # Errors
/// None is configured, or it cannot be opened.
pub(crate) async fn store(config: &Config) -> Result<Arc<dyn Store>, Failure> {
    match optional_store(config).await? {
        Some(store) => Ok(store),
        None => Err(Failure::Usage(
            "no store is set: pass --store dir:PATH or --store redis://HOST, or set QUILLET_STORE, REDIS_URL or store.url".into(),
        )),
    }
}

/// Opens the configured store, if one is.
///
/// # Errors
/// It cannot be opened.
pub(crate) async fn optional_store(config: &Config) -> Result<Option<Arc<dyn Store>>, Failure> {
    match config.text(&config::STORE_URL) {
        Some(url) => Ok(Some(
            quillet_store::open(url, &store_options(config)).await?,
        )),
        None => Ok(None),
    }
}

pub(crate) fn store_options(config: &Config) -> StoreOptions {
    StoreOptions {
        prefix: config.text(&config::STORE_PREFIX).map(str::to_owned),
        ca_file: config.text(&config::STORE_CA).map(Into::into),
        insecure: config.is_on(&config::STORE_INSECURE),
        connect_timeout: config.milliseconds(&config::STORE_CONNECT_MS),
        response_timeout: config.milliseconds(&config::STORE_RESPONSE_MS),
        ..StoreOptions::default()
    }
}

/// The builder of tools, which finds modules among the shared variables too.
///
/// # Errors
/// A setting of the tools is wrong.
pub(crate) fn tools(config: &Config, variables: Arc<Variables>) -> Result<Arc<Tools>, Failure> {
    let tools = Tools::new(config.tools()?).map_err(|error| Failure::Usage(error.to_string()))?;
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
            let key = Key::new(format!("modules:{module}"));
            let value = self.0.stored(key).await.ok()??;
            value
                .at(&["url"])
                .and_then(Value::as_str)
                .map(str::to_owned)
        })
    }
}

/// The definitions of a store.
///
/// # Errors
/// A setting of the tools is wrong.
pub(crate) fn catalogue(config: &Config, store: Arc<dyn Store>) -> Result<Catalogue, Failure> {
    let variables = Arc::new(Variables::new(store.clone()));
    catalogue_beside(config, store, variables)
}

/// The definitions of a store whose shared variables are already followed.
fn catalogue_beside(
    config: &Config,
    store: Arc<dyn Store>,
    variables: Arc<Variables>,
) -> Result<Catalogue, Failure> {
    let tools = tools(config, variables)?;
    let cache = config.size(&config::RENDER_CACHE);
    let catalogue = Catalogue::new(store, TemplateFactory::standard(), tools, cache);
    let outside = OnDisk::new(config.environment_of_prompts());
    Ok(catalogue
        .with_outside(Arc::new(outside))
        .with_scripts(Arc::new(StoredScripts)))
}

/// The prompt service over a store, with nothing loaded yet.
///
/// # Errors
/// A setting is wrong.
pub(crate) fn service(
    config: &Config,
    store: Arc<dyn Store>,
    model: Option<Arc<dyn ChatModel>>,
    retries: Arc<AtomicU64>,
) -> Result<PromptService, Failure> {
    let patience = config.milliseconds(&config::STORE_PATIENCE_MS);
    let variables = Variables::new(store.clone()).with_patience(patience);
    let variables = Arc::new(variables);
    let catalogue = catalogue_beside(config, store, variables.clone())?;
    let options = ServiceOptions {
        limits: limits(config),
        system: config.text(&config::SYSTEM).map(str::to_owned),
        retries,
    };
    Ok(PromptService::new(catalogue, variables, model, options))
}

/// The bounds on renders.
pub(crate) fn limits(config: &Config) -> Limits {
    Limits {
        output_bytes: config.size(&config::RENDER_OUTPUT_BYTES),
        memory_bytes: config.size(&config::RENDER_MEMORY_BYTES),
        steps: config.size(&config::RENDER_STEPS),
        nesting: config.size(&config::RENDER_NESTING),
        passes: config.size(&config::RENDER_PASSES),
        calls: config.size(&config::RENDER_CALLS),
        concurrency: config.size(&config::RENDER_CONCURRENCY),
        time: config.milliseconds(&config::RENDER_TIME_MS),
    }
}

/// The configured model with the seed's retries. The mock answers only where it
/// was asked for by name; without an address and a key there is no model.
/// `retries` counts how often it is asked again.
///
/// # Errors
/// A setting is wrong.
pub(crate) fn model(
    config: &Config,
    retries: Arc<AtomicU64>,
) -> Result<Option<Arc<dyn ChatModel>>, Failure> {
    let tape = Tape::of(config)?;
    let model: Arc<dyn ChatModel> = if is_mock(config) || tape.plays() {
        Arc::new(Mock)
    } else {
        match openai(config)? {
            Some(model) => Arc::new(model),
            None => return Ok(None),
        }
    };
    let counted = Retry::new(model).observe(move |_| {
        retries.fetch_add(1, Ordering::Relaxed);
    });
    Ok(Some(tape.around(Arc::new(counted))?))
}

/// Whether the mock was asked for: `mock`, or one of its names that fail.
pub(crate) fn is_mock(config: &Config) -> bool {
    let name = config.text(&config::MODEL).unwrap_or_default();
    name == "mock" || name.starts_with("mock-")
}

/// The provider without retries, if one is configured.
///
/// # Errors
/// A setting is wrong.
pub(crate) fn openai(config: &Config) -> Result<Option<Provider>, Failure> {
    let base_url = config.text(&config::BASE_URL);
    let api_key = config.text(&config::API_KEY);
    if base_url.is_none() && api_key.is_none() {
        return Ok(None);
    }
    let header = |(name, value): &(String, String)| (name.clone(), value.clone().into());
    let protocol = OpenAiChat {
        include_usage: config.is_on(&config::INCLUDE_USAGE),
        ..OpenAiChat::at(base_url)
    };
    let settings = ProviderConfig {
        base_url: base_url.map(str::to_owned),
        api_key: api_key.map(Into::into),
        model: config.text(&config::MODEL).map(str::to_owned),
        headers: config.pairs(&config::HEADERS).iter().map(header).collect(),
        timeouts: Timeouts {
            first_byte: config.milliseconds(&config::MODEL_FIRST_BYTE_MS),
            idle: config.milliseconds(&config::MODEL_IDLE_MS),
            total: config.milliseconds(&config::MODEL_TOTAL_MS),
        },
        ..ProviderConfig::default()
    };
    let model = Provider::new(http(config), Arc::new(protocol), settings);
    model
        .map(Some)
        .map_err(|error| Failure::Usage(error.message))
}

/// Who makes vectors of texts for ranking tables, if a model for it is named.
///
/// # Errors
/// A setting is wrong, or there is no key.
pub(crate) fn embedder(config: &Config) -> Result<Option<Arc<dyn Embedder>>, Failure> {
    let Some(model) = config.text(&config::SQL_EMBEDDING_MODEL) else {
        return Ok(None);
    };
    let header = |(name, value): &(String, String)| (name.clone(), value.clone().into());
    let settings = EmbedderConfig {
        base_url: config.text(&config::BASE_URL).map(str::to_owned),
        api_key: config.text(&config::API_KEY).map(Into::into),
        model: model.to_owned(),
        headers: config.pairs(&config::HEADERS).iter().map(header).collect(),
        ..EmbedderConfig::default()
    };
    let embedder = OpenAiEmbedder::new(http(config), settings)
        .map_err(|error| Failure::Usage(format!("sql.embedding_model: {}", error.message)))?;
    Ok(Some(Arc::new(embedder)))
}

/// The connections to all providers, to be shared.
pub(crate) fn http(config: &Config) -> Http {
    Http::new(HttpOptions {
        connect: config.milliseconds(&config::MODEL_CONNECT_MS),
        ..HttpOptions::default()
    })
}
