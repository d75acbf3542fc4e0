//! From settings to databases that can be asked: connections, archive, model, prompts.

use std::sync::Arc;

use quillet_core::Value;
use quillet_core::archive::Archive;
use quillet_core::chat::ChatModel;
use quillet_core::store::{Kind, Store};
use quillet_llm::models::Models;
use quillet_llm::tokens;
use quillet_prompt::PromptService;
use quillet_server::sql::{DatabaseTools, StoredPrompts};
use quillet_sql::chain::{BuiltIn, Prompts};
use quillet_sql::database::{Checked, ConnectOptions, SecondJudge};
use quillet_sql::files::{FileOptions, Header};
use quillet_sql::rank::Glossary;
use quillet_sql::values::{Sampling, ValuesConfig};
use quillet_sql::{ChainMode, Databases, Parts, QueryLimits, SqlConfig};
use quillet_store::{ArchiveOptions, MemoryArchive};

use crate::assemble;
use crate::command::sql::DEMO;
use crate::config::{self, Config, Setting};
use crate::demo_shop::DemoShop;
use crate::failure::Failure;
use crate::source;
use crate::talk::one_line;
use crate::tape::Tape;
use crate::traces::make_folder_of;

/// Characters of what a database says about itself.
const MOST_VERSION: usize = 300;

/// Connections and what is learned about databases are stored in the user's folder, unless a
/// setting says otherwise.
pub(crate) fn rest_with_the_user(config: &mut Config) {
    let Some(folder) = config::user_data() else {
        return;
    };
    let address = format!("sqlite:{}", folder.join("databases.db").display());
    config.fill(&config::SQL_ARCHIVE, address.clone());
    config.fill(&config::STORE_URL, address);
}

/// The model that writes queries, and its name.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    pub(crate) model: Arc<dyn ChatModel>,
    /// The name of the model; the default of the settings where `None`.
    pub(crate) name: Option<String>,
}

/// The model of the settings behind its tape, if one is named.
///
/// # Errors
/// A setting is wrong.
pub(crate) fn writer(config: &Config, door: Arc<Models>) -> Result<Option<Writer>, Failure> {
    let name = config.text(&config::SQL_MODEL);
    let name = name.or_else(|| door.default_model()).map(str::to_owned);
    let tape = Tape::of(config)?;
    if name.is_none() && !tape.plays() {
        return Ok(None);
    }
    let model = tape.around(door)?;
    Ok(Some(Writer { model, name }))
}

/// Databases of a store.
///
/// # Errors
/// A setting is wrong.
pub(crate) fn service(
    config: &Config,
    store: Arc<dyn Store>,
    archive: Arc<dyn Archive>,
    prompts: Arc<dyn Prompts>,
    writer: Option<Writer>,
) -> Result<Databases, Failure> {
    let (model, name) = match writer {
        Some(writer) => (Some(writer.model), writer.name),
        None => (None, None),
    };
    let tokens = tokens::counter_for(name.as_deref().unwrap_or_default());
    Ok(Databases::new(Parts {
        store,
        archive,
        model,
        embedder: assemble::embedder(config)?,
        tokens,
        prompts,
        config: SqlConfig {
            model: name,
            ..settings(config)?
        },
    }))
}

/// The prompts that come with the program.
///
/// # Errors
/// None of them can be read, which no setting brings about.
pub(crate) fn built_in() -> Result<Arc<dyn Prompts>, Failure> {
    let prompts = BuiltIn::new().map_err(|error| Failure::Other(error.to_string()))?;
    Ok(Arc::new(prompts))
}

/// The prompts of a service before those that come with the program.
///
/// # Errors
/// As [`built_in`].
pub(crate) fn stored(prompts: &Arc<PromptService>) -> Result<Arc<dyn Prompts>, Failure> {
    let prompts = StoredPrompts::new(prompts).map_err(|error| Failure::Other(error.to_string()))?;
    Ok(Arc::new(prompts))
}

/// The databases of a store, which nobody asks questions.
///
/// # Errors
/// A setting is wrong.
pub(crate) fn unasked(
    config: &Config,
    store: Arc<dyn Store>,
    archive: Arc<dyn Archive>,
) -> Result<Databases, Failure> {
    service(config, store, archive, built_in()?, None)
}

