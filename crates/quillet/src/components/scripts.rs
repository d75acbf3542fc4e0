//! Creates what scripts run with: models, tools, and the runner of stored scripts.

use std::path::PathBuf;
use std::sync::Arc;

use quillet_host::script::{ScriptModels, ScriptOptions, ScriptService, ScriptTools, ServerTools};
use quillet_llm::models::ModelRouter;
use quillet_prompt::{PromptService, Variables};
use quillet_script::host;
use quillet_store::MemoryStore;

use crate::components::recording::RecordReplay;
use crate::components::{self, agents};
use crate::error::Error;
use crate::settings::{self, Settings};

/// Name of the default model if none is configured. Its answers state that they come from a mock.
pub const MOCK: &str = "mock";
/// Returns the configured models, wrapped for recording or replay if configured.
///
/// # Errors
/// A setting is invalid.
pub fn models(settings: &Settings) -> Result<ScriptModels, Error> {
    let door = agents::models(settings)?;
    let models = ScriptModels::new(door.clone());
    let behind = RecordReplay::from_settings(settings)?.wrap_model(door);
    // A script runs even if no model is configured, and the answers say that they come from a mock.
    Ok(models.behind(behind?).or_default(MOCK))
}

/// Returns the models for a dry run, which neither calls nor records them.
///
/// # Errors
/// A setting is invalid.
pub fn dry_run_models(settings: &Settings) -> Result<ScriptModels, Error> {
    Ok(ScriptModels::new(agents::models(settings)?).or_default(MOCK))
}

/// Enables scripts in a prompt service. They can use the configured models and tools.
///
/// # Errors
/// A setting is invalid.
pub async fn serve(
    settings: &Settings,
    prompts: &Arc<PromptService>,
    door: Arc<ModelRouter>,
) -> Result<Arc<ScriptService>, Error> {
    let behind = RecordReplay::from_settings(settings)?.wrap_model(door.clone());
    let models = ScriptModels::new(door).behind(behind?);
    let tools = service_tools(settings, prompts).await?;
    let options = stored_options(settings)?;
    let (models, tools) = (Arc::new(models), Arc::new(tools));
    Ok(ScriptService::run_for(prompts, models, tools, options))
}

/// Returns the tools that stored scripts can use in addition to stored tools: tools of MCP servers,
/// and built-in tools.
///
/// # Errors
/// A setting is invalid.
pub async fn service_tools(
    settings: &Settings,
    prompts: &Arc<PromptService>,
) -> Result<ScriptTools, Error> {
    let tools = components::tools(settings, prompts.variables().clone())?;
    let servers = agents::mcp_servers(settings)?;
    // Failures are warnings, because a script may not need the tools of that server.
    let (servers, warnings) = ServerTools::connect(tools.clone(), servers).await;
    for warning in &warnings {
        settings.warn(&warning.to_string());
    }
    Ok(ScriptTools::default().builtin(tools).servers(servers))
}

/// Returns the limits on a script run.
#[must_use]
pub fn limits(settings: &Settings) -> host::ScriptLimits {
    let most = |setting| settings.integer(setting).unwrap_or(u64::MAX);
    host::ScriptLimits {
        steps: most(&settings::SCRIPTS_STEPS),
        depth: settings.size(&settings::SCRIPTS_DEPTH),
        model_calls: most(&settings::SCRIPTS_MODEL_CALLS),
        tokens: settings.integer(&settings::SCRIPTS_TOKENS),
        cost: settings.amount(&settings::SCRIPTS_COST),
        own_time: settings.milliseconds(&settings::SCRIPTS_OWN_MS),
        js_time: settings.milliseconds(&settings::SCRIPTS_JS_MS),
        js_memory: settings.size(&settings::SCRIPTS_JS_BYTES),
        templates: components::limits(settings),
        ..host::ScriptLimits::default()
    }
}

/// Returns the configured options of stored scripts.
pub(super) fn stored_options(settings: &Settings) -> Result<ScriptOptions, Error> {
    let paths = |setting| -> Vec<PathBuf> {
        let texts = settings.texts(setting).iter();
        texts.map(PathBuf::from).collect()
    };
    Ok(ScriptOptions {
        limits: limits(settings),
        time: settings.milliseconds(&settings::SCRIPTS_TIME_MS),
        grants: host::Grants {
            read: folders("scripts.allow_read", &paths(&settings::SCRIPTS_READ))?,
            write: folders("scripts.allow_write", &paths(&settings::SCRIPTS_WRITE))?,
            net: settings.is_on(&settings::SCRIPTS_NET),
            run: settings.is_on(&settings::SCRIPTS_RUN),
            env: settings.texts(&settings::SCRIPTS_ENV).to_vec(),
        },
        ..ScriptOptions::with_javascript(settings.javascript())
    })
}

/// Returns the configured tools: stored tools, tools of MCP servers, and built-in tools. `net`
/// states whether scripts have network access, which uses the address checks of the tools.
///
/// # Errors
/// A setting is invalid, or the store cannot be opened.
pub async fn tools(
    settings: &Settings,
    asked: McpSources,
    net: bool,
) -> Result<Arc<dyn host::Tools>, Error> {
    let store = components::optional_store(settings).await?;
    let servers = agents::mcp_servers(settings)?;
    // Most scripts call no tools, so nothing is built for them.
    if store.is_none() && servers.is_empty() && !settings.has_tools() && !net {
        return Ok(Arc::new(host::NoTools));
    }
    // The memory store only provides variables to the tools; it has no tools to offer.
    let has_store = store.is_some();
    let store = store.unwrap_or_else(|| Arc::new(MemoryStore::new()));
    let tools = components::tools(settings, Arc::new(Variables::new(store.clone())))?;
    let mut all = ScriptTools::default().builtin(tools.clone());
    if has_store {
        let prompts = components::service(settings, store, None, Arc::default())?;
        prompts.load().await?;
        all = all.stored(Arc::new(prompts));
    }
    if asked == McpSources::None {
        let has_servers = servers.names().next().is_some();
        return Ok(Arc::new(if has_servers { all.unasked() } else { all }));
    }
    let found = tools.mcp_tools(&servers, &[]).await;
    for warning in &found.warnings {
        settings.warn(&warning.to_string());
    }
    Ok(Arc::new(all.and(found.tools)))
}

/// Selects the MCP servers to get tools from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpSources {
    /// All configured servers.
    All,
    /// No server, because getting tools starts processes and connects.
    None,
}

/// Resolves granted folders to their real paths. `flag` names the origin in errors.
///
/// # Errors
/// A folder does not exist.
pub fn folders(flag: &str, folders: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let real = folders.iter().map(|folder| {
        let wrong = |error: std::io::Error| {
            Error::setting_from(format!("{flag} {}: {error}", folder.display()), error)
        };
        // Resolved once, so a link that changes later cannot move the grant to another folder.
        folder.canonicalize().map_err(wrong)
    });
    real.collect()
}
