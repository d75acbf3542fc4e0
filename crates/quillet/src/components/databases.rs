//! Creates the database service from settings: connections, archive, model and prompts.

use std::sync::Arc;

use quillet_core::Value;
use quillet_core::archive::Archive;
use quillet_core::chat::ChatModel;
use quillet_core::store::{EntryKind, Store};
use quillet_host::sql::{DatabaseTools, StoredPrompts};
use quillet_llm::models::{ModelRouter, Vendor};
use quillet_llm::tokens;
use quillet_prompt::PromptService;
use quillet_sql::chain::{BuiltIn, Prompts};
use quillet_sql::database::{ConnectOptions, SecondJudge};
use quillet_sql::files::{FileOptions, Header};
use quillet_sql::rank::Glossary;
use quillet_sql::values::{Sampling, ValuesConfig};
use quillet_sql::{ChainMode, Databases, QueryLimits, ServiceParts, SqlConfig, demo};
use quillet_store::ArchiveOptions;

use crate::components;
use crate::components::demo_shop::DemoShop;
use crate::components::recording::RecordReplay;
use crate::components::traces::create_parent_folder;
use crate::error::Error;
use crate::files;
use crate::settings::{self, Setting, Settings};

/// Name of the demo shop database.
pub const DEMO: &str = "demo";

/// Stores connections and catalogues in the user's folder, unless a setting specifies another
/// place.
pub fn use_user_folder(settings: &mut Settings) {
    let Some(folder) = settings::user_data() else {
        return;
    };
    let address = format!("sqlite:{}", folder.join("databases.db").display());
    // `fill` keeps existing values, so a store that the user chose is never replaced.
    settings.fill(&settings::SQL_ARCHIVE, address.clone());
    settings.fill(&settings::STORE_URL, address);
}

/// The model that writes queries.
#[derive(Clone, Debug)]
pub struct QueryModel {
    /// The model.
    pub model: Arc<dyn ChatModel>,
    /// Name of the model; `None` uses the default of the settings.
    pub name: Option<String>,
}

/// Returns the configured model for queries, wrapped for recording or replay if configured. For
/// `mock` it is [`demo::RecordedModel`].
///
/// # Errors
/// A setting is invalid.
pub fn query_model(
    settings: &Settings,
    door: Arc<ModelRouter>,
) -> Result<Option<QueryModel>, Error> {
    let name = settings.text(&settings::SQL_MODEL);
    let name = name.or_else(|| door.default_model()).map(str::to_owned);
    let tape = RecordReplay::from_settings(settings)?;
    // A replay answers without a model, so it needs no name.
    if name.is_none() && !tape.is_replay() {
        return Ok(None);
    }
    let chosen = name.as_deref().map(|name| door.choose(name));
    let model: Arc<dyn ChatModel> = match chosen {
        // The other mock models simulate provider errors, so they must not be replaced.
        Some((Vendor::Mock, "mock")) => Arc::new(demo::RecordedModel),
        _ => door,
    };
    let model = tape.wrap_model(model)?;
    Ok(Some(QueryModel { model, name }))
}

/// Creates the database service over a store.
///
/// # Errors
/// A setting is invalid.
pub fn service(
    settings: &Settings,
    store: Arc<dyn Store>,
    archive: Arc<dyn Archive>,
    prompts: Arc<dyn Prompts>,
    writer: Option<QueryModel>,
) -> Result<Databases, Error> {
    let (model, name) = match writer {
        Some(writer) => (Some(writer.model), writer.name),
        None => (None, None),
    };
    let tokens = tokens::counter_for(name.as_deref().unwrap_or_default());
    Ok(Databases::new(ServiceParts {
        store,
        archive,
        model,
        embedder: components::embedder(settings)?,
        tokens,
        prompts,
        config: SqlConfig {
            model: name,
            ..sql_config(settings)?
        },
    }))
}

/// Returns the built-in prompts.
///
/// # Errors
/// A built-in prompt is invalid; no setting can cause this.
pub fn built_in_prompts() -> Result<Arc<dyn Prompts>, Error> {
    let prompts = BuiltIn::new().map_err(|error| Error::other_from(error.to_string(), error))?;
    Ok(Arc::new(prompts))
}

/// Returns the stored prompts, with the built-in prompts as a fallback.
///
/// # Errors
/// As for [`built_in`].
pub fn stored_prompts(prompts: &Arc<PromptService>) -> Result<Arc<dyn Prompts>, Error> {
    let prompts =
        StoredPrompts::new(prompts).map_err(|error| Error::other_from(error.to_string(), error))?;
    Ok(Arc::new(prompts))
}

