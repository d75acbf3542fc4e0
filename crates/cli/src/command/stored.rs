//! `quillet agent|prompt|tool|var|ext`: definitions in the store.

use std::sync::Arc;

use quillet::components;
use quillet::settings::Settings;
use quillet_core::store::{EntryKey, EntryKind, Store, StoreEntry};
use quillet_core::{Diagnostic, Severity, json, nearest};
use quillet_host::definitions::Write;
use quillet_prompt::{CatalogueSnapshot, Definition};
use serde_json::{Value as Tree, json as tree};

use crate::agent_file;
use crate::args::DefinitionCommand;
use crate::command::history::checked::{findings, reject_errors};
use crate::command::history::store_session::StoreSession;
use crate::failure::CliError;
use crate::source;
use crate::terminal;

pub(crate) async fn run(
    kind: EntryKind,
    command: &DefinitionCommand,
    config: &Settings,
) -> Result<(), CliError> {
    let store = components::store(config).await?;
    match command {
        DefinitionCommand::List { json, .. } => list(kind, *json, store, config).await,
        DefinitionCommand::Get { id, .. } => get(kind, id, store, config).await,
        DefinitionCommand::Add {
            id,
            source,
            force,
            why,
            ..
        } => {
            let given = NewDefinition {
                kind,
                id,
                source,
                force: *force,
                message: &why.message,
            };
            add(given, store, config).await
        }
        DefinitionCommand::Rm { id, why, .. } if kind.has_versions() => {
            let work = StoreSession::over(store, config)?;
            work.remove(kind, id, &why.message).await
        }
        DefinitionCommand::Rm { id, .. } => remove(id, store.as_ref()).await,
    }
}

/// One row of a list.
struct ListRow {
    id: String,
    origin: String,
    diagnostics: Vec<Diagnostic>,
    valid: bool,
}

fn row<T>(definition: &Arc<Definition<T>>) -> ListRow {
    ListRow {
        id: definition.id.to_string(),
        origin: definition.origin.to_string(),
        diagnostics: definition.diagnostics.clone(),
        valid: definition.status() == "valid",
    }
}

fn rows(kind: EntryKind, snapshot: &CatalogueSnapshot) -> Vec<ListRow> {
    match kind {
        EntryKind::Extension => snapshot.extensions.values().map(row).collect(),
        EntryKind::Prompt => snapshot.prompts.values().map(row).collect(),
        EntryKind::Tool => snapshot.tools.values().map(row).collect(),
        EntryKind::Environ | EntryKind::Agent | EntryKind::Database | EntryKind::Label => {
            Vec::new()
        }
    }
}

async fn list(
    kind: EntryKind,
    json: bool,
    store: Arc<dyn Store>,
    config: &Settings,
) -> Result<(), CliError> {
    let rows = match kind {
        EntryKind::Environ => environs(store.as_ref()).await?,
        EntryKind::Agent => agents(store.as_ref()).await?,
        _ => {
            let catalogue = components::catalogue(config, store)?;
            catalogue.load().await?;
            rows(kind, &catalogue.snapshot())
        }
    };
    if json {
        let list: Vec<Tree> = rows.iter().map(described).collect();
        return Ok(terminal::line(&format!("{:#}", Tree::from(list)))?);
    }
    let ids: String = rows.iter().map(|row| format!("{}\n", row.id)).collect();
    terminal::result(&ids)?;
    for row in rows.iter().filter(|row| !row.valid) {
        let errors = row
            .diagnostics
            .iter()
            .filter(|found| found.severity == Severity::Error);
        for found in errors {
            terminal::warning(&format!("{} is invalid: {found}", row.id));
        }
    }
    Ok(())
}

fn described(row: &ListRow) -> Tree {
    let status = if row.valid { "valid" } else { "invalid" };
    let mut shown = tree!({"id": row.id, "status": status, "origin": row.origin});
    if !row.diagnostics.is_empty() {
        shown["diagnostics"] = tree!(row.diagnostics);
    }
    shown
}

async fn environs(store: &dyn Store) -> Result<Vec<ListRow>, CliError> {
    let entries = store.load(EntryKind::Environ).await?;
    let row = |entry: StoreEntry| ListRow {
        id: entry.key.id(),
        origin: entry.origin.to_string(),
        valid: entry.problem.is_none(),
        diagnostics: entry.problem.into_iter().collect(),
    };
    Ok(entries.into_iter().map(row).collect())
}

async fn agents(store: &dyn Store) -> Result<Vec<ListRow>, CliError> {
    let entries = store.load(EntryKind::Agent).await?;
    let row = |entry: StoreEntry| {
        let diagnostics = agent_file::diagnostics(&entry);
        ListRow {
            id: entry.key.id(),
            origin: entry.origin.to_string(),
            valid: diagnostics.is_empty(),
            diagnostics,
        }
    };
    Ok(entries.into_iter().map(row).collect())
}

async fn get(
    kind: EntryKind,
    id: &str,
    store: Arc<dyn Store>,
    config: &Settings,
) -> Result<(), CliError> {
    let keys = store.keys(kind).await?;
    if let Some(key) = keys.iter().find(|key| key.id() == id || key.as_str() == id) {
        let entries = store.entries(kind, std::slice::from_ref(key)).await?;
        match entries.into_iter().flatten().next() {
            Some(StoreEntry {
                problem: Some(problem),
                ..
            }) if kind == EntryKind::Environ => {
                let message = format!("{id} exists but cannot be used: {problem}");
                return Err(CliError::Other(message));
            }
            Some(entry) => return Ok(terminal::line(&pretty(&entry.text))?),
            None => {}
        }
    }
    if kind == EntryKind::Prompt {
        return from_extension(id, store, config).await;
    }
    let ids: Vec<String> = keys.iter().map(EntryKey::id).collect();
    Err(absent(kind, id, ids.iter().map(String::as_str)))
}