/// The databases of a store, asked with these models and the prompts of the store.
///
/// # Errors
/// A setting is wrong, or what is learned about them cannot be stored.
pub(crate) async fn asked(
    config: &Config,
    store: Arc<dyn Store>,
    prompts: &Arc<PromptService>,
    models: Arc<Models>,
) -> Result<Databases, Failure> {
    let writer = writer(config, models)?;
    let archive = archive(config).await?;
    service(config, store, archive, stored(prompts)?, writer)
}

/// Databases that a service offers as tools and over HTTP.
#[derive(Debug)]
pub(crate) struct Offered {
    databases: Databases,
    tools: DatabaseTools,
    /// Gone with this value.
    _shop: Option<DemoShop>,
}

impl Offered {
    /// The databases of a store; with the demo's shop among them, if that is wanted.
    ///
    /// # Errors
    /// As [`asked`], or the shop cannot be built.
    pub(crate) async fn open(
        config: &Config,
        store: Arc<dyn Store>,
        prompts: &Arc<PromptService>,
        models: Arc<Models>,
        with_shop: bool,
    ) -> Result<Self, Failure> {
        let databases = asked(config, store, prompts, models).await?;
        let shop = with_shop.then(DemoShop::build).transpose()?;
        if let Some(shop) = &shop {
            let lent = databases.lend(DEMO, &shop.definition());
            lent.map_err(|error| Failure::Other(error.to_string()))?;
        }
        let tools = DatabaseTools::new(databases.clone(), prompts.clone());
        Ok(Offered {
            databases,
            tools,
            _shop: shop,
        })
    }

    /// What is served over HTTP.
    pub(crate) fn served(&self) -> Option<Databases> {
        Some(self.databases.clone())
    }

    /// Offers them now and after every change of a connection, for as long as the future is polled.
    pub(crate) async fn follow(&self) {
        self.tools.follow().await;
    }
}

/// Offers the databases of a store as tools, if there are any now.
///
/// # Errors
/// The store does not answer, or a setting is wrong.
pub(crate) async fn offer(
    config: &Config,
    store: Arc<dyn Store>,
    prompts: &Arc<PromptService>,
    models: Arc<Models>,
) -> Result<(), Failure> {
    if store.keys(Kind::Database).await?.is_empty() {
        return Ok(());
    }
    let databases = asked(config, store, prompts, models).await?;
    let tools = DatabaseTools::new(databases, prompts.clone());
    let offered = tools.offer().await;
    offered.map_err(|error| Failure::Other(error.to_string()))
}

/// What `quillet doctor` finds of one database.
#[derive(Debug)]
pub(crate) enum Finding {
    Fine(String),
    Mind(String),
    Broken(String),
}

/// The databases of a store: whether each answers, and what its role may do besides reading.
pub(crate) async fn examined(config: &Config, store: Arc<dyn Store>) -> Vec<Finding> {
    let archive = Arc::new(MemoryArchive::new(ArchiveOptions::default()));
    let known = match unasked(config, store, archive) {
        Ok(known) => known,
        Err(failure) => return vec![Finding::Broken(failure.to_string())],
    };
    let Ok(list) = known.list().await else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for connection in list {
        let name = connection.name;
        match known.test_known(&name).await {
            Ok(checked) => found.extend(answered(&name, &checked)),
            Err(error) => found.push(Finding::Broken(format!("{name}: {error}"))),
        }
    }
    found
}

fn answered(name: &str, checked: &Checked) -> Vec<Finding> {
    let told = |text: &str| format!("{name}: {}", one_line(text, MOST_VERSION));
    let mut found = vec![Finding::Fine(told(&checked.version))];
    let warnings = checked.warnings.iter();
    found.extend(warnings.map(|warning| Finding::Mind(told(warning))));
    found
}

