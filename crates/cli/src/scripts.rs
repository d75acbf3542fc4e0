//! What scripts run with: the engine out of settings and arguments, and their failures as
//! people see them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use quillet_core::{Diagnostic, Value};
use quillet_llm::models::Models;
use quillet_prompt::{PromptService, Variables};
use quillet_script::host;
use quillet_script::js::JsOptions;
use quillet_script::library::Library;
use quillet_script::run::Engine;
use quillet_script::syntax::Source;
use quillet_script::{ErrorKind, ScriptError};
use quillet_server::script::{
    ScriptModels, ScriptOptions, ScriptService, ScriptTools, ServerTools,
};
use quillet_store::MemoryStore;
use quillet_template::TemplateFactory;

use crate::agents;
use crate::args::With;
use crate::assemble;
use crate::command::js_worker;
use crate::config::{self, Config};
use crate::failure::{Failure, code};
use crate::report::{self, Finding};
use crate::tape::Tape;
use crate::terminal::{self, Stream};

/// The model where nothing else is configured. It says in its answers what it is.
pub(crate) const MOCK: &str = "mock";
/// A longer file is not read to show a line of it.
const MOST_BYTES: u64 = 8 << 20;

/// The models of the settings, behind their tape.
///
/// # Errors
/// A setting is wrong.
pub(crate) fn models(config: &Config) -> Result<ScriptModels, Failure> {
    let door = agents::models(config)?;
    let models = ScriptModels::new(door.clone());
    let behind = Tape::of(config)?.around(door);
    Ok(models.behind(behind?).or_default(MOCK))
}

/// The same for a dry run, which asks none of them and records nothing.
///
/// # Errors
/// A setting is wrong.
pub(crate) fn unasked_models(config: &Config) -> Result<ScriptModels, Failure> {
    Ok(ScriptModels::new(agents::models(config)?).or_default(MOCK))
}

/// Has the scripts of a service run, with the models and tools of the settings.
///
/// # Errors
/// A setting is wrong.
pub(crate) async fn serve(
    config: &Config,
    prompts: &Arc<PromptService>,
    door: Arc<Models>,
) -> Result<(), Failure> {
    let behind = Tape::of(config)?.around(door.clone());
    let models = ScriptModels::new(door).behind(behind?);
    let tools = assemble::tools(config, prompts.variables().clone())?;
    let servers = agents::mcp_servers(config)?;
    let (servers, warnings) = ServerTools::connect(tools.clone(), servers).await;
    for warning in &warnings {
        terminal::warning(&warning.to_string());
    }
    let tools = ScriptTools::default().builtin(tools).servers(servers);
    let options = stored_options(config)?;
    ScriptService::run_for(prompts, Arc::new(models), Arc::new(tools), options);
    Ok(())
}

/// How stored scripts run, by the settings.
fn stored_options(config: &Config) -> Result<ScriptOptions, Failure> {
    let javascript = js_worker::transport().map_err(|error| Failure::Other(error.to_string()))?;
    let paths = |setting| -> Vec<PathBuf> {
        let texts = config.texts(setting).iter();
        texts.map(PathBuf::from).collect()
    };
    let steps = u64::try_from(config.size(&config::SCRIPTS_STEPS)).unwrap_or(u64::MAX);
    let calls = u64::try_from(config.size(&config::SCRIPTS_MODEL_CALLS)).unwrap_or(u64::MAX);
    Ok(ScriptOptions {
        limits: host::Limits {
            steps,
            depth: config.size(&config::SCRIPTS_DEPTH),
            model_calls: calls,
            tokens: config.integer(&config::SCRIPTS_TOKENS),
            cost: config.amount(&config::SCRIPTS_COST),
            own_time: config.milliseconds(&config::SCRIPTS_OWN_MS),
            js_time: config.milliseconds(&config::SCRIPTS_JS_MS),
            js_memory: config.size(&config::SCRIPTS_JS_BYTES),
            ..host::Limits::default()
        },
        time: config.milliseconds(&config::SCRIPTS_TIME_MS),
        grants: host::Grants {
            read: folders("scripts.allow_read", &paths(&config::SCRIPTS_READ))?,
            write: folders("scripts.allow_write", &paths(&config::SCRIPTS_WRITE))?,
            net: config.is_on(&config::SCRIPTS_NET),
            run: config.is_on(&config::SCRIPTS_RUN),
            env: config.texts(&config::SCRIPTS_ENV).to_vec(),
        },
        ..ScriptOptions::with_javascript(javascript)
    })
}

/// The engine that the arguments ask for.
///
/// # Errors
/// A setting is wrong, or the store cannot be opened.
pub(crate) async fn engine(
    with: &With,
    config: &Config,
    models: Arc<dyn host::Models>,
    library: Arc<dyn Library>,
    asked: Asked,
) -> Result<Engine, Failure> {
    Ok(Engine {
        models,
        tools: lent(config, asked, with.grants.allow_net).await?,
        library,
        templates: Arc::new(TemplateFactory::standard()),
        limits: limits(with),
        javascript: JsOptions {
            transport: js_worker::transport().map_err(|error| Failure::Other(error.to_string()))?,
            ..JsOptions::default()
        },
    })
}

/// Tools of the store, of MCP servers and built-in ones, as far as any are configured.
///
/// # Errors
/// A setting is wrong, or the store cannot be opened.
pub(crate) async fn tools(config: &Config, asked: Asked) -> Result<Arc<dyn host::Tools>, Failure> {
    lent(config, asked, false).await
}

