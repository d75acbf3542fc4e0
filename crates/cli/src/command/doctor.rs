//! `quillet doctor`: checks that the configuration works.

use std::time::Duration;

use jiff::civil::Date;
use quillet::components;
use quillet::components::agents;
use quillet::settings::keys::KeyFile;
use quillet::settings::{self, Setting, Settings};
use quillet_core::chat::ChatModel;
use quillet_core::store::{EntryKind, Health, StoreEntry};
use quillet_core::{Diagnostic, Exit};
use quillet_llm::Provider;
use quillet_llm::models::{Vendor, today};
use quillet_prompt::{Catalogue, CatalogueSnapshot, Definition};
use tokio::net::{TcpListener, TcpStream};

use crate::args::Doctor;
use crate::databases;
use crate::deprecations;
use crate::failure::CliError;
use crate::refusals;
use crate::terminal::{self, Stream, TextStyle};

/// Timeout of a test connection to a provider.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Clone, Copy, PartialEq, Eq)]
enum CheckStatus {
    Fine,
    Mind,
    Broken,
}

/// One line of the report: status, subject and text.
struct CheckLine(CheckStatus, &'static str, String);

pub(crate) async fn run(args: &Doctor, config: &Settings) -> Result<(), CliError> {
    let mut lines = vec![files(config)];
    lines.extend(keys());
    let today = today();
    lines.extend(store(config, today).await);
    if !args.offline {
        lines.extend(connections(config).await);
    }
    lines.extend(models(config, args.offline).await);
    lines.extend(configured_deprecations(config, today));
    lines.push(port(config).await);
    let colour = Stream::Out.has_colour();
    let shown: String = lines.iter().map(|line| shown(line, colour)).collect();
    terminal::result(&shown)?;
    if lines
        .iter()
        .any(|CheckLine(verdict, ..)| *verdict == CheckStatus::Broken)
    {
        Err(CliError::Said(Exit::Failure))
    } else {
        Ok(())
    }
}

fn shown(CheckLine(verdict, what, text): &CheckLine, colour: bool) -> String {
    let (word, style) = match verdict {
        CheckStatus::Fine => ("ok  ", TextStyle::Green),
        CheckStatus::Mind => ("warn", TextStyle::Yellow),
        CheckStatus::Broken => ("fail", TextStyle::Red),
    };
    format!(
        "{}  {what:8} {text}\n",
        terminal::styled(word, style, colour)
    )
}

fn files(config: &Settings) -> CheckLine {
    let names: Vec<String> = config
        .files()
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let text = if names.is_empty() {
        "no file; using defaults and the environment".to_owned()
    } else {
        names.join(", ")
    };
    CheckLine(CheckStatus::Fine, "config", text)
}

async fn store(config: &Settings, today: Date) -> Vec<CheckLine> {
    let line = |verdict, text: String| vec![CheckLine(verdict, "store", text)];
    let store = match components::optional_store(config).await {
        Ok(Some(store)) => store,
        Ok(None) => {
            // Only a warning, because many commands need no store.
            let fix = "no store is set; set store.url, QUILLET_STORE or REDIS_URL";
            return line(CheckStatus::Mind, fix.into());
        }
        Err(failure) => return line(CheckStatus::Broken, failure.to_string()),
    };
    let name = store.describe();
    match components::catalogue(config, store.clone()) {
        Err(failure) => vec![CheckLine(CheckStatus::Broken, "tools", failure.to_string())],
        Ok(catalogue) => match load(&catalogue).await {
            Ok(environs) => {
                let snapshot = catalogue.snapshot();
                // A failure to read agents is reported by the commands that need them.
                let agents = store.load(EntryKind::Agent).await.unwrap_or_default();
                let mut lines = contents(&name, &snapshot, environs);
                lines.extend(stored_models(&snapshot, &agents, today));
                lines
            }
            Err(reason) => {
                let fix = "check that it is running and that store.url is correct";
                line(CheckStatus::Broken, format!("{reason}; {fix}"))
            }
        },
    }
}

/// Loads the catalogue; returns the number of shared variables, or why the store is unavailable.
async fn load(catalogue: &Catalogue) -> Result<usize, String> {
    let store = catalogue.store();
    let loaded = match catalogue.load().await {
        Ok(()) => store.keys(EntryKind::Environ).await,
        Err(error) => Err(error),
    };
    loaded
        .map(|keys| keys.len())
        .map_err(|error| match store.health() {
            Health::Away { reason } => reason,
            Health::Ready => error.message,
        })
}

fn contents(name: &str, snapshot: &CatalogueSnapshot, environs: usize) -> Vec<CheckLine> {
    let CatalogueSnapshot {
        extensions,
        prompts,
        tools,
        ..
    } = snapshot;
    let text = format!(
        "{name}: {} extensions, {} prompts, {} tools, {environs} variables",
        extensions.len(),
        prompts.len(),
        tools.len()
    );
    let mut lines = vec![CheckLine(CheckStatus::Fine, "store", text)];
    lines.extend(extensions.values().flat_map(|it| found("ext", it)));
    lines.extend(prompts.values().flat_map(|it| found("prompt", it)));
    lines.extend(tools.values().flat_map(|it| found("tool", it)));
    lines
}

fn found<T>(what: &'static str, definition: &Definition<T>) -> Vec<CheckLine> {
    let verdict = match definition.status() {
        "valid" => CheckStatus::Mind,
        _ => CheckStatus::Broken,
    };
    let line = |found| CheckLine(verdict, what, format!("{}: {found}", definition.id));
    definition.diagnostics.iter().map(line).collect()
}

/// Returns warnings for models of prompts and agents: deprecations and refused parameters.
fn stored_models(
    snapshot: &CatalogueSnapshot,
    agents: &[StoreEntry],
    today: Date,
) -> Vec<CheckLine> {
    let said = |what, id: &str, found: Diagnostic| {
        let help = found.help.unwrap_or_default();
        CheckLine(
            CheckStatus::Mind,
            what,
            format!("{id}: {}; {help}", found.message),
        )
    };
    let prompts = snapshot.prompts.values().flat_map(|prompt| {
        let ending = deprecations::of_prompt(prompt, today);
        let found = ending.into_iter().chain(refusals::of_prompt(prompt));
        found.map(|found| said("prompt", &prompt.id, found))
    });
    let agents = agents.iter().flat_map(|agent| {
        let ending = deprecations::of_agent(agent, today);
        let found = ending.into_iter().chain(refusals::of_agent(agent));
        found.map(|found| said("agent", &agent.key.id(), found))
    });
    prompts.chain(agents).collect()
}

/// Returns deprecation warnings for configured models.
fn configured_deprecations(config: &Settings, today: Date) -> Vec<CheckLine> {
    let said = |setting: &'static Setting| {
        let ending = deprecations::of_model(config.text(setting)?, today)?;
        Some(CheckLine(
            CheckStatus::Mind,
            "model",
            format!("{}: {ending}", setting.key),
        ))
    };
    let named = [&settings::MODEL, &settings::SQL_MODEL];
    named.into_iter().filter_map(said).collect()
}

