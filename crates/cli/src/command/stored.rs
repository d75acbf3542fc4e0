//! `quillet agent|prompt|tool|var|ext`: what is in the store.

use std::sync::Arc;

use quillet::parts;
use quillet::settings::Settings;
use quillet_core::store::{Entry, Key, Kind, Store};
use quillet_core::{Diagnostic, Severity, json, nearest};
use quillet_prompt::{Definition, Snapshot};
use serde_json::{Value as Tree, json as tree};

use crate::agent_file;
use crate::args::Stored;
use crate::explain::Texts;
use crate::failure::Failure;
use crate::overlay::Overlay;
use crate::report::{self, Finding};
use crate::source;
use crate::terminal::{self, Stream};

pub(crate) async fn run(kind: Kind, command: &Stored, config: &Settings) -> Result<(), Failure> {
    let store = parts::store(config).await?;
    match command {
        Stored::List { json, .. } => list(kind, *json, store, config).await,
        Stored::Get { id, .. } => get(kind, id, store, config).await,
        Stored::Add {
            id, source, force, ..
        } => add(kind, id, source, *force, store, config).await,
        Stored::Rm { id, .. } => remove(kind, id, store.as_ref()).await,
    }
}

/// One row of a list.
struct Row {
    id: String,
    origin: String,
    diagnostics: Vec<Diagnostic>,
    valid: bool,
}

fn row<T>(definition: &Arc<Definition<T>>) -> Row {
    Row {
        id: definition.id.to_string(),
        origin: definition.origin.to_string(),
        diagnostics: definition.diagnostics.clone(),
        valid: definition.status() == "valid",
    }
}

fn rows(kind: Kind, snapshot: &Snapshot) -> Vec<Row> {
    match kind {
        Kind::Extension => snapshot.extensions.values().map(row).collect(),
        Kind::Prompt => snapshot.prompts.values().map(row).collect(),
        Kind::Tool => snapshot.tools.values().map(row).collect(),
        Kind::Environ | Kind::Agent | Kind::Database | Kind::Label => Vec::new(),
    }
}

async fn list(
    kind: Kind,
    json: bool,
    store: Arc<dyn Store>,
    config: &Settings,
) -> Result<(), Failure> {
    let rows = match kind {
        Kind::Environ => environs(store.as_ref()).await?,
        Kind::Agent => agents(store.as_ref()).await?,
        _ => {
            let catalogue = parts::catalogue(config, store)?;
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
            terminal::warning(&format!("{} is broken: {found}", row.id));
        }
    }
    Ok(())
}

fn described(row: &Row) -> Tree {
    let status = if row.valid { "valid" } else { "invalid" };
    let mut shown = tree!({"id": row.id, "status": status, "origin": row.origin});
    if !row.diagnostics.is_empty() {
        shown["diagnostics"] = tree!(row.diagnostics);
    }
    shown
}

async fn environs(store: &dyn Store) -> Result<Vec<Row>, Failure> {
    let entries = store.load(Kind::Environ).await?;
    let row = |entry: Entry| Row {
        id: entry.key.id(),
        origin: entry.origin.to_string(),
        valid: entry.problem.is_none(),
        diagnostics: entry.problem.into_iter().collect(),
    };
    Ok(entries.into_iter().map(row).collect())
}

async fn agents(store: &dyn Store) -> Result<Vec<Row>, Failure> {
    let entries = store.load(Kind::Agent).await?;
    let row = |entry: Entry| {
        let diagnostics = agent_file::wrong_with(&entry);
        Row {
            id: entry.key.id(),
            origin: entry.origin.to_string(),
            valid: diagnostics.is_empty(),
            diagnostics,
        }
    };
    Ok(entries.into_iter().map(row).collect())
}

async fn get(
    kind: Kind,
    id: &str,
    store: Arc<dyn Store>,
    config: &Settings,
) -> Result<(), Failure> {
    let keys = store.keys(kind).await?;
    if let Some(key) = keys.iter().find(|key| key.id() == id || key.as_str() == id) {
        let entries = store.entries(kind, std::slice::from_ref(key)).await?;
        match entries.into_iter().flatten().next() {
            Some(Entry {
                problem: Some(problem),
                ..
            }) if kind == Kind::Environ => {
                let message = format!("{id} is there and cannot be used: {problem}");
                return Err(Failure::Other(message));
            }
            Some(entry) => return Ok(terminal::line(&pretty(&entry.text))?),
            None => {}
        }
    }
    if kind == Kind::Prompt {
        return from_extension(id, store, config).await;
    }
    let ids: Vec<String> = keys.iter().map(Key::id).collect();
    Err(absent(kind, id, ids.iter().map(String::as_str)))
}

/// A prompt that an extension provides has no entry of its own.
async fn from_extension(id: &str, store: Arc<dyn Store>, config: &Settings) -> Result<(), Failure> {
    let catalogue = parts::catalogue(config, store)?;
    catalogue.load().await?;
    let snapshot = catalogue.snapshot();
    let definition = snapshot.prompt(id)?;
    definition.usable(Kind::Prompt)?;
    let raw = definition.raw().unwrap_or_default();
    Ok(terminal::line(&format!("{raw:#}"))?)
}

