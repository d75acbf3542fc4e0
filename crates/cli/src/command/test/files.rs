//! Fixture files, and the scripts and prompts beside them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use quillet_script::syntax::ScriptSource;
use quillet_script::testing;

use crate::failure::CliError;
use crate::prompt_target;
use crate::source;
use crate::walk;

/// File name endings of fixtures.
const ENDINGS: [&str; 2] = [".fixture.yaml", ".fixture.yml"];

/// A fixture file.
#[derive(Debug)]
pub(super) struct FixtureFile {
    /// Its path in messages.
    pub(super) path: String,
    pub(super) folder: PathBuf,
    /// Files of the scripts and prompts with the same name.
    pub(super) subjects: Vec<String>,
}

/// Finds the fixtures for these paths.
///
/// # Errors
/// A path does not exist, or no fixture was found.
pub(super) fn find(paths: &[PathBuf]) -> Result<Vec<FixtureFile>, CliError> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let found = walk::files(path).into_iter();
            files.extend(found.filter(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                testing::script_names(&name, []).is_some()
            }));
        } else if path.is_file() {
            files.push(fixture_of(path)?);
        } else {
            let shown = path.display();
            return Err(CliError::Usage(format!("{shown}: no such file or folder")));
        }
    }
    if files.is_empty() {
        return Err(CliError::Usage(
            "no fixtures: the tests of name.ai.yaml, name.prompty and name.prompt must be in \
             name.fixture.yaml"
                .into(),
        ));
    }
    let shown = |path: PathBuf| path.strip_prefix(".").map(Path::to_owned).unwrap_or(path);
    let mut files: Vec<PathBuf> = files.into_iter().map(shown).collect();
    // A script and its fixture next to each other on the command line are one fixture.
    files.dedup();
    Ok(files
        .into_iter()
        .map(|file| FixtureFile::new(&file))
        .collect())
}

/// Returns the path itself, or the fixture of a script or prompt.
fn fixture_of(path: &Path) -> Result<PathBuf, CliError> {
    let shown = path.to_string_lossy();
    let script = shown
        .strip_suffix(".ai.yaml")
        .or(shown.strip_suffix(".ai.yml"));
    let name = match script {
        Some(name) => PathBuf::from(name),
        None if is_fixture(&shown) || !prompt_target::is_prompt(&shown)? => {
            return Ok(path.to_owned());
        }
        None => path.with_file_name(source::stem(&shown)),
    };
    let with = |ending| PathBuf::from(format!("{}{ending}", name.display()));
    let mut fixtures = ENDINGS.into_iter().map(with);
    fixtures.find(|path| path.is_file()).ok_or_else(|| {
        CliError::Usage(format!(
            "{shown}: missing {} with its tests",
            with(".fixture.yaml").display()
        ))
    })
}

fn is_fixture(name: &str) -> bool {
    ENDINGS.iter().any(|ending| name.ends_with(ending))
}

impl FixtureFile {
    fn new(file: &Path) -> Self {
        let folder = match file.parent() {
            Some(folder) if folder != Path::new("") => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let names = walk::entries(&folder)
            .into_iter()
            .filter(|path| path.is_file());
        let names: Vec<String> = names
            .filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()))
            .collect();
        let scripts = testing::script_names(&name, names.iter().map(String::as_str));
        let mut found = FixtureFile {
            path: file.to_string_lossy().into_owned(),
            folder,
            subjects: Vec::new(),
        };
        let stem = Path::new(found.stem()).file_name().unwrap_or_default();
        let stem = stem.to_string_lossy().into_owned();
        let prompts = names
            .iter()
            .filter(|name| found.is_prompt_of(name, &stem))
            .map(String::as_str);
        let subjects = scripts.unwrap_or_default().into_iter().chain(prompts);
        found.subjects = subjects.map(|name| found.resolve_name(name)).collect();
        found
    }

    /// Whether a file is a prompt with this name or a variant of it: `name.prompty`,
    /// `name.short.prompty`.
    fn is_prompt_of(&self, file: &str, name: &str) -> bool {
        let rest = file.strip_prefix(name);
        let is_named = rest.is_some_and(|rest| rest.starts_with('.'));
        // Unreadable files are ignored here and reported if the fixture names them.
        is_named
            && !is_fixture(file)
            && prompt_target::is_prompt(&self.folder.join(file).to_string_lossy()).unwrap_or(false)
    }

    /// Resolves a name in the fixture: a file in the same folder if it exists, or else an id.
    pub(super) fn resolve_name(&self, name: &str) -> String {
        let path = if self.folder.as_path() == Path::new(".") {
            PathBuf::from(name)
        } else {
            self.folder.join(name)
        };
        let with_ending = PathBuf::from(format!("{}.ai.yaml", path.display()));
        let files = [path, with_ending];
        let file = files.iter().find(|path| path.exists());
        file.map_or_else(
            || name.to_owned(),
            |file| file.to_string_lossy().into_owned(),
        )
    }

    /// Returns the path of the fixture without its ending.
    pub(super) fn stem(&self) -> &str {
        let stem = ENDINGS
            .iter()
            .find_map(|ending| self.path.strip_suffix(ending));
        stem.unwrap_or(&self.path)
    }
}

/// Reads a fixture.
///
/// # Errors
/// The file cannot be read.
pub(super) fn source(path: &str) -> Result<Arc<ScriptSource>, CliError> {
    Ok(Arc::new(ScriptSource {
        name: path.to_owned(),
        path: Path::new(path).canonicalize().ok(),
        text: source::read(path)?.into(),
    }))
}
