//! From settings to parts that work: store, tools, model, service.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quillet_core::chat::ChatModel;
use quillet_core::knowledge::Embedder;
use quillet_core::store::{Key, Store};
use quillet_core::{BoxFuture, Value};
use quillet_llm::models::{ModelSettings, Models, VendorSettings};
use quillet_llm::{EmbedderConfig, Http, HttpOptions, OpenAiEmbedder, Timeouts};
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
    let outside = OnDisk::new(config.environment_of_prompts(), config.schemas());
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
        named_counts: Some(config.size(&config::NAMED_COUNTS)),
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

/// The router to all models, behind the tape: for whoever names a model, whichever way the request
/// came. Where nothing is configured it says what to set.
///
/// # Errors
/// A setting is wrong.
pub(crate) fn asked(config: &Config, door: &Arc<Models>) -> Result<Arc<dyn ChatModel>, Failure> {
    Ok(Tape::of(config)?.around(door.clone())?)
}

/// The models of this server's keys and addresses, by name. Each is asked again
/// where that may help; `retries` counts how often.
///
/// # Errors
/// A setting is wrong.
pub(crate) fn models(config: &Config, retries: Arc<AtomicU64>) -> Result<Arc<Models>, Failure> {
    let secret = |setting| config.text(setting).map(|text| text.to_owned().into());
    let url = |setting| config.text(setting).map(str::to_owned);
    let headers = config.pairs(&config::HEADERS).iter();
    let settings = ModelSettings {
        openai: VendorSettings {
            api_key: secret(&config::API_KEY),
            base_url: url(&config::BASE_URL),
            headers: headers
                .map(|(name, value)| (name.clone(), value.clone().into()))
                .collect(),
        },
        anthropic: VendorSettings {
            api_key: secret(&config::ANTHROPIC_KEY),
            base_url: url(&config::ANTHROPIC_URL),
            headers: Vec::new(),
        },
        google: VendorSettings {
            api_key: secret(&config::GOOGLE_KEY),
            base_url: url(&config::GOOGLE_URL),
            headers: Vec::new(),
        },
        default_model: config.text(&config::MODEL).map(str::to_owned),
        include_usage: Some(config.is_on(&config::INCLUDE_USAGE)),
        timeouts: Timeouts {
            first_byte: config.milliseconds(&config::MODEL_FIRST_BYTE_MS),
            idle: config.milliseconds(&config::MODEL_IDLE_MS),
            total: config.milliseconds(&config::MODEL_TOTAL_MS),
        },
        observer: Some(Arc::new(move |_| {
            retries.fetch_add(1, Ordering::Relaxed);
        })),
        http: http(config),
        ..ModelSettings::default()
    };
    let models = Models::new(settings);
    models
        .map(Arc::new)
        .map_err(|error| Failure::Usage(error.message))
}

/// The embedder for ranking tables, if a model for it is named.
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
