//! From settings to databases that can be asked: connections, archive, model, prompts.

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
use crate::components::traces::make_folder_of;
use crate::error::Error;
use crate::files;
use crate::settings::{self, Setting, Settings};

/// The name of the demo's shop.
pub const DEMO: &str = "demo";

/// Connections and what is learned about databases are stored in the user's folder, unless a
/// setting says otherwise.
pub fn rest_with_the_user(settings: &mut Settings) {
    let Some(folder) = settings::user_data() else {
        return;
    };
    let address = format!("sqlite:{}", folder.join("databases.db").display());
    settings.fill(&settings::SQL_ARCHIVE, address.clone());
    settings.fill(&settings::STORE_URL, address);
}

/// Who writes queries, and under which name.
#[derive(Clone, Debug)]
pub struct QueryModel {
    /// The model.
    pub model: Arc<dyn ChatModel>,
    /// The name of the model; the default of the settings where `None`.
    pub name: Option<String>,
}

/// The model of the settings behind its tape, if one is named. For `mock` that is
/// [`demo::WordMatcher`].
///
/// # Errors
/// A setting is wrong.
pub fn writer(settings: &Settings, door: Arc<ModelRouter>) -> Result<Option<QueryModel>, Error> {
    let name = settings.text(&settings::SQL_MODEL);
    let name = name.or_else(|| door.default_model()).map(str::to_owned);
    let tape = RecordReplay::of(settings)?;
    if name.is_none() && !tape.plays() {
        return Ok(None);
    }
    let chosen = name.as_deref().map(|name| door.choose(name));
    let model: Arc<dyn ChatModel> = match chosen {
        // The other mocks are for what goes wrong on the way to a model, and answer as they do.
        Some((Vendor::Mock, "mock")) => Arc::new(demo::WordMatcher),
        _ => door,
    };
    let model = tape.around(model)?;
    Ok(Some(QueryModel { model, name }))
}

/// Databases of a store.
///
/// # Errors
/// A setting is wrong.
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

/// The prompts that come with the program.
///
/// # Errors
/// None of them can be read, which no setting brings about.
pub fn built_in() -> Result<Arc<dyn Prompts>, Error> {
    let prompts = BuiltIn::new().map_err(|error| Error::other_from(error.to_string(), error))?;
    Ok(Arc::new(prompts))
}

/// The prompts of a service before those that come with the program.
///
/// # Errors
/// As [`built_in`].
pub fn stored(prompts: &Arc<PromptService>) -> Result<Arc<dyn Prompts>, Error> {
    let prompts =
        StoredPrompts::new(prompts).map_err(|error| Error::other_from(error.to_string(), error))?;
    Ok(Arc::new(prompts))
}

/// The databases of a store, which nobody asks questions.
///
/// # Errors
/// A setting is wrong.
pub fn unasked(
    settings: &Settings,
    store: Arc<dyn Store>,
    archive: Arc<dyn Archive>,
) -> Result<Databases, Error> {
    service(settings, store, archive, built_in()?, None)
}

/// The databases of a store, asked with these models and the prompts of the store.
///
/// # Errors
/// A setting is wrong, or what is learned about them cannot be kept.
pub async fn asked(
    settings: &Settings,
    store: Arc<dyn Store>,
    prompts: &Arc<PromptService>,
    models: Arc<ModelRouter>,
) -> Result<Databases, Error> {
    let writer = writer(settings, models)?;
    let archive = archive(settings).await?;
    service(settings, store, archive, stored(prompts)?, writer)
}

/// Databases that a service offers as tools and over HTTP.
#[derive(Debug)]
pub struct ServedDatabases {
    databases: Databases,
    tools: DatabaseTools,
    /// Gone with this value.
    _shop: Option<DemoShop>,
}

