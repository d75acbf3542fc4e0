//! An open database session: the selected database, its store, and the model that writes queries.

use std::cell::Cell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{IsTerminal, stdin};
use std::sync::Arc;

use quillet::components;
use quillet::components::agents;
use quillet::components::demo_shop::DemoShop;
use quillet::components::traces::create_parent_folder;
use quillet::settings::{self, SettingOrigin, Settings};
use quillet_core::chat::ChatModel;
use quillet_core::store::Store;
use quillet_prompt::PromptService;
use quillet_sql::files::LoadedFiles;
use quillet_sql::{ConnectionDefinition, ConnectionUrl, Databases, SqlDialect, SqlError, demo};
use quillet_store::{ArchiveOptions, MemoryArchive, MemoryStore};

use super::prompts::PromptPrinter;
use super::target::{self, DEMO, DatabaseTarget};
use super::{failed, files, pgpass};
use crate::args::Sql;
use crate::databases::{self, QueryModel};
use crate::failure::CliError;
use crate::source;
use crate::terminal;

/// One database with its services.
#[derive(Debug)]
pub(super) struct SqlSession {
    pub(super) databases: Databases,
    /// Name of the database in the store.
    pub(super) name: String,
    /// Display name: a stored name, an address without its password, or file names.
    pub(super) label: String,
    /// Whether the mock model writes the queries. This is reported once.
    pub(super) is_mocked: Cell<bool>,
    /// Stored prompts that replace the built-in ones, alive as long as the session.
    _prompts: Option<Arc<PromptService>>,
    _shop: Option<DemoShop>,
    _files: Option<LoadedFiles>,
}

impl SqlSession {
    /// Opens the database selected by arguments and settings. It is not contacted yet.
    ///
    /// # Errors
    /// No database is selected and the choice is ambiguous, or a setting is invalid.
    pub(super) async fn open(args: &Sql, config: &Settings) -> Result<Self, CliError> {
        match named(args, config).await? {
            Some(target) => SqlSession::of(target, args, config).await,
            None => Err(CliError::Usage(
                "no database is set: pass --db NAME, --db postgresql://user@host/name, --db FILE.db or --db FILE.csv; try --db demo".into(),
            )),
        }
    }

    /// Like [`SqlSession::open`], but falls back to the demo. The flag tells whether it did.
    ///
    /// # Errors
    /// The same as [`SqlSession::open`].
    pub(super) async fn open_or_demo(
        args: &Sql,
        config: &Settings,
    ) -> Result<(Self, bool), CliError> {
        let named = named(args, config).await?;
        let is_demo = named.is_none();
        let target = named.unwrap_or(DatabaseTarget::Demo);
        Ok((SqlSession::of(target, args, config).await?, is_demo))
    }

    async fn of(target: DatabaseTarget, args: &Sql, config: &Settings) -> Result<Self, CliError> {
        if let DatabaseTarget::Named(name) = &target {
            known_name(name, config).await?;
        }
        let shop = match target {
            DatabaseTarget::Demo => Some(DemoShop::build()?),
            _ => None,
        };
        let files = match &target {
            DatabaseTarget::Files(paths) => Some(files::load(paths, config).await?),
            _ => None,
        };
        let store = store(&target, config).await?;
        let archive = match databases::archive(config).await {
            Ok(archive) => archive,
            // Questions about a file must work even if no archive can be opened.
            Err(_) => Arc::new(MemoryArchive::new(ArchiveOptions::default())),
        };
        let door = agents::models(config)?;
        let mut writer = databases::query_model(config, door)?;
        let is_mocked = (writer.is_none() && target == DatabaseTarget::Demo) || args.chain.dry_run;
        if is_mocked {
            writer = Some(mock());
        }
        let writer = writer.map(|writer| observed(writer, args));
        let stored = stored_prompts(config).await?;
        let prompts = match &stored {
            Some(stored) => databases::stored_prompts(stored)?,
            None => databases::built_in_prompts()?,
        };
        let databases = databases::service(config, store, archive, prompts, writer)?;
        let name = name(&target);
        let label = label(&target);
        if let Some(definition) =
            temporary_connection(&target, shop.as_ref(), files.as_ref(), args, config)?
        {
            let done = databases.add_temporary(&name, &definition);
            done.map_err(|error| failed::report_error(&error, None))?;
        }
        Ok(SqlSession {
            databases,
            name,
            label,
            is_mocked: Cell::new(is_mocked && !args.chain.dry_run),
            _prompts: stored,
            _shop: shop,
            _files: files,
        })
    }
}

