//! A database that can be asked: which one is meant, where it is stored, which model writes
//! queries.

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

/// One database and everything that answers for it.
#[derive(Debug)]
pub(super) struct SqlSession {
    pub(super) databases: Databases,
    /// Its name there.
    pub(super) name: String,
    /// What people call it: a name, an address without its password, names of files.
    pub(super) label: String,
    /// Whether the mock writes queries although nobody named it, which is reported once.
    pub(super) is_mocked: Cell<bool>,
    /// Prompts of the store that take the place of the chain's own, as long as it lives.
    _prompts: Option<Arc<PromptService>>,
    _shop: Option<DemoShop>,
    _files: Option<LoadedFiles>,
}

impl SqlSession {
    /// The database that the arguments and settings name. Nothing is asked of it yet.
    ///
    /// # Errors
    /// None is named and it is not clear which one is meant, or a setting is wrong.
    pub(super) async fn open(args: &Sql, config: &Settings) -> Result<Self, CliError> {
        match named(args, config).await? {
            Some(target) => SqlSession::of(target, args, config).await,
            None => Err(CliError::Usage(
                "no database is set: pass --db NAME, --db postgresql://user@host/name, --db FILE.db or --db FILE.csv; try --db demo".into(),
            )),
        }
    }

    /// The same, and the demo where there is no other; `true` for that.
    ///
    /// # Errors
    /// As [`SqlSession::open`].
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
            // A question to a file is answered even where nothing can be stored.
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
            temporary_connection(&target, (shop.as_ref(), files.as_ref()), args, config)?
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

/// The prompts of the store, if one is configured.
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

/// The connections of the store, and what is known of their databases.
///
/// # Errors
/// It cannot be opened.
pub(super) async fn load_databases(config: &Settings) -> Result<Databases, CliError> {
    let store = connections(config).await?;
    let archive = databases::archive(config).await?;
    Ok(databases::without_model(config, store, archive)?)
}

/// The store that holds connections.
///
/// # Errors
/// It cannot be opened.
async fn connections(config: &Settings) -> Result<Arc<dyn Store>, CliError> {
    let address = config.text(&settings::STORE_URL).unwrap_or_default();
    if let Some(path) = address.strip_prefix("sqlite:") {
        create_parent_folder(path.as_ref())?;
    }
    Ok(components::store(config).await?)
}

/// The database that the arguments and settings name, or the only one of the store.
///
/// # Errors
/// There are several, or what is named cannot be used.
async fn named(args: &Sql, config: &Settings) -> Result<Option<DatabaseTarget>, CliError> {
    if args.with.db.len() > 1 {
        return target::together(&args.with.db).map(Some);
    }
    match config.text(&settings::SQL_DATABASE) {
        Some(text) => DatabaseTarget::of(text).map(Some),
        None => the_only_one(config).await,
    }
}

/// Where no database is named: the only one there is.
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

/// Whether there is a connection of that name; what else was meant, if one is most like it.
///
/// # Errors
/// There is none, or the store does not answer.
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

/// The store whose connections are meant, or an empty one for what is named otherwise.
async fn store(target: &DatabaseTarget, config: &Settings) -> Result<Arc<dyn Store>, CliError> {
    match target {
        DatabaseTarget::Named(_) => connections(config).await,
        DatabaseTarget::Demo | DatabaseTarget::Address(_) | DatabaseTarget::Files(_) => {
            Ok(Arc::new(MemoryStore::new()))
        }
    }
}

/// What has to be known of a database that is in no store.
fn temporary_connection(
    target: &DatabaseTarget,
    (shop, files): (Option<&DemoShop>, Option<&LoadedFiles>),
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

/// A name that no other database has, so that what is stored about it is its own.
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

/// The address with the password that was asked for, or that the variable of the
/// server's own clients holds.
///
/// # Errors
/// No password was read.
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
        model: Arc::new(demo::WordMatcher),
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