/// The same, and the way out where scripts may connect.
async fn lent(config: &Config, asked: Asked, net: bool) -> Result<Arc<dyn host::Tools>, Failure> {
    let store = assemble::optional_store(config).await?;
    let servers = agents::mcp_servers(config)?;
    if store.is_none() && servers.is_empty() && !config.has_tools() && !net {
        return Ok(Arc::new(host::NoTools));
    }
    let has_store = store.is_some();
    let store = store.unwrap_or_else(|| Arc::new(MemoryStore::new()));
    let tools = assemble::tools(config, Arc::new(Variables::new(store.clone())))?;
    let mut all = ScriptTools::default().builtin(tools.clone());
    if has_store {
        let prompts = assemble::service(config, store, None, Arc::default())?;
        prompts.load().await?;
        all = all.stored(Arc::new(prompts));
    }
    if asked == Asked::Nobody {
        let has_servers = servers.names().next().is_some();
        return Ok(Arc::new(if has_servers { all.unasked() } else { all }));
    }
    let found = tools.mcp_tools(&servers, &[]).await;
    for warning in &found.warnings {
        terminal::warning(&warning.to_string());
    }
    Ok(Arc::new(all.and(found.tools)))
}

/// Which MCP servers are asked for their tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// All that are configured.
    All,
    /// None: that starts processes and connects.
    Nobody,
}

/// What the arguments grant.
///
/// # Errors
/// A folder is not there.
pub(crate) fn grants(with: &With) -> Result<host::Grants, Failure> {
    let asked = &with.grants;
    Ok(host::Grants {
        read: folders("--allow-read", &asked.allow_read)?,
        write: folders("--allow-write", &asked.allow_write)?,
        net: asked.allow_net,
        run: asked.allow_run,
        env: asked.allow_env.clone(),
    })
}

fn folders(flag: &str, folders: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let real = folders.iter().map(|folder| {
        let wrong = |error| Failure::Usage(format!("{flag} {}: {error}", folder.display()));
        folder.canonicalize().map_err(wrong)
    });
    real.collect()
}

fn limits(with: &With) -> host::Limits {
    let asked = &with.limits;
    let defaults = host::Limits::default();
    host::Limits {
        steps: asked.max_steps.unwrap_or(defaults.steps),
        model_calls: asked.max_calls.unwrap_or(defaults.model_calls),
        depth: asked.max_depth.unwrap_or(defaults.depth),
        tokens: asked.max_tokens_total,
        cost: asked.max_cost,
        ..defaults
    }
}

/// The folders of the search path, each of which has to be one.
///
/// # Errors
/// One is none.
pub(crate) fn search(with: &With) -> Result<Vec<PathBuf>, Failure> {
    let wrong = with.search.iter().find(|folder| !folder.is_dir());
    match wrong {
        Some(wrong) => Err(Failure::Usage(format!(
            "-I {}: there is no such folder",
            wrong.display()
        ))),
        None => Ok(with.search.clone()),
    }
}

/// The exit code of a failure.
pub(crate) fn code_of(kind: ErrorKind) -> u8 {
    match kind {
        ErrorKind::Model => code::PROVIDER,
        ErrorKind::Denied | ErrorKind::MethodNotAllowed => code::REFUSED,
        ErrorKind::Aborted => code::INTERRUPTED,
        ErrorKind::Missing => code::USAGE,
        ErrorKind::Script
        | ErrorKind::Input
        | ErrorKind::Output
        | ErrorKind::NotFound
        | ErrorKind::Limit
        | ErrorKind::Thrown
        | ErrorKind::Tool
        | ErrorKind::Template => code::TEMPLATE,
    }
}

/// Tells why a script failed. `source` is the script that was run, if it was read.
pub(crate) fn tell(error: &ScriptError, source: Option<&Source>) {
    let colour = Stream::Err.has_colour();
    terminal::note(shown(error, source, colour).trim_end());
}

/// Why a script failed: the places, the lines, and who called whom.
pub(crate) fn shown(error: &ScriptError, source: Option<&Source>, colour: bool) -> String {
    let findings = error.diagnostics.iter();
    let findings = findings.map(|found| report::show(&finding(found, source), colour));
    let mut text: String = findings.collect::<Vec<_>>().join("\n");
    if error.chain.len() > 1 {
        let chain = error.chain.join(" → ");
        text.push_str(&format!("in {chain}\n"));
    }
    text
}

/// A finding with the text that it is in: of the script that was run, or of a file.
pub(crate) fn finding(found: &Diagnostic, source: Option<&Source>) -> Finding {
    let text = match source {
        Some(source) if source.name == found.source => Some(source.text.to_string()),
        _ => text_of_file(Path::new(&found.source)),
    };
    Finding {
        diagnostic: found.clone(),
        text,
    }
}

fn text_of_file(path: &Path) -> Option<String> {
    let about = path.metadata().ok()?;
    let is_small = about.is_file() && about.len() <= MOST_BYTES;
    is_small.then(|| std::fs::read_to_string(path).ok())?
}

/// Values for people: texts as they are, everything else as JSON over lines.
pub(crate) fn printed(value: &Value) -> String {
    match value {
        Value::Str(text) => text.to_string(),
        other => pretty(other),
    }
}

/// JSON over lines.
pub(crate) fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
