//! Checks of scripts and their fixtures for `quillet check`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::civil::Date;
use quillet_script::library::{
    BuiltinLibrary, Folders, LayeredLibrary, Library, check as check_names,
};
use quillet_script::syntax::ScriptSource;
use quillet_script::{ScriptError, host, reader, testing};
use quillet_template::TemplateFactory;

use crate::deprecations;
use crate::failure::CliError;
use crate::refusals;
use crate::report::LocatedDiagnostic;
use crate::scripts::finding;
use crate::source;

const SCRIPTS: [&str; 2] = [".ai.yaml", ".ai.yml"];
const FIXTURES: [&str; 2] = [".fixture.yaml", ".fixture.yml"];

/// Whether a file is a script or a fixture, by its name.
pub(crate) fn is_script_or_fixture(path: &Path) -> bool {
    let name = path.to_string_lossy();
    let is = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    is(&SCRIPTS) || is(&FIXTURES)
}

/// Whether a file is a fixture, by its name.
pub(crate) fn is_fixture(path: &Path) -> bool {
    let name = path.to_string_lossy();
    FIXTURES.iter().any(|ending| name.ends_with(ending))
}

/// Returns all diagnostics of a script or a fixture.
///
/// # Errors
/// The file cannot be read.
pub(crate) async fn check(
    path: &Path,
    search: &[PathBuf],
    tools: &dyn host::Tools,
    today: Date,
) -> Result<Vec<LocatedDiagnostic>, CliError> {
    let name = path.strip_prefix(".").unwrap_or(path).to_string_lossy();
    let source = Arc::new(ScriptSource {
        name: name.clone().into_owned(),
        path: path.canonicalize().ok(),
        text: source::read(&name)?.into(),
    });
    let found = if is_fixture(path) {
        fixture(source.clone()).await
    } else {
        script(source.clone(), path, search, tools, today).await
    };
    let found = found.unwrap_or_else(|error| error.diagnostics);
    Ok(found
        .iter()
        .map(|found| finding(found, Some(&source)))
        .collect())
}

type ScriptCheck = Result<Vec<quillet_core::Diagnostic>, ScriptError>;

async fn fixture(source: Arc<ScriptSource>) -> ScriptCheck {
    let read = testing::read(source, &TemplateFactory::standard()).await;
    Ok(read.map_or_else(|wrong| wrong, |fixture| fixture.warnings))
}

async fn script(
    source: Arc<ScriptSource>,
    path: &Path,
    search: &[PathBuf],
    tools: &dyn host::Tools,
    today: Date,
) -> ScriptCheck {
    let read = reader::read(source);
    // If a script was only partly parsed, errors about its names would be misleading.
    if !read.diagnostics.is_empty() {
        return Ok(read.diagnostics);
    }
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let folders: Vec<PathBuf> = [folder].into_iter().chain(search.iter().cloned()).collect();
    let layers: Vec<Arc<dyn Library>> =
        vec![Arc::new(Folders::new(&folders)?), Arc::new(BuiltinLibrary)];
    let library = LayeredLibrary::new(layers);
    let script = Arc::new(read.script);
    let mut found = check_names(&script, &library, tools).await;
    found.extend(deprecations::of_script(&script, today));
    found.extend(refusals::of_script(&script));
    Ok(found)
}
