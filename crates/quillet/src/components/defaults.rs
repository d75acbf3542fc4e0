//! Tests that the documented default of each setting equals the default in the code.

use std::fmt::Debug;

use quillet_core::batch::BatchOptions;
use quillet_host::agent::AgentOptions;
use quillet_host::definitions::DefinitionOptions;
use quillet_host::script::ScriptOptions;
use quillet_llm::{HttpOptions, SpendingOptions, Timeouts};
use quillet_prompt::Variables;
use quillet_script::host;
use quillet_server::ServerConfig;
use quillet_sql::SqlConfig;
use quillet_sql::files::FileOptions;
use quillet_store::{JournalOptions, RunOptions, StoreOptions};
use quillet_template::{CompileLimits, RenderLimits};

use super::{
    agents, batches, budgets, compile_limits, databases, definition_options, http_options, limits,
    patience, scripts, serving, store_options, timeouts,
};
use crate::error::Error;
use crate::settings::{ALL, Setting, SettingType, Settings};

/// Settings without a counterpart in a type's `Default`: they are arguments of one function, or
/// only the program reads them.
const ONLY_SETTINGS: [&str; 10] = [
    "server.named_counts",
    "store.history",
    "model.include_usage",
    "model.rate_wait_ms",
    "budget.alone",
    "agent.own_keys",
    "otlp.service_name",
    "render.cache",
    "terminal.raw",
    "log.json",
];

/// Returns the debug output of everything created from settings.
fn made(settings: &Settings) -> Result<String, Error> {
    Ok(said(&(
        serving::server_config(settings)?,
        store_options(settings),
        (
            timeouts(settings),
            http_options(settings),
            patience(settings),
        ),
        (
            agents::options(settings),
            budgets::options(settings)?,
            agents::run_options(settings),
            agents::journal_options(settings),
        ),
        batches::options(settings),
        (
            (limits(settings), compile_limits(settings)),
            scripts::limits(settings),
        ),
        definition_options(settings),
        scripts::stored_options(settings)?,
        databases::sql_config(settings)?,
        databases::file_options(settings)?,
    )))
}

fn of_the_code() -> String {
    said(&(
        ServerConfig::default(),
        StoreOptions::default(),
        (
            Timeouts::default(),
            HttpOptions::default(),
            Variables::PATIENCE,
        ),
        (
            AgentOptions::default(),
            SpendingOptions::default(),
            RunOptions::default(),
            JournalOptions::default(),
        ),
        BatchOptions::default(),
        (
            (RenderLimits::default(), CompileLimits::default()),
            host::ScriptLimits::default(),
        ),
        DefinitionOptions::default(),
        ScriptOptions::with_javascript(Settings::default().javascript()),
        SqlConfig::default(),
        FileOptions::default(),
    ))
}

fn said(all: &impl Debug) -> String {
    format!("{all:#?}")
}

#[test]
fn a_default_stands_once() {
    assert_eq!(made(&Settings::default()).unwrap(), of_the_code());
}

#[test]
fn every_other_default_is_of_a_setting_alone() {
    let usual = of_the_code();
    let with_default = ALL.iter().filter(|setting| !setting.default.is_empty());
    let alone = with_default.filter(|setting| {
        !others(setting).iter().any(|text| {
            let mut settings = Settings::default();
            let set = settings.set(setting.key, text);
            set.is_ok() && made(&settings).is_ok_and(|made| made != usual)
        })
    });
    let alone: Vec<&str> = alone.map(|setting| setting.key).collect();
    assert_eq!(alone, ONLY_SETTINGS);
}

/// Returns values that differ from the default; at least one is valid.
fn others(setting: &Setting) -> Vec<String> {
    let default = setting.default;
    match setting.form {
        SettingType::Integer | SettingType::Number => vec![format!("1{default}")],
        SettingType::Bool => vec![(default != "true").to_string()],
        _ => ["127.0.0.1:1", "no", "off", "seed"]
            .map(str::to_owned)
            .into(),
    }
}
