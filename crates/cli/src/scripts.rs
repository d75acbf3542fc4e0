//! Creates the script engine from settings and arguments, and formats script errors.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use quillet::components;
use quillet::components::scripts::folders;
pub(crate) use quillet::components::scripts::{MOCK, McpSources, dry_run_models, models, tools};
use quillet::settings::Settings;
use quillet_core::{Diagnostic, Value};
use quillet_script::ScriptError;
use quillet_script::host;
use quillet_script::js::JsOptions;
use quillet_script::library::Library;
use quillet_script::run::ScriptEngine;
use quillet_script::syntax::ScriptSource;
use quillet_template::TemplateFactory;

use crate::args::ScriptArgs;
use crate::failure::CliError;
use crate::report::{self, LocatedDiagnostic};
use crate::terminal::{self, Stream};

/// Maximum size of a file that is read to show a source line.
const MOST_BYTES: u64 = 8 << 20;

/// Creates the script engine for the arguments.
///
/// # Errors
/// A setting is invalid, or the store cannot be opened.
pub(crate) async fn engine(
    with: &ScriptArgs,
    config: &Settings,
    models: Arc<dyn host::ModelSource>,
    library: Arc<dyn Library>,
    asked: McpSources,
) -> Result<ScriptEngine, CliError> {
    Ok(ScriptEngine {
        models,
        tools: tools(config, asked, with.grants.allow_net).await?,
        library,
        templates: Arc::new(TemplateFactory::standard()),
        limits: limits(with, config),
        javascript: JsOptions {
            transport: config.javascript(),
            ..JsOptions::default()
        },
    })
}

/// Returns the grants of the arguments.
///
/// # Errors
/// A folder does not exist.
pub(crate) fn grants(with: &ScriptArgs) -> Result<host::Grants, CliError> {
    let asked = &with.grants;
    Ok(host::Grants {
        read: folders("--allow-read", &asked.allow_read)?,
        write: folders("--allow-write", &asked.allow_write)?,
        net: asked.allow_net,
        run: asked.allow_run,
        env: asked.allow_env.clone(),
    })
}

fn limits(with: &ScriptArgs, config: &Settings) -> host::ScriptLimits {
    let asked = &with.limits;
    let defaults = host::ScriptLimits::default();
    host::ScriptLimits {
        steps: asked.max_steps.unwrap_or(defaults.steps),
        model_calls: asked.max_calls.unwrap_or(defaults.model_calls),
        depth: asked.max_depth.unwrap_or(defaults.depth),
        tokens: asked.max_tokens_total,
        cost: asked.max_cost,
        templates: components::limits(config),
        ..defaults
    }
}

/// Returns the folders of the search path.
///
/// # Errors
/// A path is not a folder.
pub(crate) fn search(with: &ScriptArgs) -> Result<Vec<PathBuf>, CliError> {
    let wrong = with.search.iter().find(|folder| !folder.is_dir());
    match wrong {
        Some(wrong) => Err(CliError::Usage(format!(
            "-I {}: no such folder",
            wrong.display()
        ))),
        None => Ok(with.search.clone()),
    }
}

/// Prints a script error. `source` is the script, if it was read.
pub(crate) fn print_error(error: &ScriptError, source: Option<&ScriptSource>) {
    let colour = Stream::Err.has_colour();
    terminal::note(format_error(error, source, colour).trim_end());
}

/// Formats a script error with locations, source lines and the call chain.
pub(crate) fn format_error(
    error: &ScriptError,
    source: Option<&ScriptSource>,
    colour: bool,
) -> String {
    let findings = error.diagnostics.iter();
    let findings = findings.map(|found| report::show(&finding(found, source), colour));
    let mut text: String = findings.collect::<Vec<_>>().join("\n");
    if error.chain.len() > 1 {
        let chain = error.chain.join(" → ");
        text.push_str(&format!("in {chain}\n"));
    }
    text
}

/// Returns a diagnostic with its text, from the script or from a file.
pub(crate) fn finding(found: &Diagnostic, source: Option<&ScriptSource>) -> LocatedDiagnostic {
    let text = match source {
        Some(source) if source.name == found.source => Some(source.text.to_string()),
        _ => text_of_file(Path::new(&found.source)),
    };
    LocatedDiagnostic {
        diagnostic: found.clone(),
        text,
    }
}

fn text_of_file(path: &Path) -> Option<String> {
    let about = path.metadata().ok()?;
    // Only regular files are read, because reading a named pipe would block.
    let is_small = about.is_file() && about.len() <= MOST_BYTES;
    is_small.then(|| std::fs::read_to_string(path).ok())?
}

/// Formats a value: text unchanged, other values as indented JSON.
pub(crate) fn printed(value: &Value) -> String {
    match value {
        Value::Str(text) => text.to_string(),
        other => pretty(other),
    }
}

/// Formats a value as indented JSON.
pub(crate) fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}