/// Creates the database service without a model, for everything except questions.
///
/// # Errors
/// A setting is invalid.
pub fn without_model(
    settings: &Settings,
    store: Arc<dyn Store>,
    archive: Arc<dyn Archive>,
) -> Result<Databases, Error> {
    service(settings, store, archive, built_in_prompts()?, None)
}

/// Creates the database service with these models and the prompts of the store.
///
/// # Errors
/// A setting is invalid, or the archive cannot be opened.
pub async fn with_models(
    settings: &Settings,
    store: Arc<dyn Store>,
    prompts: &Arc<PromptService>,
    models: Arc<ModelRouter>,
) -> Result<Databases, Error> {
    let writer = query_model(settings, models)?;
    let archive = archive(settings).await?;
    service(settings, store, archive, stored_prompts(prompts)?, writer)
}

/// Databases of a host, offered as tools and over HTTP.
#[derive(Debug)]
pub struct ServedDatabases {
    databases: Databases,
    tools: DatabaseTools,
    /// Keeps the file of the demo shop; dropping it deletes the file.
    _shop: Option<DemoShop>,
}

impl ServedDatabases {
    /// Opens the databases of a store; `with_shop` adds the demo shop.
    ///
    /// # Errors
    /// As for [`asked`], or the demo shop cannot be created.
    pub async fn open(
        settings: &Settings,
        store: Arc<dyn Store>,
        prompts: &Arc<PromptService>,
        models: Arc<ModelRouter>,
        with_shop: bool,
    ) -> Result<Self, Error> {
        let databases = with_models(settings, store, prompts, models).await?;
        let shop = with_shop.then(DemoShop::build).transpose()?;
        if let Some(shop) = &shop {
            // The database is temporary, so the store must not keep a connection to a file that is
            // soon deleted.
            let lent = databases.add_temporary(DEMO, &shop.definition());
            lent.map_err(|error| Error::other_from(error.to_string(), error))?;
        }
        let tools = DatabaseTools::new(databases.clone(), prompts.clone());
        Ok(ServedDatabases {
            databases,
            tools,
            _shop: shop,
        })
    }

    /// Returns the database service.
    #[must_use]
    pub fn databases(&self) -> &Databases {
        &self.databases
    }

    /// Returns the databases for the HTTP server.
    pub fn http_databases(&self) -> Option<Databases> {
        Some(self.databases.clone())
    }

    /// Offers the databases as tools, now and after each change of a connection, while the future
    /// is polled.
    pub async fn follow(&self) {
        self.tools.follow().await;
    }
}

/// Offers the databases of a store as tools, if it has any.
///
/// # Errors
/// The store is unavailable, or a setting is invalid.
pub async fn register_tools(
    settings: &Settings,
    store: Arc<dyn Store>,
    prompts: &Arc<PromptService>,
    models: Arc<ModelRouter>,
) -> Result<(), Error> {
    // Most stores have no databases, and opening the archive for them could fail or create a file.
    if store.keys(EntryKind::Database).await?.is_empty() {
        return Ok(());
    }
    let databases = with_models(settings, store, prompts, models).await?;
    let tools = DatabaseTools::new(databases, prompts.clone());
    let offered = tools.offer().await;
    offered.map_err(|error| Error::other_from(error.to_string(), error))
}

/// Opens the archive of catalogues and query histories: at `sql.archive`, or else in the store.
///
/// # Errors
/// The archive cannot be opened.
pub async fn archive(settings: &Settings) -> Result<Arc<dyn Archive>, Error> {
    let fallback = settings.text(&settings::STORE_URL).unwrap_or("memory:");
    let address = settings.text(&settings::SQL_ARCHIVE).unwrap_or(fallback);
    // SQLite creates the file but not its folder, and the user's folder is missing at first use.
    if let Some(path) = address.strip_prefix("sqlite:") {
        create_parent_folder(path.as_ref())?;
    }
    let (store, options) = (
        components::store_options(settings),
        ArchiveOptions::default(),
    );
    let opened = quillet_store::open_archive(address, &store, &options);
    Ok(opened.await?)
}