/// Returns the prompts of the store, if one is configured.
async fn stored_prompts(config: &Settings) -> Result<Option<Arc<PromptService>>, CliError> {
    if matches!(
        config.origin(&settings::STORE_URL),
        None | Some(SettingOrigin::Default)
    ) {
        return Ok(None);
    }
    let store = components::store(config).await?;
    let service = components::service(config, store, None, Arc::default())?;
    service.load().await?;
    Ok(Some(Arc::new(service)))
}

/// Loads the stored connections with the cached data about their databases.
///
/// # Errors
/// The store cannot be opened.
pub(super) async fn load_databases(config: &Settings) -> Result<Databases, CliError> {
    let store = connections(config).await?;
    let archive = databases::archive(config).await?;
    Ok(databases::without_model(config, store, archive)?)
}

/// Opens the store with the connections.
///
/// # Errors
/// The store cannot be opened.
async fn connections(config: &Settings) -> Result<Arc<dyn Store>, CliError> {
    let address = config.text(&settings::STORE_URL).unwrap_or_default();
    if let Some(path) = address.strip_prefix("sqlite:") {
        create_parent_folder(path.as_ref())?;
    }
    Ok(components::store(config).await?)
}

/// Returns the database selected by arguments and settings, or the only stored one.
///
/// # Errors
/// The store has several databases, or the selected one is invalid.
async fn named(args: &Sql, config: &Settings) -> Result<Option<DatabaseTarget>, CliError> {
    if args.with.db.len() > 1 {
        return target::together(&args.with.db).map(Some);
    }
    match config.text(&settings::SQL_DATABASE) {
        Some(text) => DatabaseTarget::of(text).map(Some),
        None => the_only_one(config).await,
    }
}

/// Returns the only stored database, if none is selected.
async fn the_only_one(config: &Settings) -> Result<Option<DatabaseTarget>, CliError> {
    let databases = load_databases(config).await?;
    let known = databases
        .list()
        .await
        .map_err(|error| failed::report_error(&error, None))?;
    match known.as_slice() {
        [only] => Ok(Some(DatabaseTarget::Named(only.name.clone()))),
        [] => Ok(None),
        several => {
            let names: Vec<&str> = several.iter().map(|it| it.name.as_str()).collect();
            Err(CliError::Usage(format!(
                "several databases are stored; pass --db with one of them: {}",
                names.join(", ")
            )))
        }
    }
}

/// Checks that a connection with this name exists, and suggests the most similar one if not.
///
/// # Errors
/// The connection does not exist, or the store is unavailable.
async fn known_name(name: &str, config: &Settings) -> Result<(), CliError> {
    let databases = load_databases(config).await?;
    let told = |error| failed::report_error(&error, None);
    let known = databases.list().await.map_err(told)?;
    if known.iter().any(|it| it.name == name) {
        return Ok(());
    }
    let names = known.iter().map(|it| it.name.as_str()).chain([DEMO]);
    let error = SqlError::NotFound {
        what: "database",
        name: name.to_owned(),
        nearest: quillet_core::nearest(name, names).map(str::to_owned),
    };
    let failure = failed::report_error(&error, None);
    if std::path::Path::new(name).exists() {
        terminal::note(&format!("a file has that name: use --db ./{name}"));
    }
    Err(failure)
}