/// Returns a prompt that an extension provides, which has no separate entry.
async fn from_extension(
    id: &str,
    store: Arc<dyn Store>,
    config: &Settings,
) -> Result<(), CliError> {
    let catalogue = components::catalogue(config, store)?;
    catalogue.load().await?;
    let snapshot = catalogue.snapshot();
    let definition = snapshot.prompt(id)?;
    definition.usable(EntryKind::Prompt)?;
    let raw = definition.raw().unwrap_or_default();
    Ok(terminal::line(&format!("{raw:#}"))?)
}

fn absent<'a>(kind: EntryKind, id: &str, known: impl Iterator<Item = &'a str>) -> CliError {
    let hint = nearest(id, known).map(|near| format!("; did you mean {near:?}?"));
    CliError::Other(format!(
        "{} {id:?} does not exist{}",
        kind.name(),
        hint.unwrap_or_default()
    ))
}

/// Indents JSON and extracts the text of a script; returns other text unchanged.
pub(crate) fn pretty(text: &str) -> String {
    if let Some(script) = quillet_prompt::script_source(text) {
        return script.trim_end().to_owned();
    }
    let value = serde_json::from_str::<Tree>(text);
    value.map_or_else(|_| text.to_owned(), |value| format!("{value:#}"))
}

/// A definition to add.
struct NewDefinition<'a> {
    kind: EntryKind,
    id: &'a str,
    source: &'a str,
    force: bool,
    message: &'a str,
}

async fn add(
    given: NewDefinition<'_>,
    store: Arc<dyn Store>,
    config: &Settings,
) -> Result<(), CliError> {
    let NewDefinition {
        kind, id, source, ..
    } = given;
    // Variables have no versions, so they are written directly.
    if kind == EntryKind::Environ {
        let key = key(id, store.as_ref()).await?;
        store.put(kind, &key, &value(source)?).await?;
        let place = store.describe();
        terminal::note(&format!("{} {} written to {place}", kind.name(), key.id()));
        return Ok(());
    }
    let work = StoreSession::over(store.clone(), config)?;
    let key = work.key(kind, id).await?;
    let text = source::definition(source, &source::read(source)?)?;
    let entry = StoreEntry::new(key, text.as_str(), source::display_name(source));
    let id = entry.key.id();
    let found = findings(&[(kind, entry)], store.clone(), config).await?;
    reject_errors(&found, given.force, "save it anyway with --force")?;
    let write = Write {
        message: given.message,
        ..Write::new(kind, &id, text)
    };
    let committed = work.write(write).await?.committed;
    let number = committed.version.number;
    let place = store.describe();
    let (kind, what) = if committed.is_new {
        (
            kind.name(),
            format!("written to {place} as version {number}"),
        )
    } else {
        (
            kind.name(),
            format!("is identical to version {number} in {place}"),
        )
    };
    terminal::note(&format!("{kind} {id} {what}"));
    Ok(())
}

/// Returns the key of a shared variable: the existing one for the id, or the id with colons for
/// dots.
async fn key(id: &str, store: &dyn Store) -> Result<EntryKey, CliError> {
    let wrong = id.is_empty() || id.chars().any(|c| c.is_whitespace() || c.is_control());
    if wrong || id.split(['.', ':']).any(str::is_empty) {
        return Err(CliError::Usage(format!(
            "invalid id {id:?}: use dot-separated names, such as greet.hello"
        )));
    }
    let keys = store.keys(EntryKind::Environ).await?;
    let known = keys
        .into_iter()
        .find(|key| key.id() == id || key.as_str() == id);
    Ok(known.unwrap_or_else(|| {
        EntryKey::new(if id.contains(':') {
            id.to_owned()
        } else {
            id.replace('.', ":")
        })
    }))
}

/// Returns the value of a variable as JSON: from a file (`@FILE`, `-`), JSON or text.
fn value(given: &str) -> Result<String, CliError> {
    let text = match given.strip_prefix('@') {
        Some(path) => source::read(path)?,
        None if given == "-" => source::read(given)?,
        None => given.to_owned(),
    };
    Ok(match json::parse(&text) {
        Ok(_) => text,
        // Text that is not JSON is stored as a string, because quotes would be inconvenient on a
        // command line.
        Err(_) => json::to_string(&text.into()),
    })
}

/// Removes a shared variable.
async fn remove(id: &str, store: &dyn Store) -> Result<(), CliError> {
    let kind = EntryKind::Environ;
    let keys = store.keys(kind).await?;
    let known = keys.iter().find(|key| key.id() == id || key.as_str() == id);
    let removed = match known {
        Some(key) => store.remove(kind, key).await?,
        None => false,
    };
    if removed {
        terminal::note(&format!(
            "{} {id} removed from {}",
            kind.name(),
            store.describe()
        ));
        return Ok(());
    }
    let ids: Vec<String> = keys.iter().map(EntryKey::id).collect();
    Err(absent(kind, id, ids.iter().map(String::as_str)))
}