/// Returns the settings of the section `[sql]`.
///
/// # Errors
/// A value is invalid, or the glossary cannot be read.
pub fn sql_config(settings: &Settings) -> Result<SqlConfig, Error> {
    let whole = |setting| settings.integer(setting).unwrap_or_default();
    Ok(SqlConfig {
        chain: chain(settings)?,
        // `service` sets the model, which its caller may choose.
        model: None,
        table_selection_threshold: settings.size(&settings::SQL_THRESHOLD),
        max_selected_tables: settings.size(&settings::SQL_SELECTED),
        phase1_max_tokens: whole(&settings::SQL_PHASE1_TOKENS),
        phase1_temperature: settings.number(&settings::SQL_PHASE1_TEMPERATURE),
        phase2_max_tokens: whole(&settings::SQL_PHASE2_TOKENS),
        phase2_temperature: settings.number(&settings::SQL_PHASE2_TEMPERATURE),
        full_schema_tokens: whole(&settings::SQL_FULL_SCHEMA_TOKENS),
        list_tokens: whole(&settings::SQL_LIST_TOKENS),
        schema_tokens: whole(&settings::SQL_SCHEMA_TOKENS),
        candidates: settings.size(&settings::SQL_CANDIDATES),
        embedded_tables: settings.size(&settings::SQL_EMBEDDED),
        repair_tables: settings.size(&settings::SQL_REPAIR_TABLES),
        repairs: u32::try_from(whole(&settings::SQL_REPAIRS)).unwrap_or(u32::MAX),
        previous: settings.size(&settings::SQL_PREVIOUS),
        default_limit: whole(&settings::SQL_DEFAULT_LIMIT),
        functions: functions(settings),
        limits: limits(
            settings,
            [
                &settings::SQL_ROWS,
                &settings::SQL_BYTES,
                &settings::SQL_TIME_MS,
            ],
        ),
        export_limits: limits(
            settings,
            [
                &settings::SQL_EXPORT_ROWS,
                &settings::SQL_EXPORT_BYTES,
                &settings::SQL_EXPORT_MS,
            ],
        ),
        tool_rows: settings.size(&settings::SQL_TOOL_ROWS),
        tool_characters: settings.size(&settings::SQL_TOOL_CHARACTERS),
        connections: settings.size(&settings::SQL_CONNECTIONS),
        connect: ConnectOptions {
            ssl_disabled: settings.is_on(&settings::SQL_SSL_DISABLED),
            connect_timeout: settings.milliseconds(&settings::SQL_CONNECT_MS),
            catalogue_timeout: settings.milliseconds(&settings::SQL_CATALOGUE_MS),
            functions: functions(settings),
            powerful_roles: settings.is_on(&settings::SQL_POWERFUL_ROLES),
            second_judge: second_judge(settings)?,
        },
        catalogue_age: settings.milliseconds(&settings::SQL_CATALOGUE_AGE_MS),
        glossary: glossary(settings)?,
        examples: settings.size(&settings::SQL_EXAMPLES),
        examples_tokens: whole(&settings::SQL_EXAMPLES_TOKENS),
        values: ValuesConfig {
            sampling: sampling(settings)?,
            columns: settings.size(&settings::SQL_VALUES_COLUMNS),
            rows: settings.size(&settings::SQL_VALUES_ROWS),
            distinct: settings.size(&settings::SQL_VALUES_DISTINCT),
            characters: settings.size(&settings::SQL_VALUES_CHARACTERS),
            bytes: settings.size(&settings::SQL_VALUES_BYTES),
            table_time: settings.milliseconds(&settings::SQL_VALUES_TABLE_MS),
            time: settings.milliseconds(&settings::SQL_VALUES_MS),
            age: settings.milliseconds(&settings::SQL_VALUES_AGE_MS),
            tokens: whole(&settings::SQL_VALUES_TOKENS),
        },
    })
}

/// Returns the options for reading data files.
///
/// # Errors
/// A value is invalid.
pub fn file_options(settings: &Settings) -> Result<FileOptions, Error> {
    let whole = |setting| settings.integer(setting).unwrap_or_default();
    let wrong = |setting: &'static Setting, what: &str| {
        let origin = settings.origin(setting).map(ToString::to_string);
        Error::setting(format!(
            "{} ({}) must be {what}",
            setting.key,
            origin.unwrap_or_default()
        ))
    };
    let header = settings
        .text(&settings::SQL_FILE_HEADER)
        .unwrap_or_default();
    let separator = match settings.text(&settings::SQL_FILE_SEPARATOR) {
        None => None,
        Some("tab" | "\\t") => Some(b'\t'),
        Some(text) => match text.as_bytes() {
            // The three excluded bytes have a meaning of their own in a CSV file.
            [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\r' | b'\n') => Some(*byte),
            _ => {
                return Err(wrong(
                    &settings::SQL_FILE_SEPARATOR,
                    "one character of ASCII, or tab",
                ));
            }
        },
    };
    Ok(FileOptions {
        rows: whole(&settings::SQL_FILE_ROWS),
        bytes: whole(&settings::SQL_FILE_BYTES),
        row_bytes: whole(&settings::SQL_FILE_ROW_BYTES),
        encoding: settings
            .text(&settings::SQL_FILE_ENCODING)
            .map(str::to_owned),
        separator,
        header: Header::from_name(header)
            .ok_or_else(|| wrong(&settings::SQL_FILE_HEADER, "auto, yes or no"))?,
    })
}

