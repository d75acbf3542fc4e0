//! What scripts run with: the engine out of settings and arguments, and their failures as
//! people see them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use quillet::parts;
use quillet::parts::scripts::folders;
pub(crate) use quillet::parts::scripts::{Asked, MOCK, models, tools, unasked_models};
use quillet::settings::Settings;
use quillet_core::{Diagnostic, Value};
use quillet_script::ScriptError;
use quillet_script::host;
use quillet_script::js::JsOptions;
use quillet_script::library::Library;
use quillet_script::run::Engine;
use quillet_script::syntax::Source;
use quillet_template::TemplateFactory;

use crate::args::With;
use crate::failure::Failure;
use crate::report::{self, Finding};
use crate::terminal::{self, Stream};

/// A longer file is not read to show a line of it.
const MOST_BYTES: u64 = 8 << 20;

/// The engine that the arguments ask for.
///
/// # Errors
/// A setting is wrong, or the store cannot be opened.
pub(crate) async fn engine(
    with: &With,
    config: &Settings,
    models: Arc<dyn host::Models>,
    library: Arc<dyn Library>,
    asked: Asked,
) -> Result<Engine, Failure> {
    Ok(Engine {
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

fn limits(with: &With, config: &Settings) -> host::Limits {
    let asked = &with.limits;
    let defaults = host::Limits::default();
    host::Limits {
        steps: asked.max_steps.unwrap_or(defaults.steps),
        model_calls: asked.max_calls.unwrap_or(defaults.model_calls),
        depth: asked.max_depth.unwrap_or(defaults.depth),
        tokens: asked.max_tokens_total,
        cost: asked.max_cost,
        templates: parts::limits(config),
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