impl ServedDatabases {
    /// The databases of a store; with the demo's shop among them, if that is wanted.
    ///
    /// # Errors
    /// As [`asked`], or the shop cannot be built.
    pub async fn open(
        settings: &Settings,
        store: Arc<dyn Store>,
        prompts: &Arc<PromptService>,
        models: Arc<ModelRouter>,
        with_shop: bool,
    ) -> Result<Self, Error> {
        let databases = asked(settings, store, prompts, models).await?;
        let shop = with_shop.then(DemoShop::build).transpose()?;
        if let Some(shop) = &shop {
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

    /// The databases.
    #[must_use]
    pub fn databases(&self) -> &Databases {
        &self.databases
    }

    /// What is served over HTTP.
    pub fn served(&self) -> Option<Databases> {
        Some(self.databases.clone())
    }

    /// Offers them now and after every change of a connection, for as long as the future is polled.
    pub async fn follow(&self) {
        self.tools.follow().await;
    }
}

/// Offers the databases of a store as tools, if there are any now.
///
/// # Errors
/// The store does not answer, or a setting is wrong.
pub async fn offer(
    settings: &Settings,
    store: Arc<dyn Store>,
    prompts: &Arc<PromptService>,
    models: Arc<ModelRouter>,
) -> Result<(), Error> {
    if store.keys(EntryKind::Database).await?.is_empty() {
        return Ok(());
    }
    let databases = asked(settings, store, prompts, models).await?;
    let tools = DatabaseTools::new(databases, prompts.clone());
    let offered = tools.offer().await;
    offered.map_err(|error| Error::other_from(error.to_string(), error))
}

/// Opens what was learned about databases: where `sql.archive` says, else where the store is.
///
/// # Errors
/// It cannot be opened.
pub async fn archive(settings: &Settings) -> Result<Arc<dyn Archive>, Error> {
    let fallback = settings.text(&settings::STORE_URL).unwrap_or("memory:");
    let address = settings.text(&settings::SQL_ARCHIVE).unwrap_or(fallback);
    if let Some(path) = address.strip_prefix("sqlite:") {
        make_folder_of(path.as_ref())?;
    }
    let (store, options) = (
        components::store_options(settings),
        ArchiveOptions::default(),
    );
    let opened = quillet_store::open_archive(address, &store, &options);
    Ok(opened.await?)
}

/// The section `[sql]`.
///
/// # Errors
/// A value is none of those that are known, or the glossary cannot be read.
pub fn sql_config(settings: &Settings) -> Result<SqlConfig, Error> {
    let whole = |setting| settings.integer(setting).unwrap_or_default();
    Ok(SqlConfig {
        chain: chain(settings)?,
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

/// How files of rows are read.
///
/// # Errors
/// A value is none of those that are known.
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
        header: Header::named(header)
            .ok_or_else(|| wrong(&settings::SQL_FILE_HEADER, "auto, yes or no"))?,
    })
}

fn chain(settings: &Settings) -> Result<ChainMode, Error> {
    let name = settings.text(&settings::SQL_CHAIN).unwrap_or_default();
    ChainMode::named(name).ok_or_else(|| {
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
    SecondJudge::named(name).ok_or_else(|| {
        let origin = settings.origin(&settings::SQL_SECOND_JUDGE);
        Error::setting(format!(
            "sql.second_judge ({}) must be auto, view or off, not {name:?}",
            origin.map(ToString::to_string).unwrap_or_default()
        ))
    })
}

fn sampling(settings: &Settings) -> Result<Sampling, Error> {
    let name = settings.text(&settings::SQL_VALUES).unwrap_or_default();
    Sampling::named(name).ok_or_else(|| {
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

/// Words of the users: of the file, then of the table.
fn glossary(settings: &Settings) -> Result<Glossary, Error> {
    let mut entries = match settings.text(&settings::SQL_GLOSSARY_FILE) {
        Some(path) => glossary_file("sql.glossary_file", path)?,
        None => Vec::new(),
    };
    let pairs = settings.pairs(&settings::SQL_GLOSSARY).iter();
    entries.extend(pairs.map(|(term, meanings)| (term.clone(), meanings_of(meanings))));
    Ok(Glossary { entries })
}

/// A map of terms, each with a text (`"orders, sales"`) or a list of texts.
///
/// # Errors
/// It cannot be read or is none; `asked_by` is the setting or flag that named it.
pub fn glossary_file(asked_by: &str, path: &str) -> Result<Vec<(String, Vec<String>)>, Error> {
    let wrong = |what: String| Error::setting(format!("{asked_by}: {path}: {what}"));
    let data = files::data(path)?;
    let map = data
        .as_map()
        .ok_or_else(|| wrong("terms and what they stand for are wanted".to_owned()))?;
    let entry = |term: &str, meanings: &Value| {
        match meanings {
            Value::List(items) => {
                let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
                texts.collect::<Option<Vec<_>>>()
            }
            other => other.as_str().map(meanings_of),
        }
        .ok_or_else(|| wrong(format!("{term:?} must stand for a text or a list of texts")))
    };
    map.iter()
        .map(|(term, meanings)| Ok((term.to_string(), entry(term, meanings)?)))
        .collect()
}

fn meanings_of(text: &str) -> Vec<String> {
    let words = text.split([',', '，', '、']).map(str::trim);
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}