fn absent<'a>(kind: Kind, id: &str, known: impl Iterator<Item = &'a str>) -> Failure {
    let hint = nearest(id, known).map(|near| format!("; did you mean {near:?}?"));
    Failure::Other(format!(
        "{} {id:?} does not exist{}",
        kind.name(),
        hint.unwrap_or_default()
    ))
}

/// JSON as people read it, a script as its file has it; anything else as it is.
fn pretty(text: &str) -> String {
    if let Some(script) = quillet_prompt::script_source(text) {
        return script.trim_end().to_owned();
    }
    let value = serde_json::from_str::<Tree>(text);
    value.map_or_else(|_| text.to_owned(), |value| format!("{value:#}"))
}

async fn add(
    kind: Kind,
    id: &str,
    given: &str,
    force: bool,
    store: Arc<dyn Store>,
    config: &Settings,
) -> Result<(), Failure> {
    let key = key(kind, id, store.as_ref()).await?;
    let text = match kind {
        Kind::Environ => value(given)?,
        _ => source::definition(given, &source::read(given)?)?,
    };
    let found = wrong_with(kind, &key, &text, given, store.clone(), config).await?;
    let broken = found.iter().any(Finding::is_error);
    if broken && !force {
        let wrong = Failure::Findings(found);
        crate::tell(&wrong);
        terminal::note("nothing was written; --force writes it all the same");
        return Err(Failure::Said(wrong.exit()));
    }
    for finding in &found {
        terminal::note(report::show(finding, Stream::Err.has_colour()).trim_end());
    }
    store.put(kind, &key, &text).await?;
    terminal::note(&format!(
        "{} {} written to {}",
        kind.name(),
        key.id(),
        store.describe()
    ));
    Ok(())
}

/// The key of an id: the one that has it, or the id with colons for dots.
async fn key(kind: Kind, id: &str, store: &dyn Store) -> Result<Key, Failure> {
    let wrong = id.is_empty() || id.chars().any(|c| c.is_whitespace() || c.is_control());
    if wrong || id.split(['.', ':']).any(str::is_empty) {
        return Err(Failure::Usage(format!(
            "{id:?} is no id: names joined by dots, such as greet.hello, are"
        )));
    }
    let keys = store.keys(kind).await?;
    let known = keys
        .into_iter()
        .find(|key| key.id() == id || key.as_str() == id);
    Ok(known.unwrap_or_else(|| {
        Key::new(if id.contains(':') {
            id.to_owned()
        } else {
            id.replace('.', ":")
        })
    }))
}

/// A variable's value as JSON: from a file (`@FILE`, `-`), as JSON, or as text.
fn value(given: &str) -> Result<String, Failure> {
    let text = match given.strip_prefix('@') {
        Some(path) => source::read(path)?,
        None if given == "-" => source::read(given)?,
        None => given.to_owned(),
    };
    Ok(match json::parse(&text) {
        Ok(_) => text,
        Err(_) => json::to_string(&text.into()),
    })
}

/// What the definition would be if it were in the store.
async fn wrong_with(
    kind: Kind,
    key: &Key,
    text: &str,
    origin: &str,
    store: Arc<dyn Store>,
    config: &Settings,
) -> Result<Vec<Finding>, Failure> {
    let entry = Entry::new(key.clone(), text, source::shown(origin));
    if kind == Kind::Agent {
        let found = agent_file::wrong_with(&entry).into_iter();
        let finding = |diagnostic| Finding {
            diagnostic,
            text: Some(text.to_owned()),
        };
        return Ok(found.map(finding).collect());
    }
    let mut over = Overlay::new(store);
    over.add(kind, entry);
    let catalogue = parts::catalogue(config, Arc::new(over))?;
    catalogue.load().await?;
    let snapshot = catalogue.snapshot();
    let id = key.id();
    if kind == Kind::Prompt {
        let definition = snapshot.prompt(&id)?;
        let texts = Texts::of(definition, false, &snapshot);
        let mut found = texts.place(&definition.diagnostics);
        found.extend(unknown(texts.unknown_names(&catalogue, &[])));
        return Ok(found);
    }
    let row = rows(kind, &snapshot).into_iter().find(|row| row.id == id);
    let found = row.map(|row| row.diagnostics).unwrap_or_default();
    let finding = |diagnostic| Finding {
        diagnostic,
        text: Some(text.to_owned()),
    };
    Ok(found.into_iter().map(finding).collect())
}

/// Names that nobody has registered may be there when the prompt is used, so
/// they do not keep it from being written.
fn unknown(found: Vec<Finding>) -> impl Iterator<Item = Finding> {
    found.into_iter().map(|mut finding| {
        finding.diagnostic.severity = Severity::Warning;
        finding
    })
}

async fn remove(kind: Kind, id: &str, store: &dyn Store) -> Result<(), Failure> {
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
    let ids: Vec<String> = keys.iter().map(Key::id).collect();
    Err(absent(kind, id, ids.iter().map(String::as_str)))
}