/// Returns the store with the selected connection, or an empty store if the database is not stored.
async fn store(target: &DatabaseTarget, config: &Settings) -> Result<Arc<dyn Store>, CliError> {
    match target {
        DatabaseTarget::Named(_) => connections(config).await,
        DatabaseTarget::Demo | DatabaseTarget::Address(_) | DatabaseTarget::Files(_) => {
            Ok(Arc::new(MemoryStore::new()))
        }
    }
}

/// Creates the connection of a database that is not stored.
fn temporary_connection(
    target: &DatabaseTarget,
    shop: Option<&DemoShop>,
    files: Option<&LoadedFiles>,
    args: &Sql,
    config: &Settings,
) -> Result<Option<ConnectionDefinition>, CliError> {
    let url = match target {
        DatabaseTarget::Named(_) => return Ok(None),
        DatabaseTarget::Demo => return Ok(shop.map(DemoShop::definition)),
        DatabaseTarget::Files(_) => return Ok(files.map(files::definition)),
        DatabaseTarget::Address(url) => with_password(url.clone(), args.with.password)?,
    };
    Ok(Some(ConnectionDefinition {
        url: url.secret_text().to_owned(),
        ssl_disabled: config.is_on(&settings::SQL_SSL_DISABLED),
        ..ConnectionDefinition::default()
    }))
}

fn label(target: &DatabaseTarget) -> String {
    match target {
        DatabaseTarget::Demo => DEMO.to_owned(),
        DatabaseTarget::Named(name) => name.clone(),
        DatabaseTarget::Address(url) => url.to_string(),
        DatabaseTarget::Files(paths) => {
            let names = paths.iter().filter_map(|path| path.file_name());
            let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
            names.join(", ")
        }
    }
}

/// Returns a unique name, so that stored data of different databases is not mixed.
fn name(target: &DatabaseTarget) -> String {
    match target {
        DatabaseTarget::Demo => DEMO.to_owned(),
        DatabaseTarget::Named(name) => name.clone(),
        DatabaseTarget::Address(url) => {
            let mut hasher = DefaultHasher::new();
            url.to_string().hash(&mut hasher);
            format!("{}-{:016x}", url.dialect.name(), hasher.finish())
        }
        DatabaseTarget::Files(paths) => files::name(paths),
    }
}

/// Adds the password to an address: typed by the user, or from the variable of the database's own
/// clients.
///
/// # Errors
/// The password could not be read.
pub(super) fn with_password(url: ConnectionUrl, asks: bool) -> Result<ConnectionUrl, CliError> {
    if asks {
        return Ok(url.with_password(&read_password()?));
    }
    let variable = match url.dialect {
        SqlDialect::PostgreSql => "PGPASSWORD",
        SqlDialect::MySql => "MYSQL_PWD",
        SqlDialect::Sqlite => return Ok(url),
    };
    let known = std::env::var(variable).ok().filter(|text| !text.is_empty());
    let known = match url.dialect {
        SqlDialect::PostgreSql if url.password.is_none() => {
            known.or_else(|| pgpass::password(&url))
        }
        _ => known,
    };
    Ok(match known {
        Some(password) if url.password.is_none() => url.with_password(&password),
        _ => url,
    })
}

fn read_password() -> Result<String, CliError> {
    let text = if stdin().is_terminal() {
        terminal::hidden("password: ")?
    } else {
        source::read("-")?
    };
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}

fn mock() -> QueryModel {
    QueryModel {
        model: Arc::new(demo::RecordedModel),
        name: Some("mock".to_owned()),
    }
}

fn observed(writer: QueryModel, args: &Sql) -> QueryModel {
    if !args.chain.show_prompts && !args.chain.dry_run {
        return writer;
    }
    let shown = PromptPrinter::new(writer.model, args.chain.dry_run);
    QueryModel {
        model: Arc::new(shown) as Arc<dyn ChatModel>,
        ..writer
    }
}