/// Checks the stored databases: connection, and privileges beyond reading.
async fn connections(config: &Settings) -> Vec<CheckLine> {
    // A missing or unavailable store was reported by `store`.
    let Ok(Some(store)) = components::optional_store(config).await else {
        return Vec::new();
    };
    let line = |finding| match finding {
        databases::DoctorFinding::Fine(text) => CheckLine(CheckStatus::Fine, "database", text),
        databases::DoctorFinding::Mind(text) => CheckLine(CheckStatus::Mind, "database", text),
        databases::DoctorFinding::Broken(text) => CheckLine(CheckStatus::Broken, "database", text),
    };
    let found = databases::check_databases(config, store).await;
    found.into_iter().map(line).collect()
}

/// Checks the user's key file, if it exists.
fn keys() -> Option<CheckLine> {
    let file = KeyFile::of_user()?;
    let path = file.path().display();
    if file.is_open_to_others() {
        let text = format!("{path} is readable by other users; run `chmod 600 {path}`");
        return Some(CheckLine(CheckStatus::Mind, "keys", text));
    }
    // The configuration has read the file, so it is valid.
    let keys = file.read().ok().filter(|keys| !keys.is_empty())?;
    let names: Vec<&str> = keys.iter().map(|(provider, _)| provider.name()).collect();
    let text = format!("{path}: {}", names.join(", "));
    Some(CheckLine(CheckStatus::Fine, "keys", text))
}