fn chain(settings: &Settings) -> Result<ChainMode, Error> {
    let name = settings.text(&settings::SQL_CHAIN).unwrap_or_default();
    ChainMode::from_name(name).ok_or_else(|| {
        let origin = settings
            .origin(&settings::SQL_CHAIN)
            .map(ToString::to_string);
        Error::setting(format!(
            "sql.chain ({}) must be budget or seed, not {name:?}",
            origin.unwrap_or_default()
        ))
    })
}

fn second_judge(settings: &Settings) -> Result<SecondJudge, Error> {
    let name = settings
        .text(&settings::SQL_SECOND_JUDGE)
        .unwrap_or_default();
    SecondJudge::from_name(name).ok_or_else(|| {
        let origin = settings.origin(&settings::SQL_SECOND_JUDGE);
        Error::setting(format!(
            "sql.second_judge ({}) must be auto, view or off, not {name:?}",
            origin.map(ToString::to_string).unwrap_or_default()
        ))
    })
}

fn sampling(settings: &Settings) -> Result<Sampling, Error> {
    let name = settings.text(&settings::SQL_VALUES).unwrap_or_default();
    Sampling::from_name(name).ok_or_else(|| {
        let origin = settings
            .origin(&settings::SQL_VALUES)
            .map(ToString::to_string);
        Error::setting(format!(
            "sql.values ({}) must be auto, on or off, not {name:?}",
            origin.unwrap_or_default()
        ))
    })
}

fn functions(settings: &Settings) -> Vec<String> {
    let names = settings.texts(&settings::SQL_FUNCTIONS).iter();
    names.map(|name| name.to_lowercase()).collect()
}

fn limits(settings: &Settings, [rows, bytes, time]: [&'static Setting; 3]) -> QueryLimits {
    QueryLimits {
        rows: settings.size(rows),
        bytes: settings.size(bytes),
        timeout: settings.milliseconds(time),
    }
}

/// Returns the glossary: the terms of the file, then those of the settings table.
fn glossary(settings: &Settings) -> Result<Glossary, Error> {
    let mut entries = match settings.text(&settings::SQL_GLOSSARY_FILE) {
        Some(path) => glossary_file("sql.glossary_file", path)?,
        None => Vec::new(),
    };
    let pairs = settings.pairs(&settings::SQL_GLOSSARY).iter();
    entries.extend(pairs.map(|(term, meanings)| (term.clone(), meanings_of(meanings))));
    Ok(Glossary { entries })
}

/// Reads a glossary file: a map from each term to a string (`"orders, sales"`) or a list of
/// strings.
///
/// # Errors
/// The file cannot be read or is not a glossary. The error message names `asked_by`, the setting or
/// flag that contains the path.
pub fn glossary_file(asked_by: &str, path: &str) -> Result<Vec<(String, Vec<String>)>, Error> {
    let wrong = |what: String| Error::setting(format!("{asked_by}: {path}: {what}"));
    let data = files::data(path)?;
    let map = data
        .as_map()
        .ok_or_else(|| wrong("expected a map of terms to their meanings".to_owned()))?;
    let entry = |term: &str, meanings: &Value| {
        match meanings {
            Value::List(items) => {
                let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
                texts.collect::<Option<Vec<_>>>()
            }
            other => other.as_str().map(meanings_of),
        }
        .ok_or_else(|| {
            wrong(format!(
                "the meaning of {term:?} must be a string or a list of strings"
            ))
        })
    };
    map.iter()
        .map(|(term, meanings)| Ok((term.to_string(), entry(term, meanings)?)))
        .collect()
}

fn meanings_of(text: &str) -> Vec<String> {
    // Chinese and Japanese text separates words with its own commas.
    let words = text.split([',', '，', '、']).map(str::trim);
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}