/// Opens what was learned about databases: where `sql.archive` says, else where the store is.
///
/// # Errors
/// It cannot be opened.
pub(crate) async fn archive(config: &Config) -> Result<Arc<dyn Archive>, Failure> {
    let fallback = config.text(&config::STORE_URL).unwrap_or("memory:");
    let address = config.text(&config::SQL_ARCHIVE).unwrap_or(fallback);
    if let Some(path) = address.strip_prefix("sqlite:") {
        make_folder_of(path.as_ref())?;
    }
    let (store, options) = (assemble::store_options(config), ArchiveOptions::default());
    let opened = quillet_store::open_archive(address, &store, &options);
    Ok(opened.await?)
}

/// The section `[sql]`.
///
/// # Errors
/// A value is none of those that are known, or the glossary cannot be read.
pub(crate) fn settings(config: &Config) -> Result<SqlConfig, Failure> {
    let whole = |setting| config.integer(setting).unwrap_or_default();
    Ok(SqlConfig {
        chain: chain(config)?,
        model: None,
        table_selection_threshold: config.size(&config::SQL_THRESHOLD),
        max_selected_tables: config.size(&config::SQL_SELECTED),
        phase1_max_tokens: whole(&config::SQL_PHASE1_TOKENS),
        phase1_temperature: config.number(&config::SQL_PHASE1_TEMPERATURE),
        phase2_max_tokens: whole(&config::SQL_PHASE2_TOKENS),
        phase2_temperature: config.number(&config::SQL_PHASE2_TEMPERATURE),
        full_schema_tokens: whole(&config::SQL_FULL_SCHEMA_TOKENS),
        list_tokens: whole(&config::SQL_LIST_TOKENS),
        schema_tokens: whole(&config::SQL_SCHEMA_TOKENS),
        candidates: config.size(&config::SQL_CANDIDATES),
        embedded_tables: config.size(&config::SQL_EMBEDDED),
        repair_tables: config.size(&config::SQL_REPAIR_TABLES),
        repairs: u32::try_from(whole(&config::SQL_REPAIRS)).unwrap_or(u32::MAX),
        previous: config.size(&config::SQL_PREVIOUS),
        default_limit: whole(&config::SQL_DEFAULT_LIMIT),
        functions: functions(config),
        limits: limits(
            config,
            [&config::SQL_ROWS, &config::SQL_BYTES, &config::SQL_TIME_MS],
        ),
        export_limits: limits(
            config,
            [
                &config::SQL_EXPORT_ROWS,
                &config::SQL_EXPORT_BYTES,
                &config::SQL_EXPORT_MS,
            ],
        ),
        tool_rows: config.size(&config::SQL_TOOL_ROWS),
        tool_characters: config.size(&config::SQL_TOOL_CHARACTERS),
        connections: config.size(&config::SQL_CONNECTIONS),
        connect: ConnectOptions {
            ssl_disabled: config.is_on(&config::SQL_SSL_DISABLED),
            connect_timeout: config.milliseconds(&config::SQL_CONNECT_MS),
            catalogue_timeout: config.milliseconds(&config::SQL_CATALOGUE_MS),
            functions: functions(config),
            powerful_roles: config.is_on(&config::SQL_POWERFUL_ROLES),
            second_judge: second_judge(config)?,
        },
        catalogue_age: config.milliseconds(&config::SQL_CATALOGUE_AGE_MS),
        glossary: glossary(config)?,
        examples: config.size(&config::SQL_EXAMPLES),
        examples_tokens: whole(&config::SQL_EXAMPLES_TOKENS),
        values: ValuesConfig {
            sampling: sampling(config)?,
            columns: config.size(&config::SQL_VALUES_COLUMNS),
            rows: config.size(&config::SQL_VALUES_ROWS),
            distinct: config.size(&config::SQL_VALUES_DISTINCT),
            characters: config.size(&config::SQL_VALUES_CHARACTERS),
            bytes: config.size(&config::SQL_VALUES_BYTES),
            table_time: config.milliseconds(&config::SQL_VALUES_TABLE_MS),
            time: config.milliseconds(&config::SQL_VALUES_MS),
            age: config.milliseconds(&config::SQL_VALUES_AGE_MS),
            tokens: whole(&config::SQL_VALUES_TOKENS),
        },
    })
}