/// Checks each provider with a key or an address, and the default model.
async fn models(config: &Settings, offline: bool) -> Vec<CheckLine> {
    let line = |verdict, text: String| CheckLine(verdict, "model", text);
    let door = match agents::models(config) {
        Ok(door) => door,
        Err(failure) => return vec![line(CheckStatus::Broken, failure.to_string())],
    };
    let mut lines = Vec::new();
    let default = door.default_model();
    if default.is_some_and(|name| door.choose(name).0 == Vendor::Mock) {
        let text = "mock: answers without a model".to_owned();
        lines.push(line(CheckStatus::Mind, text));
    }
    let vendors = door.configured();
    if vendors.is_empty() && default.is_none() {
        let fix = "no model is set, so prompts can only be rendered; set OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY or OPENAI_BASE_URL, or QUILLET_MODEL=mock";
        return vec![line(CheckStatus::Mind, fix.into())];
    }
    // The provider of the configured model is listed first, even if it cannot be reached.
    let chosen = default.map(|name| door.choose(name).0);
    let chosen = chosen.filter(|vendor| *vendor != Vendor::Mock);
    let others = vendors
        .into_iter()
        .filter(|vendor| chosen.is_none_or(|chosen| chosen.name() != vendor.name()));
    for vendor in chosen.into_iter().chain(others) {
        let (verdict, text) = match door.provider(vendor) {
            Ok(provider) => check_provider(&provider, default, offline).await,
            Err(error) => (CheckStatus::Broken, error.message),
        };
        lines.push(line(verdict, text));
    }
    lines
}

/// Checks that a provider is configured and reachable.
async fn check_provider(
    provider: &Provider,
    default: Option<&str>,
    offline: bool,
) -> (CheckStatus, String) {
    let name = provider.describe();
    if let Some(missing) = provider.configuration_error(default) {
        return (CheckStatus::Broken, missing.message);
    }
    if offline {
        return (CheckStatus::Fine, format!("{name}: not contacted"));
    }
    let (host, port) = provider.host();
    // Only a TCP connection is opened, because a request would cost money or need a valid key.
    match tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect((host, port))).await {
        Ok(Ok(_)) => (CheckStatus::Fine, format!("{name}: reachable")),
        Ok(Err(error)) => (
            CheckStatus::Broken,
            format!("{name}: {error}; check that it is running and the address is correct"),
        ),
        Err(_) => (
            CheckStatus::Broken,
            format!(
                "{name}: no connection within {CONNECT_TIMEOUT:?}; check whether a proxy is needed"
            ),
        ),
    }
}

async fn port(config: &Settings) -> CheckLine {
    let address = config.text(&settings::LISTEN).unwrap_or_default();
    match TcpListener::bind(address).await {
        // The listener is dropped immediately, so the port is free again.
        Ok(_) => CheckLine(CheckStatus::Fine, "port", format!("{address} is free")),
        Err(error) => CheckLine(
            CheckStatus::Broken,
            "port",
            format!("{address}: {error}; set server.listen or QUILLET_LISTEN"),
        ),
    }
}