/// How files of rows are read.
///
/// # Errors
/// A value is none of those that are known.
pub(crate) fn file_options(config: &Config) -> Result<FileOptions, Failure> {
    let whole = |setting| config.integer(setting).unwrap_or_default();
    let wrong = |setting: &'static Setting, what: &str| {
        let origin = config.origin(setting).map(ToString::to_string);
        Failure::Usage(format!(
            "{} ({}) must be {what}",
            setting.key,
            origin.unwrap_or_default()
        ))
    };
    let header = config.text(&config::SQL_FILE_HEADER).unwrap_or_default();
    let separator = match config.text(&config::SQL_FILE_SEPARATOR) {
        None => None,
        Some("tab" | "\\t") => Some(b'\t'),
        Some(text) => match text.as_bytes() {
            [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\r' | b'\n') => Some(*byte),
            _ => {
                return Err(wrong(
                    &config::SQL_FILE_SEPARATOR,
                    "one character of ASCII, or tab",
                ));
            }
        },
    };
    Ok(FileOptions {
        rows: whole(&config::SQL_FILE_ROWS),
        bytes: whole(&config::SQL_FILE_BYTES),
        row_bytes: whole(&config::SQL_FILE_ROW_BYTES),
        encoding: config.text(&config::SQL_FILE_ENCODING).map(str::to_owned),
        separator,
        header: Header::named(header)
            .ok_or_else(|| wrong(&config::SQL_FILE_HEADER, "auto, yes or no"))?,
    })
}

fn chain(config: &Config) -> Result<ChainMode, Failure> {
    let name = config.text(&config::SQL_CHAIN).unwrap_or_default();
    ChainMode::named(name).ok_or_else(|| {
        let origin = config.origin(&config::SQL_CHAIN).map(ToString::to_string);
        Failure::Usage(format!(
            "sql.chain ({}) must be budget or seed, not {name:?}",
            origin.unwrap_or_default()
        ))
    })
}

fn second_judge(config: &Config) -> Result<SecondJudge, Failure> {
    let name = config.text(&config::SQL_SECOND_JUDGE).unwrap_or_default();
    SecondJudge::named(name).ok_or_else(|| {
        let origin = config.origin(&config::SQL_SECOND_JUDGE);
        Failure::Usage(format!(
            "sql.second_judge ({}) must be auto, view or off, not {name:?}",
            origin.map(ToString::to_string).unwrap_or_default()
        ))
    })
}

fn sampling(config: &Config) -> Result<Sampling, Failure> {
    let name = config.text(&config::SQL_VALUES).unwrap_or_default();
    Sampling::named(name).ok_or_else(|| {
        let origin = config.origin(&config::SQL_VALUES).map(ToString::to_string);
        Failure::Usage(format!(
            "sql.values ({}) must be auto, on or off, not {name:?}",
            origin.unwrap_or_default()
        ))
    })
}

fn functions(config: &Config) -> Vec<String> {
    let names = config.texts(&config::SQL_FUNCTIONS).iter();
    names.map(|name| name.to_lowercase()).collect()
}

fn limits(config: &Config, [rows, bytes, time]: [&'static Setting; 3]) -> QueryLimits {
    QueryLimits {
        rows: config.size(rows),
        bytes: config.size(bytes),
        timeout: config.milliseconds(time),
    }
}

/// Words of the users: of the file, then of the table.
fn glossary(config: &Config) -> Result<Glossary, Failure> {
    let mut entries = match config.text(&config::SQL_GLOSSARY_FILE) {
        Some(path) => glossary_file("sql.glossary_file", path)?,
        None => Vec::new(),
    };
    let pairs = config.pairs(&config::SQL_GLOSSARY).iter();
    entries.extend(pairs.map(|(term, meanings)| (term.clone(), meanings_of(meanings))));
    Ok(Glossary { entries })
}

/// A map of terms, each with a text (`"orders, sales"`) or a list of texts.
///
/// # Errors
/// It cannot be read or is none; `asked_by` is the setting or flag that named it.
pub(crate) fn glossary_file(
    asked_by: &str,
    path: &str,
) -> Result<Vec<(String, Vec<String>)>, Failure> {
    let wrong = |what: String| Failure::Usage(format!("{asked_by}: {path}: {what}"));
    let data = source::data(path)?;
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
